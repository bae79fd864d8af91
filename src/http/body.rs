//! Bodies in and out of the server.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::{BodySize, MessageBody};
use actix_web::http::header::{CONTENT_LENGTH, HeaderMap};
use actix_web::http::{ConnectionType, Version};
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, Stream, StreamExt};
use policy::ids::ConnectionId;
use tokio::time::Instant;

use super::state::Running;
use crate::relay::{Cut, Relayed};

/// How long a body that is too large is still read, so that its sender gets to read the answer.
const LINGER: Duration = Duration::from_secs(5);

/// How long a client may send nothing of a body it has announced.
const UPLOAD_STALL: Duration = Duration::from_secs(60);

/// Bytes per second that a body must come with on the whole, after the first of these waits: who
/// sends a byte now and then would keep a connection for days (FC-112).
const UPLOAD_RATE: u64 = 1024;

/// Why a request's body did not arrive.
#[derive(Debug, PartialEq, Eq)]
pub enum Unread {
    /// Larger than allowed.
    TooLarge,
    /// The client ended or broke the connection.
    Broken,
    /// The client kept the connection and sent nothing, or next to nothing, for too long.
    Stalled,
}

/// Reads a body of at most `limit` bytes; one that comes in one piece is not copied.
pub async fn read(mut payload: Payload, headers: &HeaderMap, limit: usize) -> Result<Bytes, Unread> {
    let stated = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if stated.is_some_and(|stated| stated > limit) {
        linger(payload, limit).await;
        return Err(Unread::TooLarge);
    }
    let mut first: Option<Bytes> = None;
    let mut whole = BytesMut::new();
    let mut length = 0;
    let began = Instant::now();
    while let Some(part) = next(&mut payload, (began, length)).await? {
        length += part.len();
        if length > limit {
            linger(payload, limit).await;
            return Err(Unread::TooLarge);
        }
        match first.take() {
            None if whole.is_empty() => first = Some(part),
            None => whole.extend_from_slice(&part),
            Some(before) => {
                whole.reserve(stated.unwrap_or(length).max(length));
                whole.extend_from_slice(&before);
                whole.extend_from_slice(&part);
            }
        }
    }
    Ok(first.unwrap_or_else(|| whole.freeze()))
}

/// The next part; a client that sends nothing for too long, or too little since it `began`, is
/// given up.
async fn next(payload: &mut Payload, (began, length): (Instant, usize)) -> Result<Option<Bytes>, Unread> {
    // A body mostly comes with its head, but is handed over only after the handler's first turn. A
    // timer costs a system call, so none is set before it is needed.
    if let Some(part) = payload.next().now_or_never() {
        return part.transpose().map_err(|_| Unread::Broken);
    }
    tokio::task::yield_now().await;
    let part = match payload.next().now_or_never() {
        Some(part) => part,
        None => {
            let due = began + UPLOAD_STALL + Duration::from_secs(length as u64 / UPLOAD_RATE);
            let due = due.min(Instant::now() + UPLOAD_STALL);
            tokio::time::timeout_at(due, payload.next()).await.map_err(|_| Unread::Stalled)?
        }
    };
    part.transpose().map_err(|_| Unread::Broken)
}

/// Reads on for a while: closing on a sender would take the answer from it.
async fn linger(mut payload: Payload, limit: usize) {
    let mut left = limit.saturating_mul(2).saturating_add(1024 * 1024);
    let reading = async {
        while let Some(Ok(part)) = payload.next().await {
            left = left.saturating_sub(part.len());
            if left == 0 {
                return;
            }
        }
    };
    // The time is the bound; what was read by then is thrown away either way.
    let _ = tokio::time::timeout(LINGER, reading).await;
}

/// Who speaks HTTP/1.0 knows no chunks: a body without a length ends with its connection
/// (RFC 9112 6.1).
pub fn until_close(request: &HttpRequest, response: &mut HttpResponse) {
    if request.version() < Version::HTTP_11 && response.body().size() == BodySize::Stream {
        let head = response.head_mut();
        head.no_chunking(true);
        head.set_connection_type(ConnectionType::Close);
    }
}

/// A flowing answer as the server sends it.
pub struct Outbound {
    body: Box<Relayed>,
    size: BodySize,
    stall: Duration,
    /// When the server took the last part, if it has not asked for the next: it has no room.
    full_since: Option<Instant>,
    _running: Running,
}

impl Outbound {
    /// `framed`: an event stream, whose length nobody states. `stall`: how long a client may stop
    /// reading.
    pub fn new(body: Box<Relayed>, framed: bool, stall: Duration, running: Running) -> Self {
        let size = match body.length() {
            Some(length) if !framed => BodySize::Sized(length),
            _ => BodySize::Stream,
        };
        Self { body, size, stall, full_since: None, _running: running }
    }
}

/// The socket's own limit ends a client that does not read, without a word: it is said here, so
/// that nobody looks for the fault upstream (FC-010).
impl Drop for Outbound {
    fn drop(&mut self) {
        if self.full_since.is_some_and(|since| since.elapsed() >= self.stall) {
            let connection = self.body.connection().map(ConnectionId::as_str);
            tracing::warn!(connection, "a client stopped reading: its answer was ended");
        }
    }
}

impl MessageBody for Outbound {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.size
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let polled = Pin::new(&mut *self.body).poll_next(cx);
        self.full_since = matches!(polled, Poll::Ready(Some(Ok(_)))).then(Instant::now);
        match polled {
            Poll::Ready(Some(Err(Cut))) => Poll::Ready(Some(Err("the answer was ended abnormally".into()))),
            Poll::Ready(Some(Ok(bytes))) => Poll::Ready(Some(Ok(bytes))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests;
