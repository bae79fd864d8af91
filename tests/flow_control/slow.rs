//! FC-010, FC-112: clients that read, or send, next to nothing cost nobody else a place.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{
    Answer, Child, End, Reply, Setup, Wire, World, eventually, post, request_bytes, within,
};
use crate::{CHAT, nothing_remains, resident_kib};

const PIECE: usize = 64 * 1024;
const PIECES: usize = 1024;
/// What one stream may hold of an answer that nobody reads, with what else a request touches first.
const MOST_KIB: u64 = 8 * 1024;

/// 64 MiB of deltas, as fast as they are taken.
fn flood() -> Answer {
    let text = "x".repeat(PIECE - 60);
    let delta = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    (0..PIECES).fold(Answer::stream(), |answer, _| answer.chunk(&delta)).hangs()
}

/// The account's gate, as health shows it.
fn slot(child: &Child) -> Value {
    child.admin("/api/monitoring/health").json()["gates"]["byKey"]["a:a-1"].clone()
}

fn ask(child: &Child) -> Reply {
    post(child.address, CHAT, "", br#"{"model":"a/x"}"#)
}

#[test]
fn fc_010_a_client_that_stops_reading_is_ended_and_its_place_is_free() {
    let stall = Duration::from_secs(2);
    let mut child = Setup::new().server("write_stall_timeout = \"2s\"").provider_capped("a", 1).spawn();
    child.upstream("a").answers(flood()).answers_first([Answer::good("a")]);
    ask(&child).served_by("a");
    let (before, began) = (resident_kib(child.id()), Instant::now());
    let mut wire = Wire::open(child.address);
    wire.send(&request_bytes("POST", CHAT, "", br#"{"model":"a/x","stream":true}"#));
    wire.read_until(|reply| reply.body.len() >= 1024);
    eventually("health shows who has held the slot, and for how long", || {
        let slot = slot(&child);
        slot["running"] == 1 && slot["oldestHolderMs"].as_u64() >= Some(1_000)
    });
    let mut most = 0;
    eventually("the vendor is let go", || {
        most = most.max(resident_kib(child.id()));
        child.upstream("a").closed() == 1
    });
    assert!(began.elapsed() >= stall, "not before the limit: {:?}", began.elapsed());
    assert!(most < before + MOST_KIB, "{before} KiB became {most} KiB");
    eventually("its place is free", || child.admin("/api/actors/connection/a-1").json()["inFlight"] == 0);
    assert_eq!((&slot(&child)["running"], &slot(&child)["oldestHolderMs"]), (&json!(0), &json!(null)));
    child.upstream("a").answers(Answer::good("a"));
    ask(&child).served_by("a");
    let provider = child.admin("/api/actors/provider/a").json();
    assert_eq!(provider["derived"]["failureCount"], 0, "no failure of the vendor");
    drop(wire);
    let (log, _) = child.end();
    let said: Vec<&str> = log.lines().filter(|line| line.contains("a client stopped reading")).collect();
    assert!(said.len() == 1 && said[0].contains("a-1"), "{said:?}");
}

fn limited() -> World {
    Setup::new().server("header_timeout = \"700ms\"").provider_capped("a", 1).start()
}

#[test]
fn fc_112_slow_heads_are_closed_and_disturb_nobody() {
    let world = limited();
    let mut slow: Vec<Wire> = (0..50).map(|_| Wire::open(world.address)).collect();
    for wire in &mut slow {
        wire.send(b"POST /v1/chat/completions HTTP/1.1\r\nho");
    }
    for _ in 0..20 {
        world.ask("a/x").served_by("a");
    }
    for wire in &mut slow {
        // One that goes on dripping is not spared.
        wire.try_send(b"s");
        let reply = wire.read_to_the_end();
        assert!(matches!(reply.status, 0 | 408), "{}", reply.text());
        assert_ne!(reply.end, End::Open);
    }
    nothing_remains(&world);
    assert_eq!(world.upstream("a").asked(), 20);
}

#[test]
fn fc_112_slow_bodies_hold_no_place_upstream_until_they_are_complete() {
    let world = limited();
    let body = json!({"model": "a/x"}).to_string();
    let request = request_bytes("POST", CHAT, "", body.as_bytes());
    let (all_but_one, last) = request.split_at(request.len() - 1);
    let mut slow: Vec<Wire> = (0..20).map(|_| Wire::open(world.address)).collect();
    for wire in &mut slow {
        wire.send(all_but_one);
    }
    eventually("all of them run", || world.admin("/api/actors/router/router").json()["inFlight"] == 20);
    for _ in 0..20 {
        world.ask("a/x").served_by("a");
        assert_eq!((world.in_flight("a-1"), world.upstream("a").asked() > 20), (0, false));
    }
    let (finished, given_up) = slow.split_at_mut(10);
    for wire in finished {
        wire.send(last);
        wire.reply().served_by("a");
    }
    assert_eq!(world.upstream("a").asked(), 30);
    for wire in given_up {
        wire.stream().shutdown(std::net::Shutdown::Both).unwrap();
    }
    within(Duration::from_secs(2), "those that left are gone", || {
        world.admin("/api/actors/router/router").json()["inFlight"] == 0
    });
    nothing_remains(&world);
}
