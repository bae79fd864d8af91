//! Who made which response (FC-101): told by whoever relayed an answer, asked when a later request
//! goes on from it.
//!
//! A tie like a session's, and stored like one, but none that an account could lose by failing:
//! nobody else knows the response.

use std::sync::Arc;

use actix::{Handler, Message};
use policy::affinity::PinKey;
use policy::ids::{ConnectionId, ProviderId};
use policy::time::{MINUTE, Millis};

use super::Router;
use super::sessions::save;

/// How long a response is known where sessions are not, ms.
const USUAL_MS: Millis = 30 * MINUTE;

/// An account has made a response.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Made {
    /// Key of the response, hashed.
    pub response: Arc<str>,
    /// Its provider.
    pub provider: ProviderId,
    /// The account.
    pub connection: ConnectionId,
}

impl Handler<Made> for Router {
    type Result = ();

    fn handle(&mut self, Made { response, provider, connection }: Made, _: &mut Self::Context) {
        let sessions_ms = self.seed.blueprint.load().catalogue.accounts.affinity_ttl_ms;
        let ttl_ms = if sessions_ms == 0 { USUAL_MS } else { sessions_ms };
        let now = self.seed.links.clock.now();
        let key = PinKey { provider, session: response };
        save(&self.seed.links.store, self.sessions.answers.bind(key, &connection, ttl_ms, now));
    }
}
