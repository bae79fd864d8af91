//! Handles by id, outside every actor: they stay when an owner is replaced.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use arc_swap::ArcSwap;
use policy::board::Board;
use policy::change::Change;
use policy::ids::{ConnectionId, ProviderId};
use policy::lockout::LockKey;

use crate::berths::Berths;
use crate::blueprint::{MAX_QUEUED_TOTAL, MailboxBounds};
use crate::ceiling::Ceiling;
use crate::clock::Clock;
use crate::connection::ConnectionShared;
use crate::events::Events;
use crate::lease::Leases;
use crate::lockout::LockoutShared;
use crate::mailbox::{Gauge, Mailbox};
use crate::messages::{Observer, Owner, Publish, Snapshot, StoreLink, View};
use crate::provider::ProviderShared;
use crate::router::Router;
use crate::watch::Living;

/// What every owner is given to speak with the others.
#[derive(Clone)]
pub struct Links {
    /// The clock.
    pub clock: Clock,
    /// The way to the router.
    pub router: Arc<RouterShared>,
    /// The way to the store.
    pub store: StoreLink,
    /// Reads every change.
    pub observer: Observer,
    /// Whether deaths are news.
    pub living: Living,
}

impl Links {
    /// Passes a change on to all its readers.
    pub fn emit(&self, owner: &Owner, change: &Change, view: View, snapshot: Snapshot) {
        if change.from == change.to {
            tracing::debug!(kind = owner.kind(), id = %owner.id(), state = change.to, why = change.why, "changed");
        } else {
            tracing::info!(kind = owner.kind(), id = %owner.id(), from = change.from, to = change.to, why = change.why, "changed");
        }
        (self.observer)(owner, change);
        self.router.events.changed(owner, change, &view);
        self.store.save(owner.clone(), Some(snapshot.clone()));
        self.router.mailbox.post(Publish { owner: owner.clone(), view, snapshot });
    }
}

/// What stays of the router when it is replaced.
pub struct RouterShared {
    /// Its mailbox.
    pub mailbox: Mailbox<Router>,
    /// The board as last shared.
    pub board: ArcSwap<Board>,
    /// How often it was shared.
    pub shares: AtomicU64,
    /// The cap of the whole process.
    pub ceiling: Arc<Ceiling>,
    /// What changes, for whoever listens.
    pub events: Arc<Events>,
    /// Who leases which connection (rules 7).
    pub leases: Leases,
    /// Berths of the targets of `round-robin` combos (routing 8.7).
    pub berths: Arc<Berths>,
    /// Requests that wait in any connection's line (decision 14).
    pub queued: Arc<Gauge>,
    /// Replacements since the process started.
    pub restarts: AtomicU64,
}

impl RouterShared {
    /// A router's place without a router yet.
    pub fn new(capacity: usize) -> Self {
        Self {
            mailbox: Mailbox::new(capacity),
            board: ArcSwap::from_pointee(Board::default()),
            shares: AtomicU64::new(0),
            ceiling: Arc::default(),
            events: Arc::default(),
            leases: Leases::default(),
            berths: Arc::default(),
            queued: Gauge::new(MAX_QUEUED_TOTAL),
            restarts: AtomicU64::new(0),
        }
    }
}

/// A map that many read and few change.
type Shelf<K, V> = RwLock<HashMap<K, Arc<V>>>;

/// Handles by id.
#[derive(Default)]
pub struct Directory {
    providers: Shelf<ProviderId, ProviderShared>,
    connections: Shelf<ConnectionId, ConnectionShared>,
    lockouts: Shelf<(ConnectionId, LockKey), LockoutShared>,
    /// What a successor of each owner starts from. Only the router writes it; it stays when the
    /// router is replaced, for owners may die together with it.
    snapshots: Mutex<HashMap<Owner, Snapshot>>,
}

fn find<K, V, Q>(shelf: &Shelf<K, V>, key: &Q) -> Option<Arc<V>>
where
    K: std::hash::Hash + Eq + std::borrow::Borrow<Q>,
    Q: std::hash::Hash + Eq + ?Sized,
{
    shelf.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
}

fn all<K, V>(shelf: &Shelf<K, V>) -> Vec<Arc<V>> {
    shelf.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
}

fn put<K: std::hash::Hash + Eq, V>(shelf: &Shelf<K, V>, key: K, value: Arc<V>) {
    shelf.write().unwrap_or_else(PoisonError::into_inner).insert(key, value);
}

fn take<K: std::hash::Hash + Eq, V>(shelf: &Shelf<K, V>, key: &K) -> Option<Arc<V>> {
    shelf.write().unwrap_or_else(PoisonError::into_inner).remove(key)
}

impl Directory {
    /// A provider's handle.
    pub fn provider(&self, id: &ProviderId) -> Option<Arc<ProviderShared>> {
        find(&self.providers, id)
    }

    /// A connection's handle.
    pub fn connection(&self, id: &ConnectionId) -> Option<Arc<ConnectionShared>> {
        find(&self.connections, id)
    }

    /// A lockout's handle.
    pub fn lockout(&self, connection: &ConnectionId, key: &LockKey) -> Option<Arc<LockoutShared>> {
        find(&self.lockouts, &(connection.clone(), key.clone()))
    }

    /// All providers.
    pub fn providers(&self) -> Vec<Arc<ProviderShared>> {
        all(&self.providers)
    }

    /// All connections.
    pub fn connections(&self) -> Vec<Arc<ConnectionShared>> {
        all(&self.connections)
    }

    /// All lockouts.
    pub fn lockouts(&self) -> Vec<Arc<LockoutShared>> {
        all(&self.lockouts)
    }

    /// Lockouts of one connection.
    pub fn lockouts_of(&self, connection: &ConnectionId) -> Vec<Arc<LockoutShared>> {
        let mut of = self.lockouts();
        of.retain(|lockout| lockout.connection == *connection);
        of
    }

    pub(crate) fn add_provider(&self, shared: Arc<ProviderShared>) {
        put(&self.providers, shared.id.clone(), shared);
    }

    pub(crate) fn add_connection(&self, shared: Arc<ConnectionShared>) {
        put(&self.connections, shared.id.clone(), shared);
    }

    pub(crate) fn add_lockout(&self, shared: Arc<LockoutShared>) {
        put(&self.lockouts, (shared.connection.clone(), shared.key.clone()), shared);
    }

    pub(crate) fn remove_provider(&self, id: &ProviderId) -> Option<Arc<ProviderShared>> {
        take(&self.providers, id)
    }

    pub(crate) fn remove_connection(&self, id: &ConnectionId) -> Option<Arc<ConnectionShared>> {
        take(&self.connections, id)
    }

    pub(crate) fn remove_lockout(
        &self,
        connection: &ConnectionId,
        key: &LockKey,
    ) -> Option<Arc<LockoutShared>> {
        take(&self.lockouts, &(connection.clone(), key.clone()))
    }

    pub(crate) fn snapshots(&self) -> MutexGuard<'_, HashMap<Owner, Snapshot>> {
        self.snapshots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the mailbox bounds at once.
    pub fn set_bounds(&self, bounds: MailboxBounds) {
        for shared in self.providers() {
            shared.mailbox.gauge().set_capacity(bounds.provider);
        }
        for shared in self.connections() {
            shared.mailbox.gauge().set_capacity(bounds.connection);
        }
        for shared in self.lockouts() {
            shared.mailbox.gauge().set_capacity(bounds.lockout);
        }
    }
}
