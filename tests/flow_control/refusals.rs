//! FC-011: a request that is refused holds nothing afterwards, whoever refused it.

use serde_json::json;

use crate::support::{Answer, Reply, Setup, World, eventually, post};
use crate::{CHAT, held, nothing_remains};

const TIMES: usize = 10;

/// One account with two places, and a key that fits nobody else.
fn a_world() -> World {
    Setup::new().server("max_body = \"64KiB\"").provider_capped("a", 2).start()
}

/// A refusal of each kind: its name, what is sent, and the status.
fn refusals() -> Vec<(&'static str, Vec<u8>, u16)> {
    let large = format!(r#"{{"model":"a/x","x":"{}"}}"#, "y".repeat(100_000));
    vec![
        ("malformed", br#"{"model":"a/x","messages":["#.to_vec(), 400),
        ("not an object", b"[]".to_vec(), 400),
        ("no model", br#"{"stream":true,"messages":[]}"#.to_vec(), 400),
        ("an unknown provider", br#"{"model":"nobody/x","stream":true}"#.to_vec(), 404),
        ("an unknown name", br#"{"model":"nobody","stream":true}"#.to_vec(), 404),
        ("too large", large.into_bytes(), 413),
    ]
}

/// Both places are free: two requests run at once, and a third has none.
fn two_places_are_free(world: &World) {
    let (gate, mut wires) = held(world, 2);
    assert_eq!(world.in_flight("a-1"), 2);
    gate.open();
    for wire in &mut wires {
        wire.reply().served_by("a");
    }
    nothing_remains(world);
}

#[test]
fn fc_011_what_is_refused_before_an_upstream_is_asked_leaves_its_place_free() {
    let world = a_world();
    for (kind, body, status) in refusals() {
        for stream in ["", "accept: text/event-stream\r\n"] {
            for _ in 0..TIMES {
                let reply: Reply = post(world.address, CHAT, stream, &body);
                assert_eq!(reply.status, status, "{kind}: {}", reply.text());
            }
        }
        nothing_remains(&world);
        assert_eq!(world.upstream("a").asked(), 0, "{kind}");
    }
    two_places_are_free(&world);
}

#[test]
fn fc_011_what_the_upstream_refuses_leaves_its_place_free() {
    let world = a_world();
    world.upstream("a").answers(Answer::status(400));
    for stream in [false, true] {
        for _ in 0..TIMES {
            let empty = json!({"model": "a/x", "stream": stream, "messages": []});
            assert_eq!(world.post(CHAT, empty).status, 400);
        }
        nothing_remains(&world);
    }
    assert_eq!(world.upstream("a").asked(), 2 * TIMES);
    two_places_are_free(&world);
}

#[test]
fn fc_011_what_the_client_breaks_off_leaves_its_place_free() {
    let world = a_world();
    for number in 1..=TIMES {
        let mut wire = crate::support::Wire::open(world.address);
        wire.send(b"POST /v1/chat/completions HTTP/1.1\r\nhost: s\r\ncontent-length: 99\r\n\r\n{\"model\":");
        eventually("the request runs", || world.admin("/api/actors/router/router").json()["inFlight"] == 1);
        drop(wire);
        nothing_remains(&world);
        assert_eq!(world.upstream("a").asked(), 0, "{number}");
    }
    two_places_are_free(&world);
}
