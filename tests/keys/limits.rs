//! What keys are held to: models, combos, routes, requests, sessions, money (routing 10.5, 13.3).

use serde_json::{Value, json};

use crate::process::eventually;
use crate::stage::{FILE_KEY, Seen, Stage};
use crate::support::{Answer, Upstream};

const STEADY: &str = "demo-a/steady";

fn told(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

fn wait(seen: &Seen) -> u64 {
    seen.header("retry-after").unwrap_or_else(|| panic!("{seen:?}")).parse().unwrap()
}

#[test]
fn a_restricted_key_asks_for_what_it_names_or_what_that_leads_to_and_sees_no_more() {
    let stage = Stage::new("reach");
    let (_, key) =
        stage.make(json!({"name": "k", "allowedModels": ["demo-b/*"], "allowedCombos": ["demo-fast"]}));
    for (model, expected) in [
        ("demo-b/steady", told(200, "")),
        (STEADY, told(403, "model_not_allowed")),
        ("demo-fast", told(200, "")),
        ("combo/demo-fast", told(200, "")),
        // One of its targets is none of the key's.
        ("demo-down", told(403, "combo_not_allowed")),
        ("nobody/knows", told(403, "model_not_allowed")),
    ] {
        assert_eq!(stage.ask(&key, model).told(), expected, "{model}");
    }
    let list = |key: &str| {
        let seen = stage.call(key, ("GET", "/v1/models"), "", "").json();
        let ids =
            seen["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(list(&key), ["demo-fast"]);
    assert!(list(FILE_KEY).len() > 4, "others see all");
    assert_eq!(stage.call(&key, ("GET", "/v1/models/demo-down"), "", "").status, 404);
    stage.patch("k", json!({"allowedCombos": ["demo-*"], "allowedModels": null}));
    assert_eq!(stage.ask(&key, "demo-down").status, 200, "at once");
    assert_eq!(stage.ask(&key, "demo-b/steady").told(), told(403, "model_not_allowed"));
    stage.patch("k", json!({"allowedModels": ["demo-a/*", "demo-b/*"], "allowedCombos": []}));
    assert_eq!(stage.ask(&key, "demo-down").status, 200, "each of its targets is allowed");
    stage.patch("k", json!({"modelAccessMode": "restricted", "allowedModels": []}));
    assert_eq!(stage.ask(&key, STEADY).told(), told(403, "model_not_allowed"), "nothing is listed");
    stage.patch("k", json!({"modelAccessMode": "all"}));
    assert_eq!(stage.ask(&key, "demo-b/steady").status, 200, "the lists rest");
}

#[test]
fn a_denial_speaks_the_dialect_of_the_route_and_routes_can_be_denied() {
    let stage = Stage::new("routes");
    let (_, key) = stage
        .make(json!({"name": "k", "allowedEndpoints": ["/v1/messages"], "allowedModels": ["claude-a/*"]}));
    let body = |model: &str| json!({"model": model, "max_tokens": 9, "messages": []}).to_string();
    let messages = |model: &str| stage.call(&key, ("POST", "/v1/messages"), "", &body(model));
    assert_eq!(messages("claude-a/steady").status, 200);
    let denied = messages("claude-b/steady").json();
    assert_eq!(
        [&denied["type"], &denied["error"]["type"]],
        [&json!("error"), &json!("permission_error")],
        "{denied}"
    );
    assert_eq!(denied["error"]["code"], "model_not_allowed");
    assert_eq!(
        stage.call(&key, ("POST", "/api/v1/messages"), "", &body("claude-a/steady")).status,
        200,
        "the same route"
    );
    for (method, path) in
        [("POST", "/v1/chat/completions"), ("POST", "/v1/messages/count_tokens"), ("GET", "/v1/models")]
    {
        let seen = stage.call(&key, (method, path), "", &body("claude-a/steady"));
        assert_eq!(seen.told(), told(403, "endpoint_not_allowed"), "{path}");
    }
}

#[test]
fn a_rate_limit_is_429_with_the_true_wait_and_cools_nobody() {
    let stage = Stage::new("rate");
    let (_, key) = stage.make(
        json!({"name": "k", "rateLimits": [{"limit": 2, "window": "1h"}, {"limit": 9, "window": "1d"}]}),
    );
    let broken = stage.call(&key, ("POST", "/v1/chat/completions"), "", "{");
    assert_eq!(broken.told(), told(400, "invalid_json"), "it is not counted");
    assert_eq!([stage.ask(&key, STEADY).status, stage.ask(&key, STEADY).status], [200, 200]);
    let limited = stage.ask(&key, STEADY);
    assert_eq!(limited.told(), told(429, "key_rate_limited"));
    assert!((3_580..=3_600).contains(&wait(&limited)), "{limited:?}");
    assert_eq!(limited.json()["error"]["type"], "rate_limit_error");
    assert_eq!(stage.ask(FILE_KEY, STEADY).status, 200, "another key");
    let rests = stage.get("/api/resilience/cooldowns");
    assert_eq!(
        rests["connections"].as_array().unwrap().iter().filter(|row| row["status"] != "ready").count(),
        0,
        "{rests}"
    );
    stage.patch("k", json!({"rateLimits": [{"limit": 3, "window": "1h"}]}));
    assert_eq!(stage.ask(&key, STEADY).status, 200, "at once, with what was counted");
    assert_eq!(stage.ask(&key, STEADY).told(), told(429, "key_rate_limited"));
    stage.patch("k", json!({"rateLimits": null}));
    assert_eq!(stage.ask(&key, STEADY).status, 200);
}

#[test]
fn workers_count_together() {
    let stage = Stage::new("together");
    let (_, key) = stage.make(json!({"name": "k", "rateLimits": [{"limit": 10, "window": "1h"}]}));
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let asks: Vec<_> = (0..30).map(|_| scope.spawn(|| stage.ask(&key, STEADY).status)).collect();
        asks.into_iter().map(|ask| ask.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 10, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 20, "{statuses:?}");
}

#[test]
fn a_key_has_so_many_sessions_at_once() {
    let stage = Stage::new("sessions");
    let (_, key) = stage.make(json!({"name": "k", "maxSessions": 2}));
    let ask = |extra: &str| {
        let body = json!({"model": STEADY}).to_string();
        stage.call(&key, ("POST", "/v1/chat/completions"), extra, &body)
    };
    assert_eq!(ask("x-session-id: one\r\n").status, 200);
    assert_eq!(ask("x-codex-session-id: two\r\n").status, 200);
    // An unusable value falls to the next header (decision 27).
    assert_eq!(ask("x-session-id:  \r\nx-omniroute-session: one\r\n").status, 200, "one of them");
    for third in ["x-session-id: three\r\n", ""] {
        let denied = ask(third);
        assert_eq!(denied.told(), told(429, "key_session_limit"));
        assert!((890..=900).contains(&wait(&denied)), "{denied:?}");
    }
}

/// Rules 6.2, decision 27: the body names a session as well, where no header does.
#[test]
fn a_keys_session_may_be_named_by_the_body() {
    let stage = Stage::new("named");
    let (_, key) = stage.make(json!({"name": "k", "maxSessions": 2}));
    let ask = |extra: &str, mut body: Value| {
        body["model"] = STEADY.into();
        stage.call(&key, ("POST", "/v1/chat/completions"), extra, &body.to_string())
    };
    let one = json!({"metadata": {"session_id": "one"}});
    assert_eq!(ask("", one.clone()).status, 200);
    assert_eq!(ask("", json!({"conversation_id": "two"})).status, 200);
    assert_eq!(ask("", json!({"metadata": {"sessionId": "one"}})).status, 200, "one of them");
    for third in [json!({"prompt_cache_key": "three"}), json!({"session_id": "two"}), json!({})] {
        assert_eq!(ask("", third).told(), told(429, "key_session_limit"));
    }
    assert_eq!(ask("x-session-id: three\r\n", one).told(), told(429, "key_session_limit"), "headers first");
}

/// A vendor whose answers cost two dollars each.
fn priced(vendor: &Upstream) -> String {
    let answer = r#"{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":1000000,"completion_tokens":1}}"#;
    vendor.answers(Answer::json(200, answer));
    format!(
        "[[providers]]\nid = \"p\"\nformat = \"openai\"\nbase_url = \"http://{}\"\n\
         models = [{{ id = \"m\", input_price = 2.0 }}, {{ id = \"free\" }}]\n\
         [[connections]]\nid = \"p-1\"\nprovider = \"p\"\ncredential = \"sk-p\"\n",
        vendor.address
    )
}

/// Seconds to the next midnight, UTC.
fn to_midnight() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    86_400 - now % 86_400
}

fn counted(stage: &Stage, key: &str) -> u64 {
    let history = stage.get("/api/usage/history?groupBy=key");
    let rows = history["items"].as_array().unwrap();
    rows.iter().find(|row| row["key"] == key).map_or(0, |row| row["requests"].as_u64().unwrap())
}

/// A reset is answered when everything that waits is on disk.
fn flush(stage: &Stage) {
    assert_eq!(stage.api("POST", "/api/resilience/reset", &json!({})).0, 200);
}

#[test]
fn a_budget_holds_over_a_kill_9_and_tells_the_end_of_its_window() {
    let vendor = Upstream::start("vendor");
    let mut stage = Stage::with("budget", &priced(&vendor));
    let (_, key) = stage.make(json!({"name": "k", "budgets": [{"limitUsd": 3, "window": "day"}]}));
    assert_eq!(stage.ask(&key, "p/free").status, 200, "without a price it costs nothing");
    for asked in 2..=3 {
        assert_eq!(stage.ask(&key, "p/m").status, 200);
        eventually("it is counted", || counted(&stage, "k") == asked);
    }
    let spent = stage.ask(&key, "p/m");
    assert_eq!(spent.told(), told(429, "key_budget_spent"));
    assert!(wait(&spent).abs_diff(to_midnight()) <= 5, "{spent:?}");
    assert_eq!(vendor.asked(), 3, "nobody was asked");
    flush(&stage);
    stage.crash();
    assert_eq!(stage.ask(&key, "p/m").told(), told(429, "key_budget_spent"), "as before");
    stage.patch("k", json!({"budgets": [{"limitUsd": 4.5, "window": "month"}]}));
    assert_eq!(stage.ask(&key, "p/m").status, 200);
    eventually("it is spent", || stage.ask(&key, "p/free").told() == told(429, "key_budget_spent"));
}

#[test]
fn a_budget_that_comes_later_finds_what_was_spent_before() {
    let vendor = Upstream::start("vendor");
    let mut stage = Stage::with("budget-late", &priced(&vendor));
    let (_, key) = stage.make(json!({"name": "k"}));
    assert_eq!(stage.ask(&key, "p/m").status, 200);
    eventually("it is counted", || counted(&stage, "k") == 1);
    flush(&stage);
    stage.crash();
    assert_eq!(stage.ask(&key, "p/m").status, 200);
    eventually("it is counted", || counted(&stage, "k") == 2);
    stage.patch("k", json!({"budgets": [{"limitUsd": 4, "window": "week"}]}));
    assert_eq!(stage.ask(&key, "p/m").told(), told(429, "key_budget_spent"), "four of four");
    stage.patch("k", json!({"budgets": [{"limitUsd": 4.000_001, "window": "week"}]}));
    assert_eq!(stage.ask(&key, "p/m").status, 200);
}

#[test]
fn preferred_connections_are_asked_first() {
    let stage = Stage::new("preferred");
    let (_, key) = stage.make(json!({"name": "k", "preferredConnections": ["demo-a-2"]}));
    let by = |key: &str, model: &str| {
        let seen = stage.ask(key, model);
        assert_eq!(seen.status, 200);
        seen.header("x-omniroute-selected-connection-id").unwrap().to_owned()
    };
    assert_eq!([by(FILE_KEY, STEADY), by(&key, STEADY)], ["demo-a-1", "demo-a-2"]);
    assert_eq!(by(&key, "demo-b/steady"), "demo-b-1", "the others stay");
    stage.patch("k", json!({"allowedConnections": ["demo-a-1", "demo-a-2"]}));
    assert_eq!(by(&key, STEADY), "demo-a-2");
    assert_eq!(stage.ask(&key, "demo-b/steady").told(), told(403, "permission_denied"));
}

#[test]
fn a_key_of_the_file_is_held_to_the_same_and_can_go_without_a_log() {
    let lines = "allowed_models = [\"demo-a/*\"]\nrate_limits = [{ limit = 1, window = \"1d\" }]\nno_log = true\n\
                 [[keys]]\nname = \"told\"\nkey = \"sk-told-0123456789\"\n[log]\naccess = true\n";
    let stage = Stage::with("file", lines);
    assert_eq!(stage.ask(FILE_KEY, "demo-b/steady").told(), told(403, "model_not_allowed"));
    assert_eq!(stage.ask(FILE_KEY, STEADY).status, 200);
    assert_eq!(stage.ask(FILE_KEY, STEADY).told(), told(429, "key_rate_limited"));
    assert_eq!(stage.ask("sk-told-0123456789", STEADY).status, 200);
    eventually("the other key's line", || stage.site.log().contains(" request"));
    let lines = stage.site.log().lines().filter(|line| line.contains("/v1/chat/completions")).count();
    assert_eq!(lines, 1, "{}", stage.site.log());
    let shown = stage.get("/api/keys/laptop");
    assert_eq!([&shown["source"], &shown["modelAccessMode"]], [&json!("file"), &json!("restricted")]);
    assert_eq!(shown["rateLimits"], json!([{"limit": 1, "window": "1d"}]));
    assert_eq!(stage.api("DELETE", "/api/keys/laptop", &Value::Null).0, 409);
}

/// Contract 4: it is answered as the request would be.
#[test]
fn an_explanation_for_a_key_is_refused_as_its_request_is() {
    let stage = Stage::new("explained");
    let (_, key) =
        stage.make(json!({"name": "k", "allowedModels": ["demo-b/*"], "allowedCombos": ["demo-fast"]}));
    let explain = |model: &str| {
        let body = json!({"model": model, "key": "k"});
        let (status, told) = stage.api("POST", "/api/route/explain", &body);
        (status, told["error"]["code"].as_str().unwrap_or_default().to_owned(), told)
    };
    let both = |model: &str, expected: (u16, String)| {
        let (status, code, told) = explain(model);
        assert_eq!((status, code), expected, "{model}: {told}");
        let asked = stage.ask(&key, model);
        assert_eq!(asked.told(), expected, "{model}: {asked:?}");
        if status != 200 {
            assert_eq!(told["error"]["message"], asked.json()["error"]["message"], "{model}");
        }
    };
    both("demo-b/steady", told(200, ""));
    both(STEADY, told(403, "model_not_allowed"));
    both("demo-fast", told(200, ""));
    both("demo-down", told(403, "combo_not_allowed"));
    // A day that is not today, UTC.
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let day = (seconds / 86_400 + 4 + 3) % 7;
    stage.patch("k", json!({"accessSchedule": {"from": "00:00", "until": "00:00", "days": [day]}}));
    both("demo-b/steady", told(403, "key_outside_schedule"));
    both(STEADY, told(403, "key_outside_schedule"));
    stage.patch("k", json!({"accessSchedule": null, "isActive": false}));
    both("demo-b/steady", told(401, "invalid_api_key"));
}

/// Contract 4: what it has used up counts, too, and asking does not use it up.
#[test]
fn an_explanation_says_what_a_key_has_used_up_and_where_it_may_not_call() {
    let stage = Stage::new("explained-limits");
    let (_, key) = stage.make(json!({"name": "k", "rateLimits": [{"limit": 2, "window": "1h"}]}));
    let explain = |body: Value| {
        let (status, told) = stage.api("POST", "/api/route/explain", &body);
        (status, told["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    let of = |extra: Value| {
        let mut body = json!({"model": STEADY, "key": "k"});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        explain(body)
    };
    for _ in 0..3 {
        assert_eq!(of(json!({})), told(200, ""), "an explanation is no request");
    }
    assert_eq!([stage.ask(&key, STEADY).status, stage.ask(&key, STEADY).status], [200, 200]);
    assert_eq!(of(json!({})), told(429, "key_rate_limited"));
    assert_eq!(stage.ask(&key, STEADY).told(), told(429, "key_rate_limited"));
    assert_eq!(explain(json!({"model": STEADY})), told(200, ""), "another's is another's");
    stage.patch("k", json!({"rateLimits": null, "maxSessions": 1}));
    let in_session = |name: &str| {
        let body = json!({"model": STEADY}).to_string();
        let head = format!("x-session-id: {name}\r\n");
        stage.call(&key, ("POST", "/v1/chat/completions"), &head, &body).told()
    };
    assert_eq!(of(json!({"session": "one"})), told(200, ""));
    assert_eq!(in_session("one"), told(200, ""));
    for (name, expected) in [("one", told(200, "")), ("two", told(429, "key_session_limit"))] {
        assert_eq!(of(json!({"session": name})), expected, "{name}");
        assert_eq!(in_session(name), expected, "{name}");
    }
    stage.patch("k", json!({"maxSessions": null, "allowedEndpoints": ["/v1/messages"]}));
    assert_eq!(of(json!({"format": "openai"})), told(403, "endpoint_not_allowed"));
    assert_eq!(of(json!({})), told(400, "format_not_supported"), "by the one route that is left");
    let claude = json!({"model": "claude-a/steady"});
    assert_eq!(of(claude), told(200, ""));
    stage.patch("k", json!({"allowedEndpoints": ["/v1/models"]}));
    assert_eq!(of(json!({})), told(403, "endpoint_not_allowed"));
    // An embedding is asked in the same dialect.
    stage.patch("k", json!({"allowedEndpoints": ["/v1/embeddings"]}));
    assert_eq!(of(json!({"format": "openai"})), told(200, ""));
}
