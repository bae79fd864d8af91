//! Server-sent events as they come: bytes in, frames out, nothing rebuilt.
//!
//! A frame is what stands between two blank lines, told as a place in the bytes that came, so that
//! it can be sent on as it is. An event that lies in one chunk is never copied; one that is cut is
//! put together from its pieces once, and no byte is looked for a line end twice (a line of 16 MB
//! in pieces of 1 KB costs what 16 MB cost). Lines end with LF, CRLF or CR, mixed and cut anywhere
//! (FC-026); text is never decoded, so no cut can harm it (FC-025).
//!
//! ```text
//! scanner.feed(chunk);
//! while scanner.next_block() {
//!     while let Some(frame) = scanner.next_frame() { .. }
//!     send(scanner.block().slice(from..to));
//! }
//! ```

use std::borrow::Cow;
use std::mem;
use std::ops::Range;

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr2;

const BOM: &[u8] = b"\xef\xbb\xbf";
/// What a cut event needed beyond this is given back when it has gone.
const KEPT: usize = 64 * 1024;

/// Whether a body that begins so is a stream of events: JSON, pages and plain text begin otherwise.
pub fn begins(body: &[u8]) -> bool {
    let body = body.strip_prefix(BOM).unwrap_or(body).trim_ascii_start();
    let fields: [&[u8]; 5] = [b"data:", b"event:", b":", b"id:", b"retry:"];
    // A first chunk may be a few bytes only.
    !body.is_empty() && fields.iter().any(|field| body.starts_with(field) || field.starts_with(body))
}

/// An event grew beyond the cap: nothing more can be read of this stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// Cuts a stream into frames.
#[derive(Debug)]
pub struct Scanner {
    max_event: usize,
    /// Where the frames lie that are given out now.
    block: Bytes,
    /// Up to here the block was given out or put aside.
    at: usize,
    /// What came and was not looked at yet.
    queued: Bytes,
    /// The beginning of an event that was cut.
    held: BytesMut,
    draft: Draft,
    /// The block is one event, read already.
    whole: Option<Parts>,
    /// No frame has been given out: a byte order mark may stand here.
    first: bool,
    too_long: bool,
}

impl Scanner {
    /// A scanner that refuses events above so many bytes.
    pub fn new(max_event: usize) -> Self {
        Self {
            max_event,
            block: Bytes::new(),
            at: 0,
            queued: Bytes::new(),
            held: BytesMut::new(),
            draft: Draft::default(),
            whole: None,
            first: true,
            too_long: false,
        }
    }

    /// Takes the next bytes. What came before must have been read: `next_block` until it says no.
    pub fn feed(&mut self, chunk: Bytes) {
        debug_assert!(self.queued.is_empty() && self.at == self.block.len(), "read before the next chunk");
        if !self.too_long {
            self.queued = chunk;
        }
    }

    /// Moves on to the next bytes in which frames lie; false: feed first. A chunk makes two blocks
    /// at most: the event that it completes, and the rest of it.
    pub fn next_block(&mut self) -> bool {
        debug_assert!(self.at == self.block.len(), "read to its end before the next block");
        self.at = 0;
        self.block = match self.held.is_empty() {
            true => mem::take(&mut self.queued),
            false => self.complete(),
        };
        !self.block.is_empty() || self.held.len() > self.max_event
    }

