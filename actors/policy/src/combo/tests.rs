use std::sync::Arc;

use super::{
    DEEPEST, Flaw, MAX_DEPTH, ModelSpec, Nesting, Place, Problem, Providers, Resolved, Spec, StepSpec,
    TargetSpec, Tier, Tiers, check, resolve,
};
use crate::catalogue::{Dialect, ModelEntry, ProviderEntry};
use crate::ids::Class;

/// `p/m` is a model, `>name` a combo; the id is the text itself.
fn step(text: &str) -> StepSpec {
    let target = match (text.strip_prefix('>'), text.split_once('/')) {
        (Some(name), _) => TargetSpec::Combo(name.into()),
        (None, Some((provider, model))) => TargetSpec::Model(ModelSpec {
            provider: provider.into(),
            model: model.into(),
            connection: None,
            allowed: Arc::default(),
            prompt: None,
            only_on_quota: false,
        }),
        (None, None) => panic!("{text}"),
    };
    StepSpec { id: text.trim_start_matches('>').into(), weight: 0.0, target }
}

fn spec(name: &str, steps: &[&str]) -> Spec {
    Spec {
        name: name.into(),
        strategy: "priority",
        steps: steps.iter().map(|text| step(text)).collect(),
        nesting: Nesting::Flatten,
        max_depth: MAX_DEPTH,
        tiers: None,
        judge: None,
    }
}

fn executing(name: &str, steps: &[&str]) -> Spec {
    Spec { nesting: Nesting::Execute, ..spec(name, steps) }
}

fn providers() -> Providers {
    let listed = ["big", "big-2", "small"].map(|model| (model.into(), ModelEntry::default()));
    let entry = ProviderEntry {
        id: "p".into(),
        class: Class::Apikey,
        dialects: vec![Dialect::Openai],
        models: Some(listed.into_iter().collect()),
        passthrough_models: false,
        connections: Vec::new(),
    };
    let any = ProviderEntry { id: "any".into(), models: None, ..entry.clone() };
    [entry, any].into_iter().map(|entry| (entry.id.clone(), entry)).collect()
}

fn one(specs: &[Spec], name: &str) -> Resolved {
    resolve(specs, &providers()).remove(name).unwrap()
}

fn models(resolved: &Resolved) -> Vec<String> {
    resolved.steps.iter().map(|step| format!("{}/{}", step.provider, step.model)).collect()
}

fn units(resolved: &Resolved) -> Vec<(&str, Option<&str>)> {
    resolved.units.iter().map(|unit| (&*unit.key, unit.nested.as_deref())).collect()
}

fn problem(combo: &str, place: Place, flaw: Flaw) -> Problem {
    Problem { combo: combo.into(), place, flaw }
}

/// R0 asks R1, and so on to `last`, which asks for one that would be deeper still.
fn chain(last: usize) -> Vec<Spec> {
    let each = |n: usize| {
        let next = format!(">R{}", n + 1);
        spec(&format!("R{n}"), &[format!("p/m{n}").as_str(), &next])
    };
    let mut chain: Vec<Spec> = (0..last).map(each).collect();
    chain.push(spec(&format!("R{last}"), &[&format!("p/m{last}")]));
    chain
}

#[test]
fn row_71() {
    assert_eq!(check(&chain(4)), [problem("R0", Place::Combo, Flaw::TooDeep { depth: 4, most: 3 })]);
    assert_eq!(check(&chain(3)), []);
    // R4 is the last whose own models count; R5 is beyond.
    let specs = chain(6);
    assert_eq!(models(&one(&specs, "R0")), ["p/m0", "p/m1", "p/m2", "p/m3", "p/m4"]);
    assert_eq!(models(&one(&specs, "R3")), ["p/m3", "p/m4", "p/m5", "p/m6"]);
}

