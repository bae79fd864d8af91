//! The end of a process and the next start: what clients see while it drains, what survives,
//! and a second start on the same store (FC-060, FC-062, FC-125).

mod process;

use std::process::Command;
use std::time::{Duration, Instant};

use process::{Site, actor, actors, ask, call, eventually, open, order, read};
use serde_json::Value;

const STREAM: &str = r#"{"model":"demo-b/chunks-15x100","stream":true}"#;

fn signal(process: &process::Process) {
    send("-TERM", process);
}

fn send(name: &str, process: &process::Process) {
    let status = Command::new("kill").args([name, &process.child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

fn is_busy(address: &str) -> bool {
    actors(address)["connection/demo-b-1"]["inFlight"] == 1
}

#[test]
fn fc_062_a_drain_refuses_at_once_and_lets_a_stream_end() {
    let site = Site::new("drain", "10s");
    let mut process = site.start();
    let stream = open(&process.address, "POST", "/v1/chat/completions", STREAM);
    eventually("the stream runs", || is_busy(&process.address));
    signal(&process);
    eventually("it is not ready", || call(&process.address, "GET", "/readyz", "").0 == 503);
    let (status, head, body) = ask(&process.address, "demo-b/steady");
    assert_eq!(status, 503);
    assert!(head.contains("retry-after: ") && body.contains("\"draining\""), "{head}\n{body}");
    let (status, _, body) = read(stream);
    assert!(status == 200 && body.contains("[DONE]"), "{status} {body}");
    assert!(process.child.wait().unwrap().success());
}

/// Who stands in line is not kept until the end of the grace.
#[test]
fn fc_062_a_drain_sends_those_away_who_wait_in_line() {
    let site = Site::new("drain-line", "30s");
    let mut process = site.start();
    let cap = r#"{"globalMax":1}"#;
    let (status, _, body) =
        call(&process.address, "PATCH", "/api/resilience", &format!(r#"{{"concurrency":{cap}}}"#));
    assert_eq!(status, 200, "{body}");
    let stream = open(&process.address, "POST", "/v1/chat/completions", STREAM);
    eventually("the stream runs", || is_busy(&process.address));
    let steady = r#"{"model":"demo-b/steady"}"#;
    let waiting = open(&process.address, "POST", "/v1/chat/completions", steady);
    let queued = || actors(&process.address)["router/router"]["inFlight"] == 2;
    eventually("the other waits", queued);
    signal(&process);
    let (status, head, body) = read(waiting);
    assert!(
        status == 503 && head.contains("retry-after: ") && body.contains("\"draining\""),
        "{head}\n{body}"
    );
    let (status, _, body) = read(stream);
    assert!(status == 200 && body.contains("[DONE]"), "{status} {body}");
    assert!(process.child.wait().unwrap().success());
}

#[test]
fn fc_062_a_second_signal_exits_at_once_and_so_does_the_end_of_the_grace() {
    for (name, grace, signals) in [("twice", "60s", 2), ("grace", "200ms", 1)] {
        let site = Site::new(name, grace);
        let mut process = site.start();
        let body = STREAM.replace("15x100", "600x100");
        let stream = open(&process.address, "POST", "/v1/chat/completions", &body);
        eventually("the stream runs", || is_busy(&process.address));
        let asked = Instant::now();
        signal(&process);
        if signals == 2 {
            eventually("it drains", || call(&process.address, "GET", "/readyz", "").0 == 503);
            signal(&process);
        }
        assert!(process.child.wait().unwrap().success(), "{name}");
        assert!(asked.elapsed() < Duration::from_secs(10), "{name}: {:?}", asked.elapsed());
        assert!(!read(stream).2.contains("[DONE]"), "{name}: what is cut is not called complete");
    }
}

/// In whatever phase a stream is: it is told, and not left to guess.
#[test]
fn fc_062_at_the_end_of_the_grace_streams_are_told() {
    let site = Site::new("told", "300ms");
    site.edit(|config| config + "[stream]\nearly_commit = \"50ms\"\nheartbeat = \"50ms\"\n");
    let mut process = site.start();
    let model = |name: &str| format!("{{\"model\":\"demo-b/{name}\",\"stream\":true}}");
    let flows = open(&process.address, "POST", "/v1/chat/completions", &model("chunks-600x100"));
    let waits = open(&process.address, "POST", "/v1/chat/completions", &model("hang"));
    eventually("both run", || actors(&process.address)["connection/demo-b-1"]["inFlight"] == 2);
    // The head of the second is out when its first comment is.
    let mut first = [0; 1];
    assert_eq!(waits.peek(&mut first).unwrap(), 1);
    signal(&process);
    for stream in [flows, waits] {
        let (status, _, body) = read(stream);
        assert_eq!(status, 200, "{body}");
        assert_eq!(body.matches("\"draining\"").count(), 1, "{body}");
        assert!(!body.contains("[DONE]"), "{body}");
    }
    assert!(process.child.wait().unwrap().success());
}

#[test]
fn fc_060_orders_and_rests_survive_a_restart() {
    let site = Site::new("survive", "5s");
    let mut process = site.start();
    order(&process.address, "connection/demo-a-1", r#"{"message":"cool","for":"5days"}"#);
    order(&process.address, "connection/demo-a-2", r#"{"message":"drain"}"#);
    order(&process.address, "provider/demo-b", r#"{"message":"isolate"}"#);
    order(&process.address, "provider/claude-a", r#"{"message":"observe"}"#);
    order(&process.address, "provider/claude-b", r#"{"message":"trip","for":"1h"}"#);
    let until = |address: &str| {
        ["connection/demo-a-1", "provider/claude-b"].map(|actor| {
            let body = call(address, "GET", &format!("/api/actors/{actor}"), "").2;
            let field = if actor.starts_with("c") { "\"until\":" } else { "\"forced_until\":" };
            let text = body.split(field).nth(1).unwrap_or_else(|| panic!("{body}"));
            text.chars().take_while(char::is_ascii_digit).collect::<String>()
        })
    };
    let before = until(&process.address);
    signal(&process);
    assert!(process.child.wait().unwrap().success());
    let process = site.start();
    assert_eq!(until(&process.address), before, "to the same instants");
    let rows = actors(&process.address);
    let states = ["connection/demo-a-1", "connection/demo-a-2", "provider/demo-b", "provider/claude-a"];
    let states = states.map(|actor| rows[actor]["state"].as_str().unwrap().to_owned());
    assert_eq!(states, ["cooling", "draining", "isolated", "observe"]);
    assert_eq!(rows["provider/claude-b"]["state"], "open");
}

/// Until when each of these is out of use, or since when for good.
fn held(address: &str) -> [Value; 4] {
    let of = |name: &str| actor(address, name);
    [
        of("connection/demo-a-1")["snapshot"]["cooldown"]["until"].clone(),
        of("connection/claude-a-1")["snapshot"]["cooldown"]["until"].clone(),
        of("connection/demo-b-1")["snapshot"]["cooldown"]["terminal"].clone(),
        of("lockout/demo-a-2:family:status-404")["derived"]["expiresAt"].clone(),
    ]
}

#[test]
fn fc_060_what_failures_wrote_survives_a_kill_and_what_is_over_does_not() {
    let site = Site::with("kill", "[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = 600000\n");
    let mut process = site.start();
    let address = process.address.clone();
    assert_eq!(ask(&address, "demo-a/status-404").0, 404);
    assert_eq!(ask(&address, "demo-b/status-402").0, 502);
    let limited = r#"{"model":"claude-a/status-429-retry-432000"}"#;
    assert_eq!(call(&address, "POST", "/v1/messages", limited).0, 429);
    order(&address, "connection/claude-b-1", r#"{"message":"cool","for":"1ms"}"#);
    order(&address, "connection/demo-a-1", r#"{"message":"cool","for":"5days"}"#);
    let before = held(&address);
    assert!(before.iter().all(|value| !value.is_null()), "{before:?}");
    send("-KILL", &process);
    let _ = process.child.wait();
    let process = site.start();
    let address = process.address.as_str();
    assert_eq!(held(address), before, "verbatim");
    let names = ["demo-a-1", "demo-a-2", "claude-a-1", "claude-a-2", "demo-b-1", "claude-b-1"];
    let states = || {
        let rows = actors(address);
        names.map(|name| rows[&format!("connection/{name}")]["state"].as_str().unwrap().to_owned())
    };
    let known = ["cooling", "ready", "cooling", "cooling", "credits_exhausted", "ready"];
    assert_eq!(states(), known, "a rest that is over is none");
    assert_eq!(ask(address, "demo-a/status-404").0, 429, "the model is barred on one, the other rests");
    // A test of another model says nothing of these rests, but that the account is paid.
    for name in names {
        let path = format!("/api/providers/{name}/test");
        let (status, _, report) = call(address, "POST", &path, r#"{"model":"steady"}"#);
        assert!(status == 200 && report.contains("\"ok\":true"), "{name}: {status} {report}");
    }
    let known = ["cooling", "ready", "cooling", "cooling", "ready", "ready"];
    assert_eq!(states(), known);
    let after = held(address);
    assert_eq!([&after[0], &after[1], &after[3]], [&before[0], &before[1], &before[3]]);
}

#[test]
fn fc_125_a_second_start_on_the_same_store_fails_clearly() {
    let site = Site::new("second", "5s");
    let process = site.start();
    let second = site.command().stderr(std::process::Stdio::piped()).output().unwrap();
    let error = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{error}");
    assert!(error.contains(&site.path("store").display().to_string()), "{error}");
    assert!(error.contains("in use by another switchtower"), "{error}");
    assert_eq!(ask(&process.address, "demo-b/steady").0, 200, "the first one serves on");
}

/// Contract 1: the address keeps its old value, so what follows from it does too. Written as another
/// one, it once decided whether keys are required on the address that is still served.
#[test]
fn a_reload_that_names_another_address_changes_nobodys_access() {
    let site = Site::new("reload", "5s");
    let process = site.start();
    let config = std::fs::read_to_string(site.path("config.toml")).unwrap();
    std::fs::write(site.path("config.toml"), config.replace("127.0.0.1:0", "0.0.0.0:0")).unwrap();
    send("-HUP", &process);
    let log = || std::fs::read_to_string(site.path("log")).unwrap();
    eventually("the config is read again", || log().contains("the config was read again"));
    assert!(log().contains("server.listen"), "{}", log());
    let (status, _, body) = ask(&process.address, "demo-b/steady");
    assert_eq!(status, 200, "{body}");
}
