//! Those who wait at a gate: one line, seen as lanes, with the end of everybody's patience.

use std::collections::{BTreeMap, BTreeSet};

use super::{Hold, Ticket};
use crate::change::{Exclusion, Refusal};
use crate::ids::ModelId;
use crate::limiter::{LimiterKey, pause_refuses};
use crate::time::Millis;

/// How long a request is willing to stand in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Not at all (flow 1.15).
    None,
    /// As the gate's numbers say.
    Queue,
    /// So long for a slot of the account, then on without one (flow 2.27). `queue`: most that may
    /// wait; 0 never waits, `None` is no bound (flow 2.29).
    Soft {
        /// Longest wait, ms.
        wait_ms: Millis,
        /// Most that may wait.
        queue: Option<u32>,
    },
}

impl Patience {
    pub(super) fn is_soft(self) -> bool {
        matches!(self, Self::Soft { .. })
    }
}

/// A set of gates; those who wait for the same set stand in the same lane (decision 13).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lane {
    /// The model, if it has a cap of its own.
    pub model: Option<ModelId>,
    /// Its limiter, if that is narrower than the connection.
    pub key: LimiterKey,
}

#[derive(Clone, Debug)]
pub(super) struct Waiter {
    pub(super) model: ModelId,
    pub(super) lane: Lane,
    pub(super) entered: Millis,
    /// End of its patience with a cap.
    pub(super) cap_deadline: Millis,
    /// End of its patience with the limiter, if there is one.
    pub(super) pace_deadline: Option<Millis>,
    pub(super) soft: bool,
}

impl Waiter {
    fn last_deadline(&self) -> Millis {
        self.cap_deadline.max(self.pace_deadline.unwrap_or(0))
    }

    /// Its refusal if it may not wait any longer for what holds it now. The budgets of caps and
    /// limiter run side by side: whatever changes, nobody waits longer than the larger one.
    pub(super) fn over(&self, hold: Hold, now: Millis) -> Option<Refusal> {
        let last = now >= self.last_deadline();
        let (over, why) = match hold {
            Hold::Cap(_) | Hold::Turn(_) => (now >= self.cap_deadline, Exclusion::SemaphoreTimeout),
            Hold::Pace(_) | Hold::Window(_) => {
                (self.pace_deadline.is_none_or(|end| now >= end), Exclusion::QueueTimeout)
            }
            Hold::Rest(_) => (false, Exclusion::ConnectionCooldown),
        };
        let retry_at = match hold {
            Hold::Rest(until) => until,
            Hold::Pace(until) => until.or(Some(now + 1_000)),
            Hold::Window(until) => Some(until),
            Hold::Cap(_) | Hold::Turn(_) => Some(now + 1_000),
        };
        (over || last).then_some(Refusal { why, retry_at })
    }
}

/// The line.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    waiters: BTreeMap<Ticket, Waiter>,
    lanes: BTreeMap<Lane, Queue>,
    deadlines: BTreeSet<(Millis, Ticket)>,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    tickets: BTreeSet<Ticket>,
    /// What held it when it was looked at last.
    hold: Option<Hold>,
}

impl Line {
    pub(super) fn push(&mut self, ticket: Ticket, waiter: Waiter) {
        self.lanes.entry(waiter.lane.clone()).or_default().tickets.insert(ticket);
        self.deadlines.insert((waiter.cap_deadline, ticket));
        self.deadlines.extend(waiter.pace_deadline.map(|end| (end, ticket)));
        self.waiters.insert(ticket, waiter);
    }

    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<Waiter> {
        let waiter = self.waiters.remove(&ticket)?;
        self.deadlines.remove(&(waiter.cap_deadline, ticket));
        if let Some(end) = waiter.pace_deadline {
            self.deadlines.remove(&(end, ticket));
        }
        if let Some(queue) = self.lanes.get_mut(&waiter.lane) {
            queue.tickets.remove(&ticket);
            if queue.tickets.is_empty() {
                self.lanes.remove(&waiter.lane);
            }
        }
        Some(waiter)
    }

    pub(super) fn get(&self, ticket: Ticket) -> Option<&Waiter> {
        self.waiters.get(&ticket)
    }

