//! The stage: the scripted upstream with its log, and a switchtower for each act.
//!
//! Every act has a process of its own, so that nothing one act taught it helps the next.

use std::cell::Cell;
use std::io::{Error, Result};
use std::net::SocketAddr;
use std::path::Path;
use std::{env, fs};

use serde_json::Value;

use super::folder::Folder;
use super::process::{LOAD_CORE, PROXY_CORE, Process};
use super::wire::Wire;

const HEAD: &str = r#"
[server]
listen = "127.0.0.1:0"
workers = 1
[store]
path = "store-${ACT}"
"#;

/// A provider of one account at the scripted upstream; it ends open, for more keys of the account.
const ACCOUNT: &str = r#"
[[providers]]
id = "${ID}"
auth = "apikey"
format = "openai"
base_url = "http://${UP}/v1"
[[connections]]
id = "${ID}-1"
provider = "${ID}"
credential = "demo-${ID}-1"
"#;

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

impl Stage {
    /// Starts the upstream.
    pub fn set() -> Result<Self> {
        let folder = Folder::make("flood")?;
        let program = env::var("SWITCHTOWER_BIN").unwrap_or(env!("CARGO_BIN_EXE_switchtower").into());
        let (upstream, up) =
            Process::start(LOAD_CORE, &program, &["demo-upstream", "--listen", "127.0.0.1:0"])?;
        Ok(Self { program, up, acts: Cell::new(0), _upstream: upstream, folder })
    }

    /// The text of a provider's account, with more keys of its connection.
    pub fn account(&self, id: &str, keys: &str) -> String {
        ACCOUNT.replace("${ID}", id).replace("${UP}", &self.up.to_string()) + keys + "\n"
    }

    /// Starts a switchtower with these sections.
    pub fn tower(&self, sections: &str) -> Result<Tower> {
        self.acts.set(self.acts.get() + 1);
        let act = self.acts.get().to_string();
        let file = self.folder.0.join(format!("config-{act}.toml"));
        fs::write(&file, HEAD.replace("${ACT}", &act) + sections)?;
        let (process, address) =
            Process::start(PROXY_CORE, &self.program, &["serve", "--config", text(&file)?])?;
        Ok(Tower { address, process })
    }

    /// What the upstream got since it was last asked.
    pub async fn log(&self) -> Result<Vec<Value>> {
        let mut wire = Wire::dial(self.up).await?;
        let mut page = Vec::new();
        wire.ask(&request("GET", "/demo/log", "", ""), |chunk| page.extend_from_slice(chunk)).await?;
        wire.reply(&request("DELETE", "/demo/log", "", ""), |_| {}).await?;
        let mut page: Value = serde_json::from_slice(&page).map_err(Error::other)?;
        match page["requests"].take() {
            Value::Array(requests) => Ok(requests),
            other => Err(Error::other(format!("a log that is {other}"))),
        }
    }
}

/// A request as bytes; `headers` are lines that end in CRLF.
pub fn request(method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("{method} {path} HTTP/1.1\r\nhost: s\r\n{headers}content-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// A chat request for `model` that says who sends it.
pub fn chat(model: &str, who: &str) -> Vec<u8> {
    let body = format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"Is there room?"}}]}}"#);
    let headers = format!("user-agent: {who}\r\ncontent-type: application/json\r\n");
    request("POST", "/v1/chat/completions", &headers, &body)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| Error::other(format!("{} is no text", path.display())))
}
