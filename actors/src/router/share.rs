//! Sharing accounts: what the router remembers of pools, and what that makes of a plan.
//!
//! The plan says who may be asked; here the key's share is looked at, and the accounts of a
//! pool's model are put in their turn (`policy::quota`). What keys have used is stored slot by
//! slot; credits, readings and leases are learnt anew after a restart.
//!
//! The lease of flow 2.23 bridges the moment between the pick and the slot: a burst of picks
//! that are answered before anybody has acquired must see each other. It is given back when the
//! first of the plan's owners has answered; from then on the slot itself counts.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix::{Handler, Message};
use policy::change::{Exclusion, Refusal};
use policy::ids::{ConnectionId, ModelId, ProviderId};
use policy::plan::{Excluded, Plan, Planned};
use policy::preflight::{Check, Low};
use policy::quota::{
    Books, Counts, Credits, Decision, Entrant, LeaseId, Leases, Pools, Recorded, SOFT, STRATEGY, SlotKey,
    select, utilisation,
};
use policy::reading::AccountReading;
use policy::strategy::QuotaWindow;
use policy::time::Millis;

use super::Router;
use crate::messages::{Owner, Snapshot, StoreLink};

/// The part of each step of a pool's model (flow 2.4).
const STEP_WEIGHT: f64 = 100.0;

/// What the router remembers of pools.
#[derive(Default)]
pub(super) struct Sharing {
    books: Books,
    credits: Credits,
    leases: Arc<Mutex<Leases>>,
}

/// A request that was given an account and does not hold its slot yet. Dropping gives it back.
pub struct Lease {
    leases: Arc<Mutex<Leases>>,
    connection: ConnectionId,
    id: LeaseId,
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&self.connection).finish()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        lock(&self.leases).release(&self.connection, self.id);
    }
}

pub(super) fn lock(leases: &Mutex<Leases>) -> MutexGuard<'_, Leases> {
    leases.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sharing {
    /// What the store had; what is too old, or of a pool that is gone, is taken out of it.
    pub(super) fn restored(
        slots: Vec<(SlotKey, Counts)>,
        pools: &Pools,
        store: &StoreLink,
        now: Millis,
    ) -> Self {
        let mut sharing = Self::default();
        for (slot, counts) in slots {
            if !sharing.books.ledger.restore(&slot, counts, now) {
                store.save(Owner::Usage(slot), None);
            }
        }
        sharing.retain(pools, store);
        sharing
    }

    /// Pools that are gone are forgotten, also by the store.
    pub(super) fn retain(&mut self, pools: &Pools, store: &StoreLink) {
        let lives = |id: &str| pools.pools.iter().any(|pool| &*pool.id == id);
        for slot in self.books.ledger.retain(lives) {
            store.save(Owner::Usage(slot), None);
        }
    }

    /// An account is given to a request that does not hold its slot yet.
    fn lease(&self, connection: &ConnectionId, now: Millis) -> Lease {
        let leases = self.leases.clone();
        let id = lock(&leases).take(connection, now);
        Lease { leases, connection: connection.clone(), id }
    }

    /// Requests that were given an account and do not hold its slot yet.
    pub(super) fn picked(&self) -> &Mutex<Leases> {
        &self.leases
    }

    /// A connection that is gone.
    pub(super) fn forget(&mut self, connection: &ConnectionId) {
        self.credits.forget(connection);
        self.books.gauges.forget(connection);
    }
}

impl Router {
    /// Takes from the plan what the key's share no longer covers; the accounts that go last.
    pub(super) fn hold_back(
        &self,
        plan: &mut Plan,
        key: Option<&Arc<str>>,
        pools: &Pools,
        now: Millis,
    ) -> Vec<ConnectionId> {
        plan.shared = plan.targets.iter().any(|target| pools.has(&target.connection));
        plan.timed |= plan.shared;
        plan.reads_quota |= plan.shared;
        if plan.strategy == STRATEGY && pools.serialise {
            plan.patience = SOFT;
        }
        let Some(key) = key.filter(|_| plan.shared) else { return Vec::new() };
        let mut last = Vec::new();
        let targets = std::mem::take(&mut plan.targets);
        for target in targets {
            match pools.decide(key, &target.connection, &self.sharing.books, now) {
                (Decision::Block { cause, .. }, until) => {
                    tracing::debug!(%key, connection = %target.connection, cause = cause.as_str(), "a share is used up");
                    let refusal = Refusal { why: Exclusion::QuotaShareExceeded, retry_at: until };
                    plan.excluded.push(Excluded::refused(&target, refusal));
                }
                (decision, _) => {
                    if decision == Decision::Last {
                        last.push(target.connection.clone());
                    }
                    plan.targets.push(target);
                }
            }
        }
        // A stable sort: who is not held back keeps its place.
        plan.targets.sort_by_key(|target| last.contains(&target.connection));
        last
    }

