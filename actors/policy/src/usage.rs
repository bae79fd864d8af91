//! What requests took: tokens, counted once for each request, kept by day (UTC), client key and
//! who answered (contract 8, FC-035, FC-098).
//!
//! A request ends in one `Entry`, however it ends. What is not known is said to be unknown and
//! never passes for zero.

mod day;
mod ledger;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use day::Day;
pub use ledger::{GroupBy, Groups, Ledger, MOST_ROWS, RETENTION_DAYS, Written};

use crate::ids::{ConnectionId, ModelId, ProviderId};

/// Tokens of one answer, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Tokens {
    /// All that went in, those read from a cache and written to one included.
    pub input: u64,
    /// Of these, read from a cache.
    pub cached: u64,
    /// Of these, written to a cache.
    pub cache_write: u64,
    /// All that came out, reasoning included.
    pub output: u64,
    /// Of these, reasoning.
    pub reasoning: u64,
}

impl Tokens {
    /// Adds what another answer took.
    pub fn add(&mut self, more: &Self) {
        self.input = self.input.saturating_add(more.input);
        self.cached = self.cached.saturating_add(more.cached);
        self.cache_write = self.cache_write.saturating_add(more.cache_write);
        self.output = self.output.saturating_add(more.output);
        self.reasoning = self.reasoning.saturating_add(more.reasoning);
    }
}

/// Where a request's numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The provider said them, or it took none: nobody answered.
    Reported,
    /// The provider said nothing; they follow from the length of what was sent and said.
    Estimated,
    /// Nobody knows.
    Unknown,
}

impl Source {
    /// Its name in a log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Estimated => "estimated",
            Self::Unknown => "unknown",
        }
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its answer was given whole.
    Complete,
    /// Its answer was cut, or the client left.
    Partial,
    /// No upstream gave a good answer.
    Failed,
}

/// One request, when it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How it ended.
    pub end: End,
    /// Requests sent upstream for it.
    pub attempts: u32,
    /// Where the tokens come from.
    pub source: Source,
    /// What it took.
    pub tokens: Tokens,
}

/// Who asked and who answered. What is not known, or was grouped away, is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Who {
    /// The client's key; anonymous without one.
    pub key: Option<Arc<str>>,
    /// The provider; none if nothing was sent.
    pub provider: Option<ProviderId>,
    /// The connection.
    pub connection: Option<ConnectionId>,
    /// The model as the provider names it.
    pub model: Option<ModelId>,
}

/// What many requests took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Tally {
    /// Requests.
    pub requests: u64,
    /// Requests sent upstream for them.
    pub attempts: u64,
    /// Requests that no upstream answered well.
    pub failed: u64,
    /// Requests whose answer was cut, or whose client left.
    pub partial: u64,
    /// Requests whose tokens are an estimate.
    pub estimated: u64,
    /// Requests whose tokens nobody knows: they are not in the sums.
    pub unknown: u64,
    /// The sums.
    #[serde(flatten)]
    pub tokens: Tokens,
}

impl Tally {
    /// Adds one request.
    pub fn count(&mut self, entry: &Entry) {
        let one = |yes: bool| u64::from(yes);
        self.add(&Self {
            requests: 1,
            attempts: entry.attempts.into(),
            failed: one(entry.end == End::Failed),
            partial: one(entry.end == End::Partial),
            estimated: one(entry.source == Source::Estimated),
            unknown: one(entry.source == Source::Unknown),
            tokens: entry.tokens,
        });
    }

    /// Adds other sums.
    pub fn add(&mut self, more: &Self) {
        let pairs = [
            (&mut self.requests, more.requests),
            (&mut self.attempts, more.attempts),
            (&mut self.failed, more.failed),
            (&mut self.partial, more.partial),
            (&mut self.estimated, more.estimated),
            (&mut self.unknown, more.unknown),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
        self.tokens.add(&more.tokens);
    }
}
