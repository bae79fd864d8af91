//! The body of an answer as it comes, and whether it came whole.
//!
//! The client drops a body it cannot frame and takes a cut for an end; so length and end are
//! checked here once more. An encoding that was not asked for is taken off (`decode`).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use awc::error::PayloadError;
use bytes::{Buf, Bytes};
use futures_util::Stream;
use tokio::io::{AsyncBufRead, AsyncRead, ReadBuf};

use super::decode::{Coding, Decoded};

/// Why a body did not end well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

/// The body of an answer; dropping it closes the upstream's connection.
pub struct AnswerBody(Kind);

enum Kind {
    Plain(Raw),
    Encoded(Box<Decoded<Raw>>),
}

impl AnswerBody {
    pub(super) fn new(raw: Raw, coding: Option<Coding>) -> Self {
        Self(match coding {
            None => Kind::Plain(raw),
            Some(coding) => Kind::Encoded(Box::new(Decoded::new(coding, raw))),
        })
    }

    /// The length that is to be expected; that of an encoded body is unknown.
    pub fn expected(&self) -> Option<u64> {
        match &self.0 {
            Kind::Plain(raw) => raw.expected,
            Kind::Encoded(_) => None,
        }
    }
}

impl Stream for AnswerBody {
    type Item = Result<Bytes, Broken>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match &mut self.0 {
            Kind::Plain(raw) => raw.next(cx),
            Kind::Encoded(decoded) => decoded.next(cx),
        }
    }
}

/// The body as it is on the wire.
pub(super) struct Raw {
    response: awc::ClientResponse,
    expected: Option<u64>,
    received: u64,
    ends_with_connection: bool,
    /// Read, and not yet taken by a decoder.
    part: Bytes,
    /// It has ended. The client panics when it is asked once more.
    is_over: bool,
}

impl Raw {
    /// `expected`: the length that was stated. By some statuses there is no body, whatever else is
    /// stated: nobody waits for one.
    pub(super) fn new(
        response: awc::ClientResponse,
        expected: Option<u64>,
        ends_with_connection: bool,
    ) -> Self {
        let is_over = matches!(response.status().as_u16(), 204 | 304);
        Self { response, expected, received: 0, ends_with_connection, part: Bytes::new(), is_over }
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        match Pin::new(&mut self.response).poll_next(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Ok(bytes))) => {
                self.received += bytes.len() as u64;
                Poll::Ready(Some(Ok(bytes)))
            }
            Poll::Ready(end) => {
                self.is_over = true;
                let is_whole = match end {
                    Some(Err(error)) => self.ends_with_connection && is_end(&error),
                    _ => self.expected.is_none_or(|expected| expected == self.received),
                };
                Poll::Ready(if is_whole { None } else { Some(Err(Broken)) })
            }
        }
    }
}

fn is_end(error: &PayloadError) -> bool {
    match error {
        PayloadError::Incomplete(Some(error)) | PayloadError::Io(error) => {
            error.kind() == io::ErrorKind::UnexpectedEof
        }
        PayloadError::Incomplete(None) => true,
        _ => false,
    }
}

impl AsyncBufRead for Raw {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let raw = self.get_mut();
        while raw.part.is_empty() {
            match raw.next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => break,
                Poll::Ready(Some(Ok(part))) => raw.part = part,
                Poll::Ready(Some(Err(Broken))) => {
                    return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                }
            }
        }
        Poll::Ready(Ok(&raw.part))
    }

    fn consume(mut self: Pin<&mut Self>, count: usize) {
        self.part.advance(count);
    }
}

impl AsyncRead for Raw {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = match self.as_mut().poll_fill_buf(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Ready(Ok(part)) => {
                let count = part.len().min(buffer.remaining());
                buffer.put_slice(&part[..count]);
                count
            }
        };
        self.consume(count);
        Poll::Ready(Ok(()))
    }
}
