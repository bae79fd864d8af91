//! Responses: an item that is no reasoning and no empty message, in an answer that says it is
//! complete, or incomplete for a reason of its own.

use super::{Quality, fails, is, says, typed};
use crate::formats::walk::{Walk, Walked};

pub(super) fn judge(walk: &mut Walk<'_>) -> Walked<Quality> {
    let (mut failed, mut known, mut output, mut later) = (false, false, false, false);
    let mut status: &[u8] = b"";
    walk.object(|key, walk| {
        match key {
            b"output" => {
                known |= walk.peek()? == b'[';
                walk.array(|walk| {
                    output |= item(walk)?;
                    Ok(())
                })?;
            }
            b"object" => known |= is(walk, b"response")?,
            b"status" => status = walk.text()?.unwrap_or_default(),
            b"background" => later = says(walk)?,
            _ => match fails(key, walk)? {
                Some(fails) => failed |= fails,
                None => drop(walk.skip()?),
            },
        }
        Ok(())
    })?;
    let good = match status {
        b"failed" => return Ok(Quality::Error),
        b"" | b"completed" | b"done" => output || !known,
        b"incomplete" => true,
        // The answer comes later, to who asks for it; another one would be a second.
        _ => later || !known,
    };
    Ok(match (failed, good) {
        (true, _) => Quality::Error,
        (false, true) => Quality::Good,
        (false, false) => Quality::Empty,
    })
}

fn item(walk: &mut Walk<'_>) -> Walked<bool> {
    if walk.peek()? != b'{' {
        return says(walk);
    }
    let (mut kind, mut parts, mut sealed): (&[u8], bool, bool) = (b"", false, false);
    walk.object(|key, walk| {
        match key {
            b"type" => kind = walk.text()?.unwrap_or_default(),
            b"content" if walk.peek()? == b'[' => walk.array(|walk| {
                parts |= part(walk)?;
                Ok(())
            })?,
            b"content" => parts |= says(walk)?,
            b"encrypted_content" => sealed |= says(walk)?,
            _ => drop(walk.skip()?),
        }
        Ok(())
    })?;
    Ok(match kind {
        b"" | b"message" => parts,
        b"compaction" => sealed,
        kind => kind != b"reasoning",
    })
}

fn part(walk: &mut Walk<'_>) -> Walked<bool> {
    let (kind, text) = typed(walk)?;
    Ok(text || !matches!(kind, b"" | b"output_text" | b"text" | b"refusal"))
}
