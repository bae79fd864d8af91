use std::sync::Arc;

use super::{Named, find};
use crate::catalogue::{Catalogue, Combo, Dialect, Mapping, ModelEntry, ProviderEntry, Step};
use crate::ids::Class;
use crate::plan::NoPlan;

fn provider(id: &str, models: Option<&[&str]>) -> ProviderEntry {
    let listed =
        |models: &[&str]| models.iter().map(|model| ((*model).into(), ModelEntry::default())).collect();
    ProviderEntry {
        id: id.into(),
        class: Class::Apikey,
        dialects: vec![Dialect::Openai],
        models: models.map(listed),
        passthrough_models: false,
        connections: Vec::new(),
    }
}

fn catalogue() -> Catalogue {
    let providers = [
        provider("openai", None),
        provider("anthropic", None),
        provider("gemini", Some(&["gemini-3"])),
        provider("openrouter", Some(&["anthropic/claude-3", "gemini/x", "shared", "big[1m]", "long"])),
        provider("azure", Some(&["gpt-5", "shared"])),
    ];
    let combos = ["best", "cheap", "azure/gpt-5", "auto"]
        .map(|name| Combo::new(name, "priority", vec![Step::new("openai".into(), name.into())]));
    Catalogue {
        providers: providers.into_iter().map(|entry| (entry.id.clone(), entry)).collect(),
        combos: combos.into_iter().map(|combo| (combo.name.clone(), combo)).collect(),
        ..Catalogue::default()
    }
}

fn meaning(catalogue: &Catalogue, name: &str) -> Result<String, NoPlan> {
    find(catalogue, name).map(|named| match named {
        Named::Combo(combo) => format!("[{}]", combo.name),
        Named::Made(combo) => panic!("{} was made", combo.name),
        Named::Model(provider, model) => format!("{} {model}", provider.id),
    })
}

#[track_caller]
fn are(catalogue: &Catalogue, rows: &[(&str, &str)]) {
    for (name, expected) in rows {
        let expected = match *expected {
            "unknown" => Err(NoPlan::UnknownModel),
            "bad" => Err(NoPlan::BadName),
            meant => Ok(meant.to_owned()),
        };
        assert_eq!(meaning(catalogue, name), expected, "{name}");
    }
}

/// The suffix is gone before the model is asked for, unless it is a part of a listed name.
#[test]
fn row_91() {
    are(
        &catalogue(),
        &[
            ("openrouter/anthropic/claude-3", "openrouter anthropic/claude-3"),
            ("openai/m[1m]", "openai m"),
            ("openrouter/long[1m]", "openrouter long"),
            ("long[1m]", "openrouter long"),
            ("openrouter/big[1m]", "openrouter big[1m]"),
            ("big[1m]", "openrouter big[1m]"),
            ("big", "unknown"),
            ("../x", "bad"),
            ("a/..\\x", "bad"),
            ("a/\u{7}", "bad"),
            ("", "bad"),
        ],
    );
}

#[test]
fn row_92() {
    let catalogue = catalogue();
    are(
        &catalogue,
        &[
            ("gpt-9", "openai gpt-9"),
            ("o1-mini", "openai o1-mini"),
            ("o3", "openai o3"),
            ("claude-z", "anthropic claude-z"),
            // Somebody lists it: the family does not count (contract 8).
            ("gpt-5", "azure gpt-5"),
            // The list of the family's provider is closed.
            ("gemini-4", "unknown"),
            ("gemini-3", "gemini gemini-3"),
            ("llama", "unknown"),
        ],
    );
    let forms = vec!["azure/shared".to_owned(), "openrouter/shared".to_owned()];
    assert_eq!(meaning(&catalogue, "shared"), Err(NoPlan::Ambiguous(forms)));
}

/// Contract 8 where routing 12.5 would prefer openai.
#[test]
fn openai_is_not_preferred_among_those_that_list_a_model() {
    let mut catalogue = catalogue();
    let openai = provider("openai", Some(&["gpt-5"]));
    catalogue.providers.insert("openai".into(), openai);
    let forms = vec!["azure/gpt-5".to_owned(), "openai/gpt-5".to_owned()];
    assert_eq!(meaning(&catalogue, "gpt-5"), Err(NoPlan::Ambiguous(forms)));
    are(&catalogue, &[("gpt-9", "unknown")]);
}

