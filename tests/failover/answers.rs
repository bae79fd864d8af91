//! What the client is told when nobody gave a good answer (decision 9b).

use serde_json::json;

use crate::support::{Answer, End, Reply, Setup, World};

const JSON: &str = "content-type: application/json\r\n";

#[test]
fn a_single_failure_passes_unchanged_with_its_wait() {
    let world = Setup::new().provider("a", 1).start();
    let body = "{ \"error\" : {\"message\":\"busy\\u0021\", \"extra\": [1,  2]} }\n";
    world.upstream("a").answers(Answer::sized(503, &format!("{JSON}retry-after: 7\r\n"), body));
    let reply = world.ask("a/x");
    assert_eq!((reply.status, reply.text().as_str(), reply.end), (503, body, End::Complete));
    assert_eq!(reply.header("retry-after"), Some("7"));
    assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some("a-1"));
    assert_eq!(world.upstream("a").asked(), 1);
}

#[test]
fn an_error_that_ends_with_its_connection_keeps_its_status_and_wait() {
    for (status, counted) in [(429, 0), (503, 1)] {
        let world = Setup::new().provider("a", 1).start();
        let head = format!("HTTP/1.1 {status} Status\r\n{JSON}retry-after: 7\r\nconnection: close\r\n\r\n");
        world.upstream("a").answers(Answer::raw(format!("{head}{{}}")).closes());
        let reply = world.ask("a/x");
        assert_eq!((reply.status, reply.header("retry-after")), (status, Some("7")), "{}", reply.text());
        assert_eq!(world.failures("a"), counted, "{status}");
        assert_eq!(world.derived("connection", "a-1")["statedWaitMs"], 7_000, "{status}");
    }
}

#[test]
fn fc_021_a_wait_in_the_body_alone_cools_the_account_and_is_told() {
    let world = Setup::new().provider("a", 1).start();
    let body = r#"[{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"26s"}]}}]"#;
    world.upstream("a").answers(Answer::sized(429, JSON, body));
    let reply = world.ask("a/x");
    assert_eq!((reply.status, reply.text().as_str()), (429, body));
    assert_eq!(reply.header("retry-after"), Some("26"));
    assert_eq!(world.derived("connection", "a-1")["statedWaitMs"], 26_000);
}

#[test]
fn the_last_answer_carries_the_smallest_wait() {
    let waits = [9, 30, 20].map(|wait| format!("{JSON}retry-after: {wait}\r\n"));
    let world = Setup::new().provider("a", 3).start();
    world.upstream("a").answers_first(waits.map(|headers| Answer::sized(429, &headers, "{}")));
    let reply = world.ask("a/x");
    assert_eq!((reply.status, reply.header("retry-after")), (429, Some("9")));
    let selected = reply.header("x-omniroute-selected-connection-id");
    assert_eq!(selected, Some("a-3"), "the answer is the last one");
}

#[test]
fn a_client_s_own_error_stops_the_request_and_costs_nobody() {
    for status in [400, 413, 415, 422] {
        let world = Setup::new().provider("a", 2).provider("b", 1).combo("m", &["a", "b"]).start();
        world.upstream("a").answers(Answer::status(status));
        let reply = world.ask("m");
        assert_eq!(reply.status, status);
        assert_eq!(reply.code(), format!("fake_{status}"));
        assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (1, 0), "{status}");
        assert_eq!(world.failures("a"), 0, "{status}");
        assert_eq!(world.derived("connection", "a-1")["backoffLevel"], 0, "{status}");
    }
}

#[test]
fn an_account_that_is_refused_is_not_the_client_s_key() {
    for (status, code) in [(401, "upstream_auth_failed"), (402, "upstream_credits_exhausted")] {
        let world = Setup::new().provider("a", 1).start();
        world.upstream("a").answers(Answer::status(status));
        world.ask("a/x").is_error(502, code);
    }
    let world = Setup::new().provider("a", 1).start();
    world.upstream("a").answers(Answer::status(403));
    world.ask("a/x").is_error(403, "fake_403");
}

