//! The operator's part: checked whole when it is made, swapped whole when it changes
//! (rules 3.6). An invalid list is refused with every fault that it has; the old one stays.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::time::{DAY, MINUTE, Millis};
use crate::verdict::{Reason, RuleScope};

/// Rules of all providers together (rules 3.6.2).
pub const MOST_RULES: usize = 50;
/// Longest cooldown of a rule or a default, ms.
pub const LONGEST_MS: Millis = 30 * DAY;
/// Shortest cooldown of a default, ms (rules 3.6.7).
pub const SHORTEST_DEFAULT_MS: Millis = MINUTE;
/// Characters of a rule's text (rules 3.6.3).
pub const LONGEST_MATCH: usize = 500;
/// Characters of a ban signal (core 3.9.6).
const LONGEST_SIGNAL: usize = 200;
/// What an operator may say; the other reasons belong to mechanisms of our own.
pub const REASONS: [Reason; 6] = [
    Reason::AuthError,
    Reason::QuotaExhausted,
    Reason::RateLimitExceeded,
    Reason::ModelCapacity,
    Reason::ServerError,
    Reason::Unknown,
];
const REASONS_TEXT: &str =
    "auth_error, quota_exhausted, rate_limit_exceeded, model_capacity, server_error or unknown";

/// One rule of one provider (`settings.providerErrorRules`, rules 3.6.0).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ErrorRule {
    /// The status it is about; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// A text that the answer holds, in any case; absent: any answer.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whom it is about; absent: the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<RuleScope>,
    /// Why; absent: `quota_exhausted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// For exactly how long, ms, even against a longer stated wait; absent: as without the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooldown_ms: Option<Millis>,
}

/// The catch-all of one provider (`settings.providerErrorDefaults`, rules 3.6.7).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ErrorDefault {
    /// For at least how long, ms; a longer stated wait wins.
    pub cooldown_ms: Millis,
    /// Whom it is about; absent: the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<RuleScope>,
    /// Why; absent: by the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// One thing that is wrong with a list of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFault {
    /// The provider it stands under; empty for what belongs to none.
    pub provider: String,
    /// The n-th rule or signal, from 0.
    pub index: Option<usize>,
    /// The field, as it is written.
    pub field: &'static str,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub accepted: &'static str,
}

/// The rules in force: swapped whole when an operator changes one (rules 3.6.6).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleBook {
    #[serde(rename = "providerErrorRules")]
    rules: BTreeMap<String, Vec<ErrorRule>>,
    #[serde(rename = "providerErrorDefaults")]
    defaults: BTreeMap<String, ErrorDefault>,
    #[serde(rename = "customBannedSignals")]
    banned: Vec<String>,
}

// === impl RuleBook ===

impl RuleBook {
    /// No operator rule.
    pub fn empty() -> &'static Self {
        static EMPTY: LazyLock<RuleBook> = LazyLock::new(RuleBook::default);
        &EMPTY
    }

    /// The rules, defaults and ban signals of an operator, or everything that is wrong with them.
    pub fn new(
        rules: BTreeMap<String, Vec<ErrorRule>>,
        defaults: BTreeMap<String, ErrorDefault>,
        banned: Vec<String>,
    ) -> Result<Self, Vec<RuleFault>> {
        let mut faults = Vec::new();
        check_count(&rules, &mut faults);
        for (provider, list) in &rules {
            for (index, rule) in list.iter().enumerate() {
                check_rule(rule, &mut Check { provider, index: Some(index), faults: &mut faults });
            }
        }
        for (provider, default) in &defaults {
            check_default(default, &mut Check { provider, index: None, faults: &mut faults });
        }
        for (index, signal) in banned.iter().enumerate() {
            let mut check = Check { provider: "", index: Some(index), faults: &mut faults };
            check.text("customBannedSignals", signal, LONGEST_SIGNAL, "1 to 200 characters");
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self {
            rules: by_lower_case(rules),
            defaults: by_lower_case(defaults),
            banned: banned.iter().map(|signal| signal.trim().to_lowercase()).collect(),
        })
    }

    /// The rules of a provider, in the order they were declared.
    pub fn rules_of(&self, provider: &str) -> &[ErrorRule] {
        self.rules.get(&provider.to_lowercase()).map_or(&[], Vec::as_slice)
    }

    /// The catch-all default of a provider.
    pub fn default_of(&self, provider: &str) -> Option<&ErrorDefault> {
        self.defaults.get(&provider.to_lowercase())
    }

    /// The operator's ban signals, in lower case (core 3.9.6).
    pub fn banned_signals(&self) -> &[String] {
        &self.banned
    }

    /// The operator declared something for this provider (rules 3.2.2, 3.3.1).
    pub(super) fn knows(&self, provider: &str) -> bool {
        !self.rules_of(provider).is_empty() || self.default_of(provider).is_some()
    }
}

