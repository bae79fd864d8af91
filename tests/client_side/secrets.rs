//! What never crosses: the client's secrets to a vendor, ours to anybody (FC-040,
//! FC-041, FC-042).

use serde_json::json;

use super::{CHAT, ROUTES};
use crate::support::{Answer, Child, Received, Reply, Setup, World, credential, post};

/// Everything a client may send that is not for the vendor.
const CANARIES: &str = "Authorization: Bearer CANARY-1\r\nX-API-KEY: CANARY-2\r\nx-goog-api-key: CANARY-3\r\n\
    Api-Key: CANARY-4\r\ncookie: session=CANARY-5\r\nproxy-authorization: Basic CANARY-6\r\n\
    x-forwarded-for: CANARY-7\r\nforwarded: for=CANARY-8\r\nx-session-id: CANARY-9\r\n\
    x-codex-session-id: CANARY-10\r\nx-omniroute-session: CANARY-11\r\nX-OmniRoute-No-Cache: CANARY-12\r\n\
    x-stainless-lang: CANARY-13\r\nX-Canary-5d1f: CANARY-14\r\norigin: https://CANARY-15\r\n\
    referer: https://CANARY-16\r\nopenai-organization: CANARY-17\r\nx-real-ip: CANARY-18\r\n\
    x-request-id: CANARY-19\r\nkeep-alive: CANARY-20\r\nte: CANARY-21\r\n";

/// The names of the headers that a vendor got; `date` is the HTTP library's own.
fn names(request: &Received) -> Vec<String> {
    let lines = request.head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let mut names: Vec<String> = lines.map(|(name, _)| name.to_ascii_lowercase()).collect();
    names.retain(|name| name != "date");
    names.sort_unstable();
    names
}

fn only_its_own_credential(world: &World, provider: &str, header: &str, connections: &[&str]) {
    let requests = world.upstream(provider).requests();
    assert_eq!(requests.len(), connections.len(), "{provider}");
    for (request, connection) in requests.iter().zip(connections) {
        let whole = [request.head.as_bytes(), &request.body].concat();
        let whole = String::from_utf8(whole).unwrap();
        assert!(!whole.contains("CANARY"), "{whole}");
        assert_eq!(whole.matches("credential-").count(), 1, "{whole}");
        let bearer = if header == "authorization" { "Bearer " } else { "" };
        let expected = format!("{bearer}{}", credential(connection));
        assert_eq!(request.header(header), Some(expected.as_str()), "{whole}");
        let mut expected = vec![header, "accept-encoding", "content-length", "content-type", "host"];
        expected.sort_unstable();
        assert_eq!(names(request), expected);
    }
}

