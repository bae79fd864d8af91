//! From what the upstream showed to what we conclude: one function, `judge`.
//! Classification happens once, here, whatever path the answer took (FC-015).
//!
//! `Signal` is what was seen, `Case` is what is known of whom it was seen at, `Verdict` is
//! the conclusion. How long a connection then rests depends on its own past and is
//! computed by its owner (`cooldown`, `lockout`).

mod case;
mod detector;
mod failure;
mod lists;
mod look;
mod phrase;
mod ruled;
mod table;
#[cfg(test)]
mod tests;
mod told;
mod words;

use serde::{Deserialize, Serialize};

use crate::hint::Hint;

pub use case::{Case, DailyReset, Rotation};
pub use detector::Detector;
pub use failure::{
    BreakerMark, CooldownRule, Failure, Kind, Level, LockRule, Reason, RuleId, RuleMatch, RuleScope,
    TerminalRule, Then,
};
pub use table::{ListDoc, RowDoc, lists, rows};
pub use told::{ENDS, Told};

/// What one attempt showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// How the attempt ended.
    pub end: End,
    /// The wait that the upstream stated, if any.
    pub hint: Option<Hint>,
    /// The headers of a failed answer that rules read; names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body of a failed answer as text, at most 64 KiB; empty when there is none.
    pub text: String,
}

impl Signal {
    /// An end without words.
    pub fn new(end: End, hint: Option<Hint>) -> Self {
        Self { end, hint, headers: Vec::new(), text: String::new() }
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// A complete head with this status; for 2xx the answer was judged good at commit.
    Status(u16),
    /// A good head, and then an error inside the stream that stands for this status: it is judged
    /// like one, but no gateway's restatement of a status concerns it (flow 6.10).
    InStream(u16),
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
    /// A stream that ended well before anything meaningful came: the request's affair, and worth
    /// one more try (flow 6.2.6).
    EarlyEof,
    /// Our own limit ended a stream after commit: recorded, cools nobody (decision 9a).
    StallAfterCommit,
    /// Nothing was sent: the refresh token is dead, and with it the credential (FC-038).
    CredentialDead,
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

/// Judges one attempt. Total: every end has a verdict.
pub fn judge(signal: &Signal, case: &Case<'_>) -> Verdict {
    match signal.end {
        End::Status(200..=299) => Verdict::Success,
        End::Status(status) | End::InStream(status) => {
            Verdict::Failure(table::of_status(&look::Look::at(signal, status, case)))
        }
        end => match table::of_end(end) {
            Some(failure) => Verdict::Failure(Failure { hint: signal.hint, ..failure }),
            None => Verdict::Neutral,
        },
    }
}

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
