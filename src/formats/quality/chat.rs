//! Chat completions: a choice with a message that says something, calls a tool, or stopped for
//! a reason of its own.

use super::{Quality, explains, fails, is, says, typed};
use crate::formats::walk::{Walk, Walked};

/// What was seen of an answer.
#[derive(Default)]
struct Seen {
    failed: bool,
    /// It has choices, or should have.
    known: bool,
    output: bool,
    /// A choice failed.
    broken: bool,
    /// A choice stopped for a reason of its own.
    explained: bool,
    /// A text of nothing but white space, beside thoughts.
    blank: bool,
    tokens: Tokens,
}

#[derive(Default)]
struct Tokens {
    all: u64,
    thought: u64,
}

/// What was seen of a message.
#[derive(Default)]
struct Message {
    output: bool,
    blank: bool,
    thinks: bool,
}

pub(super) fn judge(walk: &mut Walk<'_>) -> Walked<Quality> {
    let mut seen = Seen::default();
    walk.object(|key, walk| match key {
        b"choices" => {
            seen.known |= walk.peek()? == b'[';
            walk.array(|walk| choice(walk, &mut seen))
        }
        b"object" => {
            seen.known |= is(walk, b"chat.completion")?;
            Ok(())
        }
        b"usage" => usage(walk, &mut seen.tokens),
        _ => match fails(key, walk)? {
            Some(fails) => {
                seen.failed |= fails;
                Ok(())
            }
            None => walk.skip().map(drop),
        },
    })?;
    Ok(seen.settle())
}

impl Seen {
    fn settle(self) -> Quality {
        // Nearly all of its tokens went into reasoning (flow 6.11.53).
        let only_thought = self.tokens.all > 0
            && self.tokens.thought.saturating_mul(10) >= self.tokens.all.saturating_mul(9);
        match self {
            Self { failed: true, .. } => Quality::Error,
            Self { known: false, .. } | Self { output: true, .. } => Quality::Good,
            Self { blank: true, .. } if !only_thought => Quality::Good,
            Self { broken: true, .. } => Quality::Error,
            Self { explained: true, .. } => Quality::Good,
            _ => Quality::Empty,
        }
    }
}

fn choice(walk: &mut Walk<'_>, seen: &mut Seen) -> Walked<()> {
    let (mut message, mut finish): (Option<Message>, &[u8]) = (None, b"");
    walk.object(|key, walk| {
        match key {
            b"message" => message = self::message(walk)?,
            b"finish_reason" => finish = walk.text()?.unwrap_or_default(),
            b"error" => seen.broken |= says(walk)?,
            _ => drop(walk.skip()?),
        }
        Ok(())
    })?;
    seen.broken |= finish == b"error";
    if let Some(message) = message {
        // Whether white space is a text hangs on what else there is.
        seen.output |= message.output || message.blank && !message.thinks;
        seen.blank |= message.blank;
        seen.explained |= explains(finish);
    }
    Ok(())
}

/// `None`: null.
fn message(walk: &mut Walk<'_>) -> Walked<Option<Message>> {
    if walk.peek()? != b'{' {
        return Ok(says(walk)?.then_some(Message { output: true, ..Message::default() }));
    }
    let mut seen = Message::default();
    walk.object(|key, walk| {
        match key {
            b"content" => content(walk, &mut seen)?,
            b"refusal" | b"tool_calls" | b"function_call" | b"audio" | b"images" => {
                seen.output |= says(walk)?
            }
            b"reasoning_content" | b"reasoning" => seen.thinks |= says(walk)?,
            _ => drop(walk.skip()?),
        }
        Ok(())
    })?;
    Ok(Some(seen))
}

fn content(walk: &mut Walk<'_>, seen: &mut Message) -> Walked<()> {
    match walk.peek()? {
        b'"' => {
            let text = walk.text()?.unwrap_or_default();
            seen.blank |= !text.is_empty() && is_blank(text);
            seen.output |= !is_blank(text);
        }
        b'[' => walk.array(|walk| {
            seen.output |= part(walk)?;
            Ok(())
        })?,
        _ => seen.output |= says(walk)?,
    }
    Ok(())
}

/// A text that is one, or a part that is no text.
fn part(walk: &mut Walk<'_>) -> Walked<bool> {
    let (kind, text) = typed(walk)?;
    let is_quiet = matches!(kind, b"" | b"text" | b"output_text" | b"refusal" | b"thinking" | b"reasoning");
    Ok(!is_quiet || text && !matches!(kind, b"thinking" | b"reasoning"))
}

fn usage(walk: &mut Walk<'_>, tokens: &mut Tokens) -> Walked<()> {
    walk.object(|key, walk| {
        match key {
            b"completion_tokens" => tokens.all = count(walk)?,
            b"completion_tokens_details" => walk.object(|key, walk| {
                match key {
                    b"reasoning_tokens" => tokens.thought = count(walk)?,
                    _ => drop(walk.skip()?),
                }
                Ok(())
            })?,
            _ => drop(walk.skip()?),
        }
        Ok(())
    })
}

fn count(walk: &mut Walk<'_>) -> Walked<u64> {
    let number = std::str::from_utf8(walk.skip()?).ok().and_then(|text| text.parse().ok());
    Ok(number.unwrap_or_default())
}

/// White space, as it stands in JSON; nothing at all is it, too.
fn is_blank(text: &[u8]) -> bool {
    let mut rest = text;
    loop {
        rest = match rest {
            [] => return true,
            [b' ', after @ ..] | [b'\\', b'n' | b'r' | b't', after @ ..] => after,
            _ => return false,
        }
    }
}
