//! Routing 8.7: how many requests a target of a `round-robin` combo takes at once, if somebody says so.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::CHAT;
use crate::support::{Answer, Gate, Setup, Wire, World, eventually};

/// `rr` asks a and b in turn.
fn in_turn(setup: Setup, config: &str) -> (World, Gate) {
    let combo = format!(
        "[[combos]]\nname = \"rr\"\nstrategy = \"round-robin\"\ntargets = [\"a/x\", \"b/x\"]\n\
         config = {{ max_retries = 0, {config} }}"
    );
    let world = setup.section(&combo).start();
    let gate = Gate::default();
    world.upstream("a").answers(Answer::good("a")).answers_first([Answer::good("a").held_by(&gate)]);
    (world, gate)
}

fn two() -> Setup {
    Setup::new().provider("a", 1).provider("b", 1)
}

fn open(world: &World) -> Wire {
    world.open(CHAT, &json!({"model": "rr"}))
}

/// A request that a holds, and one that b has served: it is a's turn again.
fn held(world: &World) -> Wire {
    let wire = open(world);
    eventually("a holds it", || world.upstream("a").asked() == 1);
    world.ask("rr").served_by("b");
    wire
}

fn asked(world: &World) -> (usize, usize) {
    (world.upstream("a").asked(), world.upstream("b").asked())
}

fn nothing_is_left(world: &World) {
    eventually("no slot is held", || world.in_flight("a-1") + world.in_flight("b-1") == 0);
    assert_eq!((world.failures("a"), world.failures("b")), (0, 0), "nobody's fault");
}

#[test]
fn row_17_a_busy_target_without_a_line_is_passed_at_once() {
    let (world, gate) = in_turn(two(), "concurrency_per_model = 1, queue_depth = 0");
    let mut first = held(&world);
    world.ask("rr").served_by("b");
    assert_eq!(asked(&world), (1, 2));
    gate.open();
    first.reply().served_by("a");
    // The berth is back with the end of the answer, and b gives its next turn away.
    world.ask("rr").served_by("a");
    world.ask("rr").served_by("b");
    nothing_is_left(&world);
}

#[test]
fn a_busy_target_is_waited_for_until_its_line_is_full() {
    let (world, gate) = in_turn(two(), "concurrency_per_model = 1, queue_depth = 1");
    let mut first = held(&world);
    let mut waits = open(&world);
    eventually("it stands in line", || world.admin("/api/actors/router/router").json()["inFlight"] == 2);
    world.ask("rr").served_by("b");
    world.ask("rr").served_by("b");
    assert_eq!(asked(&world), (1, 3), "one of them because a's line is full");
    gate.open();
    first.reply().served_by("a");
    waits.reply().served_by("a");
    nothing_is_left(&world);
}

#[test]
fn a_wait_that_takes_too_long_leads_to_the_next_target() {
    let (world, _gate) = in_turn(two(), "concurrency_per_model = 1, queue_timeout_ms = 1000");
    let _first = held(&world);
    let since = Instant::now();
    world.ask("rr").served_by("b");
    assert!(since.elapsed() >= Duration::from_secs(1), "{:?}", since.elapsed());
    assert_eq!(asked(&world), (1, 2));
}

#[test]
fn a_client_that_leaves_gives_its_berth_back() {
    let (world, _gate) = in_turn(two(), "concurrency_per_model = 1, queue_depth = 0");
    let first = held(&world);
    first.reset();
    nothing_is_left(&world);
    world.ask("rr").served_by("a");
}

#[test]
fn decision_15a_without_a_word_or_with_a_cap_of_its_own_nothing_is_held_back() {
    let capped = || Setup::new().provider_capped("a", 2).provider("b", 1);
    for (setup, config) in
        [(two(), "queue_depth = 0"), (capped(), "concurrency_per_model = 1, queue_depth = 0")]
    {
        let (world, gate) = in_turn(setup, config);
        let mut first = held(&world);
        world.ask("rr").served_by("a");
        assert_eq!(asked(&world), (2, 1), "{config}");
        gate.open();
        first.reply().served_by("a");
    }
}

#[test]
fn where_all_are_busy_the_client_hears_of_our_limit() {
    let config = "concurrency_per_model = 1, queue_depth = 0";
    let (world, gate) = in_turn(two(), config);
    world.upstream("b").answers(Answer::good("b").held_by(&gate));
    let wires = [open(&world), open(&world)];
    eventually("both are busy", || asked(&world) == (1, 1));
    world.ask("rr").is_error(429, "SEMAPHORE_QUEUE_FULL");
    gate.open();
    for mut wire in wires {
        assert_eq!(wire.reply().status, 200);
    }
    nothing_is_left(&world);
}

/// Routing 8.7: the pause of a target after a 429 or a 5xx is the rest of its account. Who stands in its
/// line is let go at once, and nobody is sent there until the rest is over.
#[test]
fn routing_8_7_a_target_that_rests_lets_its_line_go() {
    for status in [429, 503] {
        let combo = "[[combos]]\nname = \"rr\"\nstrategy = \"round-robin\"\ntargets = [\"a/x\", \"b/x\"]\n\
             config = { max_retries = 0, concurrency_per_model = 1, queue_timeout_ms = 30000 }";
        let (world, gate) = (two().section(combo).start(), Gate::default());
        let busy = r#"{"error":{"message":"busy"}}"#;
        let rests = Answer::sized(status, "content-type: application/json\r\nretry-after: 60\r\n", busy);
        world.upstream("a").answers_first([rests.held_by(&gate)]);
        let mut first = held(&world);
        let mut waits = open(&world);
        let is_in_line = || world.admin("/api/actors/router/router").json()["inFlight"] == 2;
        eventually("it stands in line", is_in_line);
        let since = Instant::now();
        gate.open();
        first.reply().served_by("b");
        waits.reply().served_by("b");
        assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
        for _ in 0..3 {
            world.ask("rr").served_by("b");
        }
        assert_eq!(asked(&world), (1, 6), "{status}");
        world.order("connection", "a-1", json!({"message": "reset"}));
        world.ask("rr");
        world.ask("rr");
        assert_eq!(asked(&world), (2, 7), "{status}: the pause went with the rest");
    }
}
