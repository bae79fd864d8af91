//! What the router remembers of its own picks: records of answers per combo and model, how
//! each account was picked, and how fast it answered lately. Not a part of the board, not
//! stored: it is learnt anew in a minute.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use policy::account::Usage;
use policy::affinity::Pinned;
use policy::dice::Dice;
use policy::ids::{ById, ConnectionId, ModelId, ProviderId};
use policy::latency::{Latencies, Latency};
use policy::plan::Memory;
use policy::quota::Leases;
use policy::reading::{AccountReading, Readings};
use policy::session_model::SessionModels;
use policy::strategy::{self, ComboState, LastGood, Metrics, News, Note, Spread, StrategySettings};
use policy::time::{MINUTE, Millis};

use super::sessions::Sessions;
use super::share::lock;
use crate::directory::Directory;

/// Attempts a record remembers.
const WINDOW: usize = 100;
/// How long an attempt counts, ms.
const MEMORY_MS: Millis = 10 * MINUTE;
/// Those of them that speak of its reliability (decision 25).
const RECENT: usize = 20;

#[derive(Default)]
struct Record {
    /// When, and the first-byte time of a good answer in ms, `None` for a failure; newest last.
    attempts: VecDeque<(Millis, Option<u32>)>,
    /// What they come to, and from when until when that holds, epoch ms: a pick among many asks each.
    summary: Cell<Option<(Millis, Millis, Option<Summary>)>>,
}

/// What the attempts of a record come to.
#[derive(Clone, Copy)]
struct Summary {
    metrics: Metrics,
    reliability: f64,
    spread: Option<Spread>,
}

impl Record {
    /// What still counts: whoever failed long ago is asked again, and not for ever the worst.
    fn lately(&self, now: Millis) -> impl DoubleEndedIterator<Item = Option<u32>> {
        let old = self.attempts.partition_point(|(at, _)| at.saturating_add(MEMORY_MS) <= now);
        self.attempts.range(old..).map(|(_, first_byte_ms)| *first_byte_ms)
    }

    fn add(&mut self, at: Millis, first_byte_ms: Option<u32>) {
        if self.attempts.len() == WINDOW {
            self.attempts.pop_front();
        }
        self.attempts.push_back((at, first_byte_ms));
        self.summary.set(None);
    }

    /// `None`: no attempt counts.
    fn summary(&self, now: Millis) -> Option<Summary> {
        let holds = |(from, until, _): &(Millis, Millis, _)| (*from..*until).contains(&now);
        if let Some((_, _, known)) = self.summary.get().filter(holds) {
            return known;
        }
        let made = self.sum_up(now);
        let ends = self.attempts.iter().map(|(at, _)| at.saturating_add(MEMORY_MS)).find(|end| *end > now);
        self.summary.set(Some((now, ends.unwrap_or(Millis::MAX), made)));
        made
    }

    fn sum_up(&self, now: Millis) -> Option<Summary> {
        let (mut count, mut good, mut sum) = (0_u32, 0_u32, 0.0);
        for first_byte_ms in self.lately(now) {
            count += 1;
            if let Some(ms) = first_byte_ms {
                good += 1;
                sum += f64::from(ms);
            }
        }
        let recent = || self.lately(now).rev().take(RECENT);
        (count > 0).then(|| Summary {
            metrics: Metrics {
                success_rate: f64::from(good) / f64::from(count),
                mean_ms: (good > 0).then(|| sum / f64::from(good)),
            },
            reliability: recent().flatten().count() as f64 / recent().count() as f64,
            spread: self.spread(now),
        })
    }

    fn spread(&self, now: Millis) -> Option<Spread> {
        let mut good: Vec<u32> = self.lately(now).flatten().collect();
        let place = (good.len() * 95).div_ceil(100).checked_sub(1)?;
        let p95 = *good.select_nth_unstable(place).1;
        let mean = good.iter().copied().map(f64::from).sum::<f64>() / good.len() as f64;
        let squares: f64 = good.iter().map(|ms| (f64::from(*ms) - mean).powi(2)).sum();
        let deviation_ms = (good.len() > 1).then(|| (squares / good.len() as f64).sqrt());
        Some(Spread { p95_ms: p95.into(), deviation_ms, samples: good.len() as u32 })
    }
}

/// Records of one combo, by provider: of each it asks for few models.
type Records = ById<ProviderId, Vec<(ModelId, Record)>>;

/// How a combo chooses.
#[derive(Clone, Copy)]
pub(super) struct Chooser<'a> {
    pub(super) strategy: &'a str,
    pub(super) settings: &'a StrategySettings,
}

/// The router's records.
#[derive(Default)]
pub(super) struct RoutingMemory {
    records: ById<Arc<str>, Records>,
    /// How fast and how well each account answered.
    pub(super) latencies: Latencies,
    /// What each account said of its quota.
    pub(super) readings: Readings,
    usage: HashMap<ConnectionId, Usage>,
    /// Picks so far.
    turns: u64,
    /// The account of each provider that was picked last.
    last: HashMap<ProviderId, ConnectionId>,
    /// Which model of a combo each session stays with.
    pub(super) models: SessionModels,
    /// What each combo's strategy remembers.
    combos: HashMap<Arc<str>, ComboState>,
}

impl RoutingMemory {
    /// A memory that knows who served each combo last.
    pub(super) fn restored(last_good: Vec<(Arc<str>, LastGood)>) -> Self {
        let state = |last_good| ComboState { last_good: Some(last_good), ..ComboState::default() };
        let combos = last_good.into_iter().map(|(combo, good)| (combo, state(good))).collect();
        Self { combos, ..Self::default() }
    }

