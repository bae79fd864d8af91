//! The cooldown manager over HTTP: who is listed, what an order clears, what it never touches
//! (contract 8, core 5.7, G12).

#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;

use serde_json::{Value, json};
use support::{Answer, Reply, Setup, World};

const COOLDOWNS: &str = "/api/resilience/cooldowns";
const LOCKS: &str = "/api/resilience/model-cooldowns";
/// Rests long enough for any test.
const LONG: &str = "[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = 600000\n";

fn setup() -> Setup {
    Setup::new().section(LONG).provider("a", 1).provider("b", 1).provider("c", 1)
}

/// `a-1` rests and has two locks, `b-1` is clean, `c-1` is out of credit.
fn a_world_of_each() -> World {
    let world = setup().start();
    for (model, status) in [("a/gone", 404), ("a/lost", 404), ("a/x", 503), ("c/x", 402)] {
        let provider = &model[..1];
        world.upstream(provider).answers_first([Answer::status(status)]);
        assert_ne!(world.ask(model).status, 200, "{model}");
    }
    world
}

fn states(world: &World) -> Vec<(String, String, usize)> {
    let list = world.admin(COOLDOWNS).json();
    let row = |row: &Value| {
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        (text("connectionId"), text("status"), row["lockouts"].as_array().unwrap().len())
    };
    list["connections"].as_array().unwrap().iter().map(row).collect()
}

fn clear(world: &World, body: Value) -> Reply {
    world.manage("POST", COOLDOWNS, &body)
}

fn remove(world: &World, body: Value) -> Reply {
    world.manage("DELETE", LOCKS, &body)
}

#[test]
fn core_5_7_3_who_rests_is_locked_or_terminal_is_listed() {
    let world = a_world_of_each();
    let row = |id: &str, status: &str, locks| (id.to_owned(), status.to_owned(), locks);
    assert_eq!(states(&world), [row("a-1", "cooling", 2), row("c-1", "credits_exhausted", 0)]);
    let list = world.admin(COOLDOWNS).json();
    let resting = &list["connections"][0];
    assert_eq!(resting["provider"], "a");
    assert_eq!((&resting["lastErrorType"], &resting["errorCode"]), (&json!("server_error"), &json!(503)));
    assert_eq!((&resting["backoffLevel"], &resting["terminal"]), (&json!(1), &json!(false)));
    let left = resting["remainingMs"].as_u64().unwrap();
    assert!((500_000..=600_000).contains(&left), "{left}");
    assert!(resting["rateLimitedUntil"].as_str().unwrap().ends_with('Z'));
    let lock = &resting["lockouts"][0];
    assert_eq!((&lock["scope"], &lock["reason"]), (&json!("family"), &json!("not_found")));
    let ended = &list["connections"][1];
    assert_eq!(
        (&ended["terminal"], &ended["remainingMs"], &ended["rateLimitedUntil"]),
        (&json!(true), &json!(0), &Value::Null)
    );
    let one = world.admin(&format!("{COOLDOWNS}?provider=c")).json();
    assert_eq!(one["connections"].as_array().unwrap().len(), 1);
    assert_eq!(world.manage("GET", &format!("{COOLDOWNS}?x=1"), &Value::Null).status, 400);
    let text = list.to_string();
    assert!(!text.contains(&support::credential("a-1")), "no credentials");
}

#[test]
fn g12_clearing_all_leaves_the_terminal_one() {
    let world = a_world_of_each();
    let counts = clear(&world, json!({"all": true})).json();
    let expected = json!({"cleared": 1, "unchanged": 1, "skippedTerminal": 1, "lockoutsCleared": 2});
    assert_eq!(counts, expected, "G12");
    assert_eq!(states(&world), [("c-1".to_owned(), "credits_exhausted".to_owned(), 0)]);
    world.ask("a/x").served_by("a");
    world.ask("a/gone").served_by("a");
    world.ask("c/x").is_error(503, "no_usable_connection");
    assert_eq!(world.upstream("c").asked(), 1, "decision 9b: it is not asked again");
    let again = clear(&world, json!({"all": true})).json();
    let nothing = json!({"cleared": 0, "unchanged": 2, "skippedTerminal": 1, "lockoutsCleared": 0});
    assert_eq!(again, nothing);
}

