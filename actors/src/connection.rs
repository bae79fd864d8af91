//! One connection: the owner of its rest, its gate and line, and its drain flag.
//!
//! Every request that goes to it asks here first and reports here afterwards; what the
//! outcome means to the provider or to one model is passed on from here.

mod admission;
pub(crate) mod first;
mod leave;
mod limits;
mod orders;
mod outcome;
mod siblings;
mod slot;
mod tenant;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix::{Actor, AsyncContext, Context, Handler, Message, SpawnHandle};
use arc_swap::ArcSwap;
use policy::board::ConnectionView;
use policy::breaker::Grant;
use policy::change::Change;
use policy::cooldown::{Cooldown, Trial};
use policy::egress::Egress;
use policy::gate::{Gate, Ticket};
use policy::ids::{ConnectionId, ModelId, ProviderId};
use policy::limiter::RateHeaders;
use policy::lockout::LockCase;
use policy::recording::{RecordCase, Recording, recording};
use policy::time::Millis;
use policy::verdict::{Failure, Verdict};
use policy::window::RetryEntry;

use crate::blueprint::ConnectionNumbers;
use crate::ceiling::Ceiling;
use crate::directory::Links;
use crate::lease::Tenancies;
use crate::mailbox::{Mailbox, opens_letters};
use crate::messages::{Announce, Barrier, ConnectionSnapshot, Owner, Publish, Snapshot, View};
use crate::provider::{Leave, ProviderShared};
use crate::router::family::Lock;
use crate::watch::DeathWatch;

pub use admission::{Acquire, Look};
use admission::{Forget, Waits};
use first::is_other_credential;
use limits::Lessons;
pub(crate) use orders::DRAINING;
pub use orders::{CheckFailed, Order};
pub use siblings::CoolWith;
pub use slot::{Admitted, Slot, Waiting};
pub use tenant::{Tenant, Vacated};

/// Lockouts of one connection; beyond that the connection rests instead (contract 8, "Models").
const MOST_LOCKOUTS: u32 = 1000;

/// What stays of a connection when its actor is replaced.
pub struct ConnectionShared {
    /// Its id.
    pub id: ConnectionId,
    /// Its provider.
    pub provider: ProviderId,
    /// Its mailbox.
    pub mailbox: Mailbox<Connection>,
    /// Its gate: caps, limiters and who waits. The actor lets in; whoever drops a slot gives it back.
    pub gate: Mutex<Gate>,
    /// Requests that hold a slot, for readers that may not wait for the gate.
    pub in_flight: AtomicU32,
    /// It was removed: it ends when the last permit is back (contract 1).
    pub leaving: AtomicBool,
    /// How long combos leave it out (core 2.5): memory only, and only the actor writes it.
    pub retry: ArcSwap<RetryEntry>,
    /// Models barred on it now.
    pub lockouts: AtomicU32,
    /// Replacements since the process started.
    pub restarts: AtomicU64,
}

impl ConnectionShared {
    /// The gate.
    pub fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests that hold a slot.
    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::SeqCst)
    }
}

/// Reports how an attempt ended. Posted, so that a client that leaves cannot take it along.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Settle {
    /// What the connection admitted it with.
    pub trial: Trial,
    /// What it may say about the provider; none: of its breaker as it is by then.
    pub grant: Option<Grant>,
    /// The model asked for.
    pub model: ModelId,
    /// What was concluded.
    pub verdict: Verdict,
    /// It may count on the breaker (decision 7).
    pub counts: bool,
    /// No combo: a success removes the model's locks instead of halving them (core 5.6).
    pub direct: bool,
    /// When the request was sent, epoch ms.
    pub sent_at: Millis,
    /// Where it came from: the outbound proxy, else the local address (decision 31a).
    pub egress: Option<Arc<str>>,
    /// What the answer says of the provider's limits (flow 4.5).
    pub limits: Option<RateHeaders>,
}

/// A lone trial that ended without a verdict.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct Abandon {
    pub(crate) trial: Trial,
}

/// Replaces the numbers, keeps the state.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Configure(pub ConnectionNumbers);

/// Asks for the whole state.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Arc<ConnectionSnapshot>")]
pub struct Describe;

