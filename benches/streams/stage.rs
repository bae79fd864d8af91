//! The stage: the scripted upstream, a switchtower for each act, and a look into it.
//!
//! Every act has a process of its own, so that its memory is nobody else's.

use std::cell::Cell;
use std::io::{Error, Result};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

use serde_json::Value;

use super::folder::Folder;
use super::process::{LOAD_CORE, PROXY_CORE, Process};
use super::wire::Wire;

/// Failures are half of what is sent here, and must keep nobody away.
const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
workers = 1
write_stall_timeout = "2s"
[store]
path = "store-${ACT}"
[[providers]]
id = "up"
auth = "apikey"
format = "openai"
base_url = "http://${UP}/v1"
[[connections]]
id = "up-1"
provider = "up"
credential = "bench"
provider_specific = { disable_cooling = true }
"#;

/// How long a process may need to see that nobody is there any more.
const QUIET: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(50);

/// What all acts share.
pub struct Stage {
    program: String,
    up: SocketAddr,
    acts: Cell<u32>,
    // after what stands before it: fields are dropped in order
    _upstream: Process,
    folder: Folder,
}

/// One act's switchtower.
pub struct Tower {
    /// Where it listens.
    pub address: SocketAddr,
    /// Itself.
    pub process: Process,
}

/// What somebody still holds or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Slots of connections.
    pub in_flight: u64,
    /// Requests that wait at a gate.
    pub waiting: u64,
    /// Messages that wait for an actor.
    pub messages: u64,
}

impl Stage {
    /// Starts the upstream.
    pub fn set() -> Result<Self> {
        let folder = Folder::make("streams")?;
        let program = env::var("SWITCHTOWER_BIN").unwrap_or(env!("CARGO_BIN_EXE_switchtower").into());
        let arguments = ["demo-upstream", "--no-log", "--listen", "127.0.0.1:0"];
        let (upstream, up) = Process::start(LOAD_CORE, &program, &arguments)?;
        Ok(Self { program, up, acts: Cell::new(0), _upstream: upstream, folder })
    }

    /// Starts a switchtower whose provider's breaker counts and never refuses.
    pub async fn tower(&self) -> Result<Tower> {
        self.acts.set(self.acts.get() + 1);
        let act = self.acts.get().to_string();
        let file = self.folder.0.join(format!("config-{act}.toml"));
        fs::write(&file, CONFIG.replace("${ACT}", &act).replace("${UP}", &self.up.to_string()))?;
        let (process, address) =
            Process::start(PROXY_CORE, &self.program, &["serve", "--config", text(&file)?])?;
        let tower = Tower { address, process };
        tower.ask("POST", "/api/actors/provider/up/messages", r#"{"message":"observe"}"#).await?;
        Ok(tower)
    }
}

impl Tower {
    async fn ask(&self, method: &str, path: &str, body: &str) -> Result<Value> {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: s\r\nauthorization: Bearer bench\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let mut page = Vec::new();
        let mut wire = Wire::dial(self.address).await?;
        wire.ask(request.as_bytes(), |chunk| page.extend_from_slice(chunk)).await?;
        serde_json::from_slice(&page).map_err(Error::other)
    }

    /// What is held now.
    pub async fn held(&self) -> Result<Held> {
        let actors = self.ask("GET", "/api/actors", "").await?;
        let health = self.ask("GET", "/api/monitoring/health", "").await?;
        let rows = actors["actors"].as_array().ok_or_else(|| Error::other("no actors"))?;
        let connections = rows.iter().filter(|row| row["kind"] == "connection");
        let waiting = health["gates"]["queued"].as_u64().ok_or_else(|| Error::other("no gates"))?;
        Ok(Held {
            in_flight: connections.filter_map(|row| row["inFlight"].as_u64()).sum(),
            waiting,
            messages: rows.iter().filter_map(|row| row["mailbox"]["len"].as_u64()).sum(),
        })
    }

    /// Waits until nothing is held; what is, if that never comes, and how long it took.
    pub async fn quiet(&self) -> Result<(Held, Duration)> {
        let began = Instant::now();
        loop {
            let held = self.held().await?;
            if held.is_nothing() || began.elapsed() > QUIET {
                return Ok((held, began.elapsed()));
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Held {
    /// Nobody holds anything.
    pub fn is_nothing(self) -> bool {
        self == Self { in_flight: 0, waiting: 0, messages: 0 }
    }

    /// One line of the report.
    pub fn print(self, what: &str) {
        let Self { in_flight, waiting, messages } = self;
        verdict(
            self.is_nothing(),
            &format!("{what}: {in_flight} in flight, {waiting} waiting, {messages} messages (budget: none)"),
        );
    }
}

/// One line of the report, and whether it is as it should be.
pub fn verdict(met: bool, line: &str) {
    let word = if met { "ok" } else { "MISSED" };
    println!("{word:>6}  {line}");
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| Error::other(format!("{} is no text", path.display())))
}
