//! Making, changing and deleting pools: shapes, refusals, and what survives.

use serde_json::{Value, json};

use crate::stage::{LIMITED, PLAIN, SHARED, Stage};

fn halves() -> Value {
    json!([
        {"keyId": "plain", "weight": 50, "policy": "soft"},
        {"keyId": "limited", "weight": 50.0, "policy": "hard", "capValue": 2.5, "capUnit": "usd"},
    ])
}

#[test]
fn a_pool_is_shown_as_it_was_made_and_survives_a_crash() {
    let mut stage = Stage::new("made", 0, "");
    let limits = json!([{"unit": "requests", "window": "5h", "limit": 100}]);
    let made = stage.pool(&["p-1", "p-2"], halves(), limits);
    let expected = json!({
        "id": "team", "name": "Team", "group": null, "provider": "p", "connections": ["p-1", "p-2"],
        "allocations": [
            {"keyId": "plain", "weight": 50.0, "policy": "soft"},
            {"keyId": "limited", "weight": 50.0, "policy": "hard", "capValue": 2.5, "capUnit": "usd"},
        ],
        "limits": [{"unit": "requests", "window": "5h", "limit": 100.0}],
        "models": ["qtSd/team/p/m", "qtSd/team/p/vendor/n"],
        "createdAt": made["createdAt"], "updatedAt": made["createdAt"],
    });
    assert_eq!(made, expected);
    stage.crash();
    assert_eq!(stage.api("GET", "/api/quota-pools/team", &Value::Null), (200, made.clone()));
    assert_eq!(stage.api("GET", "/api/quota-pools", &Value::Null), (200, json!({"pools": [made]})));
    assert_eq!(stage.ask(PLAIN, SHARED).status, 200);
}

#[test]
fn patch_changes_what_it_names_and_put_all_of_it() {
    let stage = Stage::new("changed", 0, "");
    stage.pool(&["p-1"], halves(), json!([]));
    let patch = |body: Value| stage.api("PATCH", "/api/quota-pools/team", &body);
    let (status, pool) = patch(json!({"group": "Night Shift!", "connections": ["p-1", "p-3"]}));
    assert_eq!(
        (status, &pool["connections"], &pool["allocations"][0]["keyId"]),
        (200, &json!(["p-1", "p-3"]), &json!("plain")),
        "{pool}"
    );
    assert_eq!(pool["models"][0], "qtSd/nightshift/p/m");
    assert_eq!(stage.ask(PLAIN, SHARED).status, 404, "the old name is gone");
    assert_eq!(patch(json!({"group": null})).1["models"][0], SHARED);
    let (status, again) = stage.api("PUT", "/api/quota-pools/team", &pool);
    assert_eq!((status, &again["models"]), (200, &pool["models"]), "what a GET showed can be sent back");
    let (status, put) =
        stage.api("PUT", "/api/quota-pools/team", &json!({"name": "T", "connections": ["p-2"]}));
    assert_eq!((status, &put["allocations"], &put["group"]), (200, &json!([]), &Value::Null), "{put}");
    assert_eq!(put["createdAt"], pool["createdAt"]);
}

#[test]
fn flow_2_5_a_deleted_pool_takes_its_models_along() {
    let stage = Stage::new("deleted", 0, "");
    stage.pool(&["p-1"], halves(), json!([]));
    assert_eq!(stage.models(LIMITED).len(), 2);
    let delete = || stage.api("DELETE", "/api/quota-pools/team", &Value::Null);
    assert_eq!(delete(), (200, json!({"success": true})));
    assert_eq!(stage.ask(PLAIN, SHARED).code(), "model_not_found");
    assert_eq!(stage.models(LIMITED), Vec::<String>::new());
    assert_eq!((delete().0, delete().1["error"]["code"].as_str()), (404, Some("not_found")));
}

#[test]
fn ids_are_made_of_names_and_taken_once() {
    let stage = Stage::new("ids", 0, "");
    let make = |body: Value| stage.api("POST", "/api/quota-pools", &body);
    let ids: Vec<Value> = ["Night Shift", "night shift", "§"]
        .iter()
        .map(|name| make(json!({"name": name, "connections": ["p-1"]})).1["id"].clone())
        .collect();
    assert_eq!(ids, ["night-shift", "night-shift-2", "pool"]);
    let (status, taken) = make(json!({"id": "pool", "name": "x", "connections": ["p-1"]}));
    assert_eq!((status, &taken["error"]["code"]), (409, &json!("already_exists")));
}

