//! What a combo that asks several models for one answer consists of (routing 6). Such a plan is
//! no list of targets that stand in for each other: the relay asks the members, each as a request
//! of its own.
//!
//! Whom a request could not be sent to at all is no member, as it is no target of another combo
//! (routing 3.5); what can be found out before anybody is asked, and paid, is told before.

mod circle;
mod fit;
mod order;
mod share;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::NoPlan;
use super::names::{self, Named};
use crate::catalogue::{Catalogue, Combo, Dialect, Step};
use crate::combo::DEEPEST;
use crate::strategy::{self, FusionSettings};

use circle::no_circle;
pub(super) use fit::assemble;
pub(super) use order::fill;
pub use share::Share;

/// How the members work together.
#[derive(Clone, Debug, PartialEq)]
pub enum FanKind {
    /// All at once, then a judge.
    Fusion(FusionSettings),
    /// One after the other.
    Pipeline,
}

/// Whom a member stands for.
#[derive(Clone, Debug, PartialEq)]
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
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Whom it stands for.
    pub who: Who,
    /// What a pipeline says before it (routing 6.2b).
    pub prompt: Option<Arc<str>>,
    /// What it gets of the client's request.
    pub share: Share,
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fan {
    /// How they work together.
    pub kind: FanKind,
    /// In declared order; of a panel those who could be asked.
    pub members: Vec<Member>,
    /// Who makes one answer of a panel's, and is asked alone where no panel is; `None`: nobody could.
    pub judge: Option<Who>,
}

/// How a combo's targets work together; `None`: they stand in for each other.
fn kind(combo: &Combo) -> Option<FanKind> {
    strategy::find(combo.strategy)?.fan(&combo.settings)
}

/// The members of a combo, as they are written.
fn declared(combo: &Combo, catalogue: &Catalogue) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::new();
    for (index, unit) in combo.units.iter().enumerate() {
        match &unit.nested {
            // One that is gone has nothing to say.
            Some(name) if catalogue.combos.contains_key(name) => {
                members.push(Member { who: Who::Named(name.clone()), prompt: None, share: Share::Words });
            }
            Some(_) => {}
            None => members.extend(combo.steps[combo.steps_of(index)].iter().map(|step| Member {
                prompt: step.prompt.clone(),
                who: Who::Step(Arc::new(step.clone())),
                share: Share::Words,
            })),
        }
    }
    members
}

/// Each step of a line is asked in the request's dialect, and so are a panel and its judge (routing 6).
/// Where one of them cannot be, nobody is: what came before would be paid for nothing.
fn in_one_dialect(combo: &Combo, dialect: Dialect, catalogue: &Catalogue) -> Result<(), NoPlan> {
    if passes(combo, dialect, catalogue, DEEPEST) {
        return Ok(());
    }
    let could = DIALECTS.into_iter().filter(|other| passes(combo, *other, catalogue, DEEPEST));
    Err(NoPlan::FormatNotSupported(could.collect()))
}

const DIALECTS: [Dialect; 4] = [Dialect::Openai, Dialect::Anthropic, Dialect::Responses, Dialect::Gemini];

/// Whether a request in the dialect comes through: all steps of a line speak it, one target of others,
/// and the judge of a panel.
fn passes(combo: &Combo, dialect: Dialect, catalogue: &Catalogue, depth: u32) -> bool {
    let speaks = |step: &Step| {
        catalogue.providers.get(&step.provider).is_none_or(|provider| provider.dialects.contains(&dialect))
    };
    let inside = |inner: &Combo| depth == 0 || passes(inner, dialect, catalogue, depth - 1);
    let nested = combo.units.iter().filter_map(|unit| catalogue.combos.get(unit.nested.as_ref()?));
    let ways: Vec<bool> = combo.steps.iter().map(speaks).chain(nested.map(inside)).collect();
    let able = ways.iter().filter(|way| **way).count();
    // What has no target ends otherwise.
    if ways.is_empty() {
        return true;
    }
    match &kind(combo) {
        Some(FanKind::Pipeline) => able == ways.len(),
        // A lone voice has no judge.
        Some(FanKind::Fusion(FusionSettings { judge: Some(judge), .. })) if able > 1 => {
            match names::find(catalogue, judge) {
                Ok(Named::Combo(judge)) => inside(judge),
                Ok(Named::Made(judge)) => inside(&judge),
                Ok(Named::Model(provider, _)) => provider.dialects.contains(&dialect),
                // Told in its own words.
                Err(_) => true,
            }
        }
        _ => able > 0,
    }
}

/// Fans ask combos that may be fans: they may not be deeper than this.
pub const DEEPEST_FAN: u32 = DEEPEST;
