//! Combos within combos that are executed (routing 2.6): each orders its own, all share one budget.

use serde_json::{Value, json};

use crate::support::{Answer, Setup, World};
use crate::{PLAIN, asked};

/// A combo over models or combos.
fn combo(name: &str, strategy: &str, targets: &[&str], config: &str) -> String {
    let targets: Vec<String> = targets.iter().map(|target| format!("\"{target}\"")).collect();
    format!(
        "[[combos]]\nname = \"{name}\"\nstrategy = \"{strategy}\"\ntargets = [{}]\nconfig = {{ {config} }}\n",
        targets.join(", ")
    )
}

fn execute(config: &str) -> String {
    format!("{PLAIN}, nested_combo_mode = \"execute\"{config}")
}

/// Three requests of an executed combo of two others.
fn served(world: &World, requests: usize) -> Vec<String> {
    let one = |_| world.ask("outer").header("x-omniroute-provider").unwrap_or("nobody").to_owned();
    (0..requests).map(one).collect()
}

#[test]
fn routing_2_6_each_nested_combo_orders_its_own() {
    let mut setup = Setup::new();
    for provider in ["a", "b", "c", "d"] {
        setup = setup.provider(provider, 1);
    }
    let world = setup
        .section(&combo("turns", "round-robin", &["a/x", "b/x"], PLAIN))
        .section(&combo("fixed", "priority", &["c/x", "d/x"], PLAIN))
        .section(&combo("outer", "priority", &["turns", "fixed"], &execute("")))
        .start();
    let first = served(&world, 4);
    assert!(first == ["a", "b", "a", "b"] || first == ["b", "a", "b", "a"], "{first:?}");
    // One is down: the other of the same combo before the next combo.
    world.upstream("a").answers(Answer::status(503));
    world.upstream("b").answers(Answer::status(503));
    assert_eq!(served(&world, 2), ["c", "c"]);
}

#[test]
fn routing_2_6_the_outer_one_takes_turns_between_combos() {
    let mut setup = Setup::new();
    for provider in ["a", "b", "c"] {
        setup = setup.provider(provider, 1);
    }
    let world = setup
        .section(&combo("many", "priority", &["a/x", "b/x"], PLAIN))
        .section(&combo("outer", "round-robin", &["many", "c/x"], &execute("")))
        .start();
    let first = served(&world, 4);
    assert!(first == ["a", "c", "a", "c"] || first == ["c", "a", "c", "a"], "{first:?}");
}

/// Routing 7.8, 16 #78: thirty in all, over nested combos and sets.
#[test]
fn row_78_nested_combos_share_one_budget() {
    let nested = |name: &str, provider: &str| {
        let models: Vec<String> = (0..20).map(|n| format!("{provider}/m{n}")).collect();
        let models: Vec<&str> = models.iter().map(String::as_str).collect();
        combo(name, "priority", &models, PLAIN)
    };
    for sets in [0, 3] {
        let setup = crate::tireless(crate::tireless(Setup::new(), "a"), "b");
        let config = execute(&format!(", max_set_retries = {sets}, set_retry_delay_ms = 1"));
        let world = setup
            .section(&nested("one", "a"))
            .section(&nested("other", "b"))
            .section(&combo("outer", "priority", &["one", "other"], &config))
            .start();
        // Answers about the model: neither the account nor the provider rests.
        for provider in ["a", "b"] {
            world.upstream(provider).answers(Answer::status(429));
        }
        let reply = world.ask("outer");
        assert!([429, 503].contains(&reply.status), "{}", reply.text());
        assert_eq!(asked(&world, ["a", "b"]).iter().sum::<usize>(), 30, "{sets} sets: {}", reply.text());
        let decision: Value = world.admin("/api/decisions").json()["decisions"][0].clone();
        assert_eq!(decision["attempts"].as_array().map(Vec::len), Some(30));
    }
}

/// A combo that cannot serve the request contributes nothing (routing 14.4).
#[test]
fn a_nested_combo_whose_targets_all_rest_is_passed() {
    let setup = Setup::new().provider("a", 1).provider("b", 1);
    let world = setup
        .section(&combo("one", "priority", &["a/x"], PLAIN))
        .section(&combo("other", "priority", &["b/x"], PLAIN))
        .section(&combo("outer", "priority", &["one", "other"], &execute("")))
        .start();
    let cool = json!({"message": "cool", "for": "60s"});
    assert_eq!(world.order("connection", "a-1", cool).status, 200);
    assert_eq!(served(&world, 2), ["b", "b"]);
    assert_eq!(asked(&world, ["a", "b"]), [0, 2]);
}
