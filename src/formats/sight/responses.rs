//! Frames of Responses: a type each, most of them about an item of the output or a part of one.
//!
//! Deltas are the model's text; the frames that close an item or a part repeat it, so they tell
//! that there was output and count no text.

use policy::stream::{Ending, Finish, Kind};

use super::walk::{Walk, Walked};
use super::{Seen, finish};

/// What a frame holds beside its type, as it is written.
#[derive(Default)]
struct Raw<'a> {
    delta: Option<&'a [u8]>,
    text: bool,
    item: &'a [u8],
    part: &'a [u8],
    response: &'a [u8],
}

pub(super) fn look<'a>(walk: &mut Walk<'a>, seen: &mut Seen<'a>) -> Walked<()> {
    let mut raw = Raw::default();
    walk.object(|key, walk| {
        match key {
            b"delta" => raw.delta = walk.text()?,
            b"text" | b"refusal" => raw.text = walk.is_something()?,
            b"item" => raw.item = walk.skip()?,
            b"part" => raw.part = walk.skip()?,
            b"response" => raw.response = walk.skip()?,
            _ if seen.common(key, walk)? => {}
            _ => drop(walk.skip()?),
        }
        Ok(())
    })?;
    let Some(word) = seen.word.strip_prefix(b"response.") else {
        seen.failed |= seen.word == b"error";
        return Ok(());
    };
    seen.known = true;
    match word {
        b"output_text.delta" | b"refusal.delta" => seen.say(raw.delta),
        b"output_text.done" | b"refusal.done" if raw.text => seen.see(Kind::Output),
        b"output_text.done" | b"refusal.done" => {}
        b"output_text.annotation.added" => seen.see(Kind::Output),
        b"output_item.added" | b"output_item.done" => item(&mut Walk::new(raw.item), seen)?,
        b"content_part.added" | b"content_part.done" => part(&mut Walk::new(raw.part), seen)?,
        b"created" | b"in_progress" | b"queued" => {}
        b"completed" | b"done" | b"incomplete" | b"failed" | b"cancelled" => end(word, raw.response, seen)?,
        _ => other(word, &raw, seen)?,
    }
    Ok(())
}

/// Types that are told by a part of their name: there are many, and new ones come.
fn other<'a>(word: &[u8], raw: &Raw<'a>, seen: &mut Seen<'a>) -> Walked<()> {
    let has = |part: &[u8]| word.windows(part.len()).any(|window| window == part);
    if word.starts_with(b"reasoning") {
        let mut readable = raw.text || raw.delta.is_some_and(|delta| !delta.is_empty());
        Walk::new(if raw.part.is_empty() { b"{}" } else { raw.part }).object(|key, walk| {
            match key {
                b"text" => readable |= walk.is_something()?,
                _ => drop(walk.skip()?),
            }
            Ok(())
        })?;
        seen.see(Kind::Reasoning { readable });
    } else if has(b"partial_image") {
        seen.see(Kind::Output);
    } else if has(b"_call") || has(b"tool") {
        seen.see(Kind::Tool);
    } else if word.starts_with(b"audio.") && word.ends_with(b".done") {
        // What it closes was said before.
    } else if word == b"audio.delta" {
        seen.see(Kind::Output);
    } else if raw.delta.is_some() {
        seen.say(raw.delta);
    } else {
        seen.known = false;
    }
    Ok(())
}

/// An item of the output.
fn item<'a>(walk: &mut Walk<'a>, seen: &mut Seen<'a>) -> Walked<()> {
    let (mut kind, mut thoughts, mut sealed, mut result): (&[u8], _, _, _) = (b"", false, false, false);
    let mut parts = Seen::default();
    walk.object(|key, walk| {
        match key {
            b"type" => kind = walk.text()?.unwrap_or_default(),
            b"content" => walk.array(|walk| part(walk, &mut parts))?,
            b"summary" => thoughts |= walk.is_something()?,
            b"encrypted_content" => sealed |= walk.is_something()?,
            b"result" => result |= walk.is_something()?,
            _ => drop(walk.skip()?),
        }
        Ok(())
    })?;
    match kind {
        b"reasoning" => seen.see(Kind::Reasoning { readable: thoughts || parts.sight.is_meaningful() }),
        b"message" | b"" => seen.see(parts.sight.kind),
        b"compaction" if !sealed => {}
        _ if kind.ends_with(b"_call") && !result => seen.see(Kind::Tool),
        _ => seen.see(Kind::Output),
    }
    Ok(())
}

/// A part of a message.
fn part<'a>(walk: &mut Walk<'a>, seen: &mut Seen<'a>) -> Walked<()> {
    let (mut kind, mut text): (&[u8], _) = (b"", false);
    walk.object(|key, walk| {
        match key {
            b"type" => kind = walk.text()?.unwrap_or_default(),
            b"text" | b"refusal" => text |= walk.is_something()?,
            _ => drop(walk.skip()?),
        }
        Ok(())
    })?;
    match kind {
        b"reasoning_text" | b"summary_text" => seen.see(Kind::Reasoning { readable: text }),
        b"" | b"output_text" | b"text" | b"refusal" if !text => {}
        _ => seen.see(Kind::Output),
    }
    Ok(())
}

/// The response as it ends. It holds the whole output, which some servers tell nowhere else.
fn end<'a>(word: &'a [u8], response: &'a [u8], seen: &mut Seen<'a>) -> Walked<()> {
    let (mut status, mut reason): (&[u8], _) = (word, None);
    if response.is_empty() {
        return close(status, reason, seen);
    }
    Walk::new(response).object(|key, walk| {
        match key {
            b"status" => status = walk.text()?.unwrap_or(word),
            b"error" => seen.failed |= walk.is_something()?,
            b"usage" => seen.count(walk)?,
            b"output" => walk.array(|walk| item(walk, seen))?,
            b"incomplete_details" => walk.object(|key, walk| {
                match key {
                    b"reason" => reason = walk.text()?,
                    _ => drop(walk.skip()?),
                }
                Ok(())
            })?,
            _ => drop(walk.skip()?),
        }
        Ok(())
    })?;
    close(if word == b"done" { status } else { word }, reason, seen)
}

fn close(word: &[u8], reason: Option<&[u8]>, seen: &mut Seen<'_>) -> Walked<()> {
    match word {
        b"incomplete" => {
            seen.sight.finish = Some(reason.map_or(Finish::Other, finish));
            seen.sight.end = Some(Ending::Incomplete);
        }
        b"failed" | b"cancelled" => {
            // What it has said before was said in frames of its own.
            seen.sight.kind = Kind::Idle;
            seen.failed = true;
        }
        _ => {
            seen.sight.finish = Some(Finish::Stop);
            seen.sight.end = Some(Ending::Complete);
        }
    }
    Ok(())
}
