//! Steps that may be passed only for quota (routing 4.1; 16 #3, #4), what a 400 says (#76), and who
//! comes before a retry (#73 to #75).

use std::time::Duration;

use serde_json::json;

use crate::support::{Answer, Setup, World, within};
use crate::{PLAIN, asked, failures};

/// A combo of `a`, which may be passed only for quota, and `b`.
fn protected(config: &str) -> World {
    let combo = format!(
        "[[combos]]\nname = \"m\"\nstrategy = \"priority\"\nconfig = {{ {PLAIN}{config} }}\n\
         targets = [{{ model = \"a/x\", fallback_only_on_quota_exhaustion = true }}, {{ model = \"b/x\" }}]"
    );
    Setup::new().provider("a", 1).provider("b", 1).section(&combo).start()
}

fn said(status: u16, text: &str) -> Answer {
    Answer::json(status, json!({"error": {"message": text, "code": "theirs"}}).to_string())
}

/// Routing 16 #3: its own error, and b is never asked: neither now nor while it rests.
#[test]
fn row_3_a_protected_step_ends_the_request_with_its_own_error() {
    for failure in [Answer::status(503), Answer::status(500), Answer::status(429)] {
        let world = protected("");
        world.upstream("a").answers(failure);
        let reply = world.ask("m");
        assert!(reply.code().starts_with("fake_"), "{}", reply.text());
        assert_eq!(asked(&world, ["a", "b"]), [1, 0]);
        // Routing 4.1: a skip for anything else ends it, too.
        let reply = world.ask("m");
        assert!([429, 503].contains(&reply.status), "{}", reply.text());
        assert_eq!(asked(&world, ["a", "b"]), [1, 0]);
    }
}

/// Routing 16 #4: and while the quota is gone, b is asked at once.
#[test]
fn row_4_a_protected_step_is_passed_for_quota() {
    for failure in [said(429, "You exceeded your current quota"), Answer::status(402)] {
        let world = protected("");
        world.upstream("a").answers(failure);
        world.ask("m").served_by("b");
        world.ask("m").served_by("b");
        assert_eq!(asked(&world, ["a", "b"]), [1, 2]);
    }
}

/// Routing 4.1: nothing runs beside it.
#[test]
fn a_protected_step_that_is_slow_is_waited_for() {
    let world = protected(", hedging = true, hedge_delay_ms = 10");
    world.upstream("a").answers(Answer::good("a").after(Duration::from_millis(300)));
    world.ask("m").served_by("a");
    assert_eq!(asked(&world, ["a", "b"]), [1, 0]);
}

/// Routing 16 #76 by decision 8: the text of a 400 says whether another target may do better.
#[test]
fn row_76_what_a_400_says_decides() {
    let rows =
        [("malformed json", false), ("model x is not supported", true), ("context window exceeded", true)];
    for (text, moves_on) in rows {
        let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
        world.upstream("a").answers(said(400, text));
        let reply = world.ask("m");
        match moves_on {
            true => drop(reply.served_by("b")),
            false => drop(reply.is_error(400, "theirs")),
        }
        assert_eq!(asked(&world, ["a", "b"]), [1, usize::from(moves_on)], "{text}");
        assert_eq!(failures(&world, ["a"]), [0], "{text}");
    }
}

/// Routing 16 #73 to #75 by decision 26a: the next target at once, whether or not its status locks.
/// Routing 7.6: where a retry would come first, a status that locks skips it.
#[test]
fn rows_73_to_75_the_next_target_comes_before_a_retry() {
    let locks = "[resilience.model_lockout]\nenabled = true\nerror_codes = [503]";
    let (on, off) = (", failover_before_retry = true", ", failover_before_retry = false");
    for (section, keys) in [("", ""), (locks, ""), ("", on), (locks, off)] {
        let config =
            format!("max_retries = 1, retry_delay_ms = 2000, combo_cooldown_wait_enabled = false{keys}");
        let setup = Setup::new().section(section).provider("a", 1).provider("b", 1);
        let world = setup.combo_with("m", &["a", "b"], &config).start();
        world.upstream("a").answers(Answer::status(503));
        within(Duration::from_millis(1_500), "no pause", || world.ask("m").served_by("b").status == 200);
        assert_eq!(asked(&world, ["a", "b"]), [1, 1], "{section}{keys}");
        let locks = world.admin("/api/resilience/model-cooldowns").text().contains("\"x\"");
        assert_eq!(locks, !section.is_empty(), "#74: the model is locked");
    }
}

/// Routing 7.6: the last target is no exception.
#[test]
fn routing_7_6_what_locks_is_not_tried_again_in_place() {
    for (codes, times) in [("[503]", 1), ("[502]", 2)] {
        let locks = format!("[resilience.model_lockout]\nenabled = true\nerror_codes = {codes}");
        let setup = Setup::new().section(&locks).provider("a", 1);
        let config = "max_retries = 1, retry_delay_ms = 1, combo_cooldown_wait_enabled = false";
        let world = setup.combo_with("m", &["a"], config).start();
        world.upstream("a").answers(Answer::status(503));
        world.ask("m").is_error(503, "fake_503");
        assert_eq!(asked(&world, ["a"]), [times], "{codes}");
    }
}
