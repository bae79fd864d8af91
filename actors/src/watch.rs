//! The death watch: a panic in a handler drops the actor, and this field of it tells.
//!
//! actix's own supervisor does not survive a panic (it restarts only an actor that
//! stopped itself), so the router spawns owners again from their last snapshot.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::fut::{ActorFutureExt, ready};
use actix::{Actor, ActorContext, AsyncContext, Context};

/// Switches all death watches off: at shutdown every owner is dropped on purpose.
#[derive(Clone, Debug)]
pub struct Living(Arc<AtomicBool>);

impl Living {
    /// The process runs.
    pub fn new() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    /// From now on an owner's end is nobody's news.
    pub fn end(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether the process runs.
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Default for Living {
    fn default() -> Self {
        Self::new()
    }
}

/// How an owner ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A handler panicked.
    Panicked,
    /// It was told to make place for a new one that keeps its state.
    Restarted,
    /// Its entity was removed, or it had nothing left to remember.
    Retired,
}

/// Tells how its actor ended, when it is dropped.
pub struct DeathWatch {
    living: Living,
    end: End,
    tell: Option<Box<dyn FnOnce(End) + Send>>,
}

impl DeathWatch {
    /// A watch that calls `tell` once.
    pub fn new(living: Living, tell: impl FnOnce(End) + Send + 'static) -> Self {
        Self { living, end: End::Panicked, tell: Some(Box::new(tell)) }
    }

    /// Says beforehand how the actor is about to end.
    pub fn expect(&mut self, end: End) {
        self.end = end;
    }
}

impl Drop for DeathWatch {
    fn drop(&mut self) {
        if let (true, Some(tell)) = (self.living.is_on(), self.tell.take()) {
            tell(self.end);
        }
    }
}

/// Ends an actor behind everything that waits in its mailbox, so that an order to leave loses no
/// verdict. `last` is its last deed.
pub(crate) fn stop_when_heard<A>(ctx: &mut Context<A>, last: impl FnOnce(&mut A) + 'static)
where
    A: Actor<Context = Context<A>>,
{
    // What is spawned is polled once the mailbox is empty.
    ctx.spawn(ready(()).map(|(), owner: &mut A, ctx: &mut Context<A>| {
        last(owner);
        ctx.stop();
    }));
}
