//! Which accounts have said that a window of their quota is used up (flow 2.17, 2.18).
//!
//! Only full windows are kept, so the store is small; it is bounded all the same, for clients
//! choose the names of models.

use std::collections::HashMap;

use crate::ids::{ConnectionId, ModelId};
use crate::time::Millis;

/// Windows that are remembered at most.
const MOST: usize = 1_024;

/// A window of an account's quota.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// `5h`
    Session,
    /// `7d`
    Week,
    /// `7d:<model>`
    WeekOf(ModelId),
}

impl Window {
    /// The window that a provider's label means: `session (5h)`, `weekly (7d)`, `weekly <m> (7d)`.
    pub fn of_label(label: &str) -> Option<Self> {
        match label {
            "session (5h)" => Some(Self::Session),
            "weekly (7d)" => Some(Self::Week),
            _ => {
                let model = label.strip_prefix("weekly ")?.strip_suffix(" (7d)")?.trim();
                (!model.is_empty()).then(|| Self::WeekOf(model.into()))
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Full {
    reset_at: Option<Millis>,
    /// When it was last looked at, in readings.
    turn: u64,
}

/// Full windows by account.
#[derive(Clone, Debug, Default)]
pub struct Buckets {
    full: HashMap<(ConnectionId, Window), Full>,
    turn: u64,
}

impl Buckets {
    /// Takes a reading: percent used, and when the window starts anew if that is known.
    pub fn read(
        &mut self,
        connection: &ConnectionId,
        window: Window,
        (used_percent, reset_at): (f64, Option<Millis>),
        now: Millis,
    ) {
        let key = (connection.clone(), window);
        if used_percent < 100.0 || !used_percent.is_finite() || reset_at.is_some_and(|at| at <= now) {
            self.full.remove(&key);
            return;
        }
        self.turn += 1;
        self.full.insert(key, Full { reset_at, turn: self.turn });
        if self.full.len() > MOST {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let oldest = self.full.iter().min_by_key(|(_, full)| full.turn).map(|(key, _)| key.clone());
        if let Some(key) = oldest {
            self.full.remove(&key);
        }
    }

    /// Whether this window is full now; one whose reset has come is forgotten.
    pub fn is_full(&mut self, connection: &ConnectionId, window: Window, now: Millis) -> bool {
        let key = (connection.clone(), window);
        let Some(full) = self.full.get_mut(&key) else { return false };
        if full.reset_at.is_some_and(|at| at <= now) {
            self.full.remove(&key);
            return false;
        }
        self.turn += 1;
        full.turn = self.turn;
        true
    }

    /// Whether any window that counts for this model is full now.
    pub fn is_saturated(&mut self, connection: &ConnectionId, model: &ModelId, now: Millis) -> bool {
        // Most processes never hear of a full window: no key is made for them.
        if self.full.is_empty() {
            return false;
        }
        let windows = [Window::Session, Window::Week, Window::WeekOf(model.clone())];
        windows.into_iter().any(|window| self.is_full(connection, window, now))
    }

    /// A connection that is gone.
    pub fn forget(&mut self, connection: &ConnectionId) {
        self.full.retain(|(of, _), _| of != connection);
    }

    /// Windows that are remembered.
    pub fn len(&self) -> usize {
        self.full.len()
    }

    /// Nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.full.is_empty()
    }
}
