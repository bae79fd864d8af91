//! Waits that an upstream states (core 3.3 H1–H4, decisions 2, 3, 4, 32).
//!
//! Headers are read from the most precise to the vaguest; a source that states nothing
//! usable (past, zero, negative, garbage) is skipped and the next one is read. A stated
//! wait is clamped, never thrown away (FC-072).

mod headers;
#[cfg(test)]
mod tests;
mod text;

use serde::{Deserialize, Serialize};

use crate::time::{DAY, Millis, SECOND};

pub use headers::from_headers;

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
