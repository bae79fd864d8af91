//! What `auto` weighs: sixteen factors in one table (routing 5.4). Each is a number from 0 to 1,
//! higher is better.
//!
//! What nobody tells us here takes its neutral value: `task_fit`, `specificity_match` and
//! `tier_affinity` (no task is classified, decision 28a), `context_affinity` (pins are a stage of
//! their own, rules 6), `quality` (answers are not graded) are 0.5; the tier of an account is
//! `standard` and its reset a day away unless it says otherwise.

use super::weights::Weights;
use crate::breaker::BreakerState;
use crate::strategy::{Field, Pool, QuotaWindow, quota};
use crate::time::{DAY, SECOND};

/// First-byte time of a model that nobody has seen answer, ms.
pub const UNKNOWN_P95_MS: f64 = 1_500.0;
/// Price of a model whose price is not listed, USD per million tokens.
const UNKNOWN_COST: f64 = 1.0;
/// The tier of an account (routing 5.4): `standard`.
const TIER: f64 = 0.33;

/// One factor.
#[derive(Clone, Copy)]
pub struct Factor {
    /// Its name in config.toml.
    pub name: &'static str,
    /// Its name in the management API.
    pub alias: &'static str,
    /// Its weight unless another is set.
    pub weight: f64,
    /// Its value for a candidate, in a pool of such candidates.
    value: fn(&Known, &Extremes) -> f64,
}

/// Every factor (routing 5.4, decision 25).
#[rustfmt::skip] // one row, one line
pub static FACTORS: &[Factor] = &[
    Factor { name: "quota", alias: "quota", weight: 0.1429, value: |known, _| known.quota },
    Factor { name: "health", alias: "health", weight: 0.1605, value: |known, _| known.health },
    Factor { name: "cost_inv", alias: "costInv", weight: 0.1429, value: |known, most| 1.0 - known.cost / most.cost },
    Factor { name: "latency_inv", alias: "latencyInv", weight: 0.1143, value: |known, most| 1.0 - known.p95_ms / most.p95_ms },
    Factor { name: "task_fit", alias: "taskFit", weight: 0.0762, value: |_, _| 0.5 },
    Factor { name: "stability", alias: "stability", weight: 0.0476, value: |known, most| 1.0 - known.deviation_ms / most.deviation_ms },
    Factor { name: "tier_priority", alias: "tierPriority", weight: 0.0476, value: |known, _| (0.8 * TIER + 0.2 * known.reset).min(1.0) },
    Factor { name: "tier_affinity", alias: "tierAffinity", weight: 0.0476, value: |_, _| 0.5 },
    Factor { name: "specificity_match", alias: "specificityMatch", weight: 0.0476, value: |_, _| 0.5 },
    Factor { name: "context_affinity", alias: "contextAffinity", weight: 0.0476, value: |_, _| 0.5 },
    Factor { name: "session_availability", alias: "sessionAvailability", weight: 0.0476, value: |known, _| 1.0 / (1.0 + known.sessions) },
    Factor { name: "connection_density", alias: "connectionDensity", weight: 0.0476, value: |known, _| (known.accounts - 1.0) / 10.0 },
    Factor { name: "cache_affinity", alias: "cacheAffinity", weight: 0.0, value: |known, _| known.cached },
    Factor { name: "reset_window_affinity", alias: "resetWindowAffinity", weight: 0.0, value: |known, _| known.urgency },
    Factor { name: "quality", alias: "quality", weight: 0.03, value: |_, _| 0.5 },
    Factor { name: "reliability", alias: "reliability", weight: 0.0, value: |known, _| known.reliability },
];

/// What is known of a candidate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    quota: f64,
    pub(super) health: f64,
    pub(super) breaker: BreakerState,
    /// USD per million tokens, six parts of input on four of output.
    pub(super) cost: f64,
    pub(super) p95_ms: f64,
    pub(super) deviation_ms: f64,
    /// 0.5 where nobody knows.
    reliability: f64,
    /// Share of its attempts that failed; 0 where nobody knows.
    pub(super) error_rate: f64,
    /// How near its reset is, of a month.
    reset: f64,
    urgency: f64,
    sessions: f64,
    accounts: f64,
    /// 1 where the prompt is likely to be cached (routing 3.7).
    pub(super) cached: f64,
}

