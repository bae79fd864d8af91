//! The numbers of the strategies that ask more than one model for one answer, and of the one that
//! hands a conversation over (routing 1.3, 4.4, 6).

use std::sync::Arc;

use crate::ids::ProviderId;
use crate::time::Millis;

/// How `fusion` collects and who judges (routing 6.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FusionSettings {
    /// Who makes one answer of all; `None`: the first member, and a lone survivor speaks for itself.
    pub judge: Option<Arc<str>>,
    /// From how many answers on the others are waited for only a while; held within 1 and the panel.
    pub min_panel: usize,
    /// That while, ms.
    pub straggler_grace_ms: Millis,
    /// How long the panel may take, ms.
    pub panel_hard_timeout_ms: Millis,
    /// How many are asked at most; `None`: all.
    pub max_panel: Option<usize>,
}

impl Default for FusionSettings {
    fn default() -> Self {
        Self {
            judge: None,
            min_panel: 2,
            straggler_grace_ms: 8_000,
            panel_hard_timeout_ms: 90_000,
            max_panel: None,
        }
    }
}

/// When `context-relay` has a conversation summed up, and by whom (routing 4.4).
#[derive(Clone, Debug, PartialEq)]
pub struct RelaySettings {
    /// From what use of its account's quota on, 0 to 0.95; anything else stands for 0.85.
    pub threshold: f64,
    /// Who sums up; `None`: the model that serves.
    pub model: Option<Arc<str>>,
    /// Providers whose accounts hand over; empty: all that tell what of their quota is used.
    pub providers: Vec<ProviderId>,
    /// The last messages that are summed up.
    pub max_messages: usize,
}

impl Default for RelaySettings {
    fn default() -> Self {
        Self { threshold: 0.85, model: None, providers: Vec::new(), max_messages: 30 }
    }
}
