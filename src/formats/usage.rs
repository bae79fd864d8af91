//! How many tokens an answer says it took, read from its bytes as they pass.
//!
//! Whole answers and streams alike name an object `usage` (Gemini: `usageMetadata`); streams
//! repeat it as it grows. Each number that is said later replaces the one before it, and none is
//! ever added to itself (FC-035); a zero says nothing. What stands inside a text of the answer
//! has its quotes escaped and is not taken for one. Bytes without the name are searched for it
//! and no more: frames are not parsed here.
//!
//! Dialects mean different things by one word. Here input holds what was read from a cache and
//! written to one (Anthropic says these apart), and output holds reasoning (Gemini, and some that
//! copy OpenAI, say it apart).

mod said;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use memchr::memmem::Finder;
use policy::usage::Tokens;
use said::Said;
use serde::Deserialize;

/// What may lie between two chunks: longer objects are not awaited.
const LONGEST: usize = 4 * 1024;
/// What both names begin with.
const STEM: &[u8] = b"\"usage";
/// What may follow it.
const ENDINGS: [&[u8]; 2] = [b"\"", b"Metadata\""];

static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(STEM));

/// The numbers so far, as they were said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    said: Tokens,
    tools: u64,
    total: u64,
    /// The cache's numbers are not in the input.
    cache_apart: bool,
    /// It speaks as Google does.
    google: bool,
    /// The end of what was seen, in which an object may have begun.
    rest: Vec<u8>,
}

impl Usage {
    /// Looks at the next bytes of an answer.
    pub fn see(&mut self, bytes: &[u8]) {
        if self.rest.is_empty() {
            if let Some(from) = self.read(bytes) {
                self.rest.extend_from_slice(&bytes[from..]);
            }
            return;
        }
        let mut seen = std::mem::take(&mut self.rest);
        seen.extend_from_slice(bytes);
        if let Some(from) = self.read(&seen) {
            seen.drain(..from);
            self.rest = seen;
        }
    }

    /// What was said, the same for every dialect; all zero: nothing was.
    pub fn tokens(&self) -> Tokens {
        let Tokens { cached, cache_write, reasoning, .. } = self.said;
        let apart = if self.cache_apart { cached.saturating_add(cache_write) } else { 0 };
        let input = self.said.input.saturating_add(self.tools).saturating_add(apart);
        let with_reasoning = self.said.output.saturating_add(reasoning);
        let output = match self.google {
            true if self.said.output == 0 => with_reasoning.max(self.total.saturating_sub(input)),
            true => with_reasoning,
            // Some say reasoning besides the output; the total tells.
            false if input.saturating_add(with_reasoning) == self.total => with_reasoning,
            false => self.said.output,
        };
        Tokens { input, cached, cache_write, output, reasoning }
    }

    /// Reads what is whole; where what is not begins.
    fn read(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(found) = FINDER.find(&bytes[at..]) {
            let start = at + found;
            let behind = &bytes[start + STEM.len()..];
            at = start + STEM.len();
            match object(behind) {
                Found::Object(usage) => self.take(&usage),
                Found::Unfinished if bytes.len() - start <= LONGEST => return Some(start),
                Found::Unfinished | Found::Other => {}
            }
        }
        // The stem itself may have been cut in two.
        let tail = &bytes[at.max(bytes.len().saturating_sub(STEM.len() - 1))..];
        let begun = memchr::memrchr(b'"', tail).filter(|at| STEM.starts_with(&tail[*at..]))?;
        Some(bytes.len() - tail.len() + begun)
    }

    fn take(&mut self, said: &Said) {
        let pairs = [
            (&mut self.said.input, said.input),
            (&mut self.said.cached, said.cached),
            (&mut self.said.cache_write, said.cache_write),
            (&mut self.said.output, said.output),
            (&mut self.said.reasoning, said.reasoning),
            (&mut self.tools, said.tools),
            (&mut self.total, said.total),
        ];
        for (number, said) in pairs.into_iter().filter(|(_, said)| *said > 0) {
            *number = said;
        }
        self.cache_apart |= said.names_apart && !said.names_within;
        self.google |= said.google;
    }
}

enum Found {
    Object(Said),
    Unfinished,
    Other,
}

/// The object behind a stem, if it is the whole beginning of a name.
fn object(behind: &[u8]) -> Found {
    let ending = ENDINGS.into_iter().find(|ending| behind.starts_with(ending));
    let Some(ending) = ending else {
        let begun = ENDINGS.iter().any(|ending| ending.starts_with(behind));
        return if begun { Found::Unfinished } else { Found::Other };
    };
    let value = behind[ending.len()..].trim_ascii_start();
    let value = match value.split_first() {
        Some((b':', value)) => value.trim_ascii_start(),
        Some(_) => return Found::Other,
        None => return Found::Unfinished,
    };
    match value.first() {
        Some(b'{') => {}
        Some(_) => return Found::Other,
        None => return Found::Unfinished,
    }
    match Said::deserialize(&mut serde_json::Deserializer::from_slice(value)) {
        Ok(said) => Found::Object(said),
        Err(error) if error.is_eof() => Found::Unfinished,
        Err(_) => Found::Other,
    }
}
