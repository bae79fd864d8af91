//! How combos fare is counted (routing 14), and what the names of `auto` would choose from.

use serde_json::{Value, json};

use super::support::{Answer, Setup, World};
use super::{PLAIN, tireless};

fn metrics(world: &World) -> Value {
    world.admin("/api/combos/metrics").json()["metrics"].clone()
}

/// Counts that are exact: requests, successes, failures, attempts, fallbacks.
fn counts(fared: &Value) -> [u64; 5] {
    ["Requests", "Successes", "Failures", "Attempts", "Fallbacks"]
        .map(|name| fared[format!("total{name}")].as_u64().unwrap_or_else(|| panic!("no {name}: {fared}")))
}

#[test]
fn routing_14_each_request_counts_once_for_its_combo_and_each_attempt_for_its_target() {
    let world = tireless(tireless(Setup::new(), "a"), "b")
        .combo("m", &["a", "b"])
        .combo_with("silent", &["a"], &format!("{PLAIN}, track_metrics = false"))
        .start();
    assert_eq!(metrics(&world), json!({}));
    world.upstream("a").answers_first([Answer::status(503), Answer::status(503)]);
    world.ask("m").served_by("b");
    world.upstream("b").answers_first([Answer::status(503)]);
    assert_eq!(world.ask("m").status, 503);
    world.ask("combo/m").served_by("a");
    assert_eq!((world.ask("silent").status, world.ask("a/x").status), (200, 200));
    let all = metrics(&world);
    assert_eq!(all.as_object().unwrap().keys().collect::<Vec<_>>(), ["m"]);
    let m = &all["m"];
    assert_eq!(counts(m), [3, 2, 1, 5, 2]);
    assert_eq!(
        (&m["strategy"], &m["successRate"], &m["fallbackRate"]),
        (&json!("priority"), &json!(67), &json!(67))
    );
    assert!(m["avgLatencyMs"].is_u64() && m["p95LatencyMs"].is_u64(), "{m}");
    assert!(m["lastUsedAt"].as_str().unwrap().ends_with('Z'), "{m}");
    let (a, b) = (&m["byTarget"]["a/x"], &m["byTarget"]["b/x"]);
    assert_eq!((&a["provider"], &a["model"], &a["successRate"]), (&json!("a"), &json!("x"), &json!(33)));
    assert_eq!((counts(a), counts(b)), ([3, 1, 2, 3, 0], [2, 1, 1, 2, 1]));
}

/// Row 66, routing 7.11: who was dropped is neither good nor bad.
#[test]
fn routing_14_a_dropped_hedge_speaks_against_nobody() {
    let world = Setup::new()
        .provider("a", 1)
        .provider("b", 1)
        .combo_with("m", &["a", "b"], &format!("{PLAIN}, hedging = true, hedge_delay_ms = 60"))
        .start();
    world.upstream("a").answers_first([Answer::silence()]);
    world.ask("m").served_by("b");
    let m = metrics(&world)["m"].clone();
    assert_eq!((counts(&m), &m["successRate"]), ([1, 1, 0, 2, 1], &json!(100)));
    let (a, b) = (&m["byTarget"]["a/x"], &m["byTarget"]["b/x"]);
    assert_eq!((counts(a), &a["successRate"]), ([1, 0, 0, 1, 0], &Value::Null), "{a}");
    assert_eq!((counts(b), &b["successRate"]), ([1, 1, 0, 1, 0], &json!(100)), "{b}");
    world.ask("m").served_by("a");
    let a = metrics(&world)["m"]["byTarget"]["a/x"].clone();
    assert_eq!((counts(&a), &a["successRate"]), ([2, 1, 0, 2, 0], &json!(100)), "{a}");
}

