//! What is refused before anybody is asked, in the words of each dialect.

use serde_json::json;

use super::{CHAT, ROUTES};
use crate::support::{Answer, End, Reply, Setup, Wire, World, post, request_bytes};

fn refused(world: &World, path: &str, body: &[u8]) -> Reply {
    let reply = post(world.address, path, "", body);
    assert_eq!(reply.header("content-type"), Some("application/json"), "{}", reply.text());
    let anthropic = path.contains("/messages");
    let body = reply.json();
    assert_eq!(body["type"] == "error", anthropic, "{path}: {body}");
    assert!(body["error"]["message"].is_string() && body["error"]["type"].is_string(), "{path}: {body}");
    reply
}

#[test]
fn a_body_that_cannot_be_routed_is_refused_in_each_dialect() {
    let world = Setup::new().provider("a", 1).start();
    let rows: [(&[u8], &str, &str); 15] = [
        (b"", "invalid_json", ""),
        (b"{", "invalid_json", ""),
        (b"not json", "invalid_json", ""),
        (br#"{"model":"a/x"} trailing"#, "invalid_json", ""),
        (br#"{"model":"a/x","model":"a/x"}"#, "invalid_json", ""),
        (b"\xef\xbb\xbf{\"model\":\"a/x\"}", "invalid_json", ""),
        // Not UTF-8: in what nobody reads, in a key, in half a letter, outside of an object.
        (b"{\"model\":\"a/x\",\"user\":\"caf\xe9\"}", "invalid_json", ""),
        (b"{\"model\":\"a/x\",\"\xff\":1}", "invalid_json", ""),
        (b"{\"model\":\"a/x\",\"messages\":[{\"content\":\"\xe2\x82\"}]}", "invalid_json", ""),
        (b"\"\xff\"", "invalid_json", ""),
        (br#"["model"]"#, "invalid_request", "body"),
        (br#"{"messages":[]}"#, "invalid_request", "model"),
        (br#"{"model":7}"#, "invalid_request", "model"),
        (br#"{"model":null}"#, "invalid_request", "model"),
        (br#"{"model":"a/x","stream":"yes"}"#, "invalid_request", "stream"),
    ];
    for path in ROUTES {
        for (body, code, param) in rows {
            let reply = refused(&world, path, body);
            reply.is_error(400, code);
            assert_eq!(reply.json()["error"]["param"].as_str().unwrap_or_default(), param, "{path}");
        }
    }
    assert_eq!(world.upstream("a").connections(), 0);
}

fn a_world_of_names() -> World {
    let lists = |ids: &str| format!("format = \"openai\"\nmodels = [{ids}]");
    Setup::new()
        .provider_with("a", 1, &lists(r#"{ id = "shared" }, { id = "only-a" }"#))
        .provider_with("b", 1, &lists(r#"{ id = "shared" }"#))
        .provider_with("claude", 1, "format = \"anthropic\"")
        .combo("nice", &["claude"])
        .start()
}

#[test]
fn a_model_that_names_no_one_target_is_refused() {
    let world = a_world_of_names();
    let rows = [
        (CHAT, "nobody-knows", 404, "model_not_found"),
        (CHAT, "nobody/x", 404, "model_not_found"),
        (CHAT, "a/not-listed", 404, "model_not_found"),
        (CHAT, "combo/nobody", 404, "model_not_found"),
        (CHAT, "shared", 400, "ambiguous_model"),
        (CHAT, "claude/x", 400, "format_not_supported"),
        (CHAT, "nice", 400, "format_not_supported"),
        ("/v1/messages", "a/shared", 400, "format_not_supported"),
        ("/v1/responses", "a/shared", 400, "format_not_supported"),
        ("/v1/messages/count_tokens", "a/shared", 400, "format_not_supported"),
    ];
    for (path, model, status, code) in rows {
        let reply = refused(&world, path, json!({ "model": model }).to_string().as_bytes());
        reply.is_error(status, code);
        assert_eq!(reply.json()["error"]["param"], "model", "{model}");
    }
    let ambiguous = world.ask("shared").text();
    assert!(ambiguous.contains("a/shared") && ambiguous.contains("b/shared"), "{ambiguous}");
    for provider in ["a", "b", "claude"] {
        assert_eq!(world.upstream(provider).asked(), 0);
    }
}

#[test]
fn a_model_is_found_by_each_of_its_names() {
    let world = a_world_of_names();
    world.ask("only-a").served_by("a");
    world.ask("b/shared").served_by("b");
    world.post("/v1/messages", json!({"model": "nice"})).served_by("claude");
    world.post("/v1/messages", json!({"model": "combo/nice"})).served_by("claude");
    world.post("/api/v1/messages", json!({"model": "claude/x"})).served_by("claude");
}

#[test]
fn every_route_is_also_below_api() {
    let world = Setup::new().provider("a", 1).start();
    for path in ROUTES {
        world.post(&format!("/api{path}"), json!({"model": "a/x"})).served_by("a");
        let request = world.upstream("a").requests().pop().unwrap();
        assert!(request.head.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{}", request.head);
    }
}

#[test]
fn models_lists_combos_and_listed_models() {
    let world = a_world_of_names();
    for prefix in ["/v1", "/api/v1"] {
        let list = world.get(&format!("{prefix}/models"), "").json();
        assert_eq!(list["object"], "list");
        let ids: Vec<_> = list["data"].as_array().unwrap().iter().map(|model| model["id"].clone()).collect();
        assert_eq!(ids, ["nice", "a/shared", "a/only-a", "b/shared"]);
        let one = world.get(&format!("{prefix}/models/a/only-a"), "").json();
        assert_eq!(
            (&one["id"], &one["owned_by"], &one["object"]),
            (&json!("a/only-a"), &json!("a"), &json!("model"))
        );
        let unknown = world.get(&format!("{prefix}/models/nobody"), "");
        unknown.is_error(404, "model_not_found");
        assert_eq!(unknown.json()["type"], json!(null));
        let unknown = world.get(&format!("{prefix}/models/nobody"), "anthropic-version: 2023-06-01\r\n");
        assert_eq!(unknown.json()["type"], "error");
    }
}

#[test]
fn an_unknown_route_is_told() {
    let world = Setup::new().provider("a", 1).start();
    world.get("/v1/nothing", "").is_error(404, "not_found");
    world.post("/v2/chat/completions", json!({"model": "a/x"})).is_error(404, "not_found");
}

fn a_world_with_keys() -> World {
    let keys = "[[keys]]\nname = \"laptop\"\nkey = \"laptop-key-0123456789\"\n\
                [[keys]]\nname = \"operator\"\nkey = \"operator-key-0123456789\"\nscopes = [\"manage\"]";
    Setup::new().server("require_api_key = true").provider("a", 1).section(keys).start()
}

#[test]
fn a_required_key_is_required_on_every_route() {
    let world = a_world_with_keys();
    let wrong = [
        "",
        "authorization: Bearer wrong\r\n",
        "authorization: Basic laptop-key-0123456789\r\n",
        "authorization: Bearer wrong\r\nx-api-key: laptop-key-0123456789\r\n",
        "x-api-key: wrong\r\n",
        "authorization: Bearer admin-token-of-the-tests\r\n",
    ];
    for path in ROUTES {
        for headers in wrong {
            let reply = post(world.address, path, headers, br#"{"model":"a/x"}"#);
            reply.is_error(401, "invalid_api_key");
            assert_eq!(reply.json()["error"]["type"], "authentication_error", "{path}");
        }
    }
    world.get("/v1/models", "").is_error(401, "invalid_api_key");
    assert_eq!(world.upstream("a").asked(), 0);
}

#[test]
fn a_key_without_the_scope_of_inference_is_forbidden() {
    let world = a_world_with_keys();
    let headers = "authorization: Bearer operator-key-0123456789\r\n";
    for path in ROUTES {
        post(world.address, path, headers, br#"{"model":"a/x"}"#).is_error(403, "permission_denied");
    }
    assert_eq!(world.get("/v1/models", headers).status, 200);
    assert_eq!(world.upstream("a").asked(), 0);
}

#[test]
fn another_method_is_told_which_one_is_right() {
    let world = Setup::new().provider("a", 1).start();
    for path in ROUTES {
        let reply = world.get(path, "");
        reply.is_error(405, "method_not_allowed");
        assert_eq!(reply.header("allow"), Some("POST"), "{path}");
    }
    for path in ["/v1/models", "/healthz", "/readyz", "/api/actors", "/metrics"] {
        let reply = world.post(path, json!({}));
        reply.is_error(405, "method_not_allowed");
        let with_head = ["/v1/models", "/healthz", "/readyz"].contains(&path);
        assert_eq!(reply.header("allow"), Some(if with_head { "GET, HEAD" } else { "GET" }), "{path}");
    }
}

/// RFC 9110, 9.3.2: the head of a GET, and nothing behind it but the next answer.
#[test]
fn a_load_balancer_asks_with_head_and_gets_no_body() {
    let world = Setup::new().provider("a", 1).start();
    let rows = [
        ("/healthz", 200),
        ("/readyz", 200),
        ("/v1/models", 200),
        ("/v1/models/nobody", 404),
        ("/api/v1/models", 200),
        ("/api/monitoring/health", 200),
    ];
    for (path, status) in rows {
        let mut wire = Wire::open(world.address);
        let then = request_bytes("GET", path, "connection: close\r\n", b"");
        wire.send(&[request_bytes("HEAD", path, "", b""), then].concat());
        let mut answers = String::new();
        std::io::Read::read_to_string(&mut wire.stream(), &mut answers).unwrap();
        let (head, got) = answers.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answers}");
        let (got_head, body) = got.split_once("\r\n\r\n").unwrap();
        assert!(got_head.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answers}");
        let length = format!("\r\ncontent-length: {}\r\n", body.len());
        assert!(!body.is_empty() && format!("{head}\r\n").contains(&length), "{path}: {answers}");
    }
}

/// Contract 8, auth map.
#[test]
fn only_an_operator_hears_that_there_is_no_such_management_route() {
    let world = Setup::new().provider("a", 1).start();
    for path in ["/api/nope", "/api/", "/api/actors/x", "/api/v2/models"] {
        world.get(path, "").is_error(401, "unauthorized");
        world.get(path, "authorization: Bearer nobody\r\n").is_error(401, "unauthorized");
        world.manage("GET", path, &json!({})).is_error(404, "not_found");
    }
    for path in ["/api/v1/nope", "/v1/nope", "/nope", "/api"] {
        world.get(path, "").is_error(404, "not_found");
    }
}

#[test]
fn decision_28_a_key_is_taken_as_bearer_or_x_api_key() {
    let world = a_world_with_keys();
    let right = [
        "authorization: Bearer laptop-key-0123456789\r\n",
        "Authorization: bearer laptop-key-0123456789\r\n",
        "x-api-key: laptop-key-0123456789\r\n",
        "X-Api-Key: laptop-key-0123456789\r\nanthropic-version: 2023-06-01\r\n",
    ];
    for headers in right {
        post(world.address, CHAT, headers, br#"{"model":"a/x"}"#).served_by("a");
        assert_eq!(world.get("/v1/models", headers).status, 200, "{headers}");
    }
}

#[test]
fn without_required_keys_an_unknown_one_is_anonymous() {
    let world = Setup::new().provider("a", 1).start();
    post(world.address, CHAT, "authorization: Bearer whatever\r\n", br#"{"model":"a/x"}"#).served_by("a");
}

#[test]
fn a_key_may_use_its_own_connections_only() {
    let key = "[[keys]]\nname = \"laptop\"\nkey = \"laptop-key-0123456789\"\nallowed_connections = [\"a-2\"]";
    let world = Setup::new().provider("a", 2).provider("b", 1).section(key).start();
    let headers = "x-api-key: laptop-key-0123456789\r\n";
    let reply = post(world.address, CHAT, headers, br#"{"model":"a/x"}"#);
    assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some("a-2"));
    post(world.address, CHAT, headers, br#"{"model":"b/x"}"#).is_error(403, "permission_denied");
    assert_eq!(world.upstream("b").asked(), 0);
}

/// A body of so many bytes.
fn body_of(length: usize) -> Vec<u8> {
    let frame = r#"{"model":"a/x","x":""}"#.len();
    format!(r#"{{"model":"a/x","x":"{}"}}"#, "y".repeat(length - frame)).into_bytes()
}

#[test]
fn fc_056_a_body_above_the_limit_is_413_in_each_dialect() {
    let world = Setup::new().server("max_body = \"64KiB\"").provider("a", 1).start();
    for path in ROUTES {
        post(world.address, path, "", &body_of(65_536)).served_by("a");
        refused(&world, path, &body_of(65_537)).is_error(413, "request_too_large");
    }
    assert_eq!(world.upstream("a").asked(), ROUTES.len());
}

#[test]
fn a_chunked_body_above_the_limit_is_413() {
    let world = Setup::new().server("max_body = \"64KiB\"").provider("a", 1).start();
    let mut wire = Wire::open(world.address);
    wire.send(b"POST /v1/chat/completions HTTP/1.1\r\nhost: s\r\ntransfer-encoding: chunked\r\n\r\n");
    let body = body_of(70_000);
    wire.send(&[format!("{:x}\r\n", body.len()).as_bytes(), &body, b"\r\n0\r\n\r\n"].concat());
    wire.reply().is_error(413, "request_too_large");
}

#[test]
fn a_client_that_sends_ten_megabytes_can_read_the_413() {
    let world = Setup::new().server("max_body = \"64KiB\"").provider("a", 1).start();
    for path in ROUTES {
        let mut wire = Wire::open(world.address);
        // Whether all of it was taken is the server's choice; that the answer can be read is not.
        wire.try_send(&request_bytes("POST", path, "", &body_of(10 * 1024 * 1024)));
        wire.reply().is_error(413, "request_too_large");
    }
}

#[test]
fn a_body_that_is_a_little_too_large_is_read_so_that_its_connection_lives_on() {
    let world = Setup::new().server("max_body = \"64KiB\"").provider("a", 1).start();
    let mut wire = Wire::open(world.address);
    for _ in 0..3 {
        wire.send(&request_bytes("POST", CHAT, "", &body_of(1024 * 1024)));
        wire.reply().is_error(413, "request_too_large");
        wire.forget();
    }
    wire.send(&request_bytes("POST", CHAT, "", &body_of(1024)));
    wire.reply().served_by("a");
}

#[test]
fn a_body_that_ends_early_is_nobody_s_request() {
    let world = Setup::new().provider("a", 1).start();
    let mut wire = Wire::open(world.address);
    wire.send(
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: s\r\ncontent-length: 100\r\n\r\n{\"model\":\"a/x\"}",
    );
    wire.stream().shutdown(std::net::Shutdown::Write).unwrap();
    assert_ne!(wire.reply().status, 200);
    assert_eq!(world.upstream("a").asked(), 0);
    assert_eq!(world.ask("a/x").end, End::Complete);
}

#[test]
fn a_name_too_long_for_a_header_is_refused() {
    let world = Setup::new().provider("a", 1).start();
    for (length, status) in [(510, 200), (511, 400), (100_000, 400)] {
        world.upstream("a").answers(Answer::good("a"));
        let reply = world.ask(&format!("a/{}", "m".repeat(length)));
        assert_eq!(reply.status, status, "{length}");
        assert!(reply.header("x-omniroute-model").is_none_or(|name| name.len() == length), "{length}");
    }
    assert_eq!(world.ask("a/\u{202e}x").header("x-omniroute-model"), Some(""), "visible ASCII only");
}

#[test]
fn metrics_do_not_grow_with_the_names_that_clients_make_up() {
    let world = Setup::new().provider("a", 1).start();
    world.upstream("a").answers(Answer::status(404));
    for number in 0..20 {
        world.ask(&format!("a/made-up-{number}")).is_error(404, "fake_404");
    }
    let metrics = world.admin("/metrics").text();
    // Gauges of locks that hold now go with them; counters stay for ever.
    let counters: Vec<&str> =
        metrics.lines().filter(|line| line.starts_with("switchtower_changes_total")).collect();
    assert_eq!(counters, ["switchtower_changes_total{kind=\"lockout\",id=\"a-1\",to=\"locked\"} 20"]);
}

/// Decision 26b: what we could not read as a wait is not told to the client as one.
#[test]
fn only_a_wait_that_was_understood_is_told() {
    let world = Setup::new().provider("a", 1).start();
    let rows = [("7", Some("7")), ("1.5", Some("2")), ("-5", None), ("soon", None), ("", None)];
    for (stated, told) in rows {
        let headers = format!("content-type: application/json\r\nretry-after: {stated}\r\n");
        world.upstream("a").answers(Answer::sized(429, &headers, "{\"error\":1}"));
        let reply = world.ask("a/x");
        assert_eq!((reply.status, reply.header("retry-after")), (429, told), "{stated}");
        world.order("connection", "a-1", json!({"message": "reset"}));
    }
}
