//! The penalty of an account: a sum of small whole terms, lower is better (core 4.2), and what
//! latency adds when two accounts are compared (core 4.6, 4.7).

use super::Account;
use crate::latency::Summary;
use crate::time::{MINUTE, Millis, SECOND};
use crate::verdict::Reason;

/// Samples that a series needs before it says anything (core 4.6).
const ENOUGH: u32 = 3;

/// Points of one account at `now`, without the latency term.
pub fn penalty(account: &Account, now: Millis) -> f64 {
    let backoff = account.level.saturating_mul(8).min(40);
    let repeated = account.usage.consecutive.saturating_mul(2).min(12);
    let priority = f64::from(account.priority.unwrap_or(0).min(7)) - 1.0;
    quota_points(account)
        + error_points(account)
        + f64::from(backoff + repeated)
        + recent_use(account, now)
        + priority
}

fn quota_points(account: &Account) -> f64 {
    let exhausted = if account.quota_exhausted { 200.0 } else { 0.0 };
    let blocked = if account.quota_blocked { 80.0 } else { 0.0 };
    let left = match account.headroom {
        // Rounded half up.
        Some(percent) => ((100.0 - percent.clamp(0.0, 100.0)) / 8.0 + 0.5).floor() + scarce(percent),
        None if account.quota_exhausted || account.quota_blocked => 0.0,
        None => 4.0,
    };
    exhausted + blocked + left
}

fn scarce(percent: f64) -> f64 {
    match percent {
        ..=10.0 => 10.0,
        ..=25.0 => 4.0,
        _ => 0.0,
    }
}

fn error_points(account: &Account) -> f64 {
    let Some(error) = account.error else { return 0.0 };
    let limited = matches!(error.reason, Reason::RateLimitExceeded | Reason::QuotaExhausted);
    let kind = match error.status {
        status if limited || status == 429 => 24.0,
        401 | 403 => 18.0,
        500.. => 10.0,
        _ => 0.0,
    };
    6.0 + kind
}

fn recent_use(account: &Account, now: Millis) -> f64 {
    match account.usage.last_at.map(|at| now.saturating_sub(at)) {
        Some(ago) if ago < 15 * SECOND => 3.0,
        Some(ago) if ago < MINUTE => 2.0,
        Some(ago) if ago < 5 * MINUTE => 1.0,
        _ => 0.0,
    }
}

/// What latency adds to each of two that are compared: half of `weight` by speed relative to
/// the faster one, half by failures. The model's series speaks if both have enough of it, else
/// the connection's, else nobody.
pub fn latency_points(pair: [&Account; 2], weight: f64) -> [f64; 2] {
    let models = pair.map(|account| account.latency.model);
    let connections = pair.map(|account| account.latency.connection);
    let enough = |series: &[Summary; 2]| series.iter().all(|summary| summary.samples >= ENOUGH);
    let Some(series) = [models, connections].into_iter().find(enough) else { return [0.0; 2] };
    let half = weight.clamp(0.0, 20.0) / 2.0;
    let fastest = match series.map(|summary| summary.mean_ms) {
        [Some(one), Some(other)] => Some(one.min(other).max(1.0)),
        _ => None,
    };
    series.map(|summary| {
        let slower = fastest.zip(summary.mean_ms).map_or(0.0, |(fastest, own)| own / fastest - 1.0);
        let failing = f64::from(summary.failures) / f64::from(summary.samples);
        half * slower.clamp(0.0, 1.0) + half * failing
    })
}
