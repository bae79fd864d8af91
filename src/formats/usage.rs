//! How many tokens an answer says it took, read from its bytes as they pass.
//!
//! Whole answers and streams alike name an object `usage` (Gemini: `usageMetadata`); streams
//! repeat it as it grows, so the largest numbers hold. What stands inside a text of the
//! answer has its quotes escaped and is not taken for one.

use serde_json::{Map, Value};

/// What may lie between two chunks: longer objects are not awaited.
const LONGEST: usize = 4 * 1024;
const NAMES: [&[u8]; 2] = [b"\"usage\"", b"\"usageMetadata\""];
const LONGEST_NAME: usize = 15;

const INPUT: [&str; 3] = ["prompt_tokens", "input_tokens", "promptTokenCount"];
/// Anthropic counts these besides its input.
const CACHED: [&str; 2] = ["cache_creation_input_tokens", "cache_read_input_tokens"];
const OUTPUT: [&str; 3] = ["completion_tokens", "output_tokens", "candidatesTokenCount"];

/// The numbers so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens in, those from a cache included.
    pub input: u64,
    /// Tokens out.
    pub output: u64,
    /// The end of what was seen, in which an object may have begun.
    rest: Vec<u8>,
}

impl Usage {
    /// Looks at the next bytes of an answer.
    pub fn see(&mut self, bytes: &[u8]) {
        let mut seen = std::mem::take(&mut self.rest);
        seen.extend_from_slice(bytes);
        let mut at = 0;
        while let Some((start, end)) = next_name(&seen, at) {
            match object(&seen[end..]) {
                Found::Object(usage) => self.take(&usage),
                Found::Unfinished if seen.len() - start <= LONGEST => {
                    self.rest = seen.split_off(start);
                    return;
                }
                Found::Unfinished | Found::Other => {}
            }
            at = end;
        }
        // A name may have been cut in two.
        let kept = seen.len().saturating_sub(LONGEST_NAME).max(at);
        self.rest = seen.split_off(kept.min(seen.len()));
    }

    fn take(&mut self, usage: &Map<String, Value>) {
        let count = |name: &&str| usage.get(*name).and_then(Value::as_u64);
        let input = INPUT.iter().find_map(count).unwrap_or(0);
        let cached: u64 = CACHED.iter().filter_map(count).sum();
        self.input = self.input.max(input.saturating_add(cached));
        self.output = self.output.max(OUTPUT.iter().find_map(count).unwrap_or(0));
    }
}

/// Where a name stands, from `at` on: its start and its end.
fn next_name(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let quote = |from: usize| Some(from + bytes.get(from..)?.iter().position(|byte| *byte == b'"')?);
    let mut start = quote(at)?;
    loop {
        let name = NAMES.iter().find(|name| bytes[start..].starts_with(name));
        match name {
            Some(name) => return Some((start, start + name.len())),
            None => start = quote(start + 1)?,
        }
    }
}

enum Found {
    Object(Map<String, Value>),
    Unfinished,
    Other,
}

/// The object behind a name.
fn object(bytes: &[u8]) -> Found {
    let trimmed = bytes.trim_ascii_start();
    let Some(value) = trimmed.strip_prefix(b":") else {
        return if trimmed.is_empty() { Found::Unfinished } else { Found::Other };
    };
    let mut values = serde_json::Deserializer::from_slice(value).into_iter::<Value>();
    match values.next() {
        Some(Ok(Value::Object(usage))) => Found::Object(usage),
        Some(Err(error)) if error.is_eof() => Found::Unfinished,
        None => Found::Unfinished,
        Some(_) => Found::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::Usage;

    fn read(bytes: &[u8], chunk: usize) -> (u64, u64) {
        let mut usage = Usage::default();
        bytes.chunks(chunk).for_each(|bytes| usage.see(bytes));
        (usage.input, usage.output)
    }

    #[test]
    fn each_dialect_says_it_in_its_way_and_however_it_is_cut() {
        let rows: [(&str, &str, (u64, u64)); 8] = [
            (
                "openai",
                r#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":34,"total_tokens":46}}"#,
                (12, 34),
            ),
            (
                "openai, streamed",
                "data: {\"usage\":null}\n\ndata: {\"choices\":[],\"usage\": {\"prompt_tokens\":12,\"completion_tokens\":34}}\n\ndata: [DONE]\n\n",
                (12, 34),
            ),
            (
                "anthropic, streamed: input first, output at the end",
                "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":5,\"output_tokens\":1}}}\n\n\
                 event: message_delta\ndata: {\"usage\":{\"output_tokens\":34}}\n\n",
                (15, 34),
            ),
            ("responses", r#"{"response":{"usage":{"input_tokens":12,"output_tokens":34}}}"#, (12, 34)),
            ("gemini", r#"{"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":34}}"#, (12, 34)),
            ("inside a text", r#"{"content":"{\"usage\":{\"prompt_tokens\":99}}"}"#, (0, 0)),
            ("none", r#"{"choices":[{"message":{"content":"hello"}}]}"#, (0, 0)),
            ("no numbers", r#"{"usage":{"prompt_tokens":-1,"completion_tokens":"many"}}"#, (0, 0)),
        ];
        for (row, text, expected) in rows {
            for chunk in [1, 2, 3, 7, 16, text.len()] {
                assert_eq!(read(text.as_bytes(), chunk), expected, "{row} in chunks of {chunk}");
            }
        }
    }

    #[test]
    fn what_never_ends_is_not_awaited() {
        let mut usage = Usage::default();
        usage.see(b"{\"usage\":{\"a\":\"");
        for _ in 0..100 {
            usage.see(&[b'x'; 1_000]);
        }
        assert!(usage.rest.len() <= super::LONGEST, "{}", usage.rest.len());
    }
}
