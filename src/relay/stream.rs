//! A committed answer on its way: bytes as they come, and the truth about its end.
//!
//! The permit rides on it: dropping the body, whoever drops it, closes the upstream's
//! connection and gives the slot back. A cut after commit is told in the client's
//! dialect and then ends abnormally; it is a second, separate failure of the target
//! (decision 9a).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use actors::permit::Permit;
use bytes::Bytes;
use futures_util::Stream;
use policy::catalogue::Dialect;
use policy::ids::ConnectionId;
use policy::verdict::{Case, End, Signal, judge};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use super::meter::Meter;
use crate::formats::error::{ErrorFacts, frame};
use crate::upstream::AnswerBody;

/// The answer ended before it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut;

enum Stage {
    Flowing,
    /// The error frame is out; the next poll lets it be flushed.
    Told,
    /// The next poll ends the answer abnormally.
    Flushed,
    Over,
}

/// How a committed answer goes on.
pub(super) struct Way {
    /// The dialect of an event stream, `None` for other bodies.
    pub(super) frames: Option<Dialect>,
    /// No combo was asked for.
    pub(super) direct: bool,
    /// Woken when everything must end.
    pub(super) cutoff: Arc<Notify>,
    /// Counts what passes; it has seen the first part.
    pub(super) meter: Option<Meter>,
}

/// A committed answer.
pub struct Relayed {
    first: Option<Bytes>,
    rest: AnswerBody,
    length: Option<u64>,
    frames: Option<Dialect>,
    permit: Option<Permit>,
    direct: bool,
    cutoff: Pin<Box<OwnedNotified>>,
    stage: Stage,
    meter: Option<Meter>,
}

impl Relayed {
    /// What `committed` has begun; `way`: how it goes on.
    pub(super) fn new(first: Bytes, rest: AnswerBody, permit: Permit, way: Way) -> Self {
        let length = rest.expected();
        Self {
            first: Some(first),
            rest,
            length,
            frames: way.frames,
            permit: Some(permit),
            direct: way.direct,
            cutoff: Box::pin(way.cutoff.notified_owned()),
            stage: Stage::Flowing,
            meter: way.meter,
        }
    }

    /// Whose slot it holds, as long as it does.
    pub fn connection(&self) -> Option<&ConnectionId> {
        self.permit.as_ref().map(|permit| &permit.target().connection)
    }

    /// The whole length, if the upstream stated it.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// The upstream ended it: told, and settled as a failure of the target.
    fn cut(&mut self) -> Poll<Option<Result<Bytes, Cut>>> {
        if let Some(mut permit) = self.permit.take() {
            let class = permit.target().class;
            let verdict = judge(&Signal::new(End::CutAfterCommit, None), &Case::of(class));
            permit.settle_again(verdict, self.direct);
        }
        self.tell("upstream_truncated", "the upstream's answer was cut before it was complete")
    }

    /// Our own end cuts it: told, and nobody's fault.
    fn shut_down(&mut self) -> Poll<Option<Result<Bytes, Cut>>> {
        self.permit = None;
        self.tell("draining", "switchtower is shutting down; the answer is not complete")
    }

    fn tell(&mut self, code: &'static str, message: &str) -> Poll<Option<Result<Bytes, Cut>>> {
        let facts = ErrorFacts { status: 502, code, message: message.into(), ..ErrorFacts::default() };
        match self.frames {
            Some(dialect) => {
                self.stage = Stage::Told;
                Poll::Ready(Some(Ok(Bytes::from(frame(dialect, &facts)))))
            }
            None => {
                self.stage = Stage::Over;
                Poll::Ready(Some(Err(Cut)))
            }
        }
    }
}

impl Stream for Relayed {
    type Item = Result<Bytes, Cut>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let body = &mut *self;
        if let Some(first) = body.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        match body.stage {
            Stage::Flowing => match Pin::new(&mut body.rest).poll_next(cx) {
                Poll::Pending => match body.cutoff.as_mut().poll(cx) {
                    Poll::Ready(()) => body.shut_down(),
                    Poll::Pending => Poll::Pending,
                },
                Poll::Ready(Some(Ok(bytes))) => {
                    if let Some(meter) = &mut body.meter {
                        meter.see(&bytes);
                    }
                    Poll::Ready(Some(Ok(bytes)))
                }
                Poll::Ready(Some(Err(_))) => body.cut(),
                Poll::Ready(None) => {
                    body.stage = Stage::Over;
                    body.permit = None;
                    if let Some(meter) = body.meter.take() {
                        meter.complete();
                    }
                    Poll::Ready(None)
                }
            },
            Stage::Told => {
                // An error right behind a frame would discard the frame: give it one turn to be flushed.
                body.stage = Stage::Flushed;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Stage::Flushed => {
                body.stage = Stage::Over;
                Poll::Ready(Some(Err(Cut)))
            }
            Stage::Over => Poll::Ready(None),
        }
    }
}
