//! The end of a process and the next start: what clients see while it drains, what survives,
//! and a second start on the same store (FC-060, FC-062, FC-125).

mod process;

use std::process::Command;
use std::time::{Duration, Instant};

use process::{Site, actors, ask, call, eventually, open, order, read};

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
