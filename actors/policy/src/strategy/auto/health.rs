//! Providers that `auto` leaves alone for a while because they scored too low (routing 5.8), so
//! that one that is going down is not drawn again at every request.

use std::collections::HashMap;

use super::factors::{Book, Known};
use crate::breaker::BreakerState;
use crate::ids::{ById, ProviderId};
use crate::strategy::Pool;
use crate::time::{MINUTE, Millis};

/// A score below this leaves a provider out.
const TOO_LOW: f64 = 0.2;
/// For how long at first, ms.
const FIRST_MS: Millis = 5 * MINUTE;
/// For how long at most, ms.
const LONGEST_MS: Millis = 30 * MINUTE;

/// How long a provider is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// Until when, epoch ms.
    pub until: Millis,
    /// How long it is, ms: the next one in a row is twice as long.
    pub span_ms: Millis,
}

/// Rests by provider; at most one for each provider of the combo.
pub type Rests = HashMap<ProviderId, Rest>;

/// Whether a provider is left alone now.
pub(super) fn rests(rests: &Rests, provider: &ProviderId, now: Millis) -> bool {
    rests.get(provider).is_some_and(|rest| now < rest.until)
}

/// Rests after these scores; `None`: nothing changes. A provider is as good as its best candidate.
/// One whose rest is over is judged anew: too low again doubles it, anything else ends the run.
pub(super) fn judged(
    known: &Rests,
    pool: &dyn Pool,
    (candidates, scores): (&[usize], &[f64]),
    now: Millis,
) -> Option<Rests> {
    // As it is nearly always: nobody rests, and nobody is to.
    if known.is_empty() && candidates.iter().all(|index| scores[*index] >= TOO_LOW) {
        return None;
    }
    let mut best: ById<&ProviderId, f64> = ById::default();
    for index in candidates {
        let best = best.entry(pool.provider(*index)).or_insert(0.0);
        *best = best.max(scores[*index]);
    }
    let mut after: Option<Rests> = None;
    for (provider, score) in best {
        let before = known.get(provider);
        if before.is_some_and(|rest| now < rest.until) || (score >= TOO_LOW && before.is_none()) {
            continue;
        }
        let after = after.get_or_insert_with(|| known.clone());
        if score >= TOO_LOW {
            after.remove(provider);
            continue;
        }
        let span_ms = before.map_or(FIRST_MS, |rest| (rest.span_ms * 2).min(LONGEST_MS));
        after.insert(provider.clone(), Rest { until: now.saturating_add(span_ms), span_ms });
    }
    after
}

/// More than half of the providers are behind an open breaker: nothing is tried for curiosity.
pub(super) fn is_incident(pool: &dyn Pool, known: &Book) -> bool {
    let is_open = |known: &Known| known.breaker == BreakerState::Open;
    if !known.any(is_open) {
        return false;
    }
    let mut open: ById<&ProviderId, bool> = ById::default();
    for (index, known) in known.iter().enumerate() {
        open.insert(pool.provider(index), is_open(known));
    }
    open.values().filter(|open| **open).count() * 2 > open.len()
}
