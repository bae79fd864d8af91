//! What a frame says, read from its bytes in the words of its dialect.
//!
//! The walk looks only where a dialect says something and steps over the rest. The most telling
//! part of a frame decides: an error above a tool call, above output, above reasoning, above what
//! announces or closes. Frames that are like the last one are told without a walk. What cannot be read is `Opaque`, never an error of ours: whoever sent it
//! meant something.

mod chat;
mod failure;
mod gemini;
mod messages;
mod pattern;
mod responses;

use std::mem;

use policy::catalogue::Dialect;
use policy::stream::{Ending, Finish, Kind, Sight};

pub use self::failure::{StreamError, failure};
use self::pattern::{Pattern, Places};
use super::quality::{Quality, judge};
use super::sse::Frame;
use super::walk::{self, Walk, Walked};

/// Types and names of frames that keep the connection alive and mean nothing.
const KEEP_ALIVE: [&[u8]; 5] = [b"keepalive", b"keep-alive", b"keep_alive", b"heartbeat", b"ping"];

/// Looks at the frames of one stream, which are much alike.
#[derive(Debug)]
pub struct Looker {
    dialect: Dialect,
    last: Pattern,
}

impl Looker {
    /// It has seen none yet.
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, last: Pattern::default() }
    }

    /// What the next frame says.
    pub fn look(&mut self, frame: &Frame<'_>) -> Sight {
        if !frame.has_data() {
            return bare(self.dialect, &frame.content());
        }
        let (name, data) = (frame.name(), frame.data());
        let data = data.trim_ascii();
        match self.last.tell(name, data) {
            Some(sight) => sight,
            None => self.read(name, data),
        }
    }

    fn read(&mut self, name: &[u8], data: &[u8]) -> Sight {
        if name == b"error" {
            return failed();
        }
        match data {
            b"" | b"[]" | b"null" | b"\"\"" => Sight::default(),
            [b'{', inner @ .., b'}'] if inner.trim_ascii().is_empty() => Sight::default(),
            b"[DONE]" => done(self.dialect),
            [b'{', ..] => match object(self.dialect, name, data) {
                Ok((sight, places)) => {
                    self.last.learn((name, data), sight, &places);
                    sight
                }
                Err(_) => Sight::of(Kind::Opaque),
            },
            _ if KEEP_ALIVE.contains(&name) => keep_alive(self.dialect, name),
            _ => Sight::of(Kind::Opaque),
        }
    }
}

/// No event, but what a server sends that fails before it can make one (FC-001).
fn bare(dialect: Dialect, text: &[u8]) -> Sight {
    let failed = text.trim_ascii_start().starts_with(b"{") && judge(dialect, text) == Quality::Error;
    if failed { self::failed() } else { Sight::default() }
}

/// Anthropic's clients know its ping; of any other one no client of the dialect has heard.
fn keep_alive(dialect: Dialect, word: &[u8]) -> Sight {
    let own = dialect == Dialect::Anthropic && word == b"ping";
    Sight::of(if own { Kind::Idle } else { Kind::KeepAlive })
}

/// The end of a chat. No other dialect has the word: there it closes nothing, and must not reach
/// the client (contract 8, "Streams").
fn done(dialect: Dialect) -> Sight {
    match dialect {
        Dialect::Openai => Sight { end: Some(Ending::Complete), ..Sight::of(Kind::Lifecycle) },
        _ => Sight::of(Kind::KeepAlive),
    }
}

fn failed() -> Sight {
    Sight { end: Some(Ending::Failed), ..Sight::of(Kind::Error) }
}

fn object<'a>(dialect: Dialect, name: &'a [u8], data: &'a [u8]) -> Walked<(Sight, Places<'a>)> {
    let mut walk = Walk::new(data);
    let mut seen = Seen { word: name, ..Seen::default() };
    match dialect {
        Dialect::Openai => chat::look(&mut walk, &mut seen)?,
        Dialect::Anthropic => messages::look(&mut walk, &mut seen)?,
        Dialect::Responses => responses::look(&mut walk, &mut seen)?,
        Dialect::Gemini => gemini::look(&mut walk, &mut seen)?,
    }
    walk.end()?;
    seen.failed |= !seen.known && is_detail(data);
    let places = mem::take(&mut seen.places);
    Ok((seen.settle(dialect), places))
}

