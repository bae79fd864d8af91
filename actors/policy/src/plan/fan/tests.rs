//! What a fan consists of, and who of it is asked for which request.

use std::sync::Arc;

use super::super::tests::{NOW, Nothing, catalogue};
use super::{Fan, FanKind, assemble, in_one_dialect};
use crate::board::Board;
use crate::catalogue::{Abilities, Catalogue, Combo, Dialect, Mapping, ModelEntry, Step, Unit};
use crate::dice::Scripted;
use crate::plan::{Ask, Lack, NoPlan, Plan, World, plan};
use crate::request::Traits;
use crate::strategy::FusionSettings;

/// One model, a nested combo, one that is gone, and a wildcard of two.
fn combo(strategy: &'static str) -> (Combo, Catalogue) {
    let step = |unit: usize, model: &str| Step { unit, ..Step::new("p".into(), model.into()) };
    let mut combo = Combo::new("m", strategy, Vec::new());
    combo.steps = vec![step(0, "a"), step(3, "b"), step(3, "c")];
    combo.steps[0].prompt = Some("say".into());
    let unit = |key: &str, nested: Option<&str>| Unit {
        key: key.into(),
        weight: 0.0,
        nested: nested.map(Into::into),
    };
    combo.units = vec![unit("1", None), unit("2", Some("inner")), unit("3", Some("gone")), unit("4", None)];
    combo.nests = true;
    let inner = Combo::new("inner", "priority", vec![step(0, "x"), step(0, "y")]);
    (combo, Catalogue { combos: [(inner.name.clone(), inner)].into(), ..Catalogue::default() })
}

fn fan(combo: &Combo, catalogue: &Catalogue) -> Option<Fan> {
    assemble(combo, (Dialect::Openai, &Traits::default()), catalogue, &mut Vec::new()).unwrap()
}

fn names(combo: &Combo, catalogue: &Catalogue) -> Vec<Arc<str>> {
    fan(combo, catalogue).unwrap().members.iter().map(|member| member.who.name()).collect()
}

#[test]
fn routing_6_1_a_a_nested_combo_is_one_voice() {
    for strategy in ["fusion", "pipeline"] {
        let (combo, catalogue) = combo(strategy);
        let expected = ["p/a", "inner", "p/b", "p/c"];
        assert_eq!(names(&combo, &catalogue).iter().map(|name| &**name).collect::<Vec<_>>(), expected);
        let fan = fan(&combo, &catalogue).unwrap();
        let prompts: Vec<_> = fan.members.iter().map(|member| member.prompt.as_deref()).collect();
        assert_eq!(prompts, [Some("say"), None, None, None]);
    }
    let (combo, catalogue) = combo("priority");
    assert!(fan(&combo, &catalogue).is_none());
}

#[test]
fn routing_6_1_h_the_panel_is_capped() {
    for (most, expected) in [(Some(2), 2), (Some(9), 4), (Some(0), 1), (None, 4)] {
        let (mut combo, catalogue) = combo("fusion");
        combo.settings.fusion.max_panel = most;
        assert_eq!(names(&combo, &catalogue).len(), expected, "{most:?}");
        let (mut combo, catalogue) = self::combo("pipeline");
        combo.settings.fusion = FusionSettings { max_panel: most, ..FusionSettings::default() };
        assert_eq!(names(&combo, &catalogue).len(), 4, "{most:?}");
        assert_eq!(fan(&combo, &catalogue).unwrap().kind, FanKind::Pipeline);
    }
}

