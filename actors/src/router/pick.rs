//! Picking: one pure call on board, memory, `now` and dice; then the shares of keys (flow 2).

use std::sync::Arc;

use actix::{Handler, Message};
use policy::catalogue::{Catalogue, Dialect, Step};
use policy::ids::{ConnectionId, ModelId, ProviderId};
use policy::latency::Sample;
use policy::lease::Fence;
use policy::plan::{Ask, NoPlan, Place, Plan, World, of_step, plan, prefer};
use policy::request::Traits;
use policy::strategy::{Auto, Strategy, StrategySettings, auto};

use super::Router;
use super::memory::{Chooser, Remembered, Seeded};
use super::share::{Lease, News};
use crate::messages::{Owner, Snapshot};

/// Asks for the targets of one request.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Picked, NoPlan>")]
pub struct Pick {
    /// The model as the client wrote it.
    pub model: Arc<str>,
    /// The dialect it speaks.
    pub dialect: Dialect,
    /// The connections its key may use; `None`: all.
    pub allowed: Option<Arc<[ConnectionId]>>,
    /// The connections it wants to be tried before the others; `None`: none.
    pub preferred: Option<Arc<[ConnectionId]>>,
    /// The name of its key.
    pub key: Option<Arc<str>>,
    /// The key may only ask for the models of its pools.
    pub limited: bool,
    /// What the request is like.
    pub traits: Arc<Traits>,
    /// What it says of its lease.
    pub lease: Option<Fence>,
    /// This step and nothing else, whatever the model's name may stand for.
    pub step: Option<Arc<Step>>,
    /// Nothing else is left: a combo that allows it offers its last resort (decision 33).
    pub last_resort: bool,
}

impl Pick {
    /// A request of nobody in particular, of which nothing more is known.
    pub fn new(model: impl Into<Arc<str>>, dialect: Dialect) -> Self {
        Self {
            model: model.into(),
            dialect,
            allowed: None,
            preferred: None,
            key: None,
            limited: false,
            lease: None,
            step: None,
            last_resort: false,
            traits: Arc::default(),
        }
    }
}

/// The answer to a pick.
#[derive(Debug)]
pub struct Picked {
    /// Who may be asked.
    pub plan: Plan,
    /// Counts on the first target until its owner has answered.
    pub lease: Option<Lease>,
}

/// Asks what would be picked now; nothing counts as used.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Plan, NoPlan>")]
pub struct Look(pub Pick);

impl Router {
    /// The plan of `dice`, with the accounts that go last as far as the key's share is concerned.
    fn plan(&self, pick: &Pick, dice: &mut fastrand::Rng) -> Result<(Plan, Vec<ConnectionId>), NoPlan> {
        // A lease stays where it is as long as it can: nobody else is weighed then.
        let now = self.seed.links.clock.now();
        let bound =
            pick.lease.as_ref().and_then(|fence| self.seed.links.router.leases.active(&fence.owner, now));
        let may = |id: &ConnectionId| pick.allowed.as_ref().is_none_or(|allowed| allowed.contains(id));
        if let Some(own) = bound.map(|row| row.connection).filter(may) {
            let planned = self.plan_within(pick, Some(&[own]), dice)?;
            if !planned.0.targets.is_empty() {
                return Ok(planned);
            }
        }
        self.plan_within(pick, pick.allowed.as_deref(), dice)
    }

    /// The same over these connections; `None`: all.
    pub(super) fn plan_within(
        &self,
        pick: &Pick,
        allowed: Option<&[ConnectionId]>,
        dice: &mut fastrand::Rng,
    ) -> Result<(Plan, Vec<ConnectionId>), NoPlan> {
        let blueprint = self.seed.blueprint.load();
        let pools = &blueprint.catalogue.pools;
        if pick.limited && !pick.key.as_ref().is_some_and(|key| pools.admits(key, &pick.model)) {
            // Without a name no key has a pool: it fails closed (flow 2.6).
            return Err(NoPlan::NotForKey);
        }
        let now = self.seed.links.clock.now();
        let memory = Remembered {
            memory: &self.memory,
            sessions: &self.sessions,
            directory: &self.seed.directory,
            picked: self.sharing.picked(),
            now,
        };
        let world = World { catalogue: &blueprint.catalogue, board: &self.board, memory: &memory, now };
        let (dialect, lease) = (pick.dialect, pick.lease.as_ref().map(|fence| &fence.owner));
        let ask = Ask { model: &pick.model, dialect, allowed, traits: &pick.traits, lease };
        let mut plan = match &pick.step {
            Some(step) => of_step(step, &ask, world, &mut Seeded(dice))?,
            None => plan(&ask, world, &mut Seeded(dice))?,
        };
        if pick.last_resort {
            plan.take_resort();
        }
        if let Some(preferred) = &pick.preferred {
            prefer(&mut plan.targets, preferred);
        }
        plan.relay = self.relay(&plan, &pick.traits);
        let last = self.hold_back(&mut plan, pick.key.as_ref(), pools, now);
        Ok((plan, last))
    }
}

impl Handler<Pick> for Router {
    type Result = Result<Picked, NoPlan>;

