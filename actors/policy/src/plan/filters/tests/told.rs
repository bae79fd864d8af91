//! Who is left out for what it cannot do is told (contract 4), and nothing is concluded from it.

use super::{Filters, Lack, catalogue, input};
use crate::blocked::{Asked, Blocked, blocked};
use crate::board::Board;
use crate::catalogue::{Catalogue, Combo, Dialect, Step, Unit};
use crate::change::Exclusion;
use crate::dice::Scripted;
use crate::plan::tests::{NOW, Nothing, open};
use crate::plan::{Ask, NoPlan, Plan, World, plan};
use crate::request::Traits;

fn make(catalogue: &Catalogue, board: &Board, model: &str, traits: &Traits) -> Result<Plan, NoPlan> {
    let ask = Ask { model, dialect: Dialect::Openai, allowed: None, traits, lease: None };
    let world = World { catalogue, board, memory: &Nothing, now: NOW };
    plan(&ask, world, &mut Scripted::default())
}

/// Who is told of and why; the same where it is known what all of a combo offer.
fn told(catalogue: &Catalogue, model: &str, traits: &Traits) -> Vec<String> {
    let of = |catalogue: &Catalogue| {
        let plan = make(catalogue, &Board::default(), model, traits).unwrap();
        assert!(plan.excluded.is_empty() && !plan.targets.is_empty(), "{model}");
        let unfit = plan.unfit.iter().map(|unfit| format!("{}:{}", unfit.model, unfit.reason.as_str()));
        unfit.collect::<Vec<String>>()
    };
    let walked = of(catalogue);
    assert_eq!(of(&catalogue.clone().ready()), walked, "{model}");
    walked
}

/// Routing 3.1, 3.5, 3.6.
#[test]
fn who_cannot_serve_it_is_told_by_what_it_lacks() {
    let needs = |tools, vision, structured| Traits { tools, vision, structured, ..Traits::default() };
    let plain = Filters::default();
    let least = |window| Filters { min_window: Some(window), ..plain };
    let small = "small:context_window_too_small";
    let any = Traits::default();
    let rows: [(Filters, &str, Traits, &[&str]); 13] = [
        (plain, "known", any.clone(), &[]),
        (plain, "known", input(8_000), &[]),
        (plain, "known", input(8_001), &[small]),
        (plain, "known", input(32_001), &[small, "plain:context_window_too_small"]),
        (plain, "known", needs(true, false, false), &["small:tools_not_supported"]),
        (plain, "known", needs(false, true, false), &["plain:vision_not_supported"]),
        (plain, "known", needs(false, false, true), &["plain:structured_output_not_supported"]),
        (plain, "p/small", input(9_000), &[]),
        (least(32_000), "known", any.clone(), &[small]),
        (least(8_001), "new", any.clone(), &[small]),
        (Filters { strict: true, ..least(8_000) }, "new", any.clone(), &["new:context_window_unknown"]),
        (Filters { fail_open: true, ..plain }, "modest", needs(true, true, false), &[]),
        (
            least(100_000),
            "known",
            needs(true, false, false),
            &["small:tools_not_supported", "plain:context_window_too_small"],
        ),
    ];
    for (filters, model, traits, expected) in rows {
        assert_eq!(told(&catalogue(filters), model, &traits), expected, "{filters:?} {model} {traits:?}");
    }
}

/// It has the words of rows C and D of routing 9.2.
#[test]
fn a_lack_has_one_name() {
    let all = [Lack::Tools, Lack::Vision, Lack::Structured, Lack::Window];
    let names = [
        "tools_not_supported",
        "vision_not_supported",
        "structured_output_not_supported",
        "context_window_too_small",
    ];
    assert_eq!(all.map(Lack::as_str), names);
}

fn around(catalogue: &mut Catalogue, nested: &[&str]) {
    let unit = |name: &&str| Unit { key: (*name).into(), weight: 0.0, nested: Some((*name).into()) };
    let mut outer = Combo::new("outer", "priority", Vec::new());
    (outer.units, outer.nests) = (nested.iter().map(unit).collect(), true);
    catalogue.combos.insert("outer".into(), outer);
}

