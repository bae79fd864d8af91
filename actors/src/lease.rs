//! The book of leases beside the actors, and what a request holds of it.
//!
//! The book outlives every owner and the router, as slots do. A connection's rows are changed by
//! its owner alone; requests only enter and leave. Whatever ends a lease, its row goes to the
//! store from here, and the router hears of it, so that no plan is made from an old view.

pub mod desk;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use policy::ids::ConnectionId;
use policy::lease::{Denied, EndReason, Fence, LeaseBook, LeaseView, News, OwnerHash, Row};
use policy::time::Millis;

use crate::clock::Clock;
use crate::directory::RouterShared;
use crate::messages::{Owner, Snapshot, StoreLink};
use crate::router::offer::Tenancy;

/// A connection that nobody leases, where a `Change` tells of leases.
pub(crate) const FREE: &str = "free";
/// One that somebody leases.
pub(crate) const LEASED: &str = "leased";
/// Why it is leased.
pub(crate) const ACQUIRED: &str = "ACQUIRED";

/// The book, and how many connections are held.
#[derive(Debug, Default)]
pub struct Leases {
    book: Mutex<LeaseBook>,
    held: AtomicUsize,
}

impl Leases {
    fn book(&self) -> MutexGuard<'_, LeaseBook> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody holds anything: read before a request that has no lease looks further.
    pub fn is_empty(&self) -> bool {
        self.held.load(Ordering::SeqCst) == 0
    }

    /// What others may see of a connection's lease.
    pub fn view(&self, connection: &ConnectionId, now: Millis) -> Option<LeaseView> {
        if self.is_empty() { None } else { self.book().view(connection, now) }
    }

    /// An owner's active lease.
    pub fn active(&self, owner: &OwnerHash, now: Millis) -> Option<Row> {
        self.book().active(owner, now).cloned()
    }

    /// What is written of an owner.
    pub fn row(&self, owner: &OwnerHash) -> Option<Row> {
        self.book().row(owner).cloned()
    }
}

/// The way to the book, and to those who hear of its changes.
#[derive(Clone)]
pub struct Tenancies {
    router: Arc<RouterShared>,
    store: StoreLink,
}

impl Tenancies {
    /// From the links of an owner.
    pub fn new(router: &Arc<RouterShared>, store: &StoreLink) -> Self {
        Self { router: router.clone(), store: store.clone() }
    }

    /// Does something with the book; what changes goes to the store, and the router hears of it.
    pub fn with<T>(&self, work: impl FnOnce(&mut LeaseBook) -> T) -> T {
        let leases = &self.router.leases;
        let mut book = leases.book();
        let result = work(&mut book);
        let News { changed, ended, begun } = book.take_news();
        leases.held.store(book.held(), Ordering::SeqCst);
        // Under the lock: what is posted later is newer.
        for row in ended {
            self.router.events.freed(&row);
            let over = row.end_reason.zip(row.ended_at);
            self.router.mailbox.post(Tenancy { connection: row.connection, over });
        }
        for (connection, at, until) in begun {
            self.router.events.leased(&connection, at, until);
        }
        for row in changed.iter().filter_map(|owner| book.row(owner)) {
            let snapshot = Snapshot::Lease(Box::new(row.clone()));
            self.store.save(Owner::Lease(row.owner.clone()), Some(snapshot));
            self.router.mailbox.post(Tenancy { connection: row.connection.clone(), over: None });
        }
        result
    }

    /// Lets a request in under its lease.
    pub(crate) fn enter(
        &self,
        fence: &Fence,
        connection: &ConnectionId,
        clock: Clock,
    ) -> Result<Stay, Denied> {
        let now = clock.now();
        self.with(|book| book.enter(fence, connection, now))?;
        let (owner, generation) = (fence.owner.clone(), fence.generation);
        Ok(Stay { tenancies: self.clone(), owner, generation, clock })
    }

    /// The last look of a request without a lease (rules 7.4.6).
    pub(crate) fn keeps_away(&self, connection: &ConnectionId, now: Millis) -> Result<(), Denied> {
        match self.router.leases.view(connection, now) {
            Some(lease) => Err(Denied::Taken(lease.until)),
            None => Ok(()),
        }
    }

    /// Why a lease is over, for whoever is told of it.
    pub(crate) fn ends(&self, owner: &OwnerHash, why: EndReason, now: Millis) {
        self.with(|book| book.invalidate(owner, why, now));
    }
}

/// A request that runs under a lease; dropped, the lease's time starts anew (decision 30a).
pub struct Stay {
    tenancies: Tenancies,
    owner: OwnerHash,
    generation: u64,
    clock: Clock,
}

impl Drop for Stay {
    fn drop(&mut self) {
        let now = self.clock.now();
        self.tenancies.with(|book| book.leave(&self.owner, self.generation, now));
    }
}
