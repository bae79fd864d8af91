//! How a line follows the lone trial of a connection that has come back (FC-108): one by one, more at
//! once with each success, and twice as many each second whatever became of those before. A call
//! that never ends must not hold a whole account (decision 3a).

use crate::time::{Millis, SECOND};

/// Nobody has had to follow for so long: the connection is back for good, ms.
const OVER_MS: Millis = 5 * SECOND;

/// How long anybody waits for those who go first, ms: then twice as many may be in.
pub const FOLLOW_MS: Millis = SECOND;

/// A line that follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ramp {
    /// When the connection came back: who went in since is counted.
    pub(super) since: Millis,
    /// When those in line began to follow.
    from: Millis,
    /// How many may be in that went in since.
    most: usize,
    /// Successes since one stumbled: from then on as many are needed for one more as may be in.
    good: Option<usize>,
    /// When it held somebody last.
    held_at: Millis,
}

impl Ramp {
    /// The connection comes back. After a trial that came to nothing who is in goes on counting.
    pub(super) fn begins(before: Option<Self>, now: Millis) -> Self {
        let fresh = Self { since: now, from: now, most: 1, good: None, held_at: now };
        before.map_or(fresh, |ramp| Self { from: now, most: 1, held_at: now, ..ramp })
    }

    /// One succeeded; `None`: it is over.
    pub(super) fn succeeded(mut self, now: Millis) -> Option<Self> {
        let good = self.good.map_or(usize::MAX, |good| good + 1);
        if good >= self.most {
            self.most += 1;
            self.good = self.good.map(|_| 0);
        } else {
            self.good = Some(good);
        }
        (now < self.held_at + OVER_MS).then_some(self)
    }

    /// One failed and will come back: the line begins anew with one, and goes on with care. Those who
    /// are in go on counting: what fails at once must not let the next one in at once.
    pub(super) fn stumbled(self, now: Millis) -> Self {
        Self { from: now, most: 1, good: Some(0), held_at: now, ..self }
    }

    /// Until when it holds the next one, with so many in that went in since; `None`: not at all.
    pub(super) fn holds(&mut self, inside: usize, now: Millis) -> Option<Millis> {
        let steps = now.saturating_sub(self.from) / FOLLOW_MS;
        if inside < self.most.saturating_mul(1 << steps.min(20)) {
            return None;
        }
        self.held_at = now;
        Some(self.from + (steps + 1) * FOLLOW_MS)
    }
}
