//! The slower lane (rules 9.5): taken at the first wall, kept, waited for, left.

use std::time::{Duration, Instant};

use crate::process::eventually;
use crate::stage::{LANE, Stage};

const ACCOUNT: (&str, &str) = ("sk-ant-oat-a", LANE);
/// Leaves 300 ms for waits: what is said of waits is at least 5 s (rules 5.2), less the margin.
const SHORT: &str = "timeouts = { first_byte = \"5300ms\" }";

#[test]
fn l1_the_wall_is_swallowed_and_the_lane_kept() {
    let stage = Stage::new("l1", ACCOUNT, "");
    assert_eq!(stage.ask("c/steady"), 200);
    assert_eq!(stage.messages(), [(false, 200)], "nothing is sent before the first wall (5.4.5)");
    assert_eq!(stage.ask("c/wall-3600"), 200);
    assert_eq!(stage.ask("c/wall-3600"), 200);
    assert_eq!(stage.ask("c/steady"), 200);
    let expected = [(false, 200), (false, 429), (true, 200), (true, 200), (true, 200)];
    assert_eq!(stage.messages(), expected, "while it is active every request goes by it");
    assert_eq!((stage.state(), stage.last_error()), ("ready".into(), serde_json::Value::Null), "5.5.2");
    assert!(stage.resets().is_empty());
}

#[test]
fn l21_siblings_that_meet_the_wall_together_are_all_served() {
    let stage = Stage::new("l21", ACCOUNT, "");
    assert_eq!(stage.ask_at_once("c/wall-3600", 12), [200; 12]);
    let messages = stage.messages();
    assert_eq!(messages.iter().filter(|message| **message == (true, 200)).count(), 12, "{messages:?}");
    assert!(messages.iter().all(|(slow, status)| *slow == (*status == 200)), "{messages:?}");
    assert_eq!(stage.last_error(), serde_json::Value::Null);
}

#[test]
fn l7_a_busy_lane_is_waited_for_on_the_same_account() {
    for (name, model) in [("busy", "c/wall-3600-busy-1"), ("room", "c/wall-3600-overloaded-1")] {
        let stage = Stage::new(&format!("l7-{name}"), ACCOUNT, SHORT);
        let started = Instant::now();
        assert_eq!(stage.ask(model), 200, "{name}");
        assert!(started.elapsed() >= Duration::from_millis(200), "{name}: it was waited for");
        let refused = if name == "busy" { 429 } else { 529 };
        assert_eq!(stage.messages(), [(false, 429), (true, refused), (true, 200)], "{name}");
        assert_eq!(stage.last_error(), serde_json::Value::Null, "{name}");
    }
}

#[test]
fn l12a_waiting_ends_with_the_time_of_the_request_and_the_lane_cools_off() {
    let stage = Stage::new("l12a", ACCOUNT, SHORT);
    assert_eq!(stage.ask("c/wall-3600-busy-99"), 429);
    assert_eq!(stage.messages(), [(false, 429), (true, 429), (true, 429)], "a clean end, no time-out");
    assert_eq!(stage.state(), "cooling", "the last answer goes the ordinary way (5.4.12)");
    assert!(stage.site.log().contains("max_wait"), "{}", stage.site.log());
    crate::process::order(&stage.process.address, "connection/c-1", r#"{"message":"reset"}"#);
    assert_eq!(stage.ask("c/wall-3600"), 429, "no lane for ten minutes");
    assert_eq!(stage.messages().last(), Some(&(false, 429)));
}

#[test]
fn l15_what_ends_the_lane_goes_to_the_cooldown_path() {
    for reason in ["weekly-limit", "off", "ineligible", "budget-exhausted"] {
        let stage = Stage::new(&format!("l15-{reason}"), ACCOUNT, "");
        assert_eq!(stage.ask(&format!("c/wall-3600-{reason}")), 429, "{reason}");
        assert_eq!(stage.messages(), [(false, 429), (true, 429)], "{reason}");
        assert_eq!(stage.state(), "cooling", "{reason}");
    }
}

#[test]
fn fc_006_a_client_that_leaves_ends_the_wait() {
    let stage = Stage::new("leaves", ACCOUNT, "");
    let body = r#"{"model":"c/wall-3600-busy-99","max_tokens":9,"messages":[]}"#;
    let client = crate::process::open(&stage.process.address, "POST", "/v1/messages", body);
    eventually("it waits", || stage.messages() == [(false, 429), (true, 429)]);
    assert_eq!(stage.in_flight(), 1, "it holds its slot");
    drop(client);
    eventually("its slot is free", || stage.in_flight() == 0);
    assert_eq!((stage.messages().len(), stage.last_error()), (2, serde_json::Value::Null));
}