/// Routing 2.9: a judge is asked as its targets are, whatever leads back.
#[test]
fn a_circle_through_a_judge_is_one() {
    let judged = |name: &str, judge: &str| Spec {
        strategy: "fusion",
        judge: Some(judge.into()),
        ..spec(name, &["p/a", "p/b"])
    };
    let way = |names: &[&str]| Flaw::Cycle(names.iter().map(|name| (*name).into()).collect());
    let own = [judged("A", "A"), judged("B", "combo/C"), spec("C", &["p/c", ">B"])];
    assert_eq!(
        check(&own),
        [
            problem("A", Place::Judge, way(&["A", "A"])),
            problem("B", Place::Judge, way(&["B", "C", "B"])),
            problem("C", Place::Step(1), way(&["C", "B", "C"])),
        ]
    );
    let unread = Spec { strategy: "priority", ..judged("A", "A") };
    assert_eq!(check(&[unread, judged("B", "p/b"), judged("C", "B")]), []);
}

#[test]
fn row_72() {
    let specs = [spec("A", &["p/a", ">B", "p/z"]), spec("B", &[">A", "p/b"]), spec("C", &["p/c", ">C"])];
    let way = |names: &[&str]| Flaw::Cycle(names.iter().map(|name| (*name).into()).collect());
    assert_eq!(
        check(&specs),
        [
            problem("A", Place::Step(1), way(&["A", "B", "A"])),
            problem("B", Place::Step(0), way(&["B", "A", "B"])),
            problem("C", Place::Step(1), way(&["C", "C"])),
        ]
    );
    assert_eq!(models(&one(&specs, "A")), ["p/a", "p/b", "p/z"]);
    assert_eq!(models(&one(&specs, "B")), ["p/a", "p/z", "p/b"]);
    assert_eq!(models(&one(&specs, "C")), ["p/c"]);
}

/// Routing 2.9: the combo that becomes too deep need not be the one that was changed.
#[test]
fn a_ref_far_below_makes_the_top_too_deep() {
    let mut specs = chain(4);
    specs[0].max_depth = 4;
    assert_eq!(check(&specs), []);
    specs[4].steps.push(step(">last"));
    specs.push(spec("last", &["p/m"]));
    let deep = |depth, most| Flaw::TooDeep { depth, most };
    assert_eq!(
        check(&specs),
        [problem("R0", Place::Combo, deep(5, 4)), problem("R1", Place::Combo, deep(4, 3))]
    );
}

#[test]
fn depth_is_clamped() {
    for (written, meant) in [(0, MAX_DEPTH), (1, 1), (10, 10), (11, DEEPEST), (u32::MAX, DEEPEST)] {
        assert_eq!(Spec { max_depth: written, ..spec("a", &[]) }.depth(), meant, "{written}");
    }
}

/// Routing 0.4, 2.3: the ids on the way; each written step is a unit.
#[test]
fn keys_tell_the_way() {
    let specs = [spec("A", &["p/a", ">B", "p/z"]), spec("B", &["p/b", ">C"]), spec("C", &["p/c"])];
    let resolved = one(&specs, "A");
    let steps: Vec<(&str, usize)> = resolved.steps.iter().map(|step| (&*step.key, step.unit)).collect();
    assert_eq!(steps, [("p/a", 0), ("B>p/b", 1), ("B>C>p/c", 1), ("p/z", 2)]);
    assert_eq!(units(&resolved), [("p/a", None), ("B", None), ("p/z", None)]);
    assert!(!resolved.nests);
}

/// Routing 2.3: the same combo may be asked twice, as long as it is not on its own way.
#[test]
fn two_ways_to_one_combo_are_two_targets() {
    let specs = [spec("A", &[">B", ">C"]), spec("B", &[">D"]), spec("C", &[">D"]), spec("D", &["p/d"])];
    let resolved = one(&specs, "A");
    let keys: Vec<&str> = resolved.steps.iter().map(|step| &*step.key).collect();
    assert_eq!(keys, ["B>D>p/d", "C>D>p/d"]);
}

