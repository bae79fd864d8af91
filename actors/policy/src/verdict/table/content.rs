//! 403, and the statuses of a request's content: 400, 413, 415, 422 (core D17–D19, D24–D26,
//! decisions 1, 8, 29).
//!
//! The content is the client's affair: no state changes and its own answer goes back, unless
//! the text says that this model or this provider is the trouble.

use super::super::lists::{
    ACCESS_FORM, BAD_CREDENTIAL, EDGE_REFUSAL, MODEL_ACCESS, MODEL_UNAVAILABLE, MODEL_UNKNOWN, NOT_ALLOWED,
    OVERFLOW, PARAMETER, THROTTLING,
};
use super::super::{CooldownRule, Detector, Failure, Level, LockRule, Reason, Then, ruled};
use super::{ALWAYS, LOCK, Look, Row, Statuses, When, reachable};
use crate::ids::Class;
use crate::time::MINUTE;

const FORBIDDEN: Statuses = &[(403, 403)];
const CONTENT: Statuses = &[(400, 400), (413, 413), (415, 415), (422, 422)];
/// Where the words of the answer may send the request on.
const WORDED: Statuses = &[(400, 400), (422, 422)];

/// The next target without any state (decision 8).
const ADVANCES: Failure = reachable(Reason::ModelCapacity, CooldownRule::Nothing, Then::Next);
/// The next target, and this model rests here.
const LOCKS: Failure =
    Failure { lock: Some(LOCK), ..reachable(Reason::NotFound, CooldownRule::Nothing, Then::Next) };

/// Refusals climb a ladder of their own on the exact key (core 3.8.3).
const REJECTED_LOCK: LockRule = LockRule { exact_key: true, authoritative: true, ..LOCK };

fn speaks_of_model(look: &Look<'_>) -> bool {
    !look.says(&BAD_CREDENTIAL)
}