/// `a` speaks openai, `d` anthropic.
#[test]
fn routing_6_2_a_line_is_asked_where_all_its_steps_can_be() {
    let line = |strategy, providers: &[&str]| {
        let step = |id: &&str| Step::new((*id).into(), "m".into());
        Combo::new("l", strategy, providers.iter().map(step).collect())
    };
    let asked = |combo: &Combo, dialect| in_one_dialect(combo, dialect, &catalogue());
    let refused = |speaks: &[Dialect]| Err(NoPlan::FormatNotSupported(speaks.to_vec()));
    for dialect in [Dialect::Openai, Dialect::Anthropic] {
        assert_eq!(asked(&line("pipeline", &["a", "d"]), dialect), refused(&[]));
        assert_eq!(asked(&line("fusion", &["a", "d"]), dialect), Ok(()));
        assert_eq!(asked(&line("priority", &["a", "d"]), dialect), Ok(()));
        assert_eq!(asked(&line("pipeline", &[]), dialect), Ok(()), "what is wrong there is told elsewhere");
    }
    assert_eq!(asked(&line("pipeline", &["d", "d"]), Dialect::Openai), refused(&[Dialect::Anthropic]));
    assert_eq!(asked(&line("pipeline", &["d", "d"]), Dialect::Anthropic), Ok(()));
    // A nested combo is one voice: one of its targets is enough.
    let mut nests = line("pipeline", &["a"]);
    nests.units.push(Unit { key: "2".into(), weight: 0.0, nested: Some("mixed".into()) });
    nests.nests = true;
    assert_eq!(asked(&nests, Dialect::Openai), Ok(()));
    assert_eq!(asked(&nests, Dialect::Anthropic), refused(&[Dialect::Openai]));
}

/// A combo `m` of models, `provider/model`, put into a catalogue.
fn put(catalogue: &mut Catalogue, strategy: &'static str, models: &[&str], judge: Option<&str>) {
    let step = |name: &&str| {
        let (provider, model) = name.split_once('/').unwrap();
        Step::new(provider.into(), model.into())
    };
    let mut combo = Combo::new("m", strategy, models.iter().map(step).collect());
    combo.settings.fusion.judge = judge.map(Into::into);
    catalogue.combos.insert(combo.name.clone(), combo);
}

/// `a` and `b` have models that see nothing, call nothing, or hold 1000 tokens.
fn with_facts() -> Catalogue {
    let mut catalogue = catalogue();
    for id in ["a", "b"] {
        let entry = |window, tools, vision| ModelEntry {
            context_window: window,
            abilities: Some(Abilities { tools, vision, structured: true }),
            ..ModelEntry::default()
        };
        let models = [
            ("whole", entry(Some(9_000), true, true)),
            ("mute", entry(Some(9_000), false, true)),
            ("blind", entry(Some(9_000), true, false)),
            ("small", entry(Some(1_000), true, true)),
        ];
        let provider = catalogue.providers.get_mut(id).unwrap();
        provider.models = Some(models.into_iter().map(|(id, facts)| (id.into(), facts)).collect());
    }
    catalogue
}

fn asked(catalogue: &Catalogue, dialect: Dialect, traits: &Traits) -> Result<Plan, NoPlan> {
    let ask = Ask { model: "m", dialect, allowed: None, traits, lease: None };
    let world = World { catalogue, board: &Board::default(), memory: &Nothing, now: NOW };
    plan(&ask, world, &mut Scripted::default())
}

/// Members; the judge; whom an explanation lists; whom it lists as left out.
type Told = (Vec<String>, Option<String>, Vec<String>, Vec<String>);

fn told(catalogue: &Catalogue, traits: &Traits) -> Result<Told, NoPlan> {
    let plan = asked(catalogue, Dialect::Openai, traits)?;
    let fan = plan.fan.as_ref().unwrap();
    let mut order: Vec<String> =
        plan.targets.iter().map(|target| format!("{}/{}", target.provider, target.model)).collect();
    // Accounts of one model.
    order.dedup();
    let unfit = |unfit: &crate::plan::Excluded| format!("{}:{}", unfit.model, unfit.reason.as_str());
    Ok((
        fan.members.iter().map(|member| member.who.name().to_string()).collect(),
        fan.judge.as_ref().map(|judge| judge.name().to_string()),
        order,
        plan.unfit.iter().map(unfit).collect(),
    ))
}

const PICTURES: Traits = traits(false, true, None);
const TOOLS: Traits = traits(true, false, None);
const LONG: Traits = traits(false, false, Some(5_000));

