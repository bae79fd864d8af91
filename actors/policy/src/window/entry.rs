//! The connection's entry: each failure in a row doubles the time it is left out of combos
//! (core 2.5, 2.8).

use super::{COOLS, ENDED, Mark, RetryCooldown, WindowView, later};
use crate::breaker::BreakerState;
use crate::time::{MINUTE, Millis};

/// Doublings at most.
const MOST_DOUBLINGS: u32 = 10;
/// How long after its last failure an entry is remembered at least, ms.
const REMEMBERED_MS: Millis = 30 * MINUTE;

/// The failures in a row of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryEntry {
    settings: RetryCooldown,
    failures: u32,
    failed_at: Millis,
    until: Option<Millis>,
}

impl RetryEntry {
    /// An entry without history.
    pub fn new(settings: RetryCooldown) -> Self {
        Self { settings, ..Self::default() }
    }

    /// New numbers: what runs keeps its end, unless the entry is switched off. Says
    /// why if the view moved.
    pub fn configure(&mut self, settings: RetryCooldown) -> Option<&'static str> {
        self.settings = settings;
        if settings.enabled { None } else { self.clear() }
    }

    /// Takes what an attempt meant, with the provider's breaker as it is at `now`. Says why if
    /// the view moved.
    pub fn record(&mut self, mark: Mark, breaker: BreakerState, now: Millis) -> Option<&'static str> {
        match mark.weighed(self.settings.enabled, breaker) {
            Mark::Failure => self.fail(now),
            Mark::Success => self.clear(),
            Mark::Nothing => None,
        }
    }

    /// Forgets everything. Says why if the view moved.
    pub fn clear(&mut self) -> Option<&'static str> {
        self.failures = 0;
        self.until.take().map(|_| ENDED)
    }

    /// Failures in a row that are remembered at `now`.
    pub fn failures(&self, now: Millis) -> u32 {
        let remembered = REMEMBERED_MS.max(self.settings.max_ms);
        if now.saturating_sub(self.failed_at) > remembered { 0 } else { self.failures }
    }

    /// What the board publishes.
    pub fn view(&self) -> WindowView {
        WindowView { until: self.until }
    }

    fn fail(&mut self, now: Millis) -> Option<&'static str> {
        self.failures = self.failures(now).saturating_add(1);
        self.failed_at = now;
        let factor = 2_u64.pow((self.failures - 1).min(MOST_DOUBLINGS));
        let cooldown = self.settings.min_ms.saturating_mul(factor).min(self.settings.max_ms);
        let until = later(self.until, now.saturating_add(cooldown));
        let moved = until != self.until;
        self.until = until;
        moved.then_some(COOLS)
    }
}
