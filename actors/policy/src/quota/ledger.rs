//! What each key has used of its pool, in slots of ten minutes (flow 2.10, 2.15).
//!
//! A slot counts for as long as any part of it lies in the window, so a window is never taken
//! for emptier than it is. Slots older than the longest window are gone. A slot is what is
//! stored: one small record that changes, never the whole history.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::share::{Unit, UsageWindow};
use crate::time::{DAY, MINUTE, Millis};

/// Length of a slot.
pub const SLOT_MS: Millis = 10 * MINUTE;
/// Slots older than this are of no use to anybody.
const LONGEST_MS: Millis = 7 * DAY;

/// What was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests that were answered.
    pub requests: u64,
    /// Tokens, in and out.
    pub tokens: u64,
    /// US dollars.
    pub usd: f64,
}

impl Counts {
    fn add(&mut self, more: Self) {
        self.requests = self.requests.saturating_add(more.requests);
        self.tokens = self.tokens.saturating_add(more.tokens);
        // A stored number may be anything.
        self.usd += if more.usd.is_finite() && more.usd > 0.0 { more.usd } else { 0.0 };
    }

    fn of(&self, unit: Unit) -> f64 {
        match unit {
            Unit::Requests => self.requests as f64,
            Unit::Tokens => self.tokens as f64,
            Unit::Usd => self.usd,
            Unit::Percent => 0.0,
        }
    }
}

/// Names a slot of a key in a pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotKey {
    /// The pool's id.
    pub pool: Arc<str>,
    /// The key.
    pub key: Arc<str>,
    /// When it begins, epoch ms.
    pub start: Millis,
}

#[derive(Clone, Debug, Default)]
struct Series {
    /// Oldest first.
    slots: VecDeque<(Millis, Counts)>,
}

impl Series {
    fn add(&mut self, start: Millis, counts: Counts) -> Counts {
        // Nearly always the newest slot, or one after it.
        let at = self.slots.iter().rposition(|(other, _)| *other <= start);
        match at {
            Some(at) if self.slots[at].0 == start => {
                self.slots[at].1.add(counts);
                return self.slots[at].1;
            }
            Some(at) => self.slots.insert(at + 1, (start, counts)),
            None => self.slots.push_front((start, counts)),
        }
        counts
    }

    fn expire(&mut self, now: Millis) -> Vec<Millis> {
        let gone = self.slots.iter().take_while(|(start, _)| !lies_in(*start, LONGEST_MS, now)).count();
        self.slots.drain(..gone).map(|(start, _)| start).collect()
    }

    fn sum(&self, unit: Unit, window_ms: Millis, now: Millis) -> f64 {
        let newest_first = self.slots.iter().rev();
        newest_first
            .take_while(|(start, _)| lies_in(*start, window_ms, now))
            .map(|(_, counts)| counts.of(unit))
            .sum()
    }

    /// When so much will have left the window that less than `below` remains.
    fn falls_below(&self, below: f64, unit: Unit, window_ms: Millis, now: Millis) -> Option<Millis> {
        let mut left = self.sum(unit, window_ms, now);
        for (start, counts) in self.slots.iter().filter(|(start, _)| lies_in(*start, window_ms, now)) {
            left -= counts.of(unit);
            if left < below {
                return Some(start.saturating_add(SLOT_MS).saturating_add(window_ms));
            }
        }
        None
    }
}

/// Any part of the slot lies in the window that ends at `now`.
fn lies_in(start: Millis, window_ms: Millis, now: Millis) -> bool {
    start.saturating_add(SLOT_MS).saturating_add(window_ms) > now
}

/// What keys have used, by pool.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    keys: HashMap<(Arc<str>, Arc<str>), Series>,
    pools: HashMap<Arc<str>, Series>,
}

/// A slot as it is now, and those of the same key that have become too old.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The slot that was written to.
    pub slot: SlotKey,
    /// What it holds.
    pub counts: Counts,
    /// Slots that are gone.
    pub gone: Vec<SlotKey>,
}

impl Ledger {
    /// Adds what a key has used of a pool.
    pub fn record(&mut self, pool: &Arc<str>, key: &Arc<str>, counts: Counts, now: Millis) -> Recorded {
        let start = now - now % SLOT_MS;
        let slot = |start| SlotKey { pool: pool.clone(), key: key.clone(), start };
        let of_pool = self.pools.entry(pool.clone()).or_default();
        of_pool.add(start, counts);
        of_pool.expire(now);
        let of_key = self.keys.entry((pool.clone(), key.clone())).or_default();
        let counts = of_key.add(start, counts);
        let gone = of_key.expire(now).into_iter().map(slot).collect();
        Recorded { slot: slot(start), counts, gone }
    }

    /// Takes a slot back from the store; false when it is too old to matter.
    pub fn restore(&mut self, slot: &SlotKey, counts: Counts, now: Millis) -> bool {
        if !lies_in(slot.start, LONGEST_MS, now) {
            return false;
        }
        self.keys.entry((slot.pool.clone(), slot.key.clone())).or_default().add(slot.start, counts);
        self.pools.entry(slot.pool.clone()).or_default().add(slot.start, counts);
        true
    }

    /// What a key has used of a pool in the window that ends now.
    pub fn used(&self, pool: &Arc<str>, key: &Arc<str>, what: (Unit, UsageWindow), now: Millis) -> f64 {
        let series = self.keys.get(&(pool.clone(), key.clone()));
        series.map_or(0.0, |series| series.sum(what.0, what.1.length_ms(), now))
    }

    /// What all keys have used of it.
    pub fn used_by_all(&self, pool: &Arc<str>, what: (Unit, UsageWindow), now: Millis) -> f64 {
        self.pools.get(pool).map_or(0.0, |series| series.sum(what.0, what.1.length_ms(), now))
    }

    /// When less than `below` will be used, by the key or, without one, by all.
    pub fn falls_below(
        &self,
        below: f64,
        (pool, key): (&Arc<str>, Option<&Arc<str>>),
        what: (Unit, UsageWindow),
        now: Millis,
    ) -> Option<Millis> {
        let series = match key {
            Some(key) => self.keys.get(&(pool.clone(), key.clone())),
            None => self.pools.get(pool),
        };
        series?.falls_below(below, what.0, what.1.length_ms(), now)
    }

    /// Forgets pools that are gone; the slots that the store still has.
    pub fn retain(&mut self, lives: impl Fn(&str) -> bool) -> Vec<SlotKey> {
        self.pools.retain(|pool, _| lives(pool));
        let mut gone = Vec::new();
        self.keys.retain(|(pool, key), series| {
            let stays = lives(pool);
            if !stays {
                let slot = |(start, _): &(Millis, Counts)| SlotKey {
                    pool: pool.clone(),
                    key: key.clone(),
                    start: *start,
                };
                gone.extend(series.slots.iter().map(slot));
            }
            stays
        });
        gone
    }
}
