use std::sync::Arc;

use super::{Filters, Lack};
use crate::board::Board;
use crate::catalogue::{
    Abilities, Catalogue, Combo, ConnectionEntry, Dialect, ModelEntry, ProviderEntry, Step, Unit,
};
use crate::dice::Scripted;
use crate::ids::Class;
use crate::plan::tests::Nothing;
use crate::plan::{Ask, NoPlan, World, plan};
use crate::request::Traits;
use crate::strategy::auto::Weights;

mod told;

/// `small` (8k, no tools), `large` (200k, all), `plain` (32k, no pictures, no schemas), `new`: unknown.
fn catalogue(filters: Filters) -> Catalogue {
    let model = |id: &str, window, [tools, vision, structured]: [bool; 3]| {
        let abilities = Some(Abilities { tools, vision, structured });
        (id.into(), ModelEntry { context_window: Some(window), abilities, ..ModelEntry::default() })
    };
    let listed = [
        model("small", 8_000, [false, true, true]),
        model("large", 200_000, [true, true, true]),
        model("plain", 32_000, [true, false, false]),
        ("new".into(), ModelEntry::default()),
    ];
    let entry = ConnectionEntry {
        id: "p-1".into(),
        provider: "p".into(),
        priority: 1,
        usable: true,
        models: vec!["*".into()],
    };
    let provider = ProviderEntry {
        id: "p".into(),
        class: Class::Apikey,
        dialects: vec![Dialect::Openai],
        models: Some(listed.into_iter().collect()),
        passthrough_models: false,
        connections: vec![Arc::new(entry)],
    };
    let combos = [
        ("small", vec!["small"]),
        ("known", vec!["small", "plain", "large"]),
        ("modest", vec!["small", "plain"]),
        ("plain", vec!["plain"]),
        ("new", vec!["small", "new"]),
        ("empty", vec![]),
    ];
    let steps = |models: Vec<&str>| models.into_iter().map(|m| Step::new("p".into(), m.into())).collect();
    let combo = |(name, models)| Combo { filters, ..Combo::new(name, "priority", steps(models)) };
    Catalogue {
        providers: [(provider.id.clone(), provider)].into_iter().collect(),
        combos: combos.map(combo).into_iter().map(|combo| (combo.name.clone(), combo)).collect(),
        ..Catalogue::default()
    }
}

fn ask(catalogue: &Catalogue, model: &str, traits: &Traits) -> Result<Vec<String>, NoPlan> {
    let walked = walk(catalogue, model, traits);
    assert_eq!(walk(&catalogue.clone().ready(), model, traits), walked, "what is known of all says the same");
    walked
}

fn walk(catalogue: &Catalogue, model: &str, traits: &Traits) -> Result<Vec<String>, NoPlan> {
    let ask = Ask { model, dialect: Dialect::Openai, allowed: None, traits, lease: None };
    let world = World { catalogue, board: &Board::default(), memory: &Nothing, now: 0 };
    let plan = plan(&ask, world, &mut Scripted::default())?;
    Ok(plan.targets.iter().map(|target| target.model.to_string()).collect())
}

fn of(filters: Filters, model: &str, traits: &Traits) -> Result<Vec<String>, NoPlan> {
    ask(&catalogue(filters), model, traits)
}

fn names(names: &[&str]) -> Result<Vec<String>, NoPlan> {
    Ok(names.iter().map(|name| (*name).to_owned()).collect())
}

fn input(tokens: u64) -> Traits {
    Traits { input_tokens: Some(tokens), ..Traits::default() }
}

