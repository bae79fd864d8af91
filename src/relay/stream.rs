//! A committed answer on its way: events as they come, and the truth about its end.
//!
//! The permit rides on it: dropping the body, whoever drops it, closes the upstream's
//! connection and gives the slot back. A cut after commit is told in the client's
//! dialect and then ends abnormally; it is a second, separate failure of the target
//! (decisions 9a, 20).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use actors::permit::Permit;
use bytes::Bytes;
use futures_util::Stream;
use policy::catalogue::Dialect;
use policy::ids::ConnectionId;
use policy::stream::Limit;
use policy::verdict::{End, Signal};
use serde_json::json;
use tokio::sync::futures::OwnedNotified;

use super::close::{Close, Read};
use super::commit::Remainder;
use super::dial::Key;
use super::judging::Known;
use super::meter::Meter;
use super::resume::{Added, Resume};
use super::source::Source;
use super::{Chosen, Tower};
use crate::formats::error::{ErrorFacts, frame};
use crate::formats::redact;
use crate::formats::renaming::{Renaming, Top};

const CUT: &str = "the upstream's answer was cut before it was complete";

/// The answer ended before it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut;

enum Stage {
    Flowing,
    /// Another request was asked for the rest (flow 6.6).
    Resuming,
    /// The error frame is out; the next poll lets it be flushed.
    Told,
    /// The next poll ends the answer abnormally.
    Flushed,
    Over,
}

/// What is still to come.
pub(super) enum Rest {
    /// Bytes of no known shape.
    Body(Box<Remainder>),
    /// Events.
    Stream(Box<Source>),
    /// Nothing: the upstream's connection is closed or in other hands.
    Gone,
}

/// How a committed answer goes on.
pub(super) struct Way {
    /// Judges what comes of it, and wakes it when everything must end.
    pub(super) tower: Arc<Tower>,
    /// Who gives it.
    pub(super) from: Chosen,
    /// What it was asked with.
    pub(super) key: Key,
    /// The dialect of an event stream, `None` for other bodies.
    pub(super) frames: Option<Dialect>,
    /// Goes on with it, where it breaks and that is wanted.
    pub(super) resume: Option<Box<Resume>>,
    /// No combo was asked for.
    pub(super) direct: bool,
    /// Counts what passes; it has seen the first part.
    pub(super) meter: Option<Meter>,
}

/// A committed answer.
pub struct Relayed {
    first: Option<Bytes>,
    rest: Rest,
    length: Option<u64>,
    permit: Option<Permit>,
    way: Way,
    cutoff: Pin<Box<OwnedNotified>>,
    stage: Stage,
    /// Puts another name of the model into what goes out; nobody else sees it.
    naming: Naming,
}

/// How what goes out names the model.
enum Naming {
    AsItCame,
    Events(Box<Renaming>),
    Body(Box<Top>),
}

impl Naming {
    fn name(&mut self, bytes: Bytes) -> Bytes {
        match self {
            Self::AsItCame => bytes,
            Self::Events(renaming) => renaming.events(bytes),
            Self::Body(top) => top.part(bytes),
        }
    }
}

impl Relayed {
    /// What a commit has begun; `way`: how it goes on.
    pub(super) fn new(first: Bytes, rest: Rest, permit: Permit, way: Way) -> Self {
        let length = match &rest {
            Rest::Body(body) => body.expected(),
            Rest::Stream(_) | Rest::Gone => None,
        };
        let cutoff = Box::pin(way.tower.cutoff.clone().notified_owned());
        let permit = Some(permit);
        let (stage, naming) = (Stage::Flowing, Naming::AsItCame);
        Self { first: Some(first), rest, length, permit, way, cutoff, stage, naming }
    }

