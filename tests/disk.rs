//! A store that cannot be written (FC-120): requests go on from memory, operators are told, and what
//! waits is written when the disk works again. The process is given a limit on the size of its files,
//! which is what a full disk looks like to it, and which can be lifted while it runs.

mod process;

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use process::{Process, Site, actor, actors, ask, call, eventually, health, order};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// A switchtower that outlives SIGXFSZ, with its log in memory: a file would meet the limit too.
fn start(site: &Site) -> (Process, JoinHandle<String>) {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_switchtower"), "--config"]);
    command.arg(site.path("config.toml")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Process::of(&mut command);
    let mut stderr = process.child.stderr.take().unwrap();
    let log = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stderr.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    (process, log)
}

/// From now on no file of the process may be written past `bytes`.
fn limit(process: &Process, bytes: Option<u64>) {
    let pid = Pid::from_raw(process.child.id() as i32);
    prlimit(pid, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

fn metric(address: &str, name: &str) -> String {
    let (_, _, text) = call(address, "GET", "/metrics", "");
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
    line.rsplit(' ').next().unwrap().to_owned()
}

/// What anybody is told.
fn public_status(address: &str) -> String {
    let request =
        format!("GET /api/monitoring/health HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let body = process::read(stream).2;
    assert!(!body.contains("store"), "not for everybody: {body}");
    body
}

fn told(address: &str) -> (String, bool, String) {
    let health = health(address);
    let failing = health["store"]["failing"].as_bool().unwrap();
    (health["status"].as_str().unwrap().to_owned(), failing, metric(address, "switchtower_store_failing"))
}

const COOL: &str = r#"{"message":"cool","for":"1h"}"#;

#[test]
fn fc_120_a_store_that_cannot_be_written_stops_nobody_and_catches_up() {
    let site = Site::new("disk", "5s");
    let (process, log) = start(&site);
    let address = process.address.as_str();
    assert_eq!(told(address), ("healthy".into(), false, "0".into()));

    limit(&process, Some(0));
    order(address, "connection/demo-a-1", COOL);
    eventually("it is told", || told(address) == ("degraded".into(), true, "1".into()));
    assert!(public_status(address).contains(r#""status":"degraded""#));
    assert_eq!(actors(address)["store/store"]["state"], "failing");
    assert_eq!(actors(address)["connection/demo-a-1"]["state"], "cooling", "memory is what counts");
    for _ in 0..50 {
        assert_eq!(ask(address, "demo").0, 200);
        assert_eq!(ask(address, "demo-b/steady").0, 200);
    }
    order(address, "connection/demo-a-2", COOL);
    order(address, "provider/claude-b", r#"{"message":"isolate"}"#);
    assert_eq!(told(address).0, "degraded");

    limit(&process, None);
    eventually("it is well again", || told(address) == ("healthy".into(), false, "0".into()));
    assert!(public_status(address).contains(r#""status":"healthy""#));
    let wanted = ["connection/demo-a-1", "connection/demo-a-2"].map(|name| until(address, name));
    // Killed, so that only what was written by itself is there.
    let mut process = process;
    process.child.kill().unwrap();
    drop(process);
    let log = log.join().unwrap();
    assert!(!log.contains("panicked"), "{log}");
    for line in ["the store cannot be written; routing goes on from memory", "the store can be written again"]
    {
        assert_eq!(log.matches(line).count(), 1, "told once: {line}\n{log}");
    }
    let process = site.start();
    let address = process.address.as_str();
    assert_eq!(["connection/demo-a-1", "connection/demo-a-2"].map(|name| until(address, name)), wanted);
    assert_eq!(actors(address)["provider/claude-b"]["state"], "isolated");
}

fn until(address: &str, name: &str) -> u64 {
    actor(address, name)["snapshot"]["cooldown"]["until"].as_u64().unwrap()
}

/// With a disk that stays full the end is an end like any other, and the next start works.
#[test]
fn fc_120_a_stop_on_a_full_disk_is_clean_and_the_store_opens_again() {
    let site = Site::new("disk-stop", "5s");
    let (process, log) = start(&site);
    order(&process.address, "connection/demo-a-1", COOL);
    let written = until(&process.address, "connection/demo-a-1");
    limit(&process, Some(0));
    order(&process.address, "connection/demo-a-2", COOL);
    eventually("it is told", || told(&process.address).1);
    process.end();
    let log = log.join().unwrap();
    assert!(!log.contains("panicked"), "{log}");
    assert!(log.contains("the store could not be written at shutdown"), "{log}");
    let process = site.start();
    assert_eq!(until(&process.address, "connection/demo-a-1"), written, "what was written stays");
    assert_eq!(actors(&process.address)["connection/demo-a-2"]["state"], "ready", "what was not is lost");
}

/// A setting that cannot be stored is not applied either: what is in force is what a restart would bring.
#[test]
fn fc_120_a_setting_that_cannot_be_stored_is_refused_and_changes_nothing() {
    let site = Site::new("disk-settings", "5s");
    let (process, log) = start(&site);
    let address = process.address.as_str();
    let patch = |weight: u32| {
        let body = format!(r#"{{"p2cLatency":{{"weight":{weight}}}}}"#);
        call(address, "PATCH", "/api/resilience", &body)
    };
    let is_in_force = |weight: u32| {
        let (_, _, body) = call(address, "GET", "/api/resilience", "");
        body.contains(&format!(r#""p2cLatency":{{"weight":{weight}}}"#))
    };
    assert_eq!(patch(3).0, 200);
    limit(&process, Some(0));
    let (status, _, body) = patch(4);
    assert!(status == 503 && body.contains("service_unavailable"), "{status} {body}");
    assert!(is_in_force(3));
    assert_eq!(ask(address, "demo-b/steady").0, 200);
    limit(&process, None);
    assert_eq!(patch(5).0, 200);
    assert!(is_in_force(5));
    let mut process = process;
    process.child.kill().unwrap();
    drop(process);
    let log = log.join().unwrap();
    assert!(!log.contains("panicked") && log.contains("could not be stored"), "{log}");
    let process = site.start();
    let (_, _, body) = call(&process.address, "GET", "/api/resilience", "");
    assert!(body.contains(r#""p2cLatency":{"weight":5}"#), "{body}");
}
