//! A connection whose quota belongs to its egress address: what it tells those that share the
//! address, and what they do (rules 4, decision 31a).

use actix::{Handler, Message};
use policy::change::Change;
use policy::egress::Egress;
use policy::time::Millis;
use policy::verdict::Reason;

use super::Connection;
use crate::router::siblings::CoolSiblings;

/// A connection of the same egress is limited: rest as long (rules 4.9).
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct CoolWith {
    /// Why the other one rests.
    pub reason: Reason,
    /// How long from now, ms.
    pub for_ms: Millis,
}

impl Connection {
    /// Remembers where a request came from, if anybody will ask for it.
    pub(super) fn saw_egress(&mut self, identity: Option<&str>, now: Millis) -> Option<Change> {
        let identity = identity.filter(|_| self.numbers.shares_egress)?;
        let seen = Egress::news(self.egress.as_ref(), identity, now)?;
        self.egress = Some(seen);
        let label = self.cooldown.view().label(now);
        Some(Change { from: label.into(), to: label.into(), why: "egress".into(), at: now })
    }

    /// Without a known address only this connection rests (rules 4.7).
    pub(super) fn cool_siblings(&self, reason: Reason, now: Millis) {
        let Some(seen) = self.egress.as_ref().filter(|seen| seen.is_known(now)) else { return };
        let Some(until) = self.cooldown.cooling_until(now) else { return };
        let order = CoolWith { reason, for_ms: until.saturating_sub(now) };
        let (from, identity) = (self.shared.id.clone(), seen.identity.clone());
        self.links.router.mailbox.post(CoolSiblings { from, identity, order });
    }
}

impl Handler<CoolWith> for Connection {
    type Result = ();

    fn handle(&mut self, order: CoolWith, _: &mut Self::Context) {
        // Its own guards decide, on its own fresh state (rules 4.8).
        let now = self.links.clock.now();
        let change = self.cooldown.cool_with(order.reason, order.for_ms, now);
        self.pass_on(change);
        self.rest_line(now);
    }
}