#[test]
fn fc_040_no_secret_of_a_client_reaches_a_vendor_on_any_leg() {
    for path in ROUTES {
        let anthropic = path.contains("messages");
        let format = match path {
            "/v1/responses" => "format = \"responses\"",
            _ if anthropic => "format = \"anthropic\"",
            _ => "format = \"openai\"",
        };
        let header = if anthropic { "x-api-key" } else { "authorization" };
        let retry = "max_retries = 1, retry_delay_ms = 1";
        let setup = Setup::new().provider_with("a", 2, format).provider_with("b", 1, format);
        let world = setup.combo_with("m", &["a", "b"], retry).start();
        world.upstream("a").answers(Answer::status(429));
        world.upstream("b").answers_first([Answer::status(500)]);
        let path = format!("{path}?key=CANARY-0&api_key=CANARY-0");
        post(world.address, &path, CANARIES, br#"{"model":"m"}"#).served_by("b");
        only_its_own_credential(&world, "a", header, &["a-1", "a-2"]);
        only_its_own_credential(&world, "b", header, &["b-1", "b-1"]);
        for request in [world.upstream("a").requests(), world.upstream("b").requests()].concat() {
            assert!(!request.head.lines().next().unwrap().contains('?'), "{}", request.head);
        }
    }
}

#[test]
fn fc_040_a_credential_goes_where_the_provider_wants_it() {
    for header in ["x-api-key", "x-goog-api-key", "api-key"] {
        let keys = format!("format = \"openai\"\nauth_header = \"{header}\"");
        let world = Setup::new().provider_with("a", 1, &keys).start();
        post(world.address, CHAT, CANARIES, br#"{"model":"a/x"}"#).served_by("a");
        only_its_own_credential(&world, "a", header, &["a-1"]);
    }
}

/// Contract 8: by default each format wants it in its own header, whoever else speaks it there.
#[test]
fn an_account_of_several_formats_sends_its_credential_as_each_wants_it() {
    for formats in [r#"["openai", "anthropic", "responses"]"#, r#"["anthropic", "responses", "openai"]"#] {
        for path in ROUTES {
            let header = if path.contains("/messages") { "x-api-key" } else { "authorization" };
            let world = Setup::new().provider_with("a", 1, &format!("format = {formats}")).start();
            post(world.address, path, CANARIES, br#"{"model":"a/x"}"#).served_by("a");
            only_its_own_credential(&world, "a", header, &["a-1"]);
        }
    }
}

#[test]
fn the_listed_headers_of_a_client_pass_unchanged() {
    let passing = [
        ("accept", "text/event-stream, */*;q=0.1"),
        ("anthropic-beta", "tools-2024-04-04,other"),
        ("anthropic-version", "2023-06-01"),
        ("openai-beta", "assistants=v2"),
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        ("user-agent", "a client/1.0 (of; tests)"),
    ];
    let headers: String = passing.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    for path in ROUTES {
        let world = Setup::new().provider("a", 1).start();
        post(world.address, path, &headers, br#"{"model":"a/x"}"#).served_by("a");
        let request = world.upstream("a").only_request();
        for (name, value) in passing {
            assert_eq!(request.header(name), Some(value), "{path}: {name}");
        }
        // And our own: credential, accept-encoding, content-length, content-type, host.
        assert_eq!(names(&request).len(), passing.len() + 5, "{:?}", names(&request));
    }
}

#[test]
fn fc_041_a_redirect_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        for stream in [false, true] {
            let world = Setup::new().provider("a", 1).provider("other", 1).start();
            let location = format!("location: http://{}/v1/evil\r\n", world.upstream("other").address);
            world.upstream("a").answers(Answer::sized(status, &location, ""));
            let reply = world.post(CHAT, json!({"model": "a/x", "stream": stream}));
            reply.is_error(502, "bad_gateway");
            let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains(&status.to_string()) && message.contains("redirect"), "{message}");
            assert_eq!(reply.header("location"), None);
            assert_eq!(world.upstream("other").connections(), 0, "{status}");
            assert_eq!(world.upstream("a").asked(), 1, "{status}");
            assert_eq!(world.failures("a"), 0, "a wrong address says nothing about the provider");
        }
    }
}

#[test]
fn fc_041_a_redirect_fails_over_in_a_combo() {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
    let location = format!("location: http://{}/\r\n", world.upstream("b").address);
    world.upstream("a").answers(Answer::sized(307, &location, ""));
    world.ask("m").served_by("b");
    let head = world.upstream("b").only_request().head;
    assert!(head.starts_with("POST /v1/chat/completions "), "{head}");
    assert!(!head.contains(&credential("a-1")), "{head}");
}

/// Error bodies that echo the credential.
fn echoes(secret: &str) -> [(&'static str, String); 3] {
    [
        ("application/json", format!(r#"{{"error":{{"message":"bad key {secret}, {secret}"}}}}"#)),
        ("text/html", format!("<html><p>bad key {secret}</p></html>")),
        ("text/plain", secret.to_owned()),
    ]
}

#[test]
fn fc_042_an_echoed_credential_is_taken_out_of_the_error() {
    let secret = credential("a-1");
    for status in [400, 401, 403, 404, 418, 429, 500, 503] {
        for (kind, body) in echoes(&secret) {
            let world = Setup::new().provider("a", 1).start();
            let headers =
                format!("content-type: {kind}\r\nrequest-id: {secret}\r\nx-ratelimit-key: {secret}\r\n");
            world.upstream("a").answers(Answer::sized(status, &headers, body));
            let reply = world.ask("a/x");
            assert!(reply.status >= 400);
            assert!(!whole(&reply).contains(&secret), "{status}: {}", whole(&reply));
        }
    }
}

#[test]
fn fc_042_an_echoed_credential_is_taken_out_of_the_head_of_a_good_answer() {
    let secret = credential("a-1");
    let world = Setup::new().provider("a", 1).start();
    let headers = format!(
        "content-type: application/json\r\nopenai-organization: {secret}\r\nx-ratelimit-key: of {secret}\r\nrequest-id: r-1\r\n"
    );
    world.upstream("a").answers(Answer::sized(200, &headers, r#"{"id":"x"}"#));
    let reply = world.ask("a/x");
    assert_eq!((reply.status, reply.header("request-id")), (200, Some("r-1")));
    assert!(!whole(&reply).contains(&secret), "{}", whole(&reply));
}

fn whole(reply: &Reply) -> String {
    format!("{:?}\n{}", reply.headers, reply.text())
}

/// What each way to fail tells a client, and what the management API tells an operator.
fn told(child: &Child, connection: &str) -> String {
    let secret = credential(connection);
    let mut told = String::new();
    let mut ask = |model: &str, headers: &str| {
        let body = json!({ "model": model }).to_string();
        told.push_str(&whole(&post(child.address, CHAT, headers, body.as_bytes())));
    };
    let key = "authorization: Bearer sk-client-KNOWN-0123456789\r\n";
    ask("a/x", "authorization: Bearer sk-client-WRONG-0123456789\r\n");
    for status in [400, 404, 503] {
        let (kind, body) = echoes(&secret)[0].clone();
        child.upstream("a").answers(Answer::sized(status, &format!("content-type: {kind}\r\n"), body));
        ask("a/x", key);
    }
    child.upstream("b").answers(Answer::nothing().resets());
    ask("b/x", key);
    ask("refusing/x", key);
    for path in ["/metrics", "/api/actors", "/api/monitoring/health", "/api/combos"] {
        told.push_str(&whole(&child.admin(path)));
    }
    for connection in ["a-1", "b-1", "refusing-1"] {
        told.push_str(&whole(&child.admin(&format!("/api/actors/connection/{connection}"))));
    }
    told
}

#[test]
fn fc_042_no_secret_is_told_logged_or_stored() {
    let keys = "[log]\naccess = true\n[[keys]]\nname = \"laptop\"\nkey = \"sk-client-KNOWN-0123456789\"";
    let setup = Setup::new().server("require_api_key = true").provider("a", 1).provider("b", 1);
    let mut child = setup.refusing("refusing").section(keys).spawn();
    let told = told(&child, "a-1");
    let (log, dump) = child.end();
    assert!(log.contains("serving") && dump.contains("a-1"), "there is a log and a dump");
    let secrets = [
        credential("a-1"),
        credential("b-1"),
        credential("refusing-1"),
        "sk-client-KNOWN-0123456789".into(),
        "sk-client-WRONG-0123456789".into(),
        "admin-token-of-the-tests".into(),
    ];
    for secret in secrets {
        for (place, text) in [("clients and operators", &told), ("log", &log), ("store", &dump)] {
            let at = text.find(&secret).map(|at| text[at.saturating_sub(200)..].chars().take(300).collect());
            assert_eq!(at, None::<String>, "{secret} in {place}");
        }
    }
}