/// Whichever strategy it has: without a plan, and with one that has nobody.
#[test]
fn routing_14_what_nobody_could_be_asked_for_has_failed() {
    let combo = |name: &str| {
        format!("[[combos]]\nname = \"{name}\"\nstrategy = \"{name}\"\ntargets = [\"a/x\", \"b/x\"]")
    };
    let mut setup = Setup::new().provider_with("a", 1, "format = \"openai\"").provider_with(
        "b",
        1,
        "format = \"openai\"",
    );
    let names = ["priority", "fusion", "pipeline"];
    for name in names {
        setup = setup.section(&combo(name));
    }
    let silent = format!("{PLAIN}, track_metrics = false");
    let world = setup.combo_with("silent", &["a"], &silent).start();
    let fared = || {
        let all = metrics(&world);
        let mut counted: Vec<_> = all.as_object().unwrap().iter().collect();
        counted.sort_by_key(|(name, _)| names.iter().position(|known| known == name));
        assert_eq!(counted.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
        for (name, fared) in counted {
            assert_eq!((&fared["strategy"], &fared["byTarget"]), (&json!(name), &json!({})));
            assert_eq!(fared["successRate"], 0);
        }
        names.map(|name| counts(&all[name]))
    };
    let turns = json!([{"role": "user", "content": "hi"}]);
    for name in names.into_iter().chain(["silent", "a/x"]) {
        let asked = json!({"model": name, "max_tokens": 5, "messages": turns});
        world.post("/v1/messages", asked).is_error(400, "format_not_supported");
    }
    assert_eq!(fared(), [[1, 0, 1, 0, 0]; 3]);
    for account in ["a-1", "b-1"] {
        world.order("connection", account, json!({"message": "cool", "for": "60s"}));
    }
    let limits = json!({"comboCooldownWait": {"enabled": false}});
    assert_eq!(world.manage("PATCH", "/api/resilience", &limits).status, 200);
    for name in names {
        let asked = json!({"model": name, "messages": turns});
        assert!(world.post("/v1/chat/completions", asked).status >= 429, "{name}");
    }
    assert_eq!(fared(), [[2, 0, 2, 0, 0]; 3], "all of them rest");
}

/// The parts of one answer are one request.
#[test]
fn routing_14_a_panel_is_one_request() {
    let said = || Answer::json(200, json!({"choices": [{"message": {"content": "hi"}}]}).to_string());
    let world = Setup::new()
        .provider("a", 1)
        .provider("b", 1)
        .section("[[combos]]\nname = \"panel\"\nstrategy = \"fusion\"\ntargets = [\"a/x\", \"b/x\"]")
        .start();
    world.upstream("a").answers(said());
    world.upstream("b").answers(said());
    let turns = json!([{"role": "user", "content": "hi"}]);
    let reply = world.post("/v1/chat/completions", json!({"model": "panel", "messages": turns}));
    assert_eq!(reply.status, 200, "{}", reply.text());
    let all = metrics(&world);
    assert_eq!(counts(&all["panel"]), [1, 1, 0, 3, 0]);
    assert_eq!(counts(&all["panel"]["byTarget"]["a/x"]), [1, 2, 0, 2, 0], "a member, and the judge");
    assert_eq!(all["panel"]["fallbackRate"], 0);
}

#[test]
fn routing_14_the_names_of_auto_are_shown_with_what_they_choose_from() {
    let models = |ids: &str| format!("format = \"openai\"\nmodels = [{ids}]");
    let world = Setup::new()
        .provider_with("a", 2, &models("{ id = \"x\", context_window = 9000 }"))
        .provider_with("b", 1, &models("{ id = \"y\", context_window = 5000 }"))
        .provider_with("c", 1, "format = \"anthropic\"\nmodels = [\"z\"]")
        .section("[[combos]]\nname = \"auto/cheap\"\ntargets = [\"a/x\"]")
        .start();
    world.order("connection", "a-2", json!({"message": "cool", "for": "60s"}));
    let shown = world.admin("/api/combos/auto").json();
    let combos = shown["combos"].as_array().unwrap();
    let find = |id: &str| combos.iter().find(|combo| combo["id"] == id).unwrap_or_else(|| panic!("no {id}"));
    let auto = find("auto");
    assert_eq!(
        (&auto["variant"], &auto["type"], &auto["shadowed"]),
        (&Value::Null, &json!("auto"), &json!(false))
    );
    assert_eq!((&auto["candidateCount"], &auto["context_length"]), (&json!(3), &json!(5_000)));
    let pool = auto["candidatePool"].as_array().unwrap();
    let of = |provider: &str| pool.iter().find(|candidate| candidate["provider"] == provider).unwrap();
    assert_eq!(
        (&of("a")["model"], &of("a")["connections"], &of("a")["available"]),
        (&json!("x"), &json!(2), &json!(1))
    );
    assert_eq!(
        (&of("c")["connections"], &of("c")["available"]),
        (&json!(1), &json!(1)),
        "whatever it speaks"
    );
    let scores: Vec<f64> = pool.iter().map(|candidate| candidate["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    let explained = world.manage("POST", "/api/route/explain", &json!({"model": "auto"})).json();
    let order = explained["order"].as_array().unwrap();
    let told = order.iter().find(|target| target["provider"] == "b").unwrap();
    assert_eq!(of("b")["score"], told["score"], "{explained}");
    assert_eq!(
        (&find("auto/fast")["variant"], &find("auto/fast")["config"]["modePack"]),
        (&json!("fast"), &json!("ship-fast"))
    );
    let cheap = find("auto/cheap");
    assert_eq!((&cheap["shadowed"], &cheap["candidatePool"][0]["score"]), (&json!(true), &Value::Null));
    assert_eq!(combos.len(), 42);
}

/// Both addresses are of names that combos may have, too.
#[test]
fn a_combo_may_be_called_as_the_reports_are() {
    let world = Setup::new().provider("a", 1).start();
    let body = json!({"name": "metrics", "targets": ["a/x"]});
    assert_eq!(world.manage("POST", "/api/combos", &body).status, 201);
    world.ask("metrics").served_by("a");
    assert_eq!(counts(&metrics(&world)["metrics"]), [1, 1, 0, 1, 0]);
    assert_eq!(world.manage("DELETE", "/api/combos/metrics", &Value::Null).status, 200);
    assert_eq!(world.ask("metrics").status, 404);
}