/// Routing 3.1, row C of 9.2; windows that are too small are left out, as long as one is left.
#[test]
fn an_input_that_fits_nowhere_is_refused() {
    let plain = Filters::default();
    assert_eq!(of(plain, "known", &input(8_000)), names(&["small", "plain", "large"]));
    assert_eq!(of(plain, "known", &input(8_001)), names(&["plain", "large"]));
    assert_eq!(of(plain, "known", &input(200_000)), names(&["large"]));
    let refused = NoPlan::ContextTooLong { pool_size: 3, largest: 200_000, input: 200_001 };
    assert_eq!(of(plain, "known", &input(200_001)), Err(refused));
    assert_eq!(of(plain, "new", &input(200_001)), names(&["new"]), "one window is unknown");
    assert_eq!(of(plain, "known", &Traits::default()), names(&["small", "plain", "large"]));
    assert_eq!(of(plain, "empty", &input(9)), names(&[]));
}

/// Routing 1.1: what combos say first is input as well, that of a combo around it too.
#[test]
fn what_a_combo_adds_is_input() {
    let mut catalogue = catalogue(Filters::default());
    catalogue.combos.get_mut("known").unwrap().added_tokens = 1;
    let mut outer = Combo::new("outer", "priority", Vec::new());
    let nested = |name: &str| Unit { key: name.into(), weight: 0.0, nested: Some(name.into()) };
    (outer.units, outer.nests, outer.added_tokens) = (vec![nested("known"), nested("small")], true, 10);
    catalogue.combos.insert("outer".into(), outer);
    assert_eq!(ask(&catalogue, "known", &input(7_999)), names(&["small", "plain", "large"]));
    assert_eq!(ask(&catalogue, "known", &input(8_000)), names(&["plain", "large"]));
    assert_eq!(ask(&catalogue, "outer", &input(7_989)), names(&["small", "plain", "large", "small"]));
    assert_eq!(ask(&catalogue, "outer", &input(7_990)), names(&["plain", "large", "small"]));
    assert_eq!(ask(&catalogue, "outer", &input(7_991)), names(&["plain", "large"]));
    let refused = NoPlan::ContextTooLong { pool_size: 3, largest: 200_000, input: 200_001 };
    assert_eq!(ask(&catalogue, "known", &input(200_000)), Err(refused));
    assert_eq!(ask(&catalogue, "known", &Traits::default()), names(&["small", "plain", "large"]));
}

/// Nobody else is asked in its place: a direct request goes as it came.
#[test]
fn a_direct_request_is_not_filtered() {
    assert_eq!(of(Filters::default(), "p/small", &Traits { tools: true, ..input(9_000) }), names(&["small"]));
}

/// Routing 3.5, row D of 9.2.
#[test]
fn who_cannot_do_it_is_left_out() {
    let needs = |tools, vision, structured| Traits { tools, vision, structured, ..Traits::default() };
    let plain = Filters::default();
    for (traits, expected) in [
        (needs(true, false, false), names(&["plain", "large"])),
        (needs(false, true, false), names(&["small", "large"])),
        (needs(false, false, true), names(&["small", "large"])),
        (needs(true, true, true), names(&["large"])),
    ] {
        assert_eq!(of(plain, "known", &traits), expected, "{traits:?}");
    }
    let nobody = |lacks: &[Lack]| Err(NoPlan::CapabilityMismatch { pool_size: 2, lacks: lacks.to_vec() });
    assert_eq!(of(plain, "modest", &needs(true, true, false)), nobody(&[Lack::Tools, Lack::Vision]));
    assert_eq!(of(plain, "modest", &needs(true, false, true)), nobody(&[Lack::Tools, Lack::Structured]));
    let long = Traits { tools: true, ..input(9_000) };
    assert_eq!(of(plain, "new", &long), names(&["new"]), "nothing is known of it");
    let open = Filters { fail_open: true, ..plain };
    assert_eq!(of(open, "modest", &needs(true, true, false)), names(&["small", "plain"]));
    assert_eq!(of(open, "known", &needs(true, true, true)), names(&["large"]), "some can");
}

