//! The router as parent: it spawns owners from their last snapshot, hears of their
//! deaths and replaces them; a crash loop backs off.

mod spawn;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{AsyncContext, Context, Handler, Message};
use policy::affinity::{Pin, PinKey};
use policy::breaker::BreakerSnapshot;
use policy::handoff::{Handoff, HandoffKey};
use policy::ids::{ConnectionId, ModelId, ProviderId};
use policy::lease::Row;
use policy::lockout::{LockKey, LockOrder, Lockout as Rule, LockoutSnapshot};
use policy::quota::{Counts, SlotKey};
use policy::strategy::LastGood;
use policy::time::Millis;

use super::Router;
use crate::blueprint::Blueprint;
use crate::connection::{self};
use crate::directory::Directory;
use crate::lockout::{self, Fail, Succeed};
use crate::messages::{ConnectionSnapshot, Owner, Snapshot};
use crate::provider::{self, Leave};
use crate::watch::End;

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
    /// What keys have used of pools.
    pub usage: Vec<(SlotKey, Counts)>,
    /// The newest lease of each owner.
    pub leases: Vec<Row>,
    /// Which account each session is tied to.
    pub pins: Vec<(PinKey, Pin)>,
    /// Who served each combo last.
    pub last_good: Vec<(Arc<str>, LastGood)>,
    /// Summaries for next accounts.
    pub handoffs: Vec<(HandoffKey, Handoff)>,
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
    /// When the request that failed was sent, epoch ms.
    pub sent_at: Millis,
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
    /// Which of its lives: news of an earlier one is no news.
    pub life: u64,
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

impl Handler<Lock> for Router {
    type Result = ();

    fn handle(&mut self, lock: Lock, _: &mut Self::Context) {
        if self.seed.directory.lockout(&lock.connection, &lock.key).is_none() {
            let rule = Rule::new(lock.key.clone(), self.lockout_settings(&lock.connection));
            self.spawn_lockout(&lock.connection, rule);
        }
        if let Some(shared) = self.seed.directory.lockout(&lock.connection, &lock.key) {
            shared.mailbox.post(Fail { order: lock.order, sent_at: lock.sent_at });
        }
    }
}

impl Handler<Decay> for Router {
    type Result = ();

    fn handle(&mut self, decay: Decay, _: &mut Self::Context) {
        let directory = &self.seed.directory;
        let Some(connection) = directory.connection(&decay.connection) else { return };
        // All three keys of the model (core 5.6.2).
        for shared in directory.lockouts_of(&decay.connection) {
            if shared.key.covers(&connection.provider, &decay.model) {
                shared.mailbox.post(Succeed { direct: decay.direct });
            }
        }
    }
}

impl Handler<Died> for Router {
    type Result = ();

    fn handle(&mut self, died: Died, ctx: &mut Self::Context) {
        let owner = died.owner;
        if died.end != End::Retired {
            self.count_restart(&owner);
        }
        // A successor may stand there already: a new router looked before this news came.
        let is_latest = self.ends(&owner, died.life);
        let now = self.seed.links.clock.now();
        let pause = match died.end {
            End::Panicked if is_latest => self.family.pause_ms(&owner, now),
            _ => 0,
        };
        self.seed.links.router.events.restarted(&owner, died.end, (now, pause));
        if !is_latest {
            return;
        }
        match died.end {
            End::Retired => {
                self.remove(&owner);
                // It may have been configured again, or elsewhere, while it left.
                self.respawn(&owner);
            }
            End::Restarted => self.respawn(&owner),
            End::Panicked => {
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

impl Handler<Apply> for Router {
    type Result = ();

    fn handle(&mut self, Apply(blueprint): Apply, ctx: &mut Context<Self>) {
        let directory = self.seed.directory.clone();
        self.seed.blueprint.store(blueprint.clone());
        directory.set_bounds(blueprint.mailbox);
        self.seed.links.router.mailbox.gauge().set_capacity(blueprint.mailbox.router);
        self.seed.links.store.gauge().set_capacity(blueprint.mailbox.store);
        self.set_ceilings(&blueprint);
        for shared in directory.providers() {
            match blueprint.providers.get(&shared.id) {
                Some(settings) => {
                    shared.mailbox.post(provider::Configure(*settings, blueprint.window(&shared.id)));
                }
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
        for shared in directory.lockouts() {
            let numbers = blueprint.connections.get(&shared.connection);
            let settings = numbers.map(|numbers| lockout::Configure(numbers.lockout.clone()));
            settings.into_iter().for_each(|settings| shared.mailbox.post(settings));
        }
        self.sharing.retain(&blueprint.catalogue.pools, &self.seed.links.store);
        let now = self.seed.links.clock.now();
        // A connection that leaves is vacated when it has left.
        self.tenancies().with(|book| book.authorise(&blueprint.catalogue.managed, |_| true, now));
        self.spawn_missing();
        self.fold(ctx);
    }
}

impl Router {
    /// Caps over several connections take their new numbers at once.
    pub(super) fn set_ceilings(&self, blueprint: &Blueprint) {
        let (router, now) = (&self.seed.links.router, self.seed.links.clock.now());
        router.ceiling.configure(blueprint.ceiling(), now);
        router.queued.set_capacity(blueprint.max_queued_total);
        for provider in self.seed.directory.providers() {
            provider.ceiling.configure(blueprint.ceiling_of(&provider.id), now);
        }
    }
}
