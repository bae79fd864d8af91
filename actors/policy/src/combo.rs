//! A combo as it is written, before names are resolved (routing 1, 2).
//!
//! Nested combos, wildcards and tiers are resolved when a configuration is taken, not when a
//! request comes: what they stand for changes only with the configuration.

mod check;
mod graph;
mod resolve;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use check::{Flaw, Place, Problem, check};
pub use resolve::{Providers, Resolved, resolve};

use crate::ids::{ConnectionId, ModelId, ProviderId};

/// Deepest nesting where nothing else is said (routing 2.4).
pub const MAX_DEPTH: u32 = 3;
/// Deepest nesting that anybody may allow.
pub const DEEPEST: u32 = 10;
/// Most steps of one combo when names are resolved.
pub const MOST_STEPS: usize = 10_000;

/// The strategies that may ask a nested combo as a whole (routing 2.6).
pub const EXECUTING: &[&str] =
    &["priority", "round-robin", "random", "strict-random", "weighted", "fill-first"];

/// The strategies for which a nested combo is one voice, however it is run otherwise (routing 6.1a).
pub const FANNING: &[&str] = &["fusion", "pipeline"];

/// How a nested combo is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nesting {
    /// Its targets take its place (routing 2.3).
    #[default]
    Flatten,
    /// It is one choice and orders its own targets (routing 2.6).
    Execute,
}

/// A combo as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Its name.
    pub name: Arc<str>,
    /// Name of its strategy, one of `STRATEGIES`.
    pub strategy: &'static str,
    /// Its steps.
    pub steps: Vec<StepSpec>,
    /// How nested combos are run.
    pub nesting: Nesting,
    /// How deep they may be nested, 1 to 10.
    pub max_depth: u32,
    /// The order of tiers (routing 2.5).
    pub tiers: Option<Tiers>,
    /// Who makes one answer of all (routing 6.1g), as it is named; only `fusion` has one.
    pub judge: Option<Arc<str>>,
}

/// A step as it is written; its id is given or made (routing 1.2f).
#[derive(Clone, Debug, PartialEq)]
pub struct StepSpec {
    /// Unique in its combo.
    pub id: Arc<str>,
    /// Its part of a draw, 0 to 100.
    pub weight: f64,
    /// What it stands for.
    pub target: TargetSpec,
}

/// What a step stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetSpec {
    /// A provider's model.
    Model(ModelSpec),
    /// Another combo.
    Combo(Arc<str>),
}

/// A provider's model as a step names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSpec {
    /// The provider.
    pub provider: ProviderId,
    /// The model; `*` at its end stands for all that begin so (routing 2.2).
    pub model: ModelId,
    /// The one account it is tied to.
    pub connection: Option<ConnectionId>,
    /// The accounts it may use; empty: all.
    pub allowed: Arc<[ConnectionId]>,
    /// What a `pipeline` says before it (routing 6.2b).
    pub prompt: Option<Arc<str>>,
    /// It may be passed only for quota (routing 4.1).
    pub only_on_quota: bool,
}

/// Tiers of steps and where each leads when it is spent (routing 2.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiers {
    /// Name of the first.
    pub first: String,
    /// Each with the step it holds and the tier after it, in declared order.
    pub tiers: Vec<Tier>,
}

/// One tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tier {
    /// Its name.
    pub name: String,
    /// The id of its step.
    pub step: Arc<str>,
    /// The tier after it.
    pub fallback: Option<String>,
}

impl Spec {
    /// How deep it nests, within what anybody may allow (routing 2.4).
    pub fn depth(&self) -> u32 {
        match self.max_depth {
            0 => MAX_DEPTH,
            depth => depth.min(DEEPEST),
        }
    }

    /// Its nested combos are asked as a whole (routing 2.6).
    pub fn executes(&self) -> bool {
        let wanted = self.nesting == Nesting::Execute && EXECUTING.contains(&self.strategy);
        wanted || FANNING.contains(&self.strategy)
    }
}
