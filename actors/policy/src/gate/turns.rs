//! Whose turn it is: who goes in, who goes on without a slot, who is sent away.

use std::collections::BTreeMap;

use super::{Door, Gate, Hold, Holder, Lane, Level, SWEEP_MS, Ticket};
use crate::change::{Exclusion, Refusal};
use crate::ids::ModelId;
use crate::limiter::{Limiter, LimiterKey};
use crate::time::Millis;

/// What became of those who waited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// Let in, in order.
    pub admitted: Vec<Ticket>,
    /// Sent away.
    pub refused: Vec<(Ticket, Refusal)>,
    /// Somebody waits for a cap above the connection: it must be told when that has room.
    pub above: bool,
}

impl Gate {
    /// Lets in whom it can, oldest first, and sends away whose time is over. To be called after
    /// every release, refusal and change, and at [`Gate::next_tick_at`].
    pub fn tick(&mut self, door: &mut dyn Door, now: Millis) -> Turns {
        let mut turns = Turns::default();
        let holds = self.scan(door, &mut turns, now);
        self.tell_of_pause(&holds, &mut turns, now);
        self.expire(&holds, door, &mut turns, now);
        let wakes = holds.values().filter_map(|hold| hold.until()).filter(|at| *at > now);
        let deadlines = self.line.next_deadline().into_iter();
        self.next_tick = wakes.chain(deadlines).min().filter(|_| !self.line.is_empty());
        turns.above = holds.values().any(|hold| hold.is_above());
        turns
    }

    pub(super) fn admit(&mut self, ticket: Ticket, model: ModelId, slot: bool, now: Millis) {
        let key = self.limiters.as_mut().map(|limiters| {
            let key = limiters.key(&model);
            limiters.of(&key, now).start(now);
            key
        });
        if slot {
            self.running += 1;
            *self.running_of.entry(model.clone()).or_default() += 1;
        }
        self.holders.insert(ticket, Holder { model, since: now, key, slot });
    }

    pub(super) fn uncount(&mut self, model: &ModelId) {
        self.running -= 1;
        if let Some(running) = self.running_of.get_mut(model) {
            *running -= 1;
            if *running == 0 {
                self.running_of.remove(model);
            }
        }
    }

    /// Lets in the oldest of those whom nothing holds, until everybody is held.
    fn scan(&mut self, door: &mut dyn Door, turns: &mut Turns, now: Millis) -> BTreeMap<Lane, Hold> {
        let mut holds = BTreeMap::new();
        while let Some((ticket, waiter)) = self.line.oldest(|lane| !holds.contains_key(lane)) {
            let (model, lane) = (waiter.model.clone(), waiter.lane.clone());
            let held = self.held(&model, now).or_else(|| self.held_by_ramp(now));
            let held = held.or_else(|| door.pass(ticket, now).err());
            match held {
                Some(hold) => drop(holds.insert(lane, hold)),
                None => {
                    self.line.remove(ticket);
                    self.admit(ticket, model, true, now);
                    turns.admitted.push(ticket);
                }
            }
        }
        self.line.note(&holds);
        holds
    }

    pub(super) fn held_by_ramp(&mut self, now: Millis) -> Option<Hold> {
        let ramp = self.ramp.as_mut()?;
        let inside = self.holders.values().filter(|holder| holder.since >= ramp.since).count();
        ramp.holds(inside, now).map(|until| Hold::Turn(Some(until)))
    }

    /// Sends away those who wait for a pause that outlasts them (flow 4.26).
    fn tell_of_pause(&mut self, holds: &BTreeMap<Lane, Hold>, turns: &mut Turns, now: Millis) {
        let Some(limiters) = &self.limiters else { return };
        let mut gone = Vec::new();
        for lane in holds.keys() {
            let until = limiters.get(&lane.key).and_then(|limiter| limiter.paused_until(now));
            gone.extend(self.line.outlasted(lane, until).map(|ticket| (ticket, until)));
        }
        for (ticket, retry_at) in gone {
            self.line.remove(ticket);
            turns.refused.push((ticket, Refusal { why: Exclusion::QueueTimeout, retry_at }));
        }
    }

    /// Sends away those whose time for what holds them is over (flow 1.20, 4.11).
    fn expire(&mut self, holds: &BTreeMap<Lane, Hold>, door: &mut dyn Door, turns: &mut Turns, now: Millis) {
        for ticket in self.line.due(now) {
            let Some(waiter) = self.line.get(ticket) else { continue };
            let Some(hold) = holds.get(&waiter.lane).copied() else { continue };
            let model = waiter.model.clone();
            let slotless = waiter.soft && hold == Hold::Cap(Level::Account) && now >= waiter.cap_deadline;
            // Who goes on without a slot waits for the rest of what holds it.
            let inside = if slotless { self.held_inside(&model, now) } else { None };
            let overflows = slotless && inside.is_none();
            let Some(waiter) = self.line.get(ticket) else { continue };
            let Some(refusal) = waiter.over(inside.unwrap_or(hold), now) else {
                self.line.remind(ticket, inside.and_then(|hold| hold.until()));
                continue;
            };
            self.line.remove(ticket);
            if overflows && door.pass(ticket, now).is_ok() {
                self.admit(ticket, model, false, now);
                turns.admitted.push(ticket);
            } else {
                turns.refused.push((ticket, refusal));
            }
        }
    }

    /// Flow 4.21: a limiter that stands still though it could go is replaced, and its line is sent
    /// away: those requests are not replayed.
    pub fn replace_stuck(&mut self, now: Millis) -> Vec<Ticket> {
        let Some(limiters) = &mut self.limiters else { return Vec::new() };
        let stuck = |(key, limiter): (&LimiterKey, &Limiter)| {
            limiter.is_stuck(self.line.held_by_limiter(key), now).then(|| key.clone())
        };
        let stuck: Vec<LimiterKey> = limiters.iter().filter_map(stuck).collect();
        let mut told = Vec::new();
        for key in stuck {
            limiters.replace(&key, now);
            told.extend(self.line.take_key(&key));
        }
        told
    }

    /// Drops limiters that nobody has used for long: where each model has one, names that are never
    /// asked for again would be kept for ever.
    pub(super) fn sweep_idle(&mut self, now: Millis) {
        let due = now.saturating_sub(self.swept_at) >= SWEEP_MS;
        if let Some(limiters) = self.limiters.as_mut().filter(|_| due) {
            self.swept_at = now;
            limiters.sweep(now, |key| self.line.waiting_for_key(key) > 0);
        }
    }

    /// Whether it went on without a slot (flow 2.27).
    pub fn is_without_slot(&self, ticket: Ticket) -> bool {
        self.holders.get(&ticket).is_some_and(|holder| !holder.slot)
    }
}
