//! What the router knows of leases: whom it would offer to somebody who wants one, and what the
//! board shows of those that are held (rules 7.4, 7.5).

use std::sync::Arc;

use actix::{Context, Handler, Message};
use policy::catalogue::Dialect;
use policy::ids::{ConnectionId, ProviderId};
use policy::lease::{EndReason, Fence, Lack, OwnerHash, Row, lack, move_reason, unsupported};
use policy::plan::{Excluded, NoPlan, Plan};
use policy::time::Millis;

use super::Router;
use super::pick::Pick;
use crate::connection::Vacated;

/// Dialects in which a lease may be used: it is asked for in none.
const DIALECTS: [Dialect; 4] = [Dialect::Openai, Dialect::Anthropic, Dialect::Responses, Dialect::Gemini];

/// Asks whom an owner may lease for a model.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Offered, NoPlan>")]
pub struct Offer {
    /// Who asks.
    pub owner: OwnerHash,
    /// The name of its key.
    pub key: Arc<str>,
    /// The connections that the key may use.
    pub allowed: Arc<[ConnectionId]>,
    /// Of these, those that are tried before the others; `None`: none.
    pub preferred: Option<Arc<[ConnectionId]>>,
    /// The model as the client wrote it.
    pub model: Arc<str>,
    /// The key may only ask for the models of its pools.
    pub limited: bool,
}

/// Whom an owner may lease.
#[derive(Clone, Debug)]
pub struct Offered {
    /// In the order in which they are claimed.
    pub targets: Vec<(ProviderId, ConnectionId)>,
    /// The lease it has already.
    pub bound: Option<Row>,
    /// Why that is not among them.
    pub moves: EndReason,
    /// Why there are none.
    pub lack: Lack,
    /// The model may ask several accounts for one answer (rules 7.6.6).
    pub unsupported: bool,
}

/// The lease of a connection has begun, has ended, or its time has changed.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Tenancy {
    pub(crate) connection: ConnectionId,
    pub(crate) over: Option<(EndReason, Millis)>,
}

impl Router {
    /// Plans in every dialect, as one.
    fn plan_leases(&mut self, offer: &Offer, allowed: &Arc<[ConnectionId]>) -> Result<Plan, NoPlan> {
        let mut whole: Option<Plan> = None;
        let mut none = NoPlan::UnknownModel;
        for dialect in DIALECTS {
            let pick = Pick {
                allowed: Some(allowed.clone()),
                preferred: offer.preferred.clone(),
                key: Some(offer.key.clone()),
                limited: offer.limited,
                lease: Some(Fence { owner: offer.owner.clone(), generation: 0, key: offer.key.to_string() }),
                ..Pick::new(offer.model.clone(), dialect)
            };
            // A lease is a choice like any other: the next one is thrown anew.
            let mut dice = self.dice.clone();
            let planned = self.plan_within(&pick, Some(allowed), &mut dice);
            self.dice = dice;
            match (planned, &mut whole) {
                (Ok((plan, _)), None) => whole = Some(plan),
                (Ok((plan, _)), Some(whole)) => {
                    whole.targets.extend(plan.targets);
                    whole.excluded.extend(plan.excluded);
                }
                (Err(no_plan), _) => none = no_plan,
            }
        }
        whole.ok_or(none)
    }

    /// The key may use a connection of the target's provider.
    fn is_own(&self, target: &Excluded, allowed: &[ConnectionId]) -> bool {
        let blueprint = self.seed.blueprint.load();
        let provider = blueprint.catalogue.providers.get(&target.provider);
        provider.is_some_and(|provider| {
            provider.connections.iter().any(|entry| entry.usable && allowed.contains(&entry.id))
        })
    }

    fn offer(&mut self, offer: &Offer) -> Result<Offered, NoPlan> {
        let now = self.seed.links.clock.now();
        let bound = self.seed.links.router.leases.active(&offer.owner, now);
        let own = bound.as_ref().map(|row| row.connection.clone()).filter(|id| offer.allowed.contains(id));
        let mut plan = match own {
            Some(own) => {
                Some(self.plan_leases(offer, &[own].into())?).filter(|plan| !plan.targets.is_empty())
            }
            None => None,
        };
        if plan.is_none() {
            plan = Some(self.plan_leases(offer, &offer.allowed)?);
        }
        let plan = plan.expect("it was just made");
        let mut targets: Vec<(ProviderId, ConnectionId)> = Vec::new();
        for target in &plan.targets {
            let target = (target.provider.clone(), target.connection.clone());
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        let moves = bound
            .as_ref()
            .map_or(EndReason::ConnectionIneligible, |row| move_reason(&plan.excluded, &row.connection));
        let lack = lack(&plan.excluded, |target| self.is_own(target, &offer.allowed));
        let unsupported = is_unsupported(&plan);
        Ok(Offered { targets, bound, moves, lack, unsupported })
    }
}

/// Whether a plan may ask several accounts for one answer (rules 7.6.6).
pub(crate) fn is_unsupported(plan: &Plan) -> bool {
    unsupported(plan.strategy, plan.pool_size, plan.attempts.hedge_delay_ms.is_some())
}

impl Handler<Offer> for Router {
    type Result = Result<Offered, NoPlan>;

    fn handle(&mut self, offer: Offer, _: &mut Self::Context) -> Self::Result {
        Router::offer(self, &offer)
    }
}

impl Handler<Tenancy> for Router {
    type Result = ();

    fn handle(&mut self, Tenancy { connection, over }: Tenancy, ctx: &mut Context<Self>) {
        let now = self.seed.links.clock.now();
        let lease = self.seed.links.router.leases.view(&connection, now);
        if self.board.connections.get(&connection).is_some_and(|view| view.lease != lease) {
            self.board.connections.change(&connection, |view| view.lease = lease);
            self.fold(ctx);
        }
        if let (Some((why, at)), Some(shared)) = (over, self.seed.directory.connection(&connection)) {
            shared.mailbox.post(Vacated(why, at));
        }
    }
}
