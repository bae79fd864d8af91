//! A stream that is the one request let through behind a provider's trouble (decisions 5, 9a;
//! FC-012, FC-013): it is judged when it is committed, and not by how long it then goes on.

use serde_json::json;

use crate::support::{Answer, Gate, Setup, World, eventually};
use crate::{ALL, Dialect, events, got, open_events};

/// The hold of `a`'s breaker is over: the next request is a probe.
fn half_open() -> World {
    let world = Setup::new().section("[stream]\nfirst_content_timeout = \"200ms\"").provider("a", 1).start();
    let reply = world.order("provider", "a", json!({"message": "trip", "for": "1ms"}));
    assert_eq!(reply.status, 200, "{}", reply.text());
    eventually("the hold is over", || state(&world) == "half_open");
    world
}

fn state(world: &World) -> String {
    world.derived("provider", "a")["state"].as_str().unwrap().to_owned()
}

/// The probe's place is free: another one takes it, and closes.
#[track_caller]
fn the_next_one_probes(world: &World, dialect: &Dialect) {
    assert_eq!(state(world), "half_open");
    world.upstream("a").answers(events(&[&dialect.complete()]));
    got(&dialect.ask(world, "a/x"), &dialect.complete());
    eventually("it closes", || state(world) == "closed");
}

#[test]
fn fc_012_a_stream_closes_as_it_begins_and_the_others_need_not_wait_for_its_end() {
    for dialect in ALL {
        let world = half_open();
        let gate = Gate::default();
        let begun = dialect.opening() + dialect.text;
        let end = dialect.stop.concat() + dialect.end;
        world.upstream("a").answers(open_events(&[&begun]).until(&gate).chunk(&end).last_chunk());
        let mut wire = world.open(dialect.route, &dialect.body("a/x"));
        wire.read_until(|reply| reply.text() == begun);
        assert_eq!((state(&world).as_str(), world.in_flight("a-1")), ("closed", 1));
        gate.open();
        got(&wire.reply(), &(begun + &end));
        assert_eq!(world.failures("a"), 0);
    }
}

/// What is cut later is a failure of its own, below the threshold.
#[test]
fn decision_9a_a_cut_behind_it_opens_nothing() {
    for dialect in ALL {
        let world = half_open();
        world.upstream("a").answers(open_events(&[dialect.text]).closes());
        dialect.ask(&world, "a/x");
        eventually("it is counted", || world.failures("a") == 1);
        assert_eq!(state(&world), "closed");
    }
}

/// FC-013 (i), (iii): as the status that it stands for.
#[test]
fn fc_013_an_error_instead_of_a_stream_is_judged_as_its_status() {
    for dialect in ALL {
        for (error, expected) in [(dialect.quota, "closed"), ("event: error\ndata: broken\n\n", "open")] {
            let world = half_open();
            world.upstream("a").answers(events(&[&dialect.opening(), error]));
            assert!(dialect.ask(&world, "a/x").status >= 400);
            eventually("it is judged", || state(&world) == expected);
        }
    }
}

/// FC-013 (ii), decision 9a: neither good nor bad, and the place is given back.
#[test]
fn fc_013_ii_a_probe_that_proves_nothing_gives_its_place_back() {
    for dialect in ALL {
        let world = half_open();
        world.upstream("a").answers(open_events(&[&dialect.opening()]).hangs());
        dialect.ask(&world, "a/x").is_error(504, "STREAM_READINESS_TIMEOUT");
        the_next_one_probes(&world, dialect);
        let world = half_open();
        world.upstream("a").answers(Answer::silence());
        let wire = world.open(dialect.route, &dialect.body("a/x"));
        eventually("the vendor is asked", || world.upstream("a").asked() == 1);
        drop(wire);
        eventually("the slot is free", || world.in_flight("a-1") == 0);
        the_next_one_probes(&world, dialect);
    }
}
