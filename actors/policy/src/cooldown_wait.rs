//! Sitting out a short rest instead of failing (flow 3; routing 7.17, 7.18; decisions 15, 15b).
//!
//! When nothing of a set is left to try, the target that returns first may be worth waiting
//! for: the client would only come back for it. How long, how often and how much in all is
//! counted here for one request. The number is exact; whoever sleeps adds chance to it, so
//! that not all who wait wake at once (FC-108).

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::change::Exclusion;
use crate::plan::Excluded;
use crate::time::Millis;

/// Added to a remainder, so that nobody wakes a moment too early (flow 3.5), ms.
const MARGIN_MS: Millis = 50;
/// Highest wait and budget, ms (flow 3).
const HIGHEST_MS: Millis = 300_000;
/// Most waits of one request (flow 3).
const MOST_WAITS: u32 = 10;

/// How much waiting a request may do; by default none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitSettings {
    /// Whether it waits at all.
    pub enabled: bool,
    /// The longest single wait, ms.
    pub max_wait_ms: Millis,
    /// The most waits.
    pub max_attempts: u32,
    /// All waits together, ms.
    pub budget_ms: Millis,
}

impl WaitSettings {
    /// Within the bounds of flow 3: the budget holds one wait, and a wait of nothing is none.
    pub fn normalised(self) -> Self {
        let max_wait_ms = self.max_wait_ms.min(HIGHEST_MS);
        let max_attempts = self.max_attempts.min(MOST_WAITS);
        Self {
            enabled: self.enabled && max_wait_ms > 0 && max_attempts > 0,
            max_wait_ms,
            max_attempts,
            budget_ms: self.budget_ms.clamp(max_wait_ms, HIGHEST_MS),
        }
    }

    /// What is left of it for a combo that may opt out: it can forbid, never allow (flow 3.12).
    pub fn unless(self, opted_out: bool) -> Self {
        if opted_out { Self::default() } else { self }
    }
}

/// How a set of targets ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetEnd {
    /// Something was sent and failed.
    Tried,
    /// Every target was skipped.
    Skipped,
}

/// What one request has waited, and may.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    settings: WaitSettings,
    /// A combo was asked for.
    combo: bool,
    done: u32,
    left_ms: Millis,
    /// The end of the earliest wait that an upstream stated, epoch ms.
    hint_until: Option<Millis>,
}

impl Waits {
    /// Nothing waited yet. `combo`: one was asked for.
    pub fn new(settings: WaitSettings, combo: bool) -> Self {
        Self { settings, combo, done: 0, left_ms: settings.budget_ms, hint_until: None }
    }

    /// Whether another wait is possible at all, whatever holds the targets.
    pub fn may_wait(&self) -> bool {
        self.settings.enabled && self.done < self.settings.max_attempts && self.left_ms > 0
    }

    /// Whether it has waited.
    pub fn has_waited(&self) -> bool {
        self.done > 0
    }

    /// Remembers a wait that an upstream stated: the earliest that is not over (flow 3.6).
    pub fn heard(&mut self, wait_ms: Millis, now: Millis) {
        let until = now.saturating_add(wait_ms);
        let earlier = self.hint_until.filter(|earlier| *earlier > now);
        self.hint_until = Some(earlier.map_or(until, |earlier| earlier.min(until)));
    }

    /// How long to wait before the set is tried again, ms; `None`: the request ends. What is
    /// waited is taken from the budget.
    pub fn next(&mut self, end: SetEnd, excluded: &[Excluded], now: Millis) -> Option<Millis> {
        if !self.may_wait() {
            return None;
        }
        let wait_ms = match end {
            SetEnd::Tried => self.after_attempts(excluded, now),
            SetEnd::Skipped => self.before_any(excluded, now),
        }?;
        let wait_ms = wait_ms.saturating_add(MARGIN_MS);
        if wait_ms > self.settings.max_wait_ms || wait_ms > self.left_ms {
            return None;
        }
        self.done += 1;
        self.left_ms -= wait_ms;
        Some(wait_ms)
    }

    /// The rest that ends first decides, though a later one may be of the kind that passes
    /// (flow 3.4).
    fn after_attempts(&self, excluded: &[Excluded], now: Millis) -> Option<Millis> {
        let rests = excluded.iter().filter_map(|target| Some((self.end(target, now)?, target.waitable)));
        let (end, waitable) = rests.min()?;
        let stated = self.hint_until.unwrap_or(0);
        waitable.then(|| end.max(stated) - now)
    }

    /// The earliest that passes by itself (flow 3.11). Who was turned away for want of room has
    /// waited in line already; more of that only piles requests up.
    fn before_any(&self, excluded: &[Excluded], now: Millis) -> Option<Millis> {
        if excluded.iter().any(|target| is_want_of_room(target.reason)) {
            return None;
        }
        let passing = excluded.iter().filter(|target| target.waitable);
        passing.filter_map(|target| self.end(target, now)).min().map(|end| end - now)
    }

    /// When a target that rests comes back. Without a combo only accounts are waited for: an open
    /// breaker is told at once (decision 15b).
    fn end(&self, target: &Excluded, now: Millis) -> Option<Millis> {
        let counts = target.reason.is_timer() && (self.combo || target.reason != Exclusion::CircuitOpen);
        target.until.filter(|until| counts && *until > now)
    }
}

/// Not who was only sent into the line: how that ended is told too.
fn is_want_of_room(reason: Exclusion) -> bool {
    reason == Exclusion::MailboxFull || reason.is_own_limit() && !reason.is_worth_queueing()
}
