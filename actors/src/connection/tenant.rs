//! The exclusive lease of a connection (rules 7): its owner alone binds, moves and ends it.
//!
//! What was answered is in the book already and on its way to the store; whoever asked waits for
//! the disk (design, "State and time").

use std::time::Duration;

use actix::{AsyncContext, Context, Handler, Message};
use policy::lease::{Claim, Denied, EndReason, Fence, Row};
use policy::time::Millis;

use super::Connection;
use crate::lease::{ACQUIRED, FREE, LEASED};

/// What an owner of a lease asks of the connection.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Row, Denied>")]
pub enum Tenant {
    /// To have it, or to have it for longer.
    Claim(Claim),
    /// To come here from another connection with the generation it has.
    Move(Claim, u64, EndReason),
    /// To have it for longer.
    Renew(Fence),
    /// To give it back.
    Release(Fence, EndReason),
}

/// Its lease has ended.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct Vacated(pub EndReason, pub Millis);

impl Connection {
    /// Looks again when the lease may be over: only the news of it hangs on this timer.
    pub(super) fn watch_lease(&mut self, ctx: &mut Context<Self>) {
        let now = self.links.clock.now();
        let Some(lease) = self.tenancies().with(|book| book.view(&self.shared.id, now)) else { return };
        if std::mem::replace(&mut self.lease_watched, true) {
            return;
        }
        let wait = lease.until.map_or(policy::lease::TTL_MS, |until| until.saturating_sub(now)).max(1);
        ctx.run_later(Duration::from_millis(wait), |owner, ctx| {
            owner.lease_watched = false;
            owner.watch_lease(ctx);
        });
    }

    fn settle_in(&mut self, tenant: &Tenant, now: Millis) -> Result<Row, Denied> {
        let comes = matches!(tenant, Tenant::Claim(_) | Tenant::Move(..));
        if comes && self.closed().is_some() {
            return Err(Denied::Gone);
        }
        self.tenancies().with(|book| match tenant {
            Tenant::Claim(claim) => book.claim(claim, now),
            Tenant::Move(claim, generation, why) => book.relocate(claim, *generation, *why, now),
            Tenant::Renew(fence) => book.renew(fence, now),
            Tenant::Release(fence, why) => book.release(fence, *why, now),
        })
    }
}

impl Handler<Tenant> for Connection {
    type Result = Result<Row, Denied>;

    fn handle(&mut self, tenant: Tenant, ctx: &mut Self::Context) -> Self::Result {
        let now = self.links.clock.now();
        let row = self.settle_in(&tenant, now)?;
        let begins = match tenant {
            Tenant::Claim(_) => row.acquired_at == now,
            Tenant::Move(..) => true,
            Tenant::Renew(_) | Tenant::Release(..) => false,
        };
        if begins {
            self.note(FREE, LEASED, ACQUIRED, now);
        }
        self.watch_lease(ctx);
        Ok(row)
    }
}

impl Handler<Vacated> for Connection {
    type Result = ();

    fn handle(&mut self, Vacated(why, at): Vacated, _: &mut Self::Context) {
        self.note(LEASED, FREE, why.as_str(), at);
    }
}
