//! What a strategy asks of the entries: of one at a time, or of all at once where asking for each
//! would cost more than the answers (design "Budgets").

use std::sync::Arc;

use super::{Entries, Entry, List};
use crate::account::AccountStrategy;
use crate::breaker::BreakerState;
use crate::catalogue::ModelEntry;
use crate::ids::{ConnectionId, ModelId, ProviderId};
use crate::plan::{World, accounts};
use crate::reading::AccountReading;
use crate::strategy::{Metrics, Pool, Seen, Spread};

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
        self.is_eligible(self.entry(index), index)
    }

    fn able(&self) -> (Vec<usize>, Vec<usize>) {
        let (mut able, mut unable) = (Vec::with_capacity(self.count()), Vec::new());
        let mut sort = |index, is_able| if is_able { able.push(index) } else { unable.push(index) };
        match &self.list {
            // As it is nearly always.
            List::Candidates if self.calm && !self.cuts => {
                let candidates = self.roll.candidates.iter().enumerate();
                candidates.for_each(|(index, candidate)| {
                    let is_able = candidate.account.is_some() && candidate.speaks(self.ask.dialect);
                    sort(index, is_able);
                });
            }
            _ => (0..self.count()).for_each(|index| sort(index, self.eligible(index))),
        }
        (able, unable)
    }

    fn all_closed(&self) -> bool {
        self.world.board.providers.are_calm()
    }

    fn has_records(&self) -> bool {
        self.world.memory.has_records(&self.combo.name)
    }

    fn breaker(&self, index: usize) -> BreakerState {
        let board = &self.world.board;
        if board.providers.are_calm() {
            return BreakerState::Closed;
        }
        let view = board.providers.get(&self.step(index).provider);
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
        if let Entry::Account(_, account) = self.entry(index) {
            return self.world.memory.in_flight(&account.id);
        }
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

    fn readings(&self) -> Vec<Option<&AccountReading>> {
        let memory = self.world.memory;
        let of = |index| match self.entry(index) {
            Entry::Account(_, account) => memory.reading(&account.id),
            _ => self.reading(index),
        };
        (0..self.count()).map(of).collect()
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

    fn seen(&self, index: usize) -> Seen<'_> {
        let entry = self.entry(index);
        let step = self.first(&entry).expect("as in `step`");
        let (memory, now) = (self.world.memory, self.world.now);
        match entry {
            Entry::Account(candidate, account) => Seen {
                provider: &step.provider,
                model: &step.model,
                breaker: self.breaker(index),
                facts: self.roll.facts(candidate.step),
                reading: memory.reading(&account.id),
                accounts: candidate.peers,
                sessions: memory.sessions(&account.id, now),
            },
            _ => Seen {
                provider: &step.provider,
                model: &step.model,
                breaker: self.breaker(index),
                facts: self.facts(index),
                reading: self.reading(index),
                accounts: self.accounts(index),
                sessions: self.sessions(index),
            },
        }
    }
}
