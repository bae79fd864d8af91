//! Picking: one pure call on board, memory, `now` and dice.

use std::sync::Arc;

use actix::{Handler, Message};
use policy::catalogue::Dialect;
use policy::ids::{ConnectionId, ModelId, ProviderId};
use policy::plan::{Ask, NoPlan, Plan, World, plan};

use super::Router;
use super::memory::{Remembered, Seeded};

/// Asks for the targets of one request.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Plan, NoPlan>")]
pub struct Pick {
    /// The model as the client wrote it.
    pub model: Arc<str>,
    /// The dialect it speaks.
    pub dialect: Dialect,
    /// The connections its key may use; `None`: all.
    pub allowed: Option<Arc<[ConnectionId]>>,
}

impl Handler<Pick> for Router {
    type Result = Result<Plan, NoPlan>;

    fn handle(&mut self, pick: Pick, _: &mut Self::Context) -> Self::Result {
        let blueprint = self.seed.blueprint.load();
        let memory = Remembered { memory: &self.memory, directory: &self.seed.directory };
        let world = World {
            catalogue: &blueprint.catalogue,
            board: &self.board,
            memory: &memory,
            now: self.seed.links.clock.now(),
        };
        let ask = Ask { model: &pick.model, dialect: pick.dialect, allowed: pick.allowed.as_deref() };
        plan(&ask, world, &mut Seeded(&mut self.dice))
    }
}

/// How an attempt of a combo went, for the router's memory.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Served {
    /// The combo asked for.
    pub combo: Arc<str>,
    /// The provider that was tried.
    pub provider: ProviderId,
    /// The model that was tried.
    pub model: ModelId,
    /// Time to the first byte, ms; `None`: it failed.
    pub first_byte_ms: Option<u32>,
}

impl Handler<Served> for Router {
    type Result = ();

    fn handle(&mut self, served: Served, _: &mut Self::Context) {
        self.memory.served(served.combo, (served.provider, served.model), served.first_byte_ms);
    }
}