const fn traits(tools: bool, vision: bool, input_tokens: Option<u64>) -> Traits {
    Traits {
        input_tokens,
        max_output: None,
        tools,
        vision,
        structured: false,
        cache_key: None,
        keyed_by_prompt: false,
        session: None,
        response: None,
        first_text: None,
        wish: crate::request::Wish { mode: None, budget_usd: None, budget_fallback: None },
    }
}

/// `a` speaks openai, `d` anthropic: the panel would be paid before the judge is found to be foreign.
#[test]
fn routing_6_1_a_judge_that_no_route_of_the_panel_can_ask_is_told_before() {
    let mut catalogue = catalogue();
    let mut asked = |models: &[&str], judge: &str, dialect| {
        put(&mut catalogue, "fusion", models, Some(judge));
        asked(&catalogue, dialect, &Traits::default()).map(drop).err()
    };
    let refused = |speaks: &[Dialect]| Some(NoPlan::FormatNotSupported(speaks.to_vec()));
    assert_eq!(asked(&["a/m", "b/m"], "d/m", Dialect::Openai), refused(&[]));
    assert_eq!(asked(&["a/m", "b/m"], "mixed", Dialect::Openai), None, "one of its targets does");
    assert_eq!(asked(&["a/m", "b/m", "d/m", "d/x"], "d/y", Dialect::Openai), refused(&[Dialect::Anthropic]));
    assert_eq!(asked(&["a/m", "b/m", "d/m", "d/x"], "d/y", Dialect::Anthropic), None);
    assert_eq!(asked(&["a/m", "d/m"], "d/y", Dialect::Openai), None, "a lone voice has no judge");
    let nobody = NoPlan::Judge("b/gone".into(), Box::new(NoPlan::UnknownModel));
    assert_eq!(asked(&["a/m", "c/m"], "b/gone", Dialect::Openai), Some(nobody));
}

#[test]
fn routing_2_6_a_fan_that_asks_for_itself_is_found_whatever_way_leads_back() {
    let circle = |judge: &str, change: fn(&mut Catalogue)| {
        let mut catalogue = catalogue();
        put(&mut catalogue, "fusion", &["a/m", "b/m"], Some(judge));
        change(&mut catalogue);
        match asked(&catalogue, Dialect::Openai, &Traits::default()) {
            Err(NoPlan::Circle(way)) => Some(way.join(" ")),
            _ => None,
        }
    };
    assert_eq!(circle("m", |_| {}).as_deref(), Some("m m"));
    assert_eq!(circle("combo/m", |_| {}).as_deref(), Some("m m"));
    let alias = |catalogue: &mut Catalogue| {
        catalogue.aliases = [("best".into(), "combo/m".into())].into_iter().collect();
    };
    assert_eq!(circle("best", alias).as_deref(), Some("m m"));
    let mapping = |catalogue: &mut Catalogue| {
        catalogue.mappings = vec![Mapping { pattern: "gpt-*".into(), combo: "m".into(), priority: 1 }];
    };
    assert_eq!(circle("gpt-5", mapping).as_deref(), Some("m m"));
    assert_eq!(circle("a/gpt-5", mapping), None, "the pattern is of bare names");
    let second = |catalogue: &mut Catalogue| {
        let mut second = catalogue.combos["m"].clone();
        second.name = "second".into();
        second.settings.fusion.judge = Some("m".into());
        catalogue.combos.insert(second.name.clone(), second);
    };
    assert_eq!(circle("second", second).as_deref(), Some("m second m"));
    assert_eq!(circle("abc", |_| {}), None);
    assert_eq!(circle("auto/m", |_| {}), None, "that asks models");
}

