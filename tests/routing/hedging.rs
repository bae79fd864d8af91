//! A second target beside a slow one (routing 7.11): the first good answer wins, and the other
//! attempt is dropped without a word about anybody.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Answer, Gate, Setup, World, eventually};
use crate::{PLAIN, asked, failures, level, nobody_is_in_flight};

/// How slow the first one may be.
const DELAY_MS: u64 = 60;

fn world_with(providers: &[&str], config: &str) -> World {
    let mut setup = Setup::new();
    for provider in providers {
        setup = setup.provider(provider, 1);
    }
    let hedged = format!("{config}, hedging = true, hedge_delay_ms = {DELAY_MS}");
    setup.combo_with("m", providers, &hedged).start()
}

fn world(providers: &[&str]) -> World {
    world_with(providers, PLAIN)
}

fn row((connection, verdict): (&str, &str)) -> (String, String) {
    (connection.to_owned(), verdict.to_owned())
}

/// Who was asked for the latest request, and what came of it.
fn told(world: &World) -> Vec<(String, String)> {
    let attempts = world.admin("/api/decisions").json()["decisions"][0]["attempts"].clone();
    let text = |attempt: &Value, field: &str| attempt[field].as_str().unwrap().to_owned();
    let all = attempts.as_array().unwrap().iter();
    all.map(|attempt| (text(attempt, "connection"), text(attempt, "verdict"))).collect()
}

/// A while after the second one was asked.
fn late(answer: Answer) -> Answer {
    answer.after(Duration::from_millis(5 * DELAY_MS))
}

/// The only row of the usage history: who is named, requests, those that failed, and attempts.
#[track_caller]
fn only_row(world: &World) -> (Value, [u64; 3]) {
    let rows = || world.admin("/api/usage/history").json()["items"].as_array().unwrap().clone();
    eventually("it is counted", || !rows().is_empty());
    let rows = rows();
    assert_eq!(rows.len(), 1, "{rows:?}");
    let count = |field: &str| rows[0][field].as_u64().unwrap_or_else(|| panic!("no {field}: {}", rows[0]));
    (rows[0]["provider"].clone(), ["requests", "failedRequests", "attempts"].map(count))
}

#[test]
fn routing_7_11_the_second_wins_and_the_first_is_dropped_unblamed() {
    for stream in [false, true] {
        let world = world(&["a", "b", "c"]);
        world.upstream("a").answers(Answer::silence());
        if stream {
            world.upstream("b").answers(Answer::good_stream("b"));
        }
        let reply = world.post("/v1/chat/completions", json!({"model": "m", "stream": stream}));
        assert_eq!(reply.header("x-omniroute-provider"), Some("b"), "{}", reply.text());
        assert_eq!(reply.status, 200);
        eventually("the first is dropped", || world.upstream("a").closed() == 1);
        nobody_is_in_flight(&world, &["a", "b", "c"]);
        assert_eq!(asked(&world, ["a", "b", "c"]), [1, 1, 0]);
        assert_eq!((failures(&world, ["a", "b"]), level(&world, "a")), ([0, 0], 0));
        assert_eq!(only_row(&world), (json!("b"), [1, 0, 2]));
        assert_eq!(told(&world), [("b-1", "success"), ("a-1", "dropped")].map(row));
    }
}

#[test]
fn routing_7_11_the_first_wins_when_it_is_the_first_to_be_good() {
    let world = world(&["a", "b"]);
    world.upstream("a").answers(late(Answer::good("a")));
    world.upstream("b").answers(Answer::silence());
    world.ask("m").served_by("a");
    eventually("the second is dropped", || world.upstream("b").closed() == 1);
    nobody_is_in_flight(&world, &["a", "b"]);
    assert_eq!((failures(&world, ["a", "b"]), level(&world, "b")), ([0, 0], 0));
    assert_eq!(only_row(&world), (json!("a"), [1, 0, 2]));
}

#[test]
fn routing_7_11_a_quick_answer_has_nobody_beside_it() {
    let world = world_with(&["a", "b"], &format!("{PLAIN}, max_set_retries = 0"));
    world.ask("m").served_by("a");
    world.upstream("a").answers(Answer::status(503));
    world.ask("m").served_by("b");
    assert_eq!(asked(&world, ["a", "b"]), [2, 1]);
}

#[test]
fn routing_7_11_the_first_fails_while_the_second_runs() {
    let world = world(&["a", "b", "c"]);
    let gate = Gate::default();
    world.upstream("a").answers(Answer::status(503).held_by(&gate));
    world.upstream("b").answers(late(Answer::good("b")).held_by(&gate));
    let mut wire = world.open("/v1/chat/completions", &json!({"model": "m"}));
    eventually("both are asked", || asked(&world, ["a", "b"]) == [1, 1]);
    gate.open();
    wire.reply().served_by("b");
    assert_eq!(asked(&world, ["a", "b", "c"]), [1, 1, 0], "the one that runs is waited for");
    nobody_is_in_flight(&world, &["a", "b"]);
    assert_eq!((failures(&world, ["a", "b"]), level(&world, "a")), ([1, 0], 1));
    let log = world.admin("/api/decisions").json()["decisions"][0]["attempts"].clone();
    let verdicts: Vec<&Value> =
        log.as_array().unwrap().iter().map(|attempt| &attempt["connection"]).collect();
    assert_eq!(verdicts, ["a-1", "b-1"]);
}