#[test]
fn a_slip_in_a_key_is_told_and_a_lost_account_too() {
    let stage = Stage::new("warned", 0, "");
    let made = stage.pool(&["p-1"], json!([{"keyId": "nobody", "weight": 5}]), json!([]));
    let warning = json!([{"field": "allocations[0].keyId", "message": "names no key that is configured"}]);
    assert_eq!(made["warnings"], warning);
    assert_eq!(made["allocations"][0]["policy"], "hard", "the default");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn each_wrong_body_is_refused_and_told_by_field() {
    let stage = Stage::new("wrong", 0, "");
    let with = |field: &str, value: Value| {
        let mut body = json!({"name": "n", "connections": ["p-1"]});
        body[field] = value;
        body
    };
    let allocation = |extra: Value| {
        let mut entry = json!({"keyId": "plain", "weight": 10, "policy": "hard"});
        entry.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        with("allocations", json!([entry]))
    };
    let limit = |extra: Value| {
        let mut entry = json!({"unit": "tokens", "window": "7d", "limit": 5});
        entry.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        with("limits", json!([entry]))
    };
    let twice = json!([{"keyId": "plain"}, {"keyId": "plain"}]);
    let same =
        json!([{"unit": "usd", "window": "24h", "limit": 1}, {"unit": "usd", "window": "24h", "limit": 2}]);
    let cases: Vec<(Value, &str, &str)> = vec![
        (json!({"connections": ["p-1"]}), "name", "is missing"),
        (with("name", json!("")), "name", "1 to 200 characters"),
        (with("group", json!(7)), "group", "1 to 200 characters"),
        (with("id", json!("a b")), "id", "1 to 64 characters"),
        (with("connections", json!([])), "connections", "at least one"),
        (with("connections", json!("p-1")), "connections", "a list"),
        (with("connections", json!(["p-1", "nobody"])), "connections[1]", "no connection that exists"),
        (with("connections", json!(["p-1", "other-1"])), "connections[1]", "another provider"),
        (with("connections", json!(["p-1", "p-1"])), "connections[1]", "twice"),
        (with("allocations", json!([7])), "allocations[0]", "an object of keyId"),
        (with("allocations", twice), "allocations[1].keyId", "an allocation already"),
        (allocation(json!({"keyId": ""})), "allocations[0].keyId", "the name of a key"),
        (allocation(json!({"weight": 101})), "allocations[0].weight", "from 0 to 100"),
        (allocation(json!({"weight": -1})), "allocations[0].weight", "from 0 to 100"),
        (allocation(json!({"policy": "strict"})), "allocations[0].policy", "hard, soft, burst"),
        (allocation(json!({"capValue": 5})), "allocations[0].capUnit", "come together"),
        (allocation(json!({"capUnit": "usd"})), "allocations[0].capUnit", "come together"),
        (allocation(json!({"capValue": 0, "capUnit": "usd"})), "allocations[0].capValue", "above 0"),
        (
            allocation(json!({"capValue": 1, "capUnit": "miles"})),
            "allocations[0].capUnit",
            "requests, tokens",
        ),
        (allocation(json!({"extra": 1})), "allocations[0].extra", "unknown field"),
        (limit(json!({"unit": "miles"})), "limits[0].unit", "requests, tokens, usd, percent"),
        (limit(json!({"unit": null})), "limits[0].unit", "is missing"),
        (limit(json!({"window": "1h"})), "limits[0].window", "5h, 24h, 7d"),
        (limit(json!({"limit": "9"})), "limits[0].limit", "a finite number"),
        (limit(json!({"limit": null})), "limits[0].limit", "a finite number"),
        (with("limits", same), "limits[1]", "in this window already"),
        (with("extra", json!(1)), "extra", "unknown field"),
    ];
    for (body, field, told) in cases {
        let (status, answer) = stage.api("POST", "/api/quota-pools", &body);
        let details = answer["error"]["details"].as_array().unwrap_or_else(|| panic!("{body}: {answer}"));
        let hit = details
            .iter()
            .any(|detail| detail["field"] == field && detail["message"].as_str().unwrap().contains(told));
        assert!(status == 400 && hit, "{body}: no {field}: {told}, but {status} {answer}");
    }
    assert_eq!(
        stage.api("GET", "/api/quota-pools", &Value::Null).1["pools"],
        json!([]),
        "nothing was stored"
    );
}

#[test]
fn a_stranger_an_unknown_id_and_a_wrong_method_are_told_apart() {
    let stage = Stage::new("refused", 0, "");
    for (method, path) in [
        ("GET", "/api/quota-pools"),
        ("POST", "/api/quota-pools"),
        ("GET", "/api/quota-pools/x"),
        ("PUT", "/api/quota-pools/x"),
        ("PATCH", "/api/quota-pools/x"),
        ("DELETE", "/api/quota-pools/x"),
    ] {
        let stranger = crate::stage::told(stage.send(PLAIN, method, path, "{\"name\":\"n\"}"));
        assert_eq!((stranger.status, stranger.code()), (401, "unauthorized"), "{method} {path}");
    }
    for method in ["GET", "PUT", "PATCH", "DELETE"] {
        let body = json!({"name": "n", "connections": ["p-1"]});
        assert_eq!(stage.api(method, "/api/quota-pools/x", &body).0, 404, "{method}");
    }
    assert_eq!(stage.api("DELETE", "/api/quota-pools", &Value::Null).0, 405);
}
