//! switchtower as a process with the demo on, and a plain client: for what only a process
//! shows, its signals, its exit code and its files.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long anything may take before a test fails instead of hanging.
const LIMIT: Duration = Duration::from_secs(20);

/// A folder with a config and a store, removed with the test.
pub struct Site(PathBuf);

impl Site {
    /// `name` is the test's; the shutdown grace is a duration like `5s`.
    pub fn new(name: &str, grace: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("switchtower-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let config = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 2\nshutdown_grace = \"{grace}\"\n\
             [admin]\ntoken = \"process-test\"\n[store]\npath = \"store\"\nflush_interval = \"10ms\"\n\
             [demo]\nenabled = true\n"
        );
        fs::write(folder.join("config.toml"), config).unwrap();
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The binary on this site, with its log in a file.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchtower"));
        command.arg("--config").arg(self.path("config.toml"));
        command.stderr(fs::File::create(self.path("log")).unwrap()).stdout(Stdio::piped());
        command
    }

    pub fn start(&self) -> Process {
        Process::of(&mut self.command())
    }
}

/// What only some of the test files use.
#[allow(dead_code)]
impl Site {
    /// The same with these lines at the end of its config.
    pub fn with(name: &str, lines: &str) -> Self {
        let site = Self::new(name, "5s");
        site.edit(|config| config + lines);
        site
    }

    /// Kills a process of it as a crash does, and starts it again.
    #[allow(dead_code)]
    pub fn crash(&self, process: &mut Process) {
        process.signal("KILL");
        process.child.wait().unwrap();
        *process = self.start();
    }

    /// Changes the config.
    pub fn edit(&self, change: impl FnOnce(String) -> String) {
        let config = fs::read_to_string(self.path("config.toml")).unwrap();
        fs::write(self.path("config.toml"), change(config)).unwrap();
    }

    /// What the latest process has logged so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A running switchtower, killed with this value.
pub struct Process {
    pub child: Child,
    pub address: String,
}

/// What only some of the test files use.
#[allow(dead_code)]
impl Process {
    /// Sends it a signal, named as `kill` does.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    }

    /// Ends it as an operator does, and waits until it has gone.
    pub fn end(mut self) {
        self.signal("TERM");
        assert!(self.child.wait().unwrap().success());
    }
}

impl Process {
    /// Starts a command that says where it listens.
    pub fn of(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").expect("its first line").to_owned();
        Self { child, address }
    }
}

/// The scripted upstream as a process of its own: its address outlives a switchtower.
#[allow(dead_code)]
pub struct Scripted(pub Process);

#[allow(dead_code)]
impl Scripted {
    pub fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchtower"));
        Self(Process::of(command.args(["demo-upstream"]).stdout(Stdio::piped()).stderr(Stdio::null())))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request and leaves the answer unread.
pub fn open(address: &str, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: process\r\nconnection: close\r\n\
         authorization: Bearer process-test\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// The rest of an answer: status, head, body. A cut shows as what came before it.
pub fn read(mut stream: TcpStream) -> (u16, String, String) {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    (status, head.to_lowercase(), body.to_owned())
}

/// A whole exchange.
pub fn call(address: &str, method: &str, path: &str, body: &str) -> (u16, String, String) {
    read(open(address, method, path, body))
}

/// An operator's call: status and JSON.
#[allow(dead_code)]
pub fn operate(address: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let (status, _, text) = call(address, method, path, &body);
    (status, json_of(&text))
}

/// Asks a model.
#[allow(dead_code)]
pub fn ask(address: &str, model: &str) -> (u16, String, String) {
    call(address, "POST", "/v1/chat/completions", &json!({ "model": model }).to_string())
}

/// Gives an actor an order.
#[allow(dead_code)]
pub fn order(address: &str, actor: &str, message: &str) {
    let (status, _, body) = call(address, "POST", &format!("/api/actors/{actor}/messages"), message);
    assert!(matches!(status, 200 | 503), "{actor} {message}: {status} {body}");
}

/// Every actor, by `kind/id`.
#[allow(dead_code)]
pub fn actors(address: &str) -> std::collections::BTreeMap<String, Value> {
    let (_, _, body) = call(address, "GET", "/api/actors", "");
    let all = json_of(&body);
    let rows = all["actors"].as_array().unwrap().iter();
    let name = |row: &Value| format!("{}/{}", row["kind"].as_str().unwrap(), row["id"].as_str().unwrap());
    rows.map(|row| (name(row), row.clone())).collect()
}

/// Waits until `condition` holds.
#[allow(dead_code)]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < LIMIT, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// One actor's whole state.
#[allow(dead_code)]
pub fn actor(address: &str, name: &str) -> Value {
    json_of(&call(address, "GET", &format!("/api/actors/{name}"), "").2)
}

/// What health says to an operator.
#[allow(dead_code)]
pub fn health(address: &str) -> Value {
    json_of(&call(address, "GET", "/api/monitoring/health", "").2)
}

/// An answer's JSON, without the sizes of its chunks.
fn json_of(body: &str) -> Value {
    let body = &body[body.find('{').unwrap()..=body.rfind('}').unwrap()];
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

/// Lets clients that watch it end, also when the test fails.
#[allow(dead_code)]
pub struct Over<'a>(pub &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
