//! Gemini `generateContent` and `streamGenerateContent`.
//!
//! The mode is in the path, not in the body, so each mode is a dialect of its own. A stream is
//! either events or, without `alt=sse`, one JSON array whose elements come one by one.

use super::super::answer::Answer;
use super::super::json::Quoted;
use super::super::request::Asked;
use super::{Dialect, Frames};

/// How answers are put on the wire.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Whole,
    Events,
    Array,
}

/// Gemini in one of its modes.
pub(crate) struct Gemini(Mode);

/// `:generateContent`.
pub(crate) static GEMINI_WHOLE: Gemini = Gemini(Mode::Whole);
/// `:streamGenerateContent?alt=sse`.
pub(crate) static GEMINI_EVENTS: Gemini = Gemini(Mode::Events);
/// `:streamGenerateContent`.
pub(crate) static GEMINI_ARRAY: Gemini = Gemini(Mode::Array);

impl Dialect for Gemini {
    fn read(&self, body: &[u8], path_model: Option<&str>) -> Result<Asked, String> {
        let asked = Asked::read(body, path_model)?;
        Ok(Asked { stream: self.0 != Mode::Whole, ..asked })
    }

    fn whole(&self, answer: &Answer) -> String {
        let parts = match answer.words {
            0 => "[]".to_owned(),
            _ => text_parts(&answer.text()),
        };
        object(answer, &parts, true)
    }

    fn error(&self, status: u16, message: &str, retry_after: Option<u64>) -> String {
        error(status, message, retry_after)
    }

    fn frames(&self) -> Option<&'static dyn Frames> {
        match self.0 {
            Mode::Whole => None,
            Mode::Events => Some(&GEMINI_EVENTS),
            Mode::Array => Some(&GEMINI_ARRAY),
        }
    }
}

impl Frames for Gemini {
    fn content_type(&self) -> &'static str {
        match self.0 {
            Mode::Array => "application/json",
            _ => "text/event-stream",
        }
    }

    fn opening(&self, _answer: &Answer) -> Vec<String> {
        Vec::new()
    }

    fn delta(&self, answer: &Answer, index: usize) -> String {
        self.element(&object(answer, &text_parts(&answer.part(index)), false), index == 0, false)
    }

    fn closing(&self, answer: &Answer) -> Vec<String> {
        vec![self.element(&object(answer, &text_parts(""), true), answer.words == 0, true)]
    }

    fn broken(&self, answer: &Answer) -> Vec<String> {
        let begun = object(answer, "[]", false);
        let failure = error(500, "scripted error in a stream", None);
        vec![self.element(&begun, true, false), self.element(&failure, false, true)]
    }
}

impl Gemini {
    fn element(&self, object: &str, first: bool, last: bool) -> String {
        if self.0 != Mode::Array {
            return format!("data: {object}\r\n\r\n");
        }
        let before = if first { "[" } else { ",\r\n" };
        let after = if last { "\r\n]" } else { "" };
        format!("{before}{object}{after}")
    }
}

fn object(answer: &Answer, parts: &str, last: bool) -> String {
    let finish = if last { r#""finishReason":"STOP","# } else { "" };
    let candidates = if last { answer.completion_tokens() } else { 0 };
    format!(
        concat!(
            r#"{{"candidates":[{{"content":{{"parts":{},"role":"model"}},{}"index":0}}],"#,
            r#""usageMetadata":{{"promptTokenCount":{},"candidatesTokenCount":{},"totalTokenCount":{}}},"#,
            r#""modelVersion":{},"responseId":"gemini-demo-{}"}}"#
        ),
        parts,
        finish,
        answer.prompt_tokens,
        candidates,
        answer.prompt_tokens + candidates,
        Quoted(&answer.model),
        answer.number,
    )
}

fn text_parts(text: &str) -> String {
    format!(r#"[{{"text":{}}}]"#, Quoted(text))
}

fn error(status: u16, message: &str, retry_after: Option<u64>) -> String {
    let name = match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500..=599 => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    };
    let details = match retry_after {
        Some(seconds) => format!(
            r#","details":[{{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"{seconds}s"}}]"#
        ),
        None => String::new(),
    };
    format!(r#"{{"error":{{"code":{status},"message":{},"status":"{name}"{details}}}}}"#, Quoted(message))
}
