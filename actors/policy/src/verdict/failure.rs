//! What a failure means: data that owners, the attempt loop and people read.

use serde::{Deserialize, Serialize};

use super::Detector;
use crate::hint::Hint;
use crate::time::Millis;

/// A judged failure: who is at fault, for how long, and what the request does next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The status it stands for: the upstream's or what it was restated to, 502 for
    /// transport, 504 for limits.
    pub status: u16,
    /// The upstream's own status if it was restated (rules 2).
    pub restated_from: Option<u16>,
    /// The row that decided.
    pub detector: Detector,
    /// Why, as stored in `lastErrorType`.
    pub reason: Reason,
    /// What it means to the provider's breaker.
    pub breaker: BreakerMark,
    /// What the connection does.
    pub cooldown: CooldownRule,
    /// What is locked instead of (or beside) the cooldown.
    pub lock: Option<LockRule>,
    /// It speaks of the whole account: no lock takes the cooldown's place, not even where a
    /// quota belongs to one model (core 3.2.1, FC-078). An honoured rule of the connection (P10)
    /// is told by `rule`: there `disableCooling` still leads to a lock (C4).
    pub of_account: bool,
    /// The end of the connection's use until credentials change (core 3.9).
    pub terminal: Option<TerminalRule>,
    /// The stated wait, kept for the answer's `Retry-After` and the cooldown.
    pub hint: Option<Hint>,
    /// The wait to tell the client when the upstream stated none, ms (rules 2.3.2); cools nobody.
    pub client_wait_ms: Option<Millis>,
    /// The provider or operator rule that matched (rules 3.4).
    pub rule: Option<RuleMatch>,
    /// What the request does next.
    pub then: Then,
}

/// What an outcome means to a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakerMark {
    /// Counts as a failure of the provider (core 1.6.1).
    Counts(Kind),
    /// The provider answered: closes a half-open breaker, else nothing (decision 5).
    Reachable,
    /// Says nothing about the provider.
    Ignored,
}

/// Failure kinds of core 1.4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Everything that is not a 429.
    Transient,
    /// A 429 that will pass.
    RateLimit,
    /// A 429 that says the quota is gone.
    QuotaExhausted,
}

/// What a failure does to its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CooldownRule {
    /// Nothing is written.
    Nothing,
    /// `lastError*` is written, no cooldown.
    Record,
    /// A content stall: `Record`, or `Scaled` if the operator wants stalls to cool (core P4).
    Stall,
    /// Backoff or hint, core 3.4 `Scaled`.
    Scaled,
    /// Base of the class, level unchanged (core D27). A used hint still wins.
    Base,
    /// This long, whatever the hint says: it was weighed already.
    Exact {
        /// How long, ms.
        ms: Millis,
        /// What becomes of the backoff level.
        level: Level,
        /// The provider stated it, so it counts from its receipt, not from the episode's start
        /// (decision 3).
        stated: bool,
    },
    /// The refusals of one request's content by an account, without a model to lock: 5, 15, 45,
    /// 60 min (core 3.8.3, F15).
    Rejected,
    /// The 401 ladder: base × 2^(n−1) up to 120 s (core P13, decision 12a).
    Ladder,
}

/// What a failure locks on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockRule {
    /// Which key is written; `None`: by status (core 5.1.2).
    pub exact_key: bool,
    /// A given length; `None`: the formula of core 5.3.3, or the ladder of refusals (core 3.8.3).
    /// When a rule gave it (`Failure.rule`), a longer hint does not win (rules 3.6.4).
    pub exact_ms: Option<Millis>,
    /// The length came from a header or RetryInfo: never clamped (core 5.3.2).
    pub authoritative: bool,
    /// The failure count stays (decision 12c).
    pub keep_count: bool,
}

/// What a failure does to the backoff level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// One step up.
    Rises,
    /// Unchanged.
    Keeps,
    /// Back to the first step.
    Zero,
}

/// Why a connection is out until its credential changes (core 3.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalRule {
    /// The account is disabled (S1, or an operator's signal).
    Banned,
    /// The account has to be paid.
    CreditsExhausted,
    /// The credential is refused: terminal when a second one in a row confirms it (decision 12a).
    ExpiredIfConfirmed,
    /// The credential is known to be dead (a refused refresh token).
    Expired,
}

/// A rule of a provider or an operator that matched (rules 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleMatch {
    /// Which one.
    pub id: RuleId,
    /// What it speaks about.
    pub scope: RuleScope,
    /// Its scope is acted on (rules 3.3); else it is a label.
    pub honoured: bool,
}

/// Names a rule of one provider; the rule book knows its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleId {
    /// The n-th of the built-in catalogue.
    BuiltIn(u16),
    /// The n-th that the operator declared for the provider.
    Operator(u16),
    /// The operator's catch-all default.
    CatchAll,
}

/// What a rule speaks about (rules 3.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleScope {
    /// One model of the connection.
    Model,
    /// Acted on like `Connection` (rules 3.10.9).
    Provider,
    /// The whole connection.
    Connection,
}

/// Reasons of core 3.1.7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// 429.
    RateLimitExceeded,
    /// 402.
    QuotaExhausted,
    /// 529, 413.
    ModelCapacity,
    /// 5xx and transport.
    ServerError,
    /// 401, 403.
    AuthError,
    /// A model the provider does not serve.
    NotFound,
    /// The account is healthy but busy (core D16).
    ConcurrencyLimited,
    /// The account refuses this request (core 3.8).
    RequestRejected,
    /// Our own side says the service behind it is down (core D3).
    ServiceNotRunning,
    /// The request names a response of another account (core D2).
    InvalidPreviousResponseBinding,
    /// Anything else.
    Unknown,
}

/// What a request does after a failed attempt (routing 7.3; `attempts` adds its own bounds).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// The answer goes to the client as it is.
    Stop,
    /// The next target; never the same one again.
    Next,
    /// The next target; this provider's other accounts would say the same (core 3.2.6).
    NextProvider,
    /// The next target, or the same one again if it is the last eligible (decision 26a).
    NextOrRetry,
    /// The next target, or once the same after 0.5–1 s (decision 12c).
    NextOrOnce,
}

impl Reason {
    /// The name in JSON, metrics and `lastErrorType`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimitExceeded => "rate_limit_exceeded",
            Self::QuotaExhausted => "quota_exhausted",
            Self::ModelCapacity => "model_capacity",
            Self::ServerError => "server_error",
            Self::AuthError => "auth_error",
            Self::NotFound => "not_found",
            Self::ConcurrencyLimited => "concurrency_limited",
            Self::RequestRejected => "request_rejected",
            Self::ServiceNotRunning => "service_not_running",
            Self::InvalidPreviousResponseBinding => "invalid_previous_response_binding",
            Self::Unknown => "unknown",
        }
    }

    /// It passes by itself, so a combo may wait for it (flow 3.3).
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::RateLimitExceeded | Self::ModelCapacity | Self::ServerError | Self::ConcurrencyLimited
        )
    }
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Transient, Self::RateLimit, Self::QuotaExhausted];

    /// The name in JSON and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::RateLimit => "rate_limit",
            Self::QuotaExhausted => "quota_exhausted",
        }
    }
}
