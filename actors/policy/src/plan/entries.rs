//! The entries of a combo as its strategy sees them: steps, written steps, or accounts
//! (routing 2.6, 4.2c, 4.21). Facts are looked up when they are asked for.

mod pool;

use std::sync::Arc;

use super::accounts::usable;
use super::step::{cut_off, exclusion, gate};
use super::{Ask, World};
use crate::catalogue::{Candidate, Combo, ConnectionEntry, ProviderEntry, Roll, Step};
use crate::combo::DEEPEST;
use crate::ids::{ConnectionId, ProviderId};
use crate::strategy::{Grain, Pool};

/// One choice of a strategy.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry<'a> {
    /// An index of the combo's steps.
    Step(usize),
    /// An index of its units.
    Unit(usize),
    /// An account of a step.
    Account(&'a Candidate, &'a Arc<ConnectionEntry>),
}

/// Which entries there are.
enum List<'a> {
    /// Each step, as most combos have it.
    Steps,
    /// Each candidate of the roll.
    Candidates,
    /// These.
    These(Vec<Entry<'a>>),
}

fn entry(candidate: &Candidate) -> Entry<'_> {
    match &candidate.account {
        Some(account) => Entry::Account(candidate, account),
        None => Entry::Step(candidate.step),
    }
}

/// All choices, in declared order.
pub(super) struct Entries<'a> {
    pub(super) combo: &'a Combo,
    pub(super) ask: &'a Ask<'a>,
    pub(super) world: World<'a>,
    roll: &'a Roll,
    list: List<'a>,
    /// Somebody may be left out for its quota.
    cuts: bool,
    /// Nothing is held against anybody.
    calm: bool,
}

impl<'a> Entries<'a> {
    pub(super) fn new(
        (combo, roll): (&'a Combo, &'a Roll),
        grain: Grain,
        ask: &'a Ask<'a>,
        world: World<'a>,
    ) -> Self {
        let cuts = world.catalogue.reads_quota && world.catalogue.preflight.is_on();
        let calm = world.board.are_calm();
        let mut entries = Self { combo, ask, world, roll, list: List::Steps, cuts, calm };
        entries.list = match grain {
            _ if combo.nests => List::These(entries.units()),
            Grain::Steps => List::Steps,
            Grain::Units => List::These(entries.units()),
            Grain::Accounts => match ask.allowed {
                None => List::Candidates,
                Some(allowed) => List::These(entries.allowed(allowed)),
            },
        };
        entries
    }

