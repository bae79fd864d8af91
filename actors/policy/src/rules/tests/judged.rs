//! C1–C30 of rules 9.2, as far as the verdict says.

use std::collections::BTreeMap;

use super::super::{ErrorDefault, ErrorRule, RuleBook};
use crate::hint;
use crate::ids::Class;
use crate::time::Millis;
use crate::verdict::{
    Case, CooldownRule, Detector, End, Failure, Level, LockRule, Reason, RuleId, RuleScope, Signal,
    TerminalRule, Then, Verdict, judge,
};

use Reason::{AuthError, ModelCapacity, QuotaExhausted, RateLimitExceeded};

/// 2026-01-01T00:00:00Z.
const T0: Millis = 1_767_225_600_000;
const QUOTA: &str = r#"{"error":{"message":"用户额度不足","type":"new_api_error"}}"#;
const DENIED: &str = "无权访问模型";

fn judged(case: &Case<'_>, status: u16, headers: &[(&str, &str)], text: &str) -> Failure {
    let get = |name: &str| {
        let named = headers.iter().find(|(known, _)| *known == name);
        named.map(|(_, value)| value.as_bytes())
    };
    let signal = Signal {
        end: End::Status(status),
        hint: hint::find(get, text, status, case.now),
        headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        text: text.into(),
    };
    match judge(&signal, case) {
        Verdict::Failure(failure) => failure,
        other => panic!("{status} is {other:?}"),
    }
}

