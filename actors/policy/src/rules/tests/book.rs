//! What an operator may declare (rules 3.6; C26–C29): a list with a fault is refused whole.

use std::collections::BTreeMap;

use super::super::{ErrorDefault, ErrorRule, RuleBook, RuleFault};
use crate::verdict::{Reason, RuleScope};

const LONGEST: u64 = 2_592_000_000;

fn by_status(cooldown_ms: u64) -> ErrorRule {
    ErrorRule { status: Some(429), cooldown_ms: Some(cooldown_ms), ..ErrorRule::default() }
}

fn rules(list: Vec<ErrorRule>) -> Result<RuleBook, Vec<RuleFault>> {
    RuleBook::new(BTreeMap::from([("acme".to_owned(), list)]), BTreeMap::new(), Vec::new())
}

fn default(default: ErrorDefault) -> Result<RuleBook, Vec<RuleFault>> {
    RuleBook::new(BTreeMap::new(), BTreeMap::from([("acme".to_owned(), default)]), Vec::new())
}

fn fields(result: Result<RuleBook, Vec<RuleFault>>) -> Vec<&'static str> {
    result.err().unwrap_or_default().iter().map(|fault| fault.field).collect()
}

#[test]
fn c26_a_rule_with_neither_status_nor_match_is_rejected() {
    let faults = rules(vec![by_status(1), ErrorRule::default()]).unwrap_err();
    assert_eq!(
        faults,
        [RuleFault {
            provider: "acme".into(),
            index: Some(1),
            field: "status",
            problem: "neither status nor match is given".into(),
            accepted: "at least one of status and match",
        }]
    );
}

#[test]
fn c27_a_rules_cooldown_is_at_most_30_days() {
    for (ms, accepted) in [(1, true), (LONGEST, true), (LONGEST + 1, false), (0, false)] {
        let result = rules(vec![by_status(ms)]);
        assert_eq!(result.is_ok(), accepted, "{ms}");
        assert_eq!(fields(result).is_empty(), accepted);
    }
    assert_eq!(fields(rules(vec![by_status(LONGEST + 1)])), ["cooldownMs"]);
}

#[test]
fn c28_50_rules_over_three_providers() {
    let lists = |extra: usize| {
        [("a", 20), ("b", 20), ("c", 10 + extra)]
            .map(|(id, count)| (id.to_owned(), vec![by_status(1_000); count]))
            .into()
    };
    assert!(RuleBook::new(lists(0), BTreeMap::new(), Vec::new()).is_ok());
    let faults = RuleBook::new(lists(1), BTreeMap::new(), Vec::new()).unwrap_err();
    assert_eq!((faults.len(), faults[0].field, faults[0].index), (1, "providerErrorRules", None));
    assert_eq!(faults[0].problem, "holds 51 rules");
}

#[test]
fn c29_a_default_is_a_minute_to_30_days() {
    for (cooldown_ms, accepted) in
        [(59_999, false), (60_000, true), (LONGEST, true), (LONGEST + 1, false), (0, false)]
    {
        let result = default(ErrorDefault { cooldown_ms, ..ErrorDefault::default() });
        assert_eq!(fields(result), if accepted { vec![] } else { vec!["cooldownMs"] }, "{cooldown_ms}");
    }
}

/// Rules 3.6.3: bounds of the other fields.
#[test]
fn bounds_of_status_match_and_reason() {
    let with = |change: fn(&mut ErrorRule)| {
        let mut rule = by_status(1_000);
        change(&mut rule);
        fields(rules(vec![rule]))
    };
    assert_eq!(with(|rule| rule.status = Some(99)), ["status"]);
    assert_eq!(with(|rule| rule.status = Some(600)), ["status"]);
    assert!(with(|rule| rule.status = Some(100)).is_empty());
    assert!(with(|rule| rule.status = Some(599)).is_empty());
    assert_eq!(with(|rule| rule.text = Some("  ".into())), ["match"]);
    assert_eq!(with(|rule| rule.text = Some("额".repeat(501))), ["match"]);
    assert!(with(|rule| rule.text = Some(format!(" {} ", "额".repeat(500)))).is_empty());
    // The reasons of our own mechanisms are not for rules.
    let own = [
        Reason::NotFound,
        Reason::ConcurrencyLimited,
        Reason::RequestRejected,
        Reason::ServiceNotRunning,
        Reason::InvalidPreviousResponseBinding,
    ];
    for reason in own {
        let rule = ErrorRule { reason: Some(reason), ..by_status(1_000) };
        assert_eq!(fields(rules(vec![rule])), ["reason"], "{reason:?}");
        let declared = ErrorDefault { cooldown_ms: 60_000, reason: Some(reason), scope: None };
        assert_eq!(fields(default(declared)), ["reason"], "{reason:?}");
    }
    assert!(with(|rule| rule.reason = Some(Reason::ModelCapacity)).is_empty());
}

