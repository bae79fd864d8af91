//! How a line follows the lone trial of a connection that has come back (FC-108): one by one, more at
//! once with each success, and twice as many each second whatever became of those before. A call
//! that never ends must not hold a whole account (decision 3a).

use crate::time::{Millis, SECOND};
use crate::verdict::{Failure, Reason};

/// Nobody has had to follow for so long: the connection is back for good, ms.
const OVER_MS: Millis = 5 * SECOND;

/// How long anybody waits for those who go first, ms: then twice as many may be in.
pub const FOLLOW_MS: Millis = SECOND;

/// How a request failed that will come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stumble {
    /// In any other way.
    Failed,
    /// The account says that it has as many at once as it takes (core 3.2.1).
    Crowded,
}

impl Stumble {
    /// How this failure is one.
    pub fn of(failure: &Failure) -> Self {
        match failure.reason {
            Reason::ConcurrencyLimited => Self::Crowded,
            _ => Self::Failed,
        }
    }
}

/// Successes for each that may be in, before one more is tried on an account that had too many. It is
/// asked for more than it bears once in so many times, and a request comes back for it seconds later.
const CROWDED_CARE: usize = 4;

/// How long those who come back to such an account wait for a place at least: a model's answer takes
/// its time, and they were told to wait for one. Then twice as many may be in, ms.
const CROWDED_MS: Millis = 10 * SECOND;

/// A line that follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ramp {
    /// When the connection came back: who went in since is counted.
    pub(super) since: Millis,
    /// When those in line began to follow.
    from: Millis,
    /// How many may be in that went in since.
    most: usize,
    /// Successes since one stumbled.
    good: usize,
    /// One more may be in after so many successes for each that may: 0, after every one.
    care: usize,
    /// Twice as many may be in each time so long has passed.
    step_ms: Millis,
    /// When it held somebody last.
    held_at: Millis,
}

impl Ramp {
    /// The connection comes back. After a trial that came to nothing who is in goes on counting.
    pub(super) fn begins(before: Option<Self>, now: Millis) -> Self {
        let fresh =
            Self { since: now, from: now, most: 1, good: 0, care: 0, step_ms: FOLLOW_MS, held_at: now };
        before.map_or(fresh, |ramp| Self { from: now, most: 1, held_at: now, ..ramp })
    }

    /// The account refused one besides those who are in: it bears so many, whenever they went in, and
    /// one more is tried after four times as many successes.
    pub(super) fn crowded(inside: usize, now: Millis) -> Self {
        Self {
            since: 0,
            most: inside.max(1),
            care: CROWDED_CARE,
            step_ms: CROWDED_MS,
            ..Self::begins(None, now)
        }
    }

    /// One succeeded; `None`: it is over.
    pub(super) fn succeeded(mut self, now: Millis) -> Option<Self> {
        self.good += 1;
        if self.good >= self.most * self.care {
            self.most += 1;
            self.good = 0;
        }
        (now < self.held_at + OVER_MS).then_some(self)
    }

    /// One failed and will come back: the line begins anew with one, and goes on with care. Those who
    /// are in go on counting: what fails at once must not let the next one in at once.
    pub(super) fn stumbled(self, now: Millis) -> Self {
        Self { from: now, most: 1, good: 0, care: 1, held_at: now, ..self }
    }

    /// Until when it holds the next one, with so many in that went in since; `None`: not at all.
    pub(super) fn holds(&mut self, inside: usize, now: Millis) -> Option<Millis> {
        let steps = now.saturating_sub(self.from) / self.step_ms;
        if inside < self.most.saturating_mul(1 << steps.min(20)) {
            return None;
        }
        self.held_at = now;
        Some(self.from + (steps + 1) * self.step_ms)
    }
}
