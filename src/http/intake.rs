//! A body at the door: what cannot be had is taken off before anything is read.

use actix_web::http::header::{ACCEPT, HeaderMap};
use bytes::Bytes;

use super::auth::KeyPolicy;
use crate::formats::body::{background, leaves_stream_open, peek};
use crate::formats::edit::{with_first, without_field};
use crate::upstream::Route;

/// A response that is wanted later is made now (rules 8.1): the field goes, here, so that it goes on
/// every way there is.
pub(super) fn made_now(route: Route, body: Bytes) -> Bytes {
    let Some(background) = (route == Route::Responses).then(|| background(&body)).flatten() else {
        return body;
    };
    if background.on {
        let name = peek(&body, false).map(|peeked| peeked.model).unwrap_or_default();
        let (provider, model) = name.split_once('/').unwrap_or(("unknown", &name));
        let model = if model.is_empty() { "unknown" } else { model };
        tracing::warn!(provider, model, "BACKGROUND_DEGRADE: a background response is made at once");
    }
    without_field(&body, &background.span)
}

/// A body that does not say whether it wants a stream, from a client that asks for events by its
/// `Accept`: a key can be set to take that for a word (routing 10.5).
pub(super) fn by_accept(route: Route, policy: Option<&KeyPolicy>, headers: &HeaderMap, body: Bytes) -> Bytes {
    let listens = policy.is_some_and(|policy| policy.rules.streams_by_accept) && route.answers().is_some();
    // What is wrong with a body is told later.
    let fits = || accepts_events(headers) && peek(&body, false).is_ok() && leaves_stream_open(&body);
    if listens && fits() { with_first(&body, b"\"stream\":true") } else { body }
}

fn accepts_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).filter_map(|value| value.to_str().ok());
    let mut kinds = accepted.flat_map(|value| value.split(',')).filter_map(|kind| kind.split(';').next());
    kinds.any(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
}
