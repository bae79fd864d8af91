//! A switchtower that wants keys, and clients that show them.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::process::{Process, Site, operate, read};

/// What the file gives its own key.
pub const FILE_KEY: &str = "sk-canary-file-0123456789-FFFF";

pub struct Stage {
    pub site: Site,
    pub process: Process,
}

/// What a client sees of an answer.
#[derive(Debug)]
pub struct Seen {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Seen {
    /// Status and `error.code`, if there is one.
    pub fn told(&self) -> (u16, String) {
        let code = self.json().pointer("/error/code").and_then(Value::as_str).unwrap_or_default().to_owned();
        (self.status, code)
    }

    pub fn json(&self) -> Value {
        let (Some(start), Some(end)) = (self.body.find('{'), self.body.rfind('}')) else {
            return Value::Null;
        };
        serde_json::from_str(&self.body[start..=end]).unwrap_or_default()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let start = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&start))
    }
}

impl Stage {
    pub fn new(name: &str) -> Self {
        Self::with(name, "")
    }

    /// With these lines at the end of the file, which has one key, `laptop`.
    pub fn with(name: &str, lines: &str) -> Self {
        let key = format!("[[keys]]\nname = \"laptop\"\nkey = \"{FILE_KEY}\"\n");
        let site = Site::with(&format!("keys-{name}"), &(key + lines));
        site.edit(|text| text.replace("workers = 2", "workers = 2\nrequire_api_key = true"));
        let process = site.start();
        Self { site, process }
    }

    pub fn crash(&mut self) {
        self.site.crash(&mut self.process);
    }

    pub fn api(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        operate(&self.process.address, method, path, body)
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        let (status, body) = self.api("GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// Makes a key: what it is shown as, and the key.
    #[track_caller]
    pub fn make(&self, body: Value) -> (Value, String) {
        let (status, answer) = self.api("POST", "/api/keys", &body);
        assert_eq!(status, 201, "{answer}");
        let key = answer["key"].as_str().unwrap().to_owned();
        (answer, key)
    }

    #[track_caller]
    pub fn patch(&self, name: &str, body: Value) -> Value {
        let (status, answer) = self.api("PATCH", &format!("/api/keys/{name}"), &body);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    #[track_caller]
    pub fn delete(&self, name: &str) {
        let (status, answer) = self.api("DELETE", &format!("/api/keys/{name}"), &Value::Null);
        assert_eq!((status, &answer["success"]), (200, &true.into()), "{answer}");
    }

    /// A client's call; `extra`: further lines of its head.
    pub fn call(&self, key: &str, (method, path): (&str, &str), extra: &str, body: &str) -> Seen {
        let mut stream = TcpStream::connect(&self.process.address).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: keys\r\nconnection: close\r\nauthorization: Bearer {key}\r\n\
             {extra}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let (status, head, body) = read(stream);
        Seen { status, head, body }
    }

    /// Asks a model.
    pub fn ask(&self, key: &str, model: &str) -> Seen {
        let body = json!({ "model": model }).to_string();
        self.call(key, ("POST", "/v1/chat/completions"), "", &body)
    }
}