#[test]
fn equal_keys_count_once() {
    let mut first = spec("A", &["p/a", "p/a", "p/b", ">B"]);
    first.steps[3].id = "p/b".into();
    let resolved = one(&[first.clone(), spec("B", &["p/m"])], "A");
    assert_eq!(models(&resolved), ["p/a", "p/b"]);
    assert_eq!(units(&resolved), [("p/a", None), ("p/b", None)]);
    let taken = |id: &str| Flaw::IdTaken(id.into());
    assert_eq!(
        check(&[first, spec("B", &[])]),
        [problem("A", Place::Step(1), taken("p/a")), problem("A", Place::Step(3), taken("p/b"))]
    );
}

/// Routing 2.2; a provider without a list has no models that could be named.
#[test]
fn wildcards_become_the_models_of_the_list() {
    let mut specs = [spec("A", &["p/m", "p/big*", "any/*", "p/z"]), spec("B", &["p/*"]), spec("C", &[">A"])];
    specs[0].steps[1].weight = 30.0;
    let resolved = one(&specs, "A");
    assert_eq!(models(&resolved), ["p/m", "p/big", "p/big-2", "p/z"]);
    let weights: Vec<f64> = resolved.units.iter().map(|unit| unit.weight).collect();
    assert_eq!(weights, [0.0, 15.0, 15.0, 0.0]);
    assert_eq!(&*resolved.steps[2].key, "p/big*:big-2");
    assert_eq!(models(&one(&specs, "B")), ["p/big", "p/big-2", "p/small"]);
    let nested = one(&specs, "C");
    assert_eq!(&*nested.steps[1].key, "A>p/big*:big");
    assert_eq!(units(&nested), [("A", None)]);
}

#[test]
fn unknown_names_yield_nothing() {
    let specs = [spec("A", &[">gone", "p/a"])];
    let resolved = one(&specs, "A");
    assert_eq!(units(&resolved), [("p/a", None)]);
    assert_eq!(resolved.steps[0].unit, 0);
    assert_eq!(check(&specs), [problem("A", Place::Step(0), Flaw::UnknownCombo("gone".into()))]);
}

fn tiers(first: &str, tiers: &[(&str, &str, Option<&str>)]) -> Option<Tiers> {
    let tier = |(name, step, fallback): &(&str, &str, Option<&str>)| Tier {
        name: (*name).into(),
        step: (*step).into(),
        fallback: fallback.map(Into::into),
    };
    Some(Tiers { first: first.into(), tiers: tiers.iter().map(tier).collect() })
}

/// Routing 2.5.
#[test]
fn tiers_lead_the_order() {
    let plain = spec("A", &["p/1", "p/2", "p/3", "p/4", "p/5"]);
    let order = |tiers| models(&one(&[Spec { tiers, ..plain.clone() }], "A"));
    let links = [("x", "p/2", None), ("y", "p/4", Some("z")), ("z", "p/3", None)];
    assert_eq!(order(tiers("y", &links)), ["p/4", "p/3", "p/2", "p/1", "p/5"]);
    let ring = [("x", "p/3", Some("y")), ("y", "p/2", Some("x"))];
    assert_eq!(order(tiers("x", &ring)), ["p/3", "p/2", "p/1", "p/4", "p/5"]);
    let broken = [("x", "gone", Some("nowhere")), ("y", "p/5", None)];
    assert_eq!(order(tiers("?", &broken)), ["p/5", "p/1", "p/2", "p/3", "p/4"]);
    let twice = [("x", "p/5", Some("y")), ("y", "p/5", None)];
    assert_eq!(order(tiers("x", &twice)), ["p/5", "p/1", "p/2", "p/3", "p/4"]);
}

#[test]
fn tiers_name_what_is_there() {
    let links = [("x", "gone", Some("nowhere")), ("x", "p/1", None)];
    let specs = [Spec { tiers: tiers("?", &links), ..spec("A", &["p/1"]) }];
    assert_eq!(
        check(&specs),
        [
            problem("A", Place::FirstTier, Flaw::UnknownTier("?".into())),
            problem("A", Place::TierStep(0), Flaw::UnknownStep("gone".into())),
            problem("A", Place::TierFallback(0), Flaw::UnknownTier("nowhere".into())),
            problem("A", Place::TierStep(1), Flaw::TierTaken("x".into())),
        ]
    );
}

