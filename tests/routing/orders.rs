//! What is drawn and what is known to be slow, over real requests (routing 4.2, 7.11).

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use crate::support::{Answer, Setup, World};
use crate::{PLAIN, asked};

fn weighted(weights: &[(&str, u32)]) -> World {
    let mut setup = Setup::new();
    let mut targets = Vec::new();
    for (provider, weight) in weights {
        setup = setup.provider(provider, 1);
        targets.push(format!("{{ model = \"{provider}/x\", weight = {weight} }}"));
    }
    let combo = format!(
        "[[combos]]\nname = \"m\"\nstrategy = \"weighted\"\ntargets = [{}]\nconfig = {{ {PLAIN} }}",
        targets.join(", ")
    );
    setup.section(&combo).start()
}

/// Routing 16 #5: each its share; the bounds are six deviations of 400 draws.
#[test]
fn row_5_requests_are_drawn_by_weight() {
    let world = weighted(&[("a", 70), ("b", 20), ("c", 10)]);
    let mut served: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..400 {
        let reply = world.ask("m");
        *served.entry(reply.header("x-omniroute-provider").unwrap().to_owned()).or_default() += 1;
    }
    for (provider, share, deviation) in [("a", 280, 9.2), ("b", 80, 8.0), ("c", 40, 6.0)] {
        let off = (f64::from(served[provider]) - f64::from(share)).abs();
        assert!(off <= 6.0 * deviation, "{provider}: {served:?}");
    }
}

/// Routing 16 #6, #7, #9: who weighs nothing is asked only after the others, and who rests is not drawn.
#[test]
fn rows_6_7_and_9_the_others_follow_by_weight() {
    let world = weighted(&[("a", 0), ("b", 1), ("c", 90)]);
    for _ in 0..20 {
        let reply = world.ask("m");
        assert_ne!(reply.header("x-omniroute-provider"), Some("a"), "{}", reply.text());
    }
    let before = asked(&world, ["b"]);
    world.upstream("c").answers(Answer::status(503));
    world.upstream("b").answers(Answer::status(503));
    world.ask("m").served_by("a");
    assert_eq!(asked(&world, ["b"])[0], before[0] + 1, "heavier ones first");
    for _ in 0..3 {
        world.ask("m").served_by("a");
    }
    assert_eq!(asked(&world, ["b"])[0], before[0] + 1, "who rests is not drawn");
}

/// Routing 7.11: after five slow answers it is passed over while a quicker one is left, and asked when
/// that one fails (no lost request, decisions) or rests.
#[test]
fn routing_7_11_who_is_known_to_be_slow_is_passed_over() {
    let setup = Setup::new().provider("a", 1).provider("b", 1);
    let config = format!("{PLAIN}, predictive_ttft_ms = 40");
    let world = setup.combo_with("m", &["a", "b"], &config).start();
    world.upstream("a").answers(Answer::good("a").after(Duration::from_millis(80)));
    for _ in 0..5 {
        world.ask("m").served_by("a");
    }
    for _ in 0..3 {
        world.ask("m").served_by("b");
    }
    assert_eq!(asked(&world, ["a", "b"]), [5, 3]);
    let plan = world.manage("POST", "/api/route/explain", &json!({"model": "m"})).json();
    let order = &plan["order"];
    assert_eq!(order[1]["provider"], "a", "{order}");
    assert_eq!(order[1]["why"], "behind all quicker ones (predictive_ttft_ms)", "{order}");
    world.upstream("b").answers_first([Answer::status(500)]);
    world.ask("m").served_by("a");
    world.order("connection", "b-1", json!({"message": "cool", "for": "60s"}));
    world.ask("m").served_by("a");
}
