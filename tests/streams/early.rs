//! A head that goes out before anything is known, where an operator wants that (decision 19,
//! FC-033).

use crate::support::{Answer, End, Gate, Setup, World, eventually};
use crate::{ALL, CHAT, Dialect, events, got, pair};

const COMMENT: &str = ": keep-alive\n\n";

fn early(dialect: &Dialect) -> World {
    let section = "[stream]\nearly_commit = \"50ms\"\nheartbeat = \"100ms\"";
    let world = Setup::new().section(section).provider("a", 1).provider("b", 1).combo("m", &["a", "b"]);
    let world = world.start();
    world.upstream("b").answers(events(&[&dialect.complete()]));
    world
}

/// What follows the comments.
fn told(text: &str) -> &str {
    text.trim_start_matches(COMMENT)
}

#[test]
fn fc_033_by_default_a_waiting_client_gets_nothing() {
    let world = pair(&CHAT);
    let gate = Gate::default();
    world.upstream("a").answers(Answer::status(503).held_by(&gate));
    let mut wire = world.open(CHAT.route, &CHAT.body("m"));
    eventually("the vendor is asked", || world.upstream("a").asked() == 1);
    gate.open();
    got(&wire.reply(), &CHAT.complete());
}

#[test]
fn fc_033_failover_goes_on_inside_the_open_stream() {
    for dialect in ALL {
        let world = early(dialect);
        let gate = Gate::default();
        world.upstream("a").answers(Answer::status(503).held_by(&gate));
        let mut wire = world.open(dialect.route, &dialect.body("m"));
        let begun = wire.read_until(|reply| reply.text().matches(COMMENT).count() >= 2);
        assert_eq!((begun.status, begun.header("content-type")), (200, Some("text/event-stream")));
        gate.open();
        let reply = wire.reply();
        assert_eq!((told(&reply.text()), reply.end), (dialect.complete().as_str(), End::Complete));
    }
}

#[test]
fn fc_033_a_failure_is_told_inside_the_stream() {
    for dialect in ALL {
        let world = early(dialect);
        let gate = Gate::default();
        world.upstream("a").answers(Answer::status(503).held_by(&gate));
        world.upstream("b").answers(Answer::status(503));
        let mut wire = world.open(dialect.route, &dialect.body("m"));
        wire.read_until(|reply| reply.text().contains(COMMENT));
        gate.open();
        let reply = wire.reply();
        assert_ne!(reply.end, End::Complete);
        let text = reply.text();
        assert_eq!(told(&text).matches("data: ").count(), 1, "{text}");
        assert!(told(&text).contains("error") && !text.contains(dialect.end.trim()), "{text}");
    }
}

/// A page has no words that a frame could repeat: its status and its text are told.
#[test]
fn fc_033_a_page_is_told_inside_the_stream() {
    for dialect in ALL {
        let world = early(dialect);
        let gate = Gate::default();
        let page = Answer::sized(503, "content-type: text/html\r\n", "<h1>Back soon</h1>");
        world.upstream("a").answers(page.held_by(&gate));
        let mut wire = world.open(dialect.route, &dialect.body("a/x"));
        wire.read_until(|reply| reply.text().contains(COMMENT));
        gate.open();
        let reply = wire.reply();
        let text = reply.text();
        assert!(text.contains("Back soon") && text.contains("answered 503"), "{text}");
        assert_ne!(reply.end, End::Complete);
    }
}

#[test]
fn fc_033_what_is_known_in_time_keeps_its_status() {
    let world = early(&CHAT);
    world.upstream("a").answers(Answer::status(400));
    assert_eq!(CHAT.ask(&world, "a/x").status, 400);
}

#[test]
fn fc_006_a_client_that_leaves_an_early_stream_ends_the_call() {
    let world = early(&CHAT);
    world.upstream("a").answers(Answer::silence());
    let mut wire = world.open(CHAT.route, &CHAT.body("m"));
    wire.read_until(|reply| reply.text().contains(COMMENT));
    drop(wire);
    eventually("the vendor is told", || world.upstream("a").closed() == 1);
    eventually("the slot is free", || world.in_flight("a-1") == 0);
    assert_eq!(world.upstream("b").asked(), 0);
}
