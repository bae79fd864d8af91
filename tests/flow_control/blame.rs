//! What we refuse ourselves is nobody's fault: the connection stays ready, its breaker closed, its
//! level 0, and no model is locked (flow 1.26, 4.30; decision 9).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Answer, Gate, Reply, Setup, World, eventually};
use crate::{CHAT, held, nothing_remains};

/// A refusal of ours: what is configured, and what the client is told.
struct Own {
    code: &'static str,
    status: u16,
    section: &'static str,
    keys: &'static str,
}

/// Each with one request running.
const NO_ROOM: [Own; 3] = [
    Own {
        code: "SEMAPHORE_TIMEOUT",
        status: 429,
        section: "[resilience.concurrency]\ntimeout_ms = 50",
        keys: "max_concurrent = 1",
    },
    Own {
        code: "SEMAPHORE_TIMEOUT",
        status: 429,
        section: "[resilience.concurrency]\ntimeout_ms = 50",
        keys: "rate_limit_overrides = { model_concurrency = { \"x\" = 1 } }",
    },
    Own {
        code: "RATE_LIMIT_QUEUE_TIMEOUT",
        status: 503,
        section: "[resilience.request_queue]\nconcurrent_requests = 1\nmax_wait_ms = 50",
        keys: "",
    },
];

fn a_world(own: &Own, others: &[&str]) -> World {
    let setup = Setup::new().section(own.section).provider("a", 1).section(own.keys);
    let names: Vec<&str> = ["a"].into_iter().chain(others.iter().copied()).collect();
    let setup = others.iter().fold(setup, |setup, name| setup.provider(name, 1));
    setup.combo("m", &names).start()
}

/// Nothing at all is held against provider, connection and model.
#[track_caller]
fn is_healthy(world: &World) {
    let actors = world.admin("/api/actors").json();
    let actors = actors["actors"].as_array().unwrap();
    let state = |kind: &str, id: &str| {
        let found = actors.iter().find(|actor| actor["kind"] == kind && actor["id"] == id);
        found.map(|actor| actor["state"].clone())
    };
    assert_eq!(state("connection", "a-1"), Some(json!("ready")));
    assert_eq!(state("provider", "a"), Some(json!("closed")));
    assert!(actors.iter().all(|actor| actor["kind"] != "lockout"), "no model is locked: {actors:?}");
    let rests = world.admin("/api/resilience/cooldowns").json();
    assert!(!rests.to_string().contains("cooling"), "{rests}");
    let cooldown = &world.snapshot("a-1")["cooldown"];
    assert_eq!((&cooldown["level"], &cooldown["until"]), (&json!(0), &Value::Null), "{cooldown}");
}

#[track_caller]
fn is_told(reply: &Reply, own: &Own) {
    reply.is_error(own.status, own.code);
    let wait: u64 = reply.header("retry-after").expect("a wait").parse().unwrap();
    assert!((1..=60).contains(&wait), "{} tells a wait of {wait} s", own.code);
}

#[test]
fn own_limits_mark_no_connection() {
    for own in &NO_ROOM {
        let world = a_world(own, &[]);
        let (gate, mut first) = held(&world, 1);
        for stream in [false, true] {
            for _ in 0..3 {
                is_told(&world.post(CHAT, json!({"model": "a/x", "stream": stream})), own);
            }
        }
        assert_eq!(world.upstream("a").asked(), 1, "{}: nothing was sent", own.code);
        is_healthy(&world);
        gate.open();
        first[0].reply().served_by("a");
        world.ask("a/x").served_by("a");
        nothing_remains(&world);
        is_healthy(&world);
    }
}

#[test]
fn in_a_combo_the_next_target_answers_at_once() {
    for own in &NO_ROOM {
        let world = a_world(own, &["b"]);
        let (gate, mut first) = held(&world, 1);
        for number in 1..=5 {
            let reply = world.ask("m");
            reply.served_by("b");
            let decision = reply.header("x-omniroute-decision").unwrap();
            assert!(decision.ends_with("provider=b; attempts=1"), "{}, {number}: {decision}", own.code);
        }
        is_healthy(&world);
        gate.open();
        first[0].reply().served_by("a");
        world.ask("m").served_by("a");
        nothing_remains(&world);
    }
}

/// Each with one request running and one waiting.
const FULL: [Own; 3] = [
    Own {
        code: "SEMAPHORE_QUEUE_FULL",
        status: 429,
        section: "[resilience.concurrency]\nqueue_size = 1",
        keys: "max_concurrent = 1",
    },
    Own {
        code: "SEMAPHORE_QUEUE_FULL",
        status: 429,
        section: "[resilience.request_queue]\nmax_queued_total = 1",
        keys: "max_concurrent = 1",
    },
    Own {
        code: "RATE_LIMIT_QUEUE_FULL",
        status: 429,
        section: "[resilience.request_queue]\nconcurrent_requests = 1\nmax_queue_depth = 1",
        keys: "",
    },
];

#[test]
fn a_full_line_marks_no_connection() {
    for own in &FULL {
        let world = a_world(own, &["b"]);
        let (gate, mut first) = held(&world, 1);
        let mut second = world.open(CHAT, &json!({"model": "a/x"}));
        eventually("the second one waits", || {
            world.admin("/api/actors/router/router").json()["inFlight"] == 2
        });
        for stream in [false, true] {
            for _ in 0..3 {
                is_told(&world.post(CHAT, json!({"model": "a/x", "stream": stream})), own);
            }
        }
        world.ask("m").served_by("b");
        is_healthy(&world);
        gate.open();
        first[0].reply().served_by("a");
        second.reply().served_by("a");
        nothing_remains(&world);
        is_healthy(&world);
    }
}

#[test]
fn an_execution_that_takes_too_long_marks_no_connection() {
    let section = "[resilience.request_queue]\nexecution_max_wait_ms = 200";
    let world = Setup::new().section(section).provider("a", 1).start();
    let gate = Gate::default();
    for stream in [false, true] {
        world.upstream("a").answers(Answer::good("a").held_by(&gate));
        for _ in 0..3 {
            let reply = world.post(CHAT, json!({"model": "a/x", "stream": stream}));
            reply.is_error(504, "RATE_LIMIT_EXECUTION_TIMEOUT");
            assert!(reply.header("retry-after").is_some());
        }
        is_healthy(&world);
    }
    // It bounds the way to the answer, never an answer that flows.
    let flows = Answer::good("a").after(Duration::from_millis(20));
    world.upstream("a").answers(flows);
    world.ask("a/x").served_by("a");
    eventually("what was given up is closed", || world.upstream("a").closed() == 6);
    nothing_remains(&world);
}

/// E82: an upstream whose error imitates a code of ours fails like any other.
#[test]
fn an_upstreams_error_that_imitates_ours_keeps_its_identity() {
    let world = Setup::new().provider("a", 1).start();
    let body = json!({"error": {"code": "RATE_LIMIT_QUEUE_TIMEOUT", "message": "queue timeout"}});
    world.upstream("a").answers_first([Answer::json(503, body.to_string())]);
    let reply = world.ask("a/x");
    assert_eq!((reply.status, reply.json()), (503, body));
    let actors = world.admin("/api/actors").json();
    let found = actors["actors"].as_array().unwrap().iter().find(|actor| actor["id"] == "a-1");
    assert_eq!(found.expect("it is listed")["state"], "cooling");
}
