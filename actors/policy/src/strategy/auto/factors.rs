//! What `auto` weighs: sixteen factors in one table (routing 5.4). Each is a number from 0 to 1,
//! higher is better.
//!
//! What nobody tells us here takes its neutral value: `task_fit`, `specificity_match` and
//! `tier_affinity` (no task is classified, decision 28a), `context_affinity` (pins are a stage of
//! their own, rules 6), `quality` (answers are not graded) are 0.5; the tier of an account is
//! `standard` and its reset a day away unless it says otherwise.

use std::ops::Index;

use super::settings::AutoRouter;
use super::weights::Weights;
use crate::breaker::BreakerState;
use crate::catalogue::ModelEntry;
use crate::strategy::{Field, QuotaWindow, Seen, Spread, quota};
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
    /// Adds its part of the scores of some candidates, in a pool of such candidates.
    add: fn(&[Known], &Extremes, f64, &mut [f64]),
}

/// A factor of many at once, by its value for one.
macro_rules! column {
    ($known:pat_param, $most:pat_param => $value:expr) => {
        |all, $most, weight, scores| add((all, weight), scores, |$known| $value)
    };
}

/// Every factor (routing 5.4, decision 25).
#[rustfmt::skip] // one row, one line
pub static FACTORS: &[Factor] = &[
    Factor { name: "quota", alias: "quota", weight: 0.1429, add: column!(known, _ => known.quota) },
    Factor { name: "health", alias: "health", weight: 0.1605, add: column!(known, _ => known.health) },
    Factor { name: "cost_inv", alias: "costInv", weight: 0.1429, add: column!(known, most => 1.0 - known.cost / most.cost) },
    Factor { name: "latency_inv", alias: "latencyInv", weight: 0.1143, add: column!(known, most => 1.0 - known.p95_ms / most.p95_ms) },
    Factor { name: "task_fit", alias: "taskFit", weight: 0.0762, add: column!(_, _ => 0.5) },
    Factor { name: "stability", alias: "stability", weight: 0.0476, add: column!(known, most => 1.0 - known.deviation_ms / most.deviation_ms) },
    Factor { name: "tier_priority", alias: "tierPriority", weight: 0.0476, add: column!(known, _ => (0.8 * TIER + 0.2 * known.reset).min(1.0)) },
    Factor { name: "tier_affinity", alias: "tierAffinity", weight: 0.0476, add: column!(_, _ => 0.5) },
    Factor { name: "specificity_match", alias: "specificityMatch", weight: 0.0476, add: column!(_, _ => 0.5) },
    Factor { name: "context_affinity", alias: "contextAffinity", weight: 0.0476, add: column!(_, _ => 0.5) },
    Factor { name: "session_availability", alias: "sessionAvailability", weight: 0.0476, add: column!(known, _ => 1.0 / (1.0 + known.sessions)) },
    Factor { name: "connection_density", alias: "connectionDensity", weight: 0.0476, add: column!(known, _ => (known.accounts - 1.0) / 10.0) },
    Factor { name: "cache_affinity", alias: "cacheAffinity", weight: 0.0, add: column!(known, _ => known.cached) },
    Factor { name: "reset_window_affinity", alias: "resetWindowAffinity", weight: 0.0, add: column!(known, _ => known.urgency) },
    Factor { name: "quality", alias: "quality", weight: 0.03, add: column!(_, _ => 0.5) },
    Factor { name: "reliability", alias: "reliability", weight: 0.0, add: column!(known, _ => known.reliability) },
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

/// What is asked for: what nothing is made of is not looked up.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    reliability: bool,
    urgency: bool,
    errors: bool,
}

impl Wanted {
    pub(super) fn of(weights: &Weights, router: AutoRouter) -> Self {
        Self {
            reliability: weights.counts("reliability"),
            urgency: weights.counts("reset_window_affinity"),
            errors: matches!(router, AutoRouter::Latency | AutoRouter::Sla),
        }
    }
}

/// What is known of every entry. Entries that nothing sets apart are of one kind, and stand side by
/// side: what is known of a kind is found once, and so is its score.
pub(super) struct Book {
    kinds: Vec<Known>,
    /// The kind of each entry.
    of: Vec<u32>,
}

impl Index<usize> for Book {
    type Output = Known;

    fn index(&self, entry: usize) -> &Known {
        &self.kinds[self.of[entry] as usize]
    }
}

