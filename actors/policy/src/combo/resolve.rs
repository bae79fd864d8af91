//! From combos as they are written to steps and units (routing 2.2 to 2.7).
//!
//! What `check` refuses may still come from a store: then a cycle is cut, an unknown name yields
//! nothing, and what is too deep keeps its own models only.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::graph::{Graph, Reach};
use super::{MOST_STEPS, ModelSpec, Spec, StepSpec, TargetSpec};
use crate::catalogue::{ProviderEntry, Step, Unit};
use crate::ids::{ById, ModelId, ProviderId};

/// Providers by id, as the catalogue has them.
pub type Providers = ById<ProviderId, ProviderEntry>;

/// What a combo stands for.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    /// Its steps in the order of its tiers, those of one unit side by side.
    pub steps: Vec<Step>,
    /// Its steps as they are written, wildcards replaced; those that yield nothing are left out.
    pub units: Vec<Unit>,
    /// Some unit is a combo that is asked as a whole.
    pub nests: bool,
}

/// What each combo stands for, by name.
pub fn resolve(specs: &[Spec], providers: &Providers) -> HashMap<Arc<str>, Resolved> {
    let graph = Graph::new(specs);
    let reaches = graph.reaches();
    let of = |spec: &Spec| {
        let mut making = Making::new(spec, providers, &graph, &reaches);
        for step in written(spec, providers) {
            making.add(step);
        }
        (spec.name.clone(), making.resolved)
    };
    graph.all().map(of).collect()
}

/// A step whose wildcard is replaced; ids and models of one are its own.
struct Written<'a> {
    id: Arc<str>,
    weight: f64,
    target: &'a TargetSpec,
    model: Option<ModelId>,
}

/// The steps in the order of tiers, wildcards replaced in place (routing 2.2, 2.5).
fn written<'a>(spec: &'a Spec, providers: &'a Providers) -> impl Iterator<Item = Written<'a>> {
    in_tiers(spec).into_iter().flat_map(|index| replaced(&spec.steps[index], providers))
}

/// Routing 2.2. The weight that was written is shared out: a wildcard does not draw more often
/// because its provider lists more.
fn replaced<'a>(step: &'a StepSpec, providers: &Providers) -> Vec<Written<'a>> {
    let StepSpec { id, weight, target } = step;
    let wildcard = match target {
        TargetSpec::Model(spec) => spec.model.as_str().strip_suffix('*').map(|start| (spec, start)),
        TargetSpec::Combo(_) => None,
    };
    let Some((spec, start)) = wildcard else {
        return vec![Written { id: id.clone(), weight: *weight, target, model: None }];
    };
    let listed = providers.get(&spec.provider).and_then(|provider| provider.models.as_ref());
    let fitting = listed.into_iter().flat_map(|models| models.iter()).map(|(model, _)| model);
    let fitting: Vec<&ModelId> = fitting.filter(|model| model.as_str().starts_with(start)).collect();
    let weight = weight / fitting.len().max(1) as f64;
    let one = |model: &ModelId| {
        let id = format!("{id}:{model}").into();
        Written { id, weight, target, model: Some(model.clone()) }
    };
    fitting.into_iter().map(one).collect()
}

/// Routing 2.5: from the first tier along its links, then the other tiers, then what is in none.
fn in_tiers(spec: &Spec) -> Vec<usize> {
    let count = spec.steps.len();
    let Some(tiers) = &spec.tiers else { return (0..count).collect() };
    let find = |name: &str| tiers.tiers.iter().position(|tier| tier.name == name);
    let (mut next, mut turns) = (find(&tiers.first), Vec::new());
    while let Some(tier) = next.filter(|tier| !turns.contains(tier)) {
        turns.push(tier);
        next = tiers.tiers[tier].fallback.as_deref().and_then(find);
    }
    turns.extend(0..tiers.tiers.len());
    let step_of = |tier: usize| spec.steps.iter().position(|step| step.id == tiers.tiers[tier].step);
    let mut seen = HashSet::new();
    turns.into_iter().filter_map(step_of).chain(0..count).filter(|index| seen.insert(*index)).collect()
}

