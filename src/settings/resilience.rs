//! `[resilience]`: the numbers of breaker, cooldown and lockout.
//!
//! Names are the guide's, in snake case. What the numbers do is the business of
//! `policy`; here they are only within their bounds.

use std::collections::BTreeMap;

use policy::cooldown_wait::WaitSettings;
use policy::ids::Class;
use policy::preflight::Preflight;
use policy::time::Millis;
use policy::token::TokenBreakerSettings;

use super::flow::{Concurrency, RequestQueue};
use super::stream::StreamRecovery;

/// All numbers of `[resilience]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Resilience {
    /// Breaker of a provider, by its class.
    pub provider_breaker: PerClass<BreakerNumbers>,
    /// Cooldown of a connection, by its provider's class.
    pub connection_cooldown: PerClass<CooldownNumbers>,
    /// Lockouts of single models by status list.
    pub model_lockout: LockoutNumbers,
    /// The opt-in window gate of combos.
    pub provider_cooldown: ProviderCooldown,
    /// Points of latency and errors when p2c compares two accounts; 0: none.
    pub p2c_latency_weight: u32,
    /// Whether a stream that stalls makes its connection rest.
    pub stream_stall_cooldown: bool,
    /// What becomes of a stream that fails or is too slow.
    pub stream_recovery: StreamRecovery,
    /// What a combo may wait for its targets.
    pub combo_cooldown_wait: WaitSettings,
    /// What a request without a combo may wait for its accounts.
    pub wait_for_cooldown: WaitSettings,
    /// When token refreshes stop.
    pub token_refresh_breaker: TokenBreakerSettings,
    /// Whether and when failures move a request to the next account.
    pub rotation: Rotation,
    /// Local limiters, and all that wait.
    pub request_queue: RequestQueue,
    /// How many requests run at once.
    pub concurrency: Concurrency,
    /// Whether requests for a pool's models wait softly for a slot (flow 2.26).
    pub quota_share_concurrency_limit: bool,
    /// From where on accounts are left out for their quota; what accounts say is with them.
    pub quota_preflight: Preflight,
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
    /// The longest hold after failed probes, in multiples of the first.
    pub max_backoff_multiplier: u32,
    /// Failed probes before the hold starts to double.
    pub backoff_escalation_count: u32,
}

/// How long a connection rests after a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CooldownNumbers {
    /// The first rest; each repetition doubles it.
    pub base_cooldown_ms: Millis,
    /// Whether a wait stated by the provider replaces the computed one.
    pub use_upstream_retry_hints: bool,
    /// Whether a 429 on a probe lengthens the breaker's hold; `None`: as the class does.
    pub use_upstream_429_breaker_hints: Option<bool>,
    /// How often the rest may double.
    pub max_backoff_steps: u32,
}

/// The window gate (core 2): combos leave a provider alone that failed too often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderCooldown {
    /// Whether it acts.
    pub enabled: bool,
    /// The first rest of a connection in it; each repetition doubles it.
    pub min_retry_cooldown_ms: Millis,
    /// The longest such rest; never below the first.
    pub max_retry_cooldown_ms: Millis,
    /// The window of a provider, by its class.
    pub windows: PerClass<WindowNumbers>,
}

/// When the window gate leaves a provider alone (core 2.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowNumbers {
    /// Failures inside the window.
    pub failure_threshold: u32,
    /// Its length.
    pub failure_window_ms: Millis,
    /// How long the provider is left alone.
    pub cooldown_ms: Millis,
}

/// Whether and when failures move a request to the next account (core 3.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The master switch.
    pub enabled: bool,
    /// Rest after a 429 without a stated wait, in seconds; `None`: computed.
    pub rate_limit_reset_seconds: Option<u64>,
    /// For 429.
    pub on_429: RotationNumbers,
    /// For any 5xx but 502.
    pub on_500: RotationNumbers,
    /// For 502.
    pub on_502: RotationNumbers,
    /// For 400, which is never blocked.
    pub on_400: RotationNumbers,
}

/// Rotation for one class of statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RotationNumbers {
    /// Whether it moves a request at all.
    pub rotate: bool,
    /// How many failures inside the window it takes.
    pub threshold: u32,
    /// That window.
    pub window_ms: Millis,
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
    /// Requests in a minute on all its connections together (flow 4.4).
    pub rpm: Option<u32>,
    /// Requests at once on all its connections together; `None`: no cap.
    pub concurrency: Option<u32>,
    /// The same under another name; 0: no cap.
    pub provider_concurrency: Option<u32>,
}

impl ProviderQuota {
    /// Requests at once on all its connections together; 0: no cap (flow 1.9).
    pub fn cap(&self) -> u32 {
        let caps = [self.concurrency, self.provider_concurrency].into_iter().flatten();
        caps.filter(|cap| *cap > 0).min().unwrap_or(0)
    }
}
