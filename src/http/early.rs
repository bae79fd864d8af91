//! An answer whose head goes out before any upstream has given one, where an operator wants that
//! (`stream.early_commit`, decision 19, FC-033; `stream.early_commit_json`, FC-092).
//!
//! Middleboxes and clients that give up on silence get comments meanwhile, or blank lines before
//! an answer that is not streamed. Failover goes on inside the open answer; what it costs is the
//! status: a failure can only be told in the body, which is then ended abnormally.

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
use super::state::{Http, HttpSettings, Running};
use crate::formats::body::is_complete_json;
use crate::formats::error::frame_of_body;
use crate::formats::redact;
use crate::relay::{Inquiry, Outcome, Reply, ReplyBody, Served, Story, noted};
use crate::upstream::is_event_stream;

/// What the client reads.
#[derive(Clone, Copy)]
enum Form {
    Events,
    Json,
}

impl Form {
    /// What says nothing: a comment between two events, whitespace before a value (RFC 8259, 2).
    fn beat(self) -> Bytes {
        Bytes::from_static(match self {
            Self::Events => b": keep-alive\n\n",
            Self::Json => b"\n",
        })
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Events => "text/event-stream",
            Self::Json => "application/json",
        }
    }

    /// Whether the answer is of this form, and no failure.
    fn fits(self, reply: &Reply) -> bool {
        let events = is_event_stream(&reply.headers);
        (200..300).contains(&reply.status) && matches!(self, Self::Events) == events
    }

    /// What the upstream said as it failed, if that can be said in this form.
    fn own_words(self, reply: &Reply, dialect: Dialect) -> Option<Bytes> {
        let failed = !(200..300).contains(&reply.status);
        match (&reply.body, self) {
            (ReplyBody::Whole(body), Self::Events) if failed => frame_of_body(dialect, body).map(Bytes::from),
            (ReplyBody::Whole(body), Self::Json) if failed && is_complete_json(body) => Some(body.clone()),
            _ => None,
        }
    }

    fn told(self, problem: Problem, dialect: Dialect) -> Bytes {
        match self {
            Self::Events => problem.frame(dialect),
            Self::Json => problem.text(dialect),
        }
        .into()
    }

    /// An answer that holds nothing that could be said in this form: a page, or the other form.
    fn no_words(self, reply: &Reply) -> Problem {
        match (&reply.body, self) {
            (ReplyBody::Whole(page), _) if !(200..300).contains(&reply.status) => {
                Problem::upstream_page(reply.status, redact::text_of(page))
            }
            (_, Self::Events) => Problem::new(Code::UpstreamError, "the upstream's answer was no stream"),
            (_, Self::Json) => Problem::new(
                Code::UpstreamError,
                "the upstream's answer was a stream, which nobody asked for",
            ),
        }
    }
}

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
    form: Form,
    http: Http,
    dialect: Dialect,
    /// When its head went out.
    since: Instant,
    write_stall: Duration,
    beat: Interval,
}

/// After how long the head of the answer to `inquiry` goes out whatever is known; zero: never.
pub(super) fn due(inquiry: &Inquiry, settings: &HttpSettings) -> Duration {
    if inquiry.stream { settings.early_commit } else { settings.early_commit_json }
}

/// The head goes out now, with bytes that say nothing; the rest is what `serving` comes to.
/// `stream`: the client asked for one.
pub(super) fn commit(
    serving: Serving,
    (dialect, stream): (Dialect, bool),
    waited: Duration,
    http: &Http,
    running: Running,
) -> HttpResponse {
    let settings = http.settings.load();
    let form = if stream { Form::Events } else { Form::Json };
    let every = Some(settings.heartbeat).filter(|beat| !beat.is_zero()).unwrap_or(waited);
    let mut beat = interval(every.max(Duration::from_millis(1)));
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    http.worker.tower.metrics.committed_early();
    let cutoff = Box::pin(http.worker.tower.cutoff.clone().notified_owned());
    let stage = Stage::Waiting(serving, running, cutoff);
    let (since, write_stall) = (Instant::now(), settings.write_stall);
    let body = Early { stage, form, http: http.clone(), dialect, since, write_stall, beat };
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, form.content_type()))
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
            Outcome::Upstream(reply) if self.form.fits(&reply) => {
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
            Outcome::Upstream(reply) => match self.form.own_words(&reply, self.dialect) {
                Some(words) => {
                    self.note(story, inquiry, asked_at);
                    return Some(self.fails(words));
                }
                None => self.form.no_words(&reply),
            },
            Outcome::Ours(trouble) => {
                let now = self.http.worker.tower.owners.clock.now();
                of_trouble(trouble, &story, &inquiry.model, now)
            }
        };
        let words = self.form.told(problem, self.dialect);
        self.note(story, inquiry, asked_at);
        Some(self.fails(words))
    }

    /// Remembers what was decided; the client has seen a 200 already.
    fn note(&self, story: Story, inquiry: &Inquiry, asked_at: Millis) {
        let Some(id) = &inquiry.id else { return };
        let overhead = self.since.elapsed().saturating_sub(story.waited + inquiry.held);
        let decision = noted::decision(inquiry, story, asked_at);
        let decision = noted::ended(decision, (id, 200), (self.since.elapsed(), overhead));
        self.http.worker.tower.decisions.add(decision);
    }

    fn fails(&mut self, words: Bytes) -> Bytes {
        self.stage = Stage::Last { good: false };
        words
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
                            let last = body.fails(body.form.told(shutting_down(), body.dialect));
                            return Poll::Ready(Some(Ok(last)));
                        }
                        let beats = body.beat.poll_tick(cx);
                        return beats.map(|_| Some(Ok(body.form.beat())));
                    };
                    let waiting = std::mem::replace(&mut body.stage, Stage::Over);
                    let Stage::Waiting(_, running, _) = waiting else { unreachable!("it was just polled") };
                    if let Some(bytes) = body.go_on(served, &inquiry, running) {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Stage::Flowing(outbound) => return Pin::new(outbound).poll_next(cx),
                Stage::Last { good: true } | Stage::Over => return Poll::Ready(None),
                // An error right behind the words would discard them: they get one turn to be flushed.
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