    /// Puts the accounts of a pool's model in their turn.
    pub(super) fn take_turns(&mut self, plan: &mut Plan, last: &[ConnectionId]) -> Option<Lease> {
        let now = self.seed.links.clock.now();
        if plan.strategy != STRATEGY {
            let first = plan.targets.first().filter(|_| plan.reserves)?;
            return Some(self.sharing.lease(&first.connection, now));
        }
        let combo = plan.combo.clone()?;
        let entrants: Vec<Entrant> =
            plan.targets.iter().map(|target| self.entrant(target, last, now)).collect();
        let selection = select(&entrants, &combo, &mut self.sharing.credits);
        let mut targets: Vec<Option<Planned>> = plan.targets.drain(..).map(Some).collect();
        plan.targets.extend(selection.order.iter().filter_map(|index| targets[*index].take()));
        let first = plan.targets.first()?.connection.clone();
        plan.charged = selection.charged.then(|| first.clone());
        Some(self.sharing.lease(&first, now))
    }

    fn entrant(&mut self, target: &Planned, last: &[ConnectionId], now: Millis) -> Entrant {
        let shared = self.seed.directory.connection(&target.connection);
        let in_flight = shared.map_or(0, |shared| shared.in_flight());
        let blueprint = self.seed.blueprint.load();
        let cap = blueprint.connections.get(&target.connection).map_or(0, |numbers| numbers.gate.account_cap);
        let leased = lock(&self.sharing.leases).count(&target.connection, now);
        // A soft share that is used up goes where used-up accounts go: behind the others.
        let saturated = last.contains(&target.connection)
            || self.sharing.books.gauges.is_saturated(&target.connection, &target.model, now);
        Entrant {
            connection: target.connection.clone(),
            weight: STEP_WEIGHT,
            saturated,
            in_flight: in_flight.saturating_add(leased),
            cap,
        }
    }

    /// An account that may be shared has given a good answer.
    pub(super) fn shared(&mut self, combo: Option<&Arc<str>>, connection: &ConnectionId, news: &News) {
        if let (Some(combo), Some(charged)) = (combo, &news.charged) {
            self.sharing.credits.moved(combo, charged, connection);
        }
        if let Some(key) = &news.key {
            let one = Counts { requests: 1, ..Counts::default() };
            self.count(key, connection, one, self.seed.links.clock.now());
        }
    }

    fn count(&mut self, key: &Arc<str>, connection: &ConnectionId, counts: Counts, now: Millis) {
        let blueprint = self.seed.blueprint.load();
        let pools = &blueprint.catalogue.pools;
        let recorded = pools.record((key, connection), counts, &mut self.sharing.books, now);
        // Whoever has no part in a pool has nothing to record.
        let Some(Recorded { slot, counts, gone }) = recorded else { return };
        self.seed.links.store.save(Owner::Usage(slot), Some(Snapshot::Usage(counts)));
        for slot in gone {
            self.seed.links.store.save(Owner::Usage(slot), None);
        }
    }
}

/// What an attempt tells of whom it served.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// The client's key, where its account is shared.
    pub key: Option<Arc<str>>,
    /// The account that was charged for going first.
    pub charged: Option<ConnectionId>,
    /// Key of the session.
    pub session: Option<Arc<str>>,
    /// When its request came, epoch ms: all attempts of one have the same.
    pub asked_at: Millis,
}

/// What an answer says of the quota of its account.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Gauged {
    /// The account.
    pub connection: ConnectionId,
    /// What it says.
    pub reading: AccountReading,
}

impl Handler<Gauged> for Router {
    type Result = ();

    fn handle(&mut self, Gauged { connection, reading }: Gauged, _: &mut Self::Context) {
        let now = self.seed.links.clock.now();
        if self.seed.blueprint.load().catalogue.pools.has(&connection) {
            for of_window in utilisation(&reading) {
                self.sharing.books.gauges.read(&connection, of_window, now);
            }
        }
        let before = self.check(&connection, now);
        self.memory.readings.read(&connection, reading);
        match (before, self.check(&connection, now)) {
            (Check::Proceed, Check::Warn(low)) => tell(&connection, low, "little quota is left"),
            (Check::Proceed | Check::Warn(_), Check::Blocked(low)) => {
                tell(&connection, low, "left out until its quota starts anew");
            }
            _ => {}
        }
    }
}

impl Router {
    /// What the cutoff says of an account (rules 8.4).
    fn check(&self, connection: &ConnectionId, now: Millis) -> Check {
        let blueprint = self.seed.blueprint.load();
        let Some(numbers) = blueprint.connections.get(connection) else { return Check::Proceed };
        let reading = self.memory.readings.get(connection);
        blueprint.catalogue.preflight.check(&numbers.provider, connection, reading, now)
    }
}

fn tell(connection: &ConnectionId, low: Low, what: &'static str) {
    let window = low.window.map_or("overall", QuotaWindow::as_str);
    tracing::warn!(%connection, window, left_percent = low.left_percent, until = low.until, "{what}");
}

/// How many tokens an answer took; it comes after the answer, which may be long.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Used {
    /// The client's key.
    pub key: Arc<str>,
    /// Who answered.
    pub provider: ProviderId,
    /// On which account.
    pub connection: ConnectionId,
    /// With which model.
    pub model: ModelId,
    /// Tokens in.
    pub input: u64,
    /// Tokens out.
    pub output: u64,
}

impl Handler<Used> for Router {
    type Result = ();

    fn handle(&mut self, used: Used, _: &mut Self::Context) {
        let Used { key, provider, connection, model, input, output } = used;
        let usd = self.seed.blueprint.load().catalogue.pools.cost((&provider, &model), (input, output));
        let counts = Counts { requests: 0, tokens: input.saturating_add(output), usd };
        self.count(&key, &connection, counts, self.seed.links.clock.now());
    }
}
