//! The compound gate of one connection: account cap, model caps and local limiters, passed all
//! at once or not at all (flow 1, 4.3; decision 13).
//!
//! Waiting holds nothing. Requests that wait for the same set of gates stand in one lane and are
//! let in first come, first served; a full model holds back no request for another model. What
//! stands above a connection (provider and global caps, its own rest, which is the block of flow
//! 1.23) is asked through a [`Door`] at the very moment in which everything here is free.

mod hold;
mod line;
mod ramp;
mod settings;
mod text;
mod turns;
mod view;

use std::collections::BTreeMap;

use crate::change::{Exclusion, Refusal};
use crate::ids::ModelId;
use crate::limiter::{Learnt, LimiterKey, Limiters, Pace, RateHeaders, pause_refuses};
use crate::time::{Millis, SECOND};

pub use hold::{Hold, Level};
pub use line::{Lane, Patience};
use line::{Line, Waiter};
use ramp::Ramp;
pub use ramp::{FOLLOW_MS, Stumble};
pub use settings::{GateSettings, cap};
pub use text::{CapsFault, caps_of_text};
pub use turns::Turns;
pub use view::{GateView, LevelView, LimiterEntry, account_key, model_key};

/// Names one request at one gate; later ones have larger numbers.
pub type Ticket = u64;

/// What stands outside the gate and is asked last.
pub trait Door {
    /// Takes what a request needs there, or says what holds it. Nothing is taken on `Err`.
    fn pass(&mut self, ticket: Ticket, now: Millis) -> Result<(), Hold>;
}

/// A door that is always open.
pub struct Open;

impl Door for Open {
    fn pass(&mut self, _: Ticket, _: Millis) -> Result<(), Hold> {
        Ok(())
    }
}

/// What became of a request that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    /// It is in.
    In(Ticket),
    /// It stands in line.
    Waits(Ticket),
}

#[derive(Clone, Debug)]
struct Holder {
    model: ModelId,
    since: Millis,
    /// The limiter that counts it, if there was one when it went in.
    key: Option<LimiterKey>,
    /// It counts in the caps; one that went on without a slot does not (flow 2.27).
    slot: bool,
}

/// The gate.
#[derive(Clone, Debug)]
pub struct Gate {
    settings: GateSettings,
    limiters: Option<Limiters>,
    holders: BTreeMap<Ticket, Holder>,
    running: u32,
    running_of: BTreeMap<ModelId, u32>,
    line: Line,
    last_ticket: Ticket,
    next_tick: Option<Millis>,
    swept_at: Millis,
    ramp: Option<Ramp>,
}

/// A request that asks to go in.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The model, as it is sent upstream.
    pub model: &'a ModelId,
    /// Whether it may stand in line.
    pub patience: Patience,
    /// It has sat out a rest with others: it follows those who try the connection first (FC-108).
    pub behind: bool,
}

/// Limiters that nobody uses are looked for this often, ms (flow 4.21).
const SWEEP_MS: Millis = 30 * SECOND;

impl Gate {
    /// An empty gate.
    pub fn new(settings: GateSettings) -> Self {
        let limiters = settings.limiter.map(Limiters::new);
        Self {
            settings,
            limiters,
            holders: BTreeMap::new(),
            running: 0,
            running_of: BTreeMap::new(),
            line: Line::default(),
            last_ticket: 0,
            next_tick: None,
            swept_at: 0,
            ramp: None,
        }
    }

    /// Asks to go in (flow 1.12-1.17, 4.10, 4.13).
    pub fn enter(&mut self, entry: &Entry<'_>, door: &mut dyn Door, now: Millis) -> Result<Entered, Refusal> {
        let Entry { model, patience, behind } = *entry;
        self.sweep_idle(now);
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        let lane = self.lane(model);
        // Nobody overtakes those who wait for the same.
        let ahead = self.line.lane(&lane) > 0;
        let held = self.held(model, now).or(ahead.then_some(Hold::Turn(None)));
        let held = held.or_else(|| self.held_by_ramp(now).filter(|_| behind));
        let held = held.or_else(|| door.pass(ticket, now).err());
        let Some(hold) = held else {
            self.admit(ticket, model.clone(), true, now);
            return Ok(Entered::In(ticket));
        };
        if patience == Patience::None {
            return Err(hold.refusal(now));
        }
        let waiter = self.waiter(model, lane, patience, now);
        // A pause that outlasts the wait comes before the depth of the line (flow 4.10 (d), (e)).
        let pause = self.paused_until(model, now);
        if waiter.pace_deadline.is_some_and(|deadline| pause_refuses(pause, deadline)) {
            return Err(Refusal { why: Exclusion::QueueTimeout, retry_at: pause });
        }
        if let Some(refusal) = self.full(&waiter.lane, hold, patience, now) {
            // Nothing but the slot may be missing (flow 2.27).
            let slotless = patience.is_soft() && hold == Hold::Cap(Level::Account);
            let overflows = slotless && self.held_inside(model, now).is_none();
            return match overflows && door.pass(ticket, now).is_ok() {
                true => {
                    self.admit(ticket, model.clone(), false, now);
                    Ok(Entered::In(ticket))
                }
                false => Err(refusal),
            };
        }
        self.line.push(ticket, waiter);
        self.next_tick = Some(now);
        Ok(Entered::Waits(ticket))
    }