/// Routing 12.4: the full string is a listed model, and the provider before its slash has none.
#[test]
fn a_full_name_may_be_a_bare_model() {
    let mut catalogue = catalogue();
    are(&catalogue, &[("gemini/x", "openrouter gemini/x"), ("gemini/y", "unknown")]);
    // Whoever takes any model takes this one too.
    are(&catalogue, &[("anthropic/claude-3", "anthropic claude-3")]);
    let lists = ProviderEntry { passthrough_models: true, ..provider("gemini", Some(&["gemini-3"])) };
    catalogue.providers.insert("gemini".into(), lists);
    are(&catalogue, &[("gemini/x", "openrouter gemini/x"), ("gemini/y", "gemini y")]);
    catalogue.providers.remove("gemini");
    are(&catalogue, &[("gemini/x", "openrouter gemini/x"), ("gemini/y", "unknown")]);
}

fn mapping(pattern: &str, combo: &str, priority: i64) -> Mapping {
    Mapping { pattern: pattern.into(), combo: combo.into(), priority }
}

/// Routing 2.1.
#[test]
fn combos_then_patterns_then_aliases() {
    let mut catalogue = catalogue();
    catalogue.mappings = vec![
        mapping("gpt-*", "cheap", 5),
        mapping("gpt-5*", "best", 1),
        mapping("gpt-5-*", "gone", 0),
        mapping("gpt-?", "cheap", 0),
        mapping("openai/*", "best", 9),
        mapping("openai/*", "cheap", 9),
    ];
    catalogue.aliases = aliases(&[("gpt-5", "azure/gpt-5"), ("best", "azure/gpt-5"), ("x", "azure/gpt-5")]);
    are(
        &catalogue,
        &[
            ("best", "[best]"),
            ("BEST", "unknown"),
            ("combo/best", "[best]"),
            ("combo/gone", "unknown"),
            ("azure/gpt-5", "[azure/gpt-5]"),
            ("auto", "[auto]"),
            ("gpt-9", "[cheap]"),
            ("gpt-5", "[best]"),
            ("gpt-5-mini", "[best]"),
            // Before the provider; of two equal ones the first.
            ("openai/m", "[best]"),
            ("x", "[azure/gpt-5]"),
        ],
    );
}

fn aliases(all: &[(&str, &str)]) -> crate::catalogue::Aliases {
    all.iter().map(|(from, to)| (Arc::from(*from), Arc::from(*to))).collect()
}

/// Routing 12.3.
#[test]
fn aliases_stand_for_models_and_combos() {
    let mut catalogue = catalogue();
    catalogue.aliases = aliases(&[
        ("fast", "openai/gpt-5-mini"),
        ("family", "claude-9"),
        ("listed", "gemini-3"),
        ("list", "best"),
        ("list-2", "combo/cheap"),
        ("both", "shared"),
        ("nothing", "no-such"),
        ("openai/old", "openai/new"),
        ("claude-*", "anthropic/any-claude"),
        ("claude-sonnet-*", "anthropic/any-sonnet"),
        ("claude-sonnet-5", "anthropic/this-sonnet"),
        ("*", "best"),
    ]);
    are(
        &catalogue,
        &[
            ("fast", "openai gpt-5-mini"),
            ("family", "anthropic claude-9"),
            ("listed", "gemini gemini-3"),
            ("list", "[best]"),
            ("list-2", "[cheap]"),
            ("nothing", "unknown"),
            ("openai/old", "openai new"),
            ("claude-sonnet-5", "anthropic this-sonnet"),
            ("claude-sonnet-4", "anthropic any-sonnet"),
            ("claude-haiku", "anthropic any-claude"),
            // The catch-all takes nothing away from a provider that is configured.
            ("openai/m", "openai m"),
            ("gemini/y", "unknown"),
            ("gpt-9", "[best]"),
            ("unheard/of", "[best]"),
            ("gemini/x", "[best]"),
        ],
    );
    let forms = vec!["azure/shared".to_owned(), "openrouter/shared".to_owned()];
    assert_eq!(meaning(&catalogue, "both"), Err(NoPlan::Ambiguous(forms)));
}

#[test]
fn aliases_do_not_lead_to_aliases() {
    let mut catalogue = catalogue();
    catalogue.aliases = aliases(&[("a", "b"), ("b", "a"), ("c", "c"), ("d", "fast"), ("fast", "openai/m")]);
    are(&catalogue, &[("a", "unknown"), ("b", "unknown"), ("c", "unknown"), ("d", "unknown")]);
}
