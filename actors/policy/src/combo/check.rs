//! What is wrong with combos before they are taken (routing 2.9): each problem with the place
//! where it is written, so that a finding and a 400 can name it in their own words.
//!
//! All combos are looked at, not the changed one alone: a new ref can make another combo too deep.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use super::graph::{Graph, Reach};
use super::{EXECUTING, MOST_STEPS, Nesting, Spec, TargetSpec, Tiers};

/// Something that makes a combo unfit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The combo.
    pub combo: Arc<str>,
    /// Where in it.
    pub place: Place,
    /// What is wrong there.
    pub flaw: Flaw,
}

/// A place in a combo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The combo as a whole.
    Combo,
    /// How it nests.
    Nesting,
    /// A step, counted from 0.
    Step(usize),
    /// Who judges.
    Judge,
    /// The name of the first tier.
    FirstTier,
    /// The step of a tier, counted from 0.
    TierStep(usize),
    /// The tier after a tier, counted from 0.
    TierFallback(usize),
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It asks for itself: the combos on the way, the last one is the first again.
    Cycle(Vec<Arc<str>>),
    /// Its refs go deeper than it allows.
    TooDeep {
        /// The longest chain of refs.
        depth: u32,
        /// The longest that is allowed.
        most: u32,
    },
    /// It becomes more steps than a combo may have.
    TooManySteps(usize),
    /// There is no such combo.
    UnknownCombo(Arc<str>),
    /// Another combo has this name.
    NameTaken,
    /// Another step of it has this id.
    IdTaken(Arc<str>),
    /// Its strategy cannot ask a nested combo as a whole.
    CannotExecute(&'static str),
    /// No step has this id.
    UnknownStep(Arc<str>),
    /// No tier has this name.
    UnknownTier(String),
    /// Another tier has this name.
    TierTaken(String),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cycle(way) => write!(f, "the combo asks for itself: {}", way.join(" -> ")),
            Self::TooDeep { depth, most } => write!(f, "combos nest {depth} deep; at most {most} is allowed"),
            Self::TooManySteps(steps) => write!(f, "the combo becomes {steps} steps; at most {MOST_STEPS}"),
            Self::UnknownCombo(name) => write!(f, "there is no combo \"{name}\""),
            Self::NameTaken => f.write_str("another combo has this name"),
            Self::IdTaken(id) => write!(f, "another step has the id \"{id}\""),
            Self::CannotExecute(strategy) => {
                let able = EXECUTING.join(", ");
                write!(f, "\"{strategy}\" cannot ask a nested combo as a whole; these can: {able}")
            }
            Self::UnknownStep(id) => write!(f, "no step has the id \"{id}\""),
            Self::UnknownTier(name) => write!(f, "there is no tier \"{name}\""),
            Self::TierTaken(name) => write!(f, "another tier is called \"{name}\""),
        }
    }
}

/// Everything that is wrong, in the order in which it is written.
pub fn check(specs: &[Spec]) -> Vec<Problem> {
    let graph = Graph::new(specs);
    let (reaches, mut names, mut problems) = (graph.reaches(), HashSet::new(), Vec::new());
    for spec in specs {
        let mut add = |place, flaw| problems.push(Problem { combo: spec.name.clone(), place, flaw });
        if !names.insert(&spec.name) {
            add(Place::Combo, Flaw::NameTaken);
            continue;
        }
        check_reach(spec, &reaches, &mut add);
        check_steps(spec, &graph, &mut add);
        if let Some(tiers) = &spec.tiers {
            check_tiers(spec, tiers, &mut add);
        }
    }
    problems
}

fn check_reach(spec: &Spec, reaches: &HashMap<&str, Reach>, add: &mut dyn FnMut(Place, Flaw)) {
    let nests = spec.steps.iter().any(|step| matches!(step.target, TargetSpec::Combo(_)));
    if nests && spec.nesting == Nesting::Execute && !spec.executes() {
        add(Place::Nesting, Flaw::CannotExecute(spec.strategy));
    }
    let Some(Reach { depth, steps }) = reaches.get(&*spec.name).copied() else { return };
    if depth > spec.depth() {
        add(Place::Combo, Flaw::TooDeep { depth, most: spec.depth() });
    }
    if steps > MOST_STEPS {
        add(Place::Combo, Flaw::TooManySteps(steps));
    }
}

fn check_steps(spec: &Spec, graph: &Graph<'_>, add: &mut dyn FnMut(Place, Flaw)) {
    let mut ids = HashSet::new();
    for (index, step) in spec.steps.iter().enumerate() {
        if !ids.insert(&step.id) {
            add(Place::Step(index), Flaw::IdTaken(step.id.clone()));
        }
        let TargetSpec::Combo(name) = &step.target else { continue };
        if graph.get(name).is_none() {
            add(Place::Step(index), Flaw::UnknownCombo(name.clone()));
        } else if let Some(way) = graph.way(name, &spec.name) {
            add(Place::Step(index), circle(spec, way));
        }
    }
    if let Some(way) = graph.judge(spec).and_then(|judge| graph.way(&judge.name, &spec.name)) {
        add(Place::Judge, circle(spec, way));
    }
}

fn circle(spec: &Spec, way: Vec<Arc<str>>) -> Flaw {
    Flaw::Cycle(std::iter::once(spec.name.clone()).chain(way).collect())
}

fn check_tiers(spec: &Spec, tiers: &Tiers, add: &mut dyn FnMut(Place, Flaw)) {
    let names: HashSet<&str> = tiers.tiers.iter().map(|tier| tier.name.as_str()).collect();
    if !names.contains(tiers.first.as_str()) {
        add(Place::FirstTier, Flaw::UnknownTier(tiers.first.clone()));
    }
    let mut seen = HashSet::new();
    for (index, tier) in tiers.tiers.iter().enumerate() {
        if !seen.insert(&tier.name) {
            add(Place::TierStep(index), Flaw::TierTaken(tier.name.clone()));
        }
        if spec.steps.iter().all(|step| step.id != tier.step) {
            add(Place::TierStep(index), Flaw::UnknownStep(tier.step.clone()));
        }
        if let Some(next) = tier.fallback.as_ref().filter(|next| !names.contains(next.as_str())) {
            add(Place::TierFallback(index), Flaw::UnknownTier(next.clone()));
        }
    }
}
