//! A request body on its way out: slices of 64 KiB, so that progress can be seen.
//!
//! The client sends the whole body before it reads the head. A provider that answers
//! early, or takes no bytes, would look like a slow one; the progress kept here tells
//! them apart (decision 9c).

use std::cell::Cell;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use awc::body::{BodySize, MessageBody};
use bytes::Bytes;

/// Bytes of one slice.
const SLICE: usize = 64 * 1024;

/// How far a body got.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    handed_out: Rc<Cell<usize>>,
    total: usize,
}

impl Progress {
    pub(super) fn of(total: usize) -> Self {
        Self { handed_out: Rc::default(), total }
    }

    /// Bytes handed to the socket so far.
    pub(super) fn bytes(&self) -> usize {
        self.handed_out.get()
    }

    /// All bytes were handed to the socket.
    pub(super) fn is_complete(&self) -> bool {
        self.bytes() >= self.total
    }

    /// Small enough for one slice: it cannot stall half-way.
    pub(super) fn is_small(&self) -> bool {
        self.total <= SLICE
    }
}

/// Parts of a body, sent in order.
pub(super) struct Outgoing {
    parts: Vec<Bytes>,
    next: usize,
    progress: Progress,
}

impl Outgoing {
    pub(super) fn new(parts: Vec<Bytes>, progress: Progress) -> Self {
        Self { parts, next: 0, progress }
    }
}

impl MessageBody for Outgoing {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.progress.total as u64)
    }

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let body = &mut *self;
        while let Some(part) = body.parts.get_mut(body.next) {
            if part.is_empty() {
                body.next += 1;
                continue;
            }
            let slice = part.split_to(part.len().min(SLICE));
            body.progress.handed_out.set(body.progress.bytes() + slice.len());
            return Poll::Ready(Some(Ok(slice)));
        }
        Poll::Ready(None)
    }
}
