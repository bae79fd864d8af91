//! How each API says the same things.
//!
//! A dialect knows its shapes and nothing else: whether an answer is slow, cut or refused is decided
//! elsewhere. Shapes are those the official clients accept with strict validation.

mod anthropic;
mod gemini;
mod openai;
mod responses;

use super::answer::Answer;
use super::request::Asked;

pub(super) use anthropic::{CountTokens, Messages};
pub(super) use gemini::{GEMINI_ARRAY, GEMINI_EVENTS, GEMINI_WHOLE};
pub(super) use openai::{Chat, Embeddings, Models};
pub(super) use responses::Responses;

/// One API's way of speaking.
pub(super) trait Dialect: Sync {
    /// Reads a request; the error says what is wrong with it.
    fn read(&self, body: &[u8], path_model: Option<&str>) -> Result<Asked, String> {
        Asked::read(body, path_model)
    }

    /// A complete answer in one piece.
    fn whole(&self, answer: &Answer) -> String;

    /// The body of an error.
    fn error(&self, status: u16, message: &str, retry_after: Option<u64>) -> String;

    /// The frames of a stream, where there is one.
    fn frames(&self) -> Option<&'static dyn Frames> {
        None
    }
}

/// The frames of a streamed answer. They are complete: with their event lines and blank lines.
pub(super) trait Frames {
    /// The content type of the stream.
    fn content_type(&self) -> &'static str {
        "text/event-stream"
    }

    /// What comes before the content.
    fn opening(&self, answer: &Answer) -> Vec<String>;

    /// One piece of content.
    fn delta(&self, answer: &Answer, index: usize) -> String;

    /// What comes after the content.
    fn closing(&self, answer: &Answer) -> Vec<String>;

    /// A whole stream that begins and then reports an error.
    fn broken(&self, answer: &Answer) -> Vec<String>;
}
