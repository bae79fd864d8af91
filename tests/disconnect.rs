//! A client that leaves, in every phase: the vendor is told within two seconds, the
//! slot is free again, nothing is counted and nobody else is asked (decision 22;
//! FC-006, FC-008).

#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;

use std::time::Duration;

use serde_json::{Value, json};
use support::{Answer, End, Gate, Setup, Wire, World, eventually, within};

const CHAT: &str = "/v1/chat/completions";
/// How long a vendor may go on working for a client that has gone (decision 22).
const SOON: Duration = Duration::from_secs(2);

/// How a client leaves.
type Leave = fn(Wire);

const WAYS: [(&str, Leave); 2] = [("closes", drop::<Wire>), ("resets", Wire::reset)];

/// Provider `a` with two accounts, then `b`: enough to show who would be asked next.
fn a_world() -> World {
    Setup::new().provider("a", 2).provider("b", 1).combo("m", &["a", "b"]).start()
}

/// After the client left: everything is as if it had never come.
fn nothing_remains(world: &World, way: &str, clean: &Value) {
    within(SOON, &format!("{way}: the slot is free"), || {
        world.in_flight("a-1") + world.in_flight("a-2") + world.in_flight("b-1") == 0
    });
    within(SOON, &format!("{way}: the request is over"), || {
        world.admin("/api/actors/router/router").json()["inFlight"] == 0
    });
    assert_eq!(&owners(world), clean, "{way}: nothing is counted");
    assert_eq!(world.upstream("b").asked(), 0, "{way}: nobody else is asked");
}

/// What breakers and connections would have to tell.
fn owners(world: &World) -> Value {
    let connection = |id: &str| world.snapshot(id)["cooldown"].clone();
    json!(
        [world.failures("a"), world.failures("b"), connection("a-1"), connection("a-2"), connection("b-1"),]
    )
}

fn leaves_before_the_head(stream: bool) {
    for (way, leave) in WAYS {
        let world = a_world();
        let clean = owners(&world);
        world.upstream("a").answers(Answer::silence());
        let wire = world.open(CHAT, &json!({"model": "m", "stream": stream}));
        eventually("the vendor is asked", || world.upstream("a").asked() == 1);
        eventually("the slot is taken", || world.in_flight("a-1") + world.in_flight("a-2") == 1);
        leave(wire);
        within(SOON, &format!("{way}: the vendor is told"), || world.upstream("a").closed() == 1);
        nothing_remains(&world, way, &clean);
        assert_eq!(world.upstream("a").asked(), 1, "{way}");
    }
}

#[test]
fn fc_008_a_client_that_leaves_before_the_head_ends_the_call() {
    leaves_before_the_head(false);
}

#[test]
fn fc_006_a_client_that_leaves_before_the_head_of_a_stream_ends_the_call() {
    leaves_before_the_head(true);
}

