//! Whose quota is used up, and for how long (core D9–D16, FC-076, FC-078, decision 12c).
//!
//! A quota per model on such a provider locks the model instead; that choice is the owner's
//! (`lockout::lock_for`), except where a row says that the whole account speaks.

use super::super::lists::{
    CLAUDE_LIMIT, CONCURRENCY, CREDITS, DAILY, GOOGLE_BILLING, GOOGLE_PER_DAY, GOOGLE_PER_MINUTE, SESSION,
    SUBSCRIPTION, TOKENS_PER_DAY, WEEKLY,
};
use super::super::{CooldownRule, Detector, Failure, Level, LockRule, Reason, TerminalRule, Then};
use super::{ALWAYS, Look, Row, When, exactly, reachable};
use crate::hint::HintSource;
use crate::time::{DAY, HOUR, MINUTE, Millis, SECOND};

/// A shorter stated wait is about a burst, not about a day's, week's or session's quota
/// (FC-076: a daily quota with `retryDelay` 12 s).
const LEAST_WINDOW_MS: Millis = 10 * MINUTE;
/// Core 3.2.1.
const CONCURRENCY_LIMIT_COOLDOWN_MS: Millis = SECOND;
/// How long 529 bars its exact model (decision 12c).
const OVERLOADED_MS: Millis = 10 * SECOND;

const OVERLOADED_LOCK: LockRule =
    LockRule { exact_key: true, exact_ms: Some(OVERLOADED_MS), authoritative: true, keep_count: true };

/// A quota that is gone is not asked again in place (routing 7.3).
const fn gone(cooldown: CooldownRule) -> Failure {
    reachable(Reason::QuotaExhausted, cooldown, Then::Next)
}

/// The stated wait in place of the row's, from its receipt (decision 2).
fn for_stated(means: Failure, stated: Option<Millis>) -> Failure {
    let Some(ms) = stated else { return means };
    Failure { cooldown: CooldownRule::Exact { ms, level: Level::Keeps, stated: true }, ..means }
}

fn for_window(look: &Look<'_>, means: Failure) -> Failure {
    for_stated(means, look.stated().filter(|ms| *ms >= LEAST_WINDOW_MS))
}

fn until_tomorrow(look: &Look<'_>, means: Failure) -> Failure {
    let ms = look.until_daily_reset();
    Failure { cooldown: CooldownRule::Exact { ms, level: Level::Keeps, stated: true }, ..means }
}