    /// When the next tick may change something.
    pub fn next_tick_at(&self) -> Option<Millis> {
        self.next_tick
    }

    /// A request has ended; a second call for it does nothing (flow 1.21). Whether somebody waits.
    pub fn leave(&mut self, ticket: Ticket, now: Millis) -> bool {
        if let Some(holder) = self.holders.remove(&ticket) {
            if let Some((limiters, key)) = self.limiters.as_mut().zip(holder.key) {
                limiters.finish(&key, now);
            }
            if holder.slot {
                self.uncount(&holder.model);
            }
        }
        !self.line.is_empty()
    }

    /// Somebody who waited has gone (flow 1.20).
    pub fn forget(&mut self, ticket: Ticket) {
        self.line.remove(ticket);
    }

    /// Everybody who waits is sent away (flow 1.24).
    pub fn reset(&mut self) -> Vec<Ticket> {
        self.next_tick = None;
        std::mem::take(&mut self.line).tickets().collect()
    }

    /// Sends those away whose time ends before an instant (flow 4.26), unless they do not mind it.
    pub fn send_impatient_away(&mut self, until: Millis, minds: impl Fn(Ticket) -> bool) -> Vec<Ticket> {
        let mut gone = self.line.ending_before(until);
        gone.retain(|ticket| minds(*ticket));
        for ticket in &gone {
            self.line.remove(*ticket);
        }
        gone
    }

    /// Requests that are in.
    pub fn in_flight(&self) -> usize {
        self.holders.len()
    }

    /// Requests that wait.
    pub fn waiting(&self) -> usize {
        self.line.len()
    }

    /// Replaces the numbers; nobody who is in or waits is dropped (flow 1.22).
    pub fn configure(&mut self, settings: GateSettings, now: Millis) {
        if settings == self.settings {
            return;
        }
        match (&mut self.limiters, settings.limiter) {
            (Some(limiters), Some(numbers)) => limiters.configure(numbers, now),
            (limiters, numbers) => *limiters = numbers.map(Limiters::new),
        }
        self.settings = settings;
        let waiting = std::mem::take(&mut self.line);
        for (ticket, waiter) in waiting.into_waiters() {
            let lane = self.lane(&waiter.model);
            self.line.push(ticket, Waiter { lane, ..waiter });
        }
        self.next_tick = (!self.line.is_empty()).then_some(now);
    }

    /// What the headers of an answer say of the provider's limits (flow 4.5).
    pub fn learn(&mut self, model: &ModelId, headers: &RateHeaders, now: Millis) {
        if let Some(limiters) = &mut self.limiters {
            limiters.learn(&limiters.key(model), headers, now);
        }
    }

    /// The connection comes back with a lone trial: those in line follow it (FC-108). Newcomers without
    /// a line before them are let in as ever (decision 3a).
    pub fn comes_back(&mut self, now: Millis) {
        self.ramp = Some(Ramp::begins(self.ramp, now));
    }

    /// A request of it succeeded.
    pub fn succeeded(&mut self, now: Millis) {
        self.ramp = self.ramp.and_then(|ramp| ramp.succeeded(now));
    }

    /// A request failed, has left and will come back. Nothing is held against the connection for it
    /// (decision 9c), but those who follow do so with more care.
    pub fn stumbled(&mut self, stumble: Stumble, now: Millis) {
        self.ramp = match stumble {
            Stumble::Failed => self.ramp.map(|ramp| ramp.stumbled(now)),
            Stumble::Crowded => Some(Ramp::crowded(self.holders.len(), now)),
        };
    }

    /// An operator says that the waits which the provider stated are over, and all that follows them.
    pub fn unpause(&mut self) {
        self.ramp = None;
        if let Some(limiters) = &mut self.limiters {
            limiters.unpause();
        }
    }