fn at(provider: &'static str) -> Case<'static> {
    Case { provider, model: Some("m1"), now: T0, ..Case::of(Class::Apikey) }
}

fn book(rules: Vec<ErrorRule>, default_ms: Option<Millis>) -> RuleBook {
    let default = default_ms.map(|cooldown_ms| ErrorDefault { cooldown_ms, ..ErrorDefault::default() });
    let named = |id: &str| id.to_owned();
    RuleBook::new(
        BTreeMap::from([(named("acme"), rules)]),
        default.map(|default| (named("acme"), default)).into_iter().collect(),
        Vec::new(),
    )
    .unwrap()
}

fn rule(status: Option<u16>, text: Option<&str>, cooldown_ms: Option<Millis>) -> ErrorRule {
    ErrorRule { status, text: text.map(str::to_owned), cooldown_ms, ..ErrorRule::default() }
}

fn exactly(ms: Millis, level: Level) -> CooldownRule {
    CooldownRule::Exact { ms, level, stated: false }
}

fn rule_of(failure: &Failure) -> (Option<&'static str>, RuleScope, bool) {
    let rule = failure.rule.expect("a rule matched");
    (rule.id.name(), rule.scope, rule.honoured)
}

#[test]
fn c1_c2_a_restated_quota_cools_the_connection_and_tells_the_client() {
    for status in [400, 403] {
        let failure = judged(&at("agentrouter"), status, &[], QUOTA);
        assert_eq!((failure.status, failure.restated_from), (429, Some(status)), "C1");
        assert_eq!((failure.reason, failure.cooldown), (QuotaExhausted, CooldownRule::Scaled), "C1");
        assert_eq!(
            rule_of(&failure),
            (Some("agentrouter-user-quota-exhausted"), RuleScope::Connection, true)
        );
        assert_eq!((failure.terminal, failure.lock), (None, None), "C1: not terminal");
        assert_eq!(failure.then, Then::Next, "routing 7.3: a quota is not asked again in place");
        // Told to the client, never fed to the cooldown (rules 2.3.2).
        assert_eq!((failure.client_wait_ms, failure.hint), (Some(60_000), None), "C1");
    }
}

#[test]
fn c3_the_gateways_own_wait_wins() {
    let failure = judged(&at("agentrouter"), 403, &[("retry-after", "120")], QUOTA);
    assert_eq!(failure.hint.map(|hint| hint.wait_ms), Some(120_000), "C3");
    assert_eq!((failure.client_wait_ms, failure.cooldown), (None, CooldownRule::Scaled), "C3");
}

#[test]
fn c5_c6_access_denied_to_one_model_locks_that_model() {
    let failure = judged(&at("agentrouter"), 403, &[], DENIED);
    assert_eq!(
        (failure.status, failure.reason, failure.detector),
        (403, AuthError, Detector::ForbiddenByRule)
    );
    assert_eq!(rule_of(&failure), (Some("agentrouter-model-access-denied"), RuleScope::Model, true), "C5");
    let lock =
        LockRule { exact_key: false, exact_ms: Some(21_600_000), authoritative: false, keep_count: false };
    assert_eq!((failure.lock, failure.cooldown), (Some(lock), CooldownRule::Nothing), "C5, C6");
    assert_eq!(failure.terminal, None);
}

/// Decision 29: with both texts the access rule stands first.
#[test]
fn decision_29_both_texts_are_about_the_model() {
    let failure = judged(&at("agentrouter"), 403, &[], "额度不足 无权访问模型");
    assert_eq!(rule_of(&failure).0, Some("agentrouter-model-access-denied"));
}

#[test]
fn c7_another_403_of_the_gateway_is_a_usual_one() {
    let failure = judged(&at("agentrouter"), 403, &[], "Invalid API key");
    assert_eq!((failure.detector, failure.cooldown), (Detector::Forbidden, CooldownRule::Scaled), "C7");
    assert_eq!((failure.reason, failure.rule), (AuthError, None), "C7");
}

#[test]
fn c8_c9_a_built_in_rule_is_blind_until_an_operator_declares_something() {
    let text = "you have used up your daily free allocation of 10,000 neurons";
    let failure = judged(&at("cloudflare-ai"), 429, &[], text);
    assert_eq!((failure.reason, failure.rule), (RateLimitExceeded, None), "C8");
    let default = ErrorDefault { cooldown_ms: 60_000, ..ErrorDefault::default() };
    let rules =
        RuleBook::new(BTreeMap::new(), BTreeMap::from([("cloudflare-ai".into(), default)]), Vec::new())
            .unwrap();
    let failure = judged(&Case { rules: &rules, ..at("cloudflare-ai") }, 429, &[], text);
    assert_eq!(failure.reason, QuotaExhausted, "C9");
    assert_eq!(
        rule_of(&failure),
        (Some("cloudflare-ai-daily-neuron-allocation"), RuleScope::Connection, true)
    );
    // A blind rule still sees codes and headers (rules 3.2.3).
    let coded = r#"{"error":{"code":"organization_quota_exceeded","message":"x"}}"#;
    assert_eq!(rule_of(&judged(&at("opencode"), 429, &[], coded)).0, Some("opencode-quota-exhausted-body"));
}

#[test]
fn c10_openrouters_402_is_a_label_with_a_cooldown() {
    let failure = judged(&at("openrouter"), 402, &[], "");
    assert_eq!((failure.reason, failure.cooldown), (QuotaExhausted, exactly(120_000, Level::Keeps)), "C10");
    assert_eq!(
        rule_of(&failure),
        (Some("openrouter-credit-exhausted-402"), RuleScope::Connection, false),
        "C10"
    );
    assert_eq!(failure.terminal, None, "C10");
}

#[test]
fn c11_c12_minimax_names_the_model_in_a_header() {
    let asked = |value| judged(&at("minimax"), 429, &[("x-model-quota-remaining", value)], "");
    let failure = asked("haiku=0,sonnet=42");
    assert_eq!(failure.reason, QuotaExhausted, "C11");
    assert_eq!(rule_of(&failure), (Some("minimax-per-model-quota"), RuleScope::Model, false), "C11");
    assert_eq!(failure.lock, None, "C11: a label");
    assert_eq!(asked("haiku=3").reason, RateLimitExceeded, "C12");
    assert_eq!(asked("haiku= 0 ").reason, QuotaExhausted, "trimmed");
    assert_eq!(asked("haiku=00,x").reason, RateLimitExceeded, "exactly 0");
}

#[test]
fn c13_c14_an_operators_wait_is_exact() {
    let rules = book(vec![rule(None, Some("pool drained"), Some(60_000))], None);
    let case = Case { rules: &rules, ..at("ACME") };
    let failure = judged(&case, 429, &[("retry-after", "900")], "POOL DRAINED");
    assert_eq!((failure.reason, failure.cooldown), (QuotaExhausted, exactly(60_000, Level::Rises)), "C13");
    let failure = judged(&case, 503, &[], "the pool drained");
    assert_eq!((failure.status, failure.cooldown), (503, exactly(60_000, Level::Rises)), "C14");
    assert_eq!(judged(&case, 429, &[], "full pool").rule, None);
}

#[test]
fn c14a_an_operators_rule_wins_on_a_keys_429_only() {
    let rules = book(vec![rule(None, Some("insufficient_quota"), Some(60_000))], None);
    let case = Case { rules: &rules, ..at("acme") };
    let text = r#"{"error":{"code":"insufficient_quota"}}"#;
    let failure = judged(&case, 503, &[], text);
    assert_eq!(
        (failure.detector, failure.terminal),
        (Detector::Credits, Some(TerminalRule::CreditsExhausted))
    );
    let failure = judged(&case, 429, &[], text);
    assert_eq!((failure.cooldown, failure.terminal), (exactly(60_000, Level::Rises), None), "C14a");
    // E23: without a rule the words are Q1's. A default is no rule that speaks about them.
    assert_eq!(judged(&at("acme"), 429, &[], text).detector, Detector::Credits);
    let rules = book(Vec::new(), Some(60_000));
    assert_eq!(judged(&Case { rules: &rules, ..at("acme") }, 429, &[], text).detector, Detector::Credits);
}

#[test]
fn c15_c16_status_and_text_are_both_asked_and_the_first_rule_wins() {
    let rules = book(vec![rule(Some(429), Some("quota"), Some(1_000))], None);
    assert_eq!(judged(&Case { rules: &rules, ..at("acme") }, 503, &[], "quota").rule, None, "C15");
    let rules = book(vec![rule(Some(429), None, Some(60_000)), rule(None, Some("x"), Some(900_000))], None);
    let failure = judged(&Case { rules: &rules, ..at("acme") }, 429, &[], "x");
    assert_eq!(failure.cooldown, exactly(60_000, Level::Rises), "C16");
    assert_eq!(failure.rule.map(|rule| rule.id), Some(RuleId::Operator(0)), "C16");
}

#[test]
fn c17_c18_c19_a_default_is_at_least() {
    let rules = book(Vec::new(), Some(300_000));
    let case = Case { rules: &rules, ..at("acme") };
    let failure = judged(&case, 429, &[("retry-after", "60")], "");
    assert_eq!(failure.cooldown, exactly(300_000, Level::Rises), "C17");
    assert_eq!(
        failure.rule.map(|rule| (rule.id, rule.scope)),
        Some((RuleId::CatchAll, RuleScope::Connection))
    );
    assert_eq!(failure.reason, RateLimitExceeded, "C17");
    let longer = [("retry-after", "900")];
    let stated = CooldownRule::Exact { ms: 900_000, level: Level::Zero, stated: true };
    assert_eq!(judged(&case, 429, &longer, "").cooldown, stated, "C18");
    let deaf = Case { use_hints: false, ..case };
    assert_eq!(judged(&deaf, 429, &longer, "").cooldown, exactly(300_000, Level::Rises), "C19");
}

#[test]
fn c20_a_default_touches_neither_content_nor_401() {
    let rules = book(Vec::new(), Some(300_000));
    let case = Case { rules: &rules, ..at("acme") };
    for status in [404, 400, 409, 413, 422, 401, 410, 415, 405, 432] {
        assert_eq!(judged(&case, status, &[], "").rule, None, "C20: {status}");
    }
    // Rules 3.6.10: the reason by the status.
    for (status, reason) in [
        (402, QuotaExhausted),
        (403, AuthError),
        (408, Reason::ServerError),
        (429, RateLimitExceeded),
        (500, Reason::ServerError),
        (503, ModelCapacity),
        (520, Reason::ServerError),
        (529, ModelCapacity),
    ] {
        let failure = judged(&case, status, &[], "");
        assert_eq!((failure.reason, failure.terminal, failure.lock), (reason, None, None), "{status}");
        assert_eq!(failure.rule.map(|rule| rule.id), Some(RuleId::CatchAll), "{status}");
    }
}

/// C23 by decision 29: an operator's rule that names the status runs, after the texts.
#[test]
fn c23_a_rule_for_a_400() {
    let rules = book(vec![rule(Some(400), None, Some(60_000)), rule(None, Some("foo"), Some(1))], None);
    let case = Case { rules: &rules, ..at("acme") };
    let failure = judged(&case, 400, &[], "missing field foo");
    assert_eq!(failure.cooldown, exactly(60_000, Level::Rises), "C23");
    assert_eq!(failure.detector, Detector::ContentByRule, "C23");
    assert_eq!(
        judged(&case, 400, &[], "credit_balance_too_low").detector,
        Detector::Credits,
        "after the texts"
    );
    // A rule that names no status leaves the content of a request alone.
    assert_eq!(judged(&case, 422, &[], "foo").detector, Detector::Content);
    // Built-in rules never see one.
    let text = "endpoint is unavailable";
    assert_eq!(judged(&at("opencode"), 400, &[], text).rule, None, "rules 3.5.3");
}

#[test]
fn c24_a_credits_text_wins_over_a_rule() {
    let rules = book(vec![rule(Some(403), None, Some(60_000))], None);
    let failure = judged(&Case { rules: &rules, ..at("acme") }, 403, &[], "you are out of credits");
    assert_eq!(
        (failure.detector, failure.terminal),
        (Detector::Credits, Some(TerminalRule::CreditsExhausted))
    );
}

#[test]
fn c25_a_default_stands_before_the_usual_403() {
    let rules = book(vec![rule(Some(429), None, None)], Some(300_000));
    let failure = judged(&Case { rules: &rules, ..at("acme") }, 403, &[], "forbidden");
    assert_eq!((failure.detector, failure.reason), (Detector::ForbiddenByRule, AuthError), "C25");
    assert_eq!(failure.cooldown, exactly(300_000, Level::Zero), "C25: row 16 sets level 0");
}

#[test]
fn c30_another_reason_is_not_the_connections_quota() {
    let limited = ErrorRule {
        scope: Some(RuleScope::Connection),
        reason: Some(RateLimitExceeded),
        ..rule(Some(429), None, None)
    };
    let rules = book(vec![limited], None);
    let case = Case { rules: &rules, per_model_quota: true, ..at("acme") };
    let failure = judged(&case, 429, &[], "");
    assert_eq!(rule_of(&failure), (None, RuleScope::Connection, true), "C30");
    assert_eq!((failure.cooldown, failure.reason), (CooldownRule::Scaled, RateLimitExceeded), "C30");
}

/// Rules 3.10.9: an honoured provider scope hits the connection, a model scope only its model.
#[test]
fn scopes_of_an_operators_rule() {
    for (scope, whole) in
        [(RuleScope::Connection, true), (RuleScope::Provider, true), (RuleScope::Model, false)]
    {
        let rules = book(vec![ErrorRule { scope: Some(scope), ..rule(Some(429), None, Some(5_000)) }], None);
        let failure = judged(&Case { rules: &rules, ..at("acme") }, 429, &[], "");
        assert_eq!((rule_of(&failure), failure.lock.is_some()), ((None, scope, true), !whole), "{scope:?}");
        assert_eq!(failure.lock.and_then(|lock| lock.exact_ms), (!whole).then_some(5_000), "{scope:?}");
    }
}

/// Rules 3.6.5: a rule without a wait keeps its reason; hint, delay or backoff give the length.
#[test]
fn a_rule_without_a_wait() {
    let rules = book(vec![rule(Some(503), None, None)], None);
    let failure = judged(&Case { rules: &rules, ..at("acme") }, 503, &[("retry-after", "9")], "");
    assert_eq!((failure.reason, failure.cooldown), (QuotaExhausted, CooldownRule::Scaled));
    assert_eq!(failure.hint.map(|hint| hint.wait_ms), Some(9_000));
}
