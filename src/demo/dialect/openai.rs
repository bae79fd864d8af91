//! OpenAI chat completions, embeddings and the model list.

use super::super::answer::Answer;
use super::super::behaviour::EXAMPLES;
use super::super::json::Quoted;
use super::super::request::Asked;
use super::{Dialect, Frames};

/// Every embedding there is: the dialect matters here, not the numbers.
const VECTOR: &str = "[0.5,-0.5,0.25,-0.25,0.125,-0.125,0.0625,-0.0625]";
/// The same numbers as little-endian 32-bit floats in base64, which the official client asks for.
const VECTOR_BASE64: &str = "\"AAAAPwAAAL8AAIA+AACAvgAAAD4AAAC+AACAPQAAgL0=\"";

/// `POST /v1/chat/completions`.
pub(crate) struct Chat;

/// `POST /v1/embeddings`.
pub(crate) struct Embeddings;

/// `GET /v1/models`: the behaviours, as models.
pub(crate) struct Models;

// === impl Chat ===

impl Dialect for Chat {
    fn whole(&self, answer: &Answer) -> String {
        format!(
            concat!(
                r#"{{"id":"chatcmpl-demo-{}","object":"chat.completion","created":{},"model":{},"choices":[{{"#,
                r#""index":0,"message":{{"role":"assistant","content":{},"refusal":null}},"#,
                r#""logprobs":null,"finish_reason":"stop"}}],"usage":{}}}"#
            ),
            answer.number,
            answer.created,
            Quoted(&answer.model),
            Quoted(&answer.text()),
            usage(answer),
        )
    }

    fn error(&self, status: u16, message: &str, _retry_after: Option<u64>) -> String {
        error(status, message)
    }

    fn frames(&self) -> Option<&'static dyn Frames> {
        Some(&Self)
    }
}

impl Frames for Chat {
    fn opening(&self, answer: &Answer) -> Vec<String> {
        vec![chunk(answer, r#"{"role":"assistant","content":"","refusal":null}"#, "null")]
    }

    fn delta(&self, answer: &Answer, index: usize) -> String {
        chunk(answer, &format!(r#"{{"content":{}}}"#, Quoted(&answer.part(index))), "null")
    }

    fn closing(&self, answer: &Answer) -> Vec<String> {
        let mut frames = vec![chunk(answer, "{}", r#""stop""#)];
        if answer.include_usage {
            frames.push(frame(answer, "[]", &usage(answer)));
        }
        frames.push("data: [DONE]\n\n".to_owned());
        frames
    }

    fn broken(&self, answer: &Answer) -> Vec<String> {
        let mut frames = self.opening(answer);
        frames.push(format!("data: {}\n\n", error(500, "scripted error in a stream")));
        frames
    }
}

fn chunk(answer: &Answer, delta: &str, finish_reason: &str) -> String {
    let choices =
        format!(r#"[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish_reason}}}]"#);
    frame(answer, &choices, "null")
}

fn frame(answer: &Answer, choices: &str, usage: &str) -> String {
    // without the option the field is absent, as with the original
    let usage = if answer.include_usage { format!(r#","usage":{usage}"#) } else { String::new() };
    format!(
        concat!(
            r#"data: {{"id":"chatcmpl-demo-{}","object":"chat.completion.chunk","created":{},"model":{},"#,
            r#""choices":{}{}}}"#,
            "\n\n"
        ),
        answer.number,
        answer.created,
        Quoted(&answer.model),
        choices,
        usage,
    )
}

fn usage(answer: &Answer) -> String {
    format!(
        r#"{{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{}}}"#,
        answer.prompt_tokens,
        answer.completion_tokens(),
        answer.total_tokens(),
    )
}

// === impl Embeddings ===

impl Dialect for Embeddings {
    fn whole(&self, answer: &Answer) -> String {
        // an answer without content has no embeddings either
        let count = if answer.words == 0 { 0 } else { answer.inputs };
        let vector = if answer.base64 { VECTOR_BASE64 } else { VECTOR };
        let item = |index| format!(r#"{{"object":"embedding","index":{index},"embedding":{vector}}}"#);
        let items: Vec<String> = (0..count).map(item).collect();
        format!(
            r#"{{"object":"list","data":[{}],"model":{},"usage":{{"prompt_tokens":{tokens},"total_tokens":{tokens}}}}}"#,
            items.join(","),
            Quoted(&answer.model),
            tokens = answer.prompt_tokens,
        )
    }

    fn error(&self, status: u16, message: &str, _retry_after: Option<u64>) -> String {
        error(status, message)
    }
}

// === impl Models ===

impl Dialect for Models {
    fn read(&self, _body: &[u8], _path_model: Option<&str>) -> Result<Asked, String> {
        Ok(Asked::bodiless("steady"))
    }

    fn whole(&self, answer: &Answer) -> String {
        let known = if answer.words == 0 { &EXAMPLES[..0] } else { &EXAMPLES[..] };
        let item = |id: &&str| {
            format!(r#"{{"id":"{id}","object":"model","created":{},"owned_by":"demo"}}"#, answer.created)
        };
        let items: Vec<String> = known.iter().map(item).collect();
        format!(r#"{{"object":"list","data":[{}]}}"#, items.join(","))
    }

    fn error(&self, status: u16, message: &str, _retry_after: Option<u64>) -> String {
        error(status, message)
    }
}

// === errors ===

/// The error envelope that all OpenAI routes share.
pub(super) fn error(status: u16, message: &str) -> String {
    let (kind, code) = match status {
        401 => ("invalid_request_error", r#""invalid_api_key""#),
        404 => ("invalid_request_error", r#""model_not_found""#),
        429 => ("requests", r#""rate_limit_exceeded""#),
        500..=599 => ("server_error", "null"),
        _ => ("invalid_request_error", "null"),
    };
    format!(r#"{{"error":{{"message":{},"type":"{kind}","param":null,"code":{code}}}}}"#, Quoted(message))
}
