//! Quotas that are gone, in whatever words and with whatever status: the account rests long or
//! is out until it is paid, and the client is served elsewhere (FC-022, FC-023, FC-076, FC-078).

use serde_json::{Value, json};

use super::{
    DAY, a_then_b, assert_idle, assert_left, assert_unharmed, error_type, level, locks, now_ms, only_lock,
    reset, rest, says, short_rests, state, told,
};
use crate::support::{Answer, Setup, World, credential, eventually};

/// The credentials that a provider was asked with, in order.
fn asked_with(world: &World, provider: &str) -> Vec<String> {
    let bearer = |value: &str| value.strip_prefix("Bearer ").unwrap().to_owned();
    world
        .upstream(provider)
        .requests()
        .iter()
        .map(|one| bearer(one.header("authorization").unwrap()))
        .collect()
}

fn asked(world: &World, connection: &str) -> usize {
    asked_with(world, "a").iter().filter(|sent| **sent == credential(connection)).count()
}

const GONE: &str = "Subscription quota exceeded. Please try again later.";

#[test]
fn fc_022_each_exhausted_account_is_asked_once_in_twenty_requests() {
    let world = Setup::new().provider("a", 4).start();
    world.upstream("a").answers_first((0..3).map(|_| says(429, GONE)));
    for _ in 0..20 {
        world.ask("a/x").served_by("a");
    }
    let counts = ["a-1", "a-2", "a-3", "a-4"].map(|account| asked(&world, account));
    assert_eq!(counts, [1, 1, 1, 20]);
    for account in ["a-1", "a-2", "a-3"] {
        assert_eq!(state(&world, account), "cooling");
        assert_eq!(error_type(&world, account), "quota_exhausted", "{account}");
        assert_eq!(rest(&world, account), 3_600_000, "{account}: an hour, not a burst's few seconds");
    }
    assert_idle(&world, &["a-1", "a-2", "a-3", "a-4"]);
}

#[test]
fn fc_022_the_step_outlives_the_rest_and_only_a_success_takes_it_back() {
    let world = Setup::new().section(&short_rests(20)).provider("a", 1).start();
    world.upstream("a").answers(says(429, "Quota exceeded"));
    for (step, length) in [(1, 20), (2, 40), (3, 80), (4, 160)] {
        assert_eq!(world.ask("a/x").status, 429);
        assert_eq!((level(&world, "a-1"), rest(&world, "a-1")), (step, length));
        eventually("its rest is over", || state(&world, "a-1") == "ready");
        assert_eq!(level(&world, "a-1"), step, "its end takes nothing back");
    }
    world.upstream("a").answers(Answer::good("a"));
    world.ask("a/x").served_by("a");
    assert_eq!(level(&world, "a-1"), 0);
}

const GOOGLE_BILLING: &str = r#"{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"User location or billing: please enable billing on project 1234 in Google AI Studio."}}"#;

/// The five rows of the case: the answer and the state of the account after it.
fn out_of_credit() -> [(&'static str, Answer, &'static str); 5] {
    let anthropic = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#;
    let openai = r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    [
        ("i", says(402, "insufficient credits"), "credits_exhausted"),
        ("ii", told(400, "", anthropic), "credits_exhausted"),
        ("iii", says(403, "Your quota has been exceeded for this billing period"), "cooling"),
        ("iv", told(429, "", openai), "credits_exhausted"),
        ("v", told(400, "", GOOGLE_BILLING), "credits_exhausted"),
    ]
}

#[test]
fn fc_023_out_of_credit_in_five_forms_costs_one_attempt_and_is_seen_and_cleared() {
    for (stream, (row, answer, expected)) in
        [false, true].into_iter().flat_map(|stream| out_of_credit().map(|row| (stream, row)))
    {
        let world = a_then_b();
        world.upstream("a").answers(answer);
        let reply = match stream {
            true => {
                world.upstream("b").answers_first([Answer::good_stream("b")]);
                world.ask_streamed("m")
            }
            false => world.ask("m"),
        };
        reply.served_by("b");
        assert_eq!(world.upstream("a").asked(), 1, "{row}");
        assert_eq!(state(&world, "a-1"), expected, "{row}");
        assert_eq!(error_type(&world, "a-1"), "quota_exhausted", "{row}");
        if expected == "cooling" {
            assert_left(rest(&world, "a-1"), 120_000, "long, not the first step of a burst");
        }
        let rows = world.admin("/api/actors").json();
        let listed = rows["actors"].as_array().unwrap().iter().find(|row| row["id"] == "a-1").unwrap();
        assert_eq!(listed["state"], expected, "{row}");
        world.ask("m").served_by("b");
        assert_eq!(world.upstream("a").asked(), 1, "{row}: it is not asked again");
        assert_unharmed(&world, "b", row);
        assert_eq!((world.failures("a"), locks(&world)), (0, vec![]), "{row}");
        reset(&world, "a-1");
        world.upstream("a").answers(Answer::good("a"));
        world.ask("m").served_by("a");
    }
}

#[test]
fn fc_023_a_plain_refusal_is_no_quota() {
    let world = a_then_b();
    world.upstream("a").answers(says(400, "`temperature` must be a number"));
    assert_eq!(world.ask("m").status, 400);
    assert_unharmed(&world, "a", "a plain 400");
    world.upstream("a").answers(says(403, "Forbidden"));
    world.ask("m").served_by("b");
    assert_eq!((error_type(&world, "a-1"), rest(&world, "a-1")), (json!("auth_error"), 3_000));
}