impl Book {
    pub(super) fn of(field: &Field<'_>, wanted: Wanted) -> Self {
        let pool = field.pool;
        let mut book = Self { kinds: Vec::new(), of: Vec::with_capacity(pool.count()) };
        let records = pool.has_records();
        // Accounts of one model share its records; to find its spread costs a sort.
        let mut last: Option<(Seen<'_>, (f64, f64))> = None;
        for index in 0..pool.count() {
            let seen = pool.seen(index);
            let same = last
                .as_ref()
                .filter(|(last, _)| !records || (last.provider, last.model) == (seen.provider, seen.model));
            let alike = same.is_some_and(|(last, _)| are_alike(last, &seen));
            let spread = match same {
                Some((_, spread)) => *spread,
                None => spread(pool.spread(index).filter(|_| records)),
            };
            if !alike {
                book.kinds.push(of((field, index), &seen, spread, wanted));
            }
            book.of.push(book.kinds.len() as u32 - 1);
            last = Some((seen, spread));
        }
        book
    }

    /// The prompt is likely to be cached at this entry (routing 3.7), and at no other of its kind.
    pub(super) fn cached_at(&mut self, entry: usize) {
        let kind = Known { cached: 1.0, ..self[entry] };
        self.of[entry] = self.kinds.len() as u32;
        self.kinds.push(kind);
    }

    /// Every entry.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Known> {
        self.of.iter().map(|kind| &self.kinds[*kind as usize])
    }

    /// Some kind is like this.
    pub(super) fn any(&self, is_it: impl Fn(&Known) -> bool) -> bool {
        self.kinds.iter().any(is_it)
    }
}

/// Nothing is seen that sets them apart, as long as their records do not.
fn are_alike(one: &Seen<'_>, other: &Seen<'_>) -> bool {
    one.reading.is_none()
        && other.reading.is_none()
        && one.breaker == other.breaker
        && one.accounts == other.accounts
        && one.sessions == other.sessions
        && match (one.facts, other.facts) {
            (Some(one), Some(other)) => std::ptr::eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
}

fn of(
    (field, index): (&Field<'_>, usize),
    seen: &Seen<'_>,
    (p95_ms, deviation_ms): (f64, f64),
    wanted: Wanted,
) -> Known {
    let (pool, now) = (field.pool, field.now);
    let Seen { reading, breaker, .. } = *seen;
    let metrics = wanted.errors.then(|| pool.metrics(index)).flatten();
    let reliability = wanted.reliability.then(|| pool.reliability(index)).flatten();
    let reset_ms = quota::reset_in(reading, &QuotaWindow::ALL, now).unwrap_or(DAY);
    Known {
        quota: reading.and_then(|reading| reading.left(&QuotaWindow::ALL, now)).unwrap_or(1.0),
        health: match breaker {
            BreakerState::Open => 0.0,
            BreakerState::HalfOpen => 0.5,
            BreakerState::Closed | BreakerState::Degraded => 1.0,
        },
        breaker,
        cost: seen.facts.map_or(UNKNOWN_COST, cost),
        p95_ms,
        deviation_ms,
        reliability: reliability.unwrap_or(0.5),
        error_rate: metrics.map_or(0.0, |metrics| 1.0 - metrics.success_rate),
        reset: (1.0 - reset_ms as f64 / SECOND as f64 / 2_592_000.0).max(0.0),
        urgency: if wanted.urgency { quota::urgency(reading, now) } else { 0.5 },
        sessions: f64::from(seen.sessions),
        accounts: seen.accounts as f64,
        cached: 0.0,
    }
}

fn spread(spread: Option<Spread>) -> (f64, f64) {
    let p95_ms = spread.map_or(UNKNOWN_P95_MS, |spread| spread.p95_ms);
    let deviation = spread.and_then(|spread| spread.deviation_ms);
    (p95_ms, deviation.unwrap_or_else(|| (0.1 * p95_ms).max(10.0)))
}

fn cost(facts: &ModelEntry) -> f64 {
    let output = facts.output_price.or(facts.input_price);
    let cost = facts.input_price.zip(output).map(|(input, output)| 0.6 * input + 0.4 * output);
    cost.filter(|cost| cost.is_finite()).unwrap_or(UNKNOWN_COST)
}

/// The largest of the candidates, never so small that a division by it tells nothing.
pub(super) struct Extremes {
    cost: f64,
    p95_ms: f64,
    deviation_ms: f64,
}

impl Extremes {
    pub(super) fn of(known: &Book, candidates: &[usize]) -> Self {
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

/// How many are scored at a time: so much of what is known stays near at hand.
const AT_A_TIME: usize = 16;

/// Routing 5.5: the weighted sum of all factors, each within 0 and 1, of every entry. Each score is
/// summed in the order of the table.
pub(super) fn scores(book: &Book, most: &Extremes, weights: &Weights) -> Vec<f64> {
    let mut scores = vec![0.0; book.kinds.len()];
    for (known, scores) in book.kinds.chunks(AT_A_TIME).zip(scores.chunks_mut(AT_A_TIME)) {
        for (place, factor) in FACTORS.iter().enumerate().filter(|(place, _)| weights.at(*place) != 0.0) {
            (factor.add)(known, most, weights.at(place), scores);
        }
        scores.iter_mut().for_each(|score| *score = score.clamp(0.0, 1.0));
    }
    book.of.iter().map(|kind| scores[*kind as usize]).collect()
}

/// One factor's part of each score; what is no number counts as 0.
fn add((all, weight): (&[Known], f64), scores: &mut [f64], value: impl Fn(&Known) -> f64) {
    for (known, score) in all.iter().zip(scores) {
        let value = value(known);
        *score += if value > 0.0 { weight * value.min(1.0) } else { 0.0 };
    }
}
