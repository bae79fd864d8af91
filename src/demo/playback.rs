//! A response body that follows a script: pieces, pauses, silence, and an end that may be missing.
//!
//! It also keeps the journal's ticket. A body that is dropped before its script is over means that
//! the client has gone, because nothing else makes actix drop it; the ticket says so by itself.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::body::{BodySize, MessageBody};
use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep_until};

use super::journal::Ticket;
use super::wire::Wire;

/// One instruction of a script.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Send this as one piece.
    Send(Bytes),
    /// Let time pass, counted from the previous wait, so that a long script keeps its rate.
    Wait(Duration),
    /// Send nothing more and keep the socket open.
    Stall,
    /// Close the connection without a proper end.
    Cut,
}

/// The instructions of one body; made lazily, a script may be long.
pub(super) type Steps = Box<dyn Iterator<Item = Step>>;

/// Where a playback stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Playing,
    Silent,
    Cutting,
    Failing(io::ErrorKind),
}

/// The body itself.
pub(super) struct Playback {
    steps: Steps,
    size: BodySize,
    phase: Phase,
    due: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
    ticket: Option<Ticket>,
    wire: Option<Wire>,
}

impl Playback {
    /// A body that follows `steps`; `size` is what the head promises.
    pub(super) fn new(steps: Steps, size: BodySize, ticket: Option<Ticket>, wire: Option<Wire>) -> Self {
        Self { steps, size, phase: Phase::Playing, due: Instant::now(), sleep: None, ticket, wire }
    }

    /// A body that fails before its first piece.
    pub(super) fn failing(kind: io::ErrorKind) -> Self {
        let mut playback = Self::new(Box::new(std::iter::empty()), BodySize::Stream, None, None);
        playback.phase = Phase::Failing(kind);
        playback
    }

    fn play(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                ready!(sleep.as_mut().poll(context));
                self.sleep = None;
            }
            match self.steps.next() {
                // an empty chunk would be the end of a chunked body
                Some(Step::Send(bytes)) if bytes.is_empty() => {}
                Some(Step::Send(bytes)) => return Poll::Ready(Some(Ok(bytes))),
                Some(Step::Wait(pause)) => {
                    self.due += pause;
                    self.sleep = Some(Box::pin(sleep_until(self.due)));
                }
                Some(Step::Stall) => {
                    self.phase = Phase::Silent;
                    return Poll::Pending;
                }
                Some(Step::Cut) => {
                    // actix writes out what it holds only while the body is pending
                    self.phase = Phase::Cutting;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                None => {
                    self.finish();
                    return Poll::Ready(None);
                }
            }
        }
    }

    /// Through the socket the cut is silent; an error of the body does the same but is logged.
    fn cut(&mut self) -> Poll<Option<io::Result<Bytes>>> {
        self.finish();
        self.phase = Phase::Silent;
        match &self.wire {
            Some(wire) => {
                wire.close();
                Poll::Pending
            }
            None => Poll::Ready(Some(Err(io::Error::other("cut by the script")))),
        }
    }

    fn finish(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            ticket.finish();
        }
    }
}

impl MessageBody for Playback {
    type Error = io::Error;

    fn size(&self) -> BodySize {
        self.size
    }

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        match self.phase {
            Phase::Playing => self.play(context),
            Phase::Silent => Poll::Pending,
            Phase::Cutting => self.cut(),
            Phase::Failing(kind) => Poll::Ready(Some(Err(kind.into()))),
        }
    }
}
