//! Every row of the built-in catalogue (rules 3.5), asked directly: some of them a verdict
//! never reaches, because a text of the table stands before them.

use std::collections::BTreeSet;

use super::super::RuleBook;
use super::super::catalogue::BUILT_IN;
use super::super::find::Seen;
use crate::time::{DAY, Millis};
use crate::verdict::{Reason, RuleScope};

use Reason::{AuthError, ModelCapacity, QuotaExhausted};
use RuleScope::{Connection, Model};

type Outcome = Option<(&'static str, Reason, RuleScope, Option<Millis>)>;

fn found(provider: &str, status: u16, headers: &[(&str, &str)], text: &str) -> Outcome {
    let headers: Vec<(String, String)> =
        headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    // As a code, so that blind rules see it too.
    let texts = [text.to_lowercase()];
    let seen = Seen { provider, status, headers: &headers, texts: &texts, codes: &texts };
    let found = RuleBook::empty().find(&seen)?;
    Some((found.rule.id.name()?, found.reason, found.rule.scope, found.cooldown_ms))
}

type Row = (&'static str, u16, &'static [(&'static str, &'static str)], &'static str, Outcome);

const MODEL: &str = "upstream request failed: model is unavailable.";
const MONTHLY: &str = "Monthly usage limit reached. Resets in 2 hours.";
const REQUESTS: &[(&str, &str)] = &[("X-RateLimit-Remaining-Requests", "0")];
const TOKENS: &[(&str, &str)] = &[("x-ratelimit-remaining-tokens", " 0 ")];
const COUNTS: &[(&str, &str)] = &[("x-model-quota-remaining", "haiku=0")];

const ROWS: &[Row] = &[
    (
        "opencode-cli",
        429,
        &[],
        "endpoint is unavailable",
        Some(("opencode-endpoint-unavailable", ModelCapacity, Model, Some(300_000))),
    ),
    (
        "opencode",
        429,
        &[],
        MONTHLY,
        Some(("opencode-monthly-quota-resets-in", QuotaExhausted, Connection, Some(7_200_000))),
    ),
    (
        "opencode-zen",
        429,
        REQUESTS,
        "",
        Some(("opencode-quota-exhausted-headers", QuotaExhausted, Connection, None)),
    ),
    (
        "opencode-go",
        429,
        TOKENS,
        "",
        Some(("opencode-quota-exhausted-headers", QuotaExhausted, Connection, None)),
    ),
    (
        "opencode",
        429,
        &[],
        "account_quota_exceeded",
        Some(("opencode-quota-exhausted-body", QuotaExhausted, Connection, None)),
    ),
    (
        "opencode",
        429,
        &[],
        "organization_quota_exceeded",
        Some(("opencode-quota-exhausted-body", QuotaExhausted, Connection, None)),
    ),
    (
        "opencode",
        429,
        &[],
        "plan_limit_reached",
        Some(("opencode-quota-exhausted-body", QuotaExhausted, Connection, None)),
    ),
    (
        "opencode",
        400,
        &[],
        MODEL,
        Some(("opencode-400-model-unavailable", ModelCapacity, Model, Some(3_600_000))),
    ),
    ("minimax", 429, COUNTS, "", Some(("minimax-per-model-quota", QuotaExhausted, Model, None))),
    ("minimax-passthrough", 429, COUNTS, "", Some(("minimax-per-model-quota", QuotaExhausted, Model, None))),
    (
        "cloudflare-ai",
        429,
        &[],
        "daily free allocation",
        Some(("cloudflare-ai-daily-neuron-allocation", QuotaExhausted, Connection, None)),
    ),
    (
        "OpenRouter",
        402,
        &[],
        "",
        Some(("openrouter-credit-exhausted-402", QuotaExhausted, Connection, Some(120_000))),
    ),
    (
        "agentrouter",
        403,
        &[],
        "无权访问模型",
        Some(("agentrouter-model-access-denied", AuthError, Model, Some(21_600_000))),
    ),
    (
        "agentrouter",
        429,
        &[],
        "用户额度不足",
        Some(("agentrouter-user-quota-exhausted", QuotaExhausted, Connection, None)),
    ),
    (
        "agentrouter",
        403,
        &[],
        "额度不足 无权访问模型",
        Some(("agentrouter-model-access-denied", AuthError, Model, Some(21_600_000))),
    ),
];

#[test]
fn every_row_matches_what_it_is_for() {
    for (provider, status, headers, text, want) in ROWS {
        assert_eq!(found(provider, *status, headers, text), *want, "{provider} {status} {text}");
    }
    let matched: BTreeSet<&str> = ROWS.iter().filter_map(|(.., want)| want.map(|(id, ..)| id)).collect();
    assert_eq!(matched.len(), BUILT_IN.len(), "a row without a test");
}

/// Decision 3: a countdown is a stated wait, so it is clamped like one.
#[test]
fn a_countdown_is_at_most_30_days() {
    let wait = |text| found("opencode", 429, &[], text).and_then(|(.., wait)| wait);
    assert_eq!(wait("monthly usage limit reached. resets in 30 days"), Some(30 * DAY));
    assert_eq!(wait("monthly usage limit reached. resets in 400 days"), Some(30 * DAY));
}

#[test]
fn no_row_matches_another_status_provider_or_half_of_its_condition() {
    let counts: &[(&str, &str)] = &[("x-model-quota-remaining", "haiku=10,b")];
    for (provider, status, headers, text) in [
        ("opencode", 500, &[][..], "endpoint is unavailable"),
        ("opencoder", 429, &[], "endpoint is unavailable"),
        // Rules 3.5.2: 0, no unit or another unit is no countdown; the text alone is not enough.
        ("opencode", 429, &[], "monthly usage limit reached. resets in 0 days"),
        ("opencode", 429, &[], "monthly usage limit reached. resets in 13"),
        ("opencode", 429, &[], "monthly usage limit reached. resets in 2 weeks"),
        ("opencode", 429, &[], "monthly usage limit reached"),
        ("opencode", 429, &[], "resets in 13 days"),
        ("opencode", 429, &[("x-ratelimit-remaining-requests", "10")], ""),
        ("opencode", 429, &[("x-ratelimit-remaining", "0")], ""),
        ("minimax", 429, counts, ""),
        ("openrouter", 429, &[], ""),
        ("agentrouter", 403, &[], "invalid api key"),
        ("agentrouter", 429, &[], "无权访问模型"),
    ] {
        assert_eq!(found(provider, status, headers, text), None, "{provider} {status} {text}");
    }
}
