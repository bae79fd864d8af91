//! The numbers of a breaker, by class of provider. Subscription accounts are few and slow to
//! recover, keys are many, a local back end is up or down: hence three sets.

use serde::{Deserialize, Serialize};

use crate::ids::Class;
use crate::time::{DAY, HOUR, MINUTE, Millis, SECOND};

/// Thresholds and waits of one breaker (core 1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerSettings {
    /// Failures at which it warns.
    pub degrade_at: u32,
    /// Failures at which it opens; tested before `degrade_at` (core 1.1.4).
    pub open_at: u32,
    /// Base of the hold and lease of a probe, ms.
    pub reset_ms: Millis,
    /// Limit of the escalated hold, in multiples of its base.
    pub max_multiplier: u32,
    /// Failed probe cycles before the hold starts to double.
    pub escalate_after: u32,
    /// Probes of one half-open phase at a time.
    pub permits: u32,
    /// Hold base after a passing 429, ms; `None` while 429 breaker hints are off (core 1.4.3).
    pub rate_limit_hold_ms: Option<Millis>,
    /// Hold base after a 429 that says the quota is gone, ms; `None` likewise.
    pub quota_hold_ms: Option<Millis>,
}

impl BreakerSettings {
    /// The built-in numbers of a class (core 1.1 table, 1.4.3).
    pub fn for_class(class: Class) -> Self {
        let hinted = Self {
            degrade_at: 7,
            open_at: 12,
            reset_ms: 30 * SECOND,
            max_multiplier: 4,
            escalate_after: 3,
            permits: 1,
            rate_limit_hold_ms: Some(MINUTE),
            quota_hold_ms: Some(HOUR),
        };
        match class {
            Class::Apikey => hinted,
            Class::Oauth => Self {
                degrade_at: 5,
                open_at: 8,
                reset_ms: MINUTE,
                max_multiplier: 8,
                escalate_after: 2,
                ..hinted
            },
            Class::Local => Self {
                degrade_at: 2,
                open_at: 2,
                reset_ms: 15 * SECOND,
                max_multiplier: 16,
                rate_limit_hold_ms: None,
                quota_hold_ms: None,
                ..hinted
            },
        }
    }

    /// A stored profile brought into its bounds (core 1.1.5; at least one permit).
    ///
    /// For what an operator stored, not for `for_class`: Local's built-in 2/2 would become 1/2
    /// and warn, which it must not (core 1.1.4, B8).
    pub fn normalised(self) -> Self {
        let open_at = self.open_at.clamp(1, 1_000);
        Self {
            open_at,
            degrade_at: self.degrade_at.clamp(1, (open_at - 1).max(1)),
            reset_ms: self.reset_ms.clamp(SECOND, DAY),
            permits: self.permits.max(1),
            ..self
        }
    }
}
