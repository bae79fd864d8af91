//! Commit: the moment from which the client gets this answer and no other.
//!
//! One that is not streamed commits when it is whole (up to 1 MiB, its length right, its JSON
//! closed: decision 9a) and holds something. How a stream begins is told in `begin`.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use policy::catalogue::Dialect;
use policy::stream::Limit;
use policy::validation::{Breach, Validation};
use policy::verdict::{End, Transport};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::close::{Close, Read};
use super::held::Held;
use super::source::Source;
use crate::formats::body::is_complete_json;
use crate::formats::brackets::Brackets;
use crate::formats::quality::predicates::breach;
use crate::formats::quality::{Quality, judge};
use crate::formats::sse;
use crate::upstream::AnswerBody;

/// Longer answers commit at this size.
const WHOLE: usize = 1024 * 1024;

/// A committed answer.
pub(super) enum Committed {
    /// All of it.
    Whole(Bytes),
    /// Its beginning, and the bytes to come.
    Body(Bytes, Box<Remainder>),
    /// Its beginning, and the events to come.
    Stream(Bytes, Box<Source>),
}

/// Why an answer that is not streamed may not be given to the client.
pub(super) enum Unfit {
    /// It did not end well, or holds nothing.
    Ended(End),
    /// It says itself that the upstream failed.
    Failed(Bytes),
    /// It is not what the combo expects.
    Breaks(Breach),
    /// It took longer than it may.
    Late,
    /// It is a stream of events that begins so, whatever it is called.
    Events(Bytes, Box<AnswerBody>),
}

impl From<End> for Unfit {
    fn from(end: End) -> Self {
        Self::Ended(end)
    }
}

/// How long an answer that is not streamed may take, from its head on: bytes that drip keep nobody
/// waiting for ever (flow 6.1, FC-112).
#[derive(Clone, Copy)]
pub(super) struct Allowed {
    /// How long the upstream may say nothing.
    silence: Duration,
    /// When all of it must be there; `None`: whenever it likes.
    by: Option<Instant>,
}

impl Allowed {
    /// The head has come now. `body`: what all of it may take; zero: no limit.
    pub(super) fn new(silence: Duration, body: Duration) -> Self {
        Self { silence, by: (!body.is_zero()).then(|| Instant::now() + body) }
    }

    fn is_over(&self) -> bool {
        self.by.is_some_and(|by| by <= Instant::now())
    }

    async fn next(&self, body: &mut AnswerBody) -> Result<Option<Bytes>, Unfit> {
        let left = self.by.map_or(Duration::MAX, |by| by.saturating_duration_since(Instant::now()));
        match next(body, self.silence.min(left)).await {
            Err(End::StallBeforeCommit) | Ok(Some(_)) if self.is_over() => Err(Unfit::Late),
            read => Ok(read?),
        }
    }
}

/// Reads an answer that is not streamed until it may be given to the client, from its `first` bytes
/// on if they have been looked at. `answers`: its dialect, if the model's words are in it;
/// `expected`: what the combo wants of them.
pub(super) async fn whole(
    (first, mut body): (Option<Bytes>, AnswerBody),
    allowed: Allowed,
    answers: Option<Dialect>,
    expected: Option<&Validation>,
) -> Result<Committed, Unfit> {
    let first = match first {
        Some(first) => Some(first),
        None => allowed.next(&mut body).await?,
    };
    let Some(first) = first else { return Err(End::Empty.into()) };
    if answers.is_some() && sse::begins(&first) {
        return Err(Unfit::Events(first, Box::new(body)));
    }
    let mut read = Held::One(first);
    while read.len() < WHOLE {
        match allowed.next(&mut body).await? {
            Some(part) => read.push(part),
            None => return fit(read.join(), answers, expected),
        }
    }
    let (begins, mut json) = (read.join(), Brackets::default());
    json.see(&begins);
    Ok(Committed::Body(begins, Box::new(Remainder { body, allowed, quiet: None, end: None, json })))
}

/// What is still to come of an answer that is not streamed: it may take what it might before commit.
pub(super) struct Remainder {
    body: AnswerBody,
    allowed: Allowed,
    /// Since the last bytes.
    quiet: Option<Pin<Box<Sleep>>>,
    /// Of all of it.
    end: Option<Pin<Box<Sleep>>>,
    /// It ends where this does, whatever HTTP says.
    json: Brackets,
}

impl Remainder {
    /// The whole length, if the upstream stated it.
    pub(super) fn expected(&self) -> Option<u64> {
        self.body.expected()
    }

    /// The next bytes, or how it ended.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Read> {
        match self.body.poll_next_unpin(cx) {
            Poll::Pending => self.poll_clocks(cx),
            Poll::Ready(read) => {
                self.quiet = None;
                Poll::Ready(match read {
                    Some(Ok(bytes)) => {
                        self.json.see(&bytes);
                        Read::Bytes(bytes)
                    }
                    None if self.json.are_closed() => Read::End(Close::Complete),
                    None | Some(Err(_)) => Read::End(Close::Truncated),
                })
            }
        }
    }
}

impl Remainder {
    fn poll_clocks(&mut self, cx: &mut Context<'_>) -> Poll<Read> {
        let Allowed { silence, by } = self.allowed;
        if let Some(by) = by {
            let end = self.end.get_or_insert_with(|| Box::pin(sleep_until(by)));
            if end.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Read::End(Close::Limit(Limit::Body)));
            }
        }
        let quiet = self.quiet.get_or_insert_with(|| Box::pin(sleep(silence)));
        quiet.as_mut().poll(cx).map(|()| Read::End(Close::Limit(Limit::Idle)))
    }
}

/// Quality validation (flow 6.11.53, FC-028): one walk over the answer.
fn fit(whole: Bytes, answers: Option<Dialect>, expected: Option<&Validation>) -> Result<Committed, Unfit> {
    let quality = match answers {
        Some(dialect) => judge(dialect, &whole),
        None if is_complete_json(&whole) => Quality::Good,
        None => Quality::Cut,
    };
    match quality {
        Quality::Good => {
            match expected.zip(answers).and_then(|(rules, dialect)| breach(dialect, &whole, rules)) {
                Some(breach) => Err(Unfit::Breaks(breach)),
                None => Ok(Committed::Whole(whole)),
            }
        }
        Quality::Empty => Err(Unfit::Ended(End::Empty)),
        Quality::Error => Err(Unfit::Failed(whole)),
        Quality::Cut => Err(Unfit::Ended(End::Transport(Transport::Truncated))),
        Quality::Garbled => Err(Unfit::Ended(End::Transport(Transport::BadAnswer))),
    }
}

/// The next bytes, if they come in time; none: it has ended.
pub(super) async fn next(body: &mut AnswerBody, silence: Duration) -> Result<Option<Bytes>, End> {
    // What came with the head is there already: no timer for it.
    let next = match body.next().now_or_never() {
        Some(next) => Ok(next),
        None => tokio::time::timeout(silence, body.next()).await,
    };
    match next {
        Ok(Some(Ok(part))) => Ok(Some(part)),
        Ok(Some(Err(_))) => Err(End::Transport(Transport::Truncated)),
        Ok(None) => Ok(None),
        Err(_) => Err(End::StallBeforeCommit),
    }
}
