//! Whether a whole answer is worth giving to the client: complete, without an error in it, and
//! with something that its reader can use (flow 6.11.53; FC-028, FC-085; decision 21).
//!
//! Every answer that is not streamed is read so, in one walk that finds out at the same time
//! whether its JSON is closed (decision 9a). What nobody can place is let through; only what is
//! known to be empty or to be an error is held against an upstream.

mod chat;
mod messages;
pub mod predicates;

mod responses;
#[cfg(test)]
mod tests;

use policy::catalogue::Dialect;
use serde::de::IgnoredAny;

use super::walk::{Walk, Walked};

/// What a whole answer is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quality {
    /// The client gets it. Emptiness that says why (tokens used up, a filter) is good, too.
    Good,
    /// It ended well and holds nothing: no body, no choices, reasoning alone.
    Empty,
    /// It says itself that the upstream failed; `sight::failure` reads how.
    Error,
    /// Its JSON is not closed.
    Cut,
    /// It is no JSON.
    Garbled,
}

/// Phrases of an account that has nothing left (flow 6.11.53).
const EXHAUSTED: [&str; 6] = [
    "insufficient credit",
    "insufficient balance",
    "quota exceeded",
    "out of credits",
    "credit exhausted",
    "credits exhausted",
];

/// Judges a whole answer of chat completions, messages or responses. Embeddings and token counts
/// may pass by it as well: they hold nothing that it knows.
pub fn judge(dialect: Dialect, body: &[u8]) -> Quality {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii();
    match body {
        b"" | b"null" | b"[]" | b"\"\"" => Quality::Empty,
        [b'{', inner @ .., b'}'] if inner.trim_ascii().is_empty() => Quality::Empty,
        // A stream where none was asked for: somebody meant something.
        _ if body.starts_with(b"data:") || body.starts_with(b"event:") => Quality::Good,
        [b'{', ..] => object(dialect, body).unwrap_or_else(|_| unreadable(body)),
        _ => unreadable(body),
    }
}

fn object(dialect: Dialect, body: &[u8]) -> Walked<Quality> {
    let mut walk = Walk::new(body);
    let quality = match dialect {
        Dialect::Openai => chat::judge(&mut walk)?,
        Dialect::Anthropic => messages::judge(&mut walk)?,
        Dialect::Responses => responses::judge(&mut walk)?,
        Dialect::Gemini => gemini(&mut walk)?,
    };
    walk.end()?;
    Ok(quality)
}

/// Its answers are not asked for by any client yet: an error is one, and nothing else is judged.
fn gemini(walk: &mut Walk<'_>) -> Walked<Quality> {
    let mut failed = false;
    walk.object(|key, walk| match fails(key, walk)? {
        Some(fails) => {
            failed |= fails;
            Ok(())
        }
        None => walk.skip().map(drop),
    })?;
    Ok(if failed { Quality::Error } else { Quality::Good })
}

/// No object, or none that the walk could follow.
fn unreadable(body: &[u8]) -> Quality {
    match serde_json::from_slice::<IgnoredAny>(body) {
        Ok(_) => Quality::Good,
        Err(error) if error.is_eof() => Quality::Cut,
        Err(_) => Quality::Garbled,
    }
}

/// The fields in which any dialect says that it failed: an error that says something, or, where no
/// assistant speaks, an account that has nothing left. `None`: another field, not taken yet.
fn fails(key: &[u8], walk: &mut Walk<'_>) -> Walked<Option<bool>> {
    Ok(match key {
        b"error" => Some(walk.is_something()?),
        b"message" | b"detail" => {
            let text = String::from_utf8_lossy(walk.skip()?).to_lowercase();
            Some(EXHAUSTED.iter().any(|phrase| text.contains(phrase)))
        }
        _ => None,
    })
}

/// A text that is not empty; a value of another type, if there is anything in it.
fn says(walk: &mut Walk<'_>) -> Walked<bool> {
    walk.is_something()
}

/// A part of an answer's content: its type, and whether text is in it. A bare text has no type.
fn typed<'a>(walk: &mut Walk<'a>) -> Walked<(&'a [u8], bool)> {
    if walk.peek()? != b'{' {
        return Ok((b"", says(walk)?));
    }
    let (mut kind, mut text): (&[u8], bool) = (b"", false);
    walk.object(|key, walk| {
        match key {
            b"type" => kind = walk.text()?.unwrap_or_default(),
            b"text" | b"refusal" => text |= says(walk)?,
            _ => drop(walk.skip()?),
        }
        Ok(())
    })?;
    Ok((kind, text))
}

/// The value is this word.
fn is(walk: &mut Walk<'_>, word: &[u8]) -> Walked<bool> {
    Ok(walk.text()? == Some(word))
}

/// A reason to stop that explains why there is nothing (FC-085): any but "there is no more to say".
fn explains(word: &[u8]) -> bool {
    !matches!(word, b"" | b"stop" | b"end_turn" | b"stop_sequence" | b"STOP")
}
