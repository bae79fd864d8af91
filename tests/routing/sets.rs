//! All targets once more (routing 7.13), the combo's whole time (7.15), and when no set follows (7.14).

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Answer, Setup, World, eventually};
use crate::{PLAIN, asked, failures, level, nobody_is_in_flight, tireless};

const TWICE_MORE: &str = "max_set_retries = 2, set_retry_delay_ms = 20";

fn a_and_b(config: &str) -> World {
    let setup = tireless(tireless(Setup::new(), "a"), "b");
    setup.combo_with("m", &["a", "b"], &format!("{PLAIN}, {config}")).start()
}

#[test]
fn routing_7_13_all_targets_are_tried_again_in_their_order() {
    let world = a_and_b(TWICE_MORE);
    world.upstream("a").answers(Answer::status(503));
    world.upstream("b").answers_first([Answer::status(503), Answer::status(502)]);
    let reply = world.ask("m");
    reply.served_by("b");
    assert_eq!(asked(&world, ["a", "b"]), [3, 3]);
    let decision = reply.header("x-omniroute-decision").unwrap();
    assert!(decision.ends_with("attempts=6"), "{decision}");
    // Decision 7: one request, however many sets.
    assert_eq!(failures(&world, ["a"]), [1]);
}

#[test]
fn routing_7_13_after_the_last_set_its_answer_is_told() {
    let world = a_and_b(TWICE_MORE);
    world.upstream("a").answers(Answer::status(503));
    world.upstream("b").answers(Answer::status(503));
    let started = Instant::now();
    world.ask("m").is_error(503, "fake_503");
    assert!(started.elapsed() >= Duration::from_millis(40), "the pause before each set");
    assert_eq!(asked(&world, ["a", "b"]), [3, 3]);
    assert_eq!(failures(&world, ["a", "b"]), [1, 1]);
    nobody_is_in_flight(&world, &["a", "b"]);
}

/// A pause is no time of ours (decision 36), and a set that finds nobody keeps what was said before.
#[test]
fn a_set_that_finds_all_at_rest_keeps_the_earlier_answer() {
    let setup = Setup::new().provider("a", 1);
    let config = format!("{PLAIN}, max_set_retries = 2, set_retry_delay_ms = 300");
    let world = setup.combo_with("m", &["a"], &config).start();
    world.upstream("a").answers(Answer::status(503));
    let reply = world.ask("m");
    reply.is_error(503, "fake_503");
    assert_eq!(asked(&world, ["a"]), [1]);
    let overhead: u64 = reply.header("x-switchtower-overhead-us").unwrap().parse().unwrap();
    assert!(overhead < 250_000, "{overhead}");
}

/// Routing 7.14: three targets say the same of the request; the fourth and another set would, too.
#[test]
fn routing_7_14_the_same_fault_of_the_request_three_times_is_the_last() {
    let mut setup = Setup::new();
    for provider in ["a", "b", "c", "d"] {
        setup = setup.provider(provider, 1);
    }
    let config = format!("max_retries = 0, {TWICE_MORE}");
    let world = setup.combo_with("m", &["a", "b", "c", "d"], &config).start();
    let refused = json!({"error": {"message": "context window exceeded", "code": "said_first"}}).to_string();
    for provider in ["a", "b", "c"] {
        world.upstream(provider).answers(Answer::json(400, &refused));
    }
    // Decision 9b: the first such answer.
    world.ask("m").is_error(400, "said_first");
    assert_eq!(asked(&world, ["a", "b", "c", "d"]), [1, 1, 1, 0]);
    assert_eq!(failures(&world, ["a", "b", "c"]), [0, 0, 0]);
}

/// Routing 7.15, row J: what is in flight is dropped, and that was nobody's fault.
#[test]
fn row_j_a_combo_whose_time_is_over_says_so_and_blames_nobody() {
    for stream in [false, true] {
        let world = a_and_b("combo_timeout_ms = 300");
        world.upstream("a").answers(Answer::silence());
        let started = Instant::now();
        let reply = world.post("/v1/chat/completions", json!({"model": "m", "stream": stream}));
        reply.is_error(504, "COMBO_TIMEOUT");
        assert!(started.elapsed() >= Duration::from_millis(300));
        let diagnostics = &reply.json()["diagnostics"];
        assert_eq!(
            (&diagnostics["terminalReason"], &diagnostics["attempted"]),
            (&json!("combo_timeout"), &json!(1))
        );
        assert_eq!(asked(&world, ["a", "b"]), [1, 0]);
        eventually("the attempt is dropped", || world.upstream("a").closed() == 1);
        nobody_is_in_flight(&world, &["a", "b"]);
        assert_eq!((failures(&world, ["a"]), level(&world, "a")), ([0], 0));
        world.upstream("a").answers(Answer::good("a"));
        world.ask("m").served_by("a");
    }
}

/// What failed before it keeps its verdict.
#[test]
fn row_j_an_attempt_that_had_failed_is_still_judged() {
    let world = a_and_b("combo_timeout_ms = 400");
    world.upstream("a").answers(Answer::status(503));
    world.upstream("b").answers(Answer::silence());
    world.ask("m").is_error(504, "COMBO_TIMEOUT");
    assert_eq!(failures(&world, ["a", "b"]), [1, 0]);
    nobody_is_in_flight(&world, &["a", "b"]);
}

/// It ends with the pause before the next set, too.
#[test]
fn row_j_a_pause_takes_no_longer_than_the_combo() {
    let world = a_and_b("combo_timeout_ms = 300, max_set_retries = 1, set_retry_delay_ms = 60000");
    world.upstream("a").answers(Answer::status(503));
    world.upstream("b").answers(Answer::status(503));
    world.ask("m").is_error(504, "COMBO_TIMEOUT");
    assert_eq!(asked(&world, ["a", "b"]), [1, 1]);
}

/// The limit is of the answer's beginning: one that flows is not cut.
#[test]
fn routing_7_15_an_answer_that_has_begun_outlives_the_limit() {
    let world = a_and_b("combo_timeout_ms = 300");
    let delta = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n";
    let answer = Answer::stream().chunk(delta).pauses(Duration::from_millis(600)).chunk(delta);
    world.upstream("a").answers(answer.chunk("data: [DONE]\n\n").last_chunk());
    let reply = world.ask_streamed("m");
    assert_eq!(reply.status, 200);
    assert!(reply.text().ends_with("data: [DONE]\n\n"), "{}", reply.text());
    assert_eq!(failures(&world, ["a"]), [0]);
}
