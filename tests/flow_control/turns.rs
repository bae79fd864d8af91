//! Who gets the next slot when the world changes under a line: caps that are raised, accounts that
//! are drained or rest, two targets of a combo, caps above a connection.

use std::time::Duration;

use serde_json::json;

use crate::support::{Answer, Gate, Reply, Setup, Wire, World, eventually, within};
use crate::{CHAT, held};

const SOON: Duration = Duration::from_secs(2);

fn running(world: &World) -> u64 {
    world.admin("/api/actors/router/router").json()["inFlight"].as_u64().unwrap()
}

/// Requests for a model that stand in line, in this order.
fn in_line(world: &World, model: &str, count: usize) -> Vec<Wire> {
    let one = |_| {
        let before = running(world);
        let wire = world.open(CHAT, &json!({ "model": model }));
        eventually("it has come in", || running(world) == before + 1);
        wire
    };
    (0..count).map(one).collect()
}

fn replies(wires: Vec<Wire>) -> Vec<Reply> {
    wires.into_iter().map(|mut wire| wire.reply()).collect()
}

fn capped(cap: u32) -> World {
    Setup::new().provider_capped("a", cap).provider_capped("b", cap).combo("m", &["a", "b"]).start()
}

#[test]
fn a_cap_that_is_raised_lets_those_in_who_wait() {
    let world = capped(1);
    let (gate, first) = held(&world, 1);
    let waiting = in_line(&world, "a/x", 3);
    let raised = world.manage("PATCH", "/api/providers/a-1", &json!({"maxConcurrent": 3}));
    assert_eq!(raised.status, 200, "{}", raised.text());
    within(SOON, "two more run", || world.upstream("a").asked() == 3);
    assert_eq!((world.in_flight("a-1"), running(&world)), (3, 4));
    gate.open();
    replies(first).iter().chain(&replies(waiting)).for_each(|reply| drop(reply.served_by("a").clone()));
}

#[test]
fn a_cap_that_is_lowered_ends_nobody() {
    let world = capped(3);
    let (gate, first) = held(&world, 3);
    let lowered = world.manage("PATCH", "/api/providers/a-1", &json!({"maxConcurrent": 1}));
    assert_eq!(lowered.status, 200, "{}", lowered.text());
    let waiting = in_line(&world, "a/x", 1);
    assert_eq!((world.in_flight("a-1"), world.upstream("a").asked()), (3, 3));
    gate.open();
    replies(first).iter().chain(&replies(waiting)).for_each(|reply| drop(reply.served_by("a").clone()));
}

#[test]
fn nobody_waits_in_vain_for_an_account_that_is_drained() {
    let world = capped(1);
    let (gate, first) = held(&world, 1);
    let waiting = in_line(&world, "a/x", 2);
    assert_eq!(world.order("connection", "a-1", json!({"message": "drain"})).status, 200);
    within(SOON, "those in line are told", || running(&world) == 1);
    for reply in replies(waiting) {
        reply.is_error(503, "no_usable_connection");
    }
    gate.open();
    replies(first)[0].served_by("a");
    assert_eq!(world.upstream("a").asked(), 1);
}

#[test]
fn who_waits_for_an_account_that_goes_to_rest_is_told_for_how_long() {
    let world = capped(1);
    let gate = Gate::default();
    let headers = "content-type: application/json\r\nretry-after: 60\r\n";
    let limited = r#"{"error":{"message":"slow down"}}"#;
    world.upstream("a").answers(Answer::sized(429, headers, limited).held_by(&gate));
    let first = in_line(&world, "a/x", 1);
    eventually("it runs", || world.upstream("a").asked() == 1);
    let waiting = in_line(&world, "a/x", 2);
    gate.open();
    assert_eq!(replies(first)[0].status, 429);
    within(SOON, "those in line are told", || running(&world) == 0);
    for reply in replies(waiting) {
        reply.is_error(429, "model_cooldown");
        let wait: u64 = reply.header("retry-after").expect("a wait").parse().unwrap();
        assert!((58..=60).contains(&wait), "{wait} s");
    }
    assert_eq!(world.upstream("a").asked(), 1);
}

