//! A written table of entries, for the worked examples.

use std::sync::Arc;

use crate::breaker::BreakerState;
use crate::catalogue::ModelEntry;
use crate::dice::Dice;
use crate::ids::{ConnectionId, ModelId, ProviderId};
use crate::reading::AccountReading;
use crate::request::Traits;
use crate::strategy::{ComboState, Field, Metrics, News, Pool, Ranked, Spread, Strategy, StrategySettings};
use crate::time::Millis;

/// One entry, healthy and unknown unless said otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub key: Arc<str>,
    pub provider: ProviderId,
    pub model: ModelId,
    pub connection: Option<ConnectionId>,
    pub weight: f64,
    pub eligible: bool,
    pub breaker: BreakerState,
    pub metrics: Option<Metrics>,
    pub reliability: Option<f64>,
    pub spread: Option<Spread>,
    pub uses: Option<u64>,
    pub in_flight: u32,
    pub keeps_draw: f64,
    pub facts: Option<ModelEntry>,
    pub reading: Option<AccountReading>,
    pub accounts: usize,
    pub sessions: u32,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            key: "".into(),
            provider: "".into(),
            model: "m".into(),
            connection: None,
            weight: 0.0,
            eligible: true,
            breaker: BreakerState::Closed,
            metrics: None,
            reliability: None,
            spread: None,
            uses: None,
            in_flight: 0,
            keeps_draw: 1.0,
            facts: None,
            reading: None,
            accounts: 1,
            sessions: 0,
        }
    }
}

impl Facts {
    /// An entry called `key`, at a provider of the same name.
    pub fn named(key: &str) -> Self {
        Self { key: key.into(), provider: key.into(), ..Self::default() }
    }
}

/// Entries, and the rest of what a strategy looks at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub rows: Vec<Facts>,
    pub state: ComboState,
    pub settings: StrategySettings,
    pub request: Traits,
    pub now: Millis,
}

impl Table {
    /// These entries; those without a name are called A, B, C by their place.
    pub fn of(mut rows: Vec<Facts>) -> Self {
        for (index, row) in rows.iter_mut().enumerate().filter(|(_, row)| row.key.is_empty()) {
            let name = char::from(b'A' + index as u8).to_string();
            (row.key, row.provider) = (name.as_str().into(), name.as_str().into());
        }
        Self { rows, ..Self::default() }
    }

    /// What a strategy may look at.
    pub fn field(&self) -> Field<'_> {
        Field {
            pool: self,
            state: &self.state,
            settings: &self.settings,
            request: &self.request,
            now: self.now,
        }
    }

    /// The names of entries in this order.
    pub fn names(&self, order: &[usize]) -> String {
        order.iter().map(|index| &*self.rows[*index].key).collect()
    }

    /// What the strategy would say; nothing is remembered.
    pub fn rank(&self, strategy: &dyn Strategy, dice: &mut dyn Dice) -> Ranked {
        strategy.rank(&self.field(), dice)
    }

    /// The names in the order of a real request: what it changes is remembered, and the first
    /// that can be asked counts as used.
    pub fn take(&mut self, strategy: &dyn Strategy, dice: &mut dyn Dice) -> Vec<String> {
        let ranked = self.rank(strategy, dice);
        for note in ranked.notes {
            self.state.take(note);
        }
        if let Some(first) = ranked.order.iter().find(|index| self.rows[**index].eligible) {
            self.state.used(&self.rows[*first].key);
        }
        ranked.order.iter().map(|index| self.rows[*index].key.to_string()).collect()
    }

    /// How an attempt on an entry ended.
    pub fn hear(&mut self, strategy: &dyn Strategy, entry: usize, first: bool, good: bool) {
        let row = self.rows[entry].clone();
        let unknown = ConnectionId::from("");
        let news = News {
            key: &row.key,
            entry,
            of: self.rows.len(),
            first,
            provider: &row.provider,
            connection: row.connection.as_ref().unwrap_or(&unknown),
            model: &row.model,
            good,
        };
        if !first {
            self.state.used(&row.key);
        }
        strategy.heard(&mut self.state, &news, &self.settings);
    }
}

impl Pool for Table {
    fn count(&self) -> usize {
        self.rows.len()
    }

    fn key(&self, index: usize) -> &str {
        &self.rows[index].key
    }

    fn provider(&self, index: usize) -> &ProviderId {
        &self.rows[index].provider
    }

    fn model(&self, index: usize) -> &ModelId {
        &self.rows[index].model
    }

    fn connection(&self, index: usize) -> Option<&ConnectionId> {
        self.rows[index].connection.as_ref()
    }

    fn weight(&self, index: usize) -> f64 {
        self.rows[index].weight
    }

    fn eligible(&self, index: usize) -> bool {
        self.rows[index].eligible
    }

    fn breaker(&self, index: usize) -> BreakerState {
        self.rows[index].breaker
    }

    fn metrics(&self, index: usize) -> Option<Metrics> {
        self.rows[index].metrics
    }

    fn reliability(&self, index: usize) -> Option<f64> {
        self.rows[index].reliability
    }

    fn spread(&self, index: usize) -> Option<Spread> {
        self.rows[index].spread
    }

    fn uses(&self, index: usize) -> Option<u64> {
        self.rows[index].uses
    }

    fn in_flight(&self, index: usize) -> u32 {
        self.rows[index].in_flight
    }

    fn keeps_draw(&self, index: usize) -> f64 {
        self.rows[index].keeps_draw
    }

    fn facts(&self, index: usize) -> Option<&ModelEntry> {
        self.rows[index].facts.as_ref()
    }

    fn reading(&self, index: usize) -> Option<&AccountReading> {
        self.rows[index].reading.as_ref()
    }

    fn accounts(&self, index: usize) -> usize {
        self.rows[index].accounts
    }

    fn sessions(&self, index: usize) -> u32 {
        self.rows[index].sessions
    }
}
