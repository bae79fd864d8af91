//! The router as parent: it spawns owners from their last snapshot, hears of their
//! deaths and replaces them; a crash loop backs off.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, Message};
use arc_swap::ArcSwap;
use policy::breaker::{Breaker, BreakerSnapshot};
use policy::ids::{ConnectionId, ModelId, ProviderId};
use policy::lockout::{LockKey, LockOrder, Lockout as Rule, LockoutSnapshot};
use policy::time::Millis;

use super::Router;
use crate::blueprint::Blueprint;
use crate::connection::{self, Connection, ConnectionShared};
use crate::directory::{Directory, Slots};
use crate::lockout::{Fail, Lockout, LockoutShared, Succeed};
use crate::mailbox::Mailbox;
use crate::messages::{Announce, ConnectionSnapshot, Owner, Snapshot};
use crate::provider::{self, Leave, Provider, ProviderShared};
use crate::watch::{DeathWatch, End};

/// A second crash within this time backs off, ms.
const CRASH_WINDOW_MS: Millis = 60_000;
/// The first pause of a crash loop, ms; doubles up to the longest.
const FIRST_PAUSE_MS: Millis = 100;
/// The longest pause of a crash loop, ms.
const LONGEST_PAUSE_MS: Millis = 30_000;

/// What the store gave back at start.
#[derive(Clone, Debug, Default)]
pub struct Restored {
    /// Breakers by provider.
    pub breakers: HashMap<ProviderId, BreakerSnapshot>,
    /// Connections by id.
    pub connections: HashMap<ConnectionId, ConnectionSnapshot>,
    /// Lockouts.
    pub lockouts: Vec<(ConnectionId, LockoutSnapshot)>,
}

/// A model failed on a connection in a way that locks it.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Lock {
    /// The connection.
    pub connection: ConnectionId,
    /// What is barred.
    pub key: LockKey,
    /// For how long and why.
    pub order: LockOrder,
}

/// A model succeeded on a connection that has locks.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Decay {
    /// The connection.
    pub connection: ConnectionId,
    /// The model that answered.
    pub model: ModelId,
    /// No combo was asked for.
    pub direct: bool,
}

/// An owner ended.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Died {
    /// Who.
    pub owner: Owner,
    /// How.
    pub end: End,
}

/// A new configuration; owners keep their state.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Apply(pub Arc<Blueprint>);

/// Replaces an owner; it keeps its state (decision 12).
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Restart(pub Owner);

/// Spawns an owner after its pause.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
struct Respawn(Owner);

#[derive(Debug, Default)]
struct Crashes {
    last_at: Millis,
    in_a_row: u32,
}

/// What the parent knows of its owners.
#[derive(Debug, Default)]
pub(super) struct Family {
    crashes: HashMap<Owner, Crashes>,
    first_lockouts: Vec<(ConnectionId, LockoutSnapshot)>,
}

impl Family {
    /// What was restored goes to the directory, under what is known there already.
    pub(super) fn new(restored: Restored, directory: &Directory) -> Self {
        let breakers = restored
            .breakers
            .into_iter()
            .map(|(id, stored)| (Owner::Provider(id), Snapshot::Breaker(stored)));
        let connections = restored
            .connections
            .into_iter()
            .map(|(id, stored)| (Owner::Connection(id), Snapshot::Connection(stored)));
        let mut snapshots = directory.snapshots();
        for (owner, stored) in breakers.chain(connections) {
            snapshots.entry(owner).or_insert(stored);
        }
        Self { crashes: HashMap::new(), first_lockouts: restored.lockouts }
    }

    /// The pause before the next life: none for a first crash, then 100 ms doubling to 30 s.
    fn pause_ms(&mut self, owner: &Owner, now: Millis) -> Millis {
        let crashes = self.crashes.entry(owner.clone()).or_default();
        let again = crashes.in_a_row > 0 && now.saturating_sub(crashes.last_at) <= CRASH_WINDOW_MS;
        crashes.in_a_row = if again { crashes.in_a_row + 1 } else { 1 };
        crashes.last_at = now;
        match crashes.in_a_row {
            1 => 0,
            n => (FIRST_PAUSE_MS << (n - 2).min(16)).min(LONGEST_PAUSE_MS),
        }
    }
}

impl Router {
    /// Keeps what a successor starts from; false when the owner is no member (any more).
    pub(super) fn remembers(&self, owner: &Owner, snapshot: Snapshot) -> bool {
        match self.seed.directory.snapshots().get_mut(owner) {
            Some(kept) => *kept = snapshot,
            None => return false,
        }
        true
    }

    fn snapshot(&self, owner: &Owner) -> Option<Snapshot> {
        self.seed.directory.snapshots().get(owner).cloned()
    }

