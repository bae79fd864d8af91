//! A provider `o` at the scripted upstream, with the connections that a test wants.

use serde_json::{Value, json};

pub use crate::process::eventually;
use crate::process::{Process, Scripted, Site, call, open, read};

/// Our secret at the token endpoint.
pub const CLIENT_SECRET: &str = "canary-client-secret-7261";
/// Times far from any test's.
pub const LONG_AGO: &str = "2001-01-01T00:00:00Z";
pub const FAR_AHEAD: &str = "2100-01-01T00:00:00Z";

/// Both processes and what they work with.
pub struct Stage {
    pub upstream: Scripted,
    pub site: Site,
}

/// A connection of `o`.
pub fn connection(id: &str, access: &str, refresh: &str, expires_at: &str) -> String {
    connection_of("o", id, (access, refresh, expires_at))
}

/// A connection with access token (or ""), refresh token and end.
pub fn connection_of(provider: &str, id: &str, (access, refresh, expires_at): (&str, &str, &str)) -> String {
    let access = if access.is_empty() { String::new() } else { format!("access_token = \"{access}\"\n") };
    format!(
        "[[connections]]\nid = \"{id}\"\nprovider = \"{provider}\"\n{access}\
         refresh_token = \"{refresh}\"\nexpires_at = \"{expires_at}\"\n"
    )
}

/// A provider at the scripted upstream.
pub fn provider(id: &str, address: &str) -> String {
    format!(
        "[[providers]]\nid = \"{id}\"\nauth = \"oauth\"\nformat = \"openai\"\nbase_url = \"http://{address}\"\n\
         oauth = {{ token_url = \"http://{address}/demo/oauth/token\", client_id = \"me\", \
         client_secret = \"{CLIENT_SECRET}\" }}\n"
    )
}

impl Stage {
    /// `name` is the test's; the connections are of `o`.
    pub fn new(name: &str, connections: &[String]) -> Self {
        Self::of(name, |address| provider("o", address) + &connections.concat())
    }

    /// The entities are made from the upstream's address.
    pub fn of(name: &str, entities: impl FnOnce(&str) -> String) -> Self {
        let upstream = Scripted::start();
        let site = Site::with(name, &entities(&upstream.0.address));
        Self { upstream, site }
    }

    /// The POSTs at the token endpoint, each with its status; 0 while it has none.
    pub fn posts(&self) -> Vec<u64> {
        let log = page(&self.upstream.0.address, "/demo/oauth/log");
        log["requests"].as_array().unwrap().iter().map(|post| post["status"].as_u64().unwrap_or(0)).collect()
    }

    /// The statuses of inference requests in order, with the hash of their credential.
    pub fn asked(&self) -> Vec<(u64, String)> {
        let log = page(&self.upstream.0.address, "/demo/log");
        let requests = log["requests"].as_array().unwrap().iter();
        let entry = |request: &Value| {
            let credential = request["credential"].as_str().unwrap_or_default().to_owned();
            (request["status"].as_u64().unwrap_or(0), credential)
        };
        requests.map(entry).collect()
    }
}

/// A page as JSON.
pub fn page(address: &str, path: &str) -> Value {
    let (status, _, body) = read(open(address, "GET", path, ""));
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

/// What a chat request to `o` gets.
pub fn chat(process: &Process) -> (u16, String, String) {
    chat_with(process, "o")
}

/// What a chat request to a provider gets.
pub fn chat_with(process: &Process, provider: &str) -> (u16, String, String) {
    let body =
        json!({"model": format!("{provider}/steady"), "messages": [{"role": "user", "content": "hi"}]});
    read(open(&process.address, "POST", "/v1/chat/completions", &body.to_string()))
}

/// The same from so many clients at once; their statuses.
pub fn chat_at_once(process: &Process, clients: usize) -> Vec<u16> {
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..clients).map(|_| scope.spawn(|| chat(process).0)).collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).collect()
    })
}

/// What health shows of the tokens.
pub fn tokens(process: &Process) -> Value {
    page(&process.address, "/api/monitoring/health")["tokens"].clone()
}

/// The state of a connection's tokens.
pub fn token_state(process: &Process, connection: &str) -> String {
    tokens(process)["connections"][connection]["state"].as_str().unwrap_or_default().to_owned()
}

/// What the test of a connection shows.
pub fn connection_test(process: &Process, connection: &str) -> Value {
    let path = format!("/api/providers/{connection}/test");
    let (status, _, body) = call(&process.address, "POST", &path, r#"{"model":"steady"}"#);
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

/// The state of a connection.
pub fn connection_state(process: &Process, connection: &str) -> String {
    let actor = page(&process.address, &format!("/api/actors/connection/{connection}"));
    actor["state"].as_str().unwrap_or_default().to_owned()
}

/// Failed retries of an expired connection.
pub fn retries(process: &Process, connection: &str) -> Option<u64> {
    let actor = page(&process.address, &format!("/api/actors/connection/{connection}"));
    actor["snapshot"]["cooldown"]["terminal"]["retries"].as_u64()
}

/// What the upstream's log shows of a credential.
pub fn hash(credential: &str) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(credential).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
