//! The gap that a provider's headers taught, kept over a restart (flow 4.20). What is left of a
//! reservoir is not kept: it would be wrong by then.

use serde::{Deserialize, Serialize};

use crate::time::{DAY, MINUTE, Millis};

/// Saved at most this often, ms.
const SAVE_EVERY_MS: Millis = MINUTE;
/// An older one is not taken over, ms.
const OLDEST_MS: Millis = DAY;

/// How many are kept over all limiters.
pub const MOST_KEPT: usize = 200;

/// A learnt gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Learnt {
    /// From one start to the next, ms; 0: the provider has plenty left.
    pub min_time_ms: Millis,
    /// When it was learnt, epoch ms.
    pub at: Millis,
}

impl Learnt {
    /// As it may be used after a restart; no limit asks for a longer gap than a minute.
    pub(super) fn restored(self, now: Millis) -> Option<Self> {
        let fresh = now.saturating_sub(self.at) <= OLDEST_MS;
        fresh.then(|| Self { min_time_ms: self.min_time_ms.min(MINUTE), at: self.at.min(now) })
    }
}

/// Whether it is time to save what was learnt.
pub fn worth_saving(last_saved: Option<Millis>, now: Millis) -> bool {
    last_saved.is_none_or(|at| now.saturating_sub(at) >= SAVE_EVERY_MS)
}

/// Keeps the 200 that were learnt last.
pub fn keep_newest<K: Ord>(all: &mut Vec<(K, Learnt)>) {
    all.sort_unstable_by(|(a, left), (b, right)| right.at.cmp(&left.at).then_with(|| a.cmp(b)));
    all.truncate(MOST_KEPT);
}
