//! What is known of the errors of some gateways (rules 3.5): ordered data. The order counts:
//! the first row of a provider that matches wins.

use super::find::Seen;
use crate::hint::{self, Hint};
use crate::time::{HOUR, MINUTE, Millis};
use crate::verdict::{Reason, RuleScope};

/// These providers' rules see the whole text of an answer; others see code and type (rules 3.2.1).
const FULL_TEXT: &[&str] = &["agentrouter"];
/// These providers' scopes are acted on; others' are labels (rules 3.3.1).
const HONOURS_SCOPE: &[&str] = &["agentrouter"];

const OPENCODE: &[&str] = &["opencode", "opencode-zen", "opencode-go", "opencode-cli"];

/// One row.
pub(super) struct BuiltIn {
    pub(super) id: &'static str,
    providers: &'static [&'static str],
    statuses: &'static [u16],
    when: Condition,
    pub(super) reason: Reason,
    pub(super) scope: RuleScope,
    cooldown: Wait,
}

enum Condition {
    /// The status alone.
    Status,
    /// Any of these texts, in lower case.
    Text(&'static [&'static str]),
    /// Any of these headers is exactly this.
    Header(&'static [&'static str], &'static str),
    /// A comma list of `name=count` in this header has a count of 0.
    CountIsZero(&'static str),
    /// This text, and how many days, hours, minutes or seconds are left (rules 3.5.2).
    Countdown(&'static str),
}

enum Wait {
    /// None of its own: a hint, the operator's delay, or the backoff.
    Usual,
    Ms(Millis),
    /// What the countdown says.
    Counted,
}

pub(super) const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        id: "opencode-endpoint-unavailable",
        providers: OPENCODE,
        statuses: &[400, 429],
        when: Condition::Text(&["endpoint is unavailable"]),
        reason: Reason::ModelCapacity,
        scope: RuleScope::Model,
        cooldown: Wait::Ms(5 * MINUTE),
    },
    BuiltIn {
        id: "opencode-monthly-quota-resets-in",
        providers: OPENCODE,
        statuses: &[429],
        when: Condition::Countdown("monthly usage limit reached"),
        reason: Reason::QuotaExhausted,
        scope: RuleScope::Connection,
        cooldown: Wait::Counted,
    },
    BuiltIn {
        id: "opencode-quota-exhausted-headers",
        providers: OPENCODE,
        statuses: &[429],
        when: Condition::Header(&["x-ratelimit-remaining-requests", "x-ratelimit-remaining-tokens"], "0"),
        reason: Reason::QuotaExhausted,
        scope: RuleScope::Connection,
        cooldown: Wait::Usual,
    },
    BuiltIn {
        id: "opencode-quota-exhausted-body",
        providers: OPENCODE,
        statuses: &[429],
        when: Condition::Text(&[
            "organization_quota_exceeded",
            "account_quota_exceeded",
            "plan_limit_reached",
        ]),
        reason: Reason::QuotaExhausted,
        scope: RuleScope::Connection,
        cooldown: Wait::Usual,
    },
    BuiltIn {
        id: "opencode-400-model-unavailable",
        providers: OPENCODE,
        statuses: &[400],
        when: Condition::Text(&["upstream request failed: model is unavailable."]),
        reason: Reason::ModelCapacity,
        scope: RuleScope::Model,
        cooldown: Wait::Ms(HOUR),
    },
    BuiltIn {
        id: "minimax-per-model-quota",
        providers: &["minimax", "minimax-passthrough"],
        statuses: &[429],
        when: Condition::CountIsZero("x-model-quota-remaining"),
        reason: Reason::QuotaExhausted,
        scope: RuleScope::Model,
        cooldown: Wait::Usual,
    },
    BuiltIn {
        id: "cloudflare-ai-daily-neuron-allocation",
        providers: &["cloudflare-ai"],
        statuses: &[429],
        when: Condition::Text(&["daily free allocation"]),
        reason: Reason::QuotaExhausted,
        scope: RuleScope::Connection,
        cooldown: Wait::Usual,
    },
    BuiltIn {
        id: "openrouter-credit-exhausted-402",
        providers: &["openrouter"],
        statuses: &[402],
        when: Condition::Status,
        reason: Reason::QuotaExhausted,
        scope: RuleScope::Connection,
        cooldown: Wait::Ms(2 * MINUTE),
    },
    // Before the quota row: a text with both markers is about the model (decision 29).
    BuiltIn {
        id: "agentrouter-model-access-denied",
        providers: &["agentrouter"],
        statuses: &[403],
        when: Condition::Text(&["无权访问模型"]),
        reason: Reason::AuthError,
        scope: RuleScope::Model,
        cooldown: Wait::Ms(6 * HOUR),
    },
    BuiltIn {
        id: "agentrouter-user-quota-exhausted",
        providers: &["agentrouter"],
        statuses: &[400, 403, 429],
        when: Condition::Text(&["额度不足"]),
        reason: Reason::QuotaExhausted,
        scope: RuleScope::Connection,
        cooldown: Wait::Usual,
    },
];

pub(super) fn sees_full_text(provider: &str) -> bool {
    FULL_TEXT.iter().any(|id| provider.eq_ignore_ascii_case(id))
}

pub(super) fn honours_scope(provider: &str) -> bool {
    HONOURS_SCOPE.iter().any(|id| provider.eq_ignore_ascii_case(id))
}

impl BuiltIn {
    /// Its cooldown if it matches: `Some(None)` when it has none of its own.
    pub(super) fn matches(&self, seen: &Seen<'_>, texts: &[String]) -> Option<Option<Millis>> {
        let mine = self.providers.iter().any(|id| seen.provider.eq_ignore_ascii_case(id));
        if !mine || !self.statuses.contains(&seen.status) {
            return None;
        }
        let mut counted = None;
        let holds = |wanted: &str| texts.iter().any(|text| text.contains(wanted));
        let met = match &self.when {
            Condition::Status => true,
            Condition::Text(any) => any.iter().any(|wanted| holds(wanted)),
            Condition::Header(names, value) => names.iter().any(|name| seen.header(name) == Some(*value)),
            Condition::CountIsZero(name) => seen.header(name).is_some_and(has_zero_count),
            Condition::Countdown(wanted) => {
                counted = texts.iter().find_map(|text| hint::countdown(text));
                counted.is_some() && holds(wanted)
            }
        };
        met.then_some(match self.cooldown {
            Wait::Usual => None,
            Wait::Ms(ms) => Some(ms),
            Wait::Counted => counted.map(|ms| ms.min(Hint::MAX_MS)),
        })
    }
}

fn has_zero_count(list: &str) -> bool {
    list.split(',').filter_map(|entry| entry.split_once('=')).any(|(_, count)| count.trim() == "0")
}
