//! A switchtower whose file has one provider, and two vendors that a provider may lead to.

use serde_json::{Value, json};

use crate::process::{self, Process, Site, operate};
use crate::support::Upstream;

/// What operators give their providers to send.
pub const HEADER: &str = "org-canary-0123456789-ABCD";
pub const CLIENT_SECRET: &str = "cs-canary-9876543210-WXYZ";

pub struct Stage {
    pub site: Site,
    pub file: Upstream,
    pub other: Upstream,
    pub process: Process,
}

impl Stage {
    /// The file has the provider `p` with the header `x-team` and the connection `p-file`.
    pub fn new(name: &str) -> Self {
        let (file, other) = (Upstream::start("file"), Upstream::start("other"));
        let lines = format!(
            "[[providers]]\nid = \"p\"\nformat = \"openai\"\nbase_url = \"http://{}\"\n\
             headers = {{ x-team = \"blue-0123456789-team\" }}\n\
             [[connections]]\nid = \"p-file\"\nprovider = \"p\"\ncredential = \"sk-p\"\n",
            file.address
        );
        let site = Site::with(&format!("nodes-{name}"), &lines);
        let process = site.start();
        Self { site, file, other, process }
    }

    pub fn crash(&mut self) {
        self.site.crash(&mut self.process);
    }

    pub fn api(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        operate(&self.process.address, method, path, body)
    }

    #[track_caller]
    pub fn shown(&self, id: &str) -> Value {
        let (status, body) = self.api("GET", &format!("/api/provider-nodes/{id}"), &Value::Null);
        assert_eq!(status, 200, "{body}");
        body
    }

    #[track_caller]
    pub fn make(&self, body: Value) -> Value {
        let (status, answer) = self.api("POST", "/api/provider-nodes", &body);
        assert_eq!(status, 201, "{answer}");
        answer
    }

    #[track_caller]
    pub fn patch(&self, id: &str, body: Value) -> Value {
        let (status, answer) = self.api("PATCH", &format!("/api/provider-nodes/{id}"), &body);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// A provider `mine` at the other vendor, and a connection of it.
    pub fn mine(&self) -> Value {
        let address = format!("http://{}/v1", self.other.address);
        let made = self.make(
            json!({"id": "mine", "format": "openai", "baseUrl": address, "headers": {"X-Org": HEADER}}),
        );
        let connection = json!({"id": "mine-1", "provider": "mine", "apiKey": "sk-mine-0123456789"});
        assert_eq!(self.api("POST", "/api/providers", &connection).0, 201);
        made
    }

    /// Asks a model: the status and the code of an error.
    pub fn ask(&self, model: &str) -> (u16, String) {
        let (status, _, body) = process::ask(&self.process.address, model);
        let code = body.split("\"code\":\"").nth(1).and_then(|rest| rest.split('"').next());
        (status, code.unwrap_or_default().to_owned())
    }

    /// A header of the latest request that a vendor had.
    pub fn sent(vendor: &Upstream, name: &str) -> Option<String> {
        vendor.requests().last()?.header(name).map(str::to_owned)
    }
}
