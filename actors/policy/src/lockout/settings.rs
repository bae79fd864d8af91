//! The numbers of lockouts: the operator's status list and the class's own. Both are here
//! because one lock may be written by either (core 5.2.1).

use serde::{Deserialize, Serialize};

use crate::breaker::BreakerSettings;
use crate::cooldown::CooldownSettings;
use crate::ids::Class;
use crate::time::{DAY, MINUTE, Millis, SECOND};

/// Statuses of the list when none or no usable one is stored (core 5.2).
const ERROR_CODES: [u16; 6] = [403, 404, 429, 502, 503, 504];

/// Numbers of the lockouts of one connection (core 5.2, 5.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockoutSettings {
    /// Switches the status list on; the provider-driven locks act regardless (decision 10).
    pub enabled: bool,
    /// The status list.
    pub error_codes: Vec<u16>,
    /// List: first step, ms.
    pub base_ms: Millis,
    /// Limit of every lock whose length the provider did not state, ms.
    pub max_ms: Millis,
    /// List: limit of the doubling.
    pub max_steps: u32,
    /// List: doubles; else every lock has the base.
    pub exponential: bool,
    /// Provider-driven: first step, ms.
    pub class_base_ms: Millis,
    /// Provider-driven: limit of the doubling.
    pub class_max_steps: u32,
    /// The provider's quota belongs to one model, not to the account (core 5.2.3).
    pub per_model_quota: bool,
    /// How long after a lock's end a failure still continues its count, ms (core 5.3.1).
    pub reset_after_ms: Millis,
}

impl LockoutSettings {
    /// The built-in numbers (core 5.2) with those of a class.
    pub fn for_class(class: Class) -> Self {
        let cooldown = CooldownSettings::for_class(class);
        Self {
            enabled: false,
            error_codes: ERROR_CODES.to_vec(),
            base_ms: 2 * MINUTE,
            max_ms: 30 * MINUTE,
            max_steps: 10,
            exponential: true,
            class_base_ms: cooldown.base_ms,
            class_max_steps: cooldown.max_steps,
            per_model_quota: false,
            reset_after_ms: BreakerSettings::for_class(class).reset_ms,
        }
    }

    /// Stored settings brought into their bounds (core 5.2; G11).
    pub fn normalised(mut self) -> Self {
        self.error_codes.retain(|code| (100..=599).contains(code));
        if self.error_codes.is_empty() {
            self.error_codes = ERROR_CODES.to_vec();
        }
        self.base_ms = self.base_ms.clamp(5 * SECOND, 10 * MINUTE);
        self.max_ms = self.max_ms.clamp(5 * SECOND, 60 * MINUTE).max(self.base_ms);
        self.max_steps = self.max_steps.min(20);
        self.class_base_ms = self.class_base_ms.min(DAY);
        self.class_max_steps = self.class_max_steps.min(32);
        self
    }
}
