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
use tokio::time::{Sleep, sleep};

use super::close::{Close, Read};
use super::held::Held;
use super::source::Source;
use crate::formats::body::is_complete_json;
use crate::formats::quality::predicates::breach;
use crate::formats::quality::{Quality, judge};
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
}

impl From<End> for Unfit {
    fn from(end: End) -> Self {
        Self::Ended(end)
    }
}

/// Reads an answer that is not streamed until it may be given to the client, from its `first` bytes
/// on if they have been looked at. `silence`: how long the upstream may say nothing meanwhile;
/// `answers`: its dialect, if the model's words are in it; `expected`: what the combo wants of them.
pub(super) async fn whole(
    (first, mut body): (Option<Bytes>, AnswerBody),
    silence: Duration,
    answers: Option<Dialect>,
    expected: Option<&Validation>,
) -> Result<Committed, Unfit> {
    let first = match first {
        Some(first) => Some(first),
        None => next(&mut body, silence).await?,
    };
    let Some(first) = first else { return Err(End::Empty.into()) };
    let mut read = Held::One(first);
    while read.len() < WHOLE {
        match next(&mut body, silence).await? {
            Some(part) => read.push(part),
            None => return fit(read.join(), answers, expected),
        }
    }
    Ok(Committed::Body(read.join(), Box::new(Remainder { body, silence, timer: None })))
}

/// What is still to come of an answer that is not streamed. Its length is anybody's guess, a
/// silence within it is not: it may last as long as before commit.
pub(super) struct Remainder {
    body: AnswerBody,
    silence: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Remainder {
    /// The whole length, if the upstream stated it.
    pub(super) fn expected(&self) -> Option<u64> {
        self.body.expected()
    }

    /// The next bytes, or how it ended.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Read> {
        match self.body.poll_next_unpin(cx) {
            Poll::Pending => {
                let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(self.silence)));
                timer.as_mut().poll(cx).map(|()| Read::End(Close::Limit(Limit::Idle)))
            }
            Poll::Ready(read) => {
                self.timer = None;
                Poll::Ready(match read {
                    Some(Ok(bytes)) => Read::Bytes(bytes),
                    Some(Err(_)) => Read::End(Close::Truncated),
                    None => Read::End(Close::Complete),
                })
            }
        }
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