#[test]
fn core_5_7_4_some_connections_or_one_provider() {
    let world = a_world_of_each();
    let of_c = clear(&world, json!({"all": true, "provider": "c"})).json();
    assert_eq!((&of_c["skippedTerminal"], &of_c["cleared"]), (&json!(1), &json!(0)));
    let some = clear(&world, json!({"connectionIds": ["a-1", "a-1", "b-1", "nobody"]})).json();
    let expected = json!({"cleared": 1, "unchanged": 2, "skippedTerminal": 0, "lockoutsCleared": 2});
    assert_eq!(some, expected);
    clear(&world, json!({"all": true, "provider": "nobody"})).is_error(404, "not_found");
    for wrong in [
        json!({}),
        json!({"all": false}),
        json!({"all": true, "connectionIds": ["a-1"]}),
        json!({"connectionIds": ["a-1"], "provider": "a"}),
        json!({"connectionIds": "a-1"}),
        json!({"connectionIds": [1]}),
        json!({"all": "yes"}),
        json!({"all": true, "force": true}),
    ] {
        let reply = clear(&world, wrong.clone());
        assert_eq!(reply.status, 400, "{wrong}");
        assert_eq!(reply.code(), "invalid_request", "{wrong}");
    }
}

#[test]
fn core_5_7_1_5_7_2_locks_are_listed_and_removed() {
    let world = a_world_of_each();
    let list = world.admin(LOCKS).json();
    let items = list["items"].as_array().unwrap();
    let models: Vec<&str> = items.iter().map(|item| item["model"].as_str().unwrap()).collect();
    assert_eq!(models, ["lost", "gone"], "the one that ends last first");
    let item = &items[0];
    assert_eq!((&item["provider"], &item["connection"]), (&json!("a"), &json!("a-1")));
    assert_eq!((&item["failureCount"], &item["reason"]), (&json!(1), &json!("not_found")));
    assert!(item["remainingMs"].as_u64().unwrap() > 0 && item["expiresAt"].is_string());
    for wrong in [
        json!({}),
        json!({"provider": "a"}),
        json!({"model": "gone"}),
        json!({"all": true, "model": "gone"}),
        json!({"provider": "a", "model": 1}),
        json!({"provider": "a", "model": "gone", "x": 1}),
    ] {
        assert_eq!(remove(&world, wrong.clone()).status, 400, "{wrong}");
    }
    remove(&world, json!({"provider": "z", "model": "m"})).is_error(404, "not_found");
    let gone = json!({"provider": "a", "model": "gone"});
    remove(&world, json!({"provider": "a", "connectionId": "z", "model": "gone"})).is_error(404, "not_found");
    for (body, removed) in [
        (json!({"provider": "b", "model": "gone"}), 0),
        (json!({"provider": "a", "connectionId": "b-1", "model": "gone"}), 0),
        (json!({"provider": "a", "connection": "a-1", "model": "other"}), 0),
        (gone.clone(), 1),
        (gone, 0),
        (json!({"all": true}), 1),
    ] {
        assert_eq!(remove(&world, body.clone()).json(), json!({"removed": removed}), "{body}");
    }
    assert_eq!(world.admin(LOCKS).json(), json!({"items": []}));
    assert_eq!(states(&world)[0].1, "cooling", "the connection's own rest stays");
}

#[test]
fn contract_8_a_terminal_connection_takes_no_cooldown_and_a_reset_clears_it() {
    let world = a_world_of_each();
    world
        .order("connection", "c-1", json!({"message": "cool", "for": "30s"}))
        .is_error(409, "terminal_state");
    assert_eq!(world.snapshot("c-1")["cooldown"]["until"], Value::Null, "core 8.5");
    assert_eq!(world.derived("connection", "c-1")["terminal"]["state"], "credits_exhausted");
    let reset = world.order("connection", "c-1", json!({"message": "reset"}));
    assert_eq!(reset.json()["state"], "ready");
    world.ask("c/x").served_by("c");
}

#[test]
fn nobody_but_an_operator_may_look() {
    let world = setup().start();
    for path in [COOLDOWNS, LOCKS] {
        assert_eq!(world.get(path, "").status, 401, "{path}");
        assert_eq!(world.manage("PUT", path, &json!({})).status, 405, "{path}");
    }
    assert_eq!(world.post(COOLDOWNS, json!({"all": true})).status, 401);
}
