//! Which header is read when, and as what. The order is here and the forms are in `text`, so
//! that each can be compared with its table in the spec.

use super::text::{self, Number};
use super::{Hint, HintSource};
use crate::time::{Millis, SECOND};

/// A date that lies at most this far in the past is "now", ms (decision 3).
const SKEW_MS: Millis = 5 * SECOND;
/// A number above this in `Retry-After` is an instant, not a span (FC-071).
const PLAUSIBLE_SECONDS: f64 = 1e9;
/// A number above this in a bucket's reset is an instant (core 3.3.3).
const RECENT_EPOCH_SECONDS: f64 = 1.7e9;
/// An instant above this is in ms, else in seconds (H4).
const EPOCH_MS_FROM: f64 = 1e10;

/// The wait stated by the headers of one answer. `get` takes a lower-case header name.
///
/// In order: `retry-after-ms` and `x-ms-retry-after-ms` (decision 32), `retry-after`
/// (H1–H3), `x-ratelimit-reset` (H4), and on a 429 the latest reset among the buckets that
/// have nothing left (core 3.3.3, decision 32).
pub fn from_headers<'a>(get: impl Fn(&str) -> Option<&'a [u8]>, status: u16, now: Millis) -> Option<Hint> {
    let text = |name: &str| get(name).and_then(text::clean);
    let wait_ms = None
        .or_else(|| text("retry-after-ms").and_then(milliseconds))
        .or_else(|| text("x-ms-retry-after-ms").and_then(milliseconds))
        .or_else(|| text("retry-after").and_then(|value| retry_after(value, now)))
        .or_else(|| text("x-ratelimit-reset").and_then(|value| reset_instant(value, now)))
        .or_else(|| (status == 429).then(|| empty_buckets(text, now)).flatten());
    wait_ms.map(|wait_ms| Hint::new(wait_ms, HintSource::Header))
}

fn milliseconds(value: &str) -> Option<Millis> {
    text::number(value).and_then(Number::span)
}

/// Seconds, an instant that looks like seconds, a duration with units, or an HTTP date.
fn retry_after(value: &str, now: Millis) -> Option<Millis> {
    if let Some(number) = text::number(value) {
        return span_or_instant(number, PLAUSIBLE_SECONDS, now);
    }
    if let Some(sum) = text::duration(value) {
        return sum.span();
    }
    until(text::http_date(value)?, now)
}

/// A leading integer: epoch seconds or epoch ms.
fn reset_instant(value: &str, now: Millis) -> Option<Millis> {
    until(instant(text::leading_integer(value)?), now)
}

/// The latest reset of the buckets whose remaining is 0.
fn empty_buckets<'a>(get: impl Fn(&str) -> Option<&'a str>, now: Millis) -> Option<Millis> {
    let reset = |bucket: &str| {
        let left = text::number(get(&format!("x-ratelimit-remaining-{bucket}"))?)?;
        let value = get(&format!("x-ratelimit-reset-{bucket}")).filter(|_| left.is_zero())?;
        match text::number(value) {
            Some(number) => span_or_instant(number, RECENT_EPOCH_SECONDS, now),
            None => text::duration(value)?.span(),
        }
    };
    ["requests", "tokens"].into_iter().filter_map(reset).max()
}

/// A span in seconds, or an instant if the number is larger than `span_up_to`.
fn span_or_instant(number: Number, span_up_to: f64, now: Millis) -> Option<Millis> {
    if number.0 > span_up_to {
        return until(instant(number), now);
    }
    number.times(SECOND).span()
}

fn instant(number: Number) -> Number {
    if number.0 > EPOCH_MS_FROM { number } else { number.times(SECOND) }
}

/// The wait until an instant in epoch ms; a slightly late one is a second away (decision 3).
fn until(instant: Number, now: Millis) -> Option<Millis> {
    let at = instant.span()?;
    match at.checked_sub(now) {
        Some(wait) => Some(wait.max(SECOND)),
        None => (now - at <= SKEW_MS).then_some(SECOND),
    }
}
