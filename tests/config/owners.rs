//! Numbers reach the owners: what is typed in a section stands in what they are built from.

use policy::account::{self, AccountStrategy};
use policy::token::TokenScope;
use switchtower::app::blueprint;
use switchtower::settings::{Kind, table};

use crate::support::{connection, settings};

fn built(lines: &str) -> actors::blueprint::Blueprint {
    blueprint(&settings(&(connection("") + lines)), "salt")
}

#[test]
fn core_2_the_window_gate_has_the_numbers_of_its_section() {
    let plain = built("");
    assert!(!plain.windows["p"].enabled && !plain.connections["c"].retry.enabled);
    assert_eq!((plain.windows["p"].failures, plain.windows["p"].cooling_ms), (15, 600_000));
    let built = built(
        "[resilience.provider_cooldown]\nenabled = true\nmin_retry_cooldown_ms = 1\nmax_retry_cooldown_ms = 2\n\
         [resilience.provider_cooldown.apikey]\nfailure_threshold = 3\nfailure_window_ms = 4000\ncooldown_ms = 5\n",
    );
    let (window, retry) = (built.windows["p"], built.connections["c"].retry);
    assert!(window.enabled && retry.enabled);
    assert_eq!((window.failures, window.window_ms, window.cooling_ms), (3, 4_000, 5));
    assert_eq!((retry.min_ms, retry.max_ms), (1, 2));
}

#[test]
fn core_4_8_accounts_are_chosen_as_the_sections_say() {
    assert_eq!(built("").catalogue.accounts.strategy, AccountStrategy::FillFirst);
    let lines = "[settings]\nfallback_strategy = \"p2c\"\n[resilience.p2c_latency]\nweight = 10\n";
    let accounts = built(lines).catalogue.accounts;
    assert_eq!((accounts.strategy, accounts.latency_weight), (AccountStrategy::P2c, 10.0));
    let row = table().iter().find(|row| row.key == "settings.fallback_strategy").unwrap();
    assert!(matches!(row.kind, Kind::Choice(names) if names == account::names()), "those that are built");
}

#[test]
fn core_1_4_breaker_hints_are_those_of_the_class_unless_somebody_says() {
    let holds = |lines: &str| {
        let breaker = built(lines).providers["p"];
        (breaker.rate_limit_hold_ms, breaker.quota_hold_ms)
    };
    let section = "[resilience.connection_cooldown.apikey]\nuse_upstream_429_breaker_hints = ";
    assert_eq!(holds(""), (Some(60_000), Some(3_600_000)));
    assert_eq!(holds(&format!("{section}true")), (Some(60_000), Some(3_600_000)));
    assert_eq!(holds(&format!("{section}false")), (None, None));
    let local = |lines: &str| {
        let text = connection("").replace("format = ", "auth = \"local\"\nformat = ") + lines;
        blueprint(&settings(&text), "salt").providers["p"].rate_limit_hold_ms
    };
    assert_eq!(local(""), None);
    assert_eq!(local(&section.replace("apikey", "local").replace("= ", "= true")), Some(60_000));
}

#[test]
fn core_1_7_multiplier_and_escalation_reach_the_breaker() {
    let lines =
        "[resilience.provider_breaker.apikey]\nmax_backoff_multiplier = 0\nbackoff_escalation_count = 9\n";
    let breaker = built(lines).providers["p"];
    assert_eq!((breaker.max_multiplier, breaker.escalate_after), (0, 9));
    let plain = built("").providers["p"];
    assert_eq!((plain.max_multiplier, plain.escalate_after), (4, 3));
}

#[test]
fn core_3_4_the_rest_after_a_429_is_the_nearest_that_is_set() {
    let delay = |lines: &str| built(lines).connections["c"].cooldown.rate_limit_delay_ms;
    let everybody = "[resilience.rotation]\nrate_limit_reset_seconds = 300\n";
    let provider = "[resilience.provider_quota_overrides.p]\nrate_limit_cooldown_seconds = 60\n";
    assert_eq!(delay(""), None);
    assert_eq!(delay(everybody), Some(300_000));
    assert_eq!(delay(&(everybody.to_owned() + provider)), Some(60_000));
}

#[test]
fn core_6_the_token_breaker_is_read_as_it_is_typed() {
    let plain = settings("").resilience.token_refresh_breaker;
    assert_eq!(plain, policy::token::TokenBreakerSettings::default(), "one table, not two");
    let lines = "[resilience.token_refresh_breaker]\nscope = \"connection\"\nfailure_threshold = 2\ncooldown_ms = \"2m\"";
    let typed = settings(lines).resilience.token_refresh_breaker;
    assert_eq!(
        (typed.scope, typed.failure_threshold, typed.cooldown_ms),
        (TokenScope::Connection, 2, 120_000)
    );
}
