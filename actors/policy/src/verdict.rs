//! From what the upstream showed to what we conclude: one function, `judge`.
//! Classification happens once, here, whatever path the answer took (FC-015).
//! It looks at the status or the kind of end only; the rows are in `table`.

mod table;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::hint::Hint;
use crate::ids::Class;
use crate::time::Millis;

/// What one attempt showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// How the attempt ended.
    pub end: End,
    /// The wait that the upstream stated, if any.
    pub hint: Option<Hint>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// A complete head with this status; for 2xx the answer was judged good at commit.
    Status(u16),
    /// No usable answer came.
    Transport(Transport),
    /// One of our own limits ended it before one byte of the answer came (decision 9).
    NoFirstByte,
    /// The upstream answered while our body was still going out, or took no bytes for 10 s (decision 9c).
    SendInterrupted,
    /// The answer was cut after commit: a second, separate failure (decision 9a).
    CutAfterCommit,
    /// A limit ended it after the head and before commit: recorded, cools nobody (decision 9a).
    StallBeforeCommit,
    /// A 2xx that ended well with nothing in it: the request's affair (routing 7.3).
    Empty,
    /// Our own limit ended a stream after commit: recorded, cools nobody (decision 9a).
    StallAfterCommit,
    /// The client left (decision 22): nobody's fault.
    ClientGone,
    /// Something of our own failed: nobody's fault.
    Local,
}

/// What went wrong below HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// The host refused the connection.
    Refused,
    /// The host name did not resolve.
    Dns,
    /// No connection within the connect limit.
    ConnectTimeout,
    /// The TLS handshake failed.
    Tls,
    /// The connection was reset or closed before a complete head.
    Reset,
    /// Bytes that are not HTTP, a redirect, or a 2xx whose body cannot be told.
    BadAnswer,
    /// The body ended before its length, its last chunk or its JSON was complete.
    Truncated,
    /// The outbound proxy could not be reached: no breaker counts (decision 7).
    ProxyUnreachable,
}

/// What we conclude.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A good answer.
    Success,
    /// Proves nothing, costs nobody: the permit returns, that is all.
    Neutral,
    /// Somebody's fault; says whose.
    Failure(Failure),
}

/// A judged failure: who is at fault, for how long, and what the request does next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The status it stands for: the upstream's, 502 for transport, 504 for limits.
    pub status: u16,
    /// Why, as stored in `lastErrorType`.
    pub reason: Reason,
    /// What it means to the provider's breaker.
    pub breaker: BreakerMark,
    /// What the connection does.
    pub cooldown: CooldownRule,
    /// What is locked instead of (or beside) the cooldown.
    pub lock: Option<LockRule>,
    /// The stated wait, kept for the answer's `Retry-After` and the cooldown.
    pub hint: Option<Hint>,
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
    /// `lastError*` is written, no cooldown (decision 9a: a stall after commit).
    Record,
    /// Backoff or hint, core 3.4 `Scaled`.
    Scaled,
    /// Base of the class, level unchanged (core D27). A used hint still wins.
    Base,
    /// The 401 and 402 ladder: base × 2^(n−1) up to 120 s (core P13, decision 12a).
    Ladder,
}

/// What a failure locks on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockRule {
    /// Which key is written; `None`: by status (core 5.1.2).
    pub exact_key: bool,
    /// A given length; `None`: the formula of core 5.3.3.
    pub exact_ms: Option<Millis>,
    /// The length came from a header or RetryInfo: never clamped (core 5.3.2).
    pub authoritative: bool,
    /// The failure count stays (decision 12c).
    pub keep_count: bool,
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
    /// The next target, or the same one again if it is the last eligible (decision 26a).
    NextOrRetry,
    /// The next target, or once the same after 0.5–1 s (decision 12c).
    NextOrOnce,
}

/// Judges one attempt at a provider of a class (which the text rules to come will ask for).
/// Total: every end has a verdict.
pub fn judge(signal: &Signal, _class: Class) -> Verdict {
    let row = match signal.end {
        End::Status(200..=299) => return Verdict::Success,
        End::ClientGone | End::Local => return Verdict::Neutral,
        End::Status(status) => table::of_status(status),
        End::Transport(Transport::ProxyUnreachable) => table::PROXY_UNREACHABLE,
        End::Transport(_) => table::NETWORK,
        End::NoFirstByte => table::NO_FIRST_BYTE,
        End::SendInterrupted => table::SEND_INTERRUPTED,
        End::StallBeforeCommit => table::STALL_BEFORE_COMMIT,
        End::Empty => table::EMPTY,
        End::CutAfterCommit => table::CUT_AFTER_COMMIT,
        End::StallAfterCommit => table::STALL_AFTER_COMMIT,
    };
    Verdict::Failure(Failure { hint: signal.hint, ..row })
}

// === names ===

impl Verdict {
    /// The name in metrics: `success`, `neutral`, or the reason of a failure.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Neutral => "neutral",
            Self::Failure(failure) => failure.reason.as_str(),
        }
    }
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
            Self::Unknown => "unknown",
        }
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
