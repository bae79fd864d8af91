//! The end of a connection: removed or replaced, it goes when its permits are back.

use std::sync::atomic::Ordering;

use actix::{Context, Handler};
use policy::change::{Exclusion, Refusal};

use super::Connection;
use crate::provider::Leave;
use crate::watch::{End, stop_when_heard};

impl Handler<Leave> for Connection {
    type Result = ();

    fn handle(&mut self, Leave(end): Leave, ctx: &mut Context<Self>) {
        if end == End::Retired {
            // Written before the count is read, as a slot gives its count back before it reads this.
            self.shared.leaving.store(true, Ordering::SeqCst);
            self.clear_line(Refusal { why: Exclusion::Unavailable, retry_at: None });
            if self.shared.in_flight() > 0 {
                return;
            }
        }
        stop_when_heard(ctx, move |owner: &mut Self| owner.watch.expect(end));
    }
}

#[cfg(feature = "test-hooks")]
impl Handler<crate::messages::Poison> for Connection {
    type Result = ();

    fn handle(&mut self, _: crate::messages::Poison, _: &mut Self::Context) {
        panic!("poisoned connection {}", self.shared.id);
    }
}
