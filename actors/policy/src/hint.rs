//! Waits that an upstream states (core 3.3, decisions 2, 3, 4, 32).
//!
//! A header is read before the JSON of the body, and that before its text; each from the most
//! precise form to the vaguest. A source that states nothing usable (past, zero, negative,
//! garbage) is skipped and the next one is read. A stated wait is clamped, never thrown away
//! (FC-072). All of it comes from strangers: nothing panics, and time is linear in the body.

mod dates;
mod forms;
mod headers;
mod json;
#[cfg(test)]
mod tests;
mod text;

use serde::{Deserialize, Serialize};

use crate::time::{DAY, Millis, SECOND};

pub(crate) use dates::date;
pub use headers::{HEADERS, from_headers, is_read};
pub(crate) use headers::{instant, reset_in, whole};
pub(crate) use text::{countdown, reset_of};

/// A stated wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// How long from its receipt, ms; always inside [1 s, 30 days].
    pub wait_ms: Millis,
    /// Where it stood.
    pub source: HintSource,
}

/// Where a hint stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HintSource {
    /// A response header.
    Header,
    /// `google.rpc.RetryInfo` in the body.
    GoogleRpcRetryInfo,
    /// Elsewhere in the body.
    Body,
}

impl HintSource {
    /// A wait from here is never clamped by a lockout's maximum (core 5.3.2).
    pub fn is_authoritative(self) -> bool {
        matches!(self, Self::Header | Self::GoogleRpcRetryInfo)
    }

    /// It stood in a field made for it, so a lock may rest on it (flow 4.24).
    pub fn is_typed(self) -> bool {
        self == Self::GoogleRpcRetryInfo
    }
}

impl Hint {
    /// The shortest wait taken over, ms (decision 3).
    pub const MIN_MS: Millis = SECOND;
    /// The longest wait taken over, ms (decision 3).
    pub const MAX_MS: Millis = 30 * DAY;

    /// A hint whose wait is clamped to [1 s, 30 days] (decision 3).
    pub fn new(wait_ms: Millis, source: HintSource) -> Self {
        Self { wait_ms: wait_ms.clamp(Self::MIN_MS, Self::MAX_MS), source }
    }
}

/// The wait that an answer states: in its headers, else in its body. `get` takes a
/// lower-case header name; the body may be anything, cut short or not text at all.
pub fn find<'a>(
    get: impl Fn(&str) -> Option<&'a [u8]>,
    body: &str,
    status: u16,
    now: Millis,
) -> Option<Hint> {
    let clock = Clock::of(&get, now);
    headers::read(&get, status, clock).or_else(|| in_body(body, clock))
}

/// The wait that a body alone states, as after an error inside a stream.
pub fn from_body(body: &str, now: Millis) -> Option<Hint> {
    in_body(body, Clock::ours(now))
}

fn in_body(body: &str, clock: Clock) -> Option<Hint> {
    json::read(body, clock).or_else(|| text::read(body, clock))
}

// === clock ===

/// A date that lies at most this far in the past is "now", ms (decision 3).
const SKEW_MS: Millis = 5 * SECOND;

/// The two clocks that an answer may speak of.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// Ours. Numbers since the epoch are read against it: they tend to come from the quota
    /// service behind, not from the server that wrote `Date` (E9, E10).
    now: Millis,
    /// The server's by its `Date`. A date in words is written by that server, so the
    /// difference is right even if our clock, or theirs, is hours off (FC-122).
    server: Millis,
}

impl Clock {
    fn ours(now: Millis) -> Self {
        Self { now, server: now }
    }

    /// `Date` counts only where it differs by more than the skew that is forgiven anyway.
    fn of<'a>(get: impl Fn(&str) -> Option<&'a [u8]>, now: Millis) -> Self {
        let date = get("date").and_then(forms::clean).and_then(dates::date);
        let differs = |at: &Millis| at.abs_diff(now) > SKEW_MS;
        Self { now, server: date.filter(differs).unwrap_or(now) }
    }
}

/// The wait until an instant; a slightly late one is a second away (decision 3).
fn until(at: Millis, now: Millis) -> Option<Millis> {
    match at.checked_sub(now) {
        Some(wait) => Some(wait.max(SECOND)),
        None => (now - at <= SKEW_MS).then_some(SECOND),
    }
}
