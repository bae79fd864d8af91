//! What combos begin with, set while requests come (routing 1.4): from the next pick on, without a
//! restart. What is counted is how often vendors are asked.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::support::{Answer, Setup, World};
use super::tireless;

fn patch(world: &World, body: Value) -> Value {
    let reply = world.manage("PATCH", "/api/settings", &body);
    assert_eq!(reply.status, 200, "{body}: {}", reply.text());
    reply.json()
}

/// How often a provider is asked for one request.
fn tries(world: &World, model: &str, provider: &str) -> usize {
    let before = world.upstream(provider).asked();
    assert_eq!(world.ask(model).status, 503);
    world.upstream(provider).asked() - before
}

#[test]
fn routing_1_4_a_later_layer_wins_from_the_next_request_on() {
    let combo = |name: &str, config: &str| {
        format!(
            "[[combos]]\nname = \"{name}\"\ntargets = [\"a/x\"]\nconfig = {{ combo_cooldown_wait_enabled = false{config} }}"
        )
    };
    let world = tireless(Setup::new(), "a")
        .section(&combo("silent", ""))
        .section(&combo("own", ", max_retries = 1"))
        .section("[settings.combo_defaults]\nretry_delay_ms = 0")
        .start();
    world.upstream("a").answers(Answer::status(503));
    assert_eq!((tries(&world, "silent", "a"), tries(&world, "own", "a")), (2, 2), "built in: one retry");
    let shown = patch(&world, json!({"comboDefaults": {"maxRetries": 3, "weights": {"quota": 1}}}));
    assert_eq!(
        shown["comboDefaults"],
        json!({"maxRetries": 3, "retryDelayMs": 0, "weights": {"quota": 1.0}})
    );
    assert_eq!((tries(&world, "silent", "a"), tries(&world, "own", "a")), (4, 2));
    patch(&world, json!({"providerOverrides": {"a": {"maxRetries": 0}}}));
    assert_eq!((tries(&world, "silent", "a"), tries(&world, "own", "a")), (1, 2));
    let shown = patch(&world, json!({"providerOverrides": {"a": null}, "comboDefaults": {"maxRetries": 2}}));
    assert_eq!(shown["providerOverrides"], Value::Null);
    assert_eq!((tries(&world, "silent", "a"), tries(&world, "own", "a")), (3, 2));
    let shown = patch(&world, json!({"comboDefaults": null}));
    assert_eq!(shown["comboDefaults"], json!({"retryDelayMs": 0}), "the file's stays");
    assert_eq!((tries(&world, "silent", "a"), tries(&world, "own", "a")), (2, 2));
    assert_eq!(world.ask("a/x").status, 503);
}

/// Both limits are built in as minutes, or not at all.
#[test]
fn routing_1_4_a_silent_provider_is_left_as_soon_as_is_said_of_it() {
    let (plain, hedging) = ("max_retries = 0", "max_retries = 0, hedging = true");
    for (config, own) in [(plain, json!({"targetTimeoutMs": 50})), (hedging, json!({"hedgeDelayMs": 50}))] {
        let common = "[settings.combo_defaults]\nhedge_delay_ms = 60000\ntarget_timeout_ms = 60000";
        let world = Setup::new()
            .section(common)
            .provider("a", 1)
            .provider("b", 1)
            .combo_with("m", &["a", "b"], config)
            .start();
        world.upstream("a").answers(Answer::silence());
        patch(&world, json!({"providerOverrides": {"a": own}}));
        let since = Instant::now();
        world.ask("m").served_by("b");
        assert!(since.elapsed() < Duration::from_secs(30), "{own}: {:?}", since.elapsed());
        assert_eq!(world.upstream("a").asked(), 1);
    }
}

#[test]
fn routing_1_4_combos_that_nobody_has_written_begin_so_too() {
    let listed = "format = \"openai\"\nmodels = [\"x\"]";
    let world = Setup::new()
        .provider_with("a", 1, listed)
        .section("provider_specific = { disable_cooling = true }")
        .section("[settings.combo_defaults]\nretry_delay_ms = 0\nmax_retries = 4\ncombo_cooldown_wait_enabled = false")
        .start();
    world.upstream("a").answers(Answer::status(503));
    assert_eq!(tries(&world, "auto", "a"), 5);
    patch(&world, json!({"comboDefaults": {"maxRetries": 0}}));
    assert_eq!(tries(&world, "auto/fast", "a"), 1);
}

#[test]
fn routing_1_4_what_is_wrong_is_told_by_its_field() {
    let world = Setup::new().provider("a", 1).start();
    for (body, field, told) in [
        (json!({"comboDefaults": {"maxRetries": 11}}), "comboDefaults.maxRetries", "from 0 to 10"),
        (json!({"comboDefaults": {"shadowRouting": {}}}), "comboDefaults.shadowRouting", "unknown field"),
        (
            json!({"comboDefaults": {"candidatePool": ["b"]}}),
            "comboDefaults.candidatePool",
            "does not exist; there are a",
        ),
        (
            json!({"providerOverrides": {"b": {"maxRetries": 1}}}),
            "providerOverrides.b",
            "there is no provider",
        ),
        (
            json!({"providerOverrides": {"a": {"comboTimeoutMs": 1}}}),
            "providerOverrides.a.comboTimeoutMs",
            "is about a combo as a whole",
        ),
        (json!({"providerOverrides": {"a": {"shoes": 1}}}), "providerOverrides.a.shoes", "unknown field"),
    ] {
        let reply = world.manage("PATCH", "/api/settings", &body);
        assert_eq!(reply.status, 400, "{body}");
        let detail = &reply.json()["error"]["details"][0];
        assert_eq!(detail["field"], field);
        assert!(detail["message"].as_str().unwrap().contains(told), "{detail}");
    }
    let old = json!({"comboDefaults": {"timeoutMs": 5, "healthCheckEnabled": 7, "maxRetries": 2}});
    assert_eq!(patch(&world, old)["comboDefaults"], json!({"maxRetries": 2}));
    let combo = json!({"name": "m", "targets": ["a/x"], "config": {"timeoutMs": 5, "maxRetries": 2}});
    let made = world.manage("POST", "/api/combos", &combo);
    assert_eq!((made.status, &made.json()["config"]), (201, &json!({"maxRetries": 2})));
}
