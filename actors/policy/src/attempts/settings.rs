//! How the attempt loop behaves for one combo (routing 1.3).

use serde::{Deserialize, Serialize};

use crate::cooldown_wait::WaitSettings;
use crate::time::Millis;

/// The longest that a combo may take where nothing else is said (routing 7.15), ms.
const SAFETY_MS: Millis = 600_000;

/// How the loop behaves for one combo (routing 1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptSettings {
    /// Same-target retries of the last eligible target.
    pub max_retries: u32,
    /// Pause before such a retry, ms.
    pub retry_delay_ms: Millis,
    /// Pause before the next target after 502, 503 or 504, ms.
    pub fallback_delay_ms: Millis,
    /// Limit of one target, ms; 0: the limits of the service (decision 9).
    pub target_timeout_ms: Millis,
    /// The next target goes before a retry (decision 26a).
    pub failover_before_retry: bool,
    /// Whether the set is tried again after a short rest (flow 3).
    pub waits: WaitSettings,
    /// How often all targets are tried again when all have failed (routing 7.13).
    pub max_set_retries: u32,
    /// Pause before that, ms.
    pub set_retry_delay_ms: Millis,
    /// How long the whole request may take until its answer begins, its waits not counted, ms;
    /// 0: 600 000 (routing 7.15).
    pub combo_timeout_ms: Millis,
    /// The next target runs beside one that has not answered for so long (routing 7.11), ms; `None`: never.
    pub hedge_delay_ms: Option<Millis>,
    /// Targets whose answers began later than this on average are asked behind all quicker ones, ms;
    /// 0: none (routing 7.11).
    pub predictive_ttft_ms: Millis,
    /// Whoever would return first is tried once when all rest for our own timers alone (decision 33).
    pub last_resort: bool,
}

impl AttemptSettings {
    /// How long the request may take until its answer begins, ms: what it may wait comes on top
    /// (decision 15).
    pub fn whole_ms(&self) -> Millis {
        let own = if self.combo_timeout_ms > 0 { self.combo_timeout_ms } else { SAFETY_MS };
        own.saturating_add(if self.waits.enabled { self.waits.budget_ms } else { 0 })
    }

    /// Without a combo every connection is tried once (decision 9c).
    pub fn direct() -> Self {
        Self { max_retries: 0, ..Self::default() }
    }
}

impl Default for AttemptSettings {
    fn default() -> Self {
        Self {
            max_retries: 1,
            retry_delay_ms: 2_000,
            fallback_delay_ms: 0,
            target_timeout_ms: 0,
            failover_before_retry: true,
            waits: WaitSettings::default(),
            max_set_retries: 0,
            set_retry_delay_ms: 2_000,
            combo_timeout_ms: 0,
            hedge_delay_ms: None,
            predictive_ttft_ms: 0,
            last_resort: false,
        }
    }
}
