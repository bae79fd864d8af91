//! Commit: the moment from which the client gets this answer and no other.
//!
//! A streamed answer commits at its first body chunk for now; one that is not streamed
//! when it is whole (up to 1 MiB, its length right, its JSON closed: decision 9a).
//! Replaced by the hold when frames are understood.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, StreamExt};
use policy::verdict::{End, Transport};

use crate::formats::body::is_complete_json;
use crate::upstream::{Answer, AnswerBody};

/// Longer answers commit at this size.
const WHOLE: usize = 1024 * 1024;

/// The committed part of an answer, and what is still to come.
pub(super) struct Committed {
    pub(super) first: Bytes,
    pub(super) rest: Option<AnswerBody>,
}

/// Reads until the answer may be given to the client. `silence`: how long the upstream may say
/// nothing meanwhile.
pub(super) async fn commit(answer: Answer, streamed: bool, silence: Duration) -> Result<Committed, End> {
    let mut body = answer.body;
    let first = next(&mut body, silence).await?;
    if streamed {
        return match first {
            Some(first) => Ok(Committed { first, rest: Some(body) }),
            None => Err(End::Empty),
        };
    }
    let Some(first) = first else { return Err(End::Empty) };
    let mut read = Parts::One(first);
    while read.len() < WHOLE {
        match next(&mut body, silence).await? {
            Some(part) => read.push(part),
            None => {
                let first = read.join();
                return match is_complete_json(&first) {
                    true => Ok(Committed { first, rest: None }),
                    false => Err(End::Transport(Transport::Truncated)),
                };
            }
        }
    }
    Ok(Committed { first: read.join(), rest: Some(body) })
}

async fn next(body: &mut AnswerBody, silence: Duration) -> Result<Option<Bytes>, End> {
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

/// One part stays as it is; several are copied together.
enum Parts {
    One(Bytes),
    Many(BytesMut),
}

impl Parts {
    fn len(&self) -> usize {
        match self {
            Self::One(part) => part.len(),
            Self::Many(parts) => parts.len(),
        }
    }

    fn push(&mut self, part: Bytes) {
        match self {
            Self::One(first) => {
                let mut parts = BytesMut::with_capacity(first.len() + part.len().max(4096));
                parts.extend_from_slice(first);
                parts.extend_from_slice(&part);
                *self = Self::Many(parts);
            }
            Self::Many(parts) => parts.extend_from_slice(&part),
        }
    }

    fn join(self) -> Bytes {
        match self {
            Self::One(part) => part,
            Self::Many(parts) => parts.freeze(),
        }
    }
}
