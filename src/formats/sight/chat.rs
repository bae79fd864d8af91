//! Frames of chat completions: chunks with choices, each with a delta.

use policy::stream::Kind;

use super::walk::{Walk, Walked};
use super::{Seen, finish};

pub(super) fn look<'a>(walk: &mut Walk<'a>, seen: &mut Seen<'a>) -> Walked<()> {
    walk.object(|key, walk| match key {
        b"choices" => {
            seen.known = true;
            walk.array(|walk| choice(walk, seen))
        }
        b"object" => {
            seen.known = true;
            // Some servers have errors that are no chunk and hold none.
            seen.failed |= walk.text()? == Some(b"error");
            Ok(())
        }
        _ if seen.common(key, walk)? => Ok(()),
        _ => walk.skip().map(drop),
    })
}

fn choice<'a>(walk: &mut Walk<'a>, seen: &mut Seen<'a>) -> Walked<()> {
    let (mut index, mut stops) = (0, false);
    walk.object(|key, walk| match key {
        b"index" => {
            index = bit(walk.skip()?);
            Ok(())
        }
        b"delta" | b"message" => delta(walk, seen),
        b"text" => walk.text().map(|text| seen.say(text)),
        b"finish_reason" => {
            if let Some(word @ [_, ..]) = walk.text()? {
                seen.failed |= word == b"error";
                seen.sight.finish = Some(finish(word));
                stops = true;
            }
            Ok(())
        }
        b"error" => {
            seen.failed |= walk.is_something()?;
            Ok(())
        }
        _ => walk.skip().map(drop),
    })?;
    seen.sight.choices |= 1 << index;
    seen.sight.stopped |= u32::from(stops) << index;
    Ok(())
}

/// The bit of a choice; those above the 31st share one, and what is no number is the first.
fn bit(index: &[u8]) -> u32 {
    let number = std::str::from_utf8(index).ok().and_then(|text| text.parse::<u32>().ok());
    number.unwrap_or_default().min(u32::BITS - 1)
}

fn delta<'a>(walk: &mut Walk<'a>, seen: &mut Seen<'a>) -> Walked<()> {
    walk.object(|key, walk| match key {
        b"content" if walk.peek()? == b'[' => walk.array(|walk| part(walk, seen)),
        b"content" | b"text" | b"refusal" => walk.text().map(|text| seen.say(text)),
        b"reasoning_content" | b"reasoning" | b"thinking" => walk.text().map(|text| seen.think(text)),
        b"reasoning_details" => walk.array(|walk| detail(walk, seen)),
        b"tool_calls" | b"function_call" => see(walk, seen, Kind::Tool),
        b"audio" | b"images" | b"image" | b"annotations" => see(walk, seen, Kind::Output),
        _ => walk.skip().map(drop),
    })
}

fn see<'a>(walk: &mut Walk<'a>, seen: &mut Seen<'a>, kind: Kind) -> Walked<()> {
    if walk.is_something()? {
        seen.see(kind);
    }
    Ok(())
}

/// A part of a content that is a list.
fn part<'a>(walk: &mut Walk<'a>, seen: &mut Seen<'a>) -> Walked<()> {
    let (mut kind, mut text, mut thought): (&[u8], _, _) = (b"", None, false);
    walk.object(|key, walk| {
        match key {
            b"type" => kind = walk.text()?.unwrap_or_default(),
            b"text" | b"refusal" => text = walk.text()?,
            b"thinking" | b"reasoning" => thought = walk.is_something()?,
            _ => drop(walk.skip()?),
        }
        Ok(())
    })?;
    match kind {
        b"thinking" | b"reasoning" => {
            seen.see(Kind::Reasoning { readable: thought || text.is_some_and(|text| !text.is_empty()) });
        }
        b"" | b"text" | b"output_text" | b"refusal" => seen.say(text),
        _ => seen.see(Kind::Output),
    }
    Ok(())
}

/// Thoughts in pieces of their own: of a known type, and with something in them (flow 6.3.12).
fn detail<'a>(walk: &mut Walk<'a>, seen: &mut Seen<'a>) -> Walked<()> {
    let (mut kind, mut readable, mut sealed): (&[u8], _, _) = (b"", false, false);
    walk.object(|key, walk| {
        match key {
            b"type" => kind = walk.text()?.unwrap_or_default(),
            b"text" | b"summary" => readable |= walk.is_something()?,
            b"data" | b"signature" => sealed |= walk.is_something()?,
            _ => drop(walk.skip()?),
        }
        Ok(())
    })?;
    let known = matches!(kind, b"reasoning.text" | b"reasoning.summary" | b"reasoning.encrypted");
    if known && (readable || sealed) {
        seen.see(Kind::Reasoning { readable });
    }
    Ok(())
}
