//! A request at the door: what cannot be had is taken off its body before anything is read, and
//! only what is listed of its headers goes further.

use actix_web::http::header::{ACCEPT, CONNECTION, HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;

use super::auth::KeyPolicy;
use crate::formats::body::{background, leaves_stream_open, peek};
use crate::formats::edit::{with_first, without_field};
use crate::upstream::Route;

/// The client's headers that go upstream; everything else stays here (contract 3).
const PASSING: [&str; 6] =
    ["anthropic-version", "anthropic-beta", "openai-beta", "user-agent", "accept", "traceparent"];

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
    accepted.flat_map(|value| value.split(',')).any(|kind| {
        let mut parts = kind.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("text/event-stream"));
        // A weight of zero is a no (RFC 9110, 12.4.2).
        let refused = |part: &str| {
            let weight = part.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
            weight.is_some_and(|(_, weight)| weight.trim().parse() == Ok(0.0))
        };
        named && !parts.any(refused)
    })
}

/// What of a client's headers goes upstream.
pub(super) fn passing(headers: &HeaderMap) -> Vec<(HeaderName, HeaderValue)> {
    // What a client names there is for its own connection (FC-113).
    let named = |name: &str| {
        let named = headers.get_all(CONNECTION).filter_map(|value| value.to_str().ok());
        named.flat_map(|value| value.split(',')).any(|own| own.trim().eq_ignore_ascii_case(name))
    };
    let mut passing: Vec<(HeaderName, HeaderValue)> = Vec::with_capacity(PASSING.len());
    for (name, value) in headers {
        let passes = PASSING.contains(&name.as_str()) && !named(name.as_str());
        // The first value counts.
        if passes && passing.last().is_none_or(|(last, _)| last != name) {
            passing.push((name.clone(), value.clone()));
        }
    }
    passing
}
