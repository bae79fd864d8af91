//! Several models for one answer, over real sockets (routing 6; rows 66 to 70): who is sent what,
//! what the client gets, and that nobody is left waiting. When a panel has said enough is tested
//! on `policy::fusion`, where time stands still.

mod fusion;
mod handoff;
mod judge;
mod pipeline;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
#[path = "../support/mod.rs"]
mod support;

use serde_json::{Value, json};
use support::{Answer, Received, Setup};

const CHAT: &str = "/v1/chat/completions";

/// A combo of these targets.
fn combo(strategy: &str, targets: &[&str], config: &str) -> String {
    let targets: Vec<String> = targets.iter().map(|model| format!("{{ model = \"{model}\" }}")).collect();
    let targets = targets.join(", ");
    format!(
        "[[combos]]\nname = \"m\"\nstrategy = \"{strategy}\"\ntargets = [{targets}]\nconfig = {{ {config} }}"
    )
}

/// Providers of these names, and a combo of one model of each.
fn setup(strategy: &str, providers: &[&str], config: &str) -> Setup {
    let mut setup = Setup::new();
    for provider in providers {
        setup = setup.provider(provider, 1);
    }
    let targets: Vec<String> = providers.iter().map(|provider| format!("{provider}/x")).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    setup.section(&combo(strategy, &targets, config))
}

fn body(request: &Received) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

/// A streamed request with one turn.
fn streamed() -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": "q"}], "stream": true, "max_tokens": 5})
}

/// An answer of the messages dialect.
fn message(text: &str) -> Answer {
    let content = json!([{"type": "text", "text": text}]);
    let message =
        json!({"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"});
    Answer::json(200, message.to_string())
}
