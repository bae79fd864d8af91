//! What operators, tests and background work tell a connection.

use actix::{Handler, Message};
use policy::change::{Change, Exclusion, Refusal};
use policy::time::Millis;
use policy::verdict::Failure;
use policy::window::RetryEntry;

use super::Connection;

/// The state of a connection that takes no new request.
pub(crate) const DRAINING: &str = "draining";

/// An operator's order (contract 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Message)]
#[rtype(result = "()")]
pub enum Order {
    /// Clears rest, level, errors and a terminal state; its locks are removed by the caller.
    Reset,
    /// The same for a connection that is not terminal (core 5.7.4).
    Lift,
    /// Rests for so many ms.
    Cool(Millis),
    /// Takes no new request.
    Drain,
    /// Takes requests again.
    Undrain,
    /// A test of it passed: clears the terminal state that this disproves (decision 12a).
    TestPassed,
    /// Its refresh token is dead.
    Expire,
    /// A background refresh of its expired credential ended so (core 3.9.7).
    Retried(bool),
}

/// A test or health check of it failed: told, but nobody rests (core P8).
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct CheckFailed(pub Failure);

impl Connection {
    fn drain(&mut self, draining: bool, at: Millis) -> Option<Change> {
        let was = std::mem::replace(&mut self.draining, draining);
        let word = |draining| if draining { DRAINING } else { "ready" };
        let (from, to) = (word(was).to_owned(), word(draining).to_owned());
        (was != draining).then(|| Change { from, to, why: "operator".into(), at })
    }
}

impl Handler<Order> for Connection {
    type Result = ();

    fn handle(&mut self, order: Order, ctx: &mut Self::Context) {
        let now = self.links.clock.now();
        if matches!(order, Order::Reset | Order::Lift) {
            self.change_retry(RetryEntry::clear, now);
            self.shared.gate().unpause();
        }
        let change = match order {
            Order::Reset => self.cooldown.clear(now),
            Order::Lift => self.cooldown.lift(now),
            Order::Cool(for_ms) => self.cooldown.cool(for_ms, now),
            Order::TestPassed => self.cooldown.test_passed(now),
            Order::Expire => self.cooldown.expire(now),
            Order::Retried(ok) => self.cooldown.retried(ok, now),
            Order::Drain => self.drain(true, now),
            Order::Undrain => self.drain(false, now),
        };
        self.pass_on(change);
        if self.draining {
            self.clear_line(Refusal { why: Exclusion::Draining, retry_at: None });
        }
        self.rest_line(now);
        self.look_at_line(ctx);
    }
}

impl Handler<CheckFailed> for Connection {
    type Result = ();

    fn handle(&mut self, CheckFailed(failure): CheckFailed, _: &mut Self::Context) {
        let change = self.cooldown.record_check(&failure, self.links.clock.now());
        self.pass_on(change);
    }
}
