//! FC-048, FC-105, FC-106: who waits for a slot, for how long, and who is not even let wait.

use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;

use crate::support::{Answer, End, Gate, Reply, Setup, Wire, World, eventually, request_bytes, within};
use crate::{CHAT, held, nothing_remains};

/// A request that says who sends it, unread.
fn sent_by(world: &World, who: &str) -> Wire {
    let mut wire = Wire::open(world.address);
    let headers = format!("user-agent: {who}\r\n");
    wire.send(&request_bytes("POST", CHAT, &headers, json!({"model": "a/x"}).to_string().as_bytes()));
    wire
}

fn running(world: &World) -> u64 {
    world.admin("/api/actors/router/router").json()["inFlight"].as_u64().unwrap()
}

/// The same, once it stands in line behind those that came before.
fn queued_by(world: &World, who: &str) -> Wire {
    let before = running(world);
    let wire = sent_by(world, who);
    eventually("it has come in", || running(world) == before + 1);
    wire
}

/// In which order the vendor was asked.
fn order(world: &World) -> Vec<String> {
    let requests = world.upstream("a").requests();
    requests.iter().map(|request| request.header("user-agent").unwrap_or("?").to_owned()).collect()
}

/// Has every reply told as soon as it is there.
fn told_as_they_come(wires: Vec<Wire>) -> mpsc::Receiver<Reply> {
    let (tell, told) = mpsc::channel();
    for mut wire in wires {
        let tell = tell.clone();
        // a reply that nobody waits for any more is that of a test that has failed
        std::thread::spawn(move || tell.send(wire.reply()));
    }
    told
}

#[test]
fn fc_105_one_runs_ten_wait_and_all_others_are_refused_at_once() {
    let queue = "[resilience.concurrency]\nqueue_size = 10\ntimeout_ms = \"1m\"";
    let world = Setup::new().section(queue).provider_capped("a", 1).start();
    let (gate, mut first) = held(&world, 1);
    let told = told_as_they_come((0..99).map(|_| world.open(CHAT, &json!({"model": "a/x"}))).collect());
    for number in 1..=89 {
        let reply = told.recv_timeout(crate::support::LIMIT).unwrap_or_else(|_| panic!("{number} of 89"));
        reply.is_error(429, "SEMAPHORE_QUEUE_FULL");
        assert_eq!(reply.header("retry-after"), Some("1"));
    }
    assert!(told.try_recv().is_err(), "ten wait");
    assert_eq!((world.in_flight("a-1"), world.upstream("a").asked()), (1, 1));
    gate.open();
    first[0].reply().served_by("a");
    told.iter().for_each(|reply| drop(reply.served_by("a").clone()));
    assert_eq!(world.upstream("a").asked(), 11, "what was refused was not sent");
    nothing_remains(&world);
}

#[test]
fn fc_105_nobody_stands_in_line_for_who_rests() {
    let world = Setup::new().provider_capped("a", 1).start();
    assert_eq!(world.order("connection", "a-1", json!({"message": "cool", "for": "1h"})).status, 200);
    for _ in 0..20 {
        world.ask("a/x").is_error(429, "model_cooldown");
    }
    assert_eq!((running(&world), world.upstream("a").asked()), (0, 0));
}

#[test]
fn fc_106_who_has_gone_is_skipped_and_the_rest_goes_in_order() {
    let queue = "[resilience.concurrency]\nqueue_size = 0\ntimeout_ms = \"1m\"";
    let world = Setup::new().section(queue).provider_capped("a", 1).start();
    let gate = Gate::default();
    world.upstream("a").answers(Answer::good("a")).answers_first([Answer::good("a").held_by(&gate)]);
    let mut wires = vec![("first".to_owned(), queued_by(&world, "first"))];
    eventually("the first one runs", || world.upstream("a").asked() == 1);
    for number in 0..40 {
        wires.push((format!("one-{number}"), queued_by(&world, &format!("one-{number}"))));
        if number == 20 {
            wires.push(("two".into(), queued_by(&world, "two")));
        }
    }
    wires.push(("three".into(), queued_by(&world, "three")));
    let (gone, mut left): (Vec<_>, Vec<_>) = wires
        .into_iter()
        .enumerate()
        .partition(|(index, (name, _))| name.starts_with("one") && index % 2 == 0);
    assert_eq!((gone.len(), left.len()), (19, 24));
    drop(gone);
    within(Duration::from_secs(2), "those that left are out of the line", || running(&world) == 24);
    assert_eq!(world.upstream("a").asked(), 1);
    gate.open();
    for (_, (_, wire)) in &mut left {
        wire.reply().served_by("a");
    }
    let names: Vec<String> = left.into_iter().map(|(_, (name, _))| name).collect();
    assert_eq!(order(&world), names, "first come, first served, and nobody for who has gone");
    let metrics = world.admin("/metrics").text();
    assert!(
        metrics.contains("switchtower_queue_wait_seconds_count 23\n"),
        "all but the first waited: {metrics}"
    );
    nothing_remains(&world);
}

