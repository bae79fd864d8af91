//! Making, changing and deleting keys; what bodies are refused; file and store.

use serde_json::{Value, json};

use crate::process::call;
use crate::stage::{FILE_KEY, Stage};

fn is_key(text: &str) -> bool {
    let hex = text.strip_prefix("sk-swt-").unwrap_or_default();
    hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[test]
fn a_key_is_shown_once_and_opens_at_once() {
    let stage = Stage::new("made");
    let (made, key) = stage.make(
        json!({"name": "ci runner/1", "maxSessions": 3, "rateLimits": [{"limit": 100, "window": "1d"}]}),
    );
    assert!(is_key(&key), "256 bits: {made}");
    let shown = stage.get("/api/keys/ci%20runner%2F1");
    let mut expected = made.clone();
    expected["key"] = format!("sk-…{}", &key[key.len() - 4..]).into();
    assert_eq!(shown, expected, "never again");
    let fields = json!({
        "id": "ci runner/1", "name": "ci runner/1", "scopes": ["inference"], "modelAccessMode": "all",
        "allowedModels": [], "allowedCombos": [], "allowedConnections": [], "preferredConnections": [],
        "allowedEndpoints": [], "isActive": true, "isBanned": false, "expiresAt": null, "quotaOnly": false,
        "rateLimits": [{"limit": 100, "window": "1d"}], "budgets": [], "maxSessions": 3, "noLog": false,
        "accessSchedule": null, "throttleDelayMs": 0, "streamDefaultMode": "json",
        "status": "active", "source": "stored", "overrides": null,
    });
    expected.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    assert_eq!(shown, expected, "all of it");
    assert_eq!(shown.as_object().unwrap().len(), 26);
    assert_eq!(stage.ask(&key, "demo-a/steady").status, 200);
    assert_eq!(stage.ask(&key[..key.len() - 1], "demo-a/steady").told(), (401, "invalid_api_key".into()));
    stage.delete("ci%20runner%2F1");
    assert_eq!(stage.ask(&key, "demo-a/steady").told(), (401, "invalid_api_key".into()));
    assert_eq!(stage.api("GET", "/api/keys/ci%20runner%2F1", &Value::Null).0, 404);
}

#[test]
fn the_list_has_keys_of_file_and_store_and_none_of_them_in_clear() {
    let stage = Stage::new("list");
    let (_, one) = stage.make(json!({"name": "b"}));
    let (_, other) = stage.make(json!({"name": "a"}));
    let list = stage.get("/api/keys");
    let rows: Vec<[&str; 2]> = list["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| ["name", "source"].map(|field| row[field].as_str().unwrap()))
        .collect();
    assert_eq!(rows, [["a", "stored"], ["b", "stored"], ["laptop", "file"]]);
    assert_eq!(list["keys"][2]["key"], "sk-…FFFF");
    for secret in [FILE_KEY, &one, &other] {
        assert!(!list.to_string().contains(&secret[8..16]), "{list}");
    }
}

#[test]
fn a_key_with_scope_manage_manages_until_it_falls() {
    let stage = Stage::new("manage");
    let (_, plain) = stage.make(json!({"name": "plain"}));
    let (_, boss) = stage.make(json!({"name": "boss", "scopes": ["manage"]}));
    let list = |key: &str| stage.call(key, ("GET", "/api/keys"), "", "").status;
    assert_eq!([list(&plain), list(&boss)], [401, 200]);
    assert_eq!(stage.ask(&boss, "demo-a/steady").told(), (403, "permission_denied".into()));
    for fallen in [
        json!({"isActive": false}),
        json!({"isActive": null, "isBanned": true}),
        json!({"isBanned": false, "expiresAt": "2020-01-01T00:00:00Z"}),
    ] {
        stage.patch("boss", fallen);
        assert_eq!(list(&boss), 401);
    }
    stage.patch("boss", json!({"expiresAt": null}));
    assert_eq!(list(&boss), 200);
}

#[test]
fn a_stored_one_wins_over_the_file_keeps_its_secret_and_deleting_it_brings_the_file_back() {
    let mut stage = Stage::new("override");
    let before = stage.get("/api/keys/laptop");
    assert_eq!(
        [&before["source"], &before["overrides"], &before["createdAt"]],
        [&json!("file"), &Value::Null, &Value::Null]
    );
    let changed = stage.patch("laptop", json!({"isBanned": true}));
    assert_eq!([&changed["source"], &changed["overrides"]], [&json!("stored"), &json!("file")]);
    assert_eq!(
        [&changed["key"], &changed["scopes"]],
        [&before["key"], &before["scopes"]],
        "what it does not name stays"
    );
    let told = stage.ask(FILE_KEY, "demo-a/steady");
    assert_eq!(told.told(), (401, "invalid_api_key".into()));
    assert!(told.body.contains("banned"), "{told:?}");
    stage.crash();
    assert_eq!(stage.get("/api/keys/laptop"), changed);
    assert_eq!(stage.ask(FILE_KEY, "demo-a/steady").status, 401);
    let (status, answer) = stage.api("PUT", "/api/keys/laptop", &json!({"scopes": ["inference", "manage"]}));
    assert_eq!((status, &answer["isBanned"]), (200, &json!(false)), "a whole one: {answer}");
    assert_eq!(stage.ask(FILE_KEY, "demo-a/steady").status, 200);
    stage.delete("laptop");
    assert_eq!(stage.get("/api/keys/laptop"), before);
    let (status, answer) = stage.api("DELETE", "/api/keys/laptop", &Value::Null);
    assert_eq!((status, &answer["error"]["code"]), (409, &"ENTITY_FROM_FILE".into()), "{answer}");
    assert_eq!(stage.api("DELETE", "/api/keys/nobody", &Value::Null).0, 404);
}

/// Core of contract 2: the override goes with the file's secret, and with nothing once that has gone.
#[test]
fn an_override_whose_secret_has_left_the_file_opens_nothing_and_does_not_keep_us_from_starting() {
    let mut stage = Stage::new("lost");
    stage.patch("laptop", json!({"noLog": true}));
    stage.site.edit(|text| text.replace("name = \"laptop\"", "name = \"desk\""));
    stage.crash();
    let shown = stage.get("/api/keys/laptop");
    assert_eq!(
        [&shown["key"], &shown["source"], &shown["overrides"]],
        [&Value::Null, &json!("stored"), &Value::Null]
    );
    assert_eq!(stage.ask(FILE_KEY, "demo-a/steady").status, 200, "it is another key's now");
    stage.delete("laptop");
}

#[test]
fn what_was_read_can_be_sent_back() {
    let stage = Stage::new("roundtrip");
    let body = json!({
        "name": "whole", "scopes": ["inference"], "allowedModels": ["demo-a/*"], "allowedCombos": ["demo"],
        "allowedConnections": ["demo-a-1"], "preferredConnections": ["demo-a-1"], "allowedEndpoints": ["/v1/messages"],
        "expiresAt": "2030-01-01T00:00:00Z", "rateLimits": [{"limit": 1, "window": "1m"}, {"limit": 2, "window": "1h"}],
        "budgets": [{"limitUsd": 2.5, "window": "month"}], "maxSessions": 1, "noLog": true, "quotaOnly": true, "throttleDelayMs": 60_000, "streamDefaultMode": "legacy",
        "accessSchedule": {"enabled": true, "from": "22:00", "until": "06:30", "days": [0, 6], "tz": "-05:00"},
    });
    stage.make(body.clone());
    let before = stage.get("/api/keys/whole");
    for (field, value) in body.as_object().unwrap() {
        assert_eq!(before[field], *value, "{field}");
    }
    assert_eq!(before["modelAccessMode"], "restricted", "a list restricts");
    for method in ["PUT", "PATCH"] {
        let (status, answer) = stage.api(method, "/api/keys/whole", &before);
        assert_eq!(status, 200, "{answer}");
        for (field, value) in before.as_object().unwrap() {
            assert!(field == "updatedAt" || answer[field] == *value, "{method} {field}: {answer}");
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn each_wrong_body_is_refused_and_told_by_field() {
    let stage = Stage::new("wrong");
    let cases = [
        (json!({}), "body", "at least one field"),
        (json!({"scopes": ["inference"]}), "name", "is missing"),
        (json!({"name": ""}), "name", "1 to 200 characters"),
        (json!({"name": 7}), "name", "is no name"),
        (json!({"name": "x".repeat(201)}), "name", "1 to 200 characters"),
        (json!({"name": "n", "key": "sk-mine"}), "key", "unknown field, accepted: name, scopes"),
        (json!({"name": "n", "throttleDelayMs": 60_001}), "throttleDelayMs", "from 0 to 60000"),
        (json!({"name": "n", "accessSchedule": {}}), "accessSchedule", "is wrong at from"),
        (json!({"name": "n", "accessSchedule": "always"}), "accessSchedule", "{ enabled, from, until"),
        (
            json!({"name": "n", "accessSchedule": {"from": "08:00", "until": "18:00", "tz": "Mars"}}),
            "accessSchedule",
            "is wrong at tz, accepted: \"UTC\" or an offset",
        ),
        (json!({"name": "n", "streamDefaultMode": "on"}), "streamDefaultMode", "json | legacy"),
        (json!({"name": "n", "scopes": ["root"]}), "scopes", "not accepted"),
        (json!({"name": "n", "scopes": []}), "scopes", "empty list"),
        (json!({"name": "n", "modelAccessMode": "some"}), "modelAccessMode", "all | restricted"),
        (json!({"name": "n", "allowedModels": "*"}), "allowedModels", "is a string"),
        (json!({"name": "n", "allowedModels": [""]}), "allowedModels", "not accepted"),
        (json!({"name": "n", "allowedConnections": ["nobody"]}), "allowedConnections", "does not exist"),
        (json!({"name": "n", "preferredConnections": ["nobody"]}), "preferredConnections", "does not exist"),
        (
            json!({"name": "n", "allowedConnections": ["demo-a-1"], "preferredConnections": ["demo-a-2"]}),
            "preferredConnections",
            "may not use, accepted: connections of allowedConnections",
        ),
        (
            json!({"name": "n", "allowedEndpoints": ["/v1/images"]}),
            "allowedEndpoints",
            "/v1/chat/completions | /v1/messages",
        ),
        (json!({"name": "n", "isActive": "yes"}), "isActive", "true or false"),
        (json!({"name": "n", "isBanned": 1}), "isBanned", "true or false"),
        (json!({"name": "n", "expiresAt": "tomorrow"}), "expiresAt", "RFC 3339"),
        (json!({"name": "n", "maxSessions": -1}), "maxSessions", "from 0 to 100000"),
        (json!({"name": "n", "noLog": null, "rateLimits": {}}), "rateLimits", "a list of objects"),
        (json!({"name": "n", "rateLimits": [5]}), "rateLimits[0]", "an object"),
        (
            json!({"name": "n", "rateLimits": [{"limit": 0, "window": "1m"}]}),
            "rateLimits[0].limit",
            "from 1 to",
        ),
        (
            json!({"name": "n", "rateLimits": [{"limit": 1, "window": "1m"}, {"limit": 1}]}),
            "rateLimits[1].window",
            "is missing",
        ),
        (
            json!({"name": "n", "rateLimits": [{"limit": 1, "window": "1 month"}]}),
            "rateLimits[0].window",
            "\"1h\"",
        ),
        (json!({"name": "n", "rateLimits": [{"limit": 1, "window": "32d"}]}), "rateLimits[0].window", "31d"),
        (
            json!({"name": "n", "rateLimits": [{"limit": 1, "window": "60s"}, {"limit": 2, "window": "1m"}]}),
            "rateLimits[].window",
            "another limit",
        ),
        (
            json!({"name": "n", "rateLimits": [{"limit": 1, "window": "1m", "burst": 2}]}),
            "rateLimits[0].burst",
            "accepted: limit, window",
        ),
        (
            json!({"name": "n", "budgets": [{"limitUsd": 0, "window": "day"}]}),
            "budgets[0].limitUsd",
            "from 0.000001",
        ),
        (
            json!({"name": "n", "budgets": [{"limitUsd": 1, "window": "year"}]}),
            "budgets[0].window",
            "day | week | month",
        ),
        (json!({"name": "n", "budgets": [{"window": "day"}]}), "budgets[0].limitUsd", "is missing"),
        (json!({"name": "n", "quotaOnly": 0}), "quotaOnly", "true or false"),
    ];
    for (body, field, told) in cases {
        let (status, answer) = stage.api("POST", "/api/keys", &body);
        let details = answer["error"]["details"].as_array().unwrap_or_else(|| panic!("{body}: {answer}"));
        let hit = details
            .iter()
            .any(|detail| detail["field"] == field && detail["message"].as_str().unwrap().contains(told));
        assert!(status == 400 && hit, "{body}: no {field}: {told}, but {status} {answer}");
        let mut change = body.clone();
        let fields = change.as_object_mut().unwrap();
        if field != "name" && field != "key" && fields.remove("name").is_some() {
            let (status, answer) = stage.api("PATCH", "/api/keys/laptop", &change);
            assert!(status == 400 && answer["error"]["details"].is_array(), "{change}: {status} {answer}");
        }
    }
    let (_, answer) = stage.api("POST", "/api/keys", &json!({"maxSessions": -1, "budgets": 1, "x": 1}));
    let fields: Vec<&str> = answer["error"]["details"]
        .as_array()
        .unwrap()
        .iter()
        .map(|detail| detail["field"].as_str().unwrap())
        .collect();
    assert_eq!(fields.len(), 4, "all that is wrong at once: {answer}");
    for text in ["[]", "{\"a\":", "7"] {
        let (status, _, answer) = call(&stage.process.address, "POST", "/api/keys", text);
        assert!(status == 400 && answer.contains("\"field\":\"body\""), "{answer}");
    }
    let (status, answer) = stage.api("POST", "/api/keys", &json!({"name": "laptop"}));
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("already_exists")), "{answer}");
    let (status, answer) = stage.api("PATCH", "/api/keys/laptop", &json!({"name": "desk"}));
    assert_eq!((status, &answer["error"]["details"][0]["field"]), (400, &json!("name")), "{answer}");
    assert_eq!(stage.get("/api/keys")["keys"].as_array().unwrap().len(), 1, "nothing was stored");
}

#[test]
fn a_made_key_wins_over_one_that_comes_into_the_file_later() {
    let mut stage = Stage::new("later");
    let (_, made) = stage.make(json!({"name": "desk"}));
    let late = "sk-late-0123456789-LLLL";
    stage.site.edit(|text| text + &format!("[[keys]]\nname = \"desk\"\nkey = \"{late}\"\n"));
    stage.crash();
    let statuses = |stage: &Stage| [&made, late].map(|key| stage.ask(key, "demo-a/steady").status);
    assert_eq!(statuses(&stage), [200, 401]);
    assert_eq!(stage.get("/api/keys/desk")["overrides"], "file");
    stage.delete("desk");
    assert_eq!(statuses(&stage), [401, 200], "the file's is in force");
}

#[test]
fn a_change_of_nothing_stores_nothing() {
    let stage = Stage::new("nothing");
    let before = stage.get("/api/keys/laptop");
    assert_eq!(stage.patch("laptop", json!({"status": "banned", "source": "stored"})), before);
    assert_eq!(stage.get("/api/keys/laptop")["source"], "file");
}
