//! When keys may be used, how long they wait, and what a body without `stream` gets them
//! (routing 10.5).

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::process::{actor, eventually, read};
use crate::stage::{FILE_KEY, Seen, Stage};
use crate::support::{Answer, Upstream};

const STEADY: &str = "demo-a/steady";
const CHAT: (&str, &str) = ("POST", "/v1/chat/completions");
const EVENTS: &str = "accept: text/event-stream\r\n";
/// Longer than any test: who waits so long is not served.
const LONG_MS: u64 = 60_000;

/// A provider `p` with one account.
fn vendor(upstream: &Upstream, more: &str) -> String {
    format!(
        "[[providers]]\nid = \"p\"\nformat = [\"openai\", \"anthropic\", \"responses\"]\nbase_url = \"http://{}\"\n{more}\
         [[connections]]\nid = \"p-1\"\nprovider = \"p\"\ncredential = \"sk-p\"\n",
        upstream.address
    )
}

fn told(seen: &Seen, status: u16, code: &str) {
    assert_eq!(seen.told(), (status, code.to_owned()), "{seen:?}");
}

/// The day of the week, from Sunday, so many days from now, and the seconds to its midnight, UTC.
fn day_in(days: u64) -> (u64, u64) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    ((now / 86_400 + 4 + days) % 7, days * 86_400 - now % 86_400)
}

#[test]
fn a_key_outside_its_hours_is_403_and_told_when_it_opens() {
    let stage = Stage::new("hours");
    let (day, seconds) = day_in(3);
    let (_, key) = stage.make(json!({
        "name": "k", "scopes": ["inference", "manage"],
        "accessSchedule": {"from": "00:00", "until": "00:00", "days": [day]},
    }));
    let closed = stage.ask(&key, STEADY);
    told(&closed, 403, "key_outside_schedule");
    let error = &closed.json()["error"];
    assert!(error["message"].as_str().unwrap().contains(error["reset_at"].as_str().unwrap()), "{error}");
    assert!(error["reset_at"].as_str().unwrap().ends_with("T00:00:00Z"), "{error}");
    assert_eq!(error["type"], "permission_error");
    let wait: u64 = closed.header("retry-after").unwrap().parse().unwrap();
    assert!(wait.abs_diff(seconds) <= 5, "{closed:?}");
    told(&stage.call(&key, ("GET", "/v1/models"), "", ""), 403, "key_outside_schedule");
    assert_eq!(stage.call(&key, ("GET", "/api/keys"), "", "").status, 401, "nobody manages with it");
    assert_eq!(stage.ask(FILE_KEY, STEADY).status, 200, "another key");
    let shown = stage.get("/api/keys/k");
    let whole = json!({"enabled": true, "from": "00:00", "until": "00:00", "days": [day], "tz": "UTC"});
    assert_eq!(shown["accessSchedule"], whole, "{shown}");
    stage.patch("k", json!({"accessSchedule": {"enabled": false}}));
    assert_eq!(stage.ask(&key, STEADY).status, 200, "switched off, the rest of it stays");
    stage.patch("k", json!({"accessSchedule": {"enabled": null, "days": null}}));
    assert_eq!(stage.ask(&key, STEADY).status, 200, "every day, all day");
    assert_eq!(stage.call(&key, ("GET", "/api/keys"), "", "").status, 200);
    stage.patch("k", json!({"accessSchedule": {"days": [day]}}));
    told(&stage.ask(&key, STEADY), 403, "key_outside_schedule");
    let answer = stage.patch("k", json!({"accessSchedule": null}));
    assert_eq!((&answer["accessSchedule"], stage.ask(&key, STEADY).status), (&Value::Null, 200));
}

/// All requests wait, each by itself, and the wait is none of our own time.
#[test]
fn a_throttled_key_waits_before_anybody_is_asked_and_others_do_not() {
    let upstream = Upstream::start("vendor");
    let stage = Stage::with("throttle", &vendor(&upstream, ""));
    let (_, key) = stage.make(json!({"name": "k", "throttleDelayMs": 400}));
    let took = |key: &str| {
        let began = Instant::now();
        assert_eq!(stage.ask(key, "p/m").status, 200);
        began.elapsed()
    };
    let wait = Duration::from_millis(400);
    assert!(took(&key) >= wait && took(&key) >= wait);
    let seen = stage.ask(&key, "p/m");
    let own: u64 = seen.header("x-switchtower-overhead-us").unwrap().parse().unwrap();
    assert!(own < 390_000, "{seen:?}");
    stage.patch("k", json!({"throttleDelayMs": LONG_MS}));
    assert!(took(FILE_KEY) < Duration::from_secs(20), "another key");
    stage.patch("k", json!({"throttleDelayMs": 0}));
    assert!(took(&key) < Duration::from_secs(20), "at once");
}

fn waiting(stage: &Stage) -> Value {
    actor(&stage.process.address, "router/router")["inFlight"].clone()
}