pub(super) const ROWS: &[Row] = &[
    // FC-076: to the daily reset, whatever RetryInfo says of the minute.
    Row {
        id: Detector::GoogleDaily,
        title: "Google's quota of the day",
        when: When { statuses: Some(&[(429, 429)]), says: &[&GOOGLE_PER_DAY], ..ALWAYS },
        means: gone(exactly(DAY)),
        weigh: Some(|look, means| Some(until_tomorrow(look, means))),
        asks_rules: false,
    },
    Row {
        id: Detector::GoogleMinute,
        title: "Google's quota of the minute",
        when: When { statuses: Some(&[(429, 429)]), says: &[&GOOGLE_PER_MINUTE], ..ALWAYS },
        means: reachable(Reason::RateLimitExceeded, CooldownRule::Scaled, Then::NextOrRetry),
        weigh: None,
        asks_rules: false,
    },
    // FC-078: every other model of the account would only learn it again.
    Row {
        id: Detector::UsageLimit,
        title: "a typed limit of the whole account",
        when: When {
            statuses: Some(&[(429, 429)]),
            also: Some(("code or type usage_limit_reached", |look| {
                look.words.has_code(&["usage_limit_reached"])
            })),
            ..ALWAYS
        },
        means: Failure { of_account: true, ..gone(exactly(HOUR)) },
        weigh: Some(|look, means| Some(for_stated(means, look.stated()))),
        asks_rules: false,
    },
    Row {
        id: Detector::Credits,
        title: "the account is out of credit",
        when: When { says: &[&CREDITS, &GOOGLE_BILLING], trusted: true, ..ALWAYS },
        means: Failure { terminal: Some(TerminalRule::CreditsExhausted), ..gone(exactly(2 * MINUTE)) },
        // Behind a gateway the credit may be one vendor's.
        weigh: Some(|look, means| match look.case.passthrough {
            true => Some(Failure { terminal: None, ..means }),
            false => Some(means),
        }),
        asks_rules: false,
    },
    Row {
        id: Detector::DailyQuota,
        title: "the quota of the day",
        when: When { says: &[&DAILY], trusted: true, ..ALWAYS },
        means: gone(exactly(DAY)),
        weigh: Some(|look, means| Some(for_window(look, until_tomorrow(look, means)))),
        asks_rules: false,
    },
    Row {
        id: Detector::DailyQuota,
        title: "tokens per day, with a known clock or a reset header",
        when: When {
            says: &[&TOKENS_PER_DAY],
            trusted: true,
            also: Some(("a daily reset is configured, or a header states the wait", |look| {
                let header = look.hint.is_some_and(|hint| hint.source == HintSource::Header);
                look.case.daily_reset.is_some() || header
            })),
            ..ALWAYS
        },
        means: gone(exactly(DAY)),
        weigh: Some(|look, means| match (look.stated(), look.case.daily_reset) {
            (Some(_), None) => Some(for_stated(means, look.stated())),
            _ => Some(for_window(look, until_tomorrow(look, means))),
        }),
        asks_rules: false,
    },
    Row {
        id: Detector::Subscription,
        title: "the limit of a subscription",
        when: When {
            trusted: true,
            also: Some(("text says: the usage limit is reached", |look| {
                look.says(&SUBSCRIPTION) || look.provider_is("claude") && look.says(&CLAUDE_LIMIT)
            })),
            ..ALWAYS
        },
        means: gone(exactly(HOUR)),
        weigh: Some(|look, means| Some(for_stated(means, look.stated()))),
        asks_rules: false,
    },
    Row {
        id: Detector::WeeklyQuota,
        title: "the limit of the week",
        when: When { says: &[&WEEKLY], ..ALWAYS },
        means: gone(exactly(DAY)),
        weigh: Some(|look, means| match look.reset_in_text() {
            Some(ms) => Some(for_stated(means, Some(ms))),
            None => Some(for_window(look, means)),
        }),
        asks_rules: false,
    },
    Row {
        id: Detector::SessionQuota,
        title: "the limit of the session",
        when: When { says: &[&SESSION], ..ALWAYS },
        means: gone(exactly(5 * HOUR)),
        weigh: Some(|look, means| Some(for_window(look, means))),
        asks_rules: false,
    },
    Row {
        id: Detector::QuotaWithWait,
        title: "a quota with a stated wait",
        when: When {
            trusted: true,
            also: Some(("a wait is stated and the text speaks of a quota", |look| {
                look.hint.is_some() && look.is_quota_class()
            })),
            ..ALWAYS
        },
        means: gone(CooldownRule::Scaled),
        weigh: None,
        asks_rules: false,
    },
    Row {
        id: Detector::Concurrency,
        title: "the account is healthy but busy",
        when: When {
            statuses: Some(&[(429, 429)]),
            says: &[&CONCURRENCY],
            also: Some(("no quota text", |look| !look.quota)),
            ..ALWAYS
        },
        means: Failure {
            of_account: true,
            ..reachable(Reason::ConcurrencyLimited, exactly(CONCURRENCY_LIMIT_COOLDOWN_MS), Then::NextOrRetry)
        },
        weigh: Some(|look, means| Some(for_stated(means, look.stated()))),
        asks_rules: false,
    },
    // One exact model for ten seconds, no count anywhere (E47, FC-058).
    Row {
        id: Detector::Overloaded,
        title: "the model is overloaded",
        when: When {
            also: Some(("529, or type overloaded_error", |look| {
                look.status == 529 || look.words.has_code(&["overloaded_error", "server_is_overloaded"])
            })),
            ..ALWAYS
        },
        means: Failure {
            lock: Some(OVERLOADED_LOCK),
            ..reachable(Reason::ModelCapacity, CooldownRule::Nothing, Then::NextOrOnce)
        },
        weigh: None,
        asks_rules: true,
    },
];
