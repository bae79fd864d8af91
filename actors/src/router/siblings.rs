//! The router knows who shares an egress, from what connections publish (rules 4.6).

use actix::{Handler, Message};
use policy::ids::ConnectionId;

use super::Router;
use crate::connection::CoolWith;

/// A connection of a provider whose quota belongs to an address is limited.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct CoolSiblings {
    /// Who.
    pub from: ConnectionId,
    /// Its address.
    pub identity: String,
    /// What the others at that address are told.
    pub order: CoolWith,
}

impl Handler<CoolSiblings> for Router {
    type Result = ();

    fn handle(&mut self, news: CoolSiblings, _: &mut Self::Context) {
        let now = self.seed.links.clock.now();
        let blueprint = self.seed.blueprint.load();
        let shares = |id: &ConnectionId| {
            let numbers = blueprint.connections.get(id);
            numbers.is_some_and(|numbers| numbers.shares_egress) && *id != news.from
        };
        for (id, view) in self.board.connections.iter() {
            let seen = view.egress.as_ref();
            if shares(id) && seen.is_some_and(|seen| seen.shares(&news.identity, now)) {
                let sibling = self.seed.directory.connection(id);
                sibling.iter().for_each(|shared| shared.mailbox.post(news.order));
            }
        }
    }
}
