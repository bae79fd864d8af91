//! A switchtower with one vendor, three accounts of it, two managed keys and a plain one.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::process::{Process, Site, operate, read};
use crate::support::Upstream;

/// A managed key of `c-1` and `c-2`, and another one of the same.
pub const KA: &str = "sk-managed-a-0123456789";
pub const KB: &str = "sk-managed-b-0123456789";
/// A managed key of `c-1` alone.
pub const KC: &str = "sk-managed-c-0123456789";
/// A key without the scope.
pub const PLAIN: &str = "sk-client-plain-0123456789";

/// Owners.
pub const OA: &str = "vlo_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
pub const OB: &str = "vlo_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB";
pub const OC: &str = "vlo_CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC";

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
    /// Status and code of an error.
    pub fn code(&self) -> (u16, &str) {
        (self.status, self.body["error"]["code"].as_str().unwrap_or_default())
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The connection that answered.
    pub fn by(&self) -> &str {
        self.header("x-omniroute-selected-connection-id").unwrap_or_default()
    }
}

impl Stage {
    pub fn new(name: &str) -> Self {
        Self::with(name, "")
    }

    /// `lines`: what each account's table has besides.
    pub fn with(name: &str, lines: &str) -> Self {
        Self::of(name, lines, "")
    }

    /// `tables`: what the config has besides.
    pub fn of(name: &str, lines: &str, tables: &str) -> Self {
        let vendor = Upstream::start("vendor");
        let mut text = format!(
            "[[providers]]\nid = \"p\"\nformat = [\"openai\", \"anthropic\", \"responses\"]\n\
             base_url = \"http://{}\"\nmodels = [\"m\", \"n\"]\n",
            vendor.address
        );
        for id in ["c-1", "c-2", "c-3"] {
            text += &format!(
                "[[connections]]\nid = \"{id}\"\nname = \"Account {id}\"\nprovider = \"p\"\n\
                 credential = \"sk-{id}-0123456789\"\n{lines}\n"
            );
        }
        for (name, key, list) in
            [("ka", KA, r#""c-1", "c-2""#), ("kb", KB, r#""c-1", "c-2""#), ("kc", KC, r#""c-1""#)]
        {
            text += &format!(
                "[[keys]]\nname = \"{name}\"\nkey = \"{key}\"\nscopes = [\"inference\", \"lease:exclusive\"]\n\
                 allowed_connections = [{list}]\n"
            );
        }
        text += &format!("[[keys]]\nname = \"plain\"\nkey = \"{PLAIN}\"\n");
        text += tables;
        let site = Site::with(&format!("leases-{name}"), &text);
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

    /// A client's request; `headers` are lines that end in CRLF.
    pub fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.process.address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// An action of a lease.
    pub fn lease(&self, key: &str, owner: &str, body: Value) -> Told {
        let headers = format!("{}content-type: application/json\r\n{}", bearer(key), named(owner, None));
        told(self.send("POST", "/v1/session-leases", &headers, &body.to_string()))
    }

    pub fn acquire(&self, key: &str, owner: &str) -> Told {
        self.lease(key, owner, json!({"action": "acquire", "model": "p/m"}))
    }

    pub fn renew(&self, key: &str, owner: &str, generation: u64) -> Told {
        self.lease(key, owner, json!({"action": "renew", "generation": generation}))
    }

    pub fn release(&self, key: &str, owner: &str, generation: u64) -> Told {
        self.lease(key, owner, json!({"action": "release", "generation": generation}))
    }

    /// The account that a lease is of.
    pub fn account(&self, key: &str, owner: &str, generation: u64) -> String {
        let status = self.lease(key, owner, json!({"action": "status", "generation": generation}));
        assert_eq!(status.status, 200, "{status:?}");
        status.body["connection"]["displayName"].as_str().unwrap().to_owned()
    }

    /// A model's request under a lease; the answer is left unread.
    pub fn open(&self, key: &str, lease: Option<(&str, u64)>, body: &Value) -> TcpStream {
        let context = lease.map(|(owner, generation)| named(owner, Some(&generation.to_string())));
        let headers = bearer(key) + &context.unwrap_or_default();
        self.send("POST", "/v1/chat/completions", &headers, &body.to_string())
    }

    /// A model's request under a lease.
    pub fn ask(&self, key: &str, lease: Option<(&str, u64)>) -> Told {
        told(self.open(key, lease, &json!({"model": "p/m"})))
    }

    /// Requests in flight on an account.
    pub fn in_flight(&self, connection: &str) -> u64 {
        let name = format!("connection/{connection}");
        crate::process::actor(&self.process.address, &name)["inFlight"].as_u64().unwrap()
    }

    /// Lets an account rest.
    pub fn cool(&self, connection: &str) {
        crate::process::order(
            &self.process.address,
            &format!("connection/{connection}"),
            r#"{"message":"cool","for":"60s"}"#,
        );
    }
}

pub fn bearer(key: &str) -> String {
    format!("authorization: Bearer {key}\r\n")
}

/// The headers that name a lease.
pub fn named(owner: &str, generation: Option<&str>) -> String {
    let generation = generation.map(|number| format!("X-OmniRoute-Lease-Generation: {number}\r\n"));
    format!("X-OmniRoute-Lease-Owner: {owner}\r\n{}", generation.unwrap_or_default())
}

pub fn told(stream: TcpStream) -> Told {
    let (status, head, body) = read(stream);
    let body = serde_json::from_str(&body).unwrap_or(Value::Null);
    Told { status, head, body }
}

/// Epoch ms of an instant in an answer.
pub fn instant(value: &Value) -> i64 {
    value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond()
}
