//! `GET /api/audit` (contract 8): every change that an operator makes leaves one row, and nothing else
//! does; what rows say, who is named, and what of it survives.

#[path = "audit/changes.rs"]
mod changes;
mod process;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{Shutdown, TcpStream};

use changes::CHANGES;
use process::{Process, Site, call, eventually, operate};
use serde_json::{Value, json};
use switchtower::api::{Audit, operations};

fn audit(process: &Process, query: &str) -> Vec<Value> {
    let (status, answer) = operate(&process.address, "GET", &format!("/api/audit{query}"), &Value::Null);
    assert_eq!(status, 200, "{answer}");
    answer["items"].as_array().unwrap().clone()
}

/// The row that the latest change has left.
fn latest(process: &Process) -> Value {
    audit(process, "?limit=1").remove(0)
}

/// What a row says, but for its time.
fn told(row: &Value) -> Value {
    json!([row["who"], row["action"], row["target"], row["before"], row["after"]])
}

fn change(process: &Process, method: &str, path: &str, body: &Value) -> Value {
    let (status, answer) = operate(&process.address, method, path, body);
    assert!(status < 300, "{method} {path}: {status} {answer}");
    latest(process)
}

/// An exchange without the admin token.
fn send(process: &Process, method: &str, path: &str, lines: &str, body: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(&process.address).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: process\r\nconnection: close\r\n{lines}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    process::read(stream)
}

#[test]
fn each_operation_that_changes_something_leaves_one_row_under_its_word() {
    let listed: BTreeSet<_> = CHANGES.iter().map(|(method, path, ..)| (*method, *path)).collect();
    let known = operations().filter(|operation| matches!(operation.audit, Audit::Row(_)));
    let known: BTreeSet<_> = known.map(|operation| (operation.method, operation.path)).collect();
    assert_eq!(listed, known, "a new one is asked here, too");
    let site = Site::new("audit-all", "5s");
    let process = site.start();
    for (number, (method, path, address, body)) in CHANGES.iter().enumerate() {
        let address = if address.is_empty() { path } else { address };
        let cookie = match *path {
            "/api/auth/logout" => "cookie: switchtower_session=x\r\n",
            _ => "",
        };
        let lines = format!("authorization: Bearer process-test\r\n{cookie}");
        let (status, _, answer) = send(&process, &method.to_uppercase(), address, &lines, body);
        assert!(status < 300, "{method} {address}: {status} {answer}");
        let rows = audit(&process, "");
        assert_eq!(rows.len(), number + 1, "{method} {address}: {rows:?}");
        let operation = operations().find(|it| (it.method, it.path) == (*method, *path)).unwrap();
        assert_eq!(Audit::Row(rows[0]["action"].as_str().unwrap().to_owned().leak()), operation.audit);
        assert_eq!(rows[0]["who"], "admin", "{rows:?}");
        let at = rows[0]["at"].as_str().unwrap();
        assert!(at.ends_with('Z') && at.parse::<jiff::Timestamp>().is_ok(), "{at}");
    }
}

