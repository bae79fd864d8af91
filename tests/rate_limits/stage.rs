//! A switchtower with one vendor of ours: API-key providers `p` with two connections and `s`
//! with one, and an OAuth provider `o` with one.

use std::net::TcpStream;

use serde_json::{Value, json};

use crate::process::{Process, Site, open, operate};
use crate::support::{Answer, Gate, Upstream, eventually};

pub struct Stage {
    pub site: Site,
    pub vendor: Upstream,
    pub process: Process,
}

impl Stage {
    pub fn new(name: &str) -> Self {
        let vendor = Upstream::start("vendor");
        let provider = |id: &str, auth: &str| {
            let address = vendor.address;
            format!(
                "[[providers]]\nid = \"{id}\"\nauth = \"{auth}\"\nformat = \"openai\"\nbase_url = \"http://{address}\"\n"
            )
        };
        let connection = |id: &str, provider: &str, credential: &str| {
            format!(
                "[[connections]]\nid = \"{id}\"\nprovider = \"{provider}\"\n{credential} = \"sk-{id}-0123456789\"\n"
            )
        };
        let lines = [
            provider("p", "apikey"),
            provider("s", "apikey"),
            provider("o", "oauth"),
            connection("p-1", "p", "credential"),
            connection("p-2", "p", "credential"),
            connection("s-1", "s", "credential"),
            connection("o-1", "o", "access_token"),
        ];
        let site = Site::with(&format!("rates-{name}"), &lines.concat());
        let process = site.start();
        Self { site, vendor, process }
    }

    /// Kills it as a crash does, and starts it again.
    pub fn crash(&mut self) {
        self.site.crash(&mut self.process);
    }

    /// Kills it and reads the keys of its store that begin with this.
    pub fn dump(&mut self, prefix: &str) -> Vec<String> {
        self.process.signal("KILL");
        self.process.child.wait().unwrap();
        let output = self.site.command().args(["store", "dump"]).output().unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let key = |line: &str| {
            let record: Value = serde_json::from_str(line).unwrap();
            record["key"].as_str().filter(|key| key.starts_with(prefix)).map(str::to_owned)
        };
        lines.lines().filter_map(key).collect()
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

    /// A request for a model, sent; its answer is not read.
    pub fn send(&self, model: &str) -> TcpStream {
        let body = json!({"model": model}).to_string();
        open(&self.process.address, "POST", "/v1/chat/completions", &body)
    }

    /// Requests that the vendor holds, each until its gate opens.
    pub fn hold(&self, model: &str, count: usize) -> Vec<(Gate, TcpStream)> {
        let held = (0..count).map(|_| {
            let (gate, asked) = (Gate::default(), self.vendor.asked());
            self.vendor.answers_first([Answer::good("vendor").held_by(&gate)]);
            let stream = self.send(model);
            eventually("the vendor is asked", || self.vendor.asked() == asked + 1);
            (gate, stream)
        });
        held.collect()
    }

    /// Changes a connection.
    #[track_caller]
    pub fn patch(&self, id: &str, body: Value) {
        let (status, answer) = self.api("PATCH", &format!("/api/providers/{id}"), &body);
        assert_eq!(status, 200, "{answer}");
    }

    /// A connection as `GET /api/rate-limits` shows it.
    pub fn limits(&self, id: &str) -> Value {
        let all = self.get("/api/rate-limits");
        let row = all["connections"].as_array().unwrap().iter().find(|row| row["connectionId"] == id);
        row.unwrap_or_else(|| panic!("no {id} in {all}")).clone()
    }
}
