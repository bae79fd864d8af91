//! Spawning owners from what is known of them, and taking them off when they are gone.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use actix::{Actor, Context};
use arc_swap::ArcSwap;
use policy::breaker::Breaker;
use policy::gate::Gate;
use policy::ids::{ConnectionId, ProviderId};
use policy::lockout::Lockout as Rule;
use policy::window::{RetryEntry, WindowGate};

use super::Died;
use crate::blueprint::Blueprint;
use crate::connection::{self, Connection, ConnectionShared};
use crate::lockout::{Lockout, LockoutShared};
use crate::mailbox::Mailbox;
use crate::messages::{Announce, Owner, Snapshot};
use crate::provider::{Provider, ProviderShared};
use crate::router::Router;
use crate::router::publish::put_window;
use crate::watch::DeathWatch;

impl Router {
    /// Keeps what a successor starts from; false when the owner is no member (any more).
    pub(in crate::router) fn remembers(&self, owner: &Owner, snapshot: Snapshot) -> bool {
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
    pub(in crate::router) fn spawn_missing(&mut self) {
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
                Owner::Lockout(..)
                | Owner::Router
                | Owner::Store
                | Owner::Usage(_)
                | Owner::Lease(_)
                | Owner::Pin(_)
                | Owner::LastGood(_)
                | Owner::Handoff(_) => true,
            };
            if !known {
                store.save(owner.clone(), None);
            }
            known
        });
    }

    /// For a router that follows another: its owners live on and tell it who they are.
    pub(in crate::router) fn ask_all_to_publish(&mut self) {
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

    /// Watches the life after `life`.
    fn watch(&self, owner: Owner, life: u64) -> DeathWatch {
        let (router, life) = (self.seed.links.router.clone(), life + 1);
        DeathWatch::new(self.seed.links.living.clone(), move |end| {
            router.mailbox.post(Died { owner, end, life });
        })
    }

    /// Marks that life as over; false when it is not the owner's latest, or the owner is gone.
    pub(super) fn ends(&self, owner: &Owner, life: u64) -> bool {
        fn end<A: Actor<Context = Context<A>>>(mailbox: &Mailbox<A>, life: u64) -> bool {
            mailbox.end_life(life);
            mailbox.life() == life
        }
        let directory = &self.seed.directory;
        match owner {
            Owner::Provider(id) => directory.provider(id).is_some_and(|shared| end(&shared.mailbox, life)),
            Owner::Connection(id) => {
                directory.connection(id).is_some_and(|shared| end(&shared.mailbox, life))
            }
            Owner::Lockout(connection, key) => {
                directory.lockout(connection, key).is_some_and(|shared| end(&shared.mailbox, life))
            }
            Owner::Router
            | Owner::Store
            | Owner::Usage(_)
            | Owner::Lease(_)
            | Owner::Pin(_)
            | Owner::LastGood(_)
            | Owner::Handoff(_) => false,
        }
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
                window: ArcSwap::from_pointee(WindowGate::new(blueprint.window(id))),
                ceiling: Arc::default(),
                restarts: AtomicU64::new(0),
            })
        });
        let owner = Owner::Provider(id.clone());
        let now = self.seed.links.clock.now();
        if shared.mailbox.is_live() {
            return;
        }
        shared.ceiling.configure(blueprint.ceiling_of(id), now);
        // Nobody else writes it now, and the numbers may be new.
        let mut window = WindowGate::clone(&shared.window.load());
        window.configure(blueprint.window(id));
        shared.window.store(Arc::new(window));
        let breaker = match self.snapshot(&owner) {
            Some(Snapshot::Breaker(stored)) => Breaker::restore(stored, settings, now),
            _ => Breaker::new(settings),
        };
        self.keep(&owner, Snapshot::Breaker(breaker.snapshot()));
        shared.view.store(Arc::new(breaker.view()));
        self.board.providers.insert(id.clone(), Arc::new(breaker.view()));
        put_window(&mut self.board, id, shared.window.load().view());
        let (links, watch, own) =
            (self.seed.links.clone(), self.watch(owner, shared.mailbox.life()), shared.clone());
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
                gate: Mutex::new(Gate::new(numbers.gate.clone())),
                in_flight: AtomicU32::new(0),
                retry: ArcSwap::from_pointee(RetryEntry::new(numbers.retry)),
                leaving: AtomicBool::new(false),
                // An earlier life of this id may have left some.
                lockouts: AtomicU32::new(directory.lockouts_of(id).len() as u32),
                restarts: AtomicU64::new(0),
            })
        });
        let owner = Owner::Connection(id.clone());
        if shared.mailbox.is_live() {
            return;
        }
        let mut retry = **shared.retry.load();
        retry.configure(numbers.retry);
        shared.retry.store(Arc::new(retry));
        let snapshot = match self.snapshot(&owner) {
            Some(Snapshot::Connection(stored)) => Some(stored),
            _ => None,
        };
        self.keep(&owner, Snapshot::Connection(snapshot.clone().unwrap_or_default()));
        // On the board before it speaks itself: the first pick must know who rests.
        let mut view = connection::first::view(&numbers, snapshot.as_ref(), self.seed.links.clock.now());
        view.retry = retry.view();
        view.lease = self.seed.links.router.leases.view(id, self.seed.links.clock.now());
        self.board.connections.insert(id.clone(), Arc::new(view));
        let (links, watch, own) =
            (self.seed.links.clone(), self.watch(owner, shared.mailbox.life()), (shared.clone(), provider));
        let home = self.seed.placement.home(id.as_str());
        shared.mailbox.install(Connection::start_in_arbiter(home, move |_| {
            Connection::new(own, numbers, snapshot, links, watch)
        }));
        directory.add_connection(shared);
    }

    pub(super) fn lockout_settings(&self, connection: &ConnectionId) -> policy::lockout::LockoutSettings {
        let blueprint = self.seed.blueprint.load();
        match blueprint.connections.get(connection) {
            Some(numbers) => numbers.lockout.clone(),
            None => policy::lockout::LockoutSettings::for_class(policy::ids::Class::Apikey),
        }
    }

    /// Spawns the owner of `rule` and puts its lock on the board at once.
    pub(super) fn spawn_lockout(&mut self, connection: &ConnectionId, rule: Rule) {
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
        let (links, watch, own) =
            (self.seed.links.clone(), self.watch(owner, shared.mailbox.life()), shared.clone());
        let home = self.seed.placement.home(connection.as_str());
        shared
            .mailbox
            .install(Lockout::start_in_arbiter(home, move |_| Lockout::new(own, rule, links, watch)));
        directory.add_lockout(shared);
    }

    pub(super) fn respawn(&mut self, owner: &Owner) {
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
            Owner::Router
            | Owner::Store
            | Owner::Usage(_)
            | Owner::Lease(_)
            | Owner::Pin(_)
            | Owner::LastGood(_)
            | Owner::Handoff(_) => {}
        }
    }

    pub(super) fn count_restart(&self, owner: &Owner) {
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
            Owner::Router
            | Owner::Store
            | Owner::Usage(_)
            | Owner::Lease(_)
            | Owner::Pin(_)
            | Owner::LastGood(_)
            | Owner::Handoff(_) => {}
        }
    }

    /// An entity that is gone: off the board, out of the directory, nobody waits for it.
    pub(super) fn remove(&mut self, owner: &Owner) {
        let directory = self.seed.directory.clone();
        if directory.snapshots().remove(owner).is_some() {
            self.seed.links.store.save(owner.clone(), None);
        }
        self.family.crashes.remove(owner);
        self.forget(owner);
        if let Owner::Connection(id) = owner {
            let now = self.seed.links.clock.now();
            self.tenancies().with(|book| book.vacate(id, now));
        }
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
            Owner::Router
            | Owner::Store
            | Owner::Usage(_)
            | Owner::Lease(_)
            | Owner::Pin(_)
            | Owner::LastGood(_)
            | Owner::Handoff(_) => {}
        }
    }
}
