//! `/api/rate-limits` and what it may not be confused with (flow 5, E83-E90): over real HTTP and
//! with the real process.

#[path = "rate_limits/gates.rs"]
mod gates;
#[allow(dead_code, reason = "each test file uses its part")]
mod process;
#[path = "rate_limits/stage.rs"]
mod stage;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;

use serde_json::{Value, json};
use stage::Stage;

const RATES: &str = "/api/rate-limits";

/// Sets or takes back the flag of a connection.
#[track_caller]
fn protect(stage: &Stage, id: &str, enabled: Value) -> Value {
    let body = json!({"connectionId": id, "enabled": enabled});
    let (status, answer) = stage.api("POST", RATES, &body);
    assert_eq!(status, 200, "{body}: {answer}");
    answer
}

/// The flag and whether the connection has a limiter.
fn flags(stage: &Stage, id: &str) -> [bool; 2] {
    let row = stage.limits(id);
    let of_provider = &stage.get(&format!("/api/providers/{id}"))["connection"]["rateLimitProtection"];
    assert_eq!(&row["rateLimitProtection"], of_provider, "one flag, shown twice");
    [&row["rateLimitProtection"], &row["enabled"]].map(|flag| flag.as_bool().unwrap())
}

#[test]
fn e83_e84_e88_the_flag_protects_anybody_and_taking_it_back_leaves_the_net() {
    let stage = Stage::new("flags");
    assert_eq!(flags(&stage, "p-1"), [false, true], "E84");
    assert_eq!(flags(&stage, "o-1"), [false, false], "the net is for API keys");
    let answer = protect(&stage, "o-1", json!(true));
    assert_eq!(answer, json!({"success": true, "connectionId": "o-1", "enabled": true}));
    assert_eq!(flags(&stage, "o-1"), [true, true]);
    let (status, answer) = stage.api("PATCH", "/api/providers/o-1", &json!({"isActive": false}));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(flags(&stage, "o-1"), [true, true], "E83: inactive, too");
    assert_eq!(protect(&stage, "p-1", json!(false))["enabled"], false);
    assert_eq!(flags(&stage, "p-1"), [false, true], "E88");
    assert_eq!(protect(&stage, "o-1", json!(false))["enabled"], false);
    assert_eq!(flags(&stage, "o-1"), [false, false]);
}

#[test]
fn flow_5_4_without_the_net_only_the_flag_protects_at_once() {
    let stage = Stage::new("net");
    let net = |on: Value| {
        let body = json!({"requestQueue": {"autoEnableApiKeyProviders": on}});
        assert_eq!(stage.api("PATCH", "/api/resilience", &body).0, 200);
    };
    net(json!(false));
    assert_eq!(flags(&stage, "p-1"), [false, false]);
    protect(&stage, "p-1", json!(1));
    assert_eq!(flags(&stage, "p-1"), [true, true], "flow 5.5: coerced");
    protect(&stage, "p-1", json!(""));
    assert_eq!(flags(&stage, "p-1"), [false, false]);
    net(Value::Null);
    assert_eq!(flags(&stage, "p-1"), [false, true]);
}

#[test]
fn e89_no_update_of_a_connection_flips_its_flag() {
    let stage = Stage::new("update");
    for (method, given, flag) in [
        ("PUT", json!(true), false),
        ("PATCH", json!(true), false),
        ("PUT", json!(false), true),
        ("PATCH", json!(null), true),
        ("PATCH", json!("no flag at all"), true),
    ] {
        protect(&stage, "p-1", json!(flag));
        let name = format!("{method}-{given}").replace('"', "");
        let mut body = json!({"rateLimitProtection": given, "name": name});
        if method == "PUT" {
            body["provider"] = json!("p");
        }
        let (status, answer) = stage.api(method, "/api/providers/p-1", &body);
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["connection"]["name"], json!(name), "E89");
        assert_eq!(answer["connection"]["rateLimitProtection"], json!(flag), "E89: {method} {given}");
    }
    let (status, answer) = stage.api("PATCH", "/api/providers/p-2", &json!({"rateLimitProtection": true}));
    assert_eq!((status, &answer["connection"]["source"]), (200, &json!("file")), "nothing is stored for it");
}

#[test]
fn e90_an_order_without_or_with_a_wrong_connection_changes_nothing() {
    let stage = Stage::new("wrong");
    for (body, status, code) in [
        (json!({"enabled": true}), 400, "invalid_request"),
        (json!({"connectionId": null, "enabled": true}), 400, "invalid_request"),
        (json!({"connectionId": "", "enabled": true}), 400, "invalid_request"),
        (json!({"connectionId": 7, "enabled": true}), 400, "invalid_request"),
        (json!({"connectionId": "p-1", "enabled": true, "rpm": 5}), 400, "invalid_request"),
        (json!({"connectionId": "nobody", "enabled": true}), 404, "not_found"),
        (json!({}), 400, "invalid_request"),
    ] {
        let (found, answer) = stage.api("POST", RATES, &body);
        assert_eq!((found, &answer["error"]["code"]), (status, &json!(code)), "{body}: {answer}");
    }
    for id in ["p-1", "p-2", "o-1"] {
        assert!(!flags(&stage, id)[0], "{id}");
    }
}

#[test]
fn flow_5_5_the_flag_is_on_disk_before_the_answer_and_goes_with_its_connection() {
    let mut stage = Stage::new("kept");
    let body = json!({"id": "p-new", "provider": "p", "apiKey": "sk-new-0123456789"});
    assert_eq!(stage.api("POST", "/api/providers", &body).0, 201);
    for id in ["o-1", "p-1", "p-new", "demo-a-1"] {
        protect(&stage, id, json!(true));
    }
    stage.crash();
    for id in ["o-1", "p-1", "p-new", "demo-a-1"] {
        assert_eq!(flags(&stage, id), [true, true], "{id} after kill -9");
    }
    assert_eq!(stage.api("PATCH", "/api/providers/p-1", &json!({"name": "n"})).0, 200);
    for id in ["p-1", "p-new"] {
        assert_eq!(stage.api("DELETE", &format!("/api/providers/{id}"), &Value::Null).0, 200);
    }
    assert_eq!(flags(&stage, "p-1"), [true, true], "the file's connection is the same one");
    assert_eq!(stage.dump("protection:"), ["protection:demo-a-1", "protection:o-1", "protection:p-1"]);
}

#[test]
fn flow_5_5_a_flag_that_outlived_its_connection_is_not_another_one_s() {
    let mut stage = Stage::new("again");
    protect(&stage, "p-2", json!(true));
    stage.site.edit(|text| text.replace("id = \"p-2\"", "id = \"p-3\""));
    stage.crash();
    let body = json!({"id": "p-2", "provider": "p", "apiKey": "sk-new-0123456789"});
    assert_eq!(stage.api("POST", "/api/providers", &body).0, 201);
    assert_eq!(flags(&stage, "p-2"), [false, true]);
}

#[test]
fn rate_limits_are_for_operators_only() {
    let stage = Stage::new("auth");
    for (method, body) in [("GET", &b""[..]), ("POST", br#"{"connectionId":"o-1","enabled":true}"#)] {
        let mut wire = support::Wire::open(stage.process.address.parse().unwrap());
        wire.send(&support::request_bytes(method, RATES, "", body));
        let reply = wire.reply();
        assert_eq!((reply.status, reply.code()), (401, "unauthorized".to_owned()), "{method}");
    }
    assert_eq!(flags(&stage, "o-1"), [false, false]);
}
