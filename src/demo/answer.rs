//! The facts of one answer, before any dialect puts them into its own shape.
//!
//! Everything but the time follows from the request and its number, so that two runs of the same
//! requests differ in nothing else.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use super::credential;
use super::request::Asked;

/// What one answer says.
pub(super) struct Answer {
    /// The number of the request; ids are made of it.
    pub(super) number: u64,
    /// Unix seconds.
    pub(super) created: u64,
    /// The model as the client asked for it.
    pub(super) model: String,
    /// Words of content; 0 is an answer without content.
    pub(super) words: usize,
    /// Tokens of the request.
    pub(super) prompt_tokens: u64,
    /// Whether a chat stream ends with a usage chunk.
    pub(super) include_usage: bool,
    /// Embeddings: how many are asked for, and whether as base64.
    pub(super) inputs: usize,
    pub(super) base64: bool,
    sentence: String,
    sentence_words: usize,
}

impl Answer {
    /// The standard answer to a request.
    pub(super) fn new(number: u64, asked: Asked, credential: Option<&str>) -> Self {
        let sentence =
            format!("demo answer from {} with model {}", credential::name(credential), asked.model);
        let sentence_words = sentence.split_whitespace().count();
        Self {
            number,
            created: now_seconds(),
            words: sentence_words,
            prompt_tokens: (asked.body_bytes as u64).div_ceil(4),
            include_usage: asked.include_usage,
            inputs: asked.inputs,
            base64: asked.base64,
            model: asked.model,
            sentence,
            sentence_words,
        }
    }

    /// The whole text.
    pub(super) fn text(&self) -> Cow<'_, str> {
        if self.words == self.sentence_words {
            return Cow::Borrowed(&self.sentence);
        }
        Cow::Owned((0..self.words).map(|index| self.part(index)).collect())
    }

    /// One word of the text with the space before it: what a stream sends as one chunk.
    pub(super) fn part(&self, index: usize) -> String {
        let word = match self.sentence.split_whitespace().nth(index) {
            Some(word) => Cow::Borrowed(word),
            None => Cow::Owned(format!("word-{}", index + 1)),
        };
        let space = if index == 0 { "" } else { " " };
        format!("{space}{word}")
    }

    /// Tokens of the answer: one per word.
    pub(super) fn completion_tokens(&self) -> u64 {
        self.words as u64
    }

    /// Tokens of request and answer.
    pub(super) fn total_tokens(&self) -> u64 {
        self.prompt_tokens + self.completion_tokens()
    }
}

fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}
