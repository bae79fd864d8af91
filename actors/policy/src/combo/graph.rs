//! Which combo asks which: how deep it goes, how many steps it makes, and where it comes back
//! to itself.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Spec, TargetSpec};

/// How far a combo reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// The longest chain of refs below it.
    pub(super) depth: u32,
    /// Its steps when every ref is replaced; a wildcard is one.
    pub(super) steps: usize,
}

/// Combos by name; of two with one name the first counts.
pub(super) struct Graph<'a> {
    specs: HashMap<&'a str, &'a Spec>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(specs: &'a [Spec]) -> Self {
        let mut graph = Self { specs: HashMap::with_capacity(specs.len()) };
        for spec in specs {
            graph.specs.entry(&spec.name).or_insert(spec);
        }
        graph
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Spec> {
        self.specs.get(name).copied()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &'a Spec> {
        self.specs.values().copied()
    }

    fn refs(spec: &'a Spec) -> impl Iterator<Item = &'a Arc<str>> {
        spec.steps.iter().filter_map(|step| match &step.target {
            TargetSpec::Combo(name) => Some(name),
            TargetSpec::Model(_) => None,
        })
    }

    /// The combo that a combo's judge is; `None`: it is a model, or nobody.
    pub(super) fn judge(&self, spec: &Spec) -> Option<&'a Spec> {
        let name = spec.judge.as_deref().filter(|_| spec.strategy == "fusion")?;
        self.get(name).or_else(|| self.get(name.strip_prefix("combo/")?))
    }

    /// The way from `name` down to `goal`, both included; `None`: there is none.
    pub(super) fn way(&self, name: &str, goal: &str) -> Option<Vec<Arc<str>>> {
        let (mut seen, mut path) = (HashSet::new(), Vec::new());
        self.walk(self.get(name)?, goal, &mut seen, &mut path).then_some(path)
    }

    fn walk(
        &self,
        spec: &'a Spec,
        goal: &str,
        seen: &mut HashSet<&'a str>,
        path: &mut Vec<Arc<str>>,
    ) -> bool {
        if !seen.insert(&spec.name) {
            return false;
        }
        path.push(spec.name.clone());
        let found = *spec.name == *goal
            || Self::refs(spec)
                .filter_map(|name| self.get(name))
                .chain(self.judge(spec))
                .any(|next| self.walk(next, goal, seen, path));
        if !found {
            path.pop();
        }
        found
    }

    /// How far each combo reaches; those that come back to themselves, or reach one, are missing.
    pub(super) fn reaches(&self) -> HashMap<&'a str, Reach> {
        let (mut done, mut open) = (HashMap::new(), HashSet::new());
        for spec in self.all() {
            self.reach(spec, &mut done, &mut open);
        }
        done.into_iter().filter_map(|(name, reach)| Some((name, reach?))).collect()
    }

    fn reach(
        &self,
        spec: &'a Spec,
        done: &mut HashMap<&'a str, Option<Reach>>,
        open: &mut HashSet<&'a str>,
    ) -> Option<Reach> {
        if let Some(known) = done.get(&*spec.name) {
            return *known;
        }
        if !open.insert(&spec.name) {
            return None;
        }
        let mut own = Some(Reach { depth: 0, steps: spec.steps.len() - Self::refs(spec).count() });
        for next in Self::refs(spec).filter_map(|name| self.get(name)) {
            let below = self.reach(next, done, open);
            own = own.zip(below).map(|(own, below)| Reach {
                depth: own.depth.max(below.depth + 1),
                steps: own.steps.saturating_add(below.steps),
            });
        }
        open.remove(&*spec.name);
        done.insert(&spec.name, own);
        own
    }
}
