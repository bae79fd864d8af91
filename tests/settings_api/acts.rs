//! A change acts on running owners from the next request on, and taking it back, too.

use serde_json::{Value, json};

use super::process::{Process, Site, actor, ask};
use super::support::{Answer, Upstream};
use super::{RESILIENCE, patch};

fn vendor(id: &str, upstream: &Upstream) -> String {
    format!(
        "[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = 1\nmax_backoff_steps = 0\n\
         [[providers]]\nid = \"{id}\"\nformat = \"openai\"\nbase_url = \"http://{}\"\n\
         [[connections]]\nid = \"{id}-1\"\nprovider = \"{id}\"\ncredential = \"secret\"\n",
        upstream.address
    )
}

fn derived(process: &Process) -> Value {
    actor(&process.address, "provider/one")["derived"].clone()
}

/// Asks until the provider has failed so often.
fn fail(process: &Process, count: u64) {
    super::process::eventually("it counts", || {
        let _ = ask(&process.address, "one/x");
        derived(process)["failureCount"] == count
    });
}

#[test]
fn a_lowered_threshold_opens_the_breaker_and_taking_it_back_raises_it_again() {
    let one = Upstream::start("one");
    one.answers(Answer::status(503));
    let site = Site::with("settings-acts", &vendor("one", &one));
    let process = site.start();
    fail(&process, 1);
    assert_eq!(derived(&process)["state"], "closed");
    let breaker = |value: Value| json!({"providerBreaker": {"apikey": {"failureThreshold": value}}});
    let answer = patch(&process, RESILIENCE, breaker(json!(2)));
    assert_eq!(answer["providerBreaker"]["apikey"]["failureThreshold"], 2);
    // The very next request is judged by the new number.
    fail(&process, 2);
    assert_eq!(derived(&process)["state"], "open");
    let asked = one.asked();
    assert_eq!(ask(&process.address, "one/x").0, 503);
    assert_eq!(one.asked(), asked, "an open breaker asks nobody");
    let answer = patch(&process, RESILIENCE, breaker(Value::Null));
    assert_eq!(answer["providerBreaker"]["apikey"]["failureThreshold"], 12, "back to the built-in");
    super::process::order(&process.address, "provider/one", r#"{"message":"reset"}"#);
    fail(&process, 3);
    assert_eq!(derived(&process)["state"], "closed");
}

#[test]
fn g10_a_variable_of_the_guide_is_the_default_of_a_running_breaker() {
    let one = Upstream::start("one");
    one.answers(Answer::status(503));
    let site = Site::with("settings-g10", &vendor("one", &one));
    let process = Process::of(site.command().env("OMNIROUTE_CIRCUIT_BREAKER_API_KEY_THRESHOLD", "20"));
    (1..=12).for_each(|count| fail(&process, count));
    assert_eq!(derived(&process)["state"], "degraded");
    (13..=20).for_each(|count| fail(&process, count));
    assert_eq!(derived(&process)["state"], "open");
}

#[test]
fn a_stored_rest_after_a_429_acts_at_once_for_its_provider() {
    let one = Upstream::start("one");
    one.answers(Answer::status(429));
    let site = Site::with("settings-rest", &vendor("one", &one));
    let process = site.start();
    let body = json!({"providerQuotaOverrides": {"one": {"rateLimitCooldownSeconds": 600}}});
    patch(&process, RESILIENCE, body);
    let _ = ask(&process.address, "one/x");
    let remaining = actor(&process.address, "connection/one-1")["derived"]["remainingMs"].as_u64().unwrap();
    assert!((590_000..=600_000).contains(&remaining), "{remaining}");
}
