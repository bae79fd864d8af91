//! Frames of Gemini's streamGenerateContent: each a whole response with the next parts of its
//! candidates. The dialect has no end marker: a finish reason, then the end of the body.

use policy::stream::{Finish, Kind};

use super::walk::{Walk, Walked};
use super::{Seen, finish};

pub(super) fn look<'a>(walk: &mut Walk<'a>, seen: &mut Seen<'a>) -> Walked<()> {
    walk.object(|key, walk| {
        match key {
            b"candidates" => walk.array(|walk| candidate(walk, seen))?,
            b"promptFeedback" => feedback(walk, seen)?,
            b"modelVersion" | b"responseId" => drop(walk.skip()?),
            _ => {
                if !seen.common(key, walk)? {
                    walk.skip()?;
                }
                return Ok(());
            }
        }
        seen.known = true;
        Ok(())
    })
}

fn candidate<'a>(walk: &mut Walk<'a>, seen: &mut Seen<'a>) -> Walked<()> {
    walk.object(|key, walk| match key {
        b"content" => walk.object(|key, walk| match key {
            b"parts" => walk.array(|walk| part(walk, seen)),
            _ => walk.skip().map(drop),
        }),
        b"finishReason" => {
            if let Some(word @ [_, ..]) = walk.text()? {
                seen.sight.finish = Some(finish(word));
            }
            Ok(())
        }
        _ => walk.skip().map(drop),
    })
}

fn part<'a>(walk: &mut Walk<'a>, seen: &mut Seen<'a>) -> Walked<()> {
    let (mut text, mut thought, mut signed, mut kind) = (None, false, false, None);
    walk.object(|key, walk| {
        match key {
            b"text" => text = walk.text()?,
            b"thought" => thought = walk.skip()? == b"true",
            b"thoughtSignature" => signed = walk.is_something()?,
            b"functionCall" | b"executableCode" => kind = walk.is_something()?.then_some(Kind::Tool).or(kind),
            b"partMetadata" | b"videoMetadata" => drop(walk.skip()?),
            // A picture, a file, a result, or what nobody has seen yet.
            _ => kind = kind.or(walk.is_something()?.then_some(Kind::Output)),
        }
        Ok(())
    })?;
    match (kind, text) {
        (Some(kind), _) => seen.see(kind),
        (None, Some([_, ..])) if thought => seen.think(text),
        (None, Some([_, ..])) => seen.say(text),
        (None, _) if signed => seen.see(Kind::Reasoning { readable: false }),
        (None, _) => {}
    }
    Ok(())
}

/// A prompt that was blocked has no other answer.
fn feedback<'a>(walk: &mut Walk<'a>, seen: &mut Seen<'a>) -> Walked<()> {
    walk.object(|key, walk| {
        if key == b"blockReason" && walk.is_something()? {
            seen.sight.finish = Some(Finish::Filter);
        } else if key != b"blockReason" {
            walk.skip()?;
        }
        Ok(())
    })
}
