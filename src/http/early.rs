//! An answer whose head goes out before any upstream has given one, where an operator wants that
//! (`stream.early_commit`; decision 19, FC-033).
//!
//! Middleboxes and clients that give up on silence get comments meanwhile. Failover goes on
//! inside the open stream; what it costs is the status: a failure can only be told in the stream.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, MessageBody};
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use bytes::Bytes;
use policy::catalogue::Dialect;
use policy::time::Millis;
use tokio::sync::futures::OwnedNotified;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::body::Outbound;
use super::errors::{Code, Problem, of_trouble};
use super::state::{Http, Running};
use crate::formats::error::frame_of_body;
use crate::formats::redact;
use crate::relay::{Inquiry, Outcome, Reply, ReplyBody, Served, Story, noted};
use crate::upstream::is_event_stream;

const COMMENT: &[u8] = b": keep-alive\n\n";

/// A request that is still being served.
pub(super) type Serving = Pin<Box<dyn Future<Output = (Served, Inquiry)>>>;

enum Stage {
    Waiting(Serving, Running, Pin<Box<OwnedNotified>>),
    Flowing(Outbound),
    /// The last bytes are out; the next poll lets them be flushed. `good`: the answer is complete.
    Last {
        good: bool,
    },
    Flushed,
    Over,
}

/// The answer's body.
struct Early {
    stage: Stage,
    http: Http,
    dialect: Dialect,
    /// When its head went out.
    since: Instant,
    write_stall: Duration,
    beat: Interval,
}

/// The head goes out now, with a comment; the rest is what `serving` comes to.
pub(super) fn commit(serving: Serving, dialect: Dialect, http: &Http, running: Running) -> HttpResponse {
    let settings = http.settings.load();
    let every = Some(settings.heartbeat).filter(|beat| !beat.is_zero()).unwrap_or(settings.early_commit);
    let mut beat = interval(every.max(Duration::from_millis(1)));
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    http.worker.tower.metrics.committed_early();
    let cutoff = Box::pin(http.worker.tower.cutoff.clone().notified_owned());
    let stage = Stage::Waiting(serving, running, cutoff);
    let since = Instant::now();
    let body = Early { stage, http: http.clone(), dialect, since, write_stall: settings.write_stall, beat };
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/event-stream"))
        .insert_header((CACHE_CONTROL, "no-cache, no-transform"))
        .insert_header(("x-accel-buffering", "no"))
        .body(body)
}

impl Early {
    /// What was served goes on in the open stream; bytes to give out first.
    fn go_on(&mut self, served: Served, inquiry: &Inquiry, running: Running) -> Option<Bytes> {
        self.http.worker.tower.fared(&served, inquiry);
        let Served { outcome, story, asked_at } = served;
        let outcome = match outcome {
            Outcome::Upstream(reply) if self.http.settings.load().formats.says_requested(&inquiry.model) => {
                Outcome::Upstream(reply.naming(inquiry))
            }
            outcome => outcome,
        };
        let problem = match outcome {
            Outcome::Upstream(reply)
                if (200..300).contains(&reply.status) && is_event_stream(&reply.headers) =>
            {
                self.note(story, inquiry, asked_at);
                return match reply.body {
                    ReplyBody::Flowing(body) => {
                        self.stage = Stage::Flowing(Outbound::new(body, true, self.write_stall, running));
                        None
                    }
                    ReplyBody::Whole(bytes) => {
                        self.stage = Stage::Last { good: true };
                        Some(bytes)
                    }
                };
            }
            Outcome::Upstream(reply) => match own_words(&reply, self.dialect) {
                Some(frame) => {
                    self.note(story, inquiry, asked_at);
                    return Some(self.fails(frame));
                }
                None => no_words(&reply),
            },
            Outcome::Ours(trouble) => {
                let now = self.http.worker.tower.owners.clock.now();
                of_trouble(trouble, &story, &inquiry.model, now)
            }
        };
        let frame = problem.frame(self.dialect);
        self.note(story, inquiry, asked_at);
        Some(self.fails(frame))
    }

    /// Remembers what was decided; the client has seen a 200 already.
    fn note(&self, story: Story, inquiry: &Inquiry, asked_at: Millis) {
        let Some(id) = &inquiry.id else { return };
        let overhead = self.since.elapsed().saturating_sub(story.waited + inquiry.held);
        let decision = noted::decision(inquiry, story, asked_at);
        let decision = noted::ended(decision, (id, 200), (self.since.elapsed(), overhead));
        self.http.worker.tower.decisions.add(decision);
    }

    fn fails(&mut self, frame: String) -> Bytes {
        self.stage = Stage::Last { good: false };
        frame.into()
    }
}

/// What the upstream said as it failed, as an event.
fn own_words(reply: &Reply, dialect: Dialect) -> Option<String> {
    let failed = !(200..300).contains(&reply.status);
    match &reply.body {
        ReplyBody::Whole(body) if failed => frame_of_body(dialect, body),
        _ => None,
    }
}

/// An answer that holds nothing that could be an event: a page, or no stream.
fn no_words(reply: &Reply) -> Problem {
    match &reply.body {
        ReplyBody::Whole(page) if !(200..300).contains(&reply.status) => {
            Problem::upstream_page(reply.status, redact::text_of(page))
        }
        _ => Problem::new(Code::UpstreamError, "the upstream's answer was no stream"),
    }
}

/// The grace of a shutdown is over.
fn shutting_down() -> Problem {
    Problem::new(Code::Draining, "switchtower is shutting down; there is no answer yet")
}

impl MessageBody for Early {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let body = &mut *self;
        loop {
            match &mut body.stage {
                Stage::Waiting(serving, _, cutoff) => {
                    let Poll::Ready((served, inquiry)) = serving.as_mut().poll(cx) else {
                        if cutoff.as_mut().poll(cx).is_ready() {
                            let last = body.fails(shutting_down().frame(body.dialect));
                            return Poll::Ready(Some(Ok(last)));
                        }
                        let beats = body.beat.poll_tick(cx);
                        return beats.map(|_| Some(Ok(Bytes::from_static(COMMENT))));
                    };
                    let waiting = std::mem::replace(&mut body.stage, Stage::Over);
                    let Stage::Waiting(_, running, _) = waiting else { unreachable!("it was just polled") };
                    if let Some(bytes) = body.go_on(served, &inquiry, running) {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Stage::Flowing(outbound) => return Pin::new(outbound).poll_next(cx),
                Stage::Last { good: true } | Stage::Over => return Poll::Ready(None),
                // An error right behind a frame would discard the frame: it gets one turn to be flushed.
                Stage::Last { good: false } => {
                    body.stage = Stage::Flushed;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Stage::Flushed => {
                    body.stage = Stage::Over;
                    return Poll::Ready(Some(Err("the answer failed".into())));
                }
            }
        }
    }
}
