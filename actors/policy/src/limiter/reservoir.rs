//! A count of starts that is set, never added to, once per interval (flow 4.9). Its clock runs
//! from its creation, also when nobody looks.

use crate::time::{MINUTE, Millis};

/// Refills that one from headers lives: the one it spoke of, and the interval after that.
const TOLD_REFILLS: u64 = 2;

/// Starts left until the next refill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reservoir {
    left: u64,
    size: u64,
    every_ms: Millis,
    filled_at: Millis,
    refills: u64,
}

impl Reservoir {
    /// The operator's: full now and every minute from now. 0 is no limit.
    pub(super) fn per_minute(rpm: u32, now: Millis) -> Option<Self> {
        let size = u64::from(rpm);
        let full = Self { left: size, size, every_ms: MINUTE, filled_at: now, refills: 0 };
        (rpm > 0).then_some(full)
    }

    /// As a provider states it. Without a usable reset it is a minute away (flow 4.16).
    pub(super) fn told(left: u64, size: u64, reset_ms: Option<Millis>, now: Millis) -> Self {
        let every_ms = reset_ms.filter(|ms| *ms > 0).unwrap_or(MINUTE);
        Self { left, size, every_ms, filled_at: now, refills: 0 }
    }

    /// Sets the count for every interval that began until now.
    pub(super) fn refill(&mut self, now: Millis) {
        let rounds = now.saturating_sub(self.filled_at) / self.every_ms;
        if rounds > 0 {
            self.left = self.size;
            self.filled_at += rounds * self.every_ms;
            self.refills = self.refills.saturating_add(rounds);
        }
    }

    pub(super) fn take(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Nothing is left before then.
    pub(super) fn empty_until(&self) -> Option<Millis> {
        (self.left == 0).then(|| self.filled_at.saturating_add(self.every_ms))
    }

    /// What a header said speaks no longer (decision 17).
    pub(super) fn is_over(&self) -> bool {
        self.refills >= TOLD_REFILLS
    }

    pub(super) fn left(&self) -> u64 {
        self.left
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn every_ms(&self) -> Millis {
        self.every_ms
    }

    pub(super) fn filled_at(&self) -> Millis {
        self.filled_at
    }
}
