//! Bodies and answers: what is accepted, what is told about the rest, how secrets are shown.

use serde_json::{Value, json};

use crate::stage::{CLIENT_SECRET, HEADER, Stage};

#[test]
fn all_of_it_is_shown_and_can_be_sent_back() {
    let stage = Stage::new("shown");
    let body = json!({
        "id": "big", "auth": "oauth", "format": ["openai", "responses"], "baseUrl": "https://api.example.com/v1",
        "perModelQuota": true, "passthroughModels": true, "headers": {"x-org": HEADER}, "authHeader": "x-api-key",
        "oauth": {"tokenUrl": "https://auth.example.com/token", "clientId": "me", "clientSecret": CLIENT_SECRET, "scopes": ["a"]},
        "timeouts": {"connect": "5s", "firstByte": "1m"},
        "models": [{"id": "m", "contextWindow": 1000, "inputPrice": 1.25, "outputPrice": 10.0, "timeouts": {"total": "0s"}}],
    });
    let made = stage.make(body.clone());
    let mut expected = made.clone();
    expected.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    expected["headers"] = json!({"x-org": "org…ABCD"});
    expected["oauth"]["clientSecret"] = "cs-…WXYZ".into();
    let mut limits = made["timeouts"].clone();
    limits.as_object_mut().unwrap().retain(|_, limit| !limit.is_null());
    assert_eq!(limits, body["timeouts"], "the others are null");
    expected["timeouts"] = made["timeouts"].clone();
    assert_eq!(made, expected, "all of it");
    for method in ["PUT", "PATCH"] {
        let (status, answer) = stage.api(method, "/api/provider-nodes/big", &made);
        assert_eq!(status, 200, "{answer}");
        for (field, value) in made.as_object().unwrap() {
            assert!(field == "updatedAt" || answer[field] == *value, "{method} {field}: {answer}");
        }
    }
    let plain = stage.make(json!({"id": "plain", "format": "gemini", "baseUrl": "http://h/"}));
    let defaults = json!({"auth": "apikey", "format": ["gemini"], "perModelQuota": false, "passthroughModels": false,
        "headers": {}, "authHeader": null, "oauth": null, "timeouts": null, "models": null});
    for (field, value) in defaults.as_object().unwrap() {
        assert_eq!(plain[field], *value, "{field}");
    }
    let (_, list) = stage.api("GET", "/api/provider-nodes", &Value::Null);
    let ids: Vec<&str> =
        list["nodes"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(
        ids,
        ["big", "claude-a", "claude-b", "demo-a", "demo-b", "gemini-a", "p", "plain", "responses-a"]
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn each_wrong_body_is_refused_and_told_by_field() {
    let stage = Stage::new("wrong");
    let with = |extra: Value| {
        let mut body = json!({"id": "n", "format": "openai", "baseUrl": "https://h"});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        body
    };
    let cases = [
        (json!({"format": "openai", "baseUrl": "https://h"}), "id", "is missing"),
        (with(json!({"id": "a b"})), "id", "1 to 64 characters"),
        (with(json!({"id": "combo"})), "id", "begins other names"),
        (with(json!({"id": "auto"})), "id", "begins other names"),
        (json!({"id": "n", "format": "openai"}), "baseUrl", "is missing"),
        (json!({"id": "n", "baseUrl": "https://h"}), "format", "is missing"),
        (with(json!({"format": "soap"})), "format", "openai | anthropic"),
        (with(json!({"format": []})), "format", "empty list"),
        (with(json!({"baseUrl": "ftp://h"})), "baseUrl", "http:// or https://"),
        (with(json!({"baseUrl": "https://user:canary@h"})), "baseUrl", "without credentials"),
        (with(json!({"auth": "none"})), "auth", "oauth | apikey | local"),
        (with(json!({"authHeader": "cookie"})), "authHeader", "x-api-key"),
        (with(json!({"perModelQuota": "no"})), "perModelQuota", "true or false"),
        (with(json!({"prefix": "x"})), "prefix", "unknown field, accepted: id, auth, format, baseUrl"),
        (with(json!({"base_url": "x"})), "base_url", "unknown field"),
        (with(json!({"headers": "x"})), "headers", "an object of texts"),
        (with(json!({"headers": {"authorization": "canary"}})), "headers", "carries credentials"),
        (with(json!({"headers": {"host": "canary"}})), "headers", "belongs to one hop"),
        (with(json!({"headers": {"x": "cana\nry"}})), "headers", "control"),
        (with(json!({"headers": {"x": 1}})), "headers", "holds a whole number"),
        (with(json!({"headers": {"x": "org…ABCD"}})), "headers", "masked"),
        (with(json!({"headers": {"x": "a", "X": "b"}})), "headers", "twice"),
        (
            with(json!({"oauth": {"tokenUrl": "https://t", "clientId": "c"}})),
            "oauth.tokenUrl",
            "only for auth",
        ),
        (
            with(json!({"auth": "oauth", "oauth": {"tokenUrl": "https://t"}})),
            "oauth.clientId",
            "tokenUrl and clientId together",
        ),
        (with(json!({"auth": "oauth", "oauth": {"clientSecret": "canary"}})), "oauth.tokenUrl", "is missing"),
        (with(json!({"oauth": {"clientSecret": "env:HOME"}})), "oauth.clientSecret", "only config.toml"),
        (with(json!({"oauth": 1})), "oauth", "an object"),
        (with(json!({"models": []})), "models[]", "empty list"),
        (with(json!({"models": {}})), "models", "a list of objects"),
        (with(json!({"models": [{}]})), "models[0].id", "is missing"),
        (with(json!({"models": ["m", {"id": "m"}]})), "models[].id", "listed twice"),
        (with(json!({"models": [{"id": "m", "inputPrice": -1}]})), "models[0].inputPrice", "from 0"),
        (
            with(json!({"models": [{"id": "m", "timeouts": {"firstByte": "soon"}}]})),
            "models[0].timeouts.firstByte",
            "duration",
        ),
        (with(json!({"timeouts": {"connect": 5}})), "timeouts.connect", "duration"),
    ];
    for (body, field, told) in cases {
        let (status, answer) = stage.api("POST", "/api/provider-nodes", &body);
        let details = answer["error"]["details"].as_array().unwrap_or_else(|| panic!("{body}: {answer}"));
        let hit = details
            .iter()
            .any(|detail| detail["field"] == field && detail["message"].as_str().unwrap().contains(told));
        assert!(status == 400 && hit, "{body}: no {field}: {told}, but {status} {answer}");
        assert!(!answer.to_string().contains("canary"), "{answer}");
    }
    let (_, answer) = stage.api("POST", "/api/provider-nodes", &json!({"id": "", "baseUrl": 1, "x": 1}));
    assert_eq!(
        answer["error"]["details"].as_array().unwrap().len(),
        4,
        "all that is wrong at once: {answer}"
    );
    let (status, answer) = stage.api("PATCH", "/api/provider-nodes/p", &json!({"id": "q"}));
    assert_eq!((status, &answer["error"]["details"][0]["field"]), (400, &json!("id")), "{answer}");
    let (_, list) = stage.api("GET", "/api/provider-nodes", &Value::Null);
    assert_eq!(list["nodes"].as_array().unwrap().len(), 7, "nothing was stored");
    assert_eq!(stage.shown("p")["source"], "file");
}
