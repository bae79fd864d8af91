//! E1–E66 of core 3.10: judge and record together, on one connection at T0. Where a decision
//! changes a row, its name says so. Rows that need a rule or a gate stand with `run`.

use std::collections::BTreeMap;

use super::super::{
    Case, CooldownRule, End, Failure, Level, Reason, Rotation, Signal, TerminalRule, Then, Verdict, judge,
};
use crate::cooldown::{Cooldown, CooldownSettings, CooldownSnapshot, Trial, resolve_delay};
use crate::hint;
use crate::ids::Class;
use crate::rules::{ErrorDefault, RuleBook};
use crate::time::Millis;

use Class::{Apikey, Oauth};
use Reason::{
    AuthError, ConcurrencyLimited, InvalidPreviousResponseBinding, ModelCapacity, NotFound, QuotaExhausted,
    RateLimitExceeded, ServerError, ServiceNotRunning, Unknown,
};

/// 2026-01-15T12:00:00Z.
pub(super) const T0: Millis = 1_768_478_400_000;

/// Judges an answer of `acme` at T0, hints read from it as the relay reads them.
pub(super) fn judged(case: &Case<'_>, status: u16, headers: &[(&str, &str)], text: &str) -> Failure {
    let get = |name: &str| {
        let named = headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_bytes())
    };
    let owned = headers.iter().map(|(name, value)| (name.to_lowercase(), (*value).to_owned())).collect();
    let signal = Signal {
        hint: hint::find(get, text, status, case.now),
        headers: owned,
        text: text.to_owned(),
        end: End::Status(status),
    };
    match judge(&signal, case) {
        Verdict::Failure(failure) => failure,
        other => panic!("{status} is {other:?}"),
    }
}

pub(super) fn acme(class: Class) -> Case<'static> {
    Case { provider: "acme", model: Some("m"), now: T0, ..Case::of(class) }
}

/// The cooldown and the level that a failure leaves on a connection of this level. One that is
/// terminal at once leaves no cooldown (core 3.9.1): its number is the verdict's.
fn recorded(settings: CooldownSettings, level: u32, failure: Failure) -> (Millis, u32) {
    let ends = matches!(failure.terminal, Some(TerminalRule::Banned | TerminalRule::CreditsExhausted));
    if let CooldownRule::Exact { ms, level: Level::Keeps, .. } = failure.cooldown
        && ends
    {
        return (ms, level);
    }
    let snapshot = CooldownSnapshot { level, ..CooldownSnapshot::default() };
    let mut connection = Cooldown::restore(snapshot, settings, T0);
    let generation = connection.snapshot().generation;
    connection.record(Trial { generation, lone: false }, &Verdict::Failure(failure), T0, T0);
    let view = connection.view();
    (view.cooling_until(T0).map_or(0, |until| until - T0), view.level)
}

/// Name, class, status, headers, text, level before; cooldown, reason, level after.
type Row = (
    &'static str,
    Class,
    u16,
    &'static [(&'static str, &'static str)],
    &'static str,
    u32,
    (Millis, Reason, u32),
);

const AFTER: &str = "retry-after";
const RESET: &str = "x-ratelimit-reset";
const RETRY_12: &str =
    r#"{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"12s"}]}}"#;
const RETRY_26: &str =
    r#"{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"26.5s"}]}}"#;
const RETRY_2D: &str =
    r#"{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"172800s"}]}}"#;
const LIMIT_1310: &str =
    "[1310][Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-01-21 12:00:00]";
const BINDING: &str = "previous_response_id does not belong to you";