    fn keep(&self, owner: &Owner, snapshot: Snapshot) {
        self.seed.directory.snapshots().insert(owner.clone(), snapshot);
    }

    /// Spawns every configured owner that is not there.
    pub(super) fn spawn_missing(&mut self) {
        let blueprint = self.seed.blueprint.load_full();
        for id in blueprint.providers.keys() {
            self.spawn_provider(id, &blueprint);
        }
        for id in blueprint.connections.keys() {
            self.spawn_connection(id, &blueprint);
        }
        self.drop_strangers(&blueprint);
        let now = self.seed.links.clock.now();
        for (connection, stored) in std::mem::take(&mut self.family.first_lockouts) {
            let owner = Owner::Lockout(connection.clone(), stored.key.clone());
            let lives = self.seed.directory.lockout(&connection, &stored.key);
            if lives.is_some_and(|shared| shared.mailbox.is_live()) {
                continue;
            }
            let numbers = blueprint.connections.get(&connection);
            match numbers.and_then(|numbers| Rule::restore(stored, numbers.lockout.clone(), now)) {
                Some(rule) => self.spawn_lockout(&connection, rule),
                None => self.seed.links.store.save(owner, None),
            }
        }
    }

    /// Records of ids that no longer exist are dropped (decision 3c).
    fn drop_strangers(&mut self, blueprint: &Blueprint) {
        let directory = self.seed.directory.clone();
        let store = self.seed.links.store.clone();
        directory.snapshots().retain(|owner, _| {
            let known = match owner {
                // An owner that is still leaving is dropped when it has left.
                Owner::Provider(id) => {
                    blueprint.providers.contains_key(id) || directory.provider(id).is_some()
                }
                Owner::Connection(id) => {
                    blueprint.connections.contains_key(id) || directory.connection(id).is_some()
                }
                Owner::Lockout(..) | Owner::Router | Owner::Store => true,
            };
            if !known {
                store.save(owner.clone(), None);
            }
            known
        });
    }

    /// For a router that follows another: its owners live on and tell it who they are.
    pub(super) fn ask_all_to_publish(&mut self) {
        for shared in self.seed.directory.providers() {
            shared.mailbox.post(Announce);
        }
        for shared in self.seed.directory.connections() {
            shared.mailbox.post(Announce);
        }
        for shared in self.seed.directory.lockouts() {
            shared.mailbox.post(Announce);
        }
    }

    fn watch(&self, owner: Owner) -> DeathWatch {
        let router = self.seed.links.router.clone();
        DeathWatch::new(self.seed.links.living.clone(), move |end| router.mailbox.post(Died { owner, end }))
    }

    fn spawn_provider(&mut self, id: &ProviderId, blueprint: &Blueprint) {
        let Some(settings) = blueprint.providers.get(id).copied() else { return };
        let directory = self.seed.directory.clone();
        let shared = directory.provider(id).unwrap_or_else(|| {
            let breaker = Breaker::new(settings);
            Arc::new(ProviderShared {
                id: id.clone(),
                mailbox: Mailbox::new(blueprint.mailbox.provider),
                view: ArcSwap::from_pointee(breaker.view()),
                restarts: AtomicU64::new(0),
            })
        });
        let owner = Owner::Provider(id.clone());
        let now = self.seed.links.clock.now();
        if shared.mailbox.is_live() {
            return;
        }
        let breaker = match self.snapshot(&owner) {
            Some(Snapshot::Breaker(stored)) => Breaker::restore(stored, settings, now),
            _ => Breaker::new(settings),
        };
        self.keep(&owner, Snapshot::Breaker(breaker.snapshot()));
        shared.view.store(Arc::new(breaker.view()));
        self.board.providers.insert(id.clone(), Arc::new(breaker.view()));
        let (links, watch, own) = (self.seed.links.clone(), self.watch(owner), shared.clone());
        let home = self.seed.placement.home(id.as_str());
        shared
            .mailbox
            .install(Provider::start_in_arbiter(home, move |_| Provider::new(own, breaker, links, watch)));
        directory.add_provider(shared);
    }

