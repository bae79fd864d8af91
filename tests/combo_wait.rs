//! Requests that sit out a short rest instead of failing (flow 3; routing 7.17, 7.18;
//! decisions 15, 15b; FC-018, FC-051, FC-108).
//!
//! A wait is told from none by its length on the wire and by what the vendors got; numbers
//! and bounds of single waits are `policy::cooldown_wait`'s.

#[path = "combo_wait/ends.rs"]
mod ends;
#[path = "combo_wait/last_resort.rs"]
mod last_resort;
#[path = "combo_wait/leaves.rs"]
mod leaves;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;

use std::time::{Duration, Instant};

use serde_json::json;
use support::{Answer, Gate, Reply, Setup, World, eventually};

const JSON: &str = "content-type: application/json\r\n";
/// Neither retries nor anything else that takes time.
const PLAIN: &str = "max_retries = 0";
/// An answer that waited for nothing; far below the shortest wait in the tests that use it.
const AT_ONCE: Duration = Duration::from_millis(700);

/// Every rest of a failed account is this long.
fn rests(ms: u64) -> Setup {
    Setup::new().section(&format!(
        "[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = {ms}\nmax_backoff_steps = 0"
    ))
}

/// A refusal that states a wait.
fn limited(status: u16, seconds: u64, text: &str) -> Answer {
    let body = json!({"error": {"message": text}}).to_string();
    Answer::sized(status, &format!("{JSON}retry-after: {seconds}\r\n"), body)
}

/// How long the whole reply took.
fn timed(world: &World, model: &str) -> (Reply, Duration) {
    let started = Instant::now();
    let reply = world.ask(model);
    (reply, started.elapsed())
}

fn cool(world: &World, connection: &str, length: &str) {
    let reply = world.order("connection", connection, json!({"message": "cool", "for": length}));
    assert_eq!(reply.status, 200, "{}", reply.text());
}

#[track_caller]
fn at_least(took: Duration, ms: u64) {
    assert!(took >= Duration::from_millis(ms), "{took:?} is less than {ms} ms");
}

#[test]
fn flow_3_1_a_set_that_failed_is_tried_again_after_the_rest() {
    let world = rests(300).provider("a", 1).provider("b", 1).combo_with("m", &["a", "b"], PLAIN).start();
    world.upstream("a").answers_first([Answer::status(503)]);
    world.upstream("b").answers_first([Answer::status(503)]);
    let (reply, took) = timed(&world, "m");
    reply.served_by("a");
    at_least(took, 350);
    assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (2, 1));
    let decision = reply.header("x-omniroute-decision").unwrap();
    assert!(decision.ends_with("attempts=3"), "{decision}");
    let overhead: u64 = reply.header("x-switchtower-overhead-us").unwrap().parse().unwrap();
    assert!(overhead < 250_000, "a wait is not our own time: {overhead}");
}

#[test]
fn flow_3_5_a_stated_wait_is_never_cut_short() {
    let world = rests(100).provider("a", 1).combo_with("m", &["a"], PLAIN).start();
    world.upstream("a").answers_first([limited(429, 1, "slow down")]);
    let (reply, took) = timed(&world, "m");
    reply.served_by("a");
    at_least(took, 1_050);
    assert_eq!(world.upstream("a").asked(), 2);
}

#[test]
fn row_e49_targets_that_all_rest_are_waited_for_before_anything_is_sent() {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo_with("m", &["a", "b"], PLAIN).start();
    cool(&world, "a-1", "700ms");
    cool(&world, "b-1", "60s");
    let (reply, took) = timed(&world, "m");
    reply.served_by("a");
    at_least(took, 500);
    assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (1, 0));
}

#[test]
fn flow_3_9_a_breaker_that_will_ask_again_is_waited_for() {
    let world = Setup::new().provider("a", 1).combo_with("m", &["a"], PLAIN).start();
    let order = json!({"message": "trip", "for": "700ms"});
    assert_eq!(world.order("provider", "a", order).status, 200);
    let (reply, took) = timed(&world, "m");
    reply.served_by("a");
    at_least(took, 500);
    assert_eq!(world.derived("provider", "a")["state"], "closed", "the probe was this request");
}

