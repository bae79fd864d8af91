//! One barred model on one connection (core 5, decisions 3b, 10, 11, 12c).
//!
//! A lock has an end and a count. The count outlives the end for a while, so that a
//! model which fails again soon is barred longer; successes halve it, and at zero the
//! lock is gone before its time. A write never moves the end to an earlier instant.

mod key;
mod order;
mod settings;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::backoff;
use crate::change::{Change, Exclusion, Refusal};
use crate::time::{DAY, Millis, SECOND};

pub use key::{LockKey, LockScope};
pub use order::{LockOrder, LockReason, is_recorded_only, lock_for};
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
            failures: self.state.failures,
            reason: self.state.reason,
            locked_at: self.state.locked_at,
            last_failure_at: self.state.last_failure_at,
        }
    }
}

// === impl Lockout: record, success ===

impl Lockout {
    /// Takes one failure (core 5.3).
    pub fn record(&mut self, order: &LockOrder, now: Millis) -> Option<Change> {
        let from = self.label(now);
        let locked = self.is_locked(now);
        let inside = self.state.failures > 0 && now <= self.window_end();
        let failures = match (inside, order.keep_count) {
            (true, true) => self.state.failures,
            (true, false) => self.state.failures.saturating_add(1),
            (false, _) => 1,
        };
        let length_ms = self.length_ms(order, failures, now);
        let until = now.saturating_add(length_ms);
        let state = &mut self.state;
        // Writing never shortens (core 5.3.6).
        if !locked || until >= state.until {
            state.until = until;
            state.reason = order.reason;
            state.last_cooldown_ms = length_ms;
        }
        if !locked {
            state.locked_at = now;
        }
        state.failures = failures;
        state.last_failure_at = now;
        Some(self.changed(from, order.reason.as_str(), now))
    }

    /// Takes one success: a direct one removes the lock, a combo's halves the count and
    /// removes it at zero (core 5.6). `None` if it is gone already.
    pub fn success(&mut self, direct: bool, now: Millis) -> Option<Change> {
        let left = if direct { 0 } else { self.state.failures / 2 };
        if self.state.failures == 0 {
            return None;
        }
        let from = self.label(now);
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
        self.state.failures == 0 || (!self.is_locked(now) && now > self.window_end())
    }

    /// The first instant at which it is dead if nothing more happens.
    pub fn dies_at(&self) -> Millis {
        if self.state.failures == 0 {
            return 0;
        }
        self.state.until.max(self.window_end()).saturating_add(1)
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
