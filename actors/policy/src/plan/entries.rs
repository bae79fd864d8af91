//! The entries of a combo as its strategy sees them: steps, written steps, or accounts
//! (routing 2.6, 4.2c, 4.21). Facts are looked up when they are asked for.

use std::sync::Arc;

use super::step::{cut_off, exclusion, gate};
use super::{Ask, World, accounts, usable};
use crate::account::AccountStrategy;
use crate::breaker::BreakerState;
use crate::catalogue::{Candidate, Combo, ConnectionEntry, ModelEntry, ProviderEntry, Roll, Step};
use crate::combo::DEEPEST;
use crate::ids::{ConnectionId, ModelId, ProviderId};
use crate::reading::AccountReading;
use crate::strategy::{Grain, Metrics, Pool, Spread};

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
}

impl<'a> Entries<'a> {
    pub(super) fn new(
        (combo, roll): (&'a Combo, &'a Roll),
        grain: Grain,
        ask: &'a Ask<'a>,
        world: World<'a>,
    ) -> Self {
        let cuts = world.catalogue.reads_quota && world.catalogue.preflight.is_on();
        let mut entries = Self { combo, ask, world, roll, list: List::Steps, cuts };
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
}

impl Pool for Entries<'_> {
    fn count(&self) -> usize {
        match &self.list {
            List::Steps => self.combo.steps.len(),
            List::Candidates => self.roll.candidates.len(),
            List::These(list) => list.len(),
        }
    }

    fn key(&self, index: usize) -> &str {
        self.key_of(index)
    }

    fn shared_key(&self, index: usize) -> Arc<str> {
        self.key_of(index).clone()
    }

    /// Most keys that are equal are one text in memory: the texts are read where none is.
    fn find(&self, key: &Arc<str>) -> Option<usize> {
        let all = || 0..self.count();
        let same = || all().find(|index| Arc::ptr_eq(self.key_of(*index), key));
        same().or_else(|| all().find(|index| self.key_of(*index) == key))
    }

    fn is_of(&self, keys: &[Arc<str>]) -> bool {
        let is_one = |(index, key): (usize, &Arc<str>)| {
            let own = self.key_of(index);
            Arc::ptr_eq(own, key) || own == key
        };
        keys.len() == self.count() && keys.iter().enumerate().all(is_one)
    }

    fn provider(&self, index: usize) -> &ProviderId {
        &self.step(index).provider
    }

    fn model(&self, index: usize) -> &ModelId {
        &self.step(index).model
    }

    fn connection(&self, index: usize) -> Option<&ConnectionId> {
        self.one(index)
    }

    fn weight(&self, index: usize) -> f64 {
        let unit = match self.entry(index) {
            Entry::Unit(unit) => unit,
            _ => self.step(index).unit,
        };
        self.combo.units[unit].weight
    }

    fn eligible(&self, index: usize) -> bool {
        if let Entry::Account(candidate, account) = self.entry(index) {
            // What does not change with time stands in the roll, or was asked when the list was made.
            if self.world.board.is_calm(&account.provider, &account.id) {
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

    fn breaker(&self, index: usize) -> BreakerState {
        let board = &self.world.board;
        if board.providers.are_calm() {
            return BreakerState::Closed;
        }
        let provider = &self.step(index).provider;
        let view = board.providers.get(provider);
        view.map_or(BreakerState::Closed, |view| view.state_at(self.world.now))
    }

    fn metrics(&self, index: usize) -> Option<Metrics> {
        let step = self.step(index);
        self.world.memory.metrics(&self.combo.name, &step.provider, &step.model)
    }

    fn reliability(&self, index: usize) -> Option<f64> {
        let step = self.step(index);
        self.world.memory.reliability(&self.combo.name, &step.provider, &step.model)
    }

    fn spread(&self, index: usize) -> Option<Spread> {
        let step = self.step(index);
        self.world.memory.spread(&self.combo.name, &step.provider, &step.model)
    }

    fn uses(&self, index: usize) -> Option<u64> {
        self.world.memory.combo(&self.combo.name)?.uses.get(self.key(index)).copied()
    }

    fn in_flight(&self, index: usize) -> u32 {
        let mut sum = 0;
        self.each_account(index, &mut |_, entry| sum += self.world.memory.in_flight(&entry.id));
        sum
    }

    /// For the connection that would be asked first. Where the accounts are drawn too, any may be:
    /// the one that is spared least speaks.
    fn keeps_draw(&self, index: usize) -> f64 {
        let World { catalogue, board, now, .. } = self.world;
        let slow_start_ms =
            self.combo.own.slow_start_ms(&self.step(index).provider, self.combo.slow_start_ms);
        if slow_start_ms == 0 {
            return 1.0;
        }
        let mut kept: Vec<f64> = Vec::new();
        self.each_account(index, &mut |_, entry| {
            let view = board.connections.get(&entry.id);
            let rested = view.filter(|view| view.cooldown.refusal(false, now).is_none());
            kept.extend(rested.map(|view| accounts::keeps_draw(view, slow_start_ms, now)));
        });
        match catalogue.accounts.strategy {
            AccountStrategy::FillFirst => kept.first().copied().unwrap_or(1.0),
            _ => kept.into_iter().reduce(f64::max).unwrap_or(1.0),
        }
    }

    fn facts(&self, index: usize) -> Option<&ModelEntry> {
        match self.entry(index) {
            Entry::Step(step) => self.roll.facts(step),
            Entry::Account(candidate, _) => self.roll.facts(candidate.step),
            Entry::Unit(_) => self.provider_entry(index)?.facts(self.step(index).model.as_str()),
        }
    }

    fn reading(&self, index: usize) -> Option<&AccountReading> {
        self.world.memory.reading(self.one(index)?)
    }

    fn accounts(&self, index: usize) -> usize {
        if let Entry::Account(candidate, _) = self.entry(index) {
            return candidate.peers;
        }
        self.provider_entry(index).map_or(0, |entry| entry.connections.iter().filter(|c| c.usable).count())
    }

    fn sessions(&self, index: usize) -> u32 {
        let mut fewest = None;
        self.each_account(index, &mut |_, entry| {
            let seen = self.world.memory.sessions(&entry.id, self.world.now);
            fewest = Some(fewest.map_or(seen, |fewest: u32| fewest.min(seen)));
        });
        fewest.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