#[test]
fn a_page_becomes_an_error_of_the_dialect() {
    let page = format!("<html><body><h1>502 Bad Gateway</h1>{}</body></html>", "x ".repeat(1000));
    for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings"] {
        let world = Setup::new().provider("a", 1).start();
        world.upstream("a").answers(Answer::sized(502, "content-type: text/html\r\n", &page));
        let reply = world.post(path, json!({"model": "a/x"}));
        reply.is_error(502, "upstream_error");
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let body = reply.json();
        assert_eq!(body["type"] == "error", path == "/v1/messages", "{body}");
        let text = body["error"]["upstream_details"]["text"].as_str().unwrap();
        assert!(text.starts_with("502 Bad Gateway x") && text.chars().count() <= 300, "{text}");
    }
}

/// The answer of a combo of two providers that answer so.
fn combo_of(first: Answer, second: Answer) -> Reply {
    let setup = Setup::new().provider("a", 1).provider("b", 1);
    let config = "max_retries = 0, target_timeout_ms = 200, combo_cooldown_wait_enabled = false";
    let world = setup.combo_with("m", &["a", "b"], config).start();
    world.upstream("a").answers(first);
    world.upstream("b").answers(second);
    world.ask("m")
}

#[test]
fn routing_9_6_mixed_failures_get_an_answer_of_ours() {
    let limited = || Answer::sized(429, &format!("{JSON}retry-after: 9\r\n"), "{}");
    let reply = combo_of(limited(), Answer::status(503));
    reply.is_error(502, "bad_gateway");
    assert_eq!(message(&reply), "all 2 attempts failed, the last one at `b`: status 503");
    assert_eq!(reply.header("retry-after"), Some("9"), "the only wait that is known");
    let diagnostics = &reply.json()["diagnostics"];
    assert_eq!((&diagnostics["poolSize"], &diagnostics["attempted"]), (&json!(2), &json!(2)));
    let order = json!([{"provider": "a", "model": "x"}, {"provider": "b", "model": "x"}]);
    assert_eq!(diagnostics["attemptOrder"], order);
    combo_of(Answer::status(408), Answer::status(503)).is_error(504, "gateway_timeout");
    combo_of(Answer::status(401), Answer::status(429)).is_error(502, "bad_gateway");
}

#[test]
fn failures_of_one_kind_pass_the_last_answer() {
    combo_of(Answer::status(500), Answer::status(503)).is_error(503, "fake_503");
    combo_of(Answer::status(429), Answer::status(429)).is_error(429, "fake_429");
    combo_of(Answer::status(401), Answer::status(401)).is_error(502, "upstream_auth_failed");
}

#[test]
fn without_any_upstream_status_the_answer_is_ours() {
    let world = Setup::new().refusing("a").refusing("b").combo("m", &["a", "b"]).start();
    let reply = world.ask("a/x");
    reply.is_error(502, "bad_gateway");
    assert_eq!(message(&reply), "`a` gave no usable answer: its host refused the connection");
    world.order("connection", "a-1", json!({"message": "reset"}));
    let reply = world.ask("m");
    reply.is_error(502, "bad_gateway");
    let told = "all 2 attempts failed, the last one at `b`: its host refused the connection";
    assert_eq!(message(&reply), told);
    let reply = combo_of(Answer::silence(), Answer::silence());
    reply.is_error(504, "gateway_timeout");
    let told = "all 2 attempts failed, the last one at `b`: no answer began in time; the limits are ";
    assert!(message(&reply).starts_with(told), "{}", message(&reply));
    let wire = combo_of(Answer::nothing().resets(), Answer::nothing().closes());
    wire.is_error(502, "bad_gateway");
}

fn message(reply: &Reply) -> String {
    reply.json()["error"]["message"].as_str().unwrap().to_owned()
}

/// Seconds of `Retry-After`, of a wait of 60 s that began a moment ago.
fn about_a_minute(reply: &Reply) {
    let wait: u64 = reply.header("retry-after").expect("a wait").parse().unwrap();
    assert!((50..=60).contains(&wait), "{wait}");
}