/// Routing 3.1, 3.5: a panel is handed no tools; the judge that nobody has named is the first who could.
#[test]
fn routing_3_5_whom_a_panel_cannot_ask_is_no_member_and_an_explanation_says_so() {
    let mut catalogue = with_facts();
    put(&mut catalogue, "fusion", &["a/small", "a/mute", "a/blind", "b/whole"], None);
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let one = |name: &str| Some(name.to_owned());
    let all = names(&["a/small", "a/mute", "a/blind", "b/whole"]);
    let told = |traits: &Traits| told(&catalogue, traits).unwrap();
    assert_eq!(told(&Traits::default()), (all.clone(), one("a/small"), all.clone(), names(&[])));
    let able = names(&["a/small", "a/mute", "b/whole"]);
    let out = names(&["blind:vision_not_supported"]);
    assert_eq!(told(&PICTURES), (able.clone(), one("a/small"), able, out));
    let able = names(&["a/mute", "a/blind", "b/whole"]);
    let out = names(&["small:context_window_too_small"]);
    assert_eq!(told(&LONG), (able.clone(), one("a/mute"), able, out));
    assert_eq!(told(&TOOLS), (all, one("a/small"), names(&["a/small"]), names(&[])), "one is asked");
}

#[test]
fn routing_3_5_a_judge_that_lacks_what_is_needed_is_told_before() {
    let mut catalogue = with_facts();
    let mut asked = |judge: Option<&str>, models: &[&str], traits: &Traits, open: bool| {
        put(&mut catalogue, "fusion", models, judge);
        catalogue.combos.get_mut("m").unwrap().filters.fail_open = open;
        told(&catalogue, traits).map(|(_, judge, ..)| judge.unwrap())
    };
    let both = ["a/whole", "b/whole"];
    let lacks = |lacks: &[Lack]| NoPlan::CapabilityMismatch { pool_size: 2, lacks: lacks.to_vec() };
    let judge = |why| Err(NoPlan::Judge("a/mute".into(), Box::new(why)));
    assert_eq!(asked(Some("a/mute"), &both, &TOOLS, false), judge(lacks(&[Lack::Tools])));
    assert_eq!(asked(Some("a/mute"), &both, &TOOLS, true).unwrap(), "a/mute");
    assert_eq!(asked(Some("a/mute"), &both, &LONG, false).unwrap(), "a/mute");
    assert_eq!(asked(None, &["a/mute", "b/whole"], &TOOLS, false).unwrap(), "b/whole");
    assert_eq!(asked(None, &["a/mute", "b/mute"], &TOOLS, false), Err(lacks(&[Lack::Tools])));
    assert_eq!(asked(None, &["a/blind", "b/blind"], &PICTURES, false), Err(lacks(&[Lack::Vision])));
    assert_eq!(asked(None, &["a/blind", "b/blind"], &PICTURES, true).unwrap(), "a/blind");
    let too_long = NoPlan::ContextTooLong { pool_size: 2, largest: 1_000, input: 5_000 };
    assert_eq!(asked(None, &["a/small", "b/small"], &LONG, true), Err(too_long));
}

/// Routing 6.2b, c: pictures and length are the first step's business, tools the last one's.
#[test]
fn routing_3_5_each_step_of_a_line_is_held_to_what_it_gets() {
    let mut catalogue = with_facts();
    let mut asked = |models: &[&str], traits: &Traits| {
        put(&mut catalogue, "pipeline", models, None);
        told(&catalogue, traits).map(|(_, _, order, _)| order.len())
    };
    let lacks = |lack| Err(NoPlan::CapabilityMismatch { pool_size: 2, lacks: vec![lack] });
    assert_eq!(asked(&["a/whole", "b/blind"], &PICTURES), Ok(2));
    assert_eq!(asked(&["a/blind", "b/whole"], &PICTURES), lacks(Lack::Vision));
    assert_eq!(asked(&["a/mute", "b/whole"], &TOOLS), Ok(2));
    assert_eq!(asked(&["a/whole", "b/mute"], &TOOLS), lacks(Lack::Tools));
    assert_eq!(asked(&["a/whole", "b/small"], &LONG), Ok(2));
    let too_long = Err(NoPlan::ContextTooLong { pool_size: 2, largest: 1_000, input: 5_000 });
    assert_eq!(asked(&["a/small", "b/whole"], &LONG), too_long);
}