    /// Gives the model another name from now on. The length of a body is told only where the name stands
    /// in the part that is there: else nobody knows it yet.
    pub(super) fn name(&mut self, renaming: Renaming) {
        if self.way.frames.is_some() {
            self.naming = Naming::Events(Box::new(renaming));
            return;
        }
        let Some(first) = &mut self.first else { return };
        let (before, mut top) = (first.len() as u64, renaming.parts());
        *first = top.part(std::mem::take(first));
        match self.length.filter(|_| top.is_settled()) {
            Some(length) => self.length = Some(length - before + first.len() as u64),
            None => {
                self.length = None;
                self.naming = Naming::Body(Box::new(top));
            }
        }
    }

    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        match self.stage {
            Stage::Flowing => self.poll_flow(cx),
            Stage::Resuming => self.poll_resume(cx),
            Stage::Told => {
                // An error right behind a frame would discard the frame: give it one turn to be flushed.
                self.stage = Stage::Flushed;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Stage::Flushed => {
                self.stage = Stage::Over;
                Poll::Ready(Some(Err(Cut)))
            }
            Stage::Over => Poll::Ready(None),
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

    fn poll_flow(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        let read = match &mut self.rest {
            Rest::Body(body) => body.poll_read(cx),
            Rest::Stream(source) => source.poll_read(cx),
            Rest::Gone => Poll::Ready(Read::End(Close::Complete)),
        };
        match read {
            Poll::Pending => match self.cutoff.as_mut().poll(cx) {
                Poll::Ready(()) => self.shut_down(),
                Poll::Pending => Poll::Pending,
            },
            Poll::Ready(Read::Bytes(bytes)) => {
                if let Some(meter) = &mut self.way.meter {
                    meter.see(&bytes);
                    if let Rest::Stream(source) = &mut self.rest {
                        meter.wrote(source.wrote());
                    }
                }
                if let Some(resume) = &mut self.way.resume {
                    resume.gave(&bytes);
                }
                Poll::Ready(Some(Ok(bytes)))
            }
            Poll::Ready(Read::End(close)) => self.ends(close, cx),
        }
    }

    /// The answer is over: counted once, given back once, told as what it was.
    fn ends(&mut self, close: Close, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        if self.resumes(&close) {
            return self.poll_resume(cx);
        }
        match close {
            Close::Complete => self.complete(),
            Close::Failed { frame, error, .. } => {
                // The request is not kept that long, and a text that it may hold proves nothing: only
                // the code is judged.
                let text = json!({"error": {"code": error.code}}).to_string();
                let signal = Signal { text, ..Signal::new(End::InStream(error.status), None) };
                self.settle(&signal);
                self.log("error_in_stream");
                // Its own words, in the dialect that the client speaks.
                let frame = match self.way.key.secret() {
                    Some(secret) => redact::without(frame, secret.expose()),
                    None => frame,
                };
                self.last(Some(frame))
            }
            Close::Empty { .. } => {
                self.settle(&Signal::new(End::Empty, None));
                self.tell(502, "empty_response", "the upstream's answer holds no output")
            }
            Close::Truncated => {
                self.settle(&Signal::new(End::CutAfterCommit, None));
                self.tell(502, "upstream_truncated", CUT)
            }
            Close::TooSlow => {
                self.settle(&Signal::new(End::StallAfterCommit, None));
                let message = "the upstream sent too little output for too long";
                self.tell(502, "STREAM_THROUGHPUT_TOO_LOW", message)
            }
            Close::TooLong => {
                self.settle(&Signal::new(End::CutAfterCommit, None));
                self.tell(
                    502,
                    "upstream_truncated",
                    "one event of the upstream is larger than stream.max_event",
                )
            }
            Close::Limit(limit) => {
                self.settle(&Signal::new(End::StallAfterCommit, None));
                self.tell(limit.status(), limit.code(), &late(limit))
            }
        }
    }

    /// Whether the rest is asked for instead. The break is the target's failure all the same.
    fn resumes(&mut self, close: &Close) -> bool {
        let end = match close {
            Close::Truncated => End::CutAfterCommit,
            Close::TooSlow | Close::Limit(Limit::ContentStall | Limit::Idle) => End::StallAfterCommit,
            Close::Empty { .. } => End::Empty,
            _ => return false,
        };
        let (Some(resume), Rest::Stream(source)) = (&mut self.way.resume, &self.rest) else { return false };
        if !resume.begins(source.tally()) {
            return false;
        }
        self.rest = Rest::Gone;
        self.stage = Stage::Resuming;
        self.report(&Signal::new(end, None));
        true
    }

    fn poll_resume(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        let Some(resume) = &mut self.way.resume else { return self.ends(Close::Truncated, cx) };
        let more = resume.poll_more(cx);
        if let (Some(count), Some(meter)) = (resume.spent(), &mut self.way.meter) {
            meter.also(count);
        }
        match more {
            Poll::Pending => match self.cutoff.as_mut().poll(cx) {
                Poll::Ready(()) => self.shut_down(),
                Poll::Pending => Poll::Pending,
            },
            Poll::Ready(Added::End(bytes)) => {
                // Whether it is complete is known by now; what is left is to say so.
                let _ = self.complete();
                Poll::Ready(Some(Ok(bytes)))
            }
            Poll::Ready(Added::Part(bytes)) if bytes.is_empty() => self.poll_resume(cx),
            Poll::Ready(Added::Part(bytes)) => Poll::Ready(Some(Ok(bytes))),
            Poll::Ready(Added::Cut(bytes)) => {
                self.way.resume = None;
                self.permit = None;
                let told = self.tell(502, "upstream_truncated", CUT);
                match (told, bytes.is_empty()) {
                    (Poll::Ready(Some(Ok(frame))), false) => {
                        Poll::Ready(Some(Ok([bytes, frame].concat().into())))
                    }
                    (told, _) => told,
                }
            }
        }
    }

    fn complete(&mut self) -> Poll<Option<Result<Bytes, Cut>>> {
        if let Rest::Stream(source) = std::mem::replace(&mut self.rest, Rest::Gone) {
            source.park();
        }
        self.stage = Stage::Over;
        self.permit = None;
        if let Some(meter) = self.way.meter.take() {
            meter.complete();
        }
        Poll::Ready(None)
    }

    /// Our own end cuts it: told, and nobody's fault.
    fn shut_down(&mut self) -> Poll<Option<Result<Bytes, Cut>>> {
        self.permit = None;
        self.tell(503, "draining", "switchtower is shutting down; the answer is not complete")
    }

    /// A second, separate failure of the target.
    fn settle(&mut self, signal: &Signal) {
        self.report(signal);
        self.permit = None;
    }

    fn report(&mut self, signal: &Signal) {
        let Some(permit) = &mut self.permit else { return };
        let tower = &self.way.tower;
        let known = Known { gates: &tower.gates, token_expires_at: None, request: b"" };
        let now = tower.owners.clock.now();
        let verdict = tower.judging.load().judge(signal, permit.target(), &known, now);
        permit.settle_again(verdict, self.way.direct);
    }

    /// What is told is logged as well: a status of 200 says nothing of it.
    fn log(&self, code: &'static str) {
        let Chosen { provider, connection, model } = &self.way.from;
        tracing::warn!(%provider, %connection, %model, code, "an answer ended before it was complete");
    }

    fn tell(&mut self, status: u16, code: &'static str, message: &str) -> Poll<Option<Result<Bytes, Cut>>> {
        self.log(code);
        let facts = ErrorFacts { status, code, message: message.into(), ..ErrorFacts::default() };
        let told = self.way.frames.map(|dialect| Bytes::from(frame(dialect, &facts)));
        self.last(told)
    }

    /// The last frame, if the answer has frames; then it ends abnormally.
    fn last(&mut self, frame: Option<Bytes>) -> Poll<Option<Result<Bytes, Cut>>> {
        self.rest = Rest::Gone;
        self.way.meter = None;
        match frame {
            Some(frame) => {
                self.stage = Stage::Told;
                Poll::Ready(Some(Ok(frame)))
            }
            None => {
                self.stage = Stage::Over;
                Poll::Ready(Some(Err(Cut)))
            }
        }
    }
}

/// What a client is told of a limit, with the setting that moves it (FC-092).
fn late(limit: Limit) -> String {
    let what = match limit {
        Limit::FirstContent => "nothing meaningful came in time",
        Limit::ContentStall => "the upstream sent no output and no reasoning for too long",
        Limit::Idle => "the upstream sent no byte for too long",
        Limit::Total | Limit::Attempt | Limit::Body => "the answer took longer than it may",
    };
    format!("{what} (setting `{}`)", limit.setting())
}

impl Stream for Relayed {
    type Item = Result<Bytes, Cut>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let part = self.poll_part(cx);
            let Poll::Ready(Some(Ok(bytes))) = part else { return part };
            let named = self.naming.name(bytes);
            // The end of a name that was left out: an empty part would be taken for the end of all.
            if !named.is_empty() {
                return Poll::Ready(Some(Ok(named)));
            }
        }
    }
}