/// Routing 2.6: a ref stays one unit, and its own combo orders what is below.
#[test]
fn a_nested_combo_may_be_asked_as_a_whole() {
    let specs = [executing("A", &["p/a", ">B", "p/z"]), spec("B", &["p/b", ">C"]), spec("C", &["p/c"])];
    let resolved = one(&specs, "A");
    assert_eq!(units(&resolved), [("p/a", None), ("B", Some("B")), ("p/z", None)]);
    let steps: Vec<(&str, usize)> = resolved.steps.iter().map(|step| (&*step.key, step.unit)).collect();
    assert_eq!(steps, [("p/a", 0), ("p/z", 2)]);
    assert!(resolved.nests);
    assert_eq!(models(&one(&specs, "B")), ["p/b", "p/c"]);
    assert!(!one(&[executing("A", &["p/a"])], "A").nests);
    // Flattened into another, its own way of nesting does not count.
    let outer = [spec("O", &[">A"]), specs[0].clone(), specs[1].clone(), specs[2].clone()];
    assert_eq!(models(&one(&outer, "O")), ["p/a", "p/b", "p/c", "p/z"]);
}

#[test]
fn only_some_strategies_execute() {
    for (strategy, able) in [
        ("priority", true),
        ("round-robin", true),
        ("random", true),
        ("strict-random", true),
        ("weighted", true),
        ("fill-first", true),
        ("p2c", false),
        ("auto", false),
    ] {
        let specs = [Spec { strategy, ..executing("A", &[">B"]) }, spec("B", &["p/b"])];
        assert_eq!(one(&specs, "A").nests, able, "{strategy}");
        let flaw = problem("A", Place::Nesting, Flaw::CannotExecute(strategy));
        let expected = if able { vec![] } else { vec![flaw] };
        assert_eq!(check(&specs), expected, "{strategy}");
    }
}

/// Routing 2.6: neither a way back nor one that is too deep is ever asked.
#[test]
fn what_cannot_end_is_not_asked() {
    let ring = [executing("A", &["p/a", ">B"]), executing("B", &["p/b", ">A"])];
    assert_eq!(units(&one(&ring, "A")), [("p/a", None)]);
    assert_eq!(units(&one(&ring, "B")), [("p/b", None)]);
    let mut deep = chain(4);
    deep.iter_mut().for_each(|spec| spec.nesting = Nesting::Execute);
    assert_eq!(units(&one(&deep, "R0")), [("p/m0", None)]);
    assert_eq!(units(&one(&deep, "R1")), [("p/m1", None), ("R2", Some("R2"))]);
}

/// Eleven combos that each ask the next ten times are more steps than anybody has memory for.
#[test]
fn refs_that_multiply_are_bounded() {
    let each = |n: usize| {
        let mut spec = Spec { max_depth: 10, ..spec(&format!("R{n}"), &[]) };
        for copy in 0..10 {
            let mut next = step(&format!(">R{}", n + 1));
            next.id = format!("{copy}").into();
            spec.steps.push(next);
        }
        spec
    };
    let mut specs: Vec<Spec> = (0..6).map(each).collect();
    specs.push(spec("R6", &["p/m"]));
    let many = |combo, steps| problem(combo, Place::Combo, Flaw::TooManySteps(steps));
    assert_eq!(check(&specs), [many("R0", 1_000_000), many("R1", 100_000)]);
    assert!((4_000..super::MOST_STEPS).contains(&one(&specs, "R0").steps.len()));
}

#[test]
fn routing_6_1_a_a_fan_asks_its_nested_combos_as_a_whole() {
    for strategy in ["fusion", "pipeline"] {
        let fan = Spec { strategy, ..spec("fan", &["p/big", ">inner"]) };
        let resolved = one(&[fan, spec("inner", &["p/small"])], "fan");
        assert!(resolved.nests);
        assert_eq!(models(&resolved).len(), 1);
        let nested: Vec<Option<&str>> = resolved.units.iter().map(|unit| unit.nested.as_deref()).collect();
        assert_eq!(nested, [None, Some("inner")]);
    }
}
