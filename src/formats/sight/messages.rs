//! Frames of Anthropic's messages: a type each, blocks that start, grow and stop.

use policy::stream::{Ending, Kind};

use super::walk::{Walk, Walked};
use super::{Seen, finish};

/// A block, a delta of one, or the delta of the message.
#[derive(Default)]
struct Part<'a> {
    kind: &'a [u8],
    text: Option<&'a [u8]>,
    thinking: Option<&'a [u8]>,
    signature: Option<&'a [u8]>,
    stop: Option<&'a [u8]>,
}

pub(super) fn look<'a>(walk: &mut Walk<'a>, seen: &mut Seen<'a>) -> Walked<()> {
    let (mut delta, mut block, mut message) = (None, None, None);
    walk.object(|key, walk| {
        match key {
            b"delta" => delta = Some(part(walk)?),
            b"content_block" => block = Some(part(walk)?),
            b"message" => message = Some(walk.skip()?),
            _ if seen.common(key, walk)? => {}
            _ => drop(walk.skip()?),
        }
        Ok(())
    })?;
    let word = seen.word;
    seen.known |=
        matches!(word, b"content_block_stop" | b"message_delta" | b"message_stop" | b"message_start");
    match word {
        b"content_block_delta" => grow(&delta.unwrap_or_default(), seen),
        b"content_block_start" => start(&block.unwrap_or_default(), seen),
        b"message_start" => announce(message.unwrap_or(b"{}"), seen)?,
        b"message_delta" => seen.sight.finish = delta.and_then(|delta| delta.stop).map(finish),
        b"message_stop" => seen.sight.end = Some(Ending::Complete),
        b"error" => seen.failed = true,
        _ => {}
    }
    Ok(())
}

fn part<'a>(walk: &mut Walk<'a>) -> Walked<Part<'a>> {
    let mut part = Part::default();
    walk.object(|key, walk| {
        match key {
            b"type" => part.kind = walk.text()?.unwrap_or_default(),
            b"text" => part.text = walk.text()?,
            b"thinking" => part.thinking = walk.text()?,
            b"signature" => part.signature = walk.text()?,
            b"stop_reason" => part.stop = walk.text()?,
            _ => drop(walk.skip()?),
        }
        Ok(())
    })?;
    Ok(part)
}

fn grow<'a>(delta: &Part<'a>, seen: &mut Seen<'a>) {
    seen.known = true;
    match delta.kind {
        b"" | b"text_delta" => seen.say(delta.text),
        b"input_json_delta" => seen.see(Kind::Tool),
        b"thinking_delta" => seen.think(delta.thinking.or(Some(b""))),
        b"signature_delta" if delta.signature.is_none_or(<[u8]>::is_empty) => {}
        b"signature_delta" => seen.see(Kind::Reasoning { readable: false }),
        _ => seen.see(Kind::Output),
    }
}

fn start<'a>(block: &Part<'a>, seen: &mut Seen<'a>) {
    seen.known = true;
    match block.kind {
        b"" | b"text" => seen.say(block.text),
        b"tool_use" | b"server_tool_use" | b"mcp_tool_use" => seen.see(Kind::Tool),
        b"thinking" => seen.think(block.thinking.or(Some(b""))),
        b"redacted_thinking" => seen.see(Kind::Reasoning { readable: false }),
        _ => seen.see(Kind::Output),
    }
}

/// The message as it begins: its counts, and what it holds already.
fn announce<'a>(message: &'a [u8], seen: &mut Seen<'a>) -> Walked<()> {
    Walk::new(message).object(|key, walk| match key {
        b"usage" => seen.count(walk),
        b"content" => walk.array(|walk| {
            start(&part(walk)?, seen);
            Ok(())
        }),
        _ => walk.skip().map(drop),
    })
}
