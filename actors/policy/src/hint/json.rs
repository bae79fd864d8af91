//! Waits in the JSON of a body (core 3.3 H5–H7, FC-021, FC-075, FC-078). Each row looks inside
//! `error` first and beside it second; a list of such objects is read in its order.

use serde_json::Value;

use super::dates;
use super::forms::{self, Number};
use super::{Clock, Hint, HintSource, until};
use crate::time::{DAY, Millis, SECOND};

/// The longest wait taken from RetryInfo, ms (H5).
const LONGEST_RETRY_INFO: Millis = DAY;

/// Where one of our names may stand: inside `error`, else beside it.
type Places<'a> = [Option<&'a Value>; 2];

pub(super) fn read(body: &str, clock: Clock) -> Option<Hint> {
    // An answer that is no object or list states nothing here; most of those are HTML.
    if !body.trim_start().starts_with(['{', '[']) {
        return None;
    }
    match serde_json::from_str(body).ok()? {
        Value::Array(items) => items.iter().find_map(|item| in_object(item, clock)),
        object => in_object(&object, clock),
    }
}

fn in_object(object: &Value, clock: Clock) -> Option<Hint> {
    let places = [object.get("error"), Some(object)];
    if let Some(wait) = retry_info(places) {
        return Some(Hint::new(wait.min(LONGEST_RETRY_INFO), HintSource::GoogleRpcRetryInfo));
    }
    let wait_ms = None
        .or_else(|| quota_reset_delay(places))
        .or_else(|| untyped_retry_delay(places))
        .or_else(|| first(places, "retryAfter", |value| until(dates::date(value.as_str()?)?, clock.server)))
        .or_else(|| first(places, "retry_after_ms", milliseconds))
        .or_else(|| first(places, "retryAfterMs", milliseconds))
        .or_else(|| first(places, "resets_in_seconds", seconds))
        .or_else(|| first(places, "resets_at", |value| instant(value, clock)));
    wait_ms.map(|wait_ms| Hint::new(wait_ms, HintSource::Body))
}

fn first(places: Places<'_>, name: &str, read: impl Fn(&Value) -> Option<Millis>) -> Option<Millis> {
    places.into_iter().flatten().filter_map(|place| place.get(name)).find_map(read)
}

// === google.rpc ===

/// H5: seconds, or a number with its unit.
fn retry_info(places: Places<'_>) -> Option<Millis> {
    in_details(places, "RetryInfo", |detail| span(detail.get("retryDelay")?))
}

/// FC-075: what Gemini says beside or instead of RetryInfo.
fn quota_reset_delay(places: Places<'_>) -> Option<Millis> {
    in_details(places, "ErrorInfo", |detail| span(detail.get("metadata")?.get("quotaResetDelay")?))
}

/// Flow 4.22: the same field where nothing says what it is.
fn untyped_retry_delay(places: Places<'_>) -> Option<Millis> {
    let untyped = |detail: &&Value| detail.get("@type").is_none();
    let in_details = details(places).filter(untyped).find_map(|detail| span(detail.get("retryDelay")?));
    in_details.or_else(|| first(places, "retryDelay", span))
}

fn in_details(places: Places<'_>, kind: &str, read: impl Fn(&Value) -> Option<Millis>) -> Option<Millis> {
    let is_kind = |detail: &&Value| detail["@type"].as_str().is_some_and(|name| name.contains(kind));
    details(places).filter(is_kind).find_map(read)
}

fn details<'a>(places: Places<'a>) -> impl Iterator<Item = &'a Value> {
    places.into_iter().flatten().filter_map(|place| place.get("details")?.as_array()).flatten()
}

// === values ===

fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => match number.as_u64() {
            Some(whole) => Some(Number::whole(whole)),
            None => number.as_f64().map(Number::of_f64),
        },
        Value::String(text) => forms::number(text.trim()),
        _ => None,
    }
}

fn milliseconds(value: &Value) -> Option<Millis> {
    number(value)?.span()
}

fn seconds(value: &Value) -> Option<Millis> {
    number(value)?.times(SECOND).span()
}

fn span(value: &Value) -> Option<Millis> {
    seconds(value).or_else(|| forms::duration(value.as_str()?.trim())?.span())
}

fn instant(value: &Value, clock: Clock) -> Option<Millis> {
    match number(value) {
        Some(number) => until(number.instant()?, clock.now),
        None => until(dates::date(value.as_str()?.trim())?, clock.server),
    }
}