#[test]
fn a_request_of_a_combo_takes_the_first_slot_that_comes_free() {
    for free in ["a", "b"] {
        let world = capped(1);
        let gates = ["a", "b"].map(|name| {
            let gate = Gate::default();
            world
                .upstream(name)
                .answers(Answer::good(name))
                .answers_first([Answer::good(name).held_by(&gate)]);
            (name, gate)
        });
        let mut runs: Vec<Wire> =
            in_line(&world, "a/x", 1).into_iter().chain(in_line(&world, "b/x", 1)).collect();
        eventually("both are full", || world.upstream("a").asked() + world.upstream("b").asked() == 2);
        let waiting = in_line(&world, "m", 1);
        gates.iter().filter(|(name, _)| *name == free).for_each(|(_, gate)| gate.open());
        replies(waiting)[0].served_by(free);
        assert_eq!(running(&world), 1, "the other one still runs");
        gates.iter().for_each(|(_, gate)| gate.open());
        for (wire, name) in runs.iter_mut().zip(["a", "b"]) {
            wire.reply().served_by(name);
        }
        let asked = ["a", "b"].map(|name| world.upstream(name).asked());
        assert_eq!(asked.iter().sum::<usize>(), 3, "who waited was sent once: {asked:?}");
    }
}

#[test]
fn a_failure_of_the_running_one_turns_those_in_line_to_another_target() {
    let world = capped(1);
    let gate = Gate::default();
    world.upstream("a").answers(Answer::status(503).held_by(&gate));
    let other = Gate::default();
    world.upstream("b").answers(Answer::good("b")).answers_first([Answer::good("b").held_by(&other)]);
    let first = in_line(&world, "a/x", 1);
    let second = in_line(&world, "b/x", 1);
    eventually("both are full", || world.upstream("a").asked() + world.upstream("b").asked() == 2);
    let waiting = in_line(&world, "m", 2);
    gate.open();
    assert_eq!(replies(first)[0].status, 503);
    other.open();
    replies(second)[0].served_by("b");
    replies(waiting).iter().for_each(|reply| drop(reply.served_by("b").clone()));
    assert_eq!(world.upstream("a").asked(), 1, "an account that rests is not asked");
}

#[test]
fn the_cap_of_the_process_holds_for_all_connections_together() {
    let section = "[resilience.concurrency]\nglobal_max = 2";
    let world = Setup::new().section(section).provider("a", 1).provider("b", 1).start();
    let gate = Gate::default();
    for name in ["a", "b"] {
        world.upstream(name).answers(Answer::good(name).held_by(&gate));
    }
    let asked = || world.upstream("a").asked() + world.upstream("b").asked();
    let wires: Vec<(&str, Vec<Wire>)> =
        ["a", "b", "a", "b", "a"].map(|name| (name, in_line(&world, &format!("{name}/x"), 1))).into();
    eventually("two run", || asked() == 2);
    assert_eq!(world.in_flight("a-1") + world.in_flight("b-1"), 2);
    gate.open();
    for (name, wire) in wires {
        replies(wire)[0].served_by(name);
    }
    assert_eq!(asked(), 5);
    eventually("every slot is free", || world.in_flight("a-1") + world.in_flight("b-1") == 0);
}

/// Nobody who waits is overtaken by those who come later, at an account that has come back.
#[test]
fn who_waits_goes_to_a_target_that_comes_back() {
    for back in ["undrain", "the end of a rest"] {
        let world = capped(1);
        let order = match back {
            "undrain" => json!({"message": "drain"}),
            _ => json!({"message": "cool", "for": "1500ms"}),
        };
        assert_eq!(world.order("connection", "b-1", order).status, 200);
        let (gate, first) = held(&world, 1);
        let waiting = in_line(&world, "m", 1);
        if back == "undrain" {
            assert_eq!(world.order("connection", "b-1", json!({"message": "undrain"})).status, 200);
        }
        within(Duration::from_secs(5), back, || world.upstream("b").asked() == 1);
        replies(waiting)[0].served_by("b");
        gate.open();
        replies(first)[0].served_by("a");
    }
}
