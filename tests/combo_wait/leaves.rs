//! A client that leaves while its request waits (flow row E54, decision 22).

use std::time::Duration;

use serde_json::json;

use super::support::{Setup, Wire, World, eventually, within};
use super::{PLAIN, cool, limited};

const CHAT: &str = "/v1/chat/completions";
/// Far below the wait that is left.
const SOON: Duration = Duration::from_secs(2);
type Leave = fn(Wire);
const WAYS: [(&str, Leave); 2] = [("closes", drop::<Wire>), ("resets", Wire::reset)];

/// The request is over while every target would still rest for most of a minute: nothing is
/// left that could ask anybody.
fn nothing_remains(world: &World, way: &str, asked: usize) {
    let requests = || world.admin("/api/actors/router/router").json()["inFlight"].clone();
    within(SOON, &format!("{way}: the request is over"), || requests() == 0);
    assert_eq!(world.in_flight("a-1"), 0, "{way}");
    assert_eq!(world.upstream("a").asked(), asked, "{way}");
    assert_eq!(world.derived("connection", "a-1")["state"], "cooling", "{way}");
}

#[test]
fn row_e54_a_client_that_leaves_a_wait_after_dispatch_ends_it() {
    for (way, leave) in WAYS {
        let world = Setup::new().provider("a", 1).combo_with("m", &["a"], PLAIN).start();
        world.upstream("a").answers(limited(429, 60, "slow down"));
        let wire = world.open(CHAT, &json!({"model": "m"}));
        eventually("the rest has begun", || world.derived("connection", "a-1")["state"] == "cooling");
        within(SOON, "the slot is free while it waits", || world.in_flight("a-1") == 0);
        assert_eq!(world.admin("/api/actors/router/router").json()["inFlight"], 1, "{way}: it waits");
        leave(wire);
        nothing_remains(&world, way, 1);
    }
}

#[test]
fn row_e54_a_client_that_leaves_a_wait_before_dispatch_ends_it() {
    for (way, leave) in WAYS {
        let world = Setup::new().provider("a", 1).combo_with("m", &["a"], PLAIN).start();
        cool(&world, "a-1", "60s");
        let wire = world.open(CHAT, &json!({"model": "m", "stream": true}));
        let requests = || world.admin("/api/actors/router/router").json()["inFlight"].clone();
        eventually("it waits", || requests() == 1);
        leave(wire);
        nothing_remains(&world, way, 0);
    }
}
