//! The scripted upstream over real sockets: every behaviour, in every dialect, as it is on the wire.
//!
//! Nothing here waits longer than 50 ms for anything to not happen.

#[path = "demo/behaviours.rs"]
mod behaviours;
#[path = "demo/capacity.rs"]
mod capacity;
#[path = "demo/client.rs"]
mod client;
#[path = "demo/log.rs"]
mod log;
#[path = "demo/oauth.rs"]
mod oauth;
#[path = "demo/shapes.rs"]
mod shapes;

use client::Reply;
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";
const EMBEDDINGS: &str = "/v1/embeddings";
const PLAIN: [&str; 3] = [CHAT, MESSAGES, RESPONSES];

fn ask(model: &str) -> String {
    json!({ "model": model }).to_string()
}

fn ask_streamed(model: &str) -> String {
    json!({ "model": model, "stream": true }).to_string()
}

fn gemini(model: &str, action: &str) -> String {
    format!("/v1beta/models/{model}:{action}")
}

fn types(reply: &Reply) -> Vec<String> {
    reply.events().iter().map(|event| event["type"].as_str().unwrap_or("?").to_owned()).collect()
}

/// The pieces of content of a stream, whatever its dialect.
fn pieces(reply: &Reply) -> Vec<String> {
    let text = |event: &Value| {
        let places =
            ["/choices/0/delta/content", "/delta/text", "/delta", "/candidates/0/content/parts/0/text"];
        places.iter().find_map(|place| event.pointer(place)?.as_str().map(str::to_owned))
    };
    reply.events().iter().filter_map(text).filter(|text| !text.is_empty()).collect()
}
