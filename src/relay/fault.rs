//! An attempt that failed, with the upstream's own words if it gave any: they may be the
//! last answer, so they are read, bounded, and cleared of our credential.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use policy::catalogue::Dialect;
use policy::change::{Exclusion, Refusal};
use policy::hint;
use policy::lease::Denied;
use policy::stream::Limit;
use policy::time::Millis;
use policy::validation::Breach;
use policy::verdict::{End, Signal, Told, Transport};

use super::close::Close;
use crate::formats::error::body_of_event;
use crate::formats::redact;
use crate::settings::Secret;
use crate::upstream::{Answer, AnswerBody, HeaderMap, HeaderName, HeaderValue, finder};

/// Most that is read of an error's body.
const LONGEST: usize = 256 * 1024;
/// Most of it that rules read.
const LONGEST_TEXT: usize = 64 * 1024;
/// Most headers of a failed answer that rules read, and the longest of them, bytes.
const MOST_HEADERS: usize = 100;
const LONGEST_HEADER: usize = 4 * 1024;
/// How long it may take: the status is known, and the next target waits.
const LIMIT: Duration = Duration::from_secs(2);

/// A failed attempt.
pub(super) struct Fault {
    pub(super) signal: Signal,
    pub(super) answer: Option<Kept>,
    /// What to tell if there is no answer to show.
    pub(super) lack: Option<Lack>,
    /// Nothing was sent: it is no failure of the target, and this is why.
    pub(super) refusal: Option<Refusal>,
    /// Nothing was sent, for the sake of a lease.
    pub(super) denied: Option<Denied>,
}

/// What was missing of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// It was empty.
    Content,
    /// It was not what the combo expects.
    Expected,
    /// Too little of it came.
    Speed,
    /// It did not come in time.
    Time(Limit),
}

/// A failed answer, kept in case it is the last word.
pub(super) struct Kept {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Fault {
    /// Nobody answered.
    pub(super) fn of(end: End) -> Self {
        let lack = (end == End::Empty).then_some(Lack::Content);
        Self { signal: Signal::new(end, None), answer: None, lack, refusal: None, denied: None }
    }

    /// A good answer that is not what the combo expects (routing 7.9).
    pub(super) fn breaks(breach: Breach) -> Self {
        tracing::debug!(%breach, "an answer is not what its combo expects");
        Self { lack: Some(Lack::Expected), ..Self::of(End::Empty) }
    }

    /// One of our own limits was reached before anything meaningful came.
    pub(super) fn late(limit: Limit) -> Self {
        Self { lack: Some(Lack::Time(limit)), ..Self::of(End::StallBeforeCommit) }
    }

    /// How it ended, where no status of the upstream tells.
    pub(super) fn ended(&self) -> Option<Told> {
        match self.lack {
            Some(Lack::Expected) => Some(Told::NOT_EXPECTED),
            Some(Lack::Speed) => Some(Told::TOO_SLOW),
            _ => self.signal.end.told(),
        }
    }

    /// Nothing can be sent before an instant.
    pub(super) fn refused(refusal: Refusal) -> Self {
        Self { refusal: Some(refusal), ..Self::of(End::Local) }
    }

    /// A lease that has ended, or begun, meanwhile keeps it back.
    pub(super) fn fenced(denied: Denied) -> Self {
        let refusal = leased(&denied);
        Self { denied: Some(denied), ..Self::refused(refusal) }
    }

    /// An answer with another status than success, to a request that carried `secret`.
    pub(super) async fn read(answer: Answer, secret: Option<&Secret>, now: Millis) -> Self {
        let Answer { status, mut headers, body } = answer;
        let mut body = read(body).await;
        if let Some(secret) = secret {
            body = redact::without(body, secret.expose());
            headers.retain(|_, value| !redact::holds(value.as_bytes(), secret.expose()));
        }
        let text = text(&headers, &body);
        let hint = hint::find(finder(&headers), &text, status, now);
        let signal = Signal { end: End::Status(status), hint, headers: words(&headers), text };
        Self { signal, answer: Some(Kept { status, headers, body }), lack: None, refusal: None, denied: None }
    }
}

impl Fault {
    /// A stream that ended before it began, opened with `secret`.
    pub(super) fn of_stream(close: Close, dialect: Dialect, secret: Option<&Secret>, now: Millis) -> Self {
        match close {
            Close::Failed { data, error, .. } => Self::told((&data, error.status), dialect, secret, now),
            Close::Empty { ended: true } => Self::of(End::Empty),
            Close::Empty { ended: false } => Self { lack: Some(Lack::Content), ..Self::of(End::EarlyEof) },
            Close::Limit(limit) => Self::late(limit),
            Close::TooSlow => Self { lack: Some(Lack::Speed), ..Self::of(End::StallBeforeCommit) },
            Close::TooLong => Self::of(End::Transport(Transport::BadAnswer)),
            Close::Truncated | Close::Complete => Self::of(End::Transport(Transport::Truncated)),
        }
    }

    /// The upstream said in the stream what its status should have said (FC-001, FC-002).
    pub(super) fn told(
        (data, status): (&[u8], u16),
        dialect: Dialect,
        secret: Option<&Secret>,
        now: Millis,
    ) -> Self {
        let mut body = Bytes::from(body_of_event(dialect, data, status));
        if let Some(secret) = secret {
            body = redact::without(body, secret.expose());
        }
        let text = text(&HeaderMap::new(), &body);
        let hint = hint::find(|_| None, &text, status, now);
        let signal = Signal { end: End::InStream(status), hint, headers: Vec::new(), text };
        let mut headers = HeaderMap::new();
        let kind = HeaderName::from_static("content-type");
        headers.insert(kind, HeaderValue::from_static("application/json"));
        Self { signal, answer: Some(Kept { status, headers, body }), lack: None, refusal: None, denied: None }
    }
}

/// As a request without a lease is told of it.
pub(super) fn leased(denied: &Denied) -> Refusal {
    let retry_at = if let Denied::Taken(until) = denied { *until } else { None };
    Refusal { why: Exclusion::Leased, retry_at }
}

/// The headers that rules may read.
fn words(headers: &HeaderMap) -> Vec<(String, String)> {
    let readable = headers.iter().filter(|(name, _)| *name != "set-cookie").take(MOST_HEADERS);
    readable
        .filter_map(|(name, value)| {
            let value = value.to_str().ok().filter(|value| value.len() <= LONGEST_HEADER)?;
            Some((name.as_str().to_owned(), value.to_owned()))
        })
        .collect()
}

/// The body as rules read it; an encoded one says nothing.
fn text(headers: &HeaderMap, body: &[u8]) -> String {
    let encoded = headers.get("content-encoding").is_some_and(|value| value != "identity");
    let readable = if encoded { &[] } else { &body[..body.len().min(LONGEST_TEXT)] };
    String::from_utf8_lossy(readable).into_owned()
}

/// What comes of a body within its bounds.
async fn read(mut body: AnswerBody) -> Bytes {
    let ends = tokio::time::Instant::now() + LIMIT;
    let mut read = BytesMut::new();
    while let Ok(Some(Ok(part))) = tokio::time::timeout_at(ends, body.next()).await {
        read.extend_from_slice(&part[..part.len().min(LONGEST - read.len())]);
        if read.len() >= LONGEST {
            break;
        }
    }
    read.freeze()
}