#[test]
fn fc_108_waiters_wake_late_and_apart() {
    let world = Setup::new().provider("a", 1).combo_with("m", &["a"], PLAIN).start();
    cool(&world, "a-1", "1s");
    let earliest = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| world.ask("m").served_by("a").status);
        }
    });
    let mut woken: Vec<Duration> =
        world.upstream("a").requests().iter().map(|request| request.at - earliest).collect();
    woken.sort();
    assert_eq!(woken.len(), 20);
    // The order was given some moment before `earliest`.
    at_least(woken[0], 900);
    at_least(woken[19] - woken[0], 60);
}

/// Core 3.2.1: "too many at once" of an account that has no cap here. Who was told so comes back when
/// one of those has ended who are in.
#[test]
fn fc_108_who_was_one_too_many_comes_back_when_a_place_is_free() {
    let retries = "max_retries = 1, retry_delay_ms = 50";
    let world = Setup::new().provider("a", 1).combo_with("m", &["a"], retries).start();
    let gate = Gate::default();
    let crowded = json!({"error": {"message": "too many concurrent requests"}}).to_string();
    world.upstream("a").answers_first([Answer::good("a").held_by(&gate), Answer::sized(429, JSON, crowded)]);
    let mut first = world.open("/v1/chat/completions", &json!({"model": "m"}));
    eventually("one is in", || world.upstream("a").asked() == 1);
    let mut second = world.open("/v1/chat/completions", &json!({"model": "m"}));
    let queued = || world.admin("/api/monitoring/health").json()["gates"]["queued"].as_u64();
    eventually("the other stands in line", || queued() == Some(1));
    assert_eq!(world.upstream("a").asked(), 2);
    gate.open();
    first.reply().served_by("a");
    second.reply().served_by("a");
    assert_eq!(world.upstream("a").asked(), 3);
}

#[test]
fn decision_15b_a_request_without_a_combo_waits_where_an_operator_wants_it() {
    let waits = "[resilience.wait_for_cooldown]\nenabled = true\nmax_retry_wait_sec = 2";
    let world = rests(300).section(waits).provider("a", 2).start();
    let failed = [Answer::status(503), Answer::status(503)];
    world.upstream("a").answers_first(failed);
    let (reply, took) = timed(&world, "a/x");
    reply.served_by("a");
    at_least(took, 350);
    assert_eq!(world.upstream("a").asked(), 3);
    cool(&world, "a-1", "700ms");
    cool(&world, "a-2", "60s");
    let (reply, took) = timed(&world, "a/x");
    reply.served_by("a");
    at_least(took, 500);
    cool(&world, "a-1", "60s");
    let (reply, took) = timed(&world, "a/x");
    reply.is_error(429, "model_cooldown");
    assert!(took < AT_ONCE, "more than it may wait: {took:?}");
    let order = json!({"message": "trip", "for": "1s"});
    assert_eq!(world.order("provider", "a", order).status, 200);
    let (reply, took) = timed(&world, "a/x");
    reply.is_error(503, "provider_circuit_open");
    assert!(took < AT_ONCE, "an open breaker is told at once: {took:?}");
}

#[test]
fn decision_15b_by_default_a_request_without_a_combo_is_told_at_once() {
    let world = rests(1_500).provider("a", 1).start();
    world.upstream("a").answers_first([Answer::status(503)]);
    let (reply, took) = timed(&world, "a/x");
    assert_eq!((reply.status, world.upstream("a").asked()), (503, 1));
    assert!(took < AT_ONCE, "{took:?}");
    let (reply, took) = timed(&world, "a/x");
    reply.is_error(429, "model_cooldown");
    assert!(took < AT_ONCE, "{took:?}");
}