    pub(super) fn len(&self) -> usize {
        self.waiters.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// How many stand in a lane.
    pub(super) fn lane(&self, lane: &Lane) -> usize {
        self.lanes.get(lane).map_or(0, |queue| queue.tickets.len())
    }

    /// How many wait for the limiter of a lane.
    pub(super) fn with_key(&self, lane: &Lane) -> usize {
        self.waiting_for_key(&lane.key)
    }

    pub(super) fn waiting_for_key(&self, key: &LimiterKey) -> usize {
        let lanes = self.lanes.iter().filter(|(lane, _)| lane.key == *key);
        lanes.map(|(_, queue)| queue.tickets.len()).sum()
    }

    /// How many wait for the limiter alone, as far as was seen: no cap or rest holds them.
    pub(super) fn held_by_limiter(&self, key: &LimiterKey) -> usize {
        self.lanes_at(key).map(|queue| queue.tickets.len()).sum()
    }

    /// Takes everybody out who waits for the limiter alone.
    pub(super) fn take_key(&mut self, key: &LimiterKey) -> Vec<Ticket> {
        let tickets: Vec<Ticket> =
            self.lanes_at(key).flat_map(|queue| queue.tickets.iter().copied()).collect();
        for ticket in &tickets {
            self.remove(*ticket);
        }
        tickets
    }

    fn lanes_at(&self, key: &LimiterKey) -> impl Iterator<Item = &Queue> {
        let at = move |(lane, queue): &(&Lane, &Queue)| {
            lane.key == *key && matches!(queue.hold, None | Some(Hold::Pace(_)))
        };
        self.lanes.iter().filter(at).map(|(_, queue)| queue)
    }

    /// The oldest in any lane that `open` lets through.
    pub(super) fn oldest(&self, open: impl Fn(&Lane) -> bool) -> Option<(Ticket, &Waiter)> {
        let lanes = self.lanes.iter().filter(|(lane, _)| open(lane));
        let ticket = lanes.filter_map(|(_, queue)| queue.tickets.first()).min()?;
        self.waiters.get_key_value(ticket).map(|(ticket, waiter)| (*ticket, waiter))
    }

    /// Those of a lane whose patience with the limiter ends before its pause does.
    pub(super) fn outlasted(&self, lane: &Lane, until: Option<Millis>) -> impl Iterator<Item = Ticket> {
        let queue = self.lanes.get(lane).filter(|_| until.is_some());
        let ends = move |ticket: &&Ticket| {
            let deadline = self.waiters.get(*ticket).and_then(|waiter| waiter.pace_deadline);
            deadline.is_some_and(|deadline| pause_refuses(until, deadline))
        };
        queue.into_iter().flat_map(|queue| queue.tickets.iter()).filter(ends).copied()
    }

    /// Remembers what holds each lane.
    pub(super) fn note(&mut self, holds: &BTreeMap<Lane, Hold>) {
        for (lane, queue) in &mut self.lanes {
            queue.hold = holds.get(lane).copied();
        }
    }

    pub(super) fn hold_of(&self, lane: &Lane) -> Option<Hold> {
        self.lanes.get(lane)?.hold
    }

    pub(super) fn next_deadline(&self) -> Option<Millis> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Those with a deadline that has come; each deadline speaks once.
    pub(super) fn due(&mut self, now: Millis) -> Vec<Ticket> {
        let later = self.deadlines.split_off(&(now + 1, 0));
        let mut due: Vec<Ticket> =
            std::mem::replace(&mut self.deadlines, later).into_iter().map(|(_, ticket)| ticket).collect();
        due.sort_unstable();
        due.dedup();
        due
    }

    /// Looks at somebody again at an instant.
    pub(super) fn remind(&mut self, ticket: Ticket, at: Option<Millis>) {
        self.deadlines.extend(at.map(|at| (at, ticket)));
    }

    /// Those whose last deadline comes before an instant.
    pub(super) fn ending_before(&self, until: Millis) -> Vec<Ticket> {
        let ending = self.waiters.iter().filter(|(_, waiter)| waiter.last_deadline() < until);
        ending.map(|(ticket, _)| *ticket).collect()
    }

    pub(super) fn tickets(self) -> impl Iterator<Item = Ticket> {
        self.waiters.into_keys()
    }

    pub(super) fn into_waiters(self) -> impl Iterator<Item = (Ticket, Waiter)> {
        self.waiters.into_iter()
    }

    /// Since when the first one waits, and how many do, by what they wait for.
    pub(super) fn oldest_wait(&self) -> Option<Millis> {
        self.waiters.values().next().map(|waiter| waiter.entered)
    }

    pub(super) fn waiting_for(&self, model: &ModelId) -> usize {
        self.lanes
            .iter()
            .filter(|(lane, _)| lane.model.as_ref() == Some(model))
            .map(|(_, queue)| queue.tickets.len())
            .sum()
    }
}
