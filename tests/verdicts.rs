//! What a failed answer costs whom, over real sockets: the account, one model of it, or nobody,
//! for how long, and what the client is told. The field cases of cooldowns, quotas and scopes.
//!
//! Nothing waits for a rest to end unless the test made it short: deadlines are read instead.

#[path = "verdicts/checkup.rs"]
mod checkup;
#[path = "verdicts/credential.rs"]
mod credential;
#[path = "verdicts/egress.rs"]
mod egress;
#[path = "verdicts/hints.rs"]
mod hints;
#[path = "verdicts/operator.rs"]
mod operator;
#[allow(dead_code, reason = "each test file uses its part")]
mod process;
#[path = "verdicts/quota.rs"]
mod quota;
#[path = "verdicts/rests.rs"]
mod rests;
#[path = "verdicts/rules.rs"]
mod rules;
#[path = "verdicts/scope.rs"]
mod scope;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use support::{Answer, Setup, World};

const DAY: u64 = 86_400_000;

/// A JSON answer with headers; each is a line that ends in CRLF.
fn told(status: u16, headers: &str, body: &str) -> Answer {
    Answer::sized(status, &format!("content-type: application/json\r\n{headers}"), body)
}

/// An error in OpenAI's shape.
fn says(status: u16, message: &str) -> Answer {
    told(status, "", &json!({"error": {"message": message}}).to_string())
}

/// Our clock, epoch ms.
fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// The state of a connection in one word.
fn state(world: &World, connection: &str) -> String {
    world.derived("connection", connection)["state"].as_str().unwrap().to_owned()
}

/// How long a connection's running or last rest was set to, ms.
fn rest(world: &World, connection: &str) -> u64 {
    world.snapshot(connection)["cooldown"]["cooled_for_ms"].as_u64().unwrap()
}

fn level(world: &World, connection: &str) -> u64 {
    world.derived("connection", connection)["backoffLevel"].as_u64().unwrap()
}

fn error_type(world: &World, connection: &str) -> Value {
    world.derived("connection", connection)["lastErrorType"].clone()
}

/// The models barred now, as `connection/model/scope/reason` with what is left, ms.
fn locks(world: &World) -> Vec<(String, u64)> {
    let page = world.admin("/api/resilience/model-cooldowns").json();
    let text = |item: &Value, field: &str| item[field].as_str().unwrap_or("?").to_owned();
    let one = |item: &Value| {
        let name = ["connection", "model", "scope", "reason"].map(|field| text(item, field));
        (name.join("/"), item["remainingMs"].as_u64().unwrap())
    };
    let mut locks: Vec<_> = page["items"].as_array().unwrap().iter().map(one).collect();
    locks.sort();
    locks
}

/// The only lock there is.
#[track_caller]
fn only_lock(world: &World, name: &str, length_ms: u64) {
    let locks = locks(world);
    assert_eq!(locks.len(), 1, "{locks:?}");
    assert_eq!(locks[0].0, name);
    assert_left(locks[0].1, length_ms, name);
}

/// What is left of a time that began a moment ago.
#[track_caller]
fn assert_left(left_ms: u64, of_ms: u64, what: &str) {
    // A moment is long on a machine that does other work, too.
    let moment = 10_000.min(of_ms);
    assert!((of_ms - moment..=of_ms).contains(&left_ms), "{what}: {left_ms} left of {of_ms}");
}

/// Nobody was blamed: the breaker, the account and its models are as they began.
#[track_caller]
fn assert_unharmed(world: &World, provider: &str, what: &str) {
    let connection = format!("{provider}-1");
    assert_eq!(state(world, &connection), "ready", "{what}");
    assert_eq!((level(world, &connection), world.in_flight(&connection)), (0, 0), "{what}");
    assert_eq!(world.failures(provider), 0, "{what}");
    let own = |(name, _): &(String, u64)| name.starts_with(&format!("{connection}/"));
    assert!(!locks(world).iter().any(own), "{what}: {:?}", locks(world));
}

/// Every slot is free again.
#[track_caller]
fn assert_idle(world: &World, connections: &[&str]) {
    for connection in connections {
        assert_eq!(world.in_flight(connection), 0, "{connection}");
    }
}

/// A priority combo `m` of `a`, then `b`.
fn a_then_b() -> World {
    Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start()
}

/// Gives a connection a clean slate.
#[track_caller]
fn reset(world: &World, connection: &str) {
    let reply = world.order("connection", connection, json!({"message": "reset"}));
    assert_eq!(reply.status, 200, "{}", reply.text());
}

/// Short rests for API keys, so that their end can be awaited.
fn short_rests(base_ms: u64) -> String {
    format!("[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = {base_ms}")
}
