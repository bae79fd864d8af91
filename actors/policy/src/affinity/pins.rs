//! Which account a session is tied to (rules 6.5 to 6.13).
//!
//! The router keeps them; what changes comes out as news for the store. Expired pins go when
//! others come, and their number is bounded: the one that was used longest ago makes room.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{ConnectionId, ProviderId};
use crate::time::{Millis, SECOND};

/// Pins that are kept.
const MOST: usize = 10_000;
/// A pin that is merely used is written so often at most, ms: a crash shortens it by no more.
const WRITTEN_EVERY_MS: Millis = 10 * SECOND;
/// Expired pins that go at once.
const SWEPT: usize = 16;

/// Whose pin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PinKey {
    /// The provider.
    pub provider: ProviderId,
    /// Key of the session, hashed.
    pub session: Arc<str>,
}

/// A tie of a session to an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The account.
    pub connection: ConnectionId,
    /// Epoch ms; a touch does not move it.
    pub created_at: Millis,
    /// Epoch ms.
    pub last_at: Millis,
    /// Epoch ms; from then on it is none.
    pub expires_at: Millis,
    /// Requests that it led.
    pub uses: u64,
}

/// A pin of a session, at one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// The provider.
    pub provider: ProviderId,
    /// The pin.
    pub pin: Pin,
    turn: u64,
    written_at: Millis,
}

impl Pinned {
    /// It has not expired.
    pub fn holds(&self, now: Millis) -> bool {
        now < self.pin.expires_at
    }
}

/// What has become of a pin; `None`: it is gone.
pub type PinNews = (PinKey, Option<Pin>);

/// All pins.
#[derive(Clone, Debug, Default)]
pub struct Pins {
    sessions: HashMap<Arc<str>, Vec<Pinned>>,
    /// By last use, and a number of its own.
    order: BTreeMap<(Millis, u64), PinKey>,
    turns: u64,
}

impl Pins {
    /// The pins of a session, also those that have expired.
    pub fn of(&self, session: &str) -> &[Pinned] {
        self.sessions.get(session).map_or(&[], Vec::as_slice)
    }

    /// The session was given this account: its pin is touched, or made anew.
    pub fn bind(
        &mut self,
        key: PinKey,
        connection: &ConnectionId,
        ttl_ms: Millis,
        now: Millis,
    ) -> Vec<PinNews> {
        let old = self.take(&key);
        let mut news = self.sweep(now);
        let kept = old.filter(|old| old.pin.connection == *connection && old.holds(now));
        let (created_at, uses, written_at) =
            kept.map_or((now, 0, None), |old| (old.pin.created_at, old.pin.uses, Some(old.written_at)));
        let pin = Pin {
            connection: connection.clone(),
            created_at,
            last_at: now,
            expires_at: now.saturating_add(ttl_ms),
            uses: uses + 1,
        };
        let fresh = written_at.filter(|at| now.saturating_sub(*at) < WRITTEN_EVERY_MS);
        if fresh.is_none() {
            news.push((key.clone(), Some(pin.clone())));
        }
        self.put(key, pin, fresh.unwrap_or(now));
        if self.order.len() > MOST {
            news.extend(self.oldest());
        }
        news
    }

    /// The account has failed the session; a pin to another one stays.
    pub fn unbind(&mut self, key: &PinKey, connection: &ConnectionId) -> Option<PinNews> {
        let pinned = self.of(&key.session).iter().find(|other| other.provider == key.provider)?;
        if pinned.pin.connection != *connection {
            return None;
        }
        self.take(key)?;
        Some((key.clone(), None))
    }

    /// An account that is gone.
    pub fn forget(&mut self, connection: &ConnectionId) -> Vec<PinNews> {
        let to_it = |(session, all): (&Arc<str>, &Vec<Pinned>)| {
            let of_it = all.iter().filter(|pinned| pinned.pin.connection == *connection);
            let key =
                |pinned: &Pinned| PinKey { provider: pinned.provider.clone(), session: session.clone() };
            of_it.map(key).collect::<Vec<_>>()
        };
        let gone: Vec<PinKey> = self.sessions.iter().flat_map(to_it).collect();
        gone.into_iter().filter(|key| self.take(key).is_some()).map(|key| (key, None)).collect()
    }

    /// A pin from the store; what has become of it, where it is of no use any more.
    pub fn restore(&mut self, key: PinKey, pin: Pin, now: Millis) -> Option<PinNews> {
        if now >= pin.expires_at || self.order.len() >= MOST {
            return Some((key, None));
        }
        self.put(key, pin, now);
        None
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.order.len()
    }

    fn put(&mut self, key: PinKey, pin: Pin, written_at: Millis) {
        self.turns += 1;
        let turn = self.turns;
        let pinned = Pinned { provider: key.provider.clone(), pin, turn, written_at };
        let at = (pinned.pin.last_at, turn);
        self.sessions.entry(key.session.clone()).or_default().push(pinned);
        self.order.insert(at, key);
    }

    fn take(&mut self, key: &PinKey) -> Option<Pinned> {
        let all = self.sessions.get_mut(&key.session)?;
        let place = all.iter().position(|pinned| pinned.provider == key.provider)?;
        let pinned = all.swap_remove(place);
        if all.is_empty() {
            self.sessions.remove(&key.session);
        }
        self.order.remove(&(pinned.pin.last_at, pinned.turn));
        Some(pinned)
    }

    /// A few of those that were used longest ago, if they have expired.
    fn sweep(&mut self, now: Millis) -> Vec<PinNews> {
        let mut news = Vec::new();
        while let Some((_, key)) = self.order.first_key_value().filter(|_| news.len() < SWEPT) {
            let mut own = self.of(&key.session).iter().filter(|pinned| pinned.provider == key.provider);
            if own.any(|pinned| pinned.holds(now)) {
                break;
            }
            news.extend(self.oldest());
        }
        news
    }

    fn oldest(&mut self) -> Option<PinNews> {
        let key = self.order.first_key_value()?.1.clone();
        self.take(&key)?;
        Some((key, None))
    }
}

#[cfg(test)]
mod tests;
