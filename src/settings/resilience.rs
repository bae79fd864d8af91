//! `[resilience]`: the numbers of breaker, cooldown and lockout.
//!
//! Names are the guide's, in snake case. What the numbers do is the business of
//! `policy`; here they are only within their bounds.

use std::collections::BTreeMap;

use policy::ids::Class;
use policy::time::Millis;

/// All numbers of `[resilience]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Resilience {
    /// Breaker of a provider, by its class.
    pub provider_breaker: PerClass<BreakerNumbers>,
    /// Cooldown of a connection, by its provider's class.
    pub connection_cooldown: PerClass<CooldownNumbers>,
    /// Lockouts of single models by status list.
    pub model_lockout: LockoutNumbers,
    /// Exceptions by provider id.
    pub provider_quota_overrides: BTreeMap<String, ProviderQuota>,
}

/// One value for each class of provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerClass<T> {
    /// For subscription accounts.
    pub oauth: T,
    /// For accounts with an API key.
    pub apikey: T,
    /// For self-hosted back ends.
    pub local: T,
}

impl<T> PerClass<T> {
    /// The value of one class.
    pub fn of(&self, class: Class) -> &T {
        match class {
            Class::Oauth => &self.oauth,
            Class::Apikey => &self.apikey,
            Class::Local => &self.local,
        }
    }
}

/// When a provider's breaker degrades, opens and tries again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakerNumbers {
    /// Failures that open it.
    pub failure_threshold: u32,
    /// Failures that degrade it.
    pub degradation_threshold: u32,
    /// How long it stays open before a probe.
    pub reset_timeout_ms: Millis,
}

/// How long a connection rests after a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CooldownNumbers {
    /// The first rest; each repetition doubles it.
    pub base_cooldown_ms: Millis,
    /// Whether a wait stated by the provider replaces the computed one.
    pub use_upstream_retry_hints: bool,
    /// How often the rest may double.
    pub max_backoff_steps: u32,
}

/// Lockouts of one model on one connection, by status list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockoutNumbers {
    /// Whether statuses of [`LockoutNumbers::error_codes`] lock a model.
    pub enabled: bool,
    /// Those statuses.
    pub error_codes: Vec<u16>,
    /// The first lock.
    pub base_cooldown_ms: Millis,
    /// The longest lock.
    pub max_cooldown_ms: Millis,
    /// How often the lock may double.
    pub max_backoff_steps: u32,
    /// Whether it doubles at all.
    pub use_exponential_backoff: bool,
}

/// Exceptions for one provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderQuota {
    /// Rest after a 429 without a stated wait, in seconds; `None`: computed.
    pub rate_limit_cooldown_seconds: Option<u64>,
}
