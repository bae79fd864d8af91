//! Where no wait is allowed: what is tried although it rests, if an operator wants that (decision 33).

use serde_json::json;

use super::support::{Answer, Setup, World};
use super::{JSON, limited, rests};

const PLAIN: &str = "max_retries = 0, combo_cooldown_wait_enabled = false";
/// Neither retries nor sets make more of it than one try.
const RESORTS: &str = "max_retries = 2, retry_delay_ms = 1, max_set_retries = 2, set_retry_delay_ms = 1, \
                       combo_cooldown_wait_enabled = false, last_resort = true";

/// Two providers of one account, asked by `plain` and by `m`, which has a last resort.
fn two(setup: Setup) -> World {
    let setup = setup.provider("a", 1).provider("b", 1);
    setup.combo_with("plain", &["a", "b"], PLAIN).combo_with("m", &["a", "b"], RESORTS).start()
}

fn asked(world: &World) -> (usize, usize) {
    (world.upstream("a").asked(), world.upstream("b").asked())
}

#[test]
fn decision_33_what_returns_first_is_tried_once_instead_of_a_refusal() {
    let world = two(rests(60_000));
    world.upstream("a").answers_first([Answer::status(503)]);
    world.upstream("b").answers_first([Answer::status(503)]);
    assert_eq!(world.ask("plain").code(), "fake_503");
    world.ask("plain").is_error(429, "ALL_TARGETS_SKIPPED");
    assert_eq!(asked(&world), (1, 1));
    world.ask("m").served_by("a");
    assert_eq!(asked(&world), (2, 1));
    assert_eq!(world.derived("connection", "a-1")["state"], "ready", "a success is one");
    assert_eq!(world.derived("connection", "b-1")["state"], "cooling");
}

#[test]
fn decision_33_a_last_resort_that_fails_is_not_tried_again() {
    let world = two(rests(60_000));
    world.upstream("a").answers(Answer::status(503));
    world.upstream("b").answers(Answer::status(503));
    assert_eq!(world.ask("plain").code(), "fake_503");
    let reply = world.ask("m");
    assert_eq!((reply.status, reply.code().as_str()), (503, "fake_503"));
    assert_eq!(asked(&world), (2, 1), "one try, and its answer is told");
}

#[test]
fn decision_33_a_stated_wait_is_respected() {
    let world = two(Setup::new());
    world.upstream("a").answers(limited(429, 30, "slow down"));
    world.upstream("b").answers(Answer::sized(503, JSON, "{}"));
    assert!(world.ask("plain").status >= 429);
    let before = asked(&world);
    let reply = world.ask("m");
    assert_eq!((reply.status, reply.code().as_str()), (429, "ALL_TARGETS_SKIPPED"));
    assert_eq!((before, asked(&world)), ((1, 1), (1, 1)));
}

#[test]
fn decision_33_an_open_breaker_is_passed_and_an_isolated_one_is_not() {
    let world = two(Setup::new());
    let order = |provider: &str, order| assert_eq!(world.order("provider", provider, order).status, 200);
    order("b", json!({"message": "trip", "for": "20s"}));
    order("a", json!({"message": "trip", "for": "60s"}));
    world.ask("plain").is_error(503, "all_targets_cooling_down");
    world.ask("m").served_by("b");
    assert_eq!(asked(&world), (0, 1));
    order("b", json!({"message": "isolate"}));
    assert_eq!(world.ask("m").status, 503);
    assert_eq!(asked(&world), (0, 1), "an operator's order stands");
}

#[test]
fn decision_33_of_two_accounts_one_rests_at_most() {
    let half = "format = [\"openai\"]\nmax_benched_percent = 50";
    let world = rests(60_000).provider_with("a", 2, half).provider("b", 2).start();
    for provider in ["a", "b"] {
        world.upstream(provider).answers_first([Answer::status(503), Answer::status(503)]);
        assert_eq!(world.ask(&format!("{provider}/x")).code(), "fake_503");
        assert_eq!(world.upstream(provider).asked(), 2);
    }
    let rest = |connection: &str| world.derived("connection", connection)["state"].clone();
    assert_eq!(["a-1", "a-2", "b-1", "b-2"].map(rest), ["cooling"; 4], "both are written down");
    assert_eq!(world.ask("b/x").status, 429);
    world.ask("a/x").served_by("a");
    assert_eq!(["a-1", "a-2"].map(rest), ["ready", "cooling"], "the one that returns first was asked");
    assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (3, 2));
}
