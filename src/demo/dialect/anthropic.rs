//! Anthropic messages and token counting.

use super::super::answer::Answer;
use super::super::json::Quoted;
use super::{Dialect, Frames};

/// `POST /v1/messages`.
pub(crate) struct Messages;

/// `POST /v1/messages/count_tokens`.
pub(crate) struct CountTokens;

// === impl Messages ===

impl Dialect for Messages {
    fn whole(&self, answer: &Answer) -> String {
        let content = match answer.words {
            0 => "[]".to_owned(),
            _ => format!(r#"[{{"type":"text","text":{}}}]"#, Quoted(&answer.text())),
        };
        message(answer, &content, r#""end_turn""#, answer.completion_tokens())
    }

    fn error(&self, status: u16, message: &str, _retry_after: Option<u64>) -> String {
        error(status, message)
    }

    fn frames(&self) -> Option<&'static dyn Frames> {
        Some(&Self)
    }
}

impl Frames for Messages {
    fn opening(&self, answer: &Answer) -> Vec<String> {
        let mut frames = vec![start(answer)];
        if answer.words > 0 {
            frames
                .push(event("content_block_start", r#""index":0,"content_block":{"type":"text","text":""}"#));
        }
        frames
    }

    fn delta(&self, answer: &Answer, index: usize) -> String {
        let text = answer.part(index);
        let fields = format!(r#""index":0,"delta":{{"type":"text_delta","text":{}}}"#, Quoted(&text));
        event("content_block_delta", &fields)
    }

    fn closing(&self, answer: &Answer) -> Vec<String> {
        let mut frames = Vec::new();
        if answer.words > 0 {
            frames.push(event("content_block_stop", r#""index":0"#));
        }
        let fields = format!(
            r#""delta":{{"stop_reason":"end_turn","stop_sequence":null}},"usage":{{"output_tokens":{}}}"#,
            answer.completion_tokens()
        );
        frames.push(event("message_delta", &fields));
        frames.push("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n".to_owned());
        frames
    }

    fn broken(&self, answer: &Answer) -> Vec<String> {
        let failure = error(500, "scripted error in a stream");
        vec![start(answer), format!("event: error\ndata: {failure}\n\n")]
    }
}

fn start(answer: &Answer) -> String {
    event("message_start", &format!(r#""message":{}"#, message(answer, "[]", "null", 1)))
}

fn message(answer: &Answer, content: &str, stop_reason: &str, output_tokens: u64) -> String {
    format!(
        concat!(
            r#"{{"id":"msg_demo_{}","type":"message","role":"assistant","model":{},"content":{},"#,
            r#""stop_reason":{},"stop_sequence":null,"usage":{{"input_tokens":{},"output_tokens":{},"#,
            r#""cache_creation_input_tokens":0,"cache_read_input_tokens":0}}}}"#
        ),
        answer.number,
        Quoted(&answer.model),
        content,
        stop_reason,
        answer.prompt_tokens,
        output_tokens,
    )
}

fn event(name: &str, fields: &str) -> String {
    format!("event: {name}\ndata: {{\"type\":\"{name}\",{fields}}}\n\n")
}

// === impl CountTokens ===

impl Dialect for CountTokens {
    fn whole(&self, answer: &Answer) -> String {
        format!(r#"{{"input_tokens":{}}}"#, answer.prompt_tokens)
    }

    fn error(&self, status: u16, message: &str, _retry_after: Option<u64>) -> String {
        error(status, message)
    }
}

// === errors ===

fn error(status: u16, message: &str) -> String {
    let kind = match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500..=599 => "api_error",
        _ => "invalid_request_error",
    };
    format!(
        r#"{{"type":"error","error":{{"type":"{kind}","message":{}}},"request_id":null}}"#,
        Quoted(message)
    )
}
