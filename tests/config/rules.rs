//! Operators' error rules and defaults (rules 3.6): what is accepted, what is refused whole and
//! how the refusal names the place.

use policy::verdict::Reason;
use switchtower::settings::{ErrorDefault, ErrorRule, Finding, RuleScope, Settings};

use crate::support::{load_text, settings};

const LONGEST: u64 = 2_592_000_000;

fn with_rules(rules: &str) -> Result<Settings, Vec<Finding>> {
    load_text(&format!("[settings]\nprovider_error_rules = {rules}"), &[]).map(|loaded| loaded.settings)
}

fn with_default(default: &str) -> Result<Settings, Vec<Finding>> {
    let text = format!("[settings.provider_error_defaults]\nacme = {default}");
    load_text(&text, &[]).map(|loaded| loaded.settings)
}

/// The problems, each with what is accepted.
fn told(found: Result<Settings, Vec<Finding>>) -> Vec<String> {
    let found = found.err().unwrap_or_default().into_iter();
    found.filter(|each| !each.warning).map(|each| format!("{}: {}", each.problem, each.accepted)).collect()
}

#[test]
fn rules_3_6_0_a_rule_means_what_it_says_and_what_is_absent_has_a_default() {
    let text = r#"
        [[settings.provider_error_rules.ACME]]
        status = 403
        match = " Pool Drained "
        scope = "model"
        reason = "auth_error"
        cooldown_ms = "6h"
        [[settings.provider_error_rules.ACME]]
        match = "x"
        [settings.provider_error_defaults]
        beta = { cooldown_ms = 60000 }
        gamma = { cooldown_ms = "30days", scope = "provider", reason = "server_error" }
    "#;
    let behaviour = settings(text).behaviour;
    let first = ErrorRule {
        status: Some(403),
        matches: Some("Pool Drained".to_owned()),
        scope: RuleScope::Model,
        reason: Reason::AuthError,
        cooldown_ms: Some(21_600_000),
    };
    let second = ErrorRule {
        status: None,
        matches: Some("x".to_owned()),
        scope: RuleScope::Connection,
        reason: Reason::QuotaExhausted,
        cooldown_ms: None,
    };
    assert_eq!(behaviour.provider_error_rules["acme"], [first, second], "in order, the id in lower case");
    let defaults = behaviour.provider_error_defaults;
    assert_eq!(
        defaults["beta"],
        ErrorDefault { cooldown_ms: 60_000, scope: RuleScope::Connection, reason: None }
    );
    let gamma =
        ErrorDefault { cooldown_ms: LONGEST, scope: RuleScope::Provider, reason: Some(Reason::ServerError) };
    assert_eq!(defaults["gamma"], gamma);
}

#[test]
fn c26_a_rule_needs_a_status_or_a_match() {
    let found = told(with_rules(r#"{ acme = [{ status = 429 }, { scope = "model" }] }"#));
    assert_eq!(found, ["is wrong at acme[1]: a rule with a status, a match, or both"]);
}

#[test]
fn c27_a_rule_rests_for_thirty_days_at_most() {
    let rule = |ms: u64| with_rules(&format!("{{ acme = [{{ status = 429, cooldown_ms = {ms} }}] }}"));
    assert!(rule(LONGEST).is_ok() && rule(1).is_ok());
    for ms in [0, LONGEST + 1] {
        let wanted =
            format!("is wrong at acme[0].cooldown_ms: a whole number of milliseconds from 1 to {LONGEST}");
        assert_eq!(told(rule(ms)), [wanted]);
    }
}

#[test]
fn c28_fifty_rules_over_all_providers_and_not_one_more() {
    let rules = |counts: [usize; 3]| {
        let list = |count: usize| vec!["{ status = 429 }"; count].join(", ");
        let [a, b, c] = counts.map(list);
        with_rules(&format!("{{ a = [{a}], b = [{b}], c = [{c}] }}"))
    };
    assert!(rules([20, 20, 10]).is_ok());
    let wanted = ["is not accepted: at most 50 rules over all providers, here are 51"];
    assert_eq!(told(rules([20, 20, 11])), wanted);
}

#[test]
fn c29_a_default_rests_for_a_minute_at_least() {
    assert!(with_default("{ cooldown_ms = 60000 }").is_ok());
    let bounds = format!("acme.cooldown_ms: a whole number of milliseconds from 60000 to {LONGEST}");
    for default in ["{ cooldown_ms = 59999 }", "{ scope = \"model\" }"] {
        assert_eq!(told(with_default(default)), [format!("is wrong at {bounds}")]);
    }
}

#[test]
fn rules_3_6_3_every_mistake_is_named_with_provider_index_and_field() {
    for (rules, place) in [
        ("{ acme = [{ status = 99 }] }", "acme[0].status: a status code from 100 to 599"),
        ("{ acme = [{ status = 600 }] }", "acme[0].status"),
        ("{ acme = [{ status = \"429\" }] }", "acme[0].status"),
        ("{ acme = [{ match = \"  \" }] }", "acme[0].match: a text of 1 to 500 characters"),
        ("{ acme = [{ status = 429, scope = \"all\" }] }", "acme[0].scope: model | provider | connection"),
        ("{ acme = [{ status = 429, reason = \"x\" }] }", "acme[0].reason: auth_error | "),
        ("{ acme = [{ status = 429, reason = \"not_found\" }] }", "acme[0].reason: auth_error | "),
        ("{ acme = [{ status = 429, until = 1 }] }", "acme[0]: a table of status, match, scope, reason"),
        ("{ acme = [{ status = 429 }, 5] }", "acme[1]: a table of"),
        ("{ acme = { status = 429 } }", "acme: a list of rules"),
        ("{ acme = [{ status = 429 }], ACME = [] }", "once, whatever its case"),
        ("[]", "a table by provider"),
    ] {
        let found = told(with_rules(rules));
        assert_eq!(found.len(), 1, "{rules}: {found:?}");
        assert!(found[0].contains(place), "{rules}: {found:?}");
    }
    let long = "x".repeat(501);
    assert_eq!(told(with_rules(&format!("{{ acme = [{{ match = \"{long}\" }}] }}"))).len(), 1);
    let both = told(with_rules("{ a = [{ status = 1 }], b = [{ status = 429, cooldown_ms = 0 }] }"));
    assert_eq!(both.len(), 2, "all of them at once: {both:?}");
}
