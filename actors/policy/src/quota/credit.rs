//! What each account of a shared model is owed: deficit round robin (flow 2.20, decision 16).
//!
//! The pick charges the account that goes first; when another one serves in the end, the charge
//! moves there. Credits are kept between picks, and bounded: an account that requests in
//! flight keep away from its share is not owed for ever.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::ids::ConnectionId;

/// Combos that are remembered.
const MOST_COMBOS: usize = 200;
/// Accounts of a combo that are remembered; more than a request may try.
const MOST_ACCOUNTS: usize = 64;
/// The most requests that an account can be owed, or owe.
pub(super) const MOST_CREDIT: f64 = 8.0;

/// Credits by combo and account.
#[derive(Clone, Debug, Default)]
pub struct Credits {
    combos: HashMap<Arc<str>, HashMap<ConnectionId, f64>>,
    /// Combos by age, oldest first.
    order: VecDeque<Arc<str>>,
}

impl Credits {
    /// What an account is owed; below zero: what it owes.
    pub fn of(&self, combo: &str, connection: &ConnectionId) -> f64 {
        self.combos.get(combo).and_then(|credits| credits.get(connection)).copied().unwrap_or(0.0)
    }

    pub(super) fn add(&mut self, combo: &Arc<str>, connection: &ConnectionId, by: f64) {
        if !self.combos.contains_key(combo) {
            self.make_room();
            self.order.push_back(combo.clone());
        }
        let credits = self.combos.entry(combo.clone()).or_default();
        if credits.len() >= MOST_ACCOUNTS && !credits.contains_key(connection) {
            // Members come and go: those of long ago make room together.
            credits.clear();
        }
        let credit = credits.entry(connection.clone()).or_default();
        *credit = (*credit + by).clamp(-MOST_CREDIT, MOST_CREDIT);
    }

    fn make_room(&mut self) {
        if self.combos.len() >= MOST_COMBOS
            && let Some(oldest) = self.order.pop_front()
        {
            self.combos.remove(&oldest);
        }
    }

    /// The account `to` served what was charged to `from`.
    pub fn moved(&mut self, combo: &Arc<str>, from: &ConnectionId, to: &ConnectionId) {
        if from != to && self.combos.contains_key(combo) {
            self.add(combo, from, 1.0);
            self.add(combo, to, -1.0);
        }
    }

    /// A connection that is gone.
    pub fn forget(&mut self, connection: &ConnectionId) {
        for credits in self.combos.values_mut() {
            credits.remove(connection);
        }
    }

    /// Combos that are remembered.
    pub fn len(&self) -> usize {
        self.combos.len()
    }

    /// Nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.combos.is_empty()
    }
}
