use std::sync::Arc;

use super::{combo, names, settings, wanted};
use crate::catalogue::{Abilities, Catalogue, ConnectionEntry, Dialect, ModelEntry, ProviderEntry};
use crate::ids::Class;
use crate::strategy::auto::{AutoRouter, Pack, Taste};

fn provider(
    id: &str,
    models: Option<&[(&str, bool, f64)]>,
    connections: &[(&str, &str, bool)],
) -> ProviderEntry {
    let listed = |(name, vision, price): &(&str, bool, f64)| {
        let abilities = Some(Abilities { vision: *vision, ..Abilities::default() });
        ((*name).into(), ModelEntry { input_price: Some(*price), abilities, ..ModelEntry::default() })
    };
    let connection = |(name, pattern, usable): &(&str, &str, bool)| {
        Arc::new(ConnectionEntry {
            id: (*name).into(),
            provider: id.into(),
            priority: 1,
            usable: *usable,
            models: vec![(*pattern).into()],
        })
    };
    ProviderEntry {
        id: id.into(),
        class: Class::Apikey,
        dialects: vec![Dialect::Openai],
        models: models.map(|models| models.iter().map(listed).collect()),
        passthrough_models: false,
        connections: connections.iter().map(connection).collect(),
    }
}

fn catalogue(providers: Vec<ProviderEntry>) -> Catalogue {
    let providers = providers.into_iter().map(|entry| (entry.id.clone(), entry)).collect();
    Catalogue { providers, ..Catalogue::default() }
}

fn usual() -> Catalogue {
    catalogue(vec![
        provider(
            "b",
            Some(&[("big", false, 3.0), ("eye", true, 1.0), ("gift", false, 0.0)]),
            &[("b-1", "*", true), ("b-2", "eye", true), ("b-3", "none", true), ("b-4", "*", false)],
        ),
        provider("a", None, &[("a-1", "*", true), ("a-2", "own", true)]),
    ])
}

fn steps(name: &str, catalogue: &Catalogue) -> String {
    let combo = combo(name, catalogue).unwrap();
    let keys = combo.steps.iter().map(|step| step.key.to_string());
    keys.collect::<Vec<_>>().join(" ")
}

#[test]
fn each_usable_account_is_a_candidate_with_its_first_model() {
    assert_eq!(steps("auto", &usual()), "a/own@a-2 b/big@b-1 b/eye@b-2");
    assert_eq!(steps("auto/fast", &usual()), "a/own@a-2 b/big@b-1 b/eye@b-2");
    assert_eq!(steps("auto/vision", &usual()), "b/eye@b-1 b/eye@b-2");
    assert_eq!(steps("auto/chat:free", &usual()), "b/gift@b-1");
    assert_eq!(steps("auto/vision:free", &usual()), steps("auto", &usual()), "nothing fits: all");
    assert_eq!(steps("auto", &Catalogue::default()), "");
    assert_eq!(combo("auto", &usual()).unwrap().strategy, "auto");
}

#[test]
fn a_name_says_how_to_choose() {
    let pack = |name: &str| settings(name).unwrap().mode_pack;
    assert_eq!(pack("auto"), None);
    assert_eq!(pack("auto/cheap"), Pack::find("cost-saver"));
    assert_eq!(pack("auto/offline"), Pack::find("offline-friendly"));
    assert_eq!(pack("auto/reasoning:pro"), Pack::find("quality-first"));
    assert_eq!(pack("auto/chat:floor"), pack("auto/chat:cheap"));
    assert_eq!(settings("auto/lkgp").unwrap().router, AutoRouter::Lkgp);
    assert_eq!(settings("auto/coding").unwrap().taste, Taste::Coding);
    for unknown in ["Auto", "auto/", "auto/turbo", "auto/chat:", "auto/fast:free", "automatic", "x/auto"] {
        assert!(wanted(unknown).is_none(), "{unknown}");
    }
}

#[test]
fn names_are_few_and_understood() {
    let all: Vec<String> = names().collect();
    assert_eq!(all.len(), 1 + 7 + 4 + 30);
    assert!(all.iter().all(|name| wanted(name).is_some()));
}

#[test]
fn a_provider_of_that_name_goes_first() {
    let catalogue = catalogue(vec![provider("auto", None, &[("x", "*", true)])]);
    assert!(combo("auto/fast", &catalogue).is_none());
}
