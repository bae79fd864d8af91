//! What the board publishes of a breaker.
//!
//! A view holds raw fields and the instants at which they stop being true, so any
//! reader derives the truth for its own `now` (core 1.4.5, decision 5b) and asks
//! the owner only when a probe has to be won. The owner answers from the same code.

use super::{BreakerState, Grant, Operator};
use crate::change::{Change, Exclusion, Refusal};
use crate::time::Millis;
use crate::verdict::Kind;

/// One breaker as published. Instants are epoch ms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakerView {
    /// State as last written; read it through `state_at`.
    pub state: BreakerState,
    /// What an operator ordered (decision 35).
    pub operator: Operator,
    /// Fences outcomes from before the last turn.
    pub generation: u64,
    /// Failures that count now.
    pub failures: u32,
    /// When the last counted failure was reported.
    pub last_failure_at: Option<Millis>,
    /// Its kind; decides the base of the hold.
    pub last_kind: Option<Kind>,
    /// Failed probe cycles since it was last closed.
    pub open_cycles: u32,
    /// While OPEN: when it becomes HALF_OPEN.
    pub open_until: Option<Millis>,
    /// While DEGRADED: when it becomes CLOSED without another failure (core 1.3.2).
    pub quiet_until: Option<Millis>,
    /// While HALF_OPEN: probes that may still be admitted.
    pub permits_left: u32,
    /// While a probe runs: when its lease ends (core 1.5.3).
    pub lease_until: Option<Millis>,
    /// The present hold, ms (core 1.4.4).
    pub hold_ms: Millis,
    /// Failures at which it warns.
    pub degrade_at: u32,
    /// Reset timeout, ms.
    pub reset_ms: Millis,
    /// The last 20 transitions, newest last.
    pub history: Vec<Change>,
}

/// Whether a request may go to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Closed, degraded or only observed: nobody need be asked.
    Free,
    /// Half-open with a permit to win from the owner.
    Ask,
    /// Not now.
    Refused(Refusal),
}

impl BreakerView {
    /// The state at `now`, never the raw field (core 1.3.3, 1.4.5).
    pub fn state_at(&self, now: Millis) -> BreakerState {
        let over = |until: Option<Millis>| until.is_none_or(|until| now >= until);
        match self.state {
            BreakerState::Open if over(self.open_until) => BreakerState::HalfOpen,
            BreakerState::Degraded if over(self.quiet_until) => BreakerState::Closed,
            state => state,
        }
    }

    /// May a request go at `now` (core 1.5.1, 1.5.2, decision 35)?
    pub fn admission(&self, now: Millis) -> Admission {
        let refused = |why, retry_at| Admission::Refused(Refusal { why, retry_at });
        match (self.operator, self.state_at(now)) {
            (Operator::Isolated, _) => refused(Exclusion::Isolated, None),
            (Operator::Observe, _) => Admission::Free,
            (Operator::None, BreakerState::Closed | BreakerState::Degraded) => Admission::Free,
            (Operator::None, BreakerState::Open) => refused(Exclusion::CircuitOpen, self.open_until),
            (Operator::None, BreakerState::HalfOpen) => match self.probing_until(now) {
                None => Admission::Ask,
                until => refused(Exclusion::CircuitOpen, until),
            },
        }
    }

    /// Nobody is let through at `now`, not even a probe.
    pub fn blocks(&self, now: Millis) -> bool {
        match self.operator {
            Operator::Isolated => true,
            Operator::Observe => false,
            Operator::None => self.state_at(now) == BreakerState::Open,
        }
    }

    /// Ms until asking again may help (core 1.4.6); 0 also when only an operator can help.
    pub fn retry_after_ms(&self, now: Millis) -> Millis {
        let until = match self.state_at(now) {
            _ if self.operator == Operator::Isolated => None,
            BreakerState::Closed | BreakerState::Degraded => None,
            BreakerState::Open => self.open_until,
            BreakerState::HalfOpen => self.probing_until(now),
        };
        until.map_or(0, |until| until.saturating_sub(now))
    }

    /// The grant of a request that nobody need be asked for.
    pub fn grant(&self) -> Grant {
        Grant { generation: self.generation, probe: false }
    }

    /// CLOSED with zero failures: a success need not be reported.
    pub fn is_clean(&self) -> bool {
        self.state == BreakerState::Closed && self.failures == 0
    }

    /// The name in `/api/actors`: an operator's state hides the inner one.
    pub fn label(&self, now: Millis) -> &'static str {
        match self.operator {
            Operator::None => self.state_at(now).as_str(),
            operator => operator.as_str(),
        }
    }

    /// End of the running lease if every permit is out at `now`.
    fn probing_until(&self, now: Millis) -> Option<Millis> {
        let out = self.state == BreakerState::HalfOpen && self.permits_left == 0;
        self.lease_until.filter(|until| out && now < *until)
    }
}
