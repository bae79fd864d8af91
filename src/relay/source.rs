//! A streamed answer as it comes in: whole events only, each looked at once, the clocks of
//! `policy::stream` kept, and its end told as what it was.
//!
//! Before commit the hold reads from it, afterwards the client's body does. Events pass byte for
//! byte, many of a chunk in one piece; what is held back is at most one event that is not
//! complete, so a cut never leaves half an event with the client.

use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actors::clock::Clock;
use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, StreamExt};
use policy::catalogue::Dialect;
use policy::stream::continuation::Tally;
use policy::stream::{Fate, Pace, PaceSettings, Progress, Speed, StreamLimits, Watch};
use policy::time::Millis;
use tokio::time::{Instant, Sleep};

use super::close::{Close, Read};
use super::commit::Committed;
use crate::formats::body::is_complete_json;
use crate::formats::sight::{self, Looker};
use crate::formats::sse::Scanner;
use crate::upstream::AnswerBody;

/// What stands for a typed keep-alive, and for silence.
pub(super) const COMMENT: &[u8] = b": keep-alive\n\n";

/// How long the upstream's end is awaited after the answer's: a connection whose body is read to
/// its end can be used again (contract 8, "Streams").
const LAST_BYTES: Duration = Duration::from_millis(100);

/// Limits and sizes of one stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) limits: StreamLimits,
    pub(super) pace: PaceSettings,
    /// A comment goes to the client after so much silence; 0: never.
    pub(super) heartbeat_ms: Millis,
    /// Largest event, bytes.
    pub(super) max_event: usize,
}

/// A streamed answer.
pub(super) struct Source {
    /// `None`: the upstream's connection is closed or in other hands.
    body: Option<AnswerBody>,
    scanner: Scanner,
    looker: Looker,
    progress: Progress,
    watch: Watch,
    pace: Pace,
    /// The pace of the last chunk was not judged yet.
    unjudged: bool,
    second: Option<Bytes>,
    /// Anybody wants to know the pace.
    weighs: bool,
    /// What it has said in all.
    tally: Tally,
    /// Bytes of the model's text that nobody has asked for yet.
    wrote: usize,
    clock: Clock,
    /// When the last chunk came, epoch ms.
    chunk_at: Millis,
    timer: Option<Pin<Box<Sleep>>>,
    heartbeat_ms: Millis,
    /// When something last went to the client; `None`: it is held.
    given_at: Option<Millis>,
    /// What follows the bytes that were given out.
    comment: bool,
    close: Option<Close>,
    body_over: bool,
}

impl Source {
    /// The head has come. `asked_at`, `sent_at`: of the request and of this attempt.
    pub(super) fn new(
        body: AnswerBody,
        dialect: Dialect,
        bounds: Bounds,
        (asked_at, sent_at): (Millis, Millis),
        clock: Clock,
    ) -> Self {
        let now = clock.now();
        Self {
            body: Some(body),
            scanner: Scanner::new(bounds.max_event),
            looker: Looker::new(dialect),
            progress: Progress::new(matches!(dialect, Dialect::Anthropic | Dialect::Responses)),
            watch: Watch::new(bounds.limits, asked_at, sent_at, now),
            pace: Pace::new(bounds.pace),
            unjudged: false,
            second: None,
            weighs: bounds.pace.enabled,
            tally: Tally::default(),
            wrote: 0,
            clock,
            chunk_at: now,
            timer: None,
            heartbeat_ms: bounds.heartbeat_ms,
            given_at: None,
            comment: false,
            close: None,
            body_over: false,
        }
    }

    /// What was read of it before.
    pub(super) fn feed(&mut self, first: Bytes) {
        self.scanner.feed(first);
        self.unjudged = self.weighs;
    }

    /// The client gets this answer and no other.
    pub(super) fn has_begun(&self) -> bool {
        self.progress.has_begun()
    }

    /// From now on it does, whatever came so far (decision 18).
    pub(super) fn begin(&mut self) {
        self.progress.begin();
        self.watch.begin(self.clock.now());
    }

