//! Texts that count on any status which says no more than they do (core R1).
//!
//! A 401 and a 404 say more: a missing model called "high-capacity" is a missing model. On a
//! 429 whose quota words are not trusted only the status counts (rules 3.7.1).

use super::super::lists::{
    CAPACITY, IMPROPERLY_FORMED, MODEL_NOT_FOR_KEY, NO_CREDENTIALS, NOT_ALLOWED, QUOTA_WORDS, RATE_LIMIT,
};
use super::super::{CooldownRule, Detector, Failure, Reason, Then};
use super::{ALWAYS, LOCK, Look, Row, Statuses, When, counting, exactly, reachable};
use crate::time::{MINUTE, SECOND};

/// Not 401, 404, 410, nor the statuses of content.
const VAGUE: Statuses = &[(402, 403), (405, 409), (411, 412), (414, 414), (416, 421), (423, 599)];

/// The last target may be asked again where its status lets it (routing 7.3).
fn by_status(look: &Look<'_>, means: Failure) -> Option<Failure> {
    let again = matches!(look.status, 408 | 429 | 500 | 502..=504);
    Some(Failure { then: if again { Then::NextOrRetry } else { Then::Next }, ..means })
}

pub(super) const ROWS: &[Row] = &[
    Row {
        id: Detector::ModelNotForKey,
        title: "the model is not supported",
        when: When { statuses: Some(&[(401, 401)]), says: &[&MODEL_NOT_FOR_KEY], ..ALWAYS },
        means: Failure { lock: Some(LOCK), ..reachable(Reason::NotFound, CooldownRule::Nothing, Then::Next) },
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::NoCredentials,
        title: "no credentials",
        when: When { statuses: Some(VAGUE), says: &[&NO_CREDENTIALS], trusted: true, ..ALWAYS },
        means: counting(Reason::AuthError, exactly(2 * MINUTE), Then::Next),
        weigh: None,
        asks_rules: true,
    },
    Row {
        id: Detector::RequestNotAllowed,
        title: "request not allowed",
        when: When { statuses: Some(VAGUE), says: &[&NOT_ALLOWED], trusted: true, ..ALWAYS },
        means: counting(Reason::RateLimitExceeded, exactly(5 * SECOND), Then::Next),
        weigh: None,
        asks_rules: true,
    },
    Row {
        id: Detector::MalformedRequest,
        title: "improperly formed request",
        when: When { statuses: Some(VAGUE), says: &[&IMPROPERLY_FORMED], trusted: true, ..ALWAYS },
        means: counting(Reason::ModelCapacity, CooldownRule::Nothing, Then::Next),
        weigh: None,
        asks_rules: true,
    },
    Row {
        id: Detector::RateLimitText,
        title: "rate limit",
        when: When { statuses: Some(VAGUE), says: &[&RATE_LIMIT], trusted: true, ..ALWAYS },
        means: counting(Reason::RateLimitExceeded, CooldownRule::Scaled, Then::NextOrRetry),
        weigh: Some(by_status),
        asks_rules: true,
    },
    Row {
        id: Detector::QuotaText,
        title: "quota",
        when: When { statuses: Some(VAGUE), says: &[&QUOTA_WORDS], trusted: true, ..ALWAYS },
        means: counting(Reason::QuotaExhausted, CooldownRule::Scaled, Then::Next),
        weigh: None,
        asks_rules: true,
    },
    Row {
        id: Detector::CapacityText,
        title: "no capacity",
        when: When { statuses: Some(VAGUE), says: &[&CAPACITY], trusted: true, ..ALWAYS },
        means: counting(Reason::ModelCapacity, CooldownRule::Scaled, Then::NextOrRetry),
        weigh: Some(by_status),
        asks_rules: true,
    },
];
