//! The only way to an owner: an address that outlives its owner, and a count of the
//! messages that wait.
//!
//! The bound of the actor runtime does not hold (`send` and a fresh clone's
//! `try_send` go past it), so every message carries a guard that is counted until it
//! is handled or dropped, and a full mailbox refuses at once. Orders that must not be
//! lost are posted past the bound: their number is bounded by permits. What is posted while
//! an owner is being replaced waits here for the next one.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use actix::dev::ToEnvelope;
use actix::{Actor, Addr, Context, Handler, MailboxError, Message};
use arc_swap::{ArcSwap, Guard};
use tokio::sync::Notify;

/// How long a call waits for an owner that is being replaced.
pub const RESPAWN_WAIT: Duration = Duration::from_secs(1);

/// Messages that wait in one mailbox, for refusals, metrics and `/api/actors`.
#[derive(Debug)]
pub struct Gauge {
    waiting: AtomicUsize,
    capacity: AtomicUsize,
    refused: AtomicU64,
}

impl Gauge {
    /// A gauge for at most `capacity` waiting messages.
    pub fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            waiting: AtomicUsize::new(0),
            capacity: AtomicUsize::new(capacity),
            refused: AtomicU64::new(0),
        })
    }

    /// Messages that wait now.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// The bound.
    pub fn capacity(&self) -> usize {
        self.capacity.load(Ordering::Relaxed)
    }

    /// Changes the bound at once.
    pub fn set_capacity(&self, capacity: usize) {
        self.capacity.store(capacity, Ordering::Relaxed);
    }

    /// Messages refused since the process started.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Counts one message in, whatever the bound.
    pub fn enter(self: &Arc<Self>) -> Counted {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Counted { gauge: self.clone() }
    }

    /// Counts one message in, or refuses.
    pub fn try_enter(self: &Arc<Self>) -> Option<Counted> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) < self.capacity() {
            return Some(Counted { gauge: self.clone() });
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.refused.fetch_add(1, Ordering::Relaxed);
        None
    }
}

/// One waiting message; gives its count back when it is handled or dropped.
#[derive(Debug)]
pub struct Counted {
    gauge: Arc<Gauge>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.gauge.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A counted message.
#[derive(Debug)]
pub struct Letter<M> {
    /// What is said.
    pub body: M,
    counted: Counted,
}

impl<M> Letter<M> {
    /// Counts a message in past the bound.
    pub fn past_bound(body: M, gauge: &Arc<Gauge>) -> Self {
        Self { body, counted: gauge.enter() }
    }

    /// The message; it no longer counts as waiting.
    pub fn open(self) -> M {
        drop(self.counted);
        self.body
    }
}

impl<M: Message> Message for Letter<M> {
    type Result = M::Result;
}

/// Why a question got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// The mailbox is full.
    Full,
    /// The owner is gone and was not replaced in time.
    Gone,
}

/// A letter that waits for the next owner.
type Held<A> = Box<dyn FnOnce(&Addr<A>) + Send>;

/// A mailbox that stays when its owner is replaced.
pub struct Mailbox<A: Actor> {
    addr: OnceLock<ArcSwap<Addr<A>>>,
    /// Number of the newest owner; 0 before the first.
    life: AtomicU64,
    /// Number of the newest owner that is known to have ended. An actor is dropped before its
    /// address is closed, so the address alone does not tell.
    ended: AtomicU64,
    held: Mutex<Vec<Held<A>>>,
    gauge: Arc<Gauge>,
    replaced: Notify,
    closed: AtomicBool,
}

impl<A: Actor<Context = Context<A>>> Mailbox<A> {
    /// A mailbox without an owner yet.
    pub fn new(capacity: usize) -> Self {
        Self {
            addr: OnceLock::new(),
            life: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            held: Mutex::default(),
            gauge: Gauge::new(capacity),
            replaced: Notify::new(),
            closed: AtomicBool::new(false),
        }
    }

    /// The count of waiting messages.
    pub fn gauge(&self) -> &Arc<Gauge> {
        &self.gauge
    }