    /// The next frame of this block; none: try the next block.
    pub fn next_frame(&mut self) -> Option<Result<Frame<'_>, TooLong>> {
        let start = self.at;
        let event = &self.block[start..];
        let read = match self.whole.take() {
            Some(parts) => Some((event.len(), parts)),
            None if event.is_empty() => None,
            None => {
                self.draft.read(event, self.first).map(|length| (length, mem::take(&mut self.draft).parts))
            }
        };
        if read.is_none() {
            self.held.extend_from_slice(event);
            self.at = self.block.len();
        }
        if self.held.len() > self.max_event
            || read.as_ref().is_some_and(|(length, _)| *length > self.max_event)
        {
            return Some(Err(self.refuse()));
        }
        let (length, parts) = read?;
        self.at = start + length;
        self.first = false;
        Some(Ok(Frame { span: start..self.at, bytes: &self.block[start..self.at], parts }))
    }

    /// What the spans of the frames point into. Consecutive frames of a block are one slice.
    pub fn block(&self) -> &Bytes {
        &self.block
    }

    /// At the end of the body: what no blank line has closed (FC-082), a block of its own. It may
    /// be cut in the middle of its JSON, and it may be without data.
    pub fn rest(&mut self) -> Option<Frame<'_>> {
        if self.held.is_empty() {
            return None;
        }
        let mut draft = mem::take(&mut self.draft);
        draft.end(&self.held, self.first);
        self.block = self.held.split().freeze();
        self.at = self.block.len();
        Some(Frame { span: 0..self.at, bytes: &self.block, parts: draft.parts })
    }

    /// Nothing of an event is held back: whatever is sent now stands between two events (FC-093).
    pub fn is_between(&self) -> bool {
        self.pending() == 0
    }

    /// Bytes that came and were not given out.
    pub fn pending(&self) -> usize {
        self.held.len() + (self.block.len() - self.at) + self.queued.len()
    }

    /// Nothing but line ends came that was not given out.
    pub fn is_blank(&self) -> bool {
        [&self.held[..], &self.block[self.at..], &self.queued[..]]
            .iter()
            .all(|bytes| bytes.trim_ascii().is_empty())
    }

    /// Reads nothing any more; the frames given out before keep their block.
    fn refuse(&mut self) -> TooLong {
        self.too_long = true;
        self.at = self.block.len();
        (self.held, self.queued) = (BytesMut::new(), Bytes::new());
        TooLong
    }

    /// Adds lines to the cut event until it is whole; nothing, if all that came is used up before.
    fn complete(&mut self) -> Bytes {
        while !self.queued.is_empty() {
            let line = match memchr2(b'\n', b'\r', &self.queued) {
                Some(end) => line_with_end(&self.queued, end),
                None => self.queued.len(),
            };
            self.held.extend_from_slice(&self.queued[..line]);
            self.queued.advance(line);
            if self.draft.read(&self.held, self.first).is_some() {
                self.whole = Some(mem::take(&mut self.draft).parts);
                let event = self.held.split().freeze();
                if event.len() > KEPT {
                    self.held = BytesMut::new();
                }
                return event;
            }
        }
        Bytes::new()
    }
}

/// A complete event, a block of comments, or blank lines.
#[derive(Debug)]
pub struct Frame<'a> {
    /// Its place in [`Scanner::block`], the blank line included.
    pub span: Range<usize>,
    bytes: &'a [u8],
    parts: Parts,
}

impl<'a> Frame<'a> {
    /// What `event:` says; empty without one.
    pub fn name(&self) -> &'a [u8] {
        &self.bytes[self.parts.name.clone()]
    }

    /// Its data; several lines are joined by LF.
    pub fn data(&self) -> Cow<'a, [u8]> {
        let first = &self.bytes[self.parts.data.clone()];
        if self.parts.data_lines < 2 {
            return Cow::Borrowed(first);
        }
        let mut joined = first.to_vec();
        for line in self.bytes[self.parts.data.end..].split(|byte| is_end(*byte)) {
            if let Field::Data(value) = field(line) {
                joined.push(b'\n');
                joined.extend_from_slice(&line[value..]);
            }
        }
        Cow::Owned(joined)
    }

    /// Where a byte of its data stands in [`Scanner::block`].
    pub fn place_of(&self, mut at: usize) -> usize {
        let Range { start, end } = self.parts.data;
        if at <= end - start {
            return self.span.start + start + at;
        }
        at -= end - start + 1;
        let mut line_at = end;
        for line in self.bytes[end..].split(|byte| is_end(*byte)) {
            if let Field::Data(value) = field(line) {
                if at <= line.len() - value {
                    return self.span.start + line_at + value + at;
                }
                at -= line.len() - value + 1;
            }
            line_at += line.len() + 1;
        }
        self.span.end
    }

    /// Its data; without a `data` line, what stands there instead.
    pub fn content(&self) -> Cow<'a, [u8]> {
        if self.has_data() { self.data() } else { Cow::Borrowed(self.bytes) }
    }

    /// Whether it has a `data` line, be it an empty one.
    pub fn has_data(&self) -> bool {
        self.parts.data_lines > 0
    }

    /// Comments and nothing else.
    pub fn is_comment(&self) -> bool {
        self.parts.comment && !self.parts.field
    }
}

