//! The local limiter of a connection, or of one of its models (flow 4): how many requests may
//! start a minute, how far apart, how many run at once, and how long nobody may start.
//!
//! It has no clock and no queue. The gate asks `pace` for the head of its line, `start`s it and
//! reports the `finish`; everything is derived from `now`, so no timer is needed to be right.
//! The operator's numbers are a ceiling: what a provider states in headers makes it slower for a
//! while, never faster (decision 15a, unlimited unless somebody gave a number). `governor` was
//! weighed: its cells fill continuously, so that a third call at 2 a minute would start at 30 s
//! and not with the next minute, and no header can set what is left in them.

mod headers;
mod keyed;
mod learnt;
mod reservoir;
mod settings;
mod stated;
#[cfg(test)]
mod tests;
mod view;

use crate::time::{MINUTE, Millis, SECOND};

pub use headers::RateHeaders;
pub use keyed::{LimiterKey, Limiters};
pub use learnt::{Learnt, MOST_KEPT, keep_newest, worth_saving};
pub use settings::{LimiterScope, LimiterSettings};
pub use stated::{Stated, pause_refuses, stated};
pub use view::LimiterView;

use reservoir::Reservoir;

/// Work, room and no start for so long: it is stuck (flow 4.21).
const STUCK_MS: Millis = 10 * SECOND;
/// One that nobody used for so long is dropped (flow 4.21).
const IDLE_MS: Millis = 10 * MINUTE;
/// The gap after a provider said that its limit is near, ms (flow 4.18).
const NEAR_LIMIT_GAP_MS: Millis = 200;
/// Taken off a gap that was computed from a limit, ms (flow 4.19).
const GAP_SLACK_MS: Millis = 10;

/// What the head of the line may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Start now.
    Go,
    /// Not before this instant, which lies ahead.
    Until(Millis),
    /// As many run as may: wait for one to finish.
    Busy,
}

/// The limiter of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limiter {
    settings: LimiterSettings,
    running: u32,
    started_at: Option<Millis>,
    /// The operator's requests per minute.
    own: Option<Reservoir>,
    /// What a provider said is left, until it was refilled twice.
    told: Option<Reservoir>,
    paused_until: Option<Millis>,
    learnt: Option<Learnt>,
    used_at: Millis,
    /// When something other than a start last let the line move, or could not have.
    moved_at: Millis,
}

// === impl Limiter: the gate's questions ===

impl Limiter {
    /// A limiter whose refill clock starts now (flow 4.9).
    pub fn new(settings: LimiterSettings, now: Millis) -> Self {
        Self {
            settings,
            running: 0,
            started_at: None,
            own: Reservoir::per_minute(settings.rpm, now),
            told: None,
            paused_until: None,
            learnt: None,
            used_at: now,
            moved_at: now,
        }
    }

    /// A new one that knows the gap learnt before a restart, unless that is too old (flow 4.20).
    pub fn restore(settings: LimiterSettings, learnt: Learnt, now: Millis) -> Self {
        Self { learnt: learnt.restored(now), ..Self::new(settings, now) }
    }

    /// What the head of the line may do (flow 4.8).
    pub fn pace(&mut self, now: Millis) -> Pace {
        self.settle(now);
        if self.settings.parallel > 0 && self.running >= self.settings.parallel {
            return Pace::Busy;
        }
        let spaced = self.started_at.map(|at| at.saturating_add(self.min_time_ms()));
        // The end of a pause fills the operator's count, so only that end is waited for.
        let own = self.own.filter(|_| self.paused_until.is_none());
        let filled = [own, self.told].into_iter().flatten().filter_map(|it| it.empty_until());
        match filled.chain(spaced).chain(self.paused_until).max() {
            Some(at) if at > now => Pace::Until(at),
            _ => Pace::Go,
        }
    }

    /// One starts, after `Pace::Go`.
    pub fn start(&mut self, now: Millis) {
        self.settle(now);
        for reservoir in [&mut self.own, &mut self.told].into_iter().flatten() {
            reservoir.take();
        }
        self.running = self.running.saturating_add(1);
        self.started_at = Some(now);
        self.used_at = now;
    }

    /// One that started has ended, however.
    pub fn finish(&mut self, now: Millis) {
        self.running = self.running.saturating_sub(1);
        (self.used_at, self.moved_at) = (now, now);
    }

    /// How many run.
    pub fn running(&self) -> u32 {
        self.running
    }

    /// The numbers it was given.
    pub fn settings(&self) -> LimiterSettings {
        self.settings
    }

    /// Until when a stated wait holds everybody back (flow 4.26).
    pub fn paused_until(&self, now: Millis) -> Option<Millis> {
        self.paused_until.filter(|until| now < *until)
    }