pub(super) const ROWS: &[Row] = &[
    Row {
        id: Detector::RouteForbidden,
        title: "the route is closed",
        when: When {
            statuses: Some(FORBIDDEN),
            also: Some(("text says: not authorized for this route", |look| {
                look.words.texts.iter().any(|text| text.contains("not authorized for this route"))
            })),
            ..ALWAYS
        },
        means: reachable(Reason::Unknown, CooldownRule::Nothing, Then::Stop),
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::RequestRejected,
        title: "the account refuses this request",
        when: When {
            statuses: Some(FORBIDDEN),
            says: &[&NOT_ALLOWED],
            also: Some(("OAuth", |look| look.case.class == Class::Oauth)),
            ..ALWAYS
        },
        means: Failure {
            lock: Some(REJECTED_LOCK),
            ..reachable(Reason::RequestRejected, CooldownRule::Nothing, Then::Next)
        },
        weigh: Some(|look, means| match look.case.model {
            Some(_) => Some(means),
            None => Some(Failure { lock: None, cooldown: CooldownRule::Rejected, ..means }),
        }),
        asks_rules: false,
    },
    Row {
        id: Detector::ForbiddenByRule,
        title: "a rule whose scope is acted on",
        when: When {
            statuses: Some(FORBIDDEN),
            also: Some(("not blank; such a rule matches", |look| !look.is_blank())),
            ..ALWAYS
        },
        means: reachable(Reason::AuthError, CooldownRule::Scaled, Then::Next),
        weigh: Some(|look, means| {
            let found = look.rule().filter(|found| found.rule.honoured)?;
            Some(ruled::apply_with(look, means, found, Level::Zero))
        }),
        asks_rules: false,
    },
    // The edge before the provider: no account is at fault, so none rests (E38).
    Row {
        id: Detector::EdgeRefusal,
        title: "refused by the edge before the provider",
        when: When { statuses: Some(FORBIDDEN), says: &[&EDGE_REFUSAL], ..ALWAYS },
        means: reachable(Reason::AuthError, CooldownRule::Record, Then::Next),
        weigh: None,
        asks_rules: false,
    },
    // FC-023 (iii): quota with the wrong status; long, since a 403 states no wait.
    Row {
        id: Detector::ForbiddenQuota,
        title: "a quota text on a 403",
        when: When {
            statuses: Some(FORBIDDEN),
            also: Some(("the text speaks of a quota", |look| look.is_quota_class())),
            ..ALWAYS
        },
        means: reachable(
            Reason::QuotaExhausted,
            CooldownRule::Exact { ms: 2 * MINUTE, level: Level::Rises, stated: false },
            Then::Next,
        ),
        weigh: None,
        asks_rules: true,
    },
    // Never a ban by itself (core 3.9.5, E36).
    Row {
        id: Detector::Forbidden,
        title: "any other 403 of a key",
        when: When {
            statuses: Some(FORBIDDEN),
            also: Some(("not blank; not OAuth", |look| !look.is_blank() && look.case.class != Class::Oauth)),
            ..ALWAYS
        },
        means: reachable(Reason::AuthError, CooldownRule::Scaled, Then::Next),
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::ContentByRule,
        title: "an operator's rule that names this status",
        when: When { statuses: Some(CONTENT), ..ALWAYS },
        means: reachable(Reason::Unknown, CooldownRule::Scaled, Then::Next),
        weigh: Some(|look, means| Some(ruled::apply(look, means, look.rule_by_status()?))),
        asks_rules: false,
    },
    Row {
        id: Detector::ModelUnknown,
        title: "the provider does not serve the model",
        when: When {
            statuses: Some(WORDED),
            also: Some((
                "code model_not_found, or a text that says so and is not about the credential",
                |look| {
                    look.words.has_code(&["model_not_found", "deployment_not_found"])
                        || look.says(&MODEL_UNKNOWN) && speaks_of_model(look)
                },
            )),
            ..ALWAYS
        },
        means: Failure { then: Then::NextProvider, ..LOCKS },
        // "… or you do not have access to it": another account may.
        weigh: Some(|look, means| match look.says(&ACCESS_FORM) {
            true => Some(Failure { then: Then::Next, ..means }),
            false => Some(means),
        }),
        asks_rules: false,
    },
    Row {
        id: Detector::ModelUnavailable,
        title: "the model is unavailable",
        when: When {
            statuses: Some(WORDED),
            says: &[&MODEL_UNAVAILABLE],
            also: Some(("not about the credential", speaks_of_model)),
            ..ALWAYS
        },
        means: LOCKS,
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::ContextOverflow,
        title: "too long for this model",
        when: When { statuses: Some(WORDED), says: &[&OVERFLOW], ..ALWAYS },
        means: ADVANCES,
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::ParameterRange,
        title: "a parameter out of this model's range",
        when: When { statuses: Some(WORDED), says: &[&PARAMETER], ..ALWAYS },
        means: ADVANCES,
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::ModelAccess,
        title: "no access to the model, or it cannot do this",
        when: When {
            statuses: Some(WORDED),
            also: Some((
                "type not_found_error, or a text that says so and is not about the credential",
                |look| {
                    look.words.has_code(&["not_found_error"])
                        || look.says(&MODEL_ACCESS) && speaks_of_model(look)
                },
            )),
            ..ALWAYS
        },
        means: ADVANCES,
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::ContentThrottled,
        title: "throttling by a status of content",
        when: When { statuses: Some(CONTENT), says: &[&THROTTLING], ..ALWAYS },
        means: reachable(Reason::RateLimitExceeded, CooldownRule::Scaled, Then::NextOrRetry),
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::Content,
        title: "the request's own affair",
        when: When { statuses: Some(CONTENT), ..ALWAYS },
        means: reachable(Reason::Unknown, CooldownRule::Nothing, Then::Stop),
        weigh: None,
        asks_rules: false,
    },
];