/// A combo while its steps are resolved.
struct Making<'a> {
    spec: &'a Spec,
    providers: &'a Providers,
    graph: &'a Graph<'a>,
    reaches: &'a HashMap<&'a str, Reach>,
    /// Combos on the way down.
    path: Vec<Arc<str>>,
    /// Ids of its own steps, and execution keys; of two that are equal the first counts (routing 2.7).
    ids: HashSet<Arc<str>>,
    keys: HashSet<Arc<str>>,
    /// Steps and refs that may still be looked at: refs that multiply end.
    room: usize,
    resolved: Resolved,
}

impl<'a> Making<'a> {
    fn new(
        spec: &'a Spec,
        providers: &'a Providers,
        graph: &'a Graph<'a>,
        reaches: &'a HashMap<&'a str, Reach>,
    ) -> Self {
        let (path, resolved) = (vec![spec.name.clone()], Resolved::default());
        let (ids, keys) = (HashSet::new(), HashSet::new());
        Self { spec, providers, graph, reaches, path, ids, keys, room: MOST_STEPS, resolved }
    }

    /// A step of the combo itself: one unit.
    fn add(&mut self, step: Written<'_>) {
        if !self.ids.insert(step.id.clone()) {
            return;
        }
        let unit = |nested| Unit { key: step.id.clone(), weight: step.weight, nested };
        let nested = match step.target {
            TargetSpec::Combo(name) if self.spec.executes() => Some(name.clone()),
            _ => None,
        };
        if let Some(name) = nested {
            if self.may_ask(&name) {
                self.resolved.units.push(unit(Some(name)));
                self.resolved.nests = true;
            }
            return;
        }
        let before = self.resolved.steps.len();
        self.enter(&step, step.id.clone());
        if self.resolved.steps.len() > before {
            self.resolved.units.push(unit(None));
        }
    }

    /// Routing 2.6: what comes back, or goes too deep, is not asked at all.
    fn may_ask(&self, name: &str) -> bool {
        self.reaches.get(name).is_some_and(|reach| reach.depth < self.spec.depth())
    }

    /// Routing 2.3: a ref is replaced by the steps of its combo.
    fn enter(&mut self, step: &Written<'_>, key: Arc<str>) {
        if self.room == 0 {
            return;
        }
        self.room -= 1;
        match step.target {
            TargetSpec::Model(spec) => self.push(spec, step.model.clone(), key),
            TargetSpec::Combo(name) => {
                let depth = self.path.len() as u32 - 1;
                let known = self.graph.get(name).filter(|_| depth <= self.spec.depth());
                let Some(nested) = known.filter(|spec| !self.path.contains(&spec.name)) else { return };
                self.path.push(nested.name.clone());
                for inner in written(nested, self.providers) {
                    let key = format!("{key}>{}", inner.id).into();
                    self.enter(&inner, key);
                }
                self.path.pop();
            }
        }
    }

    fn push(&mut self, spec: &ModelSpec, model: Option<ModelId>, key: Arc<str>) {
        if !self.keys.insert(key.clone()) {
            return;
        }
        let model = model.as_ref().unwrap_or(&spec.model).as_str();
        let provider = self.providers.get(&spec.provider);
        self.resolved.steps.push(Step {
            key,
            unit: self.resolved.units.len(),
            // One text for both: what is compared at each pick is one place in memory.
            provider: provider.map_or(&spec.provider, |provider| &provider.id).clone(),
            model: provider.map_or(model, |provider| provider.callable(model)).into(),
            connection: spec.connection.clone(),
            allowed: spec.allowed.clone(),
            only_on_quota: spec.only_on_quota,
            prompt: spec.prompt.clone(),
        });
    }
}
