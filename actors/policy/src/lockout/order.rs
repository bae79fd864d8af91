//! What a failed attempt locks, if anything. Lock or cooldown is decided here alone, from the
//! verdict and the settings, so that one failure never writes both (decision 3b).

use serde::{Deserialize, Serialize};

use super::family::is_by_family;
use super::{LockKey, LockoutSettings};
use crate::ids::{ModelId, ProviderId};
use crate::time::Millis;
use crate::verdict::{BreakerMark, CooldownRule, Detector, Failure, Reason, RuleScope};

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
    /// The account refuses this model's requests (core 3.8).
    RequestRejected,
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
            Self::RequestRejected => "request_rejected",
        }
    }

    /// It passes by itself, so a combo may wait for it (core 5.5.3, routing 7.17).
    pub fn is_transient(self) -> bool {
        matches!(self, Self::RateLimited | Self::ServerError | Self::ModelCapacity)
    }

    fn of(failure: &Failure) -> Self {
        match (failure.status, failure.reason) {
            (_, Reason::RequestRejected) => Self::RequestRejected,
            (404, _) | (_, Reason::NotFound) => Self::NotFound,
            (402, _) => Self::Credits,
            (403, Reason::QuotaExhausted) => Self::QuotaExhausted,
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
    /// The failure said how long to wait, whether that is obeyed or not.
    pub stated: bool,
}

impl LockOrder {
    /// By the provider's verdict alone, for a computed time: nothing was stated or declared.
    pub fn is_bare(&self) -> bool {
        !self.by_list && self.exact_ms.is_none() && self.reason != LockReason::RequestRejected
    }

    /// For a wait that the provider stated for one model (flow 4.24).
    pub fn stated(failure: &Failure, wait_ms: Millis) -> Self {
        let (keep_count, by_list) = (false, false);
        let reason = LockReason::of(failure);
        Self { reason, exact_ms: Some(wait_ms), authoritative: true, keep_count, by_list, stated: true }
    }
}

/// Where an attempt failed.
#[derive(Clone, Copy, Debug)]
pub struct LockCase<'a> {
    /// The provider.
    pub provider: &'a ProviderId,
    /// The model asked for.
    pub model: &'a ModelId,
    /// Stated waits are obeyed.
    pub use_hints: bool,
}

/// What a failed attempt locks: by the verdict (provider-driven, core 5.2.1) or by the status
/// list. `None` when the connection cools instead, or nothing is written (decisions 3b, 8, 9,
/// 10; M16).
pub fn lock_for(
    failure: &Failure,
    case: &LockCase<'_>,
    settings: &LockoutSettings,
) -> Option<(LockKey, LockOrder)> {
    if failure.reason == Reason::RequestRejected {
        return Some((LockKey::exact(case.model), refusal()));
    }
    // A healthy account that is busy is never a model's fault (core 3.2.1, F23); nor is what
    // the whole account says of itself (FC-078).
    let account = failure.of_account || failure.reason == Reason::ConcurrencyLimited;
    if failure.terminal.is_some() || account {
        return None;
    }
    let by_list = settings.enabled && settings.error_codes.contains(&failure.status);
    // An answer without anything in it may bar what gave it and nothing wider, if the operator
    // wants 502 to lock; a quota per model has no part in it (flow 6.11.51).
    if failure.detector == Detector::Quality {
        return by_list.then(|| (LockKey::exact(case.model), order(failure, case, settings, by_list)));
    }
    let declared = is_rule_of_a_model(failure);
    // A list lock takes a cooldown's place; without one there is none to take (decisions 8, 9).
    let blames_upstream = failure.breaker != BreakerMark::Ignored;
    let instead = (by_list || by_provider(failure, case, settings)) && cools(failure) && blames_upstream;
    if failure.lock.is_none() && !declared && !instead {
        return None;
    }
    let key = match failure.lock {
        Some(rule) if rule.exact_key => LockKey::exact(case.model),
        _ => LockKey::for_status(case.provider, failure.status, case.model),
    };
    Some((key, order(failure, case, settings, by_list)))
}

/// The ladder of core 3.8.3 is the lock's own.
fn refusal() -> LockOrder {
    LockOrder {
        reason: LockReason::RequestRejected,
        exact_ms: None,
        authoritative: false,
        keep_count: false,
        by_list: false,
        stated: false,
    }
}

fn order(failure: &Failure, case: &LockCase<'_>, settings: &LockoutSettings, by_list: bool) -> LockOrder {
    let (rule, is_rule) = (failure.lock, is_rule_of_a_model(failure));
    // The list obeys only waits that are longer than its base (core 5.3.5).
    let shortest = if by_list && !is_rule { settings.base_ms } else { 0 };
    let declared = match failure.cooldown {
        CooldownRule::Exact { ms, .. } => Some(ms).filter(|ms| *ms > shortest),
        _ => None,
    };
    let given = rule.and_then(|rule| rule.exact_ms).or(declared);
    // A given length yields only to a longer stated one (decision 2); what a rule declares, to none
    // (rules 3.6.4, 3.6.5).
    let obeys = case.use_hints && !(is_rule && given.is_some());
    let stated = failure.hint.filter(|hint| obeys && hint.wait_ms > given.unwrap_or(shortest));
    LockOrder {
        reason: LockReason::of(failure),
        exact_ms: stated.map(|hint| hint.wait_ms).or(given),
        authoritative: match stated {
            Some(hint) => hint.source.is_authoritative(),
            None => rule.is_some_and(|rule| rule.authoritative) || is_stated_there(failure, given),
        },
        keep_count: rule.is_some_and(|rule| rule.keep_count),
        by_list,
        stated: failure.hint.is_some()
            || matches!(failure.cooldown, CooldownRule::Exact { stated: true, .. }),
    }
}

/// The verdict weighed the stated wait already and took it over.
fn is_stated_there(failure: &Failure, given: Option<Millis>) -> bool {
    let stated = matches!(failure.cooldown, CooldownRule::Exact { stated: true, .. });
    let source = failure.hint.filter(|hint| Some(hint.wait_ms) == given);
    stated && source.is_some_and(|hint| hint.source.is_authoritative())
}

/// An honoured rule about one model (rules 3.10.9; C5, C6).
pub(crate) fn is_rule_of_a_model(failure: &Failure) -> bool {
    failure.rule.is_some_and(|rule| rule.honoured && rule.scope == RuleScope::Model)
}

/// There is a cooldown whose place a lock can take.
fn cools(failure: &Failure) -> bool {
    matches!(
        failure.cooldown,
        CooldownRule::Scaled | CooldownRule::Base | CooldownRule::Ladder | CooldownRule::Exact { .. }
    )
}

/// Core P12, P14 and P16: what the provider says about one model, or one family, only.
fn by_provider(failure: &Failure, case: &LockCase<'_>, settings: &LockoutSettings) -> bool {
    if is_by_family(case.provider.as_str()) {
        return failure.status == 429 || (settings.per_model_quota && matches!(failure.status, 402 | 403));
    }
    let limited = matches!(failure.reason, Reason::QuotaExhausted | Reason::RateLimitExceeded);
    settings.per_model_quota && (limited || matches!(failure.status, 402 | 403 | 404 | 429 | 501..=599))
}

/// A bare 500 of a provider with a quota per model is recorded and rests nobody (core P12, M20).
pub fn is_recorded_only(failure: &Failure, settings: &LockoutSettings) -> bool {
    settings.per_model_quota && failure.status == 500
}
