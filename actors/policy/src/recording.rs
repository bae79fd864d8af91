//! Who writes what after a failure: the connection, one model of it, or those that share its
//! egress. One ordered function (core 3.7 P9–P17, rules 3.10), so that a failure never writes
//! a cooldown and a lock (decision 3b).
//!
//! What stands before it is the verdict's affair (P2, P7, P13) or the connection's own (P3, P4,
//! P5, 3.9); the connection applies `Recording::connection` with `Cooldown::record`.

use crate::cooldown::CooldownSettings;
use crate::egress;
use crate::hint::HintSource;
use crate::limiter::{LimiterSettings, Stated, stated};
use crate::lockout::{LockCase, LockKey, LockOrder, LockoutSettings, is_recorded_only, lock_for};
use crate::time::{MINUTE, Millis};
use crate::verdict::{CooldownRule, Detector, Failure, Level, Reason, RuleScope};

/// Rest of a connection whose quota is gone by a rule that names no wait, ms (core P10).
const QUOTA_MS: Millis = 2 * MINUTE;

/// What is known where a failure is recorded.
#[derive(Clone, Copy, Debug)]
pub struct RecordCase<'a> {
    /// Where the attempt failed.
    pub target: LockCase<'a>,
    /// Numbers of the connection.
    pub cooldown: &'a CooldownSettings,
    /// Numbers of its locks.
    pub lockout: &'a LockoutSettings,
    /// The provider's quota belongs to an egress address (rules 4.1).
    pub shares_egress: bool,
    /// The provider's breaker lets nothing through.
    pub breaker_blocks: bool,
    /// The connection has as many locks as it may (contract 8).
    pub locks_full: bool,
    /// The connection's local limiter; `None`: it is not protected.
    pub limiter: Option<LimiterSettings>,
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// By the connection: the failure as it takes it.
    pub connection: Failure,
    /// By the owner of a lock.
    pub lock: Option<(LockKey, LockOrder)>,
    /// Those that share the connection's egress rest as long as it does.
    pub siblings: bool,
    /// The model's limiter lets nobody start for so long, ms (flow 4.23, 4.25).
    pub pause_ms: Option<Millis>,
}

/// Decides it.
pub fn recording(failure: &Failure, case: &RecordCase<'_>) -> Recording {
    // A terminal verdict is the connection's (3.9); so are the quotas of P10 and P11.
    if failure.terminal.is_some() {
        return of_connection(failure.clone());
    }
    let siblings = case.shares_egress && egress::triggers(failure, case.cooldown.disable_cooling);
    if siblings || is_connections_quota(failure, case) {
        return Recording { siblings, ..of_connection(resting(failure)) };
    }
    if is_recorded_only(failure, case.lockout) {
        return of_connection(told(failure));
    }
    match stated_in_body(failure, case) {
        None => written(failure, case),
        Some((_, Stated::Lock(wait))) if !case.locks_full && !case.breaker_blocks => {
            let lock = Some((LockKey::exact(case.target.model), LockOrder::stated(failure, wait)));
            Recording { lock, ..of_connection(told(failure)) }
        }
        Some((wait, _)) => match written(failure, case) {
            // What bars one model holds nobody else back.
            barred @ Recording { lock: Some(_), .. } => barred,
            // The wait is the model's: its limiter keeps it, and the account goes on with the others.
            _ if waits_apart(case, wait) => {
                Recording { pause_ms: Some(wait), ..of_connection(told(failure)) }
            }
            rests => Recording { pause_ms: Some(wait), ..rests },
        },
    }
}

/// A wait in the body of a 429 of a protected connection, and what its limiter makes of it.
fn stated_in_body(failure: &Failure, case: &RecordCase<'_>) -> Option<(Millis, Stated)> {
    let limiter = case.limiter?;
    let hint = failure.hint.filter(|hint| hint.source != HintSource::Header && case.target.use_hints)?;
    let throttled = failure.status == 429 && failure.reason == Reason::RateLimitExceeded;
    let narrowed = limiter.scope.is_narrowed();
    throttled
        .then(|| (hint.wait_ms, stated(hint.wait_ms, hint.source.is_typed(), narrowed, limiter.max_wait_ms)))
}

/// The limiter is narrower than the account, and a request may stand in its line as long as that.
fn waits_apart(case: &RecordCase<'_>, wait: Millis) -> bool {
    case.limiter.is_some_and(|limiter| limiter.scope.is_narrowed() && wait <= limiter.max_wait_ms)
}

/// By a lock, or by the connection (decision 3b).
fn written(failure: &Failure, case: &RecordCase<'_>) -> Recording {
    match lock_for(failure, &case.target, case.lockout) {
        None => of_connection(failure.clone()),
        // Nobody is let through: a lock on top would only outlast the breaker (core 5.4).
        Some((_, order)) if case.breaker_blocks && order.is_bare() => of_connection(told(failure)),
        // It may bar one model; the account has nothing to do with it (flow 6.11.51).
        Some(_) if case.locks_full && failure.detector == Detector::Quality => of_connection(told(failure)),
        Some(_) if case.locks_full => of_connection(instead_of_a_lock(failure)),
        lock => Recording { lock, ..of_connection(told(failure)) },
    }
}

fn of_connection(failure: Failure) -> Recording {
    Recording { connection: failure, lock: None, siblings: false, pause_ms: None }
}

/// Core P10: an honoured rule says that the account's quota is gone. A scope of `provider` is
/// acted on like `connection` (rules 3.10.9).
fn is_connections_quota(failure: &Failure, case: &RecordCase<'_>) -> bool {
    let honoured = failure.rule.is_some_and(|rule| rule.honoured && rule.scope != RuleScope::Model);
    honoured && failure.reason == Reason::QuotaExhausted && !case.cooldown.disable_cooling
}

fn cools(failure: &Failure) -> bool {
    !matches!(failure.cooldown, CooldownRule::Nothing | CooldownRule::Record | CooldownRule::Stall)
}

/// It rests, whatever the verdict left open.
fn resting(failure: &Failure) -> Failure {
    let mut rests = failure.clone();
    if !cools(failure) {
        rests.cooldown = CooldownRule::Exact { ms: QUOTA_MS, level: Level::Keeps, stated: false };
    }
    rests
}

/// The connection stays in use and tells what happened.
fn told(failure: &Failure) -> Failure {
    Failure { cooldown: CooldownRule::Record, ..failure.clone() }
}

/// What only locks (a 404) has no cooldown of its own: the base of the class.
fn instead_of_a_lock(failure: &Failure) -> Failure {
    let cooldown = if cools(failure) { failure.cooldown } else { CooldownRule::Base };
    Failure { cooldown, ..failure.clone() }
}

#[cfg(test)]
mod tests;
