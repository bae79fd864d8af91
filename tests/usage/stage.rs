//! A switchtower with one vendor, two accounts of it, and two clients' keys that use one each.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::process::{Process, Site, eventually, operate, read};
use crate::support::Upstream;

/// The key that uses `p-1`, and the one that uses `p-2`.
pub const ALICE: &str = "sk-client-alice-0123456789";
pub const BOB: &str = "sk-client-bob-0123456789";

pub struct Stage {
    pub site: Site,
    pub vendor: Upstream,
    pub process: Process,
}

impl Stage {
    pub fn new(name: &str) -> Self {
        let vendor = Upstream::start("vendor");
        let mut text = format!(
            "[[providers]]\nid = \"p\"\nformat = [\"openai\", \"anthropic\", \"responses\"]\nbase_url = \"http://{}\"\n",
            vendor.address
        );
        for (id, name, key) in [("p-1", "alice", ALICE), ("p-2", "bob", BOB)] {
            text += &format!(
                "[[connections]]\nid = \"{id}\"\nprovider = \"p\"\ncredential = \"sk-{id}-0123456789\"\n\
                 [[keys]]\nname = \"{name}\"\nkey = \"{key}\"\nallowed_connections = [\"{id}\"]\n"
            );
        }
        let site = Site::with(&format!("usage-{name}"), &text);
        let process = site.start();
        Self { site, vendor, process }
    }

    /// A client's request, its answer unread. Without a key it is anonymous.
    pub fn open(&self, key: &str, path: &str, body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(&self.process.address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\nauthorization: Bearer {key}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// Asks and reads the answer; its status.
    pub fn ask(&self, key: &str, path: &str, model: &str) -> u16 {
        read(self.open(key, path, &json!({ "model": model }))).0
    }

    /// An operator's call: status and JSON.
    pub fn history(&self, query: &str) -> (u16, Value) {
        operate(&self.process.address, "GET", &format!("/api/usage/history{query}"), &Value::Null)
    }

    /// The rows of a good answer.
    #[track_caller]
    pub fn items(&self, query: &str) -> Vec<Value> {
        let (status, body) = self.history(query);
        assert_eq!(status, 200, "{body}");
        body["items"].as_array().unwrap().clone()
    }

    /// The only row there is, once so many requests are in it: an answer's count comes behind it.
    pub fn row(&self, requests: u64) -> Value {
        let counted = || self.items("").iter().map(|row| row["requests"].as_u64().unwrap()).sum::<u64>();
        eventually("every request is counted", || counted() >= requests);
        let mut items = self.items("");
        assert_eq!(items.len(), 1, "{items:?}");
        items.remove(0)
    }

    /// All that was said so far is on disk when this returns.
    pub fn flush(&self) {
        let all = json!({"all": true});
        let path = "/api/resilience/model-cooldowns";
        assert_eq!(operate(&self.process.address, "DELETE", path, &all).0, 200);
    }
}

/// These fields of a row.
pub fn fields<const N: usize>(row: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| row[name].as_u64().unwrap_or_else(|| panic!("no {name} in {row}")))
}