/// Routing 3.6, row E of 9.2.
#[test]
fn small_windows_are_left_out_where_the_combo_says_so() {
    let least = |window| Filters { min_window: Some(window), ..Filters::default() };
    let any = Traits::default();
    assert_eq!(of(least(32_000), "known", &any), names(&["plain", "large"]));
    assert_eq!(of(least(32_000), "new", &any), names(&["new"]), "lenient");
    let strict = Filters { strict: true, ..least(8_000) };
    assert_eq!(of(strict, "new", &any), names(&["small"]));
    let refused = |pool_size| Err(NoPlan::ContextRequirements { pool_size });
    assert_eq!(of(Filters { min_window: Some(8_001), ..strict }, "new", &any), refused(2));
    assert_eq!(of(least(200_001), "known", &any), refused(3));
    let open = Filters { fail_open: true, ..least(200_001) };
    assert_eq!(of(open, "known", &any), refused(3), "only abilities fail open");
}

#[test]
fn the_larger_window_goes_first_where_it_is_preferred() {
    let filters = Filters { prefer_large: true, ..Filters::default() };
    assert_eq!(of(filters, "known", &Traits::default()), names(&["large", "plain", "small"]));
    assert_eq!(of(filters, "new", &Traits::default()), names(&["small", "new"]));
}

/// A unit stays for the step of it that fits, and is entered there only; a nested combo that
/// nobody of can serve is passed over.
#[test]
fn units_are_looked_through() {
    let mut catalogue = catalogue(Filters::default());
    let unit = |key: &str, nested: Option<&str>| Unit {
        key: key.into(),
        weight: 0.0,
        nested: nested.map(Into::into),
    };
    let steps = ["small", "large", "plain"].map(|model| Step::new("p".into(), model.into()));
    let mut whole = Combo::new("whole", "priority", steps.to_vec());
    whole.units = vec![unit("two", None), unit("nested", Some("small")), unit("last", None)];
    whole.nests = true;
    for (step, unit) in whole.steps.iter_mut().zip([0, 0, 2]) {
        step.unit = unit;
    }
    catalogue.combos.insert("whole".into(), whole);
    let tools = Traits { tools: true, ..Traits::default() };
    assert_eq!(ask(&catalogue, "whole", &tools), names(&["large", "plain"]));
    let all = ask(&catalogue, "whole", &Traits::default());
    assert_eq!(all, names(&["small", "large", "small", "plain"]));
}

#[test]
fn bodies_are_looked_into_only_for_plans_that_depend_on_it() {
    let mut catalogue = catalogue(Filters::default());
    assert!(catalogue.wants_needs());
    catalogue.providers.get_mut("p").unwrap().models = None;
    assert!(!catalogue.wants_needs());
    let scoring = Combo::new("auto", "auto", vec![]);
    catalogue.combos.insert("auto".into(), scoring);
    assert!(catalogue.wants_needs());
    catalogue.combos.clear();
    assert!(!catalogue.wants_needs());
    catalogue.aliases = [("fast".into(), "p/small".into())].into_iter().collect();
    assert!(!catalogue.wants_needs());
    catalogue.aliases = [("cheap*".into(), "auto/cheap".into())].into_iter().collect();
    assert!(catalogue.wants_needs());
}

/// Routing 3.7, decision 23.
#[test]
fn prompts_are_told_apart_only_for_combos_that_send_them_to_their_cache() {
    let wants = |strategy: &'static str, prompt_cache_affinity, weight: f64| {
        let mut combo = Combo::new("c", strategy, vec![]);
        combo.settings.auto.weights = Some(Weights::of([("health", 1.0), ("cache_affinity", weight)]));
        let combos = [(combo.name.clone(), combo)].into();
        Catalogue { combos, prompt_cache_affinity, ..Catalogue::default() }.wants_prompts()
    };
    for strategy in ["random", "least-used", "round-robin"] {
        assert_eq!([wants(strategy, true, 1.0), wants(strategy, false, 1.0)], [true, false], "{strategy}");
    }
    for strategy in ["priority", "p2c", "weighted", "cost-optimized", "headroom"] {
        assert!(!wants(strategy, true, 1.0), "{strategy}");
    }
    assert!(wants("cache-optimized", false, 0.0));
    assert_eq!([wants("auto", true, 0.0), wants("auto", false, 0.5)], [false, true]);
}
