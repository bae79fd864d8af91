//! What each status means when no text said more (core R2, D22–D27, decisions 1, 12a, FC-041,
//! FC-081).

use super::super::lists::REFRESHABLE;
use super::super::{BreakerMark, CooldownRule, Detector, Failure, Level, Reason, TerminalRule, Then};
use super::{ALWAYS, LOCK, Look, Row, When, counting, exactly, reachable};
use crate::time::{HOUR, SECOND};

/// A token that lives this much longer was not refused for its age, ms (core 3.9.3).
const STILL_VALID_MS: u64 = 60 * SECOND;

/// A fresh token may be accepted, or this one is known to be good.
fn refresh_may_help(look: &Look<'_>) -> bool {
    let valid = look.case.now.saturating_add(STILL_VALID_MS);
    look.says(&REFRESHABLE) || look.case.token_expires_at.is_some_and(|at| at > valid)
}

pub(super) const ROWS: &[Row] = &[
    // Confirmed by the ladder before it is terminal (E34, F10–F12).
    Row {
        id: Detector::Unauthorized,
        title: "the credential is refused",
        when: When { statuses: Some(&[(401, 401)]), ..ALWAYS },
        means: Failure {
            terminal: Some(TerminalRule::ExpiredIfConfirmed),
            ..reachable(Reason::AuthError, CooldownRule::Ladder, Then::Next)
        },
        weigh: Some(|look, means| match refresh_may_help(look) {
            true => Some(Failure { terminal: None, ..means }),
            false => Some(means),
        }),
        asks_rules: true,
    },
    // On a plain provider the account is out of credit (F17); behind a gateway it is what the
    // owner locks in the cooldown's place (F16, core P14).
    Row {
        id: Detector::PaymentRequired,
        title: "to be paid",
        when: When { statuses: Some(&[(402, 402)]), ..ALWAYS },
        means: Failure {
            terminal: Some(TerminalRule::CreditsExhausted),
            ..reachable(Reason::QuotaExhausted, CooldownRule::Nothing, Then::Next)
        },
        weigh: Some(|look, means| match look.case.per_model_quota {
            true => Some(Failure { terminal: None, cooldown: CooldownRule::Scaled, ..means }),
            false => Some(means),
        }),
        asks_rules: true,
    },
    // An OAuth one too: a cooldown, never a ban by itself (decision 1, E37).
    Row {
        id: Detector::ForbiddenStatus,
        title: "forbidden",
        when: When { statuses: Some(&[(403, 403)]), ..ALWAYS },
        means: reachable(Reason::AuthError, CooldownRule::Scaled, Then::Next),
        weigh: None,
        asks_rules: true,
    },
    // The model, not the account (core 5.2.3, decision 10).
    Row {
        id: Detector::NotFound,
        title: "the model is not there",
        when: When { statuses: Some(&[(404, 404), (410, 410)]), ..ALWAYS },
        means: Failure { lock: Some(LOCK), ..reachable(Reason::NotFound, CooldownRule::Nothing, Then::Next) },
        weigh: None,
        asks_rules: true,
    },
    // The only statuses that count (core 1.6.1).
    Row {
        id: Detector::Trip,
        title: "the provider fails",
        when: When { statuses: Some(&[(408, 408), (500, 500), (502, 504)]), ..ALWAYS },
        means: counting(Reason::ServerError, CooldownRule::Scaled, Then::NextOrRetry),
        weigh: None,
        asks_rules: true,
    },
    // The last eligible target may be tried again after its wait (decision 26a).
    Row {
        id: Detector::RateLimited,
        title: "too many requests",
        when: When { statuses: Some(&[(429, 429)]), ..ALWAYS },
        means: reachable(Reason::RateLimitExceeded, CooldownRule::Scaled, Then::NextOrRetry),
        weigh: None,
        asks_rules: true,
    },
    Row {
        id: Detector::PlanLimit,
        title: "the limit of a plan",
        when: When { statuses: Some(&[(432, 432)]), ..ALWAYS },
        means: reachable(Reason::QuotaExhausted, exactly(HOUR), Then::Next),
        weigh: Some(|look, means| match look.stated() {
            Some(ms) => {
                let cooldown = CooldownRule::Exact { ms, level: Level::Keeps, stated: true };
                Some(Failure { cooldown, ..means })
            }
            None => Some(means),
        }),
        asks_rules: true,
    },
    // Answers too: they cool, none counts.
    Row {
        id: Detector::OtherServerError,
        title: "another failure of the server",
        when: When { statuses: Some(&[(406, 406), (500, 599)]), ..ALWAYS },
        means: reachable(Reason::ServerError, CooldownRule::Scaled, Then::Next),
        weigh: None,
        asks_rules: true,
    },
    Row {
        id: Detector::Status,
        title: "any other 4xx",
        when: When { statuses: Some(&[(400, 499)]), ..ALWAYS },
        means: reachable(Reason::Unknown, CooldownRule::Base, Then::Next),
        weigh: None,
        asks_rules: true,
    },
    // Never followed: the provider's address is misconfigured.
    Row {
        id: Detector::Redirect,
        title: "a redirect",
        when: When { statuses: Some(&[(300, 399)]), ..ALWAYS },
        means: Failure {
            status: 502,
            breaker: BreakerMark::Ignored,
            ..reachable(Reason::ServerError, CooldownRule::Record, Then::Next)
        },
        weigh: None,
        asks_rules: false,
    },
];
