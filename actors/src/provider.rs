//! One provider: the owner of its breaker.
//!
//! With a closed breaker nobody asks it anything; it hears of failures, and of
//! successes while there is a count to lower. A half-open one grants probes.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, Message, SpawnHandle};
use arc_swap::ArcSwap;
use policy::breaker::{Breaker, BreakerSettings, BreakerSnapshot, BreakerView, Grant, Outcome};
use policy::change::{Change, Refusal};
use policy::ids::ProviderId;
use policy::time::Millis;

use crate::directory::Links;
use crate::mailbox::{Mailbox, opens_letters};
use crate::messages::{Announce, Barrier, Owner, Publish, Snapshot, View};
use crate::watch::{DeathWatch, End, stop_when_heard};

/// What stays of a provider when its actor is replaced.
pub struct ProviderShared {
    /// Its id.
    pub id: ProviderId,
    /// Its mailbox.
    pub mailbox: Mailbox<Provider>,
    /// The breaker as last published; read just before dialling.
    pub view: ArcSwap<BreakerView>,
    /// Replacements since the process started.
    pub restarts: AtomicU64,
}

/// The right to be the probe of a half-open breaker; dropped unspoken, it returns at once.
pub struct Probe {
    grant: Grant,
    provider: Arc<ProviderShared>,
    spoken: bool,
}

impl Probe {
    /// What the outcome is reported with; from now on the holder reports it.
    pub fn speak(mut self) -> Grant {
        self.spoken = true;
        self.grant
    }

    /// What the outcome will be reported with.
    pub fn grant(&self) -> Grant {
        self.grant
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        if !self.spoken {
            self.provider.mailbox.post(Record { grant: self.grant, outcome: Outcome::Neutral });
        }
    }
}

/// Asks to be let through a breaker that is not closed.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Probe, Refusal>")]
pub struct Admit;

/// Reports how an attempt ended for the provider.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Record {
    /// What it was admitted with.
    pub grant: Grant,
    /// What it means.
    pub outcome: Outcome,
}

/// An operator's order (contract 4, decision 35).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Message)]
#[rtype(result = "()")]
pub enum Order {
    /// Closes the breaker and clears its counts.
    Reset,
    /// Opens it for so many ms; `None`: its hold.
    Trip(Option<Millis>),
    /// Holds it open.
    Isolate,
    /// Counts and reports, never refuses.
    Observe,
    /// A connection test passed (core 1.3.5).
    TestPassed,
}

/// Replaces the numbers, keeps the state (core 1.1.6).
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Configure(pub BreakerSettings);

/// Ends the actor.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct Leave(pub End);

/// Asks for the whole state.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Arc<BreakerSnapshot>")]
pub struct Describe;

/// The actor.
pub struct Provider {
    shared: Arc<ProviderShared>,
    breaker: Breaker,
    links: Links,
    watch: DeathWatch,
    timer: Option<SpawnHandle>,
}

opens_letters! { Provider:
    Announce,
    Barrier,
    Admit,
    Record,
    Order,
    Configure,
    Describe,
    Leave,
    #[cfg(feature = "test-hooks")]
    crate::messages::Poison,
}

impl Provider {
    /// An owner of `breaker`.
    pub fn new(shared: Arc<ProviderShared>, breaker: Breaker, links: Links, watch: DeathWatch) -> Self {
        Self { shared, breaker, links, watch, timer: None }
    }

    fn owner(&self) -> Owner {
        Owner::Provider(self.shared.id.clone())
    }

    /// Passes changes on and sets the timer that announces the next lazy one.
    fn pass_on(&mut self, changes: impl IntoIterator<Item = Change>, ctx: &mut Context<Self>) {
        let mut any = false;
        for change in changes {
            any = true;
            let view = Arc::new(self.breaker.view());
            self.shared.view.store(view.clone());
            let snapshot = Snapshot::Breaker(self.breaker.snapshot());
            self.links.emit(&self.owner(), &change, View::Breaker(view), snapshot);
        }
        if any {
            self.set_timer(ctx);
        }
    }

