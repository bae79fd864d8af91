//! One barred model on one connection (core 5, decisions 3b, 10, 11, 12c).
//!
//! A lock has an end and a count. The count outlives the end for a while, so that a
//! model which fails again soon is barred longer; successes halve it, and at zero the
//! lock is gone before its time. A write never moves the end to an earlier instant.
//! Failures of one burst cost one step: what was sent before the last counted failure was
//! reported repeats its step (core 8.3). Refusals of a request's content have a count and a
//! memory of their own (core 3.8).

mod family;
mod key;
mod order;
mod settings;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::backoff::{self, REFUSAL_MEMORY_MS};
use crate::change::{Change, Exclusion, Refusal};
use crate::time::{DAY, Millis, SECOND};

pub(crate) use family::family_of;
pub use key::{LockKey, LockScope};
pub(crate) use order::is_rule_of_a_model;
pub use order::{LockCase, LockOrder, LockReason, is_recorded_only, lock_for};
pub use settings::LockoutSettings;

/// The lock of one key on one connection.
#[derive(Clone, Debug)]
pub struct Lockout {
    settings: LockoutSettings,
    state: LockoutSnapshot,
}

/// What the board publishes of a lock. Instants are epoch ms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockoutView {
    /// What it bars.
    pub key: LockKey,
    /// The last instant at which it bars (core 5.1.6).
    pub until: Millis,
    /// Failures that count; 0 = gone.
    pub failures: u32,
    /// Why.
    pub reason: LockReason,
    /// Since when it bars without a gap.
    pub locked_at: Millis,
    /// When the last failure was reported.
    pub last_failure_at: Millis,
    /// Its length is ours alone: no provider has stated a wait since it began.
    pub computed: bool,
}

impl LockoutView {
    /// Does it bar at `now`? Its end is included (core 5.1.6; M19).
    pub fn is_locked(&self, now: Millis) -> bool {
        self.failures > 0 && now <= self.until
    }

    /// The refusal of a request for a barred model.
    pub fn refusal(&self, now: Millis) -> Option<Refusal> {
        self.is_locked(now)
            .then(|| Refusal { why: Exclusion::ModelLockout, retry_at: Some(self.until.saturating_add(1)) })
    }

    /// `locked` as in `/api/actors`, else `free`.
    pub fn label(&self, now: Millis) -> &'static str {
        if self.is_locked(now) { "locked" } else { "free" }
    }
}

/// The stored part of a lock (decision 11). Instants are epoch ms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockoutSnapshot {
    /// What it bars.
    pub key: LockKey,
    /// The last instant at which it bars.
    #[serde(default)]
    pub until: Millis,
    /// Failures that count.
    #[serde(default)]
    pub failures: u32,
    /// Why.
    #[serde(default)]
    pub reason: LockReason,
    /// Since when it bars.
    #[serde(default)]
    pub locked_at: Millis,
    /// When the last failure was reported.
    #[serde(default)]
    pub last_failure_at: Millis,
    /// Length of the lock applied last, ms.
    #[serde(default)]
    pub last_cooldown_ms: Millis,
    /// When the last failure that raised the count was reported.
    #[serde(default)]
    pub counted_at: Millis,
    /// Refusals of a request's content in a row (core 3.8).
    #[serde(default)]
    pub refusals: Refusals,
    /// Nothing stated a wait since it began to bar.
    #[serde(default)]
    pub computed: bool,
}

/// A row of refusals. Instants are epoch ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    /// How many; 0: none.
    pub count: u32,
    /// When the last one that counts was reported.
    pub at: Millis,
    /// The last instant at which it bars.
    pub until: Millis,
}

// === impl Lockout: making, keeping ===

impl Lockout {
    /// A lock that bars nothing yet: `record` its first order.
    pub fn new(key: LockKey, settings: LockoutSettings) -> Self {
        Self {
            settings,
            state: LockoutSnapshot {
                key,
                until: 0,
                failures: 0,
                reason: LockReason::default(),
                locked_at: 0,
                last_failure_at: 0,
                last_cooldown_ms: 0,
                counted_at: 0,
                refusals: Refusals::default(),
                computed: false,
            },
        }
    }

