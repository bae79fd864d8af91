//! A client that leaves a stream in any of its phases: the vendor is told within two seconds, the
//! slot is free, nobody is blamed and nobody else is asked (decision 22; FC-006). Before the head
//! and in a silent stream: `tests/disconnect.rs`; in an early one: `early`.

use std::time::Duration;

use crate::support::{Answer, End, Setup, Wire, World, eventually, within};
use crate::{ALL, CHAT, Dialect, events, open_events};

const SOON: Duration = Duration::from_secs(2);

type Leave = fn(Wire);

const WAYS: [Leave; 2] = [drop::<Wire>, Wire::reset];

fn world(section: &str) -> World {
    Setup::new().section(section).provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start()
}

/// `asked`: how many calls there were; all of them are over.
fn is_over(world: &World, asked: usize) {
    within(SOON, "the vendor is told", || world.upstream("a").closed() == asked);
    within(SOON, "the slot is free", || world.in_flight("a-1") == 0);
    assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (asked, 0));
}

fn body(dialect: &Dialect) -> serde_json::Value {
    let mut body = dialect.body("m");
    body["messages"] = serde_json::json!([{"role": "user", "content": "q"}]);
    body
}

#[test]
fn fc_006_while_a_stream_is_held() {
    for dialect in ALL {
        for leave in WAYS {
            let world = world("");
            world.upstream("a").answers(open_events(&[&dialect.opening(), ": ping\n\n"]).hangs());
            let wire = world.open(dialect.route, &body(dialect));
            eventually("the vendor is asked", || world.upstream("a").asked() == 1);
            // The head and what is held are on their way; either phase ends alike.
            leave(wire);
            is_over(&world, 1);
            assert_eq!(world.failures("a"), 0);
        }
    }
}

#[test]
fn fc_006_while_a_stream_is_opened_again() {
    for leave in WAYS {
        let world = world("[resilience.stream_recovery]\nenabled = true");
        world.upstream("a").answers(Answer::silence());
        world.upstream("a").answers_first([open_events(&[CHAT.text]).resets()]);
        let wire = world.open(CHAT.route, &body(&CHAT));
        eventually("it is asked again", || world.upstream("a").asked() == 2);
        leave(wire);
        within(SOON, "the vendor is told", || world.upstream("a").closed() >= 1);
        within(SOON, "the slot is free", || world.in_flight("a-1") == 0);
        assert_eq!(
            (world.upstream("a").asked(), world.upstream("b").asked(), world.failures("a")),
            (2, 0, 0)
        );
    }
}

/// The break before it is the target's failure; the client's leaving adds none.
#[test]
fn fc_006_while_the_rest_is_asked_for() {
    for leave in WAYS {
        let world = world("[resilience.stream_recovery]\ncontinue_mid_stream = true");
        world.upstream("a").answers(Answer::silence());
        world.upstream("a").answers_first([open_events(&[CHAT.text]).resets()]);
        let wire = world.open(CHAT.route, &body(&CHAT));
        eventually("the rest is asked for", || world.upstream("a").asked() == 2);
        leave(wire);
        within(SOON, "the vendor is told", || world.upstream("a").closed() >= 1);
        within(SOON, "the slot is free", || world.in_flight("a-1") == 0);
        assert_eq!(
            (world.upstream("a").asked(), world.upstream("b").asked(), world.failures("a")),
            (2, 0, 1)
        );
    }
}

/// Whoever has the end has all of it.
#[test]
fn fc_006_behind_the_end_of_a_stream() {
    for dialect in ALL {
        for leave in WAYS {
            let world = world("");
            world.upstream("a").answers(open_events(&[&dialect.complete()]).hangs());
            let mut wire = world.open(dialect.route, &body(dialect));
            assert_eq!(wire.reply().end, End::Complete);
            leave(wire);
            is_over(&world, 1);
            assert_eq!(world.failures("a"), 0);
            world.upstream("a").answers(events(&[&dialect.complete()]));
            assert_eq!(dialect.ask(&world, "m").end, End::Complete);
        }
    }
}
