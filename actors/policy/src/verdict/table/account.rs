//! What comes before every quota: things the request names, our own settings, and the end of
//! an account or a model.

use super::super::lists::{
    BAN, BILLING_SUSPENSION, MOVED, RESOURCE, RESPONSE_BINDING, RETIRED, RETIRED_IN_CONTENT,
};
use super::super::{
    BreakerMark, CooldownRule, Detector, Failure, Level, LockRule, Reason, Rotation, TerminalRule, Then,
};
use super::{ALWAYS, LOCK, Row, When, exactly, reachable};
use crate::time::{DAY, MINUTE, SECOND};

/// A year: longer than any credential is left alone (core D5).
const BAN_MS: u64 = 365 * DAY;

/// A retired model does not come back tomorrow (core D6, 5.3.7).
const RETIRED_LOCK: LockRule = LockRule { exact_ms: Some(DAY), authoritative: true, ..LOCK };
const GONE: Failure =
    Failure { lock: Some(RETIRED_LOCK), ..reachable(Reason::NotFound, CooldownRule::Nothing, Then::Next) };

pub(super) const ROWS: &[Row] = &[
    Row {
        id: Detector::ResponseBinding,
        title: "the request names another account's response",
        when: When {
            also: Some(("code invalid_previous_response_binding, or a 409 that says so", |look| {
                look.words.has_code(&["invalid_previous_response_binding"])
                    || look.status == 409 && look.says(&RESPONSE_BINDING)
            })),
            ..ALWAYS
        },
        means: reachable(Reason::InvalidPreviousResponseBinding, CooldownRule::Nothing, Then::Stop),
        weigh: None,
        asks_rules: false,
    },
    // FC-080: nothing is written, and no other target knows that file either.
    Row {
        id: Detector::ResourceMissing,
        title: "the request names a thing that is not there",
        when: When { statuses: Some(&[(404, 404)]), says: &[&RESOURCE], ..ALWAYS },
        means: reachable(Reason::NotFound, CooldownRule::Nothing, Then::Stop),
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::ServiceDown,
        title: "the supervisor of an embedded service says it is down",
        when: When {
            statuses: Some(&[(503, 503)]),
            also: Some(("header x-omni-fallback-hint: connection_cooldown", |look| {
                look.header("x-omni-fallback-hint") == Some("connection_cooldown")
            })),
            ..ALWAYS
        },
        means: Failure {
            breaker: BreakerMark::Ignored,
            ..reachable(
                Reason::ServiceNotRunning,
                CooldownRule::Exact { ms: 5 * SECOND, level: Level::Zero, stated: false },
                Then::Next,
            )
        },
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::RotationHolds,
        title: "the operator does not rotate on this",
        when: When {
            also: Some(("rotation is off or below its threshold", |look| {
                look.case.rotation == Rotation::Holds
            })),
            ..ALWAYS
        },
        means: reachable(Reason::Unknown, CooldownRule::Nothing, Then::Stop),
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::RotationForces,
        title: "the operator rotates on a 400",
        when: When {
            statuses: Some(&[(400, 400)]),
            also: Some(("rotation on 400", |look| matches!(look.case.rotation, Rotation::Forces(_)))),
            ..ALWAYS
        },
        means: reachable(
            Reason::RateLimitExceeded,
            CooldownRule::Exact { ms: 2 * MINUTE, level: Level::Zero, stated: false },
            Then::Next,
        ),
        weigh: Some(|look, means| match look.case.rotation {
            Rotation::Forces(ms) => {
                let cooldown = CooldownRule::Exact { ms, level: Level::Zero, stated: false };
                Some(Failure { cooldown, ..means })
            }
            Rotation::Rotates | Rotation::Holds => None,
        }),
        asks_rules: false,
    },
    Row {
        id: Detector::BanText,
        title: "the account is disabled",
        when: When {
            also: Some(("text says: the account is disabled; or an operator's ban signal", |look| {
                look.says(&BAN) || look.says_signal()
            })),
            ..ALWAYS
        },
        means: Failure {
            terminal: Some(TerminalRule::Banned),
            ..reachable(Reason::AuthError, exactly(BAN_MS), Then::Next)
        },
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::ModelRetired,
        title: "the model is retired",
        when: When { statuses: Some(&[(404, 404), (410, 410)]), says: &[&RETIRED], ..ALWAYS },
        means: GONE,
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::ModelRetired,
        title: "the model is retired, by a status of content",
        when: When { statuses: Some(&[(400, 400), (422, 422)]), says: &[&RETIRED_IN_CONTENT], ..ALWAYS },
        means: GONE,
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::EndpointMoved,
        title: "the endpoint has moved",
        when: When { says: &[&MOVED], ..ALWAYS },
        means: GONE,
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::BillingSuspended,
        title: "the account is suspended for its bills",
        when: When { says: &[&BILLING_SUSPENSION], ..ALWAYS },
        means: Failure {
            terminal: Some(TerminalRule::CreditsExhausted),
            ..reachable(Reason::QuotaExhausted, exactly(2 * MINUTE), Then::Next)
        },
        weigh: None,
        asks_rules: false,
    },
];
