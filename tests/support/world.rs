//! A switchtower made from a config text, and the fake vendors that its config names.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use switchtower::app;
use switchtower::settings::{Stored, load_with};
use tokio::sync::oneshot;

use super::client::{Reply, Wire, post, request_bytes};
use super::upstream::Upstream;

const TOKEN: &str = "admin-token-of-the-tests";
const ALL_FORMATS: &str = r#"["openai", "anthropic", "responses"]"#;

/// The credential of a connection.
pub fn credential(connection: &str) -> String {
    format!("credential-{connection}-0123456789")
}

/// A config in the making.
#[derive(Default)]
pub struct Setup {
    server: String,
    rest: String,
    upstreams: BTreeMap<String, Upstream>,
    variables: Vec<(String, String)>,
}

impl Setup {
    pub fn new() -> Self {
        Self::default()
    }

    /// A line of `[server]`.
    pub fn server(mut self, line: &str) -> Self {
        self.server.push_str(&format!("{line}\n"));
        self
    }

    /// Sections or entities of their own.
    pub fn section(mut self, text: &str) -> Self {
        self.rest.push_str(&format!("{text}\n"));
        self
    }

    /// An environment variable of the binary.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// A provider that speaks all dialects, with connections `<id>-1`, ...
    pub fn provider(self, id: &str, connections: usize) -> Self {
        self.provider_with(id, connections, &format!("format = {ALL_FORMATS}"))
    }

    /// A provider of one account that takes so many requests at once.
    pub fn provider_capped(mut self, id: &str, cap: u32) -> Self {
        self = self.provider(id, 1);
        self.rest.push_str(&format!("max_concurrent = {cap}\n"));
        self
    }

    /// A provider with its keys given; `format` is one of them.
    pub fn provider_with(self, id: &str, connections: usize, keys: &str) -> Self {
        self.provider_at(id, connections, keys, Upstream::start(id))
    }

    /// A provider that refuses connections.
    pub fn refusing(self, id: &str) -> Self {
        self.provider_at(id, 1, &format!("format = {ALL_FORMATS}"), Upstream::refusing())
    }

    fn provider_at(mut self, id: &str, connections: usize, keys: &str, upstream: Upstream) -> Self {
        let address = upstream.address;
        self.rest.push_str(&format!(
            "[[providers]]\nid = \"{id}\"\nauth = \"apikey\"\nbase_url = \"http://{address}\"\n{keys}\n"
        ));
        for number in 1..=connections {
            let connection = format!("{id}-{number}");
            let credential = credential(&connection);
            self.rest.push_str(&format!(
                "[[connections]]\nid = \"{connection}\"\nprovider = \"{id}\"\ncredential = \"{credential}\"\n"
            ));
        }
        self.upstreams.insert(id.into(), upstream);
        self
    }

    /// A priority combo over `provider/x` of these providers that neither retries nor waits.
    pub fn combo(self, name: &str, providers: &[&str]) -> Self {
        self.combo_with(name, providers, "max_retries = 0, combo_cooldown_wait_enabled = false")
    }

    /// The same with its config given.
    pub fn combo_with(mut self, name: &str, providers: &[&str], config: &str) -> Self {
        let targets: Vec<String> =
            providers.iter().map(|provider| format!("{{ model = \"{provider}/x\" }}")).collect();
        self.rest.push_str(&format!(
            "[[combos]]\nname = \"{name}\"\nstrategy = \"priority\"\ntargets = [{}]\nconfig = {{ {config} }}\n",
            targets.join(", ")
        ));
        self
    }

    fn write(&self, folder: &Path) -> PathBuf {
        let server = &self.server;
        let text = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\nshutdown_grace = \"100ms\"\n{server}\
             [admin]\ntoken = \"{TOKEN}\"\n[store]\npath = \"data\"\n{}",
            self.rest
        );
        let path = folder.join("config.toml");
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Starts switchtower in this process, on a thread of its own.
    pub fn start(self) -> World {
        let folder = Folder::new();
        let config = self.write(&folder.0);
        let (told, address) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || serve(&config, &told, stopped));
        let address = address.recv().expect("switchtower did not start");
        World { address, upstreams: self.upstreams, stop: Some(stop), thread: Some(thread), folder }
    }

    /// Starts the binary, with a log of everything on stderr.
    pub fn spawn(self) -> Child {
        let folder = Folder::new();
        let config = self.write(&folder.0);
        let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_switchtower"))
            .arg("--config")
            .arg(&config)
            .env("RUST_LOG", "trace")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = process.stderr.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut text = Vec::new();
            log.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").expect("its address").parse().unwrap();
        Child { address, upstreams: self.upstreams, process, reader: Some(reader), folder, config }
    }
}