/// The actor.
pub struct Connection {
    shared: Arc<ConnectionShared>,
    provider: Arc<ProviderShared>,
    /// Of the process, of the provider.
    ceilings: [Arc<Ceiling>; 2],
    cooldown: Cooldown,
    /// How those who wait are told that it is their turn.
    waiting: HashMap<Ticket, Waits>,
    /// When somebody's turn or the end of somebody's patience comes.
    timer: Option<(Millis, SpawnHandle)>,
    /// Until when a lone trial goes first at most.
    follows_until: Millis,
    lessons: Lessons,
    draining: bool,
    egress: Option<Egress>,
    numbers: ConnectionNumbers,
    /// A timer looks when its lease ends.
    lease_watched: bool,
    /// Since when it has its credential, if that was changed while this owner lived.
    credential_at: Millis,
    links: Links,
    watch: DeathWatch,
}

opens_letters! { Connection:
    Announce,
    Barrier,
    Acquire,
    Look,
    Forget,
    Settle,
    Abandon,
    Order,
    CheckFailed,
    CoolWith,
    Configure,
    Describe,
    Leave,
    Tenant,
    Vacated,
    #[cfg(feature = "test-hooks")]
    crate::messages::Poison,
}

impl Connection {
    /// An owner that starts from `snapshot`, or clean.
    pub fn new(
        (shared, provider): (Arc<ConnectionShared>, Arc<ProviderShared>),
        numbers: ConnectionNumbers,
        snapshot: Option<ConnectionSnapshot>,
        links: Links,
        watch: DeathWatch,
    ) -> Self {
        let draining = snapshot.as_ref().is_some_and(|stored| stored.draining);
        let cooldown = first::cooldown(&numbers, snapshot.as_ref(), links.clock.now());
        let (egress, learnt) = snapshot.map(|stored| (stored.egress, stored.learnt)).unwrap_or_default();
        let lessons = Lessons::restored(learnt);
        shared.gate().restore_learnt(&lessons.learnt, links.clock.now());
        // Who waited at an owner that died asks again by himself.
        shared.gate().reset();
        Self {
            ceilings: [links.router.ceiling.clone(), provider.ceiling.clone()],
            shared,
            provider,
            cooldown,
            waiting: HashMap::new(),
            timer: None,
            follows_until: 0,
            lessons,
            draining,
            egress,
            numbers,
            lease_watched: false,
            credential_at: 0,
            links,
            watch,
        }
    }

    fn owner(&self) -> Owner {
        Owner::Connection(self.shared.id.clone())
    }

    fn snapshot(&self) -> ConnectionSnapshot {
        ConnectionSnapshot {
            cooldown: self.cooldown.snapshot(),
            draining: self.draining,
            egress: self.egress.clone(),
            fingerprint: self.numbers.fingerprint.clone(),
            learnt: self.lessons.learnt.clone(),
        }
    }

    fn view(&self) -> View {
        View::Connection(Arc::new(ConnectionView {
            cooldown: self.cooldown.view(),
            retry: self.shared.retry.load().view(),
            draining: self.draining,
            egress: self.egress.clone(),
            usable: self.numbers.usable,
            lease: self.links.router.leases.view(&self.shared.id, self.links.clock.now()),
        }))
    }

    fn tenancies(&self) -> Tenancies {
        Tenancies::new(&self.links.router, &self.links.store)
    }

