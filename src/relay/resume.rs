//! Going on with a stream that broke after the client had a part of it, where an operator wants
//! that (flow 6.6): the rules are `policy::stream::continuation`'s, the frames `formats::thread`'s.
//!
//! What the client has is never sent again. The same account is shown what it said and asked for
//! the rest; the permit, the count and the verdict stay those of the one request.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use actors::clock::Clock;
use bytes::Bytes;
use policy::catalogue::Dialect;
use policy::ids::{ConnectionId, ModelId};
use policy::lease::Fence;
use policy::plan::Planned;
use policy::stream::continuation::{Continuation, Tally, Then, Turns};
use policy::time::Millis;
use tokio::time::{Sleep, sleep};

use super::Worker;
use super::cascade::Run;
use super::close::{Close, Read};
use super::dial::Head;
use super::meter::Count;
use super::send::{Hit, Shot, send};
use super::source::{Bounds, COMMENT, Source};
use crate::formats::quality::predicates::opening_text;
use crate::formats::thread::{Thread, request};
use crate::upstream::{Answer, Endpoint, HeaderName, HeaderValue, Route, is_event_stream};

/// Most text that is remembered of an answer; a longer one is not gone on with, bytes.
const LONGEST: usize = 1024 * 1024;

/// What another request added.
#[derive(Default)]
struct More {
    text: String,
    tally: Tally,
    /// What it took; none: nobody answered.
    count: Option<Count>,
}

/// What goes to the client.
pub(super) enum Added {
    /// More of it, and the answer is complete.
    End(Bytes),
    /// More of it, and another request is on its way.
    Part(Bytes),
    /// The answer cannot be completed: this, and then the truth about it.
    Cut(Bytes),
}

/// Whatever is needed to ask for the rest of one answer.
pub(super) struct Resume {
    worker: Rc<Worker>,
    endpoint: Arc<Endpoint>,
    connection: ConnectionId,
    /// The lease that the request runs under.
    lease: Option<Fence>,
    model: ModelId,
    route: Route,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
    bounds: Bounds,
    /// When the request came, epoch ms.
    asked_at: Millis,
    /// To the head of another answer.
    limit: Duration,
    thread: Thread,
    /// The model's text that the client has.
    sent: String,
    policy: Continuation,
    asking: Option<Pin<Box<dyn Future<Output = Option<More>>>>>,
    /// What the last request has taken, until somebody counts it.
    spent: Option<Count>,
    /// When the client gets a comment meanwhile; `None`: never.
    beat: Option<Pin<Box<Sleep>>>,
}

impl Run<'_> {
    /// For a stream with this opening, if it may ever be gone on with.
    pub(super) fn resume(&self, head: &Head, target: &Planned, opening: &[u8]) -> Option<Box<Resume>> {
        let enabled = self.worker.tower.streaming.load().recovery.continue_mid_stream;
        let (route, dialect) = (self.inquiry.route, self.inquiry.route.dialect());
        if !enabled {
            return None;
        }
        let endpoint = head.key.endpoint().clone();
        let model = &target.model;
        let timeouts = *endpoint.limits(model);
        let (body, span) = self.body();
        Some(Box::new(Resume {
            thread: Thread::of(dialect, opening)?,
            worker: self.worker.clone(),
            connection: target.connection.clone(),
            lease: self.inquiry.fence().cloned(),
            model: model.clone(),
            route,
            headers: self.inquiry.headers.clone(),
            body: self.reshaped(target, body, span).map_or_else(|| body.clone(), |(body, _)| body),
            bounds: self.bounds(&timeouts, None),
            asked_at: self.asked_at,
            limit: self.stream_limit(&timeouts),
            sent: opening_text(dialect, opening),
            policy: Continuation::new(true, dialect),
            asking: None,
            spent: None,
            beat: None,
            endpoint,
        }))
    }
}

impl Resume {
    fn dialect(&self) -> Dialect {
        self.route.dialect()
    }

    /// Events went to the client.
    pub(super) fn gave(&mut self, events: &[u8]) {
        if self.sent.len() <= LONGEST {
            self.sent.push_str(&opening_text(self.dialect(), events));
        }
    }