#[test]
fn fc_106_a_line_that_everybody_left_leaves_nothing() {
    let world = Setup::new().provider_capped("a", 1).start();
    let (gate, mut first) = held(&world, 1);
    let wires: Vec<Wire> = (0..10).map(|number| queued_by(&world, &format!("{number}"))).collect();
    for wire in wires {
        wire.reset();
    }
    within(Duration::from_secs(2), "all of them are gone", || running(&world) == 1);
    gate.open();
    first[0].reply().served_by("a");
    nothing_remains(&world);
    assert_eq!(world.upstream("a").asked(), 1);
}

/// Runs for longer than a request may wait: eight pieces, a tenth of a second apart.
fn long() -> Answer {
    let piece = |answer: Answer, _| {
        answer
            .chunk("data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n")
            .pauses(Duration::from_millis(100))
    };
    (0..8).fold(Answer::stream(), piece).chunk("data: [DONE]\n\n").last_chunk()
}

/// One request waits, then streams for longer than it might have waited; another waits for it in
/// vain. How the latter is told.
fn outlives_the_wait(setup: Setup) -> (Reply, World) {
    let world = setup.start();
    let gate = Gate::default();
    world.upstream("a").answers(long()).answers_first([Answer::good("a").held_by(&gate)]);
    let mut first = queued_by(&world, "first");
    eventually("the first one runs", || world.upstream("a").asked() == 1);
    let mut streams = world.open(CHAT, &json!({"model": "a/x", "stream": true}));
    eventually("it waits", || running(&world) == 2);
    gate.open();
    first.reply().served_by("a");
    streams.read_until(|reply| !reply.chunks.is_empty());
    let in_vain = sent_by(&world, "in vain").reply();
    let whole = streams.reply();
    assert_eq!((whole.status, whole.end), (200, End::Complete));
    assert!(whole.text().ends_with("data: [DONE]\n\n"), "{}", whole.text());
    assert_eq!(world.upstream("a").asked(), 2, "who waited in vain was not sent");
    nothing_remains(&world);
    (in_vain, world)
}

#[test]
fn fc_048_the_wait_for_a_slot_does_not_end_what_runs() {
    let queue = "[resilience.concurrency]\ntimeout_ms = 500";
    let (in_vain, _world) = outlives_the_wait(Setup::new().section(queue).provider_capped("a", 1));
    in_vain.is_error(429, "SEMAPHORE_TIMEOUT");
    assert!(in_vain.header("retry-after").is_some());
}

#[test]
fn fc_048_the_wait_for_the_limiter_does_not_end_what_runs() {
    let queue = "[resilience.request_queue]\nconcurrent_requests = 1\nmax_wait_ms = 500";
    let (in_vain, _world) = outlives_the_wait(Setup::new().section(queue).provider("a", 1));
    in_vain.is_error(503, "RATE_LIMIT_QUEUE_TIMEOUT");
    assert!(in_vain.header("retry-after").is_some());
}

#[test]
fn decision_14_all_lines_together_have_a_bound() {
    let queue = "[resilience.concurrency]\nqueue_size = 0\n[resilience.request_queue]\nmax_queued_total = 3";
    let setup = Setup::new().section(queue).provider_capped("a", 1).provider_capped("b", 1);
    let world = setup.start();
    let gate = Gate::default();
    for name in ["a", "b"] {
        world.upstream(name).answers(Answer::good(name).held_by(&gate));
    }
    let open = |name: &str| {
        let before = running(&world);
        let wire = world.open(CHAT, &json!({"model": format!("{name}/x")}));
        eventually("it has come in", || running(&world) == before + 1);
        (name.to_owned(), wire)
    };
    let mut wires: Vec<_> = ["a", "b", "a", "b", "a"].map(open).into();
    let refused = world.ask("b/x");
    refused.is_error(429, "SEMAPHORE_QUEUE_FULL");
    assert!(refused.text().contains("max_queued_total"), "{}", refused.text());
    gate.open();
    for (name, wire) in &mut wires {
        wire.reply().served_by(name);
    }
    nothing_remains(&world);
}
