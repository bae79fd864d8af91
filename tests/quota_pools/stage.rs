//! A switchtower with one vendor, three accounts of it, and two clients' keys.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::process::{Process, Site, operate, read};
use crate::support::Upstream;

/// Keys of clients: a plain one, and one that is limited to its pools.
pub const PLAIN: &str = "sk-client-plain-0123456789";
pub const LIMITED: &str = "sk-client-limited-0123456789";
/// What clients ask for.
pub const SHARED: &str = "qtSd/team/p/m";

pub struct Stage {
    pub site: Site,
    pub vendor: Upstream,
    pub process: Process,
}

/// What a client was told.
#[derive(Debug)]
pub struct Told {
    pub status: u16,
    pub head: String,
    pub body: Value,
}

impl Told {
    /// The code of an error.
    pub fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_default()
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Stage {
    /// `lines`: more of the config; each account may run `cap` requests at once.
    pub fn new(name: &str, cap: u32, lines: &str) -> Self {
        let vendor = Upstream::start("vendor");
        let mut text = format!(
            "{lines}\n[[providers]]\nid = \"p\"\nformat = [\"openai\", \"anthropic\"]\nbase_url = \"http://{}\"\n\
             models = [{{ id = \"m\", input_price = 1.0, output_price = 10.0 }}, \"vendor/n\"]\n",
            vendor.address
        );
        for id in ["p-1", "p-2", "p-3"] {
            text += &format!(
                "[[connections]]\nid = \"{id}\"\nprovider = \"p\"\ncredential = \"sk-{id}-0123456789\"\nmax_concurrent = {cap}\n"
            );
        }
        text += "[[providers]]\nid = \"other\"\nformat = \"openai\"\nbase_url = \"http://127.0.0.1:9\"\n\
                 [[connections]]\nid = \"other-1\"\nprovider = \"other\"\ncredential = \"sk-other-0123456789\"\n";
        for (name, key, limited) in [("plain", PLAIN, false), ("limited", LIMITED, true)] {
            text += &format!("[[keys]]\nname = \"{name}\"\nkey = \"{key}\"\nquota_only = {limited}\n");
        }
        let site = Site::with(&format!("pools-{name}"), &text);
        let process = site.start();
        Self { site, vendor, process }
    }

    /// Kills it as a crash does, and starts it again.
    pub fn crash(&mut self) {
        self.site.crash(&mut self.process);
    }

    /// An operator's call: status and JSON.
    pub fn api(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        operate(&self.process.address, method, path, body)
    }

    /// Makes the pool `team` of these accounts.
    #[track_caller]
    pub fn pool(&self, accounts: &[&str], allocations: Value, limits: Value) -> Value {
        let body = json!({
            "id": "team", "name": "Team", "connections": accounts, "allocations": allocations, "limits": limits,
        });
        let (status, pool) = self.api("POST", "/api/quota-pools", &body);
        assert_eq!(status, 201, "{pool}");
        pool
    }

    /// A client's request.
    pub fn send(&self, key: &str, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.process.address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\nauthorization: Bearer {key}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// Asks a model and leaves the answer unread.
    pub fn open(&self, key: &str, model: &str) -> TcpStream {
        self.send(key, "POST", "/v1/chat/completions", &json!({ "model": model }).to_string())
    }

    /// Asks a model.
    pub fn ask(&self, key: &str, model: &str) -> Told {
        told(self.open(key, model))
    }

    /// What a key sees in the list of models.
    pub fn models(&self, key: &str) -> Vec<String> {
        let list = told(self.send(key, "GET", "/v1/models", "")).body;
        list["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    }

    /// The accounts that the vendor saw, in order.
    pub fn seen(&self) -> Vec<String> {
        let account = |value: &str| value.trim_start_matches("Bearer sk-")[..3].to_owned();
        self.vendor.requests().iter().map(|asked| account(asked.header("authorization").unwrap())).collect()
    }
}

pub fn told(stream: TcpStream) -> Told {
    let (status, head, body) = read(stream);
    let body = serde_json::from_str(&body).unwrap_or(Value::Null);
    Told { status, head, body }
}
