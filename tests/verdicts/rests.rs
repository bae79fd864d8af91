//! The rest of an account: how failures that come together make one, what ends it, and what a
//! client is told meanwhile (FC-018, FC-020, FC-058, FC-065, FC-118, FC-128).

use serde_json::json;

use super::{
    a_then_b, assert_idle, assert_left, assert_unharmed, error_type, level, locks, only_lock, reset, rest,
    says, state, told,
};
use crate::support::{Answer, Gate, Setup, World, eventually};

fn cool(world: &World, connection: &str, length: &str) {
    let reply = world.order("connection", connection, json!({"message": "cool", "for": length}));
    assert_eq!(reply.status, 200, "{}", reply.text());
}

fn left(world: &World, connection: &str) -> u64 {
    world.derived("connection", connection)["remainingMs"].as_u64().unwrap()
}

#[test]
fn fc_018_when_all_rest_the_shortest_wait_is_told_in_every_dialect() {
    let world = a_then_b();
    cool(&world, "a-1", "42300ms");
    cool(&world, "b-1", "600s");
    for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
        for stream in [false, true] {
            let longest = left(&world, "a-1").div_ceil(1_000);
            let reply = world.post(path, json!({"model": "m", "stream": stream}));
            let shortest = left(&world, "a-1").div_ceil(1_000);
            reply.is_error(429, "ALL_TARGETS_SKIPPED");
            let told: u64 = reply.header("retry-after").unwrap().parse().unwrap();
            assert!((shortest..=longest).contains(&told), "{path}: {told}, {shortest} to {longest}");
            let body = reply.json();
            assert!(body["error"]["reset_at"].is_string(), "{body}");
            let excluded = body["diagnostics"]["excluded"].as_array().unwrap();
            for (target, provider) in excluded.iter().zip(["a", "b"]) {
                assert_eq!(
                    (&target["provider"], &target["reason"]),
                    (&json!(provider), &json!("connection_cooldown"))
                );
                let at = target["until"].as_str().unwrap_or_else(|| panic!("{target}"));
                let derived = world.derived("connection", &format!("{provider}-1"));
                assert_eq!(derived["rateLimitedUntil"], at, "{target}");
            }
        }
        let alone = world.post(path, json!({"model": "a/x"}));
        alone.is_error(429, "model_cooldown");
        assert!(alone.header("retry-after").unwrap().parse::<u64>().unwrap() <= 43);
    }
    assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (0, 0));
}

/// Eight at once; the first 429 says 1 s, the others 30 s or nothing.
fn eight_at_once(first: &str, others: &str) -> World {
    let world = Setup::new().provider("a", 1).start();
    let (early, late) = (Gate::default(), Gate::default());
    let later = (0..7).map(|_| told(429, others, "{}").held_by(&late));
    world.upstream("a").answers_first([told(429, first, "{}").held_by(&early)].into_iter().chain(later));
    let ask = || world.open("/v1/chat/completions", &json!({"model": "a/x"}));
    let mut wires: Vec<_> = (0..8).map(|_| ask()).collect();
    eventually("all eight are there", || world.upstream("a").asked() == 8);
    early.open();
    eventually("the first one is known", || state(&world, "a-1") == "cooling");
    late.open();
    for wire in &mut wires {
        assert_eq!(wire.reply().status, 429);
    }
    eventually("every slot is free", || world.in_flight("a-1") == 0);
    world
}

#[test]
fn fc_020_of_failures_at_once_the_latest_end_counts() {
    for (first, others) in [("1", "30"), ("30", "1")] {
        let headers = |seconds: &str| format!("retry-after: {seconds}\r\n");
        let world = eight_at_once(&headers(first), &headers(others));
        assert_left(left(&world, "a-1"), 30_000, "the rest");
        assert_eq!(level(&world, "a-1"), 0, "a stated wait is no step");
        let asked = world.upstream("a").asked();
        world.ask("a/x").is_error(429, "model_cooldown");
        assert_eq!(world.upstream("a").asked(), asked, "nobody is asked before its end");
    }
    let world = eight_at_once("", "");
    assert_eq!((rest(&world, "a-1"), level(&world, "a-1")), (3_000, 1), "one step for all of them");
}

#[test]
fn fc_020_an_older_success_ends_no_rest_and_an_operator_does() {
    let world = Setup::new().provider("a", 1).start();
    let gate = Gate::default();
    let limited = told(429, "retry-after: 30\r\n", "{}");
    world.upstream("a").answers_first([Answer::good("a").held_by(&gate), limited]);
    let mut older = world.open("/v1/chat/completions", &json!({"model": "a/x"}));
    eventually("it is there", || world.upstream("a").asked() == 1);
    assert_eq!(world.ask("a/x").status, 429);
    gate.open();
    older.reply().served_by("a");
    eventually("its slot is free", || world.in_flight("a-1") == 0);
    assert_left(left(&world, "a-1"), 30_000, "the rest stays");
    reset(&world, "a-1");
    world.ask("a/x").served_by("a");
}

