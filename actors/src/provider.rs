//! One provider: the owner of its breaker and of its cooldown for combos.
//!
//! With a closed breaker nobody asks it anything; it hears of failures, and of
//! successes while there is a count to lower. A half-open one grants probes.
//! The cooldown is memory only: it outlives the actor, not the process.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, Message, SpawnHandle};
use arc_swap::ArcSwap;
use policy::breaker::{Breaker, BreakerSettings, BreakerSnapshot, BreakerView, Grant, Outcome};
use policy::change::{Change, Refusal};
use policy::ids::ProviderId;
use policy::time::Millis;
use policy::window::{Mark, WindowGate, WindowSettings};

use crate::ceiling::Ceiling;
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
    /// Its failures across requests (core 2); only the actor writes it.
    pub window: ArcSwap<WindowGate>,
    /// Its cap and window over all its connections (flow 1.9, 4.4).
    pub ceiling: Arc<Ceiling>,
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
            let (grant, outcome, mark) = (Some(self.grant), Outcome::Neutral, Mark::Nothing);
            self.provider.mailbox.post(Record { grant, outcome, mark });
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
    /// What it was admitted with; none: it speaks of the breaker as it is when this is heard.
    pub grant: Option<Grant>,
    /// What it means to the breaker.
    pub outcome: Outcome,
    /// What it means to the cooldown for combos.
    pub mark: Mark,
}

/// An operator's order (contract 4, decision 35).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Message)]
#[rtype(result = "()")]
pub enum Order {
    /// Closes the breaker and clears its counts; ends the cooldown for combos.
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
pub struct Configure(pub BreakerSettings, pub WindowSettings);

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
            let view = View::Breaker(view, self.shared.window.load().view());
            let snapshot = Snapshot::Breaker(self.breaker.snapshot());
            self.links.emit(&self.owner(), &change, view, snapshot);
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
        let view = View::Breaker(view, self.shared.window.load().view());
        let snapshot = Snapshot::Breaker(self.breaker.snapshot());
        self.links.router.mailbox.post(Publish { owner: self.owner(), view, snapshot });
    }
}

impl Handler<Admit> for Provider {
    type Result = Result<Probe, Refusal>;

    fn handle(&mut self, _: Admit, ctx: &mut Self::Context) -> Self::Result {
        let now = self.links.clock.now();
        let change = self.breaker.tick(now);
        let granted = self.breaker.admit(now);
        // A taken permit is news to the board, so that others are not sent to ask in vain.
        let probe = granted.as_ref().is_ok_and(|grant| grant.probe);
        let claimed = probe.then(|| self.noted("probe-claimed", now));
        self.pass_on(change.into_iter().chain(claimed), ctx);
        granted.map(|grant| Probe { grant, provider: self.shared.clone(), spoken: !grant.probe })
    }
}

impl Provider {
    /// News that leaves the breaker's state as it is.
    fn noted(&self, why: &str, now: Millis) -> Change {
        let label = self.breaker.view().label(now).to_owned();
        Change { from: label.clone(), to: label, why: why.into(), at: now }
    }

    /// What an attempt means to the cooldown for combos.
    fn mark(&self, mark: Mark, now: Millis) -> Option<Change> {
        let gate = self.shared.window.load_full();
        if !gate.minds(mark) {
            return None;
        }
        let breaker = self.breaker.state(now);
        self.change_window(|gate| gate.record(mark, breaker, now), now)
    }

    fn change_window(
        &self,
        with: impl FnOnce(&mut WindowGate) -> Option<&'static str>,
        now: Millis,
    ) -> Option<Change> {
        let mut gate = WindowGate::clone(&self.shared.window.load());
        let why = with(&mut gate);
        self.shared.window.store(Arc::new(gate));
        Some(self.noted(why?, now))
    }
}

impl Handler<Record> for Provider {
    type Result = ();

    fn handle(&mut self, record: Record, ctx: &mut Self::Context) {
        let now = self.links.clock.now();
        let ticked = self.breaker.tick(now);
        let grant = record.grant.unwrap_or_else(|| self.breaker.view().grant());
        let recorded = self.breaker.record(grant, record.outcome, now);
        let returned = (recorded.is_none() && grant.probe).then(|| self.noted("probe-returned", now));
        let marked = self.mark(record.mark, now);
        self.pass_on(ticked.into_iter().chain(recorded).chain(returned).chain(marked), ctx);
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
        let cleared = match order {
            Order::Reset => self.change_window(WindowGate::clear, now),
            _ => None,
        };
        self.pass_on(ticked.into_iter().chain(ordered).chain(cleared), ctx);
    }
}

impl Handler<Configure> for Provider {
    type Result = ();

    fn handle(&mut self, Configure(settings, window): Configure, ctx: &mut Self::Context) {
        let now = self.links.clock.now();
        let change = self.breaker.configure(settings, now);
        let switched = self.change_window(|gate| gate.configure(window), now);
        self.pass_on(change.into_iter().chain(switched), ctx);
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
