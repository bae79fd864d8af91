//! Streams that tell the truth (flow 6; decisions 18-21): held until something meaningful comes,
//! told as what they were when they end.
//!
//! Vendors are scripted event by event; what the client got is compared byte for byte.

#[path = "streams/clocks.rs"]
mod clocks;
#[path = "streams/early.rs"]
mod early;
#[path = "streams/ends.rs"]
mod ends;
#[path = "streams/expected.rs"]
mod expected;
#[path = "streams/hold.rs"]
mod hold;
#[path = "streams/leaves.rs"]
mod leaves;
#[path = "streams/lies.rs"]
mod lies;
#[path = "streams/old.rs"]
mod old;
#[path = "streams/padded.rs"]
mod padded;
#[path = "streams/probes.rs"]
mod probes;
#[path = "streams/recovery.rs"]
mod recovery;
#[path = "streams/resume.rs"]
mod resume;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;

use serde_json::json;
use support::{Answer, Reply, Setup, World};

/// A dialect as a test speaks it: its route, and events by what they are.
struct Dialect {
    route: &'static str,
    /// Announces, carries nothing.
    opening: &'static [&'static str],
    text: &'static str,
    reasoning: &'static str,
    /// The finish reason `stop`, if the dialect states it before its end.
    stop: &'static [&'static str],
    end: &'static str,
    /// An error that stands for 529 or 503, and its status.
    overloaded: (&'static str, u16),
    /// One that stands for a used-up quota.
    quota: &'static str,
}

const CHAT: Dialect = Dialect {
    route: "/v1/chat/completions",
    opening: &[
        ": ping\n\n",
        "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n",
    ],
    text: "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"北京🙂é\"},\"finish_reason\":null}]}\n\n",
    reasoning: "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"hm\"},\"finish_reason\":null}]}\n\n",
    stop: &["data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"],
    end: "data: [DONE]\n\n",
    overloaded: (
        "data: {\"error\":{\"code\":\"server_is_overloaded\",\"type\":\"service_unavailable_error\",\"message\":\"busy\"}}\n\n",
        503,
    ),
    quota: "data: {\"error\":{\"code\":\"insufficient_quota\",\"type\":\"insufficient_quota\",\"message\":\"no more\"}}\n\n",
};

const MESSAGES: Dialect = Dialect {
    route: "/v1/messages",
    opening: &[
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
        "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    ],
    text: "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"北京🙂é\"}}\n\n",
    reasoning: "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n",
    stop: &[
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
    ],
    end: "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    overloaded: (
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
        529,
    ),
    quota: "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"quota\"}}\n\n",
};

const RESPONSES: Dialect = Dialect {
    route: "/v1/responses",
    opening: &[
        "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\",\"output\":[]}}\n\n",
        "event: response.in_progress\ndata: {\"type\":\"response.in_progress\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\",\"output\":[]}}\n\n",
    ],
    text: "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"i\",\"output_index\":0,\"content_index\":0,\"delta\":\"北京🙂é\"}\n\n",
    reasoning: "event: response.reasoning_summary_text.delta\ndata: {\"type\":\"response.reasoning_summary_text.delta\",\"item_id\":\"i\",\"delta\":\"hm\"}\n\n",
    stop: &[],
    end: "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[]}}\n\n",
    overloaded: (
        "event: error\ndata: {\"type\":\"error\",\"code\":\"server_is_overloaded\",\"message\":\"busy\",\"param\":null}\n\n",
        503,
    ),
    quota: "event: error\ndata: {\"type\":\"error\",\"code\":\"insufficient_quota\",\"message\":\"no more\",\"param\":null}\n\n",
};

const ALL: [&Dialect; 3] = [&CHAT, &MESSAGES, &RESPONSES];

impl Dialect {
    fn opening(&self) -> String {
        self.opening.concat()
    }

    /// A complete answer.
    fn complete(&self) -> String {
        [&self.opening(), self.text, &self.stop.concat(), self.end].concat()
    }

    fn ask(&self, world: &World, model: &str) -> Reply {
        world.post(self.route, self.body(model))
    }

    fn body(&self, model: &str) -> serde_json::Value {
        json!({"model": model, "stream": true, "max_tokens": 9})
    }
}

/// These events, each in a chunk of its own, and the end of the body.
fn events(events: &[&str]) -> Answer {
    open_events(events).last_chunk()
}

/// The same; nothing says that the body is over.
fn open_events(events: &[&str]) -> Answer {
    // an empty chunk is the last one
    events
        .iter()
        .filter(|event| !event.is_empty())
        .fold(Answer::stream(), |answer, event| answer.chunk(event))
}

/// `a`, then `b`, whose answers are complete.
fn pair(dialect: &Dialect) -> World {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
    world.upstream("b").answers(events(&[&dialect.complete()]));
    world
}

/// The client got exactly this, and was told that it is complete.
#[track_caller]
fn got(reply: &Reply, text: &str) {
    assert_eq!((reply.status, reply.text().as_str()), (200, text));
    assert_eq!(reply.end, support::End::Complete, "{}", reply.text());
}
