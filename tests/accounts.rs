//! Accounts and providers as a whole process treats them when the settings of core 2 and
//! routing 11.8 are on: who is asked, who is left out, and what an operator sees of it.

#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;

use serde_json::Value;
use support::{Answer, Setup, World};

const P2C: &str = "[settings]\nfallback_strategy = \"p2c\"";
const COOLDOWN: &str = "[resilience.provider_cooldown]\nenabled = true\n\
                        [resilience.provider_cooldown.apikey]\nfailure_threshold = 2";

fn selected(world: &World, model: &str) -> String {
    let reply = world.ask(model);
    assert_eq!(reply.status, 200);
    reply.header("x-omniroute-selected-connection-id").unwrap().to_owned()
}

fn spread(world: &World, model: &str, requests: usize) -> [usize; 2] {
    let asked: Vec<String> = (0..requests).map(|_| selected(world, model)).collect();
    ["a-1", "a-2"].map(|id| asked.iter().filter(|other| *other == id).count())
}

#[test]
fn routing_11_8_fill_first_asks_one_account_and_p2c_spreads() {
    let world = Setup::new().provider("a", 2).start();
    assert_eq!(spread(&world, "a/x", 10), [10, 0]);
    let world = Setup::new().section(P2C).provider("a", 2).start();
    assert_eq!(spread(&world, "a/x", 10), [5, 5]);
}

/// Two failures cool the provider for combos; a direct request still goes there, and its success
/// ends the cooldown.
#[test]
fn core_2_a_combo_leaves_a_failing_provider_out_until_it_answers_again() {
    let world =
        Setup::new().section(COOLDOWN).provider("a", 2).provider("b", 1).combo("ab", &["a", "b"]).start();
    let until = |id: &str| world.derived("provider", id)["providerCooldownUntil"].clone();
    world.upstream("a").answers_first([Answer::status(503), Answer::status(503)]);
    world.ask("ab").served_by("b");
    world.ask("ab").served_by("b");
    assert_eq!(world.upstream("a").asked(), 2);
    assert!(until("a").is_string() && until("b").is_null());
    let left_out: Value = world.derived("connection", "a-1");
    assert!(left_out["providerCooldownUntil"].is_string(), "{left_out}");
    world.order("connection", "a-1", serde_json::json!({"message": "reset"}));
    world.ask("ab").served_by("b");
    assert_eq!(world.upstream("a").asked(), 2, "the provider is left out, whatever its accounts do");
    assert_eq!(world.ask("a/x").status, 200);
    assert_eq!(
        (until("a"), world.derived("provider", "a")["windowFailures"].clone()),
        (Value::Null, 0.into())
    );
    world.ask("ab").served_by("a");
}