    /// The lock as it was stored; `None` if it is dead at `now` (decision 11).
    pub fn restore(snapshot: LockoutSnapshot, settings: LockoutSettings, now: Millis) -> Option<Self> {
        let lockout = Self { settings, state: snapshot };
        (!lockout.is_dead(now)).then_some(lockout)
    }

    /// What has to survive a restart.
    pub fn snapshot(&self) -> LockoutSnapshot {
        self.state.clone()
    }

    /// New numbers; the running lock keeps its end.
    pub fn configure(&mut self, settings: LockoutSettings) {
        self.settings = settings;
    }

    /// What the board publishes.
    pub fn view(&self) -> LockoutView {
        LockoutView {
            key: self.state.key.clone(),
            until: self.state.until,
            failures: self.count(),
            reason: self.state.reason,
            locked_at: self.state.locked_at,
            last_failure_at: self.state.last_failure_at,
            computed: self.state.computed,
        }
    }
}

// === impl Lockout: record, success ===

impl Lockout {
    /// Takes one failure of a request that was sent at `sent_at` (core 5.3); `None` when it
    /// writes nothing.
    pub fn record(&mut self, order: &LockOrder, sent_at: Millis, now: Millis) -> Option<Change> {
        if order.reason == LockReason::RequestRejected {
            return self.refuse(sent_at, now);
        }
        let from = self.label(now);
        let counts = !order.keep_count && sent_at > self.state.counted_at;
        let inside = self.state.failures > 0 && now <= self.window_end();
        let failures = match (inside, counts) {
            (true, true) => self.state.failures.saturating_add(1),
            (true, false) => self.state.failures,
            (false, _) => 1,
        };
        let length_ms = self.length_ms(order, failures, now);
        self.state.computed = !order.stated && (self.state.computed || !self.is_locked(now));
        if self.bar(order.reason, length_ms, now) {
            self.state.last_cooldown_ms = length_ms;
        }
        self.state.failures = failures;
        self.state.last_failure_at = now;
        if counts || !inside {
            self.state.counted_at = now;
        }
        Some(self.changed(from, order.reason.as_str(), now))
    }

    /// One refusal is one episode: what comes while it bars, or was sent before it was written,
    /// is not counted; one that is a day old continues no row (core 3.8.2; F13, F14).
    fn refuse(&mut self, sent_at: Millis, now: Millis) -> Option<Change> {
        let last = self.state.refusals;
        if last.count > 0 && (now <= last.until || sent_at <= last.at) {
            return None;
        }
        let from = self.label(now);
        let alive = last.count > 0 && now.saturating_sub(last.at) <= REFUSAL_MEMORY_MS;
        let count = if alive { last.count.saturating_add(1) } else { 1 };
        let length_ms = backoff::refusal(count);
        self.state.refusals = Refusals { count, at: now, until: now.saturating_add(length_ms) };
        self.bar(LockReason::RequestRejected, length_ms, now);
        Some(self.changed(from, LockReason::RequestRejected.as_str(), now))
    }

    /// Bars from now on; false if the running lock ends later: writing never shortens (core 5.3.6).
    fn bar(&mut self, reason: LockReason, length_ms: Millis, now: Millis) -> bool {
        let locked = self.is_locked(now);
        if !locked {
            self.state.locked_at = now;
        }
        let until = now.saturating_add(length_ms);
        if locked && until < self.state.until {
            return false;
        }
        self.state.until = until;
        self.state.reason = reason;
        true
    }