/// Provider ids are compared in lower case; two spellings of one id are one list.
fn by_lower_case<T: Joined>(lists: BTreeMap<String, T>) -> BTreeMap<String, T> {
    let mut joined: BTreeMap<String, T> = BTreeMap::new();
    for (provider, list) in lists {
        match joined.entry(provider.trim().to_lowercase()) {
            std::collections::btree_map::Entry::Occupied(mut there) => there.get_mut().join(list),
            std::collections::btree_map::Entry::Vacant(free) => {
                free.insert(list);
            }
        }
    }
    joined
}

trait Joined {
    fn join(&mut self, other: Self);
}

impl Joined for Vec<ErrorRule> {
    fn join(&mut self, other: Self) {
        self.extend(other);
    }
}

impl Joined for ErrorDefault {
    fn join(&mut self, other: Self) {
        *self = other;
    }
}

// === checks ===

struct Check<'a> {
    provider: &'a str,
    index: Option<usize>,
    faults: &'a mut Vec<RuleFault>,
}

impl Check<'_> {
    fn fault(&mut self, field: &'static str, problem: String, accepted: &'static str) {
        self.faults.push(RuleFault {
            provider: self.provider.to_owned(),
            index: self.index,
            field,
            problem,
            accepted,
        });
    }

    fn text(&mut self, field: &'static str, text: &str, longest: usize, accepted: &'static str) {
        let length = text.trim().chars().count();
        if length == 0 || length > longest {
            self.fault(field, format!("has {length} characters"), accepted);
        }
    }

    fn reason(&mut self, reason: Option<Reason>) {
        if let Some(reason) = reason.filter(|reason| !REASONS.contains(reason)) {
            self.fault("reason", format!("`{}` is not for rules", reason.as_str()), REASONS_TEXT);
        }
    }

    fn provider(&mut self) {
        if self.provider.trim().is_empty() {
            self.fault("provider", "is empty".into(), "the id of a provider");
        }
    }
}

fn check_count(rules: &BTreeMap<String, Vec<ErrorRule>>, faults: &mut Vec<RuleFault>) {
    let count: usize = rules.values().map(Vec::len).sum();
    if count > MOST_RULES {
        let mut check = Check { provider: "", index: None, faults };
        check.fault(
            "providerErrorRules",
            format!("holds {count} rules"),
            "at most 50 rules over all providers",
        );
    }
}

fn check_rule(rule: &ErrorRule, check: &mut Check<'_>) {
    check.provider();
    if rule.status.is_none() && rule.text.is_none() {
        check.fault("status", "neither status nor match is given".into(), "at least one of status and match");
    }
    if let Some(status) = rule.status.filter(|status| !(100..=599).contains(status)) {
        check.fault("status", format!("is {status}"), "100 to 599");
    }
    if let Some(text) = &rule.text {
        check.text("match", text, LONGEST_MATCH, "1 to 500 characters");
    }
    check.reason(rule.reason);
    if let Some(ms) = rule.cooldown_ms.filter(|ms| !(1..=LONGEST_MS).contains(ms)) {
        check.fault("cooldownMs", format!("is {ms}"), "1 to 2592000000");
    }
}

fn check_default(default: &ErrorDefault, check: &mut Check<'_>) {
    check.provider();
    check.reason(default.reason);
    let ms = default.cooldown_ms;
    if !(SHORTEST_DEFAULT_MS..=LONGEST_MS).contains(&ms) {
        check.fault("cooldownMs", format!("is {ms}"), "60000 to 2592000000");
    }
}
