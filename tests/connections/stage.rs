//! A switchtower with one vendor of ours, whose file has one connection of it.

use serde_json::Value;

use crate::process::{self, Process, Site, operate};
use crate::support::Upstream;

/// What the file gives its connection.
pub const FILE_KEY: &str = "sk-file-0123456789-file";
/// What operators give theirs.
pub const KEY: &str = "sk-canary-0123456789-ABCD";
pub const OTHER_KEY: &str = "sk-canary-9876543210-WXYZ";

pub struct Stage {
    pub site: Site,
    pub vendor: Upstream,
    pub process: Process,
}

/// A site whose provider `p` is the vendor, with the connection `p-file`; `o` has OAuth accounts and
/// `l` is local.
pub fn site(name: &str, vendor: &Upstream) -> Site {
    let provider = |id: &str, auth: &str| {
        let address = vendor.address;
        format!(
            "[[providers]]\nid = \"{id}\"\nauth = \"{auth}\"\nformat = \"openai\"\nbase_url = \"http://{address}\"\n"
        )
    };
    let lines = [
        "[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = 60000\n".to_owned(),
        provider("p", "apikey"),
        provider("o", "oauth"),
        provider("l", "local"),
        format!(
            "[[connections]]\nid = \"p-file\"\nprovider = \"p\"\ncredential = \"{FILE_KEY}\"\nheaders = {{ x-team = \"blue\" }}\n"
        ),
    ];
    Site::with(&format!("connections-{name}"), &lines.concat())
}

impl Stage {
    pub fn new(name: &str) -> Self {
        let vendor = Upstream::start("vendor");
        let site = site(name, &vendor);
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

    pub fn get(&self, path: &str) -> Value {
        let (status, body) = self.api("GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// A connection as it is shown.
    pub fn shown(&self, id: &str) -> Value {
        self.get(&format!("/api/providers/{id}"))["connection"].clone()
    }

    /// Makes a connection.
    #[track_caller]
    pub fn make(&self, body: Value) -> Value {
        let (status, answer) = self.api("POST", "/api/providers", &body);
        assert_eq!(status, 201, "{answer}");
        answer["connection"].clone()
    }

    /// Changes a connection.
    #[track_caller]
    pub fn patch(&self, id: &str, body: Value) -> Value {
        let (status, answer) = self.api("PATCH", &format!("/api/providers/{id}"), &body);
        assert_eq!(status, 200, "{answer}");
        answer["connection"].clone()
    }

    #[track_caller]
    pub fn delete(&self, id: &str) {
        let (status, answer) = self.api("DELETE", &format!("/api/providers/{id}"), &Value::Null);
        assert_eq!((status, &answer["success"]), (200, &true.into()), "{answer}");
    }

    /// Asks a model: the status, and the credential that the vendor saw if it was asked.
    pub fn ask(&self, model: &str) -> (u16, Option<String>) {
        let before = self.vendor.asked();
        let status = process::ask(&self.process.address, model).0;
        let seen = self.vendor.requests().get(before).map(|request| {
            let value = request.header("authorization").unwrap_or_default();
            value.trim_start_matches("Bearer ").to_owned()
        });
        (status, seen)
    }

    /// Which ids there are, with who made them.
    pub fn sources(&self) -> Vec<(String, String)> {
        let list = self.get("/api/providers");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        list["connections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| (text(&row["id"]), text(&row["source"])))
            .collect()
    }
}