/// What was found in the lines so far; places count from the event's first byte.
#[derive(Clone, Debug, Default)]
struct Parts {
    name: Range<usize>,
    /// The first data line.
    data: Range<usize>,
    data_lines: usize,
    comment: bool,
    /// Any line that is no comment.
    field: bool,
}

impl Parts {
    fn take(&mut self, event: &[u8], start: usize, end: usize) {
        match field(&event[start..end]) {
            Field::Comment => self.comment = true,
            Field::Data(value) => {
                if self.data_lines == 0 {
                    self.data = start + value..end;
                }
                self.data_lines += 1;
                self.field = true;
            }
            Field::Name(value) => {
                self.name = start + value..end;
                self.field = true;
            }
            Field::Other => self.field = true,
        }
    }
}

/// How far an event was read.
#[derive(Clone, Debug, Default)]
struct Draft {
    /// Where the line begins that has no end yet.
    line: usize,
    /// No line end between there and here.
    seen: usize,
    parts: Parts,
}

impl Draft {
    /// Reads on; the length of the event when it is complete. `event` begins with what was read before.
    fn read(&mut self, event: &[u8], first: bool) -> Option<usize> {
        if self.seen == 0 && is_end(event[0]) {
            return Some(event.iter().position(|byte| !is_end(*byte)).unwrap_or(event.len()));
        }
        while let Some(end) = memchr2(b'\n', b'\r', &event[self.seen..]).map(|end| self.seen + end) {
            self.seen = end + 1;
            let start = mem::replace(&mut self.line, end + 1);
            if start < end {
                let mark = if start == 0 && first && event.starts_with(BOM) { BOM.len() } else { 0 };
                self.parts.take(event, start + mark, end);
            } else if event[end] == b'\r' || event[end - 1] != b'\r' {
                return Some(line_with_end(event, end));
            }
        }
        self.seen = event.len();
        // Comments wait for nothing: between two lines of theirs no event is under way.
        (self.line == event.len() && !self.parts.field).then_some(event.len())
    }

    /// The body is over: a line without an end is a line.
    fn end(&mut self, event: &[u8], first: bool) {
        if self.line < event.len() {
            let mark = if self.line == 0 && first && event.starts_with(BOM) { BOM.len() } else { 0 };
            self.parts.take(event, self.line + mark, event.len());
        }
    }
}

fn is_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Where the line is over whose end begins at `end`: CRLF is one end.
fn line_with_end(bytes: &[u8], end: usize) -> usize {
    end + if bytes[end..].starts_with(b"\r\n") { 2 } else { 1 }
}

enum Field {
    Comment,
    /// Where its value begins.
    Data(usize),
    Name(usize),
    Other,
}

fn field(line: &[u8]) -> Field {
    let value = |name: usize| match &line[name..] {
        [] => Some(name),
        [b':', b' ', ..] => Some(name + 2),
        [b':', ..] => Some(name + 1),
        _ => None,
    };
    let known = match line {
        [b':', ..] => Some(Field::Comment),
        [b'd', b'a', b't', b'a', ..] => value(4).map(Field::Data),
        [b'e', b'v', b'e', b'n', b't', ..] => value(5).map(Field::Name),
        _ => None,
    };
    known.unwrap_or(Field::Other)
}

#[cfg(test)]
mod tests;
