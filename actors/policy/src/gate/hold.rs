//! What can hold a request back at a gate.

use crate::change::{Exclusion, Refusal};
use crate::time::Millis;

/// A cap, from the outside in (flow 1.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Of the process.
    Global,
    /// Of the provider.
    Provider,
    /// Of the connection.
    Account,
    /// Of one model on the connection.
    Model,
}

/// What holds a request back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// A cap is used up: somebody has to come back.
    Cap(Level),
    /// The local limiter; until an instant, or until one of its calls ends.
    Pace(Option<Millis>),
    /// The window of the provider, until an instant.
    Window(Millis),
    /// The connection rests.
    Rest(Option<Millis>),
    /// Others go first: those ahead in line, or those who try a connection that has come back; the
    /// latter until an instant at most.
    Turn(Option<Millis>),
}

impl Hold {
    pub(super) fn until(&self) -> Option<Millis> {
        match self {
            Self::Cap(_) => None,
            Self::Window(until) => Some(*until),
            Self::Pace(until) | Self::Rest(until) | Self::Turn(until) => *until,
        }
    }

    pub(super) fn is_above(&self) -> bool {
        matches!(self, Self::Cap(Level::Global | Level::Provider))
    }

    /// What a request hears that will not wait.
    pub(super) fn refusal(&self, now: Millis) -> Refusal {
        let (why, retry_at) = match self {
            Self::Cap(_) | Self::Turn(_) => (Exclusion::ConcurrencyCap, Some(now + 1_000)),
            Self::Window(until) => (Exclusion::LocalLimit, Some(*until)),
            Self::Pace(until) => (Exclusion::LocalLimit, until.or(Some(now + 1_000))),
            Self::Rest(until) => (Exclusion::ConnectionCooldown, *until),
        };
        Refusal { why, retry_at }
    }
}