    fn spawn_connection(&mut self, id: &ConnectionId, blueprint: &Blueprint) {
        let directory = self.seed.directory.clone();
        let Some(numbers) = blueprint.connections.get(id).cloned() else { return };
        let Some(provider) = directory.provider(&numbers.provider) else { return };
        let shared = directory.connection(id).unwrap_or_else(|| {
            Arc::new(ConnectionShared {
                id: id.clone(),
                provider: numbers.provider.clone(),
                mailbox: Mailbox::new(blueprint.mailbox.connection),
                slots: Slots::new(numbers.max_concurrent),
                leaving: AtomicBool::new(false),
                lockouts: AtomicU32::new(0),
                restarts: AtomicU64::new(0),
            })
        });
        let owner = Owner::Connection(id.clone());
        if shared.mailbox.is_live() {
            return;
        }
        let snapshot = match self.snapshot(&owner) {
            Some(Snapshot::Connection(stored)) => Some(stored),
            _ => None,
        };
        self.keep(&owner, Snapshot::Connection(snapshot.clone().unwrap_or_default()));
        // On the board before it speaks itself: the first pick must know who rests.
        let view = connection::first::view(&numbers, snapshot.as_ref(), self.seed.links.clock.now());
        self.board.connections.insert(id.clone(), Arc::new(view));
        let (links, watch, own) = (self.seed.links.clone(), self.watch(owner), (shared.clone(), provider));
        let home = self.seed.placement.home(id.as_str());
        shared.mailbox.install(Connection::start_in_arbiter(home, move |_| {
            Connection::new(own, numbers, snapshot, links, watch)
        }));
        directory.add_connection(shared);
    }

    fn lockout_settings(&self, connection: &ConnectionId) -> policy::lockout::LockoutSettings {
        let blueprint = self.seed.blueprint.load();
        match blueprint.connections.get(connection) {
            Some(numbers) => numbers.lockout.clone(),
            None => policy::lockout::LockoutSettings::for_class(policy::ids::Class::Apikey),
        }
    }

    /// Spawns the owner of `rule` and puts its lock on the board at once.
    fn spawn_lockout(&mut self, connection: &ConnectionId, rule: Rule) {
        let directory = self.seed.directory.clone();
        let view = rule.view();
        let owner = Owner::Lockout(connection.clone(), view.key.clone());
        let shared = directory.lockout(connection, &view.key).unwrap_or_else(|| {
            if let Some(shared) = directory.connection(connection) {
                shared.lockouts.fetch_add(1, Ordering::Relaxed);
            }
            Arc::new(LockoutShared {
                connection: connection.clone(),
                key: view.key.clone(),
                mailbox: Mailbox::new(self.seed.blueprint.load().mailbox.lockout),
                restarts: AtomicU64::new(0),
            })
        });
        self.keep(&owner, Snapshot::Lockout(rule.snapshot()));
        if view.failures > 0 {
            self.board.lockouts.entry(connection.clone()).or_default().push(Arc::new(view));
        }
        let (links, watch, own) = (self.seed.links.clone(), self.watch(owner), shared.clone());
        let home = self.seed.placement.home(connection.as_str());
        shared
            .mailbox
            .install(Lockout::start_in_arbiter(home, move |_| Lockout::new(own, rule, links, watch)));
        directory.add_lockout(shared);
    }

    fn respawn(&mut self, owner: &Owner) {
        let blueprint = self.seed.blueprint.load_full();
        match owner {
            Owner::Provider(id) if blueprint.providers.contains_key(id) => {
                self.spawn_provider(id, &blueprint);
            }
            Owner::Connection(id) if blueprint.connections.contains_key(id) => {
                self.spawn_connection(id, &blueprint);
            }
            // Removed during the pause of a crash loop: nobody is left to be told to leave.
            Owner::Provider(_) | Owner::Connection(_) => self.remove(owner),
            Owner::Lockout(connection, key) => {
                let directory = &self.seed.directory;
                let now = self.seed.links.clock.now();
                if directory.lockout(connection, key).is_some_and(|shared| shared.mailbox.is_live()) {
                    return;
                }
                let Some(Snapshot::Lockout(stored)) = self.snapshot(owner) else { return };
                self.forget(owner);
                match Rule::restore(stored, self.lockout_settings(connection), now) {
                    Some(rule) => self.spawn_lockout(connection, rule),
                    None => self.remove(owner),
                }
            }
            Owner::Router | Owner::Store => {}
        }
    }

    fn count_restart(&self, owner: &Owner) {
        let directory = &self.seed.directory;
        let count = |restarts: &AtomicU64| {
            restarts.fetch_add(1, Ordering::Relaxed);
        };
        match owner {
            Owner::Provider(id) => directory.provider(id).iter().for_each(|shared| count(&shared.restarts)),
            Owner::Connection(id) => {
                directory.connection(id).iter().for_each(|shared| count(&shared.restarts))
            }
            Owner::Lockout(connection, key) => {
                directory.lockout(connection, key).iter().for_each(|shared| count(&shared.restarts));
            }
            Owner::Router | Owner::Store => {}
        }
    }