    fn set_timer(&mut self, ctx: &mut Context<Self>) {
        if let Some(timer) = self.timer.take() {
            ctx.cancel_future(timer);
        }
        if let Some(at) = self.breaker.next_tick_at() {
            let wait = at.saturating_sub(self.links.clock.now()).max(1);
            self.timer = Some(ctx.run_later(Duration::from_millis(wait), |owner, ctx| {
                owner.timer = None;
                let change = owner.breaker.tick(owner.links.clock.now());
                owner.pass_on(change, ctx);
                owner.set_timer(ctx);
            }));
        }
    }
}

impl Actor for Provider {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.notify(Announce);
        self.set_timer(ctx);
    }
}

impl Handler<Announce> for Provider {
    type Result = ();

    fn handle(&mut self, _: Announce, _: &mut Self::Context) {
        let view = Arc::new(self.breaker.view());
        self.shared.view.store(view.clone());
        let snapshot = Snapshot::Breaker(self.breaker.snapshot());
        self.links.router.mailbox.post(Publish { owner: self.owner(), view: View::Breaker(view), snapshot });
    }
}

impl Handler<Admit> for Provider {
    type Result = Result<Probe, Refusal>;

    fn handle(&mut self, _: Admit, ctx: &mut Self::Context) -> Self::Result {
        let now = self.links.clock.now();
        let change = self.breaker.tick(now);
        let granted = self.breaker.admit(now);
        let claimed = granted.as_ref().is_ok_and(|grant| grant.probe).then(|| self.claimed(now));
        self.pass_on(change.into_iter().chain(claimed), ctx);
        granted.map(|grant| Probe { grant, provider: self.shared.clone(), spoken: !grant.probe })
    }
}

impl Provider {
    /// A taken permit is news to the board, so that others are not sent to ask in vain.
    fn claimed(&self, now: Millis) -> Change {
        let label = self.breaker.view().label(now).to_owned();
        Change { from: label.clone(), to: label, why: "probe-claimed".into(), at: now }
    }
}

impl Handler<Record> for Provider {
    type Result = ();

    fn handle(&mut self, record: Record, ctx: &mut Self::Context) {
        let now = self.links.clock.now();
        let ticked = self.breaker.tick(now);
        let recorded = self.breaker.record(record.grant, record.outcome, now);
        let returned =
            (recorded.is_none() && record.grant.probe).then(|| self.claimed(now)).map(|mut change| {
                change.why = "probe-returned".into();
                change
            });
        self.pass_on(ticked.into_iter().chain(recorded).chain(returned), ctx);
    }
}

impl Handler<Order> for Provider {
    type Result = ();

    fn handle(&mut self, order: Order, ctx: &mut Self::Context) {
        let now = self.links.clock.now();
        let ticked = self.breaker.tick(now);
        let ordered = match order {
            Order::Reset => self.breaker.reset(now),
            Order::Trip(for_ms) => Some(self.breaker.trip(for_ms, now)),
            Order::Isolate => Some(self.breaker.isolate(now)),
            Order::Observe => Some(self.breaker.observe(now)),
            Order::TestPassed => self.breaker.connection_test_passed(now),
        };
        self.pass_on(ticked.into_iter().chain(ordered), ctx);
    }
}

impl Handler<Configure> for Provider {
    type Result = ();

    fn handle(&mut self, Configure(settings): Configure, ctx: &mut Self::Context) {
        let change = self.breaker.configure(settings, self.links.clock.now());
        self.pass_on(change, ctx);
    }
}

impl Handler<Describe> for Provider {
    type Result = Arc<BreakerSnapshot>;

    fn handle(&mut self, _: Describe, _: &mut Self::Context) -> Self::Result {
        Arc::new(self.breaker.snapshot())
    }
}

impl Handler<Barrier> for Provider {
    type Result = ();

    fn handle(&mut self, _: Barrier, _: &mut Self::Context) {}
}

impl Handler<Leave> for Provider {
    type Result = ();

    fn handle(&mut self, Leave(end): Leave, ctx: &mut Self::Context) {
        stop_when_heard(ctx, move |owner: &mut Self| owner.watch.expect(end));
    }
}

#[cfg(feature = "test-hooks")]
impl Handler<crate::messages::Poison> for Provider {
    type Result = ();

    fn handle(&mut self, _: crate::messages::Poison, _: &mut Self::Context) {
        panic!("poisoned provider {}", self.shared.id);
    }
}