    /// Units that lead somewhere: a nested combo that is gone contributes nothing (routing 14.4).
    fn units(&self) -> Vec<Entry<'a>> {
        let units = (0..self.combo.units.len()).map(Entry::Unit);
        let leads = |entry: &Entry<'a>| match entry {
            Entry::Unit(unit) if self.combo.units[*unit].nested.is_none() => {
                !self.combo.steps_of(*unit).is_empty()
            }
            entry => self.first(entry).is_some(),
        };
        units.filter(leads).collect()
    }

    /// Routing 4.21; a step of which no account is allowed stays one entry, and is told why it is
    /// left out.
    fn allowed(&self, allowed: &[ConnectionId]) -> Vec<Entry<'a>> {
        let mut all = Vec::with_capacity(self.roll.candidates.len());
        for of_step in self.roll.candidates.chunk_by(|one, other| one.step == other.step) {
            let before = all.len();
            let entries = of_step.iter().map(entry);
            all.extend(entries.filter(|entry| match entry {
                Entry::Account(_, account) => allowed.contains(&account.id),
                _ => false,
            }));
            if all.len() == before {
                all.push(Entry::Step(of_step[0].step));
            }
        }
        all
    }

    /// Nothing could be asked.
    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Keeps the entries of which some step is kept; tells each step of the others.
    pub(super) fn retain(&mut self, keep: impl Fn(&Step) -> bool, tell: &mut dyn FnMut(&'a Step)) {
        let kept = |index: &usize| {
            let mut any = false;
            self.each(*index, &mut |step| any = any || keep(step));
            any
        };
        let (kept, gone): (Vec<usize>, Vec<usize>) = (0..self.count()).partition(kept);
        if !gone.is_empty() {
            gone.into_iter().for_each(|index| self.each(index, tell));
            self.list = List::These(kept.into_iter().map(|index| self.entry(index)).collect());
        }
    }

    /// Tells each step of each entry.
    pub(super) fn tell(&self, tell: &mut dyn FnMut(&'a Step)) {
        (0..self.count()).for_each(|index| self.each(index, tell));
    }

    /// The largest window of an entry, tokens; `None`: nobody knows one.
    pub(super) fn window(&self, index: usize) -> Option<u64> {
        let mut largest = None;
        self.each(index, &mut |step| {
            let provider = self.world.catalogue.providers.get(&step.provider);
            let facts = provider.and_then(|provider| provider.facts(step.model.as_str()));
            largest = largest.max(facts.and_then(|facts| facts.context_window));
        });
        largest
    }

    /// The entry of an index.
    pub(super) fn entry(&self, index: usize) -> Entry<'a> {
        match &self.list {
            List::Steps => Entry::Step(index),
            List::Candidates => entry(&self.roll.candidates[index]),
            List::These(list) => list[index],
        }
    }

    fn key_of(&self, index: usize) -> &Arc<str> {
        match self.entry(index) {
            Entry::Step(step) => &self.combo.steps[step].key,
            Entry::Unit(unit) => &self.combo.units[unit].key,
            Entry::Account(candidate, _) => candidate.key(&self.combo.steps[candidate.step]),
        }
    }

    /// Tells each step of an entry, those of nested combos too.
    pub(super) fn each(&self, index: usize, tell: &mut dyn FnMut(&'a Step)) {
        match self.entry(index) {
            Entry::Step(step) => tell(&self.combo.steps[step]),
            Entry::Account(candidate, _) => tell(&self.combo.steps[candidate.step]),
            Entry::Unit(unit) => self.each_of(self.combo, unit, DEEPEST, tell),
        }
    }

    fn each_of(&self, combo: &'a Combo, unit: usize, depth: u32, tell: &mut dyn FnMut(&'a Step)) {
        match &combo.units[unit].nested {
            None => combo.steps[combo.steps_of(unit)].iter().for_each(tell),
            Some(name) => {
                let Some(nested) = self.world.catalogue.combos.get(name).filter(|_| depth > 0) else {
                    return;
                };
                for unit in 0..nested.units.len() {
                    self.each_of(nested, unit, depth - 1, tell);
                }
            }
        }
    }

    fn first(&self, entry: &Entry<'_>) -> Option<&'a Step> {
        let mut first = None;
        match entry {
            Entry::Step(step) => return self.combo.steps.get(*step),
            Entry::Account(candidate, _) => return self.combo.steps.get(candidate.step),
            Entry::Unit(unit) => self.each_of(self.combo, *unit, DEEPEST, &mut |step| {
                first.get_or_insert(step);
            }),
        }
        first
    }

    fn step(&self, index: usize) -> &'a Step {
        self.first(&self.entry(index)).expect("an entry without a step is left out when the list is made")
    }

    fn one(&self, index: usize) -> Option<&ConnectionId> {
        match self.entry(index) {
            Entry::Account(_, account) => Some(&account.id),
            _ => self.step(index).connection.as_ref(),
        }
    }

    fn provider_entry(&self, index: usize) -> Option<&'a ProviderEntry> {
        self.world.catalogue.providers.get(&self.step(index).provider)
    }

    /// Tells each account an entry could use.
    pub(super) fn each_account(
        &self,
        index: usize,
        tell: &mut dyn FnMut(&'a Step, &'a Arc<ConnectionEntry>),
    ) {
        if let Entry::Account(candidate, account) = self.entry(index) {
            return tell(&self.combo.steps[candidate.step], account);
        }
        let only = self.one(index);
        self.each(index, &mut |step| {
            let all = usable(step, self.world.catalogue);
            all.filter(|entry| only.is_none_or(|only| *only == entry.id)).for_each(|entry| tell(step, entry));
        });
    }

    /// Whether the account could be asked for this entry now.
    pub(super) fn leads_to(&self, index: usize, provider: &ProviderId, account: &ConnectionId) -> bool {
        let (only, mut any) = (self.one(index), false);
        if only.is_some_and(|only| only != account) {
            return false;
        }
        self.each(index, &mut |step| {
            let fits = step.provider == *provider && step.admits(account);
            any = any || (fits && self.serves_now(step, Some(account)));
        });
        any
    }

    fn serves_now(&self, step: &Step, only: Option<&ConnectionId>) -> bool {
        let provider = self.world.catalogue.providers.get(&step.provider);
        let Ok((provider, _)) = gate(step, provider, true, self.ask, self.world) else { return false };
        let able = |entry: &Arc<ConnectionEntry>| {
            step.admits(&entry.id)
                && only.is_none_or(|only| *only == entry.id)
                && exclusion((entry, step), true, self.ask, self.world).is_ok()
        };
        provider.connections.iter().any(able)
    }

    /// Routing 4.2a.
    #[inline]
    fn is_eligible(&self, entry: Entry<'a>, index: usize) -> bool {
        if let Entry::Account(candidate, account) = entry {
            // What does not change with time stands in the roll, or was asked when the list was made.
            if self.calm || self.world.board.is_calm(&account.provider, &account.id) {
                return candidate.speaks(self.ask.dialect)
                    && !(self.cuts && cut_off(account, self.world).is_some());
            }
            let step = &self.combo.steps[candidate.step];
            return gate(step, self.provider_entry(index), true, self.ask, self.world).is_ok()
                && exclusion((account, step), true, self.ask, self.world).is_ok();
        }
        let (only, mut any) = (self.one(index), false);
        self.each(index, &mut |step| any = any || self.serves_now(step, only));
        any
    }
}

#[cfg(test)]
mod tests;