#[test]
fn a_provider_has_a_name_and_signals_have_bounds() {
    let nameless = BTreeMap::from([(" ".to_owned(), vec![by_status(1)])]);
    assert_eq!(fields(RuleBook::new(nameless, BTreeMap::new(), Vec::new())), ["provider"]);
    let signals = |signal: String| RuleBook::new(BTreeMap::new(), BTreeMap::new(), vec![signal]);
    assert_eq!(fields(signals("x".repeat(201))), ["customBannedSignals"]);
    assert_eq!(fields(signals("  ".into())), ["customBannedSignals"]);
    let book = signals(format!(" {} ", "X".repeat(200))).unwrap();
    assert_eq!(book.banned_signals(), ["x".repeat(200)]);
}

#[test]
fn all_faults_are_told_at_once() {
    let bad = ErrorRule { status: Some(1), cooldown_ms: Some(0), ..ErrorRule::default() };
    let result = RuleBook::new(
        BTreeMap::from([("a".to_owned(), vec![bad])]),
        BTreeMap::from([("b".to_owned(), ErrorDefault::default())]),
        vec![String::new()],
    );
    assert_eq!(fields(result), ["status", "cooldownMs", "cooldownMs", "customBannedSignals"]);
}

/// Provider keys are lower-cased; two spellings are one list (rules 3.6.6).
#[test]
fn providers_are_compared_in_lower_case() {
    let lists = [("ACME", 1), ("acme", 2)].map(|(id, ms)| (id.to_owned(), vec![by_status(ms)]));
    let book = RuleBook::new(lists.into(), BTreeMap::new(), Vec::new()).unwrap();
    let waits: Vec<Option<u64>> = book.rules_of("Acme").iter().map(|rule| rule.cooldown_ms).collect();
    assert_eq!(waits, [Some(1), Some(2)]);
    let declared = ErrorDefault { cooldown_ms: 60_000, ..ErrorDefault::default() };
    let defaults = BTreeMap::from([("Acme".to_owned(), declared)]);
    let book = RuleBook::new(BTreeMap::new(), defaults, Vec::new()).unwrap();
    assert!(book.default_of("aCME").is_some() && book.default_of("other").is_none());
}

/// The shape of `settings.providerErrorRules`.
#[test]
fn rules_are_written_in_camel_case() {
    let text = r#"{"status":429,"match":"pool drained","scope":"connection","reason":"quota_exhausted","cooldownMs":60000}"#;
    let rule: ErrorRule = serde_json::from_str(text).unwrap();
    assert_eq!((rule.scope, rule.cooldown_ms), (Some(RuleScope::Connection), Some(60_000)));
    assert_eq!(serde_json::to_string(&rule).unwrap(), text);
    assert_eq!(serde_json::to_string(&by_status(5)).unwrap(), r#"{"status":429,"cooldownMs":5}"#);
    assert!(serde_json::from_str::<ErrorRule>(r#"{"status":429,"cooldown":5}"#).is_err(), "unknown key");
    assert!(serde_json::from_str::<ErrorDefault>("{}").is_err(), "cooldownMs is needed");
    let book = rules(vec![rule]).unwrap();
    let shown = serde_json::to_value(&book).unwrap();
    assert_eq!(shown["providerErrorRules"]["acme"][0]["match"], "pool drained");
    assert_eq!(shown["customBannedSignals"], serde_json::json!([]));
}
