//! What a combo that asks several models for one answer consists of (routing 6). Such a plan is
//! no list of targets that stand in for each other: the relay asks the members, each as a request
//! of its own.

use std::sync::Arc;

use super::NoPlan;
use crate::catalogue::{Catalogue, Combo, Dialect, Step};
use crate::combo::DEEPEST;
use crate::strategy::{self, FusionSettings};

/// How the members work together.
#[derive(Clone, Debug, PartialEq)]
pub enum FanKind {
    /// All at once, then a judge.
    Fusion(FusionSettings),
    /// One after the other.
    Pipeline,
}

/// Whom a member stands for.
#[derive(Clone, Debug)]
pub enum Who {
    /// A provider's model, perhaps tied to accounts.
    Step(Arc<Step>),
    /// Whatever the name stands for; a combo is one voice.
    Named(Arc<str>),
}

impl Who {
    /// How it is called.
    pub fn name(&self) -> Arc<str> {
        match self {
            Self::Step(step) => format!("{}/{}", step.provider, step.model).into(),
            Self::Named(name) => name.clone(),
        }
    }
}

/// One member.
#[derive(Clone, Debug)]
pub struct Member {
    /// Whom it stands for.
    pub who: Who,
    /// What a pipeline says before it (routing 6.2b).
    pub prompt: Option<Arc<str>>,
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Fan {
    /// How they work together.
    pub kind: FanKind,
    /// In declared order.
    pub members: Vec<Member>,
}

/// The fan of a combo; `None`: its targets stand in for each other.
pub(super) fn fan(combo: &Combo, catalogue: &Catalogue) -> Option<Arc<Fan>> {
    let kind = strategy::find(combo.strategy)?.fan(&combo.settings)?;
    let mut members: Vec<Member> = Vec::new();
    for (index, unit) in combo.units.iter().enumerate() {
        match &unit.nested {
            // One that is gone has nothing to say.
            Some(name) if catalogue.combos.contains_key(name) => {
                members.push(Member { who: Who::Named(name.clone()), prompt: None });
            }
            Some(_) => {}
            None => {
                members.extend(combo.steps[combo.steps_of(index)].iter().map(|step| Member {
                    prompt: step.prompt.clone(),
                    who: Who::Step(Arc::new(step.clone())),
                }))
            }
        }
    }
    if let FanKind::Fusion(FusionSettings { max_panel: Some(most), .. }) = &kind {
        members.truncate((*most).max(1));
    }
    Some(Arc::new(Fan { kind, members }))
}

/// Routing 6.2: each step of a line is asked in the request's dialect. Where one cannot be, none is:
/// what came before it would be paid for nothing.
pub(super) fn in_one_dialect(combo: &Combo, dialect: Dialect, catalogue: &Catalogue) -> Result<(), NoPlan> {
    if !is_line(combo) || passes(combo, dialect, catalogue, DEEPEST) {
        return Ok(());
    }
    let could = DIALECTS.into_iter().filter(|other| passes(combo, *other, catalogue, DEEPEST));
    Err(NoPlan::FormatNotSupported(could.collect()))
}

const DIALECTS: [Dialect; 4] = [Dialect::Openai, Dialect::Anthropic, Dialect::Responses, Dialect::Gemini];

fn is_line(combo: &Combo) -> bool {
    strategy::find(combo.strategy).and_then(|rule| rule.fan(&combo.settings)) == Some(FanKind::Pipeline)
}

/// Whether a request in the dialect comes through: all steps of a line speak it, one target of others.
fn passes(combo: &Combo, dialect: Dialect, catalogue: &Catalogue, depth: u32) -> bool {
    let speaks = |step: &Step| {
        catalogue.providers.get(&step.provider).is_none_or(|provider| provider.dialects.contains(&dialect))
    };
    let nested = combo.units.iter().filter_map(|unit| catalogue.combos.get(unit.nested.as_ref()?));
    let nested = nested.map(|inner| depth == 0 || passes(inner, dialect, catalogue, depth - 1));
    let mut ways = combo.steps.iter().map(speaks).chain(nested).peekable();
    // What has no target ends otherwise.
    ways.peek().is_none() || if is_line(combo) { ways.all(|way| way) } else { ways.any(|way| way) }
}

/// Fans ask combos that may be fans: they may not be deeper than this.
pub const DEEPEST_FAN: u32 = DEEPEST;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::tests::catalogue;
    use super::{FanKind, fan, in_one_dialect};
    use crate::catalogue::{Catalogue, Combo, Dialect, Step, Unit};
    use crate::plan::NoPlan;
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
        combo.units =
            vec![unit("1", None), unit("2", Some("inner")), unit("3", Some("gone")), unit("4", None)];
        combo.nests = true;
        let inner = Combo::new("inner", "priority", vec![step(0, "x"), step(0, "y")]);
        (combo, Catalogue { combos: [(inner.name.clone(), inner)].into(), ..Catalogue::default() })
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
            assert_eq!(
                asked(&line("pipeline", &[]), dialect),
                Ok(()),
                "what is wrong there is told elsewhere"
            );
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
}