    /// The first content may take so much longer (flow 6.2.8): a limit that was reached is not.
    pub(super) fn extend(&mut self, more_ms: Millis) {
        self.watch.extend(more_ms);
    }

    /// From now on the client is given what comes: silence is bridged by comments.
    pub(super) fn flow(&mut self) {
        self.given_at = Some(self.clock.now());
    }

    /// What it has said in all.
    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// Bytes of text that the model has written since this was asked last.
    pub(super) fn wrote(&mut self) -> usize {
        std::mem::take(&mut self.wrote)
    }

    /// The next whole events, or how it ended; not to be asked again after that.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Read> {
        loop {
            if self.second.is_none() && std::mem::take(&mut self.comment) {
                return Poll::Ready(Read::Bytes(Bytes::from_static(COMMENT)));
            }
            if self.second.is_none()
                && let Some(close) = self.close.take()
            {
                return Poll::Ready(Read::End(close));
            }
            if let Some(bytes) = self.weighed() {
                self.given_at = self.given_at.map(|_| self.chunk_at);
                return Poll::Ready(Read::Bytes(bytes));
            }
            if self.comment || self.close.is_some() {
                continue;
            }
            let Some(body) = &mut self.body else { return Poll::Ready(Read::End(Close::Truncated)) };
            match body.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(chunk))) => {
                    // The clock is read once for a chunk: it is a good part of what a chunk costs.
                    self.chunk_at = self.clock.now();
                    self.watch.heard(self.chunk_at);
                    self.feed(chunk);
                }
                Poll::Ready(Some(Err(_))) => {
                    self.body_over = true;
                    self.close = Some(Close::Truncated);
                }
                Poll::Ready(None) => {
                    self.body_over = true;
                    if let Some(bytes) = self.end_of_body() {
                        return Poll::Ready(Read::Bytes(bytes));
                    }
                }
                Poll::Pending => return self.poll_clocks(cx),
            }
        }
    }

    /// The next events that are there, unless their chunk shows that the stream trickles: then it is
    /// not passed on (flow 6.7.40). A chunk may come in two pieces: the end of an event that was cut,
    /// and the rest.
    fn weighed(&mut self) -> Option<Bytes> {
        if self.second.is_some() {
            return self.second.take();
        }
        let first = self.scan();
        if !self.unjudged || self.comment || self.close.is_some() {
            return first;
        }
        if first.is_some() {
            self.second = self.scan();
        }
        self.unjudged = false;
        if self.close.is_none() && self.pace.chunk(self.chunk_at) == Speed::TooSlow {
            self.second = None;
            self.close = Some(Close::TooSlow);
            return None;
        }
        first
    }

    /// The next events that are there, as far as they pass in one piece.
    fn scan(&mut self) -> Option<Bytes> {
        loop {
            let run = self.scan_block();
            if run.is_some() || self.comment || self.close.is_some() {
                return run.map(|run| self.scanner.block().slice(run));
            }
            if !self.scanner.next_block() {
                return None;
            }
        }
    }

    fn scan_block(&mut self) -> Option<Range<usize>> {
        let mut run: Option<Range<usize>> = None;
        let now = self.chunk_at;
        while let Some(next) = self.scanner.next_frame() {
            let Ok(frame) = next else {
                self.close = Some(Close::TooLong);
                break;
            };
            let seen = self.looker.look(&frame);
            self.watch.saw(&seen, now);
            self.pace.saw(&seen, now);
            self.tally.saw(&seen);
            self.wrote += seen.text;
            let fate = self.progress.saw(&seen);
            let span = frame.span.clone();
            if matches!(fate, Fate::Pass | Fate::Completes) {
                run = Some(run.map_or(span.start, |run| run.start)..span.end);
            }
            match fate {
                Fate::Pass => continue,
                Fate::Comment => self.comment = true,
                Fate::Fails => {
                    let data = Bytes::copy_from_slice(&frame.content());
                    self.close = Some(self.failed(span, data));
                }
                Fate::Completes => self.close = Some(Close::Complete),
                Fate::Empty | Fate::Truncated => self.close = Some(Close::Empty { ended: true }),
            }
            break;
        }
        run
    }

    fn failed(&self, span: Range<usize>, data: Bytes) -> Close {
        let error = sight::failure(&data);
        Close::Failed { frame: self.scanner.block().slice(span), data, error }
    }

    /// The body has ended as HTTP wants it: an event without its blank line counts if it is whole
    /// (FC-082).
    fn end_of_body(&mut self) -> Option<Bytes> {
        let mut last = None;
        if let Some(frame) = self.scanner.rest() {
            let data = frame.content();
            if *data == *b"[DONE]" || is_complete_json(&data) {
                let seen = self.looker.look(&frame);
                let fate = self.progress.saw(&seen);
                let span = frame.span.clone();
                let data = Bytes::copy_from_slice(&data);
                let mut bytes = BytesMut::from(&self.scanner.block()[span]);
                // Without it no client would look at the event.
                bytes.extend_from_slice(b"\n\n");
                let bytes = bytes.freeze();
                match fate {
                    Fate::Fails => {
                        let error = sight::failure(&data);
                        self.close = Some(Close::Failed { frame: bytes, data, error });
                        return None;
                    }
                    Fate::Completes => self.close = Some(Close::Complete),
                    Fate::Empty => {
                        self.close = Some(Close::Empty { ended: true });
                        return None;
                    }
                    _ => {}
                }
                last = Some(bytes);
            }
        }
        if self.close.is_none() {
            self.close = Some(match self.progress.closed() {
                Fate::Completes => Close::Complete,
                Fate::Empty => Close::Empty { ended: self.progress.finish().is_some() },
                _ => Close::Truncated,
            });
        }
        last
    }

    /// Nothing came: whether somebody has waited too long.
    fn poll_clocks(&mut self, cx: &mut Context<'_>) -> Poll<Read> {
        loop {
            let now = self.clock.now();
            if let Some(limit) = self.watch.due(now) {
                return Poll::Ready(Read::End(Close::Limit(limit)));
            }
            let beat = self.given_at.filter(|_| self.heartbeat_ms > 0).map(|at| at + self.heartbeat_ms);
            if beat.is_some_and(|beat| beat <= now) {
                self.given_at = Some(now);
                return Poll::Ready(Read::Bytes(Bytes::from_static(COMMENT)));
            }
            let deadline = self.watch.deadline().map(|(at, _)| at);
            let Some(at) = deadline.into_iter().chain(beat).min() else { return Poll::Pending };
            let wanted = Instant::now() + Duration::from_millis(at - now);
            let timer = match &mut self.timer {
                // One that fires too early only looks again: a chunk costs no timer.
                Some(timer) => {
                    if timer.deadline() > wanted || timer.is_elapsed() {
                        timer.as_mut().reset(wanted);
                    }
                    timer
                }
                none => none.insert(Box::pin(tokio::time::sleep_until(wanted))),
            };
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Nothing more is wanted of it: the upstream's connection is closed.
    pub(super) fn hang_up(&mut self) {
        self.body = None;
    }

    /// It has ended so, behind these bytes; whoever reads on hears it.
    pub(super) fn closed(mut self: Box<Self>, first: Bytes, close: Close) -> Committed {
        self.close = Some(close);
        Committed::Stream(first, self)
    }

    /// The answer is complete. If the upstream ends its body soon, and says nothing more, its
    /// connection is kept (contract 8, FC-083).
    pub(super) fn park(mut self) {
        let Some(body) = self.body.take() else { return };
        if self.body_over || !self.scanner.is_blank() {
            return;
        }
        let mut end = Box::pin(end_of(body));
        if (&mut end).now_or_never().is_none() {
            actix_rt::spawn(tokio::time::timeout(LAST_BYTES, end));
        }
    }
}

/// Reads to the end, over line ends; what else comes is nobody's, and closes the connection.
async fn end_of(mut body: AnswerBody) {
    while let Some(Ok(bytes)) = body.next().await {
        if !bytes.trim_ascii().is_empty() {
            return;
        }
    }
}