    /// The stream has broken with this behind it; true: another request is on its way.
    pub(super) fn begins(&mut self, tally: Tally) -> bool {
        self.policy.has_sent(tally);
        self.ask()
    }

    fn ask(&mut self) -> bool {
        if self.sent.len() > LONGEST {
            return false;
        }
        let Some(turns) = self.policy.begin() else { return false };
        let sent = if turns == Turns::WithText { self.sent.as_str() } else { "" };
        let Some(body) = request(self.dialect(), &self.body, self.model.as_str(), sent) else { return false };
        self.worker.tower.metrics.continued();
        let (worker, endpoint) = (self.worker.clone(), self.endpoint.clone());
        let (headers, route, limit) = (self.headers.clone(), self.route, self.limit);
        let (bounds, asked_at) = (self.bounds, self.asked_at);
        let (connection, lease) = (self.connection.clone(), self.lease.clone());
        let count = Count::of(body.len());
        self.asking = Some(Box::pin(async move {
            let under = Some((&connection, lease.as_ref()));
            let shot = Shot { endpoint: &endpoint, route, headers: &headers, body: &[body], under };
            let hit = send(&worker, &shot, tokio::time::Instant::now() + limit).await.ok()?;
            let clock = worker.tower.owners.clock;
            let source = source(hit, route.dialect(), bounds, (asked_at, clock.now()), clock)?;
            read(source, route.dialect(), count).await
        }));
        true
    }

    /// What the last request has taken, told once.
    pub(super) fn spent(&mut self) -> Option<Count> {
        self.spent.take()
    }

    /// What the request on its way has added.
    pub(super) fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<Added> {
        let Some(asking) = &mut self.asking else { return Poll::Ready(Added::Cut(Bytes::new())) };
        let Poll::Ready(more) = asking.as_mut().poll(cx) else { return self.poll_beat(cx) };
        (self.asking, self.beat) = (None, None);
        // Who does not answer adds nothing.
        let More { text, tally, count } = more.unwrap_or_default();
        self.spent = count;
        let joined = self.policy.join(&self.sent, &text, &tally);
        let mut bytes = match joined.suffix {
            "" => String::new(),
            suffix => self.thread.delta(suffix),
        };
        self.sent.push_str(joined.suffix);
        Poll::Ready(match joined.then {
            Then::Finish => {
                bytes.push_str(&self.thread.end(tally.finish, &self.sent));
                Added::End(bytes.into())
            }
            Then::Again if self.ask() => Added::Part(bytes.into()),
            Then::Again | Then::Fail => Added::Cut(bytes.into()),
        })
    }
}

impl Resume {
    /// The other answer is read to its end before anything of it goes out: that is silence, too.
    fn poll_beat(&mut self, cx: &mut Context<'_>) -> Poll<Added> {
        let every = Duration::from_millis(self.bounds.heartbeat_ms);
        if every.is_zero() {
            return Poll::Pending;
        }
        let beat = self.beat.get_or_insert_with(|| Box::pin(sleep(every)));
        if beat.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.beat = None;
        Poll::Ready(Added::Part(Bytes::from_static(COMMENT)))
    }
}

/// Another answer, if it is one.
fn source(
    hit: Hit,
    dialect: Dialect,
    bounds: Bounds,
    times: (Millis, Millis),
    clock: Clock,
) -> Option<Source> {
    let Answer { status, headers, body } = hit.answer;
    let good = (200..300).contains(&status) && is_event_stream(&headers);
    good.then(|| Source::new(body, dialect, bounds, times, clock))
}

/// Reads another answer to its end (flow 6.6.30).
async fn read(mut source: Source, dialect: Dialect, mut count: Count) -> Option<More> {
    let mut text = String::new();
    loop {
        match poll_fn(|cx| source.poll_read(cx)).await {
            Read::Bytes(bytes) if text.len() <= LONGEST => {
                text.push_str(&opening_text(dialect, &bytes));
                count.see(&bytes);
                count.wrote(source.wrote());
            }
            Read::Bytes(_) => return None,
            Read::End(close) => {
                let tally = source.tally();
                if matches!(close, Close::Complete) {
                    source.park();
                }
                return Some(More { text, tally, count: Some(count) });
            }
        }
    }
}