    /// What the limiters learnt, to be saved (flow 4.20).
    pub fn learnt(&self) -> Vec<(LimiterKey, Learnt)> {
        self.limiters.as_ref().map(Limiters::learnt).unwrap_or_default()
    }

    /// Takes over what was learnt before a restart, unless it knows better already.
    pub fn restore_learnt(&mut self, saved: &[(LimiterKey, Learnt)], now: Millis) {
        if let Some(limiters) = self.limiters.as_mut().filter(|limiters| limiters.iter().next().is_none()) {
            limiters.restore(saved.iter().cloned(), now);
        }
    }

    /// A wait that the provider stated: nobody of the model's limiter starts before its end (flow 4.23,
    /// 4.25). Those whose patience ends earlier are sent away by the next tick (flow 4.26).
    pub fn pause(&mut self, model: &ModelId, wait_ms: Millis, now: Millis) {
        if let Some(limiters) = &mut self.limiters {
            limiters.of(&limiters.key(model), now).pause(wait_ms, now);
            self.next_tick = (!self.line.is_empty()).then_some(now);
        }
    }
}

// === impl Gate: what holds ===

impl Gate {
    fn lane(&self, model: &ModelId) -> Lane {
        let key = self.limiters.as_ref().and_then(|limiters| limiters.key(model));
        Lane { model: self.settings.model_caps.contains_key(model).then(|| model.clone()), key }
    }

    /// What holds a request for a model, here.
    fn held(&mut self, model: &ModelId, now: Millis) -> Option<Hold> {
        let caps = &self.settings;
        if caps.account_cap > 0 && self.running >= caps.account_cap {
            return Some(Hold::Cap(Level::Account));
        }
        self.held_inside(model, now)
    }

    /// What holds it besides the account's cap.
    fn held_inside(&mut self, model: &ModelId, now: Millis) -> Option<Hold> {
        let cap = self.settings.model_caps.get(model).copied().unwrap_or(0);
        if cap > 0 && self.running_of.get(model).copied().unwrap_or(0) >= cap {
            return Some(Hold::Cap(Level::Model));
        }
        let limiters = self.limiters.as_mut()?;
        match limiters.of(&limiters.key(model), now).pace(now) {
            Pace::Go => None,
            Pace::Until(at) => Some(Hold::Pace(Some(at))),
            Pace::Busy => Some(Hold::Pace(None)),
        }
    }

    /// A refusal if the line that a newcomer would join is full (flow 1.16, 4.13).
    fn full(&self, lane: &Lane, hold: Hold, patience: Patience, now: Millis) -> Option<Refusal> {
        let soon = Some(now + 1_000);
        let depth = self.settings.limiter.map_or(0, |limiter| limiter.max_depth) as usize;
        if depth > 0 && self.line.with_key(lane) >= depth {
            return Some(Refusal { why: Exclusion::QueueFull, retry_at: soon });
        }
        let level = match (hold, self.line.hold_of(lane)) {
            (Hold::Cap(level), _) | (Hold::Turn(_), Some(Hold::Cap(level))) => level,
            _ => return None,
        };
        let waiting = match level {
            Level::Model if self.settings.account_cap == 0 => self.line.lane(lane),
            _ => self.line.len(),
        };
        let room = match patience {
            Patience::Soft { queue, .. } => queue.map(|size| size as usize),
            _ => Some(self.settings.queue_size as usize).filter(|size| *size > 0),
        };
        let full = room.is_some_and(|room| waiting >= room);
        full.then_some(Refusal { why: Exclusion::SemaphoreQueueFull, retry_at: soon })
    }

    fn waiter(&self, model: &ModelId, lane: Lane, patience: Patience, now: Millis) -> Waiter {
        let soft_wait = match patience {
            Patience::Soft { wait_ms, .. } => Some(wait_ms),
            _ => None,
        };
        Waiter {
            model: model.clone(),
            lane,
            entered: now,
            cap_deadline: now + soft_wait.unwrap_or(self.settings.timeout_ms),
            pace_deadline: self.settings.limiter.map(|limiter| now + limiter.max_wait_ms),
            soft: soft_wait.is_some(),
        }
    }

    fn paused_until(&self, model: &ModelId, now: Millis) -> Option<Millis> {
        let limiters = self.limiters.as_ref()?;
        limiters.get(&limiters.key(model))?.paused_until(now)
    }
}

#[cfg(test)]
mod tests;
