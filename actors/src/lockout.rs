//! One barred model of one connection: the owner of its failure count and deadline.
//! It ends itself when there is nothing left to remember (design: "Actors").

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Message, SpawnHandle};
use policy::change::Change;
use policy::ids::ConnectionId;
use policy::lockout::{LockKey, LockOrder, Lockout as Rule, LockoutSettings, LockoutSnapshot};
use policy::time::Millis;

use crate::directory::Links;
use crate::mailbox::{Mailbox, opens_letters};
use crate::messages::{Announce, Barrier, Owner, Publish, Snapshot, View};
use crate::provider::Leave;
use crate::watch::{DeathWatch, End, stop_when_heard};

/// What stays of a lockout when its actor is replaced.
pub struct LockoutShared {
    /// Its connection.
    pub connection: ConnectionId,
    /// What is barred.
    pub key: LockKey,
    /// Its mailbox.
    pub mailbox: Mailbox<Lockout>,
    /// Replacements since the process started.
    pub restarts: AtomicU64,
}

/// One more failure of the model.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Fail {
    /// What it claims.
    pub order: LockOrder,
    /// When the request was sent, epoch ms.
    pub sent_at: Millis,
}

/// A success of the model: decays, or removes when there was no combo (core 5.6).
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct Succeed {
    /// The request named the model itself.
    pub direct: bool,
}

/// Removes the lock.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct Remove;

/// Replaces the numbers, keeps the running lock.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Configure(pub LockoutSettings);

/// Asks for the whole state.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Arc<LockoutSnapshot>")]
pub struct Describe;

/// The actor.
pub struct Lockout {
    shared: Arc<LockoutShared>,
    rule: Rule,
    links: Links,
    watch: DeathWatch,
    timer: Option<SpawnHandle>,
}

opens_letters! { Lockout:
    Announce,
    Barrier,
    Fail,
    Succeed,
    Remove,
    Configure,
    Describe,
    Leave,
    #[cfg(feature = "test-hooks")]
    crate::messages::Poison,
}

impl Lockout {
    /// An owner of `rule`.
    pub fn new(shared: Arc<LockoutShared>, rule: Rule, links: Links, watch: DeathWatch) -> Self {
        Self { shared, rule, links, watch, timer: None }
    }

    fn owner(&self) -> Owner {
        Owner::Lockout(self.shared.connection.clone(), self.shared.key.clone())
    }

    fn pass_on(&mut self, change: Option<Change>, ctx: &mut Context<Self>) {
        if let Some(change) = change {
            let view = View::Lockout(Arc::new(self.rule.view()));
            self.links.emit(&self.owner(), &change, view, Snapshot::Lockout(self.rule.snapshot()));
        }
        self.end_or_wait(ctx);
    }

    /// Ends the actor when it has nothing left to remember, else sets the timer for that moment.
    fn end_or_wait(&mut self, ctx: &mut Context<Self>) {
        if let Some(timer) = self.timer.take() {
            ctx.cancel_future(timer);
        }
        let now = self.links.clock.now();
        if self.rule.is_dead(now) {
            self.watch.expect(End::Retired);
            self.links.store.save(self.owner(), None);
            ctx.stop();
            return;
        }
        let wait = self.rule.dies_at().saturating_sub(now) + 1;
        self.timer = Some(ctx.run_later(Duration::from_millis(wait), |owner, ctx| {
            owner.timer = None;
            owner.end_or_wait(ctx);
        }));
    }
}

impl Actor for Lockout {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        if self.rule.view().failures > 0 {
            ctx.notify(Announce);
            self.end_or_wait(ctx);
        }
    }
}

impl Handler<Announce> for Lockout {
    type Result = ();

    fn handle(&mut self, _: Announce, _: &mut Self::Context) {
        let view = View::Lockout(Arc::new(self.rule.view()));
        let snapshot = Snapshot::Lockout(self.rule.snapshot());
        self.links.router.mailbox.post(Publish { owner: self.owner(), view, snapshot });
    }
}

impl Handler<Fail> for Lockout {
    type Result = ();

    fn handle(&mut self, fail: Fail, ctx: &mut Self::Context) {
        let change = self.rule.record(&fail.order, fail.sent_at, self.links.clock.now());
        self.pass_on(change, ctx);
    }
}

impl Handler<Succeed> for Lockout {
    type Result = ();

    fn handle(&mut self, succeed: Succeed, ctx: &mut Self::Context) {
        let change = self.rule.success(succeed.direct, self.links.clock.now());
        self.pass_on(change, ctx);
    }
}

impl Handler<Remove> for Lockout {
    type Result = ();

    fn handle(&mut self, _: Remove, ctx: &mut Self::Context) {
        let change = self.rule.remove(self.links.clock.now());
        self.pass_on(Some(change), ctx);
    }
}

impl Handler<Configure> for Lockout {
    type Result = ();

    fn handle(&mut self, Configure(settings): Configure, ctx: &mut Self::Context) {
        self.rule.configure(settings);
        // How long its count is remembered is one of the numbers.
        self.end_or_wait(ctx);
    }
}

impl Handler<Describe> for Lockout {
    type Result = Arc<LockoutSnapshot>;

    fn handle(&mut self, _: Describe, _: &mut Self::Context) -> Self::Result {
        Arc::new(self.rule.snapshot())
    }
}

impl Handler<Barrier> for Lockout {
    type Result = ();

    fn handle(&mut self, _: Barrier, _: &mut Self::Context) {}
}

impl Handler<Leave> for Lockout {
    type Result = ();

    fn handle(&mut self, Leave(end): Leave, ctx: &mut Self::Context) {
        stop_when_heard(ctx, move |owner: &mut Self| owner.watch.expect(end));
    }
}

#[cfg(feature = "test-hooks")]
impl Handler<crate::messages::Poison> for Lockout {
    type Result = ();

    fn handle(&mut self, _: crate::messages::Poison, _: &mut Self::Context) {
        panic!("poisoned lockout {}", self.owner());
    }
}
