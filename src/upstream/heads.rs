//! Heads of answers, looked at before the client sees them.
//!
//! The client takes an interim head (100, 103) for the answer, and drops a body that ends with
//! its HTTP/1.1 connection. So interim heads are taken out here, and a head that states no length
//! is shown as one of HTTP/1.0: the client reads such a body to the end of its connection and
//! never uses that one again (RFC 9112 6.3, RFC 9110 15.2).

use std::io;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use memchr::{memchr, memchr_iter};
use tokio::io::ReadBuf;

/// Bytes of a head; a longer one is left to the client, which refuses it.
const LONGEST: usize = 128 * 1024;
/// Bytes that are read at once behind the beginning of a head.
const PIECE: usize = 1024;

const BEGINS: &[u8] = b"HTTP/1.1 ";
/// Where in it the minor version stands.
const MINOR: usize = 7;

/// The heads of one connection.
#[derive(Debug, Default)]
pub(super) struct Heads {
    /// A request went out; what comes next is a head.
    due: bool,
    /// The client takes the answer for whole, and its peer need not: nothing is read any more.
    over: bool,
    /// Read, and not given to the client yet.
    held: BytesMut,
}

/// What stands at the beginning of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// A head that is not whole yet.
    Partial,
    /// The answer's head, or none at all: from here on all is the client's.
    Final,
    /// The same, and by its status there is no body (204, 304).
    Bare,
    /// An interim head of this length.
    Interim(usize),
}

impl Heads {
    /// A request, or a part of one, went out.
    pub(super) fn expect(&mut self) {
        self.due = true;
    }

    /// What the client reads; `read`: the connection.
    pub(super) fn read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
        mut read: impl FnMut(&mut Context<'_>, &mut ReadBuf<'_>) -> Poll<io::Result<()>>,
    ) -> Poll<io::Result<()>> {
        if self.held.is_empty() {
            if self.over {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            let before = buffer.filled().len();
            ready!(read(cx, buffer))?;
            // Nearly always a head comes whole, and nothing is copied.
            if !self.due || self.is_final(look(&mut buffer.filled_mut()[before..])) {
                return Poll::Ready(Ok(()));
            }
            self.held.extend_from_slice(&buffer.filled()[before..]);
            buffer.set_filled(before);
        }
        while self.due && !self.settle() {
            let mut bytes = [0; PIECE];
            let mut piece = ReadBuf::new(&mut bytes);
            ready!(read(cx, &mut piece))?;
            self.held.extend_from_slice(piece.filled());
        }
        let count = self.held.len().min(buffer.remaining());
        buffer.put_slice(&self.held.split_to(count));
        Poll::Ready(Ok(()))
    }

    /// Takes interim heads out of what is held; whether the rest is the client's.
    fn settle(&mut self) -> bool {
        loop {
            match look(&mut self.held) {
                Look::Interim(length) => self.held.advance(length),
                look => return self.is_final(look),
            }
        }
    }

    fn is_final(&mut self, look: Look) -> bool {
        self.due = matches!(look, Look::Partial | Look::Interim(_));
        self.over |= look == Look::Bare;
        !self.due
    }
}

/// Looks at a head, and shows one without a length as HTTP/1.0. Most are framed, and then the look
/// ends at the line that says so: no answer is to pay more than a few hundred instructions for it.
fn look(bytes: &mut [u8]) -> Look {
    if bytes.starts_with(b"\r") || bytes.starts_with(b"\n") {
        return look_behind_blanks(bytes);
    }
    if !bytes.starts_with(BEGINS) {
        return if BEGINS.starts_with(bytes) { Look::Partial } else { Look::Final };
    }
    let status = bytes.get(BEGINS.len()..BEGINS.len() + 3).unwrap_or_default();
    let interim = status.starts_with(b"1");
    for end in memchr_iter(b'\n', bytes) {
        let line = end + 1;
        let ends = match &bytes[line..] {
            [b'\n', ..] => line + 1,
            [b'\r', b'\n', ..] => line + 2,
            [b'c' | b'C' | b't' | b'T', ..] if !interim => match framing(&bytes[line..]) {
                Some(true) => return Look::Final,
                Some(false) => continue,
                None => break,
            },
            _ => continue,
        };
        return match status {
            b"101" => Look::Final,
            b"204" | b"304" => Look::Bare,
            _ if interim => Look::Interim(ends),
            _ => {
                bytes[MINOR] = b'0';
                Look::Final
            }
        };
    }
    if bytes.len() > LONGEST { Look::Final } else { Look::Partial }
}

/// The client skips blank lines before a head, too.
fn look_behind_blanks(bytes: &mut [u8]) -> Look {
    let blanks = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    match look(&mut bytes[blanks..]) {
        Look::Interim(length) => Look::Interim(blanks + length),
        Look::Partial if bytes.len() > LONGEST => Look::Final,
        look => look,
    }
}

/// Whether a line begins here that states where the body ends; `None`: nobody knows yet.
fn framing(line: &[u8]) -> Option<bool> {
    if matches!(line.first(), Some(b'c' | b'C')) {
        return Some(value(line, b"content-length").is_some());
    }
    match value(line, b"transfer-encoding") {
        Some(value) => Some(is_coded(&value[..memchr(b'\n', value)?])),
        None => Some(false),
    }
}

/// Whether a `Transfer-Encoding` is one: `identity`, of HTTP's older days, is none.
pub(super) fn is_coded(value: &[u8]) -> bool {
    !value.trim_ascii().eq_ignore_ascii_case(b"identity")
}

/// Blanks before the colon pass with the client.
fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (begins, rest) = line.split_at_checked(name.len())?;
    if !begins.eq_ignore_ascii_case(name) {
        return None;
    }
    let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    rest[blanks..].strip_prefix(b":")
}

#[cfg(test)]
mod tests;
