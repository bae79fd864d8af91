//! The opt-in provider cooldown (core 2): providers and connections that failed are remembered
//! across requests and left out while the targets of a combo are resolved.
//!
//! Off by default. It has numbers of its own, never the breaker's (core 2.10), and only a combo
//! asks it: a direct request has no other target to go to. A provider cools after many failures
//! within a window, a connection after each, a little longer every time. Times that have passed
//! count for nothing, so no timer is needed and what is forgotten is only memory (core 2.8).

mod entry;
mod gate;
mod settings;
#[cfg(test)]
mod tests;

use crate::breaker::BreakerState;
use crate::change::{Exclusion, Refusal};
use crate::time::Millis;
use crate::verdict::{BreakerMark, CooldownRule, Reason, Verdict};

pub use entry::RetryEntry;
pub use gate::WindowGate;
pub use settings::{RetryCooldown, WindowSettings};

/// Why a `Change` tells that a cooldown began or that its end moved.
pub const COOLS: &str = "provider-cooldown";
/// Why a `Change` tells that a success or an operator ended one.
pub const ENDED: &str = "provider-cooldown-ended";

/// What an attempt means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A good answer.
    Success,
    /// A failure of the provider or of its connection.
    Failure,
    /// Nobody's fault, or the request's own.
    Nothing,
}

impl Mark {
    /// What is left of it: failures count only where an operator wants them, and a success from
    /// before the trip of an open breaker proves nothing (core 2.7).
    fn weighed(self, enabled: bool, breaker: BreakerState) -> Self {
        match self {
            Self::Failure if enabled => self,
            Self::Success if breaker != BreakerState::Open => self,
            _ => Self::Nothing,
        }
    }

    /// Reads a verdict: what counts on the breaker counts here, and so does any other answer
    /// that cools its connection, unless it is only busy (core D16: it is healthy).
    pub fn of(verdict: &Verdict) -> Self {
        let Verdict::Failure(failure) = verdict else {
            return if *verdict == Verdict::Success { Self::Success } else { Self::Nothing };
        };
        let cools = !matches!(failure.cooldown, CooldownRule::Nothing | CooldownRule::Record);
        match failure.breaker {
            BreakerMark::Counts(_) => Self::Failure,
            BreakerMark::Reachable if failure.reason == Reason::ConcurrencyLimited => Self::Nothing,
            BreakerMark::Reachable if cools => Self::Failure,
            BreakerMark::Reachable | BreakerMark::Ignored => Self::Nothing,
        }
    }
}

/// What the board publishes of a gate or an entry; every reader derives the truth for its `now`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowView {
    /// End of the cooldown, epoch ms; may lie in the past.
    pub until: Option<Millis>,
}

impl WindowView {
    /// Why a combo's target is left out at `now` (core 2.4, 2.5, 2.9).
    pub fn refusal(&self, now: Millis) -> Option<Refusal> {
        let until = self.until.filter(|until| now < *until)?;
        Some(Refusal { why: Exclusion::ProviderCooldown, retry_at: Some(until) })
    }
}

/// The later of a running end and a new one: no failure ends a cooldown sooner.
fn later(running: Option<Millis>, end: Millis) -> Option<Millis> {
    Some(running.map_or(end, |running| running.max(end)))
}