#[test]
fn fc_006_a_client_that_leaves_a_silent_stream_ends_the_call() {
    for (path, first) in [
        (CHAT, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"),
        (
            "/v1/messages",
            "event: content_block_delta\ndata: {\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\n\n",
        ),
        ("/v1/responses", "data: {\"type\":\"response.output_text.delta\",\"delta\":\"x\"}\n\n"),
    ] {
        for (way, leave) in WAYS {
            let world = a_world();
            let clean = owners(&world);
            world.upstream("a").answers(Answer::stream().chunk(first).hangs());
            let mut wire = world.open(path, &json!({"model": "m", "stream": true}));
            let begun = wire.read_until(|reply| !reply.chunks.is_empty());
            assert_eq!((begun.text().as_str(), begun.end), (first, End::Open));
            assert_eq!(world.in_flight("a-1") + world.in_flight("a-2"), 1);
            leave(wire);
            let way = format!("{path} {way}");
            within(SOON, &format!("{way}: the vendor is told"), || world.upstream("a").closed() == 1);
            nothing_remains(&world, &way, &clean);
            assert_eq!(world.upstream("a").asked(), 1, "{way}");
        }
    }
}

#[test]
fn fc_008_a_client_that_leaves_while_a_long_answer_is_read_ends_the_call() {
    for (way, leave) in WAYS {
        let world = a_world();
        let clean = owners(&world);
        let json = "content-type: application/json\r\n";
        world.upstream("a").answers(Answer::lying(200, json, 100, "{\"half\":").hangs());
        let wire = world.open(CHAT, &json!({"model": "m"}));
        eventually("the vendor is asked", || world.upstream("a").asked() == 1);
        leave(wire);
        within(SOON, &format!("{way}: the vendor is told"), || world.upstream("a").closed() == 1);
        nothing_remains(&world, way, &clean);
    }
}

#[test]
fn a_client_that_leaves_while_it_sends_its_body_asks_nobody() {
    for (way, leave) in WAYS {
        let world = a_world();
        let clean = owners(&world);
        let mut wire = Wire::open(world.address);
        wire.send(b"POST /v1/chat/completions HTTP/1.1\r\nhost: s\r\ncontent-length: 1000000\r\n\r\n");
        wire.send(br#"{"model":"m","messages":["#);
        eventually("the request runs", || world.admin("/api/actors/router/router").json()["inFlight"] == 1);
        leave(wire);
        nothing_remains(&world, way, &clean);
        assert_eq!(world.upstream("a").asked(), 0, "{way}");
    }
}

#[test]
fn a_client_that_leaves_while_its_body_goes_upstream_ends_the_call() {
    for (way, leave) in WAYS {
        let world = a_world();
        let clean = owners(&world);
        // The vendor reads the head and stops: most of the body does not fit between.
        let gate = Gate::default();
        world.upstream("a").answers(Answer::nothing().deaf_until(&gate).hangs().early());
        let text = "y".repeat(20 * 1024 * 1024);
        let wire = world.open(CHAT, &json!({"model": "m", "x": text}));
        eventually("the vendor is asked", || world.upstream("a").asked() == 1);
        leave(wire);
        nothing_remains(&world, way, &clean);
        gate.open();
        within(SOON, &format!("{way}: the vendor is told"), || world.upstream("a").closed() == 1);
        assert_eq!(world.upstream("a").asked(), 1, "{way}");
    }
}

#[test]
fn a_client_that_leaves_between_attempts_ends_the_request() {
    for (way, leave) in WAYS {
        let config = "max_retries = 0, fallback_delay_ms = 60000";
        let setup = Setup::new().provider("a", 1).provider("b", 1);
        let world = setup.combo_with("m", &["a", "b"], config).start();
        world.upstream("a").answers(Answer::status(503));
        let wire = world.open(CHAT, &json!({"model": "m"}));
        eventually("the first attempt has failed", || world.failures("a") == 1);
        leave(wire);
        within(SOON, &format!("{way}: the request is over"), || {
            world.admin("/api/actors/router/router").json()["inFlight"] == 0
        });
        assert_eq!(world.in_flight("a-1"), 0, "{way}");
        assert_eq!(world.failures("a"), 1, "{way}: what failed before stays counted, once");
        assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (1, 0), "{way}");
    }
}

#[test]
fn fc_008_a_client_that_tries_again_and_again_leaves_one_call_running() {
    let world = Setup::new().provider("a", 1).start();
    let clean = world.snapshot("a-1")["cooldown"].clone();
    world.upstream("a").answers(Answer::silence());
    for number in 1..=5 {
        let wire = world.open(CHAT, &json!({"model": "a/x"}));
        eventually("the vendor is asked again", || world.upstream("a").asked() == number);
        assert!(world.in_flight("a-1") <= 1, "one call at a time");
        drop(wire);
        within(SOON, "the call before is over", || world.in_flight("a-1") == 0);
    }
    within(SOON, "all calls were ended", || world.upstream("a").closed() == 5);
    assert_eq!(world.failures("a"), 0);
    assert_eq!(world.snapshot("a-1")["cooldown"], clean);
    world.upstream("a").answers(Answer::good("a"));
    world.ask("a/x").served_by("a");
}