    pub(super) fn served(
        &mut self,
        combo: Arc<str>,
        (provider, model): (ProviderId, ModelId),
        (at, first_byte_ms): (Millis, Option<u32>),
    ) {
        let models = self.records.entry(combo).or_default().entry(provider).or_default();
        if let Some((_, record)) = models.iter_mut().find(|(known, _)| *known == model) {
            return record.add(at, first_byte_ms);
        }
        let mut record = Record::default();
        record.add(at, first_byte_ms);
        models.push((model, record));
    }

    /// A plan was taken.
    pub(super) fn note(&mut self, combo: &Arc<str>, note: Note) {
        self.combos.entry(combo.clone()).or_default().take(note);
    }

    /// An entry of a combo is asked first.
    pub(super) fn asked(&mut self, combo: &Arc<str>, key: &Arc<str>) {
        self.combos.entry(combo.clone()).or_default().used(key);
    }

    /// How an attempt on an entry of a combo ended; the pick has counted the first choice.
    ///
    /// Answers the last good target when that has changed.
    pub(super) fn heard(
        &mut self,
        name: &Arc<str>,
        combo: Chooser<'_>,
        news: &News<'_>,
    ) -> Option<Option<LastGood>> {
        let state = self.combos.entry(name.clone()).or_default();
        if !news.first {
            state.used(news.key);
        }
        let rule = strategy::find(combo.strategy)?;
        let before = state.last_good.clone();
        rule.heard(state, news, combo.settings);
        (state.last_good != before).then(|| state.last_good.clone())
    }

    /// A pick put this account first: the run of the one before it is over.
    pub(super) fn used(&mut self, provider: &ProviderId, connection: &ConnectionId, now: Millis) {
        let before = self.last.insert(provider.clone(), connection.clone());
        if let Some(other) = before.filter(|before| before != connection) {
            self.usage.entry(other).or_default().consecutive = 0;
        }
        self.turns += 1;
        let usage = self.usage.entry(connection.clone()).or_default();
        let consecutive = usage.consecutive.saturating_add(1);
        *usage = Usage { consecutive, last_at: Some(now), turn: self.turns };
    }

    /// A connection that is gone.
    pub(super) fn forget(&mut self, connection: &ConnectionId) {
        self.usage.remove(connection);
        self.latencies.forget(connection);
        self.readings.forget(connection);
        self.last.retain(|_, last| last != connection);
    }

    fn summary(&self, combo: &str, provider: &ProviderId, model: &ModelId, now: Millis) -> Option<Summary> {
        let models = self.records.get(combo)?.get(provider)?;
        models.iter().find(|(known, _)| known == model)?.1.summary(now)
    }
}

/// The records together with the live slots: what `policy::plan` may ask.
pub(super) struct Remembered<'a> {
    pub(super) memory: &'a RoutingMemory,
    pub(super) sessions: &'a Sessions,
    pub(super) directory: &'a Directory,
    /// Requests that were given an account and do not hold its slot yet.
    pub(super) picked: &'a Mutex<Leases>,
    /// Epoch ms.
    pub(super) now: Millis,
}

impl Memory for Remembered<'_> {
    fn in_flight(&self, connection: &ConnectionId) -> u32 {
        let held = self.directory.connection(connection).map_or(0, |shared| shared.in_flight());
        held.saturating_add(lock(self.picked).count(connection, self.now))
    }

    fn metrics(&self, combo: &str, provider: &ProviderId, model: &ModelId) -> Option<Metrics> {
        Some(self.memory.summary(combo, provider, model, self.now)?.metrics)
    }

    fn reliability(&self, combo: &str, provider: &ProviderId, model: &ModelId) -> Option<f64> {
        Some(self.memory.summary(combo, provider, model, self.now)?.reliability)
    }

    fn spread(&self, combo: &str, provider: &ProviderId, model: &ModelId) -> Option<Spread> {
        self.memory.summary(combo, provider, model, self.now)?.spread
    }

    fn has_records(&self, combo: &str) -> bool {
        self.memory.records.contains_key(combo)
    }

    fn combo(&self, combo: &str) -> Option<&ComboState> {
        self.memory.combos.get(combo)
    }

    fn session_model(&self, combo: &str, session: &str, now: Millis) -> Option<&(ProviderId, ModelId)> {
        self.memory.models.of(combo, session, now)
    }

    fn pins(&self, session: &str) -> &[Pinned] {
        self.sessions.pins.of(session)
    }

    fn made(&self, response: &str) -> &[Pinned] {
        self.sessions.answers.of(response)
    }

    fn sessions(&self, connection: &ConnectionId, now: Millis) -> u32 {
        self.sessions.occupancy.count(connection, now)
    }

    fn reading(&self, connection: &ConnectionId) -> Option<&AccountReading> {
        self.memory.readings.get(connection)
    }

    fn usage(&self, connection: &ConnectionId) -> Usage {
        self.memory.usage.get(connection).copied().unwrap_or_default()
    }

    fn latency(&self, connection: &ConnectionId, model: &ModelId, now: Millis) -> Latency {
        self.memory.latencies.latency(connection, model, now)
    }
}

/// Dice over a fast generator.
pub struct Seeded<'a>(pub(super) &'a mut fastrand::Rng);

/// Dice over `rng`, for callers outside the router (jitter of a retry).
pub fn seeded(rng: &mut fastrand::Rng) -> Seeded<'_> {
    Seeded(rng)
}

impl Dice for Seeded<'_> {
    fn unit(&mut self) -> f64 {
        self.0.f64()
    }

    fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { self.0.usize(0..bound) }
    }
}