/// The error of a web framework that has none of a dialect's: `{"detail": ...}` and nothing else.
fn is_detail(data: &[u8]) -> bool {
    let (mut fields, mut says) = (0, false);
    let walked = Walk::new(data).object(|key, walk| {
        fields += 1;
        says = walk.is_something()? && key == b"detail";
        Ok(())
    });
    walked.is_ok() && fields == 1 && says
}

/// What was seen of a frame so far.
#[derive(Default)]
struct Seen<'a> {
    sight: Sight,
    /// Its `type`, or else the name of its event.
    word: &'a [u8],
    /// Something in it belongs to its dialect.
    known: bool,
    /// It holds an error.
    failed: bool,
    /// Where the next one may differ.
    places: Places<'a>,
}

impl<'a> Seen<'a> {
    /// One thing in it; the most telling one stays.
    fn see(&mut self, kind: Kind) {
        if rank(kind) > rank(self.sight.kind) {
            self.sight.kind = kind;
        }
    }

    /// Text of the model; an empty one says nothing.
    fn say(&mut self, text: Option<&'a [u8]>) {
        if let Some(text @ [_, ..]) = text {
            self.places.words(text);
            self.see(Kind::Output);
            self.sight.text += walk::length(text);
        }
    }

    /// Readable thoughts; empty ones are a sign of life (flow 6.3.12).
    fn think(&mut self, text: Option<&'a [u8]>) {
        if let Some(text) = text {
            if !text.is_empty() {
                self.places.words(text);
            }
            self.see(Kind::Reasoning { readable: !text.is_empty() });
        }
    }

    /// One key of the frame itself that means the same everywhere; false: the dialect's own, and
    /// its value still to be taken.
    fn common(&mut self, key: &[u8], walk: &mut Walk<'a>) -> Walked<bool> {
        match key {
            b"type" => self.word = walk.text()?.unwrap_or(self.word),
            b"error" => self.failed |= walk.is_something()?,
            b"usage" | b"usageMetadata" => self.count(walk)?,
            b"sequence_number" | b"obfuscation" => self.places.ignored(key, walk.skip()?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Token counts, if there are any.
    fn count(&mut self, walk: &mut Walk<'a>) -> Walked<()> {
        self.known = true;
        self.sight.usage |= walk.is_something()?;
        Ok(())
    }

    /// An error beside an answer does not undo it, but ends it; an error alone is one (flow 6.2.3).
    fn settle(self, dialect: Dialect) -> Sight {
        let mut sight = self.sight;
        if self.failed && !sight.is_meaningful() {
            sight = Sight { usage: sight.usage, finish: sight.finish, ..failed() };
        } else if self.failed {
            sight.end = Some(Ending::Failed);
        } else if !self.known && KEEP_ALIVE.contains(&self.word) {
            return keep_alive(dialect, self.word);
        } else {
            match sight.kind {
                _ if !self.known => sight.kind = Kind::Opaque,
                Kind::Idle => sight.kind = Kind::Lifecycle,
                _ => {}
            }
        }
        if sight.kind != Kind::Output {
            sight.text = 0;
        }
        sight
    }
}

/// How telling a thing is.
fn rank(kind: Kind) -> u8 {
    match kind {
        Kind::Idle => 0,
        Kind::KeepAlive => 1,
        Kind::Lifecycle => 2,
        Kind::Reasoning { readable: false } => 3,
        Kind::Reasoning { readable: true } => 4,
        Kind::Opaque => 5,
        Kind::Output => 6,
        // Text beside a tool call is not counted (flow 6.7.37).
        Kind::Tool => 7,
        Kind::Error => 8,
    }
}

/// Why the model stopped, in any dialect's word.
fn finish(word: &[u8]) -> Finish {
    match word {
        b"stop" | b"end_turn" | b"stop_sequence" | b"STOP" => Finish::Stop,
        b"length"
        | b"max_tokens"
        | b"model_context_window_exceeded"
        | b"max_output_tokens"
        | b"MAX_TOKENS" => Finish::Length,
        b"tool_calls" | b"tool_use" | b"function_call" => Finish::Tools,
        b"content_filter"
        | b"refusal"
        | b"SAFETY"
        | b"RECITATION"
        | b"BLOCKLIST"
        | b"PROHIBITED_CONTENT"
        | b"SPII"
        | b"IMAGE_SAFETY"
        | b"IMAGE_PROHIBITED_CONTENT"
        | b"IMAGE_RECITATION" => Finish::Filter,
        _ => Finish::Other,
    }
}

#[cfg(test)]
mod tests;
