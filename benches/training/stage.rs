//! The stage: the scripted upstream, and a switchtower with little and one with much to decide.

use std::io::{Error, Result};
use std::net::SocketAddr;
use std::rc::Rc;
use std::{env, fs};

use super::folder::Folder;
use super::load::Shot;
use super::process::{LOAD_CORE, PROXY_CORE, Process};

const SERVER: &str = r#"
[server]
listen = "127.0.0.1:0"
workers = 1
[store]
path = "store-${NAME}"
"#;

/// A provider of each dialect, with one account.
const PROVIDERS: &str = r#"
[[providers]]
id = "chat"
auth = "apikey"
format = "openai"
base_url = "http://${UP}/v1"
[[connections]]
id = "chat-1"
provider = "chat"
credential = "training"
[[providers]]
id = "messages"
auth = "apikey"
format = "anthropic"
base_url = "http://${UP}/v1"
[[connections]]
id = "messages-1"
provider = "messages"
credential = "training"
[[providers]]
id = "responses"
auth = "apikey"
format = "responses"
base_url = "http://${UP}/v1"
[[connections]]
id = "responses-1"
provider = "responses"
credential = "training"
"#;

/// Keys, more accounts with gates, and combos: one whose first target fails every other time, which
/// neither rests nor opens its breaker, and one that spreads.
const FURNITURE: &str = r#"
[[keys]]
name = "training"
key = "training-key-0123456789abcdef0123456789abcdef"
[[connections]]
id = "chat-2"
provider = "chat"
credential = "training-2"
max_concurrent = 256
[[connections]]
id = "chat-3"
provider = "chat"
credential = "training-3"
max_concurrent = 256
[[providers]]
id = "failing"
auth = "apikey"
format = "openai"
base_url = "http://${UP}/v1"
[[connections]]
id = "failing-1"
provider = "failing"
credential = "training"
provider_specific = { disable_cooling = true }
[[combos]]
name = "flaky"
targets = [{ provider = "failing", model = "flaky-50" }, { provider = "chat", model = "steady" }]
[[combos]]
name = "spread"
strategy = "round-robin"
targets = [{ provider = "chat", model = "steady" }, { provider = "chat", model = "other" }]
"#;

/// How a dialect is asked.
pub struct Ask {
    path: &'static str,
    provider: &'static str,
    // what stands around the prompt
    before: &'static str,
    after: &'static str,
}

/// OpenAI's chat completions.
pub const CHAT: Ask = Ask {
    path: "/v1/chat/completions",
    provider: "chat",
    before: r#""messages":[{"role":"user","content":""#,
    after: r#""}]"#,
};
/// Anthropic's messages.
pub const MESSAGES: Ask = Ask {
    path: "/v1/messages",
    provider: "messages",
    before: r#""max_tokens":256,"messages":[{"role":"user","content":""#,
    after: r#""}]"#,
};
/// OpenAI's responses.
pub const RESPONSES: Ask =
    Ask { path: "/v1/responses", provider: "responses", before: r#""input":""#, after: r#"""# };

/// What both towers share.
pub struct Stage {
    program: String,
    up: SocketAddr,
    // after what stands before it: fields are dropped in order
    _upstream: Process,
    folder: Folder,
}

/// A switchtower that is trained.
pub struct Tower {
    /// What the output calls it.
    pub name: &'static str,
    /// The combos that it has.
    pub combos: &'static [&'static str],
    address: SocketAddr,
    // ends with the tower, and writes its profile then
    _process: Process,
}

impl Stage {
    /// Starts the upstream.
    pub fn set() -> Result<Self> {
        let folder = Folder::make("training")?;
        let program = env::var("SWITCHTOWER_BIN").unwrap_or(env!("CARGO_BIN_EXE_switchtower").into());
        let arguments = ["demo-upstream", "--no-log", "--listen", "127.0.0.1:0"];
        let (upstream, up) = Process::start(LOAD_CORE, &program, &arguments)?;
        Ok(Self { program, up, _upstream: upstream, folder })
    }

    /// An account at each provider, and no more.
    pub fn bare(&self) -> Result<Tower> {
        self.tower("bare", "", &[])
    }

    /// Keys, gates, several accounts and combos.
    pub fn furnished(&self) -> Result<Tower> {
        self.tower("furnished", FURNITURE, &["flaky", "spread"])
    }

    fn tower(&self, name: &'static str, more: &str, combos: &'static [&'static str]) -> Result<Tower> {
        let file = self.folder.0.join(format!("{name}.toml"));
        let config = [SERVER, PROVIDERS, more].concat();
        fs::write(&file, config.replace("${NAME}", name).replace("${UP}", &self.up.to_string()))?;
        let file = file.to_str().ok_or_else(|| Error::other(format!("{} is no text", file.display())))?;
        let (process, address) = Process::start(PROXY_CORE, &self.program, &["serve", "--config", file])?;
        Ok(Tower { name, combos, address, _process: process })
    }
}

impl Tower {
    /// What a client calls a model of the upstream in this dialect.
    pub fn model(&self, ask: &Ask, model: &str) -> String {
        format!("{}/{model}", ask.provider)
    }

    /// A request in a body of at least `body_bytes`.
    pub fn shot(&self, ask: &Ask, model: &str, stream: bool, body_bytes: usize) -> Shot {
        let Ask { path, before, after, .. } = ask;
        let body = |padding: usize| {
            let words = "word ".repeat(padding.div_ceil(5));
            let text = format!("What does a proxy cost? {}", &words[..padding]);
            format!(r#"{{"model":"{model}","stream":{stream},{before}{text}{after}}}"#)
        };
        let body = body(body_bytes.saturating_sub(body(0).len()));
        let (address, length) = (self.address, body.len());
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nuser-agent: training\r\naccept: */*\r\n\
             authorization: Bearer training-key-0123456789abcdef0123456789abcdef\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        Shot { address, request: Rc::from(request.into_bytes()) }
    }
}