/// What is known of every entry.
pub(super) fn known(field: &Field<'_>) -> Vec<Known> {
    let pool = field.pool;
    // Accounts of one model share its spread and stand side by side; to find it costs a sort.
    let mut last: Option<(usize, (f64, f64))> = None;
    let mut known = Vec::with_capacity(pool.count());
    for index in 0..pool.count() {
        let same = |(of, _): &(usize, _)| {
            pool.model(*of) == pool.model(index) && pool.provider(*of) == pool.provider(index)
        };
        let spread = last.filter(same).map_or_else(|| spread(pool, index), |(_, spread)| spread);
        last = Some((index, spread));
        known.push(of(field, index, spread));
    }
    known
}

fn of(field: &Field<'_>, index: usize, (p95_ms, deviation_ms): (f64, f64)) -> Known {
    let (pool, now) = (field.pool, field.now);
    let (reading, breaker) = (pool.reading(index), pool.breaker(index));
    let success = pool.metrics(index).map(|metrics| metrics.success_rate);
    let reset_ms = quota::reset_in(reading, &QuotaWindow::ALL, now).unwrap_or(DAY);
    Known {
        quota: reading.and_then(|reading| reading.left(&QuotaWindow::ALL, now)).unwrap_or(1.0),
        health: match breaker {
            BreakerState::Open => 0.0,
            BreakerState::HalfOpen => 0.5,
            BreakerState::Closed | BreakerState::Degraded => 1.0,
        },
        breaker,
        cost: cost(pool, index),
        p95_ms,
        deviation_ms,
        reliability: pool.reliability(index).unwrap_or(0.5),
        error_rate: success.map_or(0.0, |rate| 1.0 - rate),
        reset: (1.0 - reset_ms as f64 / SECOND as f64 / 2_592_000.0).max(0.0),
        urgency: quota::urgency(reading, now),
        sessions: f64::from(pool.sessions(index)),
        accounts: pool.accounts(index) as f64,
        cached: 0.0,
    }
}

fn spread(pool: &dyn Pool, index: usize) -> (f64, f64) {
    let spread = pool.spread(index);
    let p95_ms = spread.map_or(UNKNOWN_P95_MS, |spread| spread.p95_ms);
    let deviation = spread.and_then(|spread| spread.deviation_ms);
    (p95_ms, deviation.unwrap_or_else(|| (0.1 * p95_ms).max(10.0)))
}

fn cost(pool: &dyn Pool, index: usize) -> f64 {
    let price = |facts: &crate::catalogue::ModelEntry| {
        Some(0.6 * facts.input_price? + 0.4 * facts.output_price.or(facts.input_price)?)
    };
    pool.facts(index).and_then(price).filter(|cost| cost.is_finite()).unwrap_or(UNKNOWN_COST)
}

/// The largest of the candidates, never so small that a division by it tells nothing.
pub(super) struct Extremes {
    cost: f64,
    p95_ms: f64,
    deviation_ms: f64,
}

impl Extremes {
    pub(super) fn of(known: &[Known], candidates: &[usize]) -> Self {
        let most = |floor: f64, of: fn(&Known) -> f64| {
            candidates.iter().map(|index| of(&known[*index])).fold(floor, f64::max)
        };
        Self {
            cost: most(0.001, |known| known.cost),
            p95_ms: most(1.0, |known| known.p95_ms),
            deviation_ms: most(0.001, |known| known.deviation_ms),
        }
    }
}

/// Routing 5.5: the weighted sum of all factors, each within 0 and 1.
pub(super) fn score(known: &Known, most: &Extremes, weights: &Weights) -> f64 {
    let weigh = |(place, factor): (usize, &Factor)| {
        let value = (factor.value)(known, most);
        // `clamp` would keep a NaN.
        let value = if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) };
        weights.at(place) * value
    };
    let counts = |(place, _): &(usize, &Factor)| weights.at(*place) != 0.0;
    FACTORS.iter().enumerate().filter(counts).map(weigh).sum::<f64>().clamp(0.0, 1.0)
}