/// Once each, by whichever combo, unless another one asks it.
#[test]
fn those_of_nested_combos_are_told_unless_they_are_asked_elsewhere() {
    let small = ["small:context_window_too_small"];
    let mut catalogue = catalogue(Filters::default());
    around(&mut catalogue, &["small", "known", "modest"]);
    assert_eq!(told(&catalogue, "outer", &input(8_001)), small);
    // What a combo adds makes it too long for that one alone.
    catalogue.combos.get_mut("small").unwrap().added_tokens = 5_000;
    assert!(told(&catalogue, "outer", &input(4_000)).is_empty());
    around(&mut catalogue, &["small", "plain"]);
    assert_eq!(told(&catalogue, "outer", &input(4_000)), small);
    catalogue.combos.get_mut("known").unwrap().added_tokens = 5_000;
    around(&mut catalogue, &["known"]);
    assert_eq!(told(&catalogue, "outer", &input(4_000)), small);
}

/// Of a unit that stays those are told that it does not ask.
#[test]
fn those_of_a_unit_are_told() {
    let mut catalogue = catalogue(Filters::default());
    let unit = |key: &str| Unit { key: key.into(), weight: 0.0, nested: None };
    let steps = ["small", "large"].map(|model| Step::new("p".into(), model.into()));
    let mut whole = Combo::new("whole", "weighted", steps.to_vec());
    whole.units = vec![Unit { weight: 1.0, ..unit("two") }];
    whole.steps.iter_mut().for_each(|step| step.unit = 0);
    catalogue.combos.insert("whole".into(), whole);
    assert_eq!(told(&catalogue, "whole", &input(9_000)), ["small:context_window_too_small"]);
}

/// Routing 7.8.
#[test]
fn as_many_are_told_as_a_plan_may_have_targets() {
    let mut catalogue = catalogue(Filters::default());
    let mut steps: Vec<Step> = (0..40)
        .map(|number| Step::pinned("p".into(), "small".into(), format!("p-{number}").into()))
        .collect();
    steps.push(Step::new("p".into(), "large".into()));
    catalogue.combos.insert("many".into(), Combo::new("many", "priority", steps));
    let plan = make(&catalogue, &Board::default(), "many", &input(9_000)).unwrap();
    assert_eq!((plan.targets.len(), plan.unfit.len()), (1, 30));
    let last = plan.unfit[29].connection.clone();
    assert_eq!(last, Some("p-29".into()));
}

/// What a member is held to is what it gets (routing 6): `plan::fan`.
#[test]
fn a_fan_leaves_out_as_well() {
    let mut catalogue = catalogue(Filters::default());
    let steps = ["small", "large"].map(|model| Step::new("p".into(), model.into()));
    catalogue.combos.insert("fan".into(), Combo::new("fan", "fusion", steps.to_vec()));
    assert_eq!(told(&catalogue, "fan", &input(9_000)), ["small:context_window_too_small"]);
}

/// Routing 9.2, row N and not F: who was never meant holds nobody up.
#[test]
fn what_a_request_ends_with_is_read_from_the_others() {
    let catalogue = catalogue(Filters::default());
    let mut board = Board::default();
    open(&mut board, "p");
    let plan = make(&catalogue, &board, "known", &input(9_000)).unwrap();
    assert!(plan.targets.is_empty());
    let reasons: Vec<Exclusion> = plan.excluded.iter().map(|excluded| excluded.reason).collect();
    assert_eq!(reasons, [Exclusion::CircuitOpen; 2]);
    assert_eq!(plan.unfit.len(), 1);
    let ended = blocked(Asked::Combo, &plan.excluded, NOW);
    assert!(matches!(ended, Blocked::AllCoolingDown(Some(_))), "{ended:?}");
}