/// Google's 429: the quota metric and a stated wait of 12 s.
fn google(quota: &str) -> Answer {
    let message = format!(
        "Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 5, {quota}"
    );
    let details = json!([
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": quota}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12s"},
    ]);
    let error = json!({"code": 429, "status": "RESOURCE_EXHAUSTED", "message": message, "details": details});
    told(429, "", &json!({ "error": error }).to_string())
}

#[test]
fn fc_076_the_quota_of_a_day_rests_to_its_reset_and_that_of_a_minute_for_its_wait() {
    for (provider, per_model) in [("gemini", true), ("gemini", false), ("other", true)] {
        let keys = format!("format = \"openai\"\nper_model_quota = {per_model}");
        let world = Setup::new().provider_with(provider, 1, &keys).start();
        let connection = format!("{provider}-1");
        let midnight = || DAY - now_ms() % DAY;
        let before = midnight();
        world.upstream(provider).answers_first([google("GenerateRequestsPerDayPerProjectPerModel-FreeTier")]);
        assert_eq!(world.ask(&format!("{provider}/x")).status, 429);
        let asked = world.upstream(provider).asked();
        assert_eq!(asked, 1, "it is not asked again in place");
        assert_eq!(error_type(&world, &connection), "quota_exhausted");
        match per_model {
            // No lock is longer than the operator's longest (core 5.3.4).
            true => {
                only_lock(&world, &format!("{connection}/x/family/quota_exhausted"), before.min(1_800_000))
            }
            false => assert_left(rest(&world, &connection), before, "to midnight"),
        }
        world.ask(&format!("{provider}/x")).is_error(429, "model_cooldown");
        assert_eq!(world.upstream(provider).asked(), asked);
        reset(&world, &connection);
        world
            .upstream(provider)
            .answers_first([google("GenerateRequestsPerMinutePerProjectPerModel-FreeTier")]);
        assert_eq!(world.ask(&format!("{provider}/x")).status, 429);
        assert_eq!(error_type(&world, &connection), "rate_limit_exceeded");
        match per_model {
            true => only_lock(&world, &format!("{connection}/x/family/rate_limited"), 12_000),
            // The model waits in its limiter's line, and the account goes on (flow 4.23, E74).
            false => {
                assert_eq!((state(&world, &connection), locks(&world)), ("ready".into(), vec![]));
                let limiters = world.admin("/api/rate-limits").json()["overview"].clone();
                let until = limiters[0]["pausedUntil"].as_str().expect("it is paused");
                let until: jiff::Timestamp = until.parse().expect("an instant");
                assert_left(until.as_millisecond() as u64 - now_ms(), 12_000, "the model's limiter");
            }
        }
    }
}

#[test]
fn fc_078_what_the_whole_account_says_rests_the_whole_account() {
    let body: Value = json!({"error": {"type": "usage_limit_reached", "message": "The usage limit has been reached",
        "resets_in_seconds": 9_000}});
    for per_model in [true, false] {
        let keys = format!("format = \"openai\"\nper_model_quota = {per_model}");
        let world = Setup::new().provider_with("a", 2, &keys).start();
        world.upstream("a").answers_first([told(429, "", &body.to_string())]);
        world.ask("a/m1").served_by("a");
        assert_eq!(state(&world, "a-1"), "cooling");
        assert_eq!((rest(&world, "a-1"), locks(&world)), (9_000_000, vec![]), "{per_model}");
        world.ask("a/m2").served_by("a");
        assert_eq!((asked(&world, "a-1"), asked(&world, "a-2")), (1, 2), "it goes straight to the other one");
    }
}

#[test]
fn f16_behind_a_gateway_one_vendors_credit_bars_one_model() {
    let world = Setup::new().provider_with("a", 1, "format = \"openai\"\nper_model_quota = true").start();
    world.upstream("a").answers_first([says(402, "")]);
    world.ask("a/m1").is_error(502, "upstream_credits_exhausted");
    only_lock(&world, "a-1/m1/family/credits", 3_000);
    assert_eq!(state(&world, "a-1"), "ready");
    world.ask("a/m2").served_by("a");
}

/// Core 3.2.1, F23: the account is healthy, the next one is asked at once.
#[test]
fn e29_f23_a_busy_account_rests_a_second_and_climbs_no_step() {
    for per_model in [false, true] {
        let keys = format!("format = \"openai\"\nper_model_quota = {per_model}");
        let world = Setup::new().provider_with("a", 2, &keys).start();
        for text in ["too many concurrent requests", "当前并发数过高"] {
            world.upstream("a").answers_first([says(429, text)]);
            world.ask("a/x").served_by("a");
            assert_eq!((rest(&world, "a-1"), level(&world, "a-1")), (1_000, 0), "{text}");
            assert_eq!(error_type(&world, "a-1"), "concurrency_limited", "{text}");
            assert_eq!((locks(&world), world.failures("a")), (vec![], 0), "{text}");
            reset(&world, "a-1");
        }
    }
}

#[test]
fn fc_078_a_busy_model_says_nothing_of_the_account() {
    let world = Setup::new().provider_with("a", 1, "format = \"openai\"\nper_model_quota = true").start();
    world.upstream("a").answers_first([says(503, "The model is at capacity")]);
    assert_eq!(world.ask("a/m1").status, 503);
    assert_eq!(state(&world, "a-1"), "ready");
    assert_eq!(locks(&world).len(), 1, "{:?}", locks(&world));
    world.ask("a/m2").served_by("a");
}