#[test]
fn what_is_looked_at_or_refused_leaves_none() {
    let site = Site::new("audit-none", "5s");
    let process = site.start();
    let document = operate(&process.address, "GET", "/api/openapi.json", &Value::Null).1;
    for (path, item) in document["paths"].as_object().unwrap() {
        let address = path.replace("{kind}", "provider").replace("{id}", "demo-b");
        // What has no end is closed when somebody leaves.
        if path == "/api/events" {
            drop(process::open(&process.address, "GET", path, ""));
        } else if item["get"].is_object() {
            call(&process.address, "GET", &address, "");
        }
    }
    let bearer = "authorization: Bearer process-test\r\n";
    for (wanted, method, path, lines, body) in [
        (200, "POST", "/api/route/explain", bearer, r#"{"model":"demo"}"#),
        (200, "POST", "/v1/chat/completions", "", r#"{"model":"demo-a/steady"}"#),
        (400, "PATCH", "/api/settings", bearer, r#"{"noSuchThing":1}"#),
        (401, "PATCH", "/api/settings", "", r#"{"sessionAffinityTtlMs":61000}"#),
        (401, "POST", "/api/auth/login", "", r#"{"token":"wrong"}"#),
        (404, "DELETE", "/api/keys/nobody", bearer, ""),
        (405, "DELETE", "/api/settings", bearer, ""),
        (
            409,
            "POST",
            "/api/provider-nodes",
            bearer,
            r#"{"id":"demo-a","auth":"local","format":"openai","baseUrl":"http://127.0.0.1:9"}"#,
        ),
        (
            413,
            "PATCH",
            "/api/settings",
            "authorization: Bearer process-test\r\nx-long: 1\r\n",
            &"x".repeat(300_000),
        ),
    ] {
        let (status, _, answer) = send(&process, method, path, lines, body);
        assert_eq!(status, wanted, "{method} {path}: {answer}");
    }
    assert_eq!(audit(&process, ""), Vec::<Value>::new());
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn a_row_says_what_changed_and_nothing_else() {
    let site = Site::new("audit-says", "5s");
    let process = site.start();
    let told = |method: &str, path: &str, body: Value| told(&change(&process, method, path, &body));
    let row = told(
        "POST",
        "/api/providers",
        json!({"provider": "demo-a", "id": "made", "apiKey": "sk-0123456789abcdef", "name": "M", "priority": 3}),
    );
    assert_eq!([&row[1], &row[2], &row[3]], [&json!("connection.create"), &json!("made"), &Value::Null]);
    assert_eq!([&row[4]["provider"], &row[4]["priority"]], [&json!("demo-a"), &json!(3)]);
    assert!(row[4]["status"].is_null() && row[4]["createdAt"].is_null(), "{row}");
    assert_eq!(
        told("PATCH", "/api/providers/made", json!({"priority": 4, "name": "M"})),
        json!(["admin", "connection.update", "made", {"priority": 3}, {"priority": 4}])
    );
    assert_eq!(
        told("PATCH", "/api/providers/made", json!({"priority": 4})),
        json!(["admin", "connection.update", "made", {}, {}])
    );
    assert_eq!(
        told("POST", "/api/rate-limits", json!({"connectionId": "made", "enabled": true})),
        json!(["admin", "connection.protect", "made", {"rateLimitProtection": false}, {"rateLimitProtection": true}])
    );
    let row = told("DELETE", "/api/providers/made", Value::Null);
    assert_eq!([&row[1], &row[2], &row[4]], [&json!("connection.delete"), &json!("made"), &Value::Null]);
    assert_eq!(row[3]["priority"], 4);
    let two = json!({"provider": "demo-a", "entries": [{"id": "m1", "apiKey": "sk-m1-0123456789abcdef"}, {"id": "m2", "apiKey": 7}]});
    assert_eq!(
        told("POST", "/api/providers/bulk", two),
        json!(["admin", "connection.create", null, null, {"m1": "demo-a"}])
    );
    assert_eq!(
        told("PATCH", "/api/providers", json!({"ids": ["m1", "demo-a-1", "nobody"], "isActive": false})),
        json!(["admin", "connection.switch", null,
            {"m1": {"isActive": true}, "demo-a-1": {"isActive": true}},
            {"m1": {"isActive": false}, "demo-a-1": {"isActive": false}}])
    );
    told("PATCH", "/api/providers", json!({"ids": ["demo-a-1"], "isActive": true}));
    // The file's is in force again.
    told("PATCH", "/api/combos/demo", json!({"strategy": "random"}));
    let row = told("DELETE", "/api/combos/demo", Value::Null);
    assert_eq!(row[3]["strategy"], "random");
    assert!(row[4]["strategy"].is_string() && row[4].as_object().unwrap().len() == 1, "{row}");
    let threshold = "resilience.provider_breaker.apikey.failure_threshold";
    let row =
        told("PATCH", "/api/resilience", json!({"providerBreaker": {"apikey": {"failureThreshold": 9}}}));
    assert_eq!(
        [&row[1], &row[2], &row[4]],
        [&json!("resilience.update"), &Value::Null, &json!({threshold: 9})]
    );
    assert!(row[3][threshold].is_u64() && row[3].as_object().unwrap().len() == 1, "{row}");
    assert_eq!(
        told(
            "POST",
            "/api/models/alias",
            json!({"aliases": {"fast": "demo-a/steady", "slow": "demo-b/steady"}})
        ),
        json!(["admin", "alias.set", null, {}, {"fast": "demo-a/steady", "slow": "demo-b/steady"}])
    );
    assert_eq!(
        told("DELETE", "/api/models/alias", json!({"from": "slow"})),
        json!(["admin", "alias.delete", "slow", {"slow": "demo-b/steady"}, {}])
    );
    assert_eq!(
        told("POST", "/api/actors/connection/demo-a-1/messages", json!({"message": "cool", "for": "1h"})),
        json!(["admin", "actor.message", "connection/demo-a-1", {"state": "ready"}, {"message": "cool", "forMs": 3_600_000, "state": "cooling"}])
    );
    assert_eq!(
        told("POST", "/api/resilience/cooldowns", json!({"connectionIds": ["demo-a-1"]})),
        json!(["admin", "cooldown.clear", "demo-a-1", null, {"cleared": 1, "unchanged": 0, "skippedTerminal": 0, "lockoutsCleared": 0}])
    );
    told("POST", "/api/actors/provider/demo-b/messages", json!({"message": "trip"}));
    assert_eq!(
        told("POST", "/api/resilience/reset", json!({})),
        json!(["admin", "breaker.reset", null, {"demo-b": "open"}, {"demo-b": "closed"}])
    );
    assert_eq!(
        told("POST", "/api/providers/demo-a-1/test", json!({"model": "steady"})),
        json!(["admin", "connection.test", "demo-a-1", {"state": "ready"}, {"state": "ready", "verdict": "success"}])
    );
}

#[test]
fn no_row_holds_a_secret_and_one_that_changes_under_its_mask_is_named() {
    let canary = |name: &str| format!("canary-{name}-0123456789");
    let site = Site::new("audit-secrets", "5s");
    let process = site.start();
    let told = |method: &str, path: &str, body: Value| told(&change(&process, method, path, &body));
    let row = told(
        "POST",
        "/api/providers",
        json!({"provider": "demo-a", "id": "made", "apiKey": canary("one"), "proxy": "http://user:canary-proxy-1@127.0.0.1:9"}),
    );
    assert_eq!(
        [&row[4]["apiKey"], &row[4]["proxy"]],
        [&json!("can…6789"), &json!("http://127.0.0.1:9")],
        "{row}"
    );
    let masked = json!({"apiKey": "can…6789"});
    assert_eq!(
        told("PATCH", "/api/providers/made", json!({"apiKey": canary("two")})),
        json!(["admin", "connection.update", "made", masked, masked])
    );
    let row =
        told("PATCH", "/api/providers/made", json!({"proxy": "http://user:canary-proxy-2@127.0.0.1:9"}));
    assert_eq!([&row[3], &row[4]], [&json!({"proxy": "http://127.0.0.1:9"}); 2]);
    let node = json!({
        "id": "box", "auth": "oauth", "format": "openai", "baseUrl": "http://127.0.0.1:9", "headers": {"x-team": canary("header")},
        "oauth": {"tokenUrl": "http://127.0.0.1:9/token", "clientId": "c", "clientSecret": canary("client")},
    });
    told("POST", "/api/provider-nodes", node);
    let row = told("PATCH", "/api/provider-nodes/box", json!({"headers": {"x-team": canary("other")}}));
    assert_eq!([&row[3], &row[4]], [&json!({"headers": {"x-team": "can…6789"}}); 2]);
    let secret = json!({"oauth": {"clientSecret": canary("third")}});
    assert_eq!(told("PATCH", "/api/provider-nodes/box", secret)[4]["oauth"]["clientSecret"], "can…6789");
    let (_, made) =
        operate(&process.address, "POST", "/api/keys", &json!({"name": "boss", "scopes": ["manage"]}));
    let key = made["key"].as_str().unwrap();
    let (_, head, _) = send(&process, "POST", "/api/auth/login", "", &json!({ "token": key }).to_string());
    let session = head.split("switchtower_session=").nth(1).unwrap().split(';').next().unwrap().to_owned();
    let rows = json!(audit(&process, "")).to_string();
    process.end();
    let dump = site.command().args(["store", "dump"]).output().unwrap();
    let dump = String::from_utf8(dump.stdout).unwrap();
    let of_audit: String =
        dump.lines().filter(|line| line.contains("\"audit_log\"")).fold(String::new(), |mut all, line| {
            let _ = writeln!(all, "{line}");
            all
        });
    assert_eq!(of_audit.lines().count(), 8, "{dump}");
    for text in [&rows, &of_audit, &site.log()] {
        for secret in ["canary", &key[10..30], &session[..20], "process-test"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

#[test]
fn a_key_is_named_and_a_session_is_its_owner() {
    let site = Site::new("audit-who", "5s");
    let process = site.start();
    let (_, made) =
        operate(&process.address, "POST", "/api/keys", &json!({"name": "ci runner/1", "scopes": ["manage"]}));
    let key = made["key"].as_str().unwrap();
    let patch = |lines: &str, ttl: u32| {
        let body = json!({ "sessionAffinityTtlMs": ttl }).to_string();
        assert_eq!(send(&process, "PATCH", "/api/settings", lines, &body).0, 200);
    };
    patch(&format!("authorization: Bearer {key}\r\n"), 61_000);
    for token in [key, "process-test"] {
        let (_, head, _) =
            send(&process, "POST", "/api/auth/login", "", &json!({ "token": token }).to_string());
        let cookie = head.split("set-cookie: ").nth(1).unwrap().split(';').next().unwrap().to_owned();
        patch(&format!("cookie: {cookie}\r\n"), 62_000);
        assert_eq!(send(&process, "POST", "/api/auth/logout", &format!("cookie: {cookie}\r\n"), "").0, 204);
    }
    let rows = audit(&process, "");
    let told: Vec<_> =
        rows.iter().rev().map(|row| [&row["action"], &row["who"]].map(|it| it.as_str().unwrap())).collect();
    let (by_key, by_admin) = ("key ci runner/1", "admin");
    assert_eq!(
        told,
        [
            ["key.create", by_admin],
            ["settings.update", by_key],
            ["session.login", by_key],
            ["settings.update", by_key],
            ["session.logout", by_key],
            ["session.login", by_admin],
            ["settings.update", by_admin],
            ["session.logout", by_admin],
        ]
    );
}

#[test]
fn rows_outlive_the_process_and_what_was_not_written_is_read_all_the_same() {
    let site = Site::with("audit-kept", "");
    site.edit(|text| text.replace("flush_interval = \"10ms\"", "flush_interval = \"1m\""));
    let mut process = site.start();
    let set = |process: &Process, ttl: u32| {
        change(process, "PATCH", "/api/settings", &json!({ "sessionAffinityTtlMs": ttl }))
    };
    let values = |process: &Process, query: &str| {
        let rows = audit(process, query);
        rows.iter()
            .map(|row| row["after"]["settings.session_affinity_ttl_ms"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    for ttl in [61_000, 62_000, 63_000] {
        set(&process, ttl);
    }
    assert_eq!(values(&process, ""), [63_000, 62_000, 61_000], "nothing is on disk yet");
    process.end();
    process = site.start();
    set(&process, 64_000);
    assert_eq!(values(&process, ""), [64_000, 63_000, 62_000, 61_000]);
    assert_eq!(values(&process, "?limit=2"), [64_000, 63_000]);
    for query in ["?limit=0", "?limit=1001", "?limit=x", "?limit=", "?who=admin"] {
        let (status, answer) = operate(&process.address, "GET", &format!("/api/audit{query}"), &Value::Null);
        assert_eq!((status, &answer["error"]["code"]), (400, &json!("invalid_request")), "{query}: {answer}");
    }
    process.end();
    site.edit(|text| text.replace("flush_interval = \"1m\"", "flush_interval = \"10ms\""));
    process = site.start();
    set(&process, 65_000);
    let health = || operate(&process.address, "GET", "/api/monitoring/health", &Value::Null).1;
    assert_eq!(health()["store"]["failing"], false);
    process.end();
    let verify = site.command().args(["store", "verify"]).output().unwrap();
    let verify = String::from_utf8(verify.stdout).unwrap();
    let line = verify.lines().find(|line| line.starts_with("audit_log")).unwrap();
    assert!(line.ends_with(" 5 good"), "{verify}");
    assert!(site.command().args(["store", "compact"]).status().unwrap().success());
    let process = site.start();
    assert_eq!(values(&process, ""), [65_000, 64_000, 63_000, 62_000, 61_000]);
}

#[test]
fn a_kill_costs_no_row_that_was_on_disk() {
    let site = Site::new("audit-kill", "5s");
    let mut process = site.start();
    change(&process, "PATCH", "/api/settings", &json!({"sessionAffinityTtlMs": 61_000}));
    // The next interval has written it when an order that is flushed was answered.
    change(&process, "POST", "/api/resilience/reset", &json!({}));
    site.crash(&mut process);
    let rows = audit(&process, "");
    assert_eq!(rows.last().unwrap()["action"], "settings.update", "{rows:?}");
}

#[test]
fn who_leaves_in_the_middle_of_a_change_leaves_its_row() {
    let site = Site::with("audit-left", "log = true\n");
    let process = site.start();
    let node = operate(&process.address, "GET", "/api/provider-nodes/demo-a", &Value::Null).1;
    let upstream =
        node["baseUrl"].as_str().unwrap().strip_prefix("http://").unwrap().split('/').next().unwrap();
    let body = r#"{"model":"slow-900ms"}"#;
    let stream = process::open(&process.address, "POST", "/api/providers/demo-a-1/test", body);
    eventually("the upstream is asked", || call(upstream, "GET", "/demo/log", "").2.contains("slow-900ms"));
    assert!(audit(&process, "").is_empty(), "it is not done yet");
    stream.shutdown(Shutdown::Both).unwrap();
    eventually("its row", || !audit(&process, "").is_empty());
    assert_eq!(latest(&process)["after"], json!({"state": "ready", "verdict": "success"}));
}
