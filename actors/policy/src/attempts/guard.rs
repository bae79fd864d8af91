//! What ends a request although targets are left: a step that may be passed only for quota
//! (routing 4.1), and the same fault of the request told by one target after another (7.14).

use super::{Failed, Key, Row};
use crate::verdict::{Failure, Reason, Then};

/// So many targets in a row that find the same fault with the request prove it (routing 7.14).
const STREAK: usize = 3;

/// How many rows may be tried now: up to the end of the first step that may be passed only for
/// quota and has not been.
pub(super) fn open_rows(keys: &[Key], rows: &[Row], passed: &[bool]) -> usize {
    let is_held =
        |index: &usize| keys[*index].only_on_quota && !(rows[*index] == Row::Spent && passed[*index]);
    match (0..keys.len()).find(is_held) {
        Some(held) => {
            let same = |key: &&Key| key.step == keys[held].step;
            held + keys[held..].iter().take_while(same).count()
        }
        None => keys.len(),
    }
}

/// The quota is gone, and nothing else is wrong with the target.
pub(super) fn is_quota(failure: &Failure) -> bool {
    failure.reason == Reason::QuotaExhausted
}

/// The last targets all said the same of the request itself.
pub(super) fn is_streak(failures: &[Failed]) -> bool {
    let Some(last) = failures.last().filter(|failed| is_of_the_request(&failed.failure)) else {
        return false;
    };
    let alike = |failed: &&Failed| {
        (failed.failure.status, failed.failure.detector) == (last.failure.status, last.failure.detector)
    };
    let mut targets: Vec<usize> =
        failures.iter().rev().take_while(alike).map(|failed| failed.target).collect();
    targets.dedup();
    targets.len() >= STREAK
}

fn is_of_the_request(failure: &Failure) -> bool {
    matches!(failure.status, 400 | 413 | 415 | 422) && failure.lock.is_none() && failure.then != Then::Stop
}