    /// An entity that is gone: off the board, out of the directory, nobody waits for it.
    fn remove(&mut self, owner: &Owner) {
        let directory = self.seed.directory.clone();
        if directory.snapshots().remove(owner).is_some() {
            self.seed.links.store.save(owner.clone(), None);
        }
        self.family.crashes.remove(owner);
        self.forget(owner);
        match owner {
            Owner::Provider(id) => {
                directory.remove_provider(id).iter().for_each(|shared| shared.mailbox.close())
            }
            Owner::Connection(id) => {
                directory.remove_connection(id).iter().for_each(|shared| shared.mailbox.close())
            }
            Owner::Lockout(connection, key) => {
                let removed = directory.remove_lockout(connection, key);
                removed.iter().for_each(|shared| shared.mailbox.close());
                if let (Some(_), Some(shared)) = (removed, directory.connection(connection)) {
                    shared.lockouts.fetch_sub(1, Ordering::Relaxed);
                }
            }
            Owner::Router | Owner::Store => {}
        }
    }
}

impl Handler<Lock> for Router {
    type Result = ();

    fn handle(&mut self, lock: Lock, _: &mut Self::Context) {
        if self.seed.directory.lockout(&lock.connection, &lock.key).is_none() {
            let rule = Rule::new(lock.key.clone(), self.lockout_settings(&lock.connection));
            self.spawn_lockout(&lock.connection, rule);
        }
        if let Some(shared) = self.seed.directory.lockout(&lock.connection, &lock.key) {
            shared.mailbox.post(Fail(lock.order));
        }
    }
}

impl Handler<Decay> for Router {
    type Result = ();

    fn handle(&mut self, decay: Decay, _: &mut Self::Context) {
        for shared in self.seed.directory.lockouts_of(&decay.connection) {
            if shared.key.covers(&decay.model) {
                shared.mailbox.post(Succeed { direct: decay.direct });
            }
        }
    }
}

impl Handler<Died> for Router {
    type Result = ();

    fn handle(&mut self, died: Died, ctx: &mut Self::Context) {
        let owner = died.owner;
        match died.end {
            End::Retired => {
                self.remove(&owner);
                // It may have been configured again, or elsewhere, while it left.
                self.respawn(&owner);
            }
            End::Restarted => {
                self.count_restart(&owner);
                self.respawn(&owner);
            }
            End::Panicked => {
                self.count_restart(&owner);
                let pause = self.family.pause_ms(&owner, self.seed.links.clock.now());
                tracing::error!(kind = owner.kind(), id = %owner.id(), pause_ms = pause, "an owner panicked and is replaced");
                if pause == 0 {
                    self.respawn(&owner);
                } else {
                    ctx.notify_later(Respawn(owner), Duration::from_millis(pause));
                }
            }
        }
        self.fold(ctx);
    }
}

impl Handler<Respawn> for Router {
    type Result = ();

    fn handle(&mut self, Respawn(owner): Respawn, ctx: &mut Self::Context) {
        self.respawn(&owner);
        self.fold(ctx);
    }
}

impl Handler<Restart> for Router {
    type Result = ();

    fn handle(&mut self, Restart(owner): Restart, _: &mut Self::Context) {
        let directory = &self.seed.directory;
        let leave = Leave(End::Restarted);
        match &owner {
            Owner::Provider(id) => {
                directory.provider(id).iter().for_each(|shared| shared.mailbox.post(leave))
            }
            Owner::Connection(id) => {
                directory.connection(id).iter().for_each(|shared| shared.mailbox.post(leave))
            }
            Owner::Lockout(connection, key) => {
                directory.lockout(connection, key).iter().for_each(|shared| shared.mailbox.post(leave));
            }
            Owner::Router | Owner::Store => {}
        }
    }
}

impl Handler<Apply> for Router {
    type Result = ();

    fn handle(&mut self, Apply(blueprint): Apply, ctx: &mut Context<Self>) {
        let directory = self.seed.directory.clone();
        self.seed.blueprint.store(blueprint.clone());
        directory.set_bounds(blueprint.mailbox);
        self.seed.links.router.mailbox.gauge().set_capacity(blueprint.mailbox.router);
        for shared in directory.providers() {
            match blueprint.providers.get(&shared.id) {
                Some(settings) => shared.mailbox.post(provider::Configure(*settings)),
                None => shared.mailbox.post(Leave(End::Retired)),
            }
        }
        for shared in directory.connections() {
            match blueprint.connections.get(&shared.id) {
                Some(numbers) if numbers.provider == shared.provider => {
                    shared.mailbox.post(connection::Configure(numbers.clone()));
                }
                _ => shared.mailbox.post(Leave(End::Retired)),
            }
        }
        self.spawn_missing();
        self.fold(ctx);
    }
}