    fn handle(&mut self, pick: Pick, _: &mut Self::Context) -> Self::Result {
        let mut dice = self.dice.clone();
        let planned = self.plan(&pick, &mut dice);
        self.dice = dice;
        let (mut plan, last) = planned?;
        // Its parts are picked one by one.
        if plan.fan.is_some() {
            plan.notes.clear();
            return Ok(Picked { plan, lease: None });
        }
        let lease = self.take_turns(&mut plan, &last);
        let blueprint = self.seed.blueprint.load();
        let counts_use = blueprint.catalogue.accounts.counts_use();
        for (combo, note) in std::mem::take(&mut plan.notes) {
            self.memory.note(&combo, note);
        }
        // The pick counts its own use, so that a burst is spread before anybody has answered.
        let first = plan.targets.first().and_then(|first| first.place.as_deref());
        for place in known_places(first, &blueprint.catalogue) {
            self.memory.asked(&place.combo, &place.key);
        }
        if let Some(first) = plan.targets.first().filter(|_| counts_use) {
            self.memory.used(&first.provider, &first.connection, self.seed.links.clock.now());
        }
        // Rules 6.14: whoever leases an account is seated by the lease.
        let session = pick.traits.session.as_ref().filter(|_| pick.lease.is_none());
        self.seat(&plan, session);
        Ok(Picked { plan, lease })
    }
}

impl Handler<Look> for Router {
    type Result = Result<Plan, NoPlan>;

    fn handle(&mut self, Look(pick): Look, _: &mut Self::Context) -> Self::Result {
        // Its throws are not the next request's: looking changes nothing.
        self.plan(&pick, &mut self.dice.clone()).map(|(plan, _)| plan)
    }
}

/// A place and those around it.
fn ways(place: Option<&Place>) -> impl Iterator<Item = &Place> {
    std::iter::successors(place, |place| place.within.as_deref())
}

/// Those in combos that are configured, or made of the few names of `auto`. Clients choose the
/// models of pools: a record for each name would grow without end.
fn known_places<'a>(place: Option<&'a Place>, catalogue: &'a Catalogue) -> impl Iterator<Item = &'a Place> {
    ways(place).filter(|place| catalogue.combos.contains_key(&place.combo) || auto::is_name(&place.combo))
}

/// How an attempt went, for the router's memory.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Served {
    /// The combo asked for; `None`: a direct request.
    pub combo: Option<Arc<str>>,
    /// Where the target stood in it.
    pub place: Option<Arc<Place>>,
    /// Where the first choice of its plan stood: one that was asked in its place is told so.
    pub first: Option<Arc<Place>>,
    /// The provider that was tried.
    pub provider: ProviderId,
    /// The connection that was tried.
    pub connection: ConnectionId,
    /// The model that was tried.
    pub model: ModelId,
    /// Time to the first byte, ms; `None`: no good answer came.
    pub first_byte_ms: Option<u32>,
    /// It speaks against the connection (core 4.7).
    pub failed: bool,
    /// What it tells of an account that is shared.
    pub news: News,
}

impl Handler<Served> for Router {
    type Result = ();

    fn handle(&mut self, served: Served, _: &mut Self::Context) {
        let Served { combo, place, first, provider, connection, model, first_byte_ms, failed, news } = served;
        let good = first_byte_ms.is_some();
        self.heard_of_session(news.session.as_ref(), (&provider, &connection), (good, failed));
        if good {
            self.shared(combo.as_ref(), &connection, &news);
        }
        let blueprint = self.seed.blueprint.load();
        if blueprint.catalogue.accounts.records_latency() {
            let sample = Sample { at: self.seed.links.clock.now(), first_byte_ms, failed };
            self.memory.latencies.record(&connection, &model, sample);
        }
        for place in known_places(place.as_deref(), &blueprint.catalogue) {
            let heard = policy::strategy::News {
                key: &place.key,
                entry: place.entry,
                of: place.of,
                first: ways(first.as_deref()).any(|first| first.is_same(place)),
                provider: &provider,
                connection: &connection,
                model: &model,
                good,
            };
            let made;
            let chooser = match blueprint.catalogue.combos.get(&place.combo) {
                Some(combo) => Chooser { strategy: combo.strategy, settings: &combo.settings },
                None => {
                    let Some(own) = auto::settings(&place.combo) else { continue };
                    let base = blueprint.catalogue.base.as_ref().map(|base| base.settings.clone());
                    let base = base.unwrap_or_default();
                    made = StrategySettings { auto: own.over(&base.auto), ..base };
                    Chooser { strategy: Auto.name(), settings: &made }
                }
            };
            if let Some(last_good) = self.memory.heard(&place.combo, chooser, &heard) {
                let owner = Owner::LastGood(place.combo.clone());
                self.seed.links.store.save(owner, last_good.map(Snapshot::LastGood));
            }
            let keeps = blueprint.catalogue.combos.get(&place.combo).is_some_and(|combo| combo.keeps_model);
            if let Some(session) = news.session.as_ref().filter(|_| keeps) {
                let (target, now) = ((provider.clone(), model.clone()), self.seed.links.clock.now());
                self.memory.models.heard((&place.combo, session), target, good, (news.asked_at, now));
            }
            let attempt = (self.seed.links.clock.now(), first_byte_ms);
            self.memory.served(place.combo.clone(), (provider.clone(), model.clone()), attempt);
        }
    }
}