    /// Takes one success: a direct one removes the lock, a combo's halves the count and
    /// removes it at zero (core 5.6); refusals end with any (core 3.8.2). `None` if it is gone
    /// already.
    pub fn success(&mut self, direct: bool, now: Millis) -> Option<Change> {
        if self.count() == 0 {
            return None;
        }
        let from = self.label(now);
        let refused = self.state.reason == LockReason::RequestRejected;
        let left = if direct || refused { 0 } else { self.state.failures / 2 };
        self.leave(left);
        Some(self.changed(from, "recovery", now))
    }

    /// An operator's removal.
    pub fn remove(&mut self, now: Millis) -> Change {
        let from = self.label(now);
        self.leave(0);
        self.changed(from, "manual-reset", now)
    }

    /// Does it bar at `now` (core 5.1.6; M19)?
    pub fn is_locked(&self, now: Millis) -> bool {
        self.view().is_locked(now)
    }

    /// Nothing is left of it: decayed to 0, or neither the lock nor its count is alive
    /// (core 5.3.1, 5.5.2).
    pub fn is_dead(&self, now: Millis) -> bool {
        self.count() == 0 || (!self.is_locked(now) && now > self.memory_end())
    }

    /// The first instant at which it is dead if nothing more happens.
    pub fn dies_at(&self) -> Millis {
        if self.count() == 0 {
            return 0;
        }
        self.state.until.max(self.memory_end()).saturating_add(1)
    }

    /// What people are shown: failures, or refusals in a row.
    fn count(&self) -> u32 {
        self.state.failures.max(self.state.refusals.count)
    }

    /// The last instant at which a failure or a refusal continues its count.
    fn memory_end(&self) -> Millis {
        let refusals = self.state.refusals;
        let failures = if self.state.failures > 0 { self.window_end() } else { 0 };
        let refused = if refusals.count > 0 { refusals.at.saturating_add(REFUSAL_MEMORY_MS) } else { 0 };
        failures.max(refused)
    }

    /// The last instant at which a failure continues the count (core 5.3.1; M7).
    fn window_end(&self) -> Millis {
        let memory_ms = self.settings.reset_after_ms.saturating_add(self.state.last_cooldown_ms);
        self.state.last_failure_at.saturating_add(memory_ms)
    }

    /// Core 5.3.2–5.3.5.
    fn length_ms(&self, order: &LockOrder, failures: u32, now: Millis) -> Millis {
        let settings = &self.settings;
        let step = failures.saturating_sub(1);
        let exact_ms = order.exact_ms.filter(|ms| *ms > 0);
        match exact_ms {
            Some(ms) if order.authoritative => ms,
            Some(ms) => ms.min(settings.max_ms),
            None if order.reason == LockReason::QuotaExhausted => until_midnight(now).min(settings.max_ms),
            None if !order.by_list => {
                let base_ms = self.class_base_ms(order.reason);
                backoff::scaled(base_ms, step, settings.class_max_steps, settings.max_ms)
            }
            None if settings.exponential => {
                backoff::scaled(settings.base_ms, step, settings.max_steps, settings.max_ms)
            }
            None => settings.base_ms.min(settings.max_ms),
        }
    }

    /// Core 5.3.3: without a class base 1 s for a 429, else 5 s.
    fn class_base_ms(&self, reason: LockReason) -> Millis {
        match (self.settings.class_base_ms, reason) {
            (0, LockReason::RateLimited) => SECOND,
            (0, _) => 5 * SECOND,
            (base_ms, _) => base_ms,
        }
    }

    /// At zero nothing is left of it.
    fn leave(&mut self, failures: u32) {
        self.state.failures = failures;
        self.state.refusals = Refusals::default();
        if failures == 0 {
            self.state.until = 0;
        }
    }

    fn label(&self, now: Millis) -> &'static str {
        self.view().label(now)
    }

    fn changed(&self, from: &str, why: &str, at: Millis) -> Change {
        Change { from: from.into(), to: self.label(at).into(), why: why.into(), at }
    }
}

/// Ms to the next midnight. Policy knows no time zone: days are UTC (core 5.3.4).
fn until_midnight(now: Millis) -> Millis {
    DAY - now % DAY
}
