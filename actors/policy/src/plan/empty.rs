//! A plan before anything is in it.

use std::sync::Arc;

use super::{Plan, Resort};
use crate::attempts::{AttemptSettings, Owns};
use crate::gate::Patience;

/// A plan without targets.
pub(crate) fn empty(
    combo: Option<Arc<str>>,
    strategy: &'static str,
    attempts: AttemptSettings,
    pool_size: usize,
) -> Plan {
    Plan {
        combo,
        strategy,
        attempts,
        own: Owns::default(),
        targets: Vec::new(),
        excluded: Vec::new(),
        unfit: Vec::new(),
        resort: Resort::default(),
        pool_size,
        counted: false,
        timed: false,
        shared: false,
        reads_quota: false,
        charged: None,
        patience: Patience::Queue,
        validation: None,
        notes: Vec::new(),
        reserves: false,
        fan: None,
        relay: None,
        kept: None,
    }
}

impl Plan {
    /// The combo that a request counts for.
    pub fn counted(&self) -> Option<Arc<str>> {
        self.combo.clone().filter(|_| self.counted)
    }
}
