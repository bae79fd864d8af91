//! What a failed attempt locks, if anything. Lock or cooldown is decided here alone, from the
//! verdict and the settings, so that one failure never writes both (decision 3b).

use serde::{Deserialize, Serialize};

use super::{LockKey, LockoutSettings};
use crate::ids::ModelId;
use crate::time::Millis;
use crate::verdict::{BreakerMark, CooldownRule, Failure, Reason};

/// Why a model is barred (core 5.4, P14, decision 12c).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockReason {
    /// 429.
    RateLimited,
    /// The quota of the model is gone.
    QuotaExhausted,
    /// The provider does not serve it.
    NotFound,
    /// 5xx and transport.
    #[default]
    ServerError,
    /// 529.
    ModelCapacity,
    /// 403, or a 401 that is on the list.
    Forbidden,
    /// 402.
    Credits,
}

impl LockReason {
    /// The name in JSON and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::QuotaExhausted => "quota_exhausted",
            Self::NotFound => "not_found",
            Self::ServerError => "server_error",
            Self::ModelCapacity => "model_capacity",
            Self::Forbidden => "forbidden",
            Self::Credits => "credits",
        }
    }

    /// It passes by itself, so a combo may wait for it (core 5.5.3, routing 7.17).
    pub fn is_transient(self) -> bool {
        matches!(self, Self::RateLimited | Self::ServerError | Self::ModelCapacity)
    }

    fn of(failure: &Failure) -> Self {
        match (failure.status, failure.reason) {
            (404, _) | (_, Reason::NotFound) => Self::NotFound,
            (402, _) => Self::Credits,
            (403, _) | (_, Reason::AuthError) => Self::Forbidden,
            (_, Reason::QuotaExhausted) => Self::QuotaExhausted,
            (_, Reason::ModelCapacity) => Self::ModelCapacity,
            (429, _) | (_, Reason::RateLimitExceeded) => Self::RateLimited,
            _ => Self::ServerError,
        }
    }
}

/// One failure's claim on a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockOrder {
    /// Why.
    pub reason: LockReason,
    /// A given length, ms; `None`: the formula of core 5.3.3.
    pub exact_ms: Option<Millis>,
    /// That length came from a header or RetryInfo: never clamped (core 5.3.2).
    pub authoritative: bool,
    /// The failure count stays (decision 12c).
    pub keep_count: bool,
    /// By the status list, with its numbers; else by the provider, with the class's (core 5.3.3).
    pub by_list: bool,
}

/// What a failed attempt locks: by the verdict (provider-driven, core 5.2.1) or by the status
/// list. `None` when the connection cools instead, or nothing is written (decisions 3b, 8, 9,
/// 10; M16).
pub fn lock_for(
    failure: &Failure,
    model: &ModelId,
    settings: &LockoutSettings,
) -> Option<(LockKey, LockOrder)> {
    let by_list = settings.enabled && settings.error_codes.contains(&failure.status);
    // A list lock takes a cooldown's place; without one there is none to take (decisions 8, 9).
    let cools = matches!(failure.cooldown, CooldownRule::Scaled | CooldownRule::Base | CooldownRule::Ladder);
    let blames_upstream = failure.breaker != BreakerMark::Ignored;
    let by_gateway = settings.per_model_quota && is_of_one_model(failure.status);
    if failure.lock.is_none() && !((by_list || by_gateway) && cools && blames_upstream) {
        return None;
    }
    let rule = failure.lock;
    let key = match rule {
        Some(rule) if rule.exact_key => LockKey::exact(model),
        _ => LockKey::for_status(failure.status, model),
    };
    let given = rule.and_then(|rule| rule.exact_ms);
    // The list obeys only stated waits that are longer than its base (core 5.3.5), a lock of a
    // given length only longer ones (decision 2).
    let shortest = if by_list { settings.base_ms } else { 0 };
    let stated = failure.hint.filter(|hint| hint.wait_ms > given.unwrap_or(shortest));
    let order = LockOrder {
        reason: LockReason::of(failure),
        exact_ms: stated.map(|hint| hint.wait_ms).or(given),
        authoritative: match stated {
            Some(hint) => hint.source.is_authoritative(),
            None => rule.is_some_and(|rule| rule.authoritative),
        },
        keep_count: rule.is_some_and(|rule| rule.keep_count),
        by_list,
    };
    Some((key, order))
}

/// What a provider with a quota per model says about one model only (core P12, P14).
fn is_of_one_model(status: u16) -> bool {
    matches!(status, 402 | 403 | 404 | 429 | 501..=599)
}

/// A bare 500 of a provider with a quota per model is recorded and rests nobody (core P12, M20).
pub fn is_recorded_only(failure: &Failure, settings: &LockoutSettings) -> bool {
    settings.per_model_quota && failure.status == 500
}