    /// Puts a new owner behind the mailbox and wakes who waits for one.
    pub fn install(&self, addr: Addr<A>) {
        let addr = Arc::new(addr);
        let mut held = self.held();
        for letter in held.drain(..) {
            letter(&addr);
        }
        self.addr.get_or_init(|| ArcSwap::new(addr.clone())).store(addr);
        self.life.fetch_add(1, Ordering::SeqCst);
        drop(held);
        self.replaced.notify_waiters();
    }

    /// No owner will come any more: whoever waits gives up.
    pub fn close(&self) {
        let mut held = self.held();
        self.closed.store(true, Ordering::Relaxed);
        held.clear();
        drop(held);
        self.replaced.notify_waiters();
    }

    fn held(&self) -> MutexGuard<'_, Vec<Held<A>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of the newest owner; the next one will be one more.
    pub fn life(&self) -> u64 {
        self.life.load(Ordering::SeqCst)
    }

    /// That owner has ended, whatever its address still says.
    pub fn end_life(&self, life: u64) {
        self.ended.fetch_max(life, Ordering::SeqCst);
    }

    /// Whether an owner is behind the mailbox.
    pub fn is_live(&self) -> bool {
        self.live().is_some()
    }

    fn live(&self) -> Option<Guard<Arc<Addr<A>>>> {
        let ended = self.ended.load(Ordering::SeqCst) >= self.life();
        self.addr.get().map(ArcSwap::load).filter(|addr| !ended && addr.connected())
    }

    /// Asks within the bound and awaits the answer; a question that an owner's death left
    /// unanswered is put once more to the next one.
    pub async fn ask<M>(&self, body: M) -> Result<M::Result, Unanswered>
    where
        M: Message + Clone + Send + 'static,
        M::Result: Send,
        A: Handler<Letter<M>>,
        Context<A>: ToEnvelope<A, Letter<M>>,
    {
        let life = self.life();
        match self.send(body.clone()).await {
            Err(Unanswered::Gone) => {}
            answer => return answer,
        }
        let replaced = self.replaced.notified();
        tokio::pin!(replaced);
        // Listening starts before the look, so that an owner that comes between them is not missed.
        replaced.as_mut().enable();
        if self.life() == life && !self.closed.load(Ordering::Relaxed) {
            // A timeout shows in the second answer.
            let _ = tokio::time::timeout(RESPAWN_WAIT, replaced).await;
        }
        self.send(body).await
    }

    async fn send<M>(&self, body: M) -> Result<M::Result, Unanswered>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<Letter<M>>,
        Context<A>: ToEnvelope<A, Letter<M>>,
    {
        let Some(addr) = self.addr.get() else { return Err(Unanswered::Gone) };
        let counted = self.gauge.try_enter().ok_or(Unanswered::Full)?;
        let answer = addr.load().send(Letter { body, counted });
        match answer.await {
            Ok(answer) => Ok(answer),
            Err(MailboxError::Closed | MailboxError::Timeout) => Err(Unanswered::Gone),
        }
    }

    /// Posts past the bound: for orders whose number is bounded elsewhere and that must not be lost.
    /// Without an owner the letter waits for the next one, unless none will come.
    pub fn post<M>(&self, body: M)
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<Letter<M>>,
        Context<A>: ToEnvelope<A, Letter<M>>,
    {
        let letter = Letter::past_bound(body, &self.gauge);
        if let Some(addr) = self.live() {
            return addr.do_send(letter);
        }
        let mut held = self.held();
        // An owner may have come between the look and the lock.
        match self.live() {
            Some(addr) => addr.do_send(letter),
            None if self.closed.load(Ordering::Relaxed) => {}
            None => held.push(Box::new(move |addr| addr.do_send(letter))),
        }
    }
}

/// Lets an actor that handles these messages handle them counted.
macro_rules! opens_letters {
    ($actor:ty: $($(#[$gate:meta])* $message:ty),+ $(,)?) => {$(
        $(#[$gate])*
        impl actix::Handler<$crate::mailbox::Letter<$message>> for $actor {
            type Result = <$actor as actix::Handler<$message>>::Result;

            fn handle(&mut self, letter: $crate::mailbox::Letter<$message>, ctx: &mut Self::Context) -> Self::Result {
                actix::Handler::<$message>::handle(self, letter.open(), ctx)
            }
        }
    )+};
}
pub(crate) use opens_letters;