fn cool(world: &World, connection: &str) {
    let reply = world.order("connection", connection, json!({"message": "cool", "for": "60s"}));
    assert_eq!(reply.status, 200, "{}", reply.text());
}

fn trip(world: &World, provider: &str) {
    let reply = world.order("provider", provider, json!({"message": "trip", "for": "60s"}));
    assert_eq!(reply.status, 200, "{}", reply.text());
}

#[test]
fn all_accounts_cooling_is_model_cooldown() {
    let world = Setup::new().provider("a", 2).start();
    cool(&world, "a-1");
    world.ask("a/x").served_by("a");
    cool(&world, "a-2");
    let asked = world.upstream("a").asked();
    let reply = world.ask("a/x");
    reply.is_error(429, "model_cooldown");
    about_a_minute(&reply);
    assert_eq!(reply.json()["error"]["model"], "a/x");
    let told = "every account that serves `a/x` rests; the first is back in ";
    assert!(message(&reply).starts_with(told), "{}", message(&reply));
    assert_eq!(world.upstream("a").asked(), asked, "a resting account is not asked");
}

#[test]
fn a_stated_wait_of_every_account_is_told_to_the_next_client() {
    let world = Setup::new().provider("a", 2).start();
    let limited = Answer::sized(429, &format!("{JSON}retry-after: 60\r\n"), "{}");
    world.upstream("a").answers(limited);
    assert_eq!(world.ask("a/x").header("retry-after"), Some("60"));
    let reply = world.ask("a/x");
    reply.is_error(429, "model_cooldown");
    about_a_minute(&reply);
    assert_eq!(world.upstream("a").asked(), 2);
}

#[test]
fn an_open_breaker_is_told() {
    let world = Setup::new().provider("a", 2).start();
    trip(&world, "a");
    let reply = world.ask("a/x");
    reply.is_error(503, "provider_circuit_open");
    about_a_minute(&reply);
    assert_eq!(reply.header("x-omniroute-provider-breaker"), Some("open"));
    assert_eq!(reply.json()["error"]["provider"], "a");
    assert_eq!(world.upstream("a").asked(), 0);
}

#[test]
fn a_combo_that_skips_all_its_targets_says_which_and_why() {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
    trip(&world, "a");
    cool(&world, "b-1");
    let reply = world.ask("m");
    reply.is_error(429, "ALL_TARGETS_SKIPPED");
    about_a_minute(&reply);
    let until = [("provider", "a", "openUntil"), ("connection", "b-1", "rateLimitedUntil")]
        .map(|(kind, id, field)| world.derived(kind, id)[field].clone());
    let excluded = json!([
        {"provider": "a", "model": "x", "reason": "circuit_open", "until": until[0]},
        {"provider": "b", "model": "x", "reason": "connection_cooldown", "until": until[1]},
    ]);
    assert_eq!(reply.json()["diagnostics"]["excluded"], excluded);
    let header = "a/x:circuit_open,b/x:connection_cooldown";
    assert_eq!(reply.header("x-omniroute-combo-excluded"), Some(header));
    trip(&world, "b");
    let reply = world.ask("m");
    reply.is_error(503, "all_targets_cooling_down");
    about_a_minute(&reply);
    assert_eq!(reply.json()["recovery_hint"]["action"], "wait");
    assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (0, 0));
}

#[test]
fn a_combo_of_unusable_connections_names_no_wait() {
    let setup = Setup::new().provider("a", 1).section("active = false").provider("b", 1);
    let world = setup.section("active = false").combo("m", &["a", "b"]).start();
    let reply = world.ask("m");
    reply.is_error(503, "ALL_TARGETS_SKIPPED");
    assert_eq!(reply.header("retry-after"), None);
    assert_eq!(reply.json()["diagnostics"]["poolSize"], 2);
    world.ask("a/x").is_error(503, "no_usable_connection");
}
