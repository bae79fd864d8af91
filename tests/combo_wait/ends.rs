//! What ends the waiting, and what the client is told then.

use serde_json::json;

use super::support::{Answer, Setup, eventually};
use super::{AT_ONCE, JSON, PLAIN, cool, limited, rests, timed};

const OPTED_OUT: &str = "max_retries = 0, combo_cooldown_wait_enabled = false";

#[test]
fn rows_e50_and_e52_without_a_wait_the_client_is_told_when_to_come_back() {
    let off = "[resilience.combo_cooldown_wait]\nenabled = false";
    for (row, setup, config) in [
        ("E50", Setup::new(), OPTED_OUT),
        ("E52", Setup::new().section(off), "max_retries = 0, combo_cooldown_wait_enabled = true"),
    ] {
        let world = setup.provider("a", 1).provider("b", 1).combo_with("m", &["a", "b"], config).start();
        cool(&world, "a-1", "2s");
        cool(&world, "b-1", "7s");
        let (reply, took) = timed(&world, "m");
        reply.is_error(429, "ALL_TARGETS_SKIPPED");
        assert!(took < AT_ONCE, "{row}: {took:?}");
        assert_eq!(reply.header("retry-after"), Some("2"), "{row}");
        let error = &reply.json()["error"];
        assert_eq!((&error["type"], &error["retry_after"]), (&json!("rate_limit_error"), &json!(2)), "{row}");
        assert!(error["reset_at"].is_string(), "{row}: {error}");
        let asked = world.upstream("a").asked() + world.upstream("b").asked();
        assert_eq!(asked, 0, "{row}");
    }
}

#[test]
fn a_stored_setting_ends_the_waiting_of_requests_to_come() {
    let world = Setup::new().provider("a", 1).combo_with("m", &["a"], PLAIN).start();
    cool(&world, "a-1", "60s");
    let patch = |body| assert_eq!(world.manage("PATCH", "/api/resilience", &body).status, 200, "{body}");
    patch(json!({"comboCooldownWait": {"maxAttempts": 0}}));
    let (reply, took) = timed(&world, "m");
    reply.is_error(429, "ALL_TARGETS_SKIPPED");
    assert!(took < AT_ONCE, "E57: {took:?}");
    let refused = json!({"comboCooldownWait": {"maxWaitMs": "x", "maxAttempts": null}});
    assert_eq!(world.manage("PATCH", "/api/resilience", &refused).status, 400, "E58");
    let stored = world.admin("/api/resilience").json()["comboCooldownWait"].clone();
    assert_eq!((&stored["maxWaitMs"], &stored["maxAttempts"]), (&json!(90_000), &json!(0)), "nothing of it");
    patch(json!({"comboCooldownWait": {"maxAttempts": null}}));
    cool(&world, "a-1", "60s");
    assert_eq!(world.admin("/api/resilience").json()["comboCooldownWait"]["maxAttempts"], 5);
}

#[test]
fn fc_018_a_wait_that_is_longer_than_allowed_is_told_at_once() {
    let short = "[resilience.combo_cooldown_wait]\nmax_wait_ms = 1500";
    let world = Setup::new().section(short).provider("a", 1).combo_with("m", &["a"], PLAIN).start();
    world.upstream("a").answers(limited(429, 2, "slow down"));
    let (reply, took) = timed(&world, "m");
    assert!(took < AT_ONCE, "{took:?}");
    assert_eq!((reply.status, reply.header("retry-after")), (429, Some("2")));
    assert_eq!(world.upstream("a").asked(), 1);
    let (reply, took) = timed(&world, "m");
    reply.is_error(429, "ALL_TARGETS_SKIPPED");
    assert!(took < AT_ONCE, "{took:?}");
    assert_eq!((reply.header("retry-after"), world.upstream("a").asked()), (Some("2"), 1));
}

#[test]
fn rows_e47_and_e51_a_quota_is_never_waited_for() {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo_with("m", &["a", "b"], PLAIN).start();
    world.upstream("a").answers(limited(403, 2, "quota exceeded"));
    world.upstream("b").answers(limited(429, 3, "slow down"));
    let (reply, took) = timed(&world, "m");
    assert!(took < AT_ONCE, "E47, the sooner one decides: {took:?}");
    assert_eq!((reply.status, reply.code().as_str()), (502, "bad_gateway"));
    let alone = Setup::new().provider("a", 1).combo_with("m", &["a"], PLAIN).start();
    alone.upstream("a").answers(limited(403, 2, "quota exceeded"));
    assert_eq!(alone.ask("m").status, 403);
    let (reply, took) = timed(&alone, "m");
    reply.is_error(503, "ALL_TARGETS_SKIPPED");
    assert!(took < AT_ONCE, "E51: {took:?}");
    assert_eq!(reply.header("retry-after"), None);
    assert_eq!(alone.upstream("a").asked(), 1);
}

#[test]
fn flow_3_8_a_request_that_is_itself_bad_does_not_wait() {
    let world = rests(300).provider("a", 1).provider("b", 1).combo_with("m", &["a", "b"], PLAIN).start();
    world.upstream("a").answers(Answer::status(503));
    world.upstream("b").answers(Answer::json(400, r#"{"error":{"message":"no such field"}}"#));
    assert_eq!(world.ask("m").status, 400);
    assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (1, 1));
}

#[test]
fn fc_051_all_sets_together_keep_to_the_most_dispatches() {
    let waits = "[resilience.combo_cooldown_wait]\nmax_attempts = 10";
    let world = rests(100).section(waits).provider("a", 7).combo_with("m", &["a"], PLAIN).start();
    world.upstream("a").answers(Answer::status(503));
    world.ask("m").is_error(503, "service_unavailable");
    assert_eq!(world.upstream("a").asked(), 30);
    assert_eq!(world.failures("a"), 1, "decision 7: one request counts once, however many sets");
}

#[test]
fn row_e46_the_last_answer_comes_when_no_wait_is_left() {
    let waits = "[resilience.combo_cooldown_wait]\nmax_attempts = 2";
    let world = rests(100).section(waits).provider("a", 1).combo_with("m", &["a"], PLAIN).start();
    world.upstream("a").answers(Answer::status(503));
    let reply = world.ask("m");
    assert_eq!((reply.status, reply.code().as_str()), (503, "fake_503"));
    assert_eq!(world.upstream("a").asked(), 3, "two waits");
    assert_eq!(reply.header("x-omniroute-fallback-attempts"), Some("2"));
}

#[test]
fn routing_7_13_what_an_upstream_said_outlives_a_set_that_sends_nothing() {
    let short = "[resilience.combo_cooldown_wait]\nmax_wait_ms = 1500";
    let setup = rests(1_000).section(short).provider("a", 1);
    let world = setup.combo_with("m", &["a"], PLAIN).start();
    let body = r#"{"error":{"message":"busy","code":"its_own"}}"#;
    world.upstream("a").answers(Answer::sized(503, JSON, body));
    let mut wire = world.open("/v1/chat/completions", &json!({"model": "m"}));
    eventually("it rests", || world.derived("connection", "a-1")["state"] == "cooling");
    cool(&world, "a-1", "60s");
    let reply = wire.reply();
    assert_eq!((reply.status, reply.code().as_str()), (503, "its_own"));
    let wait: u64 = reply.header("retry-after").expect("the wait as it is now").parse().unwrap();
    assert!((50..=60).contains(&wait), "{wait}");
    assert_eq!(world.upstream("a").asked(), 1);
}