const ROWS: &[Row] = &[
    ("E1", Apikey, 429, &[], "Slow down", 0, (3_000, RateLimitExceeded, 1)),
    ("E2", Apikey, 429, &[], "Slow down", 3, (24_000, RateLimitExceeded, 4)),
    ("E3", Apikey, 429, &[], "Slow down", 5, (96_000, RateLimitExceeded, 5)),
    ("E4", Oauth, 429, &[], "Slow down", 0, (5_000, RateLimitExceeded, 1)),
    ("E5", Oauth, 429, &[], "Slow down", 8, (1_280_000, RateLimitExceeded, 8)),
    ("E7", Apikey, 429, &[(AFTER, "45")], "", 4, (45_000, RateLimitExceeded, 0)),
    ("E8", Apikey, 429, &[(AFTER, "Thu, 15 Jan 2026 12:02:00 GMT")], "", 0, (120_000, RateLimitExceeded, 0)),
    ("E9", Apikey, 429, &[(RESET, "1768478490")], "", 0, (90_000, RateLimitExceeded, 0)),
    ("E10", Apikey, 429, &[(RESET, "1768478700000")], "", 0, (300_000, RateLimitExceeded, 0)),
    ("E11 by decision 2", Oauth, 429, &[(AFTER, "45")], "", 0, (45_000, RateLimitExceeded, 0)),
    ("E12", Oauth, 429, &[(AFTER, "45")], "", 2, (45_000, RateLimitExceeded, 0)),
    ("E13", Apikey, 429, &[(AFTER, "0")], RETRY_12, 0, (12_000, RateLimitExceeded, 0)),
    ("E14", Apikey, 429, &[], RETRY_26, 0, (26_500, RateLimitExceeded, 0)),
    ("E15", Apikey, 429, &[], RETRY_2D, 0, (86_400_000, RateLimitExceeded, 0)),
    (
        "E16",
        Apikey,
        429,
        &[],
        r#"{"error":{"retryAfter":"2026-01-15T13:00:00Z"}}"#,
        0,
        (3_600_000, RateLimitExceeded, 0),
    ),
    ("E17", Apikey, 429, &[], r#"{"retry_after_ms":2500}"#, 0, (2_500, RateLimitExceeded, 0)),
    ("E18", Apikey, 429, &[], "Please retry in 54.472178091s", 0, (54_472, RateLimitExceeded, 0)),
    ("E19", Apikey, 429, &[], "resets after 1h2m3s", 0, (3_723_000, RateLimitExceeded, 0)),
    ("E20", Apikey, 429, &[], "try again at 2026-01-15 12:10:00", 0, (600_000, RateLimitExceeded, 0)),
    (
        "E21",
        Apikey,
        429,
        &[],
        "Monthly limit reached. Resets in 13 days",
        0,
        (1_123_200_000, QuotaExhausted, 0),
    ),
    (
        "E22 by decision 2",
        Oauth,
        429,
        &[],
        "Your quota will reset in 3 days.",
        0,
        (259_200_000, QuotaExhausted, 0),
    ),
    ("E23", Apikey, 429, &[], "insufficient_quota", 2, (120_000, QuotaExhausted, 2)),
    ("E24", Apikey, 429, &[], "Weekly usage limit hit", 2, (86_400_000, QuotaExhausted, 2)),
    ("E25", Apikey, 429, &[], LIMIT_1310, 2, (518_400_000, QuotaExhausted, 2)),
    (
        "E26",
        Apikey,
        429,
        &[],
        "you have reached your session usage limit",
        2,
        (18_000_000, QuotaExhausted, 2),
    ),
    ("E27", Oauth, 429, &[], "Claude Pro usage limit reached", 2, (3_600_000, QuotaExhausted, 2)),
    ("E28", Oauth, 429, &[], "You have used today's quota", 2, (43_200_000, QuotaExhausted, 2)),
    ("E29", Apikey, 429, &[], "too many concurrent requests", 4, (1_000, ConcurrencyLimited, 4)),
    ("E30", Oauth, 429, &[], "当前并发数过高", 2, (1_000, ConcurrencyLimited, 2)),
    ("E31", Apikey, 429, &[(AFTER, "7")], "concurrency limit", 1, (7_000, ConcurrencyLimited, 1)),
    ("E32", Apikey, 429, &[], "concurrency limit: monthly quota exceeded", 0, (3_000, QuotaExhausted, 1)),
    ("E33", Apikey, 402, &[], "", 2, (0, QuotaExhausted, 2)),
    ("E34 by decision 12a", Apikey, 401, &[], "Incorrect API key provided", 0, (3_000, AuthError, 1)),
    ("E36", Apikey, 403, &[], "Forbidden", 0, (3_000, AuthError, 1)),
    ("E37 by decision 1", Oauth, 403, &[], "Forbidden", 0, (5_000, AuthError, 1)),
    ("E38", Apikey, 403, &[], r#"{"error_code": 1010}"#, 2, (0, AuthError, 2)),
    ("E39", Apikey, 403, &[], "not authorized for this route", 2, (0, Unknown, 2)),
    ("E40 by decision 10", Apikey, 404, &[], "Not Found", 2, (0, NotFound, 2)),
    ("E41 as a lock", Apikey, 410, &[], "This model is no longer available", 2, (0, NotFound, 2)),
    (
        "E42",
        Apikey,
        412,
        &[],
        "Account x is suspended, monthly spending limit",
        2,
        (120_000, QuotaExhausted, 2),
    ),
    ("E43", Apikey, 500, &[], "", 2, (12_000, ServerError, 3)),
    ("E44", Apikey, 503, &[(AFTER, "20")], "", 2, (20_000, ServerError, 0)),
    ("E45", Oauth, 503, &[], "Overloaded", 0, (5_000, ModelCapacity, 1)),
    (
        "E46",
        Apikey,
        503,
        &[("x-omni-fallback-hint", "connection_cooldown")],
        "",
        3,
        (5_000, ServiceNotRunning, 0),
    ),
    ("E47 by decision 12c", Apikey, 529, &[], "", 3, (0, ModelCapacity, 3)),
    ("E48 by decision 8", Apikey, 413, &[], "", 2, (0, Unknown, 2)),
    ("E49", Apikey, 432, &[], "", 2, (3_600_000, QuotaExhausted, 2)),
    ("E50", Apikey, 400, &[], "prompt is too long", 2, (0, ModelCapacity, 2)),
    ("E51", Apikey, 400, &[], "invalid api key for model x", 2, (0, Unknown, 2)),
    (
        "E52",
        Apikey,
        400,
        &[],
        "Detected high-frequency non-compliant requests",
        0,
        (3_000, RateLimitExceeded, 1),
    ),
    ("E53", Apikey, 400, &[], "missing field foo", 2, (0, Unknown, 2)),
    ("E54", Apikey, 409, &[], BINDING, 2, (0, InvalidPreviousResponseBinding, 2)),
    ("E63", Apikey, 429, &[], "Please retry after 20s", 0, (20_000, RateLimitExceeded, 0)),
    (
        "E64 by decision 4",
        Apikey,
        429,
        &[(AFTER, "Thu, 15 Jan 2026 11:59:00 GMT"), (RESET, "1768478490")],
        "",
        0,
        (90_000, RateLimitExceeded, 0),
    ),
    ("E66 by decision 4", Apikey, 429, &[], "resets after 1h 5m", 0, (3_900_000, RateLimitExceeded, 0)),
];

#[test]
fn e1_to_e66() {
    for (name, class, status, headers, text, level, want) in ROWS {
        let failure = judged(&acme(*class), *status, headers, text);
        let reason = failure.reason;
        let (cooldown, after) = recorded(CooldownSettings::for_class(*class), *level, failure);
        assert_eq!((cooldown, reason, after), *want, "{name}");
    }
}

/// E65: the text speaks of a quota, but an API key's 429 without Q1 is a rate limit.
#[test]
fn e65_a_date_without_a_year() {
    let failure = judged(&acme(Apikey), 429, &[], "The quota will reset at 01-20 12:00:00 UTC");
    assert_eq!(failure.reason, RateLimitExceeded);
    assert_eq!(recorded(CooldownSettings::for_class(Apikey), 0, failure), (432_000_000, 0));
}

/// E6: the ceiling, when an operator allows more steps.
#[test]
fn e6_the_ceiling() {
    let settings = CooldownSettings { max_steps: 12, ..CooldownSettings::for_class(Oauth) };
    let failure = judged(&acme(Oauth), 429, &[], "Slow down");
    assert_eq!(recorded(settings, 10, failure), (1_800_000, 11));
}

/// E35: a ban text ends it on any status and for any class.
#[test]
fn e35_a_ban_on_any_status() {
    for status in [400, 401, 402, 403, 404, 409, 422, 429, 500, 503, 529] {
        for class in [Apikey, Oauth, Class::Local] {
            let failure = judged(&acme(class), status, &[], "Your account has been suspended");
            assert_eq!(
                (failure.reason, failure.terminal),
                (AuthError, Some(TerminalRule::Banned)),
                "{status}"
            );
            assert_eq!(
                recorded(CooldownSettings::for_class(class), 2, failure),
                (31_536_000_000, 2),
                "{status}"
            );
        }
    }
}

/// The other terminal rows, and those that look like one and are none.
#[test]
fn which_rows_are_terminal() {
    let credits = Some(TerminalRule::CreditsExhausted);
    for (name, class, status, text, want) in [
        ("E23", Apikey, 429, "insufficient_quota", credits),
        ("E33, F17", Apikey, 402, "", credits),
        (
            "E34 by decision 12a",
            Apikey,
            401,
            "Incorrect API key provided",
            Some(TerminalRule::ExpiredIfConfirmed),
        ),
        ("E36", Apikey, 403, "Forbidden", None),
        ("E37 by decision 1", Oauth, 403, "Forbidden", None),
        ("E38", Apikey, 403, r#"{"error_code":1010}"#, None),
        ("E42", Apikey, 412, "Account x is suspended, monthly spending limit", credits),
        ("E27", Oauth, 429, "Claude Pro usage limit reached", None),
        ("E24", Apikey, 429, "Weekly usage limit hit", None),
    ] {
        assert_eq!(judged(&acme(class), status, &[], text).terminal, want, "{name}");
    }
}

/// What each row lets the request do next: `shouldFallback` of the table.
#[test]
fn which_rows_stop() {
    for (name, status, text, want) in [
        ("E39", 403, "not authorized for this route", Then::Stop),
        ("E51", 400, "invalid api key for model x", Then::Stop),
        ("E53", 400, "missing field foo", Then::Stop),
        ("E54", 409, BINDING, Then::Stop),
        ("E48 by decision 8", 413, "", Then::Stop),
        ("E50", 400, "prompt is too long", Then::Next),
        ("E52", 400, "Detected high-frequency non-compliant requests", Then::NextOrRetry),
        ("E1", 429, "Slow down", Then::NextOrRetry),
        ("E29", 429, "too many concurrent requests", Then::NextOrRetry),
        ("E23", 429, "insufficient_quota", Then::Next),
        ("E47 by decision 12c", 529, "", Then::NextOrOnce),
    ] {
        assert_eq!(judged(&acme(Apikey), status, &[], text).then, want, "{name}");
    }
}

/// E55–E59: whose delay wins; only a 429 without a stated wait asks.
#[test]
fn e55_to_e59_the_operators_delays() {
    const S: Millis = 1_000;
    for (name, delays, status, headers, level, want) in [
        ("E55", [Some(30 * S), Some(60 * S), Some(300 * S)], 429, &[][..], 3, (30 * S, 0)),
        ("E56", [None, Some(60 * S), Some(300 * S)], 429, &[], 3, (60 * S, 0)),
        ("E57", [None, None, Some(300 * S)], 429, &[], 3, (300 * S, 0)),
        ("E58", [None, Some(60 * S), None], 429, &[(AFTER, "5")], 3, (5 * S, 0)),
        ("E59", [None, Some(60 * S), None], 503, &[], 0, (3 * S, 1)),
    ] {
        let [connection, provider, env] = delays;
        let delay = resolve_delay(connection, provider, env);
        let settings = CooldownSettings { rate_limit_delay_ms: delay, ..CooldownSettings::for_class(Apikey) };
        assert_eq!(recorded(settings, level, judged(&acme(Apikey), status, headers, "")), want, "{name}");
    }
}

/// E60: openrouter's 402 is a wait, not the end.
#[test]
fn e60_a_rule_of_the_catalogue() {
    let case = Case { provider: "openrouter", ..acme(Apikey) };
    let failure = judged(&case, 402, &[], "");
    assert_eq!((failure.reason, failure.terminal), (QuotaExhausted, None));
    assert_eq!(failure.rule.and_then(|rule| rule.id.name()), Some("openrouter-credit-exhausted-402"));
    assert_eq!(recorded(CooldownSettings::for_class(Apikey), 2, failure), (120_000, 2));
}

/// E61: the operator does not rotate on 429.
#[test]
fn e61_a_closed_rotation_gate() {
    let case = Case { rotation: Rotation::Holds, ..acme(Apikey) };
    let failure = judged(&case, 429, &[], "Slow down");
    assert_eq!((failure.reason, failure.then), (Unknown, Then::Stop));
    assert_eq!(recorded(CooldownSettings::for_class(Apikey), 2, failure), (0, 2));
}

/// E62: the longer of the operator's default and the stated wait.
#[test]
fn e62_an_operators_default_against_a_hint() {
    let default = ErrorDefault { cooldown_ms: 600_000, ..ErrorDefault::default() };
    let rules =
        RuleBook::new(BTreeMap::new(), BTreeMap::from([("acme".into(), default)]), Vec::new()).unwrap();
    let case = Case { rules: &rules, ..acme(Apikey) };
    let failure = judged(&case, 429, &[(AFTER, "900")], "");
    assert_eq!(failure.reason, RateLimitExceeded);
    assert_eq!(recorded(CooldownSettings::for_class(Apikey), 2, failure), (900_000, 0));
}
