//! Where a target stands: what is heard of an attempt is told to the combos that planned it.

use std::sync::Arc;

use crate::time::Millis;

/// Where a target stands in the combos that it was planned by.
#[derive(Debug, PartialEq)]
pub struct Place {
    /// The combo.
    pub combo: Arc<str>,
    /// Its key among the combo's entries.
    pub key: Arc<str>,
    /// Its index among them.
    pub entry: usize,
    /// How many there are.
    pub of: usize,
    /// Its score, where the strategy scores.
    pub score: Option<f64>,
    /// It is asked behind all others, because its answers began too late lately (routing 7.11).
    pub slow: bool,
    /// How many requests may be there at once; `None`: as many as come.
    pub berths: Option<Berths>,
    /// Where the combo itself stands in the one that asked for it (routing 2.6).
    pub within: Option<Arc<Place>>,
}

impl Place {
    /// Both are the same entry of the same combo.
    pub fn is_same(&self, other: &Self) -> bool {
        self.key == other.key && self.combo == other.combo
    }
}

/// How many requests one target of a `round-robin` combo takes at once (routing 8.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Berths {
    /// So many, if its connection has no cap of its own.
    pub most: u32,
    /// How long one waits for a place, ms.
    pub wait_ms: Millis,
    /// How many may wait; 0: none.
    pub depth: u32,
}
