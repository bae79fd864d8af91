//! Sessions: which account each is tied to, and how many an account has seen (rules 6,
//! decision 27a).
//!
//! A pin is written when a plan is taken, so that the next request of the session finds it before
//! this one is answered. It ends when its account fails; whoever serves the session then is its
//! next account. Pins are stored under hashed keys and come back after a restart.

use std::sync::Arc;

use policy::affinity::{OF_RESPONSE, Occupancy, Pin, PinKey, PinNews, Pins};
use policy::ids::{Class, ConnectionId, ProviderId};
use policy::plan::Plan;
use policy::time::Millis;

use super::Router;
use crate::messages::{Owner, Snapshot, StoreLink};

/// What the router remembers of sessions.
#[derive(Default)]
pub(super) struct Sessions {
    pub(super) pins: Pins,
    /// Who made which response (FC-101).
    pub(super) answers: Pins,
    pub(super) occupancy: Occupancy,
}

impl Sessions {
    /// What the store had; what has expired is taken out of it.
    pub(super) fn restored(pins: Vec<(PinKey, Pin)>, store: &StoreLink, now: Millis) -> Self {
        let mut sessions = Self::default();
        let gone = pins.into_iter().filter_map(|(key, pin)| {
            let of_response = key.session.starts_with(OF_RESPONSE);
            let own = if of_response { &mut sessions.answers } else { &mut sessions.pins };
            own.restore(key, pin, now)
        });
        save(store, gone.collect());
        sessions
    }

    /// A connection that is gone.
    pub(super) fn forget(&mut self, connection: &ConnectionId, store: &StoreLink) {
        self.occupancy.forget(connection);
        save(store, self.pins.forget(connection));
        save(store, self.answers.forget(connection));
    }
}

pub(super) fn save(store: &StoreLink, news: Vec<PinNews>) {
    for (key, pin) in news {
        store.save(Owner::Pin(key), pin.map(Snapshot::Pin));
    }
}

impl Router {
    /// The session stays with the account that its plan begins with.
    pub(super) fn seat(&mut self, plan: &Plan, session: Option<&Arc<str>>) {
        let (Some(session), Some(first)) = (session, plan.targets.first()) else { return };
        let ttl_ms = self.seed.blueprint.load().catalogue.accounts.affinity_ttl_ms;
        if ttl_ms == 0 {
            return;
        }
        let now = self.seed.links.clock.now();
        if first.class == Class::Oauth {
            self.sessions.occupancy.saw(&first.connection, session, now);
        }
        let key = PinKey { provider: first.provider.clone(), session: session.clone() };
        let news = self.sessions.pins.bind(key, &first.connection, ttl_ms, now);
        save(&self.seed.links.store, news);
    }

    /// An attempt of a session has served it, or has failed.
    pub(super) fn heard_of_session(
        &mut self,
        session: Option<&Arc<str>>,
        (provider, connection): (&ProviderId, &ConnectionId),
        (good, failed): (bool, bool),
    ) {
        let Some(session) = session else { return };
        let key = PinKey { provider: provider.clone(), session: session.clone() };
        let now = self.seed.links.clock.now();
        let ttl_ms = self.seed.blueprint.load().catalogue.accounts.affinity_ttl_ms;
        let mut own = self.sessions.pins.of(session).iter();
        let is_pinned = own.any(|pinned| pinned.provider == *provider && pinned.holds(now));
        let news: Vec<PinNews> = match (good, failed) {
            // It may have waited in a line of another account: its pin stays where it is.
            (true, _) if !is_pinned && ttl_ms > 0 => self.sessions.pins.bind(key, connection, ttl_ms, now),
            (false, true) => self.sessions.pins.unbind(&key, connection).into_iter().collect(),
            _ => return,
        };
        save(&self.seed.links.store, news);
    }
}
