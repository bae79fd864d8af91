//! Anthropic messages: a block that is no thinking and no empty text, or a reason of its own to
//! stop.

use super::{Quality, explains, fails, typed};
use crate::formats::walk::{Walk, Walked};

pub(super) fn judge(walk: &mut Walk<'_>) -> Walked<Quality> {
    let (mut failed, mut known, mut output, mut explained) = (false, false, false, false);
    walk.object(|key, walk| {
        match key {
            b"content" => {
                known |= walk.peek()? == b'[';
                walk.array(|walk| {
                    output |= block(walk)?;
                    Ok(())
                })?;
            }
            b"type" => match walk.text()? {
                Some(b"message") => known = true,
                Some(b"error") => failed = true,
                _ => {}
            },
            b"stop_reason" => explained = walk.text()?.is_some_and(explains),
            _ => match fails(key, walk)? {
                Some(fails) => failed |= fails,
                None => drop(walk.skip()?),
            },
        }
        Ok(())
    })?;
    Ok(match (failed, !known || output || explained) {
        (true, _) => Quality::Error,
        (false, true) => Quality::Good,
        (false, false) => Quality::Empty,
    })
}

/// A text that is one, or a block that is neither text nor thinking.
fn block(walk: &mut Walk<'_>) -> Walked<bool> {
    let (kind, text) = typed(walk)?;
    Ok(match kind {
        b"" | b"text" => text,
        kind => !matches!(kind, b"thinking" | b"redacted_thinking"),
    })
}