#[test]
fn routing_7_11_the_second_fails_while_the_first_runs() {
    let world = world(&["a", "b", "c"]);
    world.upstream("a").answers(late(Answer::good("a")));
    world.upstream("b").answers(Answer::status(503));
    world.ask("m").served_by("a");
    assert_eq!(asked(&world, ["a", "b", "c"]), [1, 1, 0]);
    nobody_is_in_flight(&world, &["a", "b"]);
    assert_eq!((failures(&world, ["a", "b"]), level(&world, "b")), ([0, 1], 1));
}

#[test]
fn routing_7_11_when_both_fail_the_next_one_is_asked() {
    let world = world(&["a", "b", "c"]);
    world.upstream("a").answers(late(Answer::status(503)));
    world.upstream("b").answers(Answer::status(502));
    world.ask("m").served_by("c");
    assert_eq!(asked(&world, ["a", "b", "c"]), [1, 1, 1]);
    nobody_is_in_flight(&world, &["a", "b", "c"]);
    assert_eq!(failures(&world, ["a", "b", "c"]), [1, 1, 0]);
}

/// Each failure is settled once, also where one of the two is tried again (decision 9c).
#[test]
fn routing_7_11_when_both_fail_and_nobody_is_left_both_are_judged() {
    for retries in [0, 1] {
        let config =
            format!("max_retries = {retries}, retry_delay_ms = 1, combo_cooldown_wait_enabled = false");
        for first_ends_first in [true, false] {
            let world = world_with(&["a", "b"], &config);
            let (a, b) = (Answer::status(503), Answer::status(503));
            let pause = Duration::from_millis(3 * DELAY_MS);
            let (a, b) = if first_ends_first { (a.after(pause), late(b)) } else { (late(a), b) };
            world.upstream("a").answers(a);
            world.upstream("b").answers(b);
            world.ask("m").is_error(503, "fake_503");
            let row = format!("retries {retries}, the first ends first: {first_ends_first}");
            assert_eq!(failures(&world, ["a", "b"]), [1, 1], "{row}");
            assert_eq!(["a", "b"].map(|provider| level(&world, provider)), [1, 1], "{row}");
            assert_eq!(asked(&world, ["a", "b"]).iter().sum::<usize>(), 2 + retries, "{row}");
            nobody_is_in_flight(&world, &["a", "b"]);
        }
    }
}

/// What failed beside a good answer is never tried again, so it is settled at once.
#[test]
fn routing_7_11_a_failure_beside_a_good_answer_counts_though_retries_are_allowed() {
    let config = "max_retries = 1, combo_cooldown_wait_enabled = false";
    let pause = Duration::from_millis(3 * DELAY_MS);
    let failing = || Answer::status(503);
    for (a, b, who) in
        [(failing().after(pause), late(Answer::good("b")), "b"), (late(Answer::good("a")), failing(), "a")]
    {
        let world = world_with(&["a", "b"], config);
        world.upstream("a").answers(a);
        world.upstream("b").answers(b);
        world.ask("m").served_by(who);
        let blamed = ["a", "b"].map(|provider| u64::from(provider != who));
        assert_eq!(failures(&world, ["a", "b"]), blamed, "{who} answered");
        assert_eq!(["a", "b"].map(|provider| level(&world, provider)), blamed, "{who} answered");
        nobody_is_in_flight(&world, &["a", "b"]);
    }
}

/// A fault of the request itself ends it, whoever says so.
#[test]
fn routing_7_11_a_bad_request_is_told_when_the_other_fails_too() {
    let world = world(&["a", "b", "c"]);
    world.upstream("a").answers(late(Answer::status(503)));
    world.upstream("b").answers(Answer::status(400));
    world.ask("m").is_error(400, "fake_400");
    assert_eq!(asked(&world, ["a", "b", "c"]), [1, 1, 0]);
}

#[test]
fn routing_7_11_a_client_that_leaves_ends_both() {
    let world = world(&["a", "b"]);
    for provider in ["a", "b"] {
        world.upstream(provider).answers(Answer::silence());
    }
    let wire = world.open("/v1/chat/completions", &json!({"model": "m"}));
    eventually("both are asked", || asked(&world, ["a", "b"]) == [1, 1]);
    wire.reset();
    eventually("both are dropped", || {
        ["a", "b"].iter().all(|provider| world.upstream(provider).closed() == 1)
    });
    nobody_is_in_flight(&world, &["a", "b"]);
    assert_eq!(failures(&world, ["a", "b"]), [0, 0]);
    assert_eq!(only_row(&world), (json!("b"), [1, 0, 2]), "both may have cost something");
}

/// Routing 7.15.
#[test]
fn routing_7_11_the_end_of_the_combos_time_ends_both_and_both_are_counted() {
    let world = world_with(&["a", "b"], &format!("{PLAIN}, combo_timeout_ms = 600"));
    for provider in ["a", "b"] {
        world.upstream(provider).answers(Answer::silence());
    }
    world.ask("m").is_error(504, "COMBO_TIMEOUT");
    assert_eq!(asked(&world, ["a", "b"]), [1, 1]);
    nobody_is_in_flight(&world, &["a", "b"]);
    assert_eq!(failures(&world, ["a", "b"]), [0, 0]);
    assert_eq!(only_row(&world), (json!("b"), [1, 1, 2]));
    assert_eq!(told(&world), [("a-1", "dropped"), ("b-1", "dropped")].map(row));
}