/// Sends a request and leaves the answer unread.
fn send(stage: &Stage, key: &str) -> TcpStream {
    let body = json!({"model": "p/m"}).to_string();
    let mut stream = TcpStream::connect(&stage.process.address).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {key}\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

#[test]
fn the_wait_of_a_throttled_key_ends_with_its_client_and_with_the_process() {
    let upstream = Upstream::start("vendor");
    let mut stage = Stage::with("throttle-ends", &vendor(&upstream, ""));
    let (_, key) = stage.make(json!({"name": "k", "throttleDelayMs": LONG_MS}));
    let client = send(&stage, &key);
    eventually("it waits", || waiting(&stage) == 1);
    drop(client);
    eventually("it is over", || waiting(&stage) == 0);
    let client = send(&stage, &key);
    eventually("it waits", || waiting(&stage) == 1);
    stage.process.signal("TERM");
    let (status, _, body) = read(client);
    assert_eq!(status, 503, "{body}");
    stage.process.child.wait().unwrap();
    assert_eq!(upstream.asked(), 0, "nobody was asked");
}

/// `timeouts.total` runs from the request's own beginning.
#[test]
fn the_deadline_of_a_request_counts_the_wait_of_its_key() {
    let upstream = Upstream::start("vendor");
    upstream.answers(Answer::good_stream("vendor").after(Duration::from_millis(300)));
    let stage = Stage::with("throttle-total", &vendor(&upstream, "timeouts = { total = \"2s\" }\n"));
    let (_, key) = stage.make(json!({"name": "k"}));
    let body = json!({"model": "p/m", "stream": true}).to_string();
    let whole = stage.call(&key, CHAT, "", &body);
    assert!(whole.status == 200 && whole.body.contains("[DONE]"), "{whole:?}");
    stage.patch("k", json!({"throttleDelayMs": 1_900}));
    let late = stage.call(&key, CHAT, "", &body);
    assert!(late.status >= 500 && !late.body.contains("[DONE]"), "{late:?}");
}

#[test]
fn a_body_without_stream_gets_what_its_key_says_and_one_with_it_what_it_says() {
    let upstream = Upstream::start("vendor");
    let stage = Stage::with("mode", &vendor(&upstream, ""));
    let (_, key) = stage.make(json!({"name": "k", "streamDefaultMode": "legacy"}));
    let sent = |key: &str, path: &str, accept: &str, body: &str| {
        let before = upstream.asked();
        let seen = stage.call(key, ("POST", path), accept, body);
        let received = upstream.requests().split_off(before);
        assert_eq!(received.len(), 1, "{body}: {seen:?}");
        String::from_utf8(received[0].body.clone()).unwrap()
    };
    let chat = "/v1/chat/completions";
    let plain = " {\"model\": \"p/m\", \"x\": {\"stream\": 1}}";
    let streamed = " {\"stream\":true,\"model\": \"m\", \"x\": {\"stream\": 1}}";
    let json_only = "accept: application/json\r\n";
    let both = "accept: application/json, Text/Event-Stream;q=0.9\r\n";
    for (path, accept, body, expected) in [
        (chat, EVENTS, plain, streamed),
        (chat, both, plain, streamed),
        ("/v1/messages", EVENTS, plain, streamed),
        ("/v1/responses", EVENTS, plain, streamed),
        ("/v1/embeddings", EVENTS, plain, " {\"model\": \"m\", \"x\": {\"stream\": 1}}"),
        (
            chat,
            "accept: text/event-stream; Q=0.0, */*\r\n",
            plain,
            " {\"model\": \"m\", \"x\": {\"stream\": 1}}",
        ),
        (chat, json_only, plain, " {\"model\": \"m\", \"x\": {\"stream\": 1}}"),
        (chat, "", plain, " {\"model\": \"m\", \"x\": {\"stream\": 1}}"),
        (chat, EVENTS, "{\"model\":\"p/m\",\"stream\":false}", "{\"model\":\"m\",\"stream\":false}"),
        (chat, EVENTS, "{\"model\":\"p/m\",\"stream\":null}", "{\"model\":\"m\",\"stream\":null}"),
        (chat, EVENTS, "{\"stream\":true,\"model\":\"p/m\"}", "{\"stream\":true,\"model\":\"m\"}"),
    ] {
        let streams = expected.contains("\"stream\":true");
        upstream.answers(if streams { Answer::good_stream("vendor") } else { Answer::good("vendor") });
        assert_eq!(sent(&key, path, accept, body), expected, "{path} {accept} {body}");
    }
    upstream.answers(Answer::good("vendor"));
    for other in [json!("json"), Value::Null] {
        assert_eq!(stage.patch("k", json!({ "streamDefaultMode": other }))["streamDefaultMode"], "json");
        assert_eq!(sent(&key, chat, EVENTS, plain), " {\"model\": \"m\", \"x\": {\"stream\": 1}}");
    }
    stage.patch("k", json!({"streamDefaultMode": "legacy"}));
    told(&stage.call(&key, CHAT, EVENTS, "{\"model\":"), 400, "invalid_json");
    let seen = stage.call(&key, CHAT, EVENTS, &json!({ "model": STEADY }).to_string());
    assert_eq!(seen.header("content-type"), Some("text/event-stream"), "{seen:?}");
    assert!(seen.body.contains("data: [DONE]"), "{seen:?}");
}

#[test]
fn a_key_of_the_file_has_hours_a_wait_and_a_mode_too() {
    let (day, _) = day_in(3);
    let lines = format!(
        "throttle_delay_ms = 400\nstream_default_mode = \"legacy\"\n[[keys]]\nname = \"closed\"\n\
         key = \"sk-closed-0123456789\"\naccess_schedule = {{ from = \"00:00\", until = \"00:00\", days = [{day}] }}\n"
    );
    let stage = Stage::with("hours-file", &lines);
    let began = Instant::now();
    let seen = stage.call(FILE_KEY, CHAT, EVENTS, &json!({ "model": STEADY }).to_string());
    assert_eq!(seen.header("content-type"), Some("text/event-stream"), "{seen:?}");
    assert!(began.elapsed() >= Duration::from_millis(400));
    told(&stage.ask("sk-closed-0123456789", STEADY), 403, "key_outside_schedule");
    let shown = stage.get("/api/keys/laptop");
    assert_eq!([&shown["throttleDelayMs"], &shown["streamDefaultMode"]], [&json!(400), &json!("legacy")]);
}
