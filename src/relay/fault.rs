//! An attempt that failed, with the upstream's own words if it gave any: they may be the
//! last answer, so they are read, bounded, and cleared of our credential.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use policy::hint;
use policy::time::Millis;
use policy::verdict::{End, Signal};

use crate::formats::redact;
use crate::upstream::{Answer, AnswerBody, Endpoint, HeaderMap};

/// Most that is read of an error's body.
const LONGEST: usize = 256 * 1024;
/// How long it may take: the status is known, and the next target waits.
const LIMIT: Duration = Duration::from_secs(2);

/// A failed attempt.
pub(super) struct Fault {
    pub(super) signal: Signal,
    pub(super) answer: Option<Kept>,
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
        Self { signal: Signal::new(end, None), answer: None }
    }

    /// An answer with another status than success.
    pub(super) async fn read(answer: Answer, endpoint: &Endpoint, now: Millis) -> Self {
        let Answer { status, mut headers, body } = answer;
        let hint = hint::from_headers(|name| headers.get(name).map(|value| value.as_bytes()), status, now);
        let mut body = read(body).await;
        if let Some(secret) = &endpoint.credential {
            body = redact::without(body, secret.expose());
            headers.retain(|_, value| !redact::holds(value.as_bytes(), secret.expose()));
        }
        Self { signal: Signal::new(End::Status(status), hint), answer: Some(Kept { status, headers, body }) }
    }
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
