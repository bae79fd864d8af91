//! What each status and each end without one means: ordered data, no logic.
//!
//! Core 3.2 (tables R2 and D22–D27) as decisions 1, 5, 7, 8, 9, 9a, 9c and 12c change
//! them, by status alone. Text rules will stand before these rows.

use super::{BreakerMark, CooldownRule, Detector, Failure, Kind, LockRule, Reason, Then};
use crate::time::{Millis, SECOND};

/// One row: the first whose range holds the status is the answer.
struct StatusRule {
    /// Inclusive ranges of statuses.
    statuses: &'static [(u16, u16)],
    /// The verdict, with status 0 for "the upstream's own".
    failure: Failure,
}

/// A trip status counts and cools with backoff (core 1.6.1, R2).
const TRIP: Failure = failure(
    0,
    Reason::ServerError,
    BreakerMark::Counts(Kind::Transient),
    CooldownRule::Scaled,
    Then::NextOrRetry,
);

/// Refused, DNS, connect limit, TLS, reset, no HTTP, cut short: like any 502 (decision 7).
pub(super) const NETWORK: Failure = Failure { status: 502, ..TRIP };

/// Our own proxy is at fault: no breaker counts, the connection cools (decision 7).
pub(super) const PROXY_UNREACHABLE: Failure =
    Failure { breaker: BreakerMark::Ignored, then: Then::Next, ..NETWORK };

/// 504 on the breaker, cools no connection (decision 9).
pub(super) const NO_FIRST_BYTE: Failure =
    Failure { status: 504, cooldown: CooldownRule::Nothing, then: Then::Next, ..TRIP };

/// Cools nobody, no breaker count (decision 9c).
pub(super) const SEND_INTERRUPTED: Failure =
    Failure { breaker: BreakerMark::Ignored, cooldown: CooldownRule::Nothing, then: Then::Next, ..NETWORK };

/// A second, separate failure; the client already has bytes (decision 9a).
pub(super) const CUT_AFTER_COMMIT: Failure = Failure { then: Then::Stop, ..NETWORK };

/// Recorded on the connection, cools nobody unless the operator wants it (decision 9a, core P4, 1.6.3).
pub(super) const STALL_AFTER_COMMIT: Failure = Failure {
    status: 504,
    breaker: BreakerMark::Ignored,
    cooldown: CooldownRule::Stall,
    then: Then::Stop,
    ..TRIP
};

/// The same before commit: another target may still answer (decision 9a).
pub(super) const STALL_BEFORE_COMMIT: Failure = Failure { then: Then::Next, ..STALL_AFTER_COMMIT };

/// No cooldown, no breaker count (routing 7.3, 7.5).
pub(super) const EMPTY: Failure = SEND_INTERRUPTED;

/// A bad answer of a provider that is reachable (decision 5).
const fn reachable(reason: Reason, cooldown: CooldownRule, then: Then) -> Failure {
    failure(0, reason, BreakerMark::Reachable, cooldown, then)
}

const fn failure(
    status: u16,
    reason: Reason,
    breaker: BreakerMark,
    cooldown: CooldownRule,
    then: Then,
) -> Failure {
    Failure {
        status,
        restated_from: None,
        detector: Detector::Status,
        reason,
        breaker,
        cooldown,
        lock: None,
        of_account: false,
        terminal: None,
        hint: None,
        client_wait_ms: None,
        rule: None,
        then,
    }
}

const NOT_FOUND_LOCK: LockRule =
    LockRule { exact_key: false, exact_ms: None, authoritative: false, keep_count: false };

/// How long 529 bars its exact model (decision 12c).
const OVERLOADED_MS: Millis = 10 * SECOND;

const OVERLOADED_LOCK: LockRule =
    LockRule { exact_key: true, exact_ms: Some(OVERLOADED_MS), authoritative: true, keep_count: true };

const STATUS_RULES: [StatusRule; 11] = [
    // The only statuses that count (core 1.6.1).
    StatusRule { statuses: &[(408, 408), (500, 500), (502, 504)], failure: TRIP },
    // The last eligible target may be tried again after its wait (decision 26a).
    StatusRule {
        statuses: &[(429, 429)],
        failure: reachable(Reason::RateLimitExceeded, CooldownRule::Scaled, Then::NextOrRetry),
    },
    // Confirmed by the ladder before it is terminal (decision 12a).
    StatusRule {
        statuses: &[(401, 401)],
        failure: reachable(Reason::AuthError, CooldownRule::Ladder, Then::Next),
    },
    StatusRule {
        statuses: &[(402, 402)],
        failure: reachable(Reason::QuotaExhausted, CooldownRule::Ladder, Then::Next),
    },
    // Never a ban by itself (decision 1, core 3.9.5; E36, E37).
    StatusRule {
        statuses: &[(403, 403)],
        failure: reachable(Reason::AuthError, CooldownRule::Scaled, Then::Next),
    },
    // The model, not the account, until a text says otherwise (core 5.2.3, decision 10).
    StatusRule {
        statuses: &[(404, 404)],
        failure: Failure {
            lock: Some(NOT_FOUND_LOCK),
            ..reachable(Reason::NotFound, CooldownRule::Nothing, Then::Next)
        },
    },
    // The content is the client's affair (decision 8).
    StatusRule {
        statuses: &[(400, 400), (413, 413), (415, 415), (422, 422)],
        failure: reachable(Reason::Unknown, CooldownRule::Nothing, Then::Stop),
    },
    // Overload: one exact model for ten seconds, no count anywhere (decision 12c; E47).
    StatusRule {
        statuses: &[(529, 529)],
        failure: Failure {
            lock: Some(OVERLOADED_LOCK),
            ..reachable(Reason::ModelCapacity, CooldownRule::Nothing, Then::NextOrOnce)
        },
    },
    // 406 by R2. The 5xx that core 1.6.1 does not list are answers too: they cool, none counts.
    StatusRule {
        statuses: &[(406, 406), (500, 599)],
        failure: reachable(Reason::ServerError, CooldownRule::Scaled, Then::Next),
    },
    // Any other 4xx: the base of the class, level unchanged (D27).
    StatusRule {
        statuses: &[(400, 499)],
        failure: reachable(Reason::Unknown, CooldownRule::Base, Then::Next),
    },
    // A redirect is never followed: the provider's address is misconfigured (FC-041).
    StatusRule {
        statuses: &[(300, 399)],
        failure: failure(502, Reason::ServerError, BreakerMark::Ignored, CooldownRule::Record, Then::Next),
    },
];

/// The verdict of a status that is no success. What HTTP does not know as the head of an
/// answer (1xx, below 100, 600 and above) is a bad answer.
pub(super) fn of_status(status: u16) -> Failure {
    let holds = |&(from, to): &(u16, u16)| (from..=to).contains(&status);
    let rule = STATUS_RULES.iter().find(|rule| rule.statuses.iter().any(holds));
    let mut failure = rule.map_or(NETWORK, |rule| rule.failure.clone());
    if failure.status == 0 {
        failure.status = status;
    }
    failure
}