/// What only is told meanwhile is not why the account rests (routing 7.17).
#[test]
fn fc_018_the_wait_is_told_whatever_else_failed_meanwhile() {
    let world = Setup::new().provider("a", 1).combo("m", &["a"]).start();
    let gate = Gate::default();
    let limited = told(429, "retry-after: 30\r\n", "{}");
    world.upstream("a").answers_first([Answer::status(404).held_by(&gate), limited]);
    let mut older = world.open("/v1/chat/completions", &json!({"model": "a/gone"}));
    eventually("it is there", || world.upstream("a").asked() == 1);
    assert_eq!(world.ask("m").status, 429);
    gate.open();
    assert_eq!(older.reply().status, 404);
    assert_eq!(error_type(&world, "a-1"), "not_found");
    let reply = world.ask("m");
    reply.is_error(429, "ALL_TARGETS_SKIPPED");
    assert!((20..=30).contains(&reply.header("retry-after").unwrap().parse::<u64>().unwrap()));
    assert_eq!(world.upstream("a").asked(), 2);
}

#[test]
fn fc_065_a_rest_is_told_without_the_words_that_caused_it() {
    for status in [400, 404, 429, 500, 503] {
        let world = Setup::new().provider("a", 1).start();
        let canary = "canary-of-user-x-4711";
        world.upstream("a").answers_first([says(status, canary)]);
        let first = world.ask("a/x");
        assert_eq!(first.status, status);
        assert!(first.text().contains(canary), "{status}: who caused it is told");
        let other = world.ask("a/y");
        assert!(!other.text().contains(canary), "{status}: {}", other.text());
        match status {
            400 | 404 => drop(other.served_by("a")),
            _ => drop(other.is_error(429, "model_cooldown")),
        }
    }
}

#[test]
fn fc_058_an_overload_rests_one_model_for_ten_seconds_and_moves_on() {
    let typed = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    for answer in [Answer::status(529), told(529, "", typed), told(503, "", typed), told(500, "", typed)] {
        let world = a_then_b();
        world.upstream("a").answers_first([answer]);
        world.ask("m").served_by("b");
        assert_eq!(world.upstream("a").asked(), 1);
        only_lock(&world, "a-1/x/exact/model_capacity", 10_000);
        assert_eq!((state(&world, "a-1").as_str(), level(&world, "a-1")), ("ready", 0));
        assert_eq!(world.failures("a"), 0);
        world.ask("a/y").served_by("a");
    }
}

#[test]
fn fc_058_an_overload_of_five_accounts_benches_none_and_climbs_no_ramp() {
    let world = Setup::new().provider("a", 5).provider("b", 1).combo("m", &["a", "b"]).start();
    world.upstream("a").answers_first((0..5).map(|_| Answer::status(529)));
    world.ask("m").served_by("b");
    let accounts = ["a-1", "a-2", "a-3", "a-4", "a-5"];
    assert_eq!(locks(&world).len(), 5, "{:?}", locks(&world));
    for (_, left) in locks(&world) {
        assert!(left <= 10_000, "{left}");
    }
    for account in accounts {
        assert_eq!((state(&world, account).as_str(), level(&world, account)), ("ready", 0), "{account}");
    }
    // The first 429 is the first step, whatever the overload was.
    world.upstream("a").answers_first([Answer::status(429)]);
    world.ask("a/y").served_by("a");
    assert_eq!((rest(&world, "a-1"), level(&world, "a-1")), (3_000, 1));
    assert_eq!(level(&world, "a-2"), 0);
    assert_idle(&world, &accounts);
}

#[test]
fn fc_118_a_first_failure_opens_no_breaker() {
    for status in [500, 502, 503, 504] {
        let world = a_then_b();
        world.upstream("a").answers(Answer::status(status));
        world.ask("m").served_by("b");
        let breaker = world.derived("provider", "a");
        assert_eq!((&breaker["state"], &breaker["failureCount"]), (&json!("closed"), &json!(1)), "{status}");
    }
    let two = "[resilience.provider_breaker.apikey]\nfailure_threshold = 2\ndegradation_threshold = 1";
    let world = Setup::new().section(two).provider("a", 1).start();
    world.upstream("a").answers(Answer::status(500));
    world.ask("a/x");
    assert_eq!(world.derived("provider", "a")["state"], "degraded", "one of one is not two");
}

#[test]
fn fc_128_what_failed_is_classified_whatever_carried_it() {
    let truncated = Answer::lying(200, "content-type: application/json\r\n", 1_000, "{").closes();
    let rows = [
        ("401 as JSON", Answer::status(401), "auth_error", 0),
        ("402", Answer::status(402), "quota_exhausted", 0),
        ("403 as a page", Answer::sized(403, "content-type: text/html\r\n", "<p>no</p>"), "auth_error", 0),
        ("429 without a body", Answer::sized(429, "", ""), "rate_limit_exceeded", 0),
        ("503", Answer::status(503), "server_error", 1),
        ("a reset", Answer::nothing().resets(), "server_error", 1),
        ("a cut body", truncated, "server_error", 1),
    ];
    for (name, answer, reason, counted) in rows {
        let world = a_then_b();
        world.upstream("a").answers(answer);
        world.ask("m").served_by("b");
        assert_eq!(error_type(&world, "a-1"), reason, "{name}");
        assert_eq!(world.failures("a"), counted, "{name}");
        assert_eq!(world.upstream("a").asked(), 1, "{name}");
        assert_unharmed(&world, "b", name);
    }
    let world = Setup::new().refusing("a").provider("b", 1).combo("m", &["a", "b"]).start();
    world.ask("m").served_by("b");
    assert_eq!((error_type(&world, "a-1"), world.failures("a")), (json!("server_error"), 1));
}
