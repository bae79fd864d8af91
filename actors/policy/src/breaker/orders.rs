//! Orders of an operator and news from outside the traffic (decision 35, core 1.3.5, 1.7.7).
//!
//! The last order wins: a trip ends isolation or observation, a reset ends everything.

use super::{Breaker, BreakerState, Operator};
use crate::change::Change;
use crate::time::Millis;

impl Breaker {
    /// Closes it and forgets every count and order; `None` if there was nothing to forget
    /// (core 1.7.7).
    pub fn reset(&mut self, now: Millis) -> Option<Change> {
        let counts = self.view.failures > 0 || self.view.open_cycles > 0;
        let clean = self.view.state == BreakerState::Closed && !counts;
        if clean && self.view.operator == Operator::None {
            return None;
        }
        let from = self.view.label(now);
        self.view.operator = Operator::None;
        self.view.last_failure_at = None;
        self.close();
        self.advance();
        Some(self.moved(from, "manual-reset", now))
    }

    /// Opens it until `now + for_ms`, by default for the present hold, whatever it was before.
    pub fn trip(&mut self, for_ms: Option<Millis>, now: Millis) -> Change {
        let from = self.view.label(now);
        self.view.operator = Operator::None;
        self.enter(BreakerState::Open);
        self.advance();
        let hold_ms = for_ms.unwrap_or_else(|| self.hold_ms());
        self.forced_until = Some(now.saturating_add(hold_ms));
        self.moved(from, "manual-trip", now)
    }

    /// Holds it open until another order (decision 35).
    pub fn isolate(&mut self, now: Millis) -> Change {
        self.order(Operator::Isolated, now)
    }

    /// Lets everything through while it goes on counting (decision 35). Changes then name
    /// the inner states.
    pub fn observe(&mut self, now: Millis) -> Change {
        self.order(Operator::Observe, now)
    }

    /// A connection of the provider passed its test: ends DEGRADED, nothing else
    /// (core 1.3.5; B13, B14).
    pub fn connection_test_passed(&mut self, now: Millis) -> Option<Change> {
        if self.view.state != BreakerState::Degraded {
            return None;
        }
        self.tick(now).or_else(|| {
            self.close();
            Some(self.moved(BreakerState::Degraded.as_str(), "connection-test", now))
        })
    }

    fn order(&mut self, operator: Operator, now: Millis) -> Change {
        let from = self.view.label(now);
        self.view.operator = operator;
        let why = format!("manual-{}", operator.as_str());
        self.note(from, operator.as_str(), why, now)
    }
}
