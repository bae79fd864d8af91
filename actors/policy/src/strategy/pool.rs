//! What a strategy may ask about the entries it orders.
//!
//! A trait and not a list of records: with a thousand targets a rule that compares two of them
//! must not pay for the facts of all.

use std::sync::Arc;

use crate::breaker::BreakerState;
use crate::catalogue::ModelEntry;
use crate::ids::{ConnectionId, ModelId, ProviderId};
use crate::reading::AccountReading;

/// What is known of a combo's model from its latest attempts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// Share of good answers, 0 to 1.
    pub success_rate: f64,
    /// Mean time to the first byte of good answers, ms; `None` without one.
    pub mean_ms: Option<f64>,
}

/// How its first-byte times are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// 95th percentile, ms.
    pub p95_ms: f64,
    /// Standard deviation, ms; `None` below two good answers.
    pub deviation_ms: Option<f64>,
    /// Good answers it is made from.
    pub samples: u32,
}

/// Entries by their index, in declared order.
pub trait Pool {
    /// How many there are.
    fn count(&self) -> usize;
    /// The execution key, unique in the combo (routing 0.4).
    fn key(&self, index: usize) -> &str;
    /// The same, to be kept.
    fn shared_key(&self, index: usize) -> Arc<str> {
        self.key(index).into()
    }
    /// The first entry with this key.
    fn find(&self, key: &Arc<str>) -> Option<usize> {
        (0..self.count()).find(|entry| *self.key(*entry) == **key)
    }
    /// Whether these are the keys of all entries, in declared order.
    fn is_of(&self, keys: &[Arc<str>]) -> bool {
        keys.len() == self.count()
            && (0..self.count()).zip(keys).all(|(entry, key)| *self.key(entry) == **key)
    }
    /// The provider; of an entry with several targets that of the first.
    fn provider(&self, index: usize) -> &ProviderId;
    /// The model; of an entry with several targets that of the first.
    fn model(&self, index: usize) -> &ModelId;
    /// The one account it is tied to.
    fn connection(&self, index: usize) -> Option<&ConnectionId>;
    /// Its declared share of a draw, 0 to 100.
    fn weight(&self, index: usize) -> f64;
    /// Somebody of it could be asked now (routing 4.2a).
    fn eligible(&self, index: usize) -> bool;
    /// Entries that could be asked now, and those that could not.
    fn able(&self) -> (Vec<usize>, Vec<usize>) {
        (0..self.count()).partition(|index| self.eligible(*index))
    }
    /// Its provider's breaker now.
    fn breaker(&self, index: usize) -> BreakerState;
    /// No breaker is anything but closed: whoever finds that need not ask for each.
    fn all_closed(&self) -> bool {
        false
    }
    /// Somebody has a record in this combo.
    fn has_records(&self) -> bool {
        true
    }
    /// Its record in this combo.
    fn metrics(&self, index: usize) -> Option<Metrics>;
    /// Share of its last 20 attempts in this combo that were good (decision 25).
    fn reliability(&self, index: usize) -> Option<f64>;
    /// How its first-byte times are spread; `None` without a good answer. Costs a sort.
    fn spread(&self, index: usize) -> Option<Spread>;
    /// Requests of this combo it was asked to serve since the start; `None`: never.
    fn uses(&self, index: usize) -> Option<u64>;
    /// Requests in flight on the connections it could use.
    fn in_flight(&self, index: usize) -> u32;
    /// Decision 34: the probability with which it keeps a draw it won.
    fn keeps_draw(&self, index: usize) -> f64;
    /// What the catalogue says of its model: prices, window, abilities.
    fn facts(&self, index: usize) -> Option<&ModelEntry>;
    /// What its account said of its quota; `None`: nothing, or no one account.
    fn reading(&self, index: usize) -> Option<&AccountReading>;
    /// What each one's account said of its quota.
    fn readings(&self) -> Vec<Option<&AccountReading>> {
        (0..self.count()).map(|index| self.reading(index)).collect()
    }
    /// The accounts of its provider that are in use.
    fn accounts(&self, index: usize) -> usize;
    /// Sessions seen lately on the account it would use first (decision 27a).
    fn sessions(&self, index: usize) -> u32;
    /// Several of these at once.
    fn seen(&self, index: usize) -> Seen<'_> {
        Seen {
            provider: self.provider(index),
            model: self.model(index),
            breaker: self.breaker(index),
            facts: self.facts(index),
            reading: self.reading(index),
            accounts: self.accounts(index),
            sessions: self.sessions(index),
        }
    }
}

/// What is seen of an entry at a glance; each as in [`Pool`].
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Its provider.
    pub provider: &'a ProviderId,
    /// Its model.
    pub model: &'a ModelId,
    /// Its provider's breaker now.
    pub breaker: BreakerState,
    /// What the catalogue says of its model.
    pub facts: Option<&'a ModelEntry>,
    /// What its account said of its quota.
    pub reading: Option<&'a AccountReading>,
    /// The accounts of its provider that are in use.
    pub accounts: usize,
    /// Sessions seen lately.
    pub sessions: u32,
}
