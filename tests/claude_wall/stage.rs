//! A provider `c` of Claude accounts at the scripted upstream.

use serde_json::{Value, json};

use crate::process::{Process, Scripted, Site, actor, call};

/// Both processes, and what they work with.
pub struct Stage {
    pub upstream: Scripted,
    pub site: Site,
    pub process: Process,
}

/// A request that the upstream received.
#[derive(Debug, PartialEq)]
pub struct Seen {
    pub path: String,
    /// It carried the lane's header.
    pub slow: bool,
    pub status: u64,
}

/// What opts an account into the lane, and into resets.
pub const LANE: &str = "low_priority_mode = true";
pub const RESET: &str = "auto_limit_reset = true";
pub const BOTH: &str = "low_priority_mode = true, auto_limit_reset = true";

impl Stage {
    /// One account `c-1` with this token and these options. `provider`: further lines of its provider.
    pub fn new(name: &str, (token, options): (&str, &str), provider: &str) -> Self {
        Self::of(name, |address| {
            format!(
                "[[providers]]\nid = \"c\"\nauth = \"oauth\"\nformat = [\"anthropic\", \"openai\"]\n\
                 auth_header = \"authorization: Bearer\"\nbase_url = \"http://{address}\"\n{provider}\n\
                 [[connections]]\nid = \"c-1\"\nprovider = \"c\"\naccess_token = \"{token}\"\n\
                 provider_specific = {{ {options} }}\n"
            )
        })
    }

    /// The entities are made from the upstream's address.
    pub fn of(name: &str, entities: impl FnOnce(&str) -> String) -> Self {
        let upstream = Scripted::start();
        let site = Site::with(&format!("wall-{name}"), &entities(&upstream.0.address));
        let process = site.start();
        Self { upstream, site, process }
    }

    /// What a message to this model gets.
    pub fn ask(&self, model: &str) -> u16 {
        let body = json!({"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]});
        call(&self.process.address, "POST", "/v1/messages", &body.to_string()).0
    }

    /// The same from so many clients at once.
    pub fn ask_at_once(&self, model: &str, clients: usize) -> Vec<u16> {
        std::thread::scope(|scope| {
            let asking: Vec<_> = (0..clients).map(|_| scope.spawn(|| self.ask(model))).collect();
            asking.into_iter().map(|asking| asking.join().unwrap()).collect()
        })
    }

    /// What the upstream received, in order.
    pub fn seen(&self) -> Vec<Seen> {
        let (_, _, body) = call(&self.upstream.0.address, "GET", "/demo/log", "");
        let log: Value = serde_json::from_str(&body).unwrap();
        let seen = |request: &Value| Seen {
            path: request["path"].as_str().unwrap().into(),
            slow: request["headers"]["anthropic-usage-limit"] == "slow",
            status: request["status"].as_u64().unwrap_or(0),
        };
        log["requests"].as_array().unwrap().iter().map(seen).collect()
    }

    /// Messages only: slow or not, and the status.
    pub fn messages(&self) -> Vec<(bool, u64)> {
        let messages = self.seen().into_iter().filter(|seen| seen.path == "/v1/messages");
        messages.map(|seen| (seen.slow, seen.status)).collect()
    }

    /// Requests to the two endpoints of a reset.
    pub fn resets(&self) -> Vec<(String, u64)> {
        let resets = self.seen().into_iter().filter(|seen| seen.path.starts_with("/api/"));
        resets.map(|seen| (seen.path, seen.status)).collect()
    }

    /// The state of the account.
    pub fn state(&self) -> String {
        let account = actor(&self.process.address, "connection/c-1");
        account["state"].as_str().unwrap().into()
    }

    /// Requests that hold a slot of the account.
    pub fn in_flight(&self) -> Value {
        crate::process::actors(&self.process.address)["connection/c-1"]["inFlight"].clone()
    }

    /// The last failure that the account remembers.
    pub fn last_error(&self) -> Value {
        actor(&self.process.address, "connection/c-1")["snapshot"]["cooldown"]["last_error"].clone()
    }
}
