//! `GET /api/events`: every change of a state, as server-sent events (contract 4).
//!
//! The owners tell it to a ring (`actors::events`) and wait for nobody. What a browser names after a
//! broken connection as `Last-Event-ID` is heard again from there. A listener that may not manage any
//! more, because its token was replaced, hears nothing more.

use std::time::Duration;

use ::actors::events::{Deaf, Event, Listener, MOST_LISTENERS, News};
use actix_web::http::header::CACHE_CONTROL;
use actix_web::{HttpRequest, HttpResponse, web};
use arc_swap::ArcSwap;
use bytes::Bytes;
use futures_util::{Stream, stream};
use serde_json::json;

use super::access::{Operator, is_operator};
use super::errors::Refusal;
use super::views::instant;
use crate::http::body::until_close;
use crate::http::errors::rfc3339;
use crate::http::state::HttpSettings;

/// When a browser whose connection broke comes again, ms.
const RETRY_MS: u64 = 1_000;
const COMMENT: &[u8] = b": keep-alive\n\n";

type Settings = web::Data<ArcSwap<HttpSettings>>;

/// Listens from now on, or from behind what the request names.
pub(super) async fn listen(
    admin: Operator,
    request: HttpRequest,
    settings: Settings,
) -> Result<HttpResponse, Refusal> {
    let after = last_id(&request)?;
    let listener = admin.owners.router.events.listen(after, admin.owners.clock.now());
    let listener = listener.map_err(|deaf| match deaf {
        Deaf::TooMany => Refusal::TooManyListeners(MOST_LISTENERS),
        Deaf::Closed => Refusal::Draining,
    })?;
    let mut response = HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header((CACHE_CONTROL, "no-cache, no-transform"))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(told(Ear { listener, request: request.clone(), settings }));
    until_close(&request, &mut response);
    Ok(response)
}

/// The event that a browser heard last.
fn last_id(request: &HttpRequest) -> Result<Option<u64>, Refusal> {
    let Some(value) = request.headers().get("last-event-id") else { return Ok(None) };
    let id = value.to_str().ok().map(str::trim);
    match id {
        Some("") => Ok(None),
        id => match id.and_then(|id| id.parse().ok()) {
            Some(id) => Ok(Some(id)),
            None => Err(Refusal::invalid("Last-Event-ID", "must be the id of an event")),
        },
    }
}

/// One listener and what it was let in with.
struct Ear {
    listener: Listener,
    request: HttpRequest,
    settings: Settings,
}

/// The head goes out with a first block: where it begins, and when to come again.
fn told(ear: Ear) -> impl Stream<Item = Result<Bytes, actix_web::Error>> {
    let first = format!(": listening\nretry: {RETRY_MS}\nid: {}\n\n", ear.listener.last());
    stream::unfold((ear, Some(Bytes::from(first))), |(mut ear, first)| async move {
        let part = match first {
            Some(first) => first,
            None => ear.next().await?,
        };
        Some((Ok(part), (ear, None)))
    })
}

impl Ear {
    /// The next bytes: news, or a comment after a while without any.
    async fn next(&mut self) -> Option<Bytes> {
        let heartbeat = self.settings.load().heartbeat;
        let part = match heartbeat {
            Duration::ZERO => shown(self.listener.next().await?),
            _ => match tokio::time::timeout(heartbeat, self.listener.next()).await {
                Ok(news) => shown(news?),
                Err(_) => Bytes::from_static(COMMENT),
            },
        };
        is_operator(&self.request).then_some(part)
    }
}

fn shown(news: News) -> Bytes {
    match news {
        News::Told(events) => events.iter().map(|event| block(event)).collect::<String>().into(),
        News::Missed { count, last } => {
            format!("event: missed\nid: {last}\ndata: {}\n\n", json!({"missed": count})).into()
        }
    }
}

/// JSON has no line ends of its own, so each event is one `data:` line.
fn block(event: &Event) -> String {
    let data = json!({
        "at": rfc3339(event.at), "kind": event.kind, "id": event.of, "from": event.from, "to": event.to,
        "reason": event.reason, "until": instant(event.until),
    });
    format!("event: {}\nid: {}\ndata: {data}\n\n", event.what.as_str(), event.id)
}