fn serve(config: &Path, told: &std::sync::mpsc::Sender<SocketAddr>, stopped: oneshot::Receiver<()>) {
    let loaded =
        load_with(config, &|_| None, &policy::strategy::names(), &app::builtin(), &Stored::default())
            .unwrap_or_else(|findings| panic!("{findings:#?}"));
    actix_rt::System::new().block_on(async {
        let running = app::start(loaded, config).await.unwrap();
        told.send(running.address).unwrap();
        // The world's end drops the sender, which is as good as a word.
        let _ = stopped.await;
        app::stop(running).await;
    });
}

/// A folder of a test's own, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("switchtower-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind is in the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running switchtower with its fake vendors; it stops with the test.
pub struct World {
    pub address: SocketAddr,
    upstreams: BTreeMap<String, Upstream>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    #[expect(dead_code, reason = "removed when dropped")]
    folder: Folder,
}

impl Drop for World {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "switchtower panicked");
        }
    }
}

impl World {
    /// The fake vendor of a provider.
    pub fn upstream(&self, provider: &str) -> &Upstream {
        &self.upstreams[provider]
    }

    /// Asks a model in OpenAI's dialect, not streamed.
    pub fn ask(&self, model: &str) -> Reply {
        self.post("/v1/chat/completions", json!({ "model": model }))
    }

    /// Asks for a stream.
    pub fn ask_streamed(&self, model: &str) -> Reply {
        self.post("/v1/chat/completions", json!({ "model": model, "stream": true }))
    }

    /// Posts a JSON body and reads the whole reply.
    pub fn post(&self, path: &str, body: Value) -> Reply {
        post(self.address, path, "", body.to_string().as_bytes())
    }

    /// Sends a request and leaves the reply unread.
    pub fn open(&self, path: &str, body: &Value) -> Wire {
        let mut wire = Wire::open(self.address);
        wire.send(&request_bytes("POST", path, "", body.to_string().as_bytes()));
        wire
    }

    /// Reads a page.
    pub fn get(&self, path: &str, headers: &str) -> Reply {
        get(self.address, path, headers)
    }

    /// Reads a page of the management API.
    pub fn admin(&self, path: &str) -> Reply {
        admin(self.address, path)
    }

    /// An operator's request.
    pub fn manage(&self, method: &str, path: &str, body: &Value) -> Reply {
        let mut wire = Wire::open(self.address);
        wire.send(&request_bytes(method, path, &authorised(), body.to_string().as_bytes()));
        wire.reply()
    }

    /// What an actor derives for now.
    pub fn derived(&self, kind: &str, id: &str) -> Value {
        self.admin(&format!("/api/actors/{kind}/{id}")).json()["derived"].clone()
    }

    /// Failures on the provider's breaker.
    pub fn failures(&self, provider: &str) -> u64 {
        self.derived("provider", provider)["failureCount"].as_u64().unwrap()
    }

    /// The connection's state as its owner has it.
    pub fn snapshot(&self, connection: &str) -> Value {
        self.admin(&format!("/api/actors/connection/{connection}")).json()["snapshot"].clone()
    }

    /// Requests in flight on a connection.
    pub fn in_flight(&self, connection: &str) -> u64 {
        self.admin(&format!("/api/actors/connection/{connection}")).json()["inFlight"].as_u64().unwrap()
    }

    /// Gives an actor an order.
    pub fn order(&self, kind: &str, id: &str, message: Value) -> Reply {
        let path = format!("/api/actors/{kind}/{id}/messages");
        post(self.address, &path, &authorised(), message.to_string().as_bytes())
    }
}

fn authorised() -> String {
    format!("authorization: Bearer {TOKEN}\r\n")
}

/// Asks with a GET.
pub fn get(address: SocketAddr, path: &str, headers: &str) -> Reply {
    let mut wire = Wire::open(address);
    wire.send(&request_bytes("GET", path, headers, b""));
    wire.reply()
}

fn admin(address: SocketAddr, path: &str) -> Reply {
    let reply = get(address, path, &authorised());
    assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    reply
}

/// A switchtower as a process.
pub struct Child {
    pub address: SocketAddr,
    upstreams: BTreeMap<String, Upstream>,
    process: std::process::Child,
    reader: Option<JoinHandle<String>>,
    #[expect(dead_code, reason = "removed when dropped")]
    folder: Folder,
    config: PathBuf,
}

impl Child {
    /// The fake vendor of a provider.
    pub fn upstream(&self, provider: &str) -> &Upstream {
        &self.upstreams[provider]
    }

    /// Reads a page of the management API.
    pub fn admin(&self, path: &str) -> Reply {
        admin(self.address, path)
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Ends it with SIGTERM; its log and a dump of its store.
    pub fn end(&mut self) -> (String, String) {
        let id = self.process.id().to_string();
        std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(self.process.wait().unwrap().success());
        let log = self.reader.take().unwrap().join().unwrap();
        let dump = std::process::Command::new(env!("CARGO_BIN_EXE_switchtower"))
            .args(["store", "dump", "--config"])
            .arg(&self.config)
            .output()
            .unwrap();
        assert!(dump.status.success());
        (log, String::from_utf8_lossy(&dump.stdout).into_owned())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Already ended is the good case.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
