//! A body at the door: what cannot be had is taken off before anything is read.

use bytes::Bytes;

use crate::formats::body::{background, peek};
use crate::formats::edit::without_field;
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