    fn pass_on(&self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            self.links.emit(&self.owner(), &change, self.view(), Snapshot::Connection(self.snapshot()));
        }
    }

    /// A change of the drain flag, or of a trial: the numbers of the cooldown did not move.
    fn note(&self, from: &str, to: &str, why: &str, at: Millis) {
        self.pass_on([Change { from: from.into(), to: to.into(), why: why.into(), at }]);
    }

    /// Who writes the failure (core 3.7): what the connection itself takes of it.
    fn spread(&self, settle: &Settle, failure: &Failure, now: Millis) -> (Failure, bool) {
        let breaker = self.provider.view.load();
        let case = RecordCase {
            target: LockCase {
                provider: &self.shared.provider,
                model: &settle.model,
                use_hints: self.numbers.cooldown.use_hints,
            },
            cooldown: &self.numbers.cooldown,
            lockout: &self.numbers.lockout,
            shares_egress: self.numbers.shares_egress,
            breaker_blocks: breaker.blocks(now),
            locks_full: self.shared.lockouts.load(Ordering::Relaxed) >= MOST_LOCKOUTS,
            limiter: self.numbers.gate.limiter,
        };
        let Recording { connection, lock, siblings, pause_ms } = recording(failure, &case);
        if let Some(wait_ms) = pause_ms {
            self.shared.gate().pause(&settle.model, wait_ms, now);
        }
        if let Some((key, order)) = lock {
            let (connection, sent_at) = (self.shared.id.clone(), settle.sent_at);
            self.links.router.mailbox.post(Lock { connection, key, order, sent_at });
        }
        (connection, siblings)
    }

    fn record(&mut self, settle: &Settle, now: Millis) -> Option<Change> {
        let Verdict::Failure(failure) = &settle.verdict else {
            return self.cooldown.record(settle.trial, &settle.verdict, settle.sent_at, now);
        };
        let (own, siblings) = self.spread(settle, failure, now);
        let reason = own.reason;
        let change = self.cooldown.record(settle.trial, &Verdict::Failure(own), settle.sent_at, now);
        if siblings {
            self.cool_siblings(reason, now);
        }
        change
    }
}

impl Actor for Connection {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.notify(Announce);
        self.watch_lease(ctx);
    }
}

impl Handler<Announce> for Connection {
    type Result = ();

    fn handle(&mut self, _: Announce, _: &mut Self::Context) {
        let snapshot = Snapshot::Connection(self.snapshot());
        self.links.router.mailbox.post(Publish { owner: self.owner(), view: self.view(), snapshot });
    }
}

impl Handler<Settle> for Connection {
    type Result = ();

    fn handle(&mut self, settle: Settle, ctx: &mut Self::Context) {
        let now = self.links.clock.now();
        let moved = self.saw_egress(settle.egress.as_deref(), now);
        self.learn(&settle, now);
        if self.is_of_another_credential(&settle) {
            let change = self.cooldown.record(settle.trial, &Verdict::Neutral, settle.sent_at, now);
            self.pass_on(moved.into_iter().chain(change));
            return self.tell_provider(&settle);
        }
        let change = self.record(&settle, now);
        self.pass_on(moved.into_iter().chain(change));
        self.mark(&settle.verdict, now);
        self.tell_provider(&settle);
        self.tell_lockouts(&settle);
        if settle.verdict == Verdict::Success {
            self.shared.gate().succeeded(now);
        }
        self.rest_line(now);
        self.look_at_line(ctx);
    }
}

impl Handler<Abandon> for Connection {
    type Result = ();

    fn handle(&mut self, abandon: Abandon, ctx: &mut Self::Context) {
        let now = self.links.clock.now();
        let change = self.cooldown.record(abandon.trial, &Verdict::Neutral, now, now);
        self.pass_on(change);
        self.look_at_line(ctx);
    }
}

impl Handler<Configure> for Connection {
    type Result = ();

    fn handle(&mut self, Configure(numbers): Configure, ctx: &mut Self::Context) {
        self.shared.leaving.store(false, Ordering::SeqCst);
        let now = self.links.clock.now();
        self.shared.gate().configure(numbers.gate.clone(), now);
        if is_other_credential(&self.numbers.fingerprint, &numbers.fingerprint) {
            self.credential_at = now;
            self.shared.gate().unpause();
            let change = self.cooldown.credential_changed(now);
            if change.is_some() {
                self.change_retry(RetryEntry::clear, now);
            }
            self.pass_on(change);
        }
        self.cooldown.configure(numbers.cooldown);
        self.change_retry(|entry| entry.configure(numbers.retry), now);
        self.numbers = numbers;
        self.rest_line(now);
        self.look_at_line(ctx);
        ctx.notify(Announce);
    }
}

impl Handler<Describe> for Connection {
    type Result = Arc<ConnectionSnapshot>;

    fn handle(&mut self, _: Describe, _: &mut Self::Context) -> Self::Result {
        Arc::new(self.snapshot())
    }
}

impl Handler<Barrier> for Connection {
    type Result = ();

    fn handle(&mut self, _: Barrier, _: &mut Self::Context) {}
}
