//! The words of a breaker: its states, an operator's orders, what an admission grants
//! and what an attempt means to it.

use serde::{Deserialize, Serialize};

use crate::verdict::{BreakerMark, Kind, Verdict};

/// State of a breaker (core 1.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakerState {
    /// Traffic flows.
    #[default]
    Closed,
    /// Traffic flows, operators are warned.
    Degraded,
    /// Refused until the hold is over.
    Open,
    /// Probes only.
    HalfOpen,
}

impl BreakerState {
    pub(crate) const ALL: [Self; 4] = [Self::Closed, Self::Degraded, Self::Open, Self::HalfOpen];

    /// The name in JSON, metrics and `Change`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Degraded => "degraded",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// What an operator ordered; the last order wins (decision 35).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    /// Nothing: the breaker decides.
    #[default]
    None,
    /// Held open.
    Isolated,
    /// Counts and reports, never refuses.
    Observe,
}

impl Operator {
    /// The name in JSON and `Change`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Isolated => "isolated",
            Self::Observe => "observe",
        }
    }
}

/// The right to speak about a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grant {
    /// Generation it was admitted in.
    pub generation: u64,
    /// Holds a probe permit, which `record` must get back.
    pub probe: bool,
}

/// What an attempt means to the breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A good answer.
    Success,
    /// A counted failure.
    Failure(Kind),
    /// A bad answer that proves that the provider is reachable (decision 5).
    Reachable,
    /// Says nothing; only returns a permit.
    Neutral,
}

impl Outcome {
    /// Reads a verdict. `counts` is false when this client request has already counted on
    /// this provider (decision 7); for a probe it must be true.
    pub fn of(verdict: &Verdict, counts: bool) -> Self {
        match verdict {
            Verdict::Success => Self::Success,
            Verdict::Neutral => Self::Neutral,
            Verdict::Failure(failure) => match failure.breaker {
                BreakerMark::Counts(kind) if counts => Self::Failure(kind),
                BreakerMark::Counts(_) | BreakerMark::Ignored => Self::Neutral,
                BreakerMark::Reachable => Self::Reachable,
            },
        }
    }
}