    /// `queued` requests wait for nothing but this limiter, it would let one start and has not
    /// for 10 s, and nothing runs whose end could move the line (flow 4.21).
    pub fn is_stuck(&self, queued: usize, now: Millis) -> bool {
        let mut then = *self;
        if queued == 0 || self.running > 0 || then.pace(now) != Pace::Go {
            return false;
        }
        let spaced = then.started_at.map(|at| at.saturating_add(then.min_time_ms()));
        let filled = [then.own, then.told].into_iter().flatten().map(|it| it.filled_at());
        let able_at = filled.chain(spaced).fold(then.moved_at, Millis::max);
        now.saturating_sub(able_at) >= STUCK_MS
    }

    /// Nobody used it for 10 min and it holds nobody back; the caller knows whether somebody
    /// waits for it (flow 4.21).
    pub fn is_idle(&self, now: Millis) -> bool {
        let mut then = *self;
        then.settle(now);
        let holds = then.paused_until.is_some() || then.told.is_some();
        self.running == 0 && !holds && now.saturating_sub(self.used_at) >= IDLE_MS
    }
}

// === impl Limiter: what it is told ===

impl Limiter {
    /// New numbers. Those that run go on counting and what was learnt is kept, unless the pace
    /// itself changed; a new reservoir ends a pause (flow 4.7, 4.27).
    pub fn configure(&mut self, settings: LimiterSettings, now: Millis) {
        self.settle(now);
        let old = std::mem::replace(&mut self.settings, settings);
        if (old.rpm, old.min_time_ms) != (settings.rpm, settings.min_time_ms) {
            self.learnt = None;
        }
        if old.rpm != settings.rpm {
            self.own = Reservoir::per_minute(settings.rpm, now);
            (self.told, self.paused_until) = (None, None);
        }
        self.moved_at = now;
    }

    /// Reads what an answer says about limits (flow 4.17–4.19). True: the pace changed, look at
    /// the line again.
    pub fn learn(&mut self, headers: &RateHeaders, now: Millis) -> bool {
        self.settle(now);
        let before = (self.told, self.paused_until, self.min_time_ms());
        match headers.limit {
            _ if headers.status_429 => self.forget(),
            _ if headers.over_limit => {
                let known = self.learnt.map_or(0, |learnt| learnt.min_time_ms);
                self.learnt = Some(Learnt { min_time_ms: known.max(NEAR_LIMIT_GAP_MS), at: now });
            }
            Some(limit) if limit > 0 => self.learn_limit(limit, headers, now),
            _ => {}
        }
        let changed = before != (self.told, self.paused_until, self.min_time_ms());
        if changed {
            self.moved_at = now;
        }
        changed
    }

    /// Less than a tenth left: only that until the reset. More than half: nothing to mind. A
    /// reservoir that changes ends a pause (flow 4.19, 4.27).
    fn learn_limit(&mut self, limit: u64, headers: &RateHeaders, now: Millis) {
        let mut min_time_ms = (MINUTE / limit).saturating_sub(GAP_SLACK_MS);
        match headers.remaining.map(u128::from) {
            Some(left) if left * 10 < u128::from(limit) => {
                self.told = Some(Reservoir::told(left as u64, limit, headers.reset_ms, now));
                self.paused_until = None;
            }
            Some(left) if left * 2 > u128::from(limit) => {
                (self.told, self.paused_until) = (None, None);
                min_time_ms = 0;
            }
            _ => {}
        }
        self.learnt = Some(Learnt { min_time_ms, at: now });
    }

    /// A 429 proves that what was learnt is wrong (flow 4.17). Those that run, the operator's
    /// count and a pause that the provider stated go on.
    pub fn forget(&mut self) {
        (self.told, self.learnt) = (None, None);
    }

    /// A stated wait: nobody starts before its end, then the minute begins anew with the
    /// operator's numbers (flow 4.23, 4.25, decision 17). The latest end holds (decision 3).
    pub fn pause(&mut self, wait_ms: Millis, now: Millis) {
        self.settle(now);
        let end = now.saturating_add(wait_ms);
        if end > now {
            self.paused_until = self.paused_until.max(Some(end));
            self.told = None;
            (self.used_at, self.moved_at) = (now, now);
        }
    }

    /// Ends a stated wait and what headers taught: an operator knows better.
    pub fn unpause(&mut self) {
        self.paused_until = None;
        self.forget();
    }

    /// The gap that was learnt, to be saved (flow 4.20).
    pub fn learnt(&self) -> Option<Learnt> {
        self.learnt
    }

    /// What holds from headers and the operator together, ms.
    fn min_time_ms(&self) -> Millis {
        let learnt = self.learnt.map_or(0, |learnt| learnt.min_time_ms);
        self.settings.min_time_ms.max(learnt)
    }

    /// Everything that became due until now.
    fn settle(&mut self, now: Millis) {
        if let Some(end) = self.paused_until.filter(|end| *end <= now) {
            self.own = Reservoir::per_minute(self.settings.rpm, end);
            self.paused_until = None;
            self.moved_at = self.moved_at.max(end);
        }
        for reservoir in [&mut self.own, &mut self.told].into_iter().flatten() {
            reservoir.refill(now);
        }
        self.told = self.told.filter(|told| !told.is_over());
    }
}
