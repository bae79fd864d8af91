//! A switchtower with the demo on, whose file has two combos of its own.

use serde_json::{Value, json};

use crate::process::{self, Process, Site, operate};

/// What the file says besides: `p` lists its models, and nobody listens there.
const FILE: &str = r#"
[[providers]]
id = "p"
format = "openai"
base_url = "http://127.0.0.1:9"
models = ["listed", "other"]
[[combos]]
name = "filed"
targets = ["demo-a/steady"]
[[combos]]
name = "over"
targets = ["filed"]
config = { max_combo_depth = 2 }
"#;

pub struct Stage {
    pub site: Site,
    pub process: Process,
}

impl Stage {
    pub fn new(name: &str) -> Self {
        Self::with(name, "")
    }

    /// The same with these lines at the end of its config.
    pub fn with(name: &str, lines: &str) -> Self {
        let site = Site::with(&format!("combos-{name}"), &format!("{FILE}{lines}"));
        let process = site.start();
        Self { site, process }
    }

    /// Kills it as a crash does, and starts it again.
    pub fn crash(&mut self) {
        self.site.crash(&mut self.process);
    }

    /// An operator's call: status and JSON.
    pub fn api(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        operate(&self.process.address, method, path, body)
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        let (status, body) = self.api("GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// Makes a combo of these targets.
    #[track_caller]
    pub fn make(&self, name: &str, targets: Value) -> Value {
        self.post(json!({"name": name, "targets": targets}))
    }

    /// Makes a combo.
    #[track_caller]
    pub fn post(&self, body: Value) -> Value {
        let (status, answer) = self.api("POST", "/api/combos", &body);
        assert_eq!(status, 201, "{answer}");
        answer
    }

    /// What is wrong with a body that is refused, by field.
    #[track_caller]
    pub fn refused(&self, method: &str, path: &str, body: Value) -> Vec<(String, String)> {
        let (status, answer) = self.api(method, path, &body);
        assert_eq!((status, &answer["error"]["code"]), (400, &"invalid_request".into()), "{body}: {answer}");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let details = answer["error"]["details"].as_array().unwrap();
        details.iter().map(|detail| (text(&detail["field"]), text(&detail["message"]))).collect()
    }

    /// Asks a model: the status, and the answer's text of who served it.
    pub fn ask(&self, model: &str) -> (u16, String) {
        let (status, _, body) = process::ask(&self.process.address, model);
        (status, body)
    }

    /// The model that answered.
    #[track_caller]
    pub fn served(&self, model: &str) -> String {
        let (status, head, body) = process::ask(&self.process.address, model);
        assert_eq!(status, 200, "{model}: {body}");
        let value = |name: &str| {
            let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(name));
            line.unwrap_or_else(|| panic!("no {name}: {head}")).split_once(": ").unwrap().1.to_owned()
        };
        format!("{}/{}", value("x-omniroute-provider"), value("x-omniroute-model"))
    }

    /// How many requests the scripted upstream's models answer: the status alone.
    pub fn status(&self, model: &str) -> u16 {
        self.ask(model).0
    }
}
