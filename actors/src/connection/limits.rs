//! What a connection learns of its provider's limits, and what of that outlives the process.

use policy::limiter::{Learnt, LimiterKey, keep_newest, worth_saving};
use policy::time::Millis;

use super::{Connection, Settle};
use crate::messages::Snapshot;

/// What was learnt, and when it was saved.
#[derive(Debug, Default)]
pub(super) struct Lessons {
    pub(super) learnt: Vec<(LimiterKey, Learnt)>,
    saved_at: Option<Millis>,
}

impl Lessons {
    /// Those of an earlier life.
    pub(super) fn restored(learnt: Vec<(LimiterKey, Learnt)>) -> Self {
        Self { learnt, saved_at: None }
    }
}

impl Connection {
    /// Reads the limits that an answer stated; the gaps they teach are saved at most once a minute
    /// (flow 4.20).
    pub(super) fn learn(&mut self, settle: &Settle, now: Millis) {
        let Some(limits) = settle.limits.as_ref().filter(|_| self.numbers.gate.limiter.is_some()) else {
            return;
        };
        let mut gate = self.shared.gate();
        gate.learn(&settle.model, limits, now);
        if !worth_saving(self.lessons.saved_at, now) {
            return;
        }
        let mut learnt = gate.learnt();
        drop(gate);
        keep_newest(&mut learnt);
        let gaps = |all: &[(LimiterKey, Learnt)]| {
            all.iter().map(|(key, learnt)| (key.clone(), learnt.min_time_ms)).collect::<Vec<_>>()
        };
        if gaps(&learnt) != gaps(&self.lessons.learnt) {
            self.lessons = Lessons { learnt, saved_at: Some(now) };
            self.links.store.save(self.owner(), Some(Snapshot::Connection(self.snapshot())));
        }
    }
}
