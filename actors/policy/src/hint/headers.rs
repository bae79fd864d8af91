//! Which header is read when, and as what. The order is here and the forms are in `forms`, so
//! that each can be compared with its table in the spec.

use super::dates;
use super::forms::{self, Number};
use super::{Clock, Hint, HintSource, until};
use crate::time::{Millis, SECOND};

/// A number of seconds above this in `Retry-After` and its kin is an instant, not a span (FC-071).
const PLAUSIBLE_SECONDS: u64 = 1_000_000_000;
/// A number above this in a bucket's reset is an instant (core 3.3.3).
const RECENT_EPOCH_SECONDS: u64 = 1_700_000_000;

/// Every header that is read, so that a caller may keep these of an answer and no others.
pub const HEADERS: &[&str] = &[
    "date",
    "retry-after-ms",
    "x-ms-retry-after-ms",
    "retry-after",
    "x-ratelimit-reset",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
    "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset-tokens",
    "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-requests-reset",
    "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-tokens-reset",
    "anthropic-ratelimit-input-tokens-remaining",
    "anthropic-ratelimit-input-tokens-reset",
    "anthropic-ratelimit-output-tokens-remaining",
    "anthropic-ratelimit-output-tokens-reset",
    "anthropic-ratelimit-unified-status",
    "anthropic-ratelimit-unified-reset",
];

/// What is left of a bucket, what says that nothing is, and when it fills again.
const BUCKETS: [(&str, &str, &str); 7] = [
    ("x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "0", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "0", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "0", "anthropic-ratelimit-output-tokens-reset"),
    ("anthropic-ratelimit-unified-status", "rejected", "anthropic-ratelimit-unified-reset"),
];

/// Whether a header of this name, in any case, is read.
pub fn is_read(name: &str) -> bool {
    HEADERS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The wait stated by the headers of one answer. `get` takes a lower-case header name.
///
/// In order: `retry-after-ms` and `x-ms-retry-after-ms` (decision 32), `retry-after`
/// (H1–H3), `x-ratelimit-reset` (H4), and on a 429 with neither of these two the latest reset
/// among the buckets that have nothing left (core 3.3.3, decision 32).
pub fn from_headers<'a>(get: impl Fn(&str) -> Option<&'a [u8]>, status: u16, now: Millis) -> Option<Hint> {
    read(&get, status, Clock::of(&get, now))
}

/// How long until a bucket fills again, by the header of this name; at most 30 days, `None` if
/// it states nothing that lies ahead (flow 4.16).
pub(crate) fn reset_in<'a>(
    get: &impl Fn(&str) -> Option<&'a [u8]>,
    name: &str,
    now: Millis,
) -> Option<Millis> {
    let value = get(name).and_then(forms::clean)?;
    let wait = span_or_instant(value, RECENT_EPOCH_SECONDS, Clock::of(get, now))?;
    Some(wait.min(Hint::MAX_MS))
}

/// A count as a header writes it; a fraction is cut off.
pub(crate) fn whole(value: &[u8]) -> Option<u64> {
    forms::number(forms::clean(value)?).map(Number::floor)
}

/// An instant as a header writes it: epoch seconds, epoch ms or a date (routing 4.23); it may lie
/// in the past.
pub(crate) fn instant(value: &[u8]) -> Option<Millis> {
    let value = forms::clean(value)?;
    forms::number(value).and_then(Number::instant).or_else(|| dates::date(value))
}

pub(super) fn read<'a>(get: impl Fn(&str) -> Option<&'a [u8]>, status: u16, clock: Clock) -> Option<Hint> {
    let text = |name: &str| get(name).and_then(forms::clean);
    let bare = || status == 429 && get("retry-after").is_none() && get("x-ratelimit-reset").is_none();
    let wait_ms = None
        .or_else(|| milliseconds(text("retry-after-ms")?, clock))
        .or_else(|| milliseconds(text("x-ms-retry-after-ms")?, clock))
        .or_else(|| span_or_instant(text("retry-after")?, PLAUSIBLE_SECONDS, clock))
        .or_else(|| reset_instant(text("x-ratelimit-reset")?, clock))
        .or_else(|| bare().then(|| empty_buckets(text, clock)).flatten());
    wait_ms.map(|wait_ms| Hint::new(wait_ms, HintSource::Header))
}

fn milliseconds(value: &str, clock: Clock) -> Option<Millis> {
    let number = forms::number(value)?;
    if number.exceeds(PLAUSIBLE_SECONDS * SECOND) {
        return until(number.instant()?, clock.now);
    }
    number.span()
}

/// A leading integer: epoch seconds or epoch ms. Else a date, whose year as an instant is
/// long past.
fn reset_instant(value: &str, clock: Clock) -> Option<Millis> {
    let instant = forms::leading_integer(value).and_then(Number::instant);
    let wait = instant.and_then(|at| until(at, clock.now));
    wait.or_else(|| until(dates::date(value)?, clock.server))
}

/// The latest reset of the buckets that are empty.
fn empty_buckets<'a>(get: impl Fn(&str) -> Option<&'a str>, clock: Clock) -> Option<Millis> {
    let reset = |(left, empty, reset): (&str, &str, &str)| {
        let is_empty = |left: &&str| match forms::number(empty) {
            Some(zero) => forms::number(left) == Some(zero),
            None => left.eq_ignore_ascii_case(empty),
        };
        get(left).filter(is_empty)?;
        span_or_instant(get(reset)?, RECENT_EPOCH_SECONDS, clock)
    };
    BUCKETS.into_iter().filter_map(reset).max()
}

/// Seconds, an instant if the number is larger than `span_up_to`, a duration with units, or
/// a date.
fn span_or_instant(value: &str, span_up_to: u64, clock: Clock) -> Option<Millis> {
    if let Some(number) = forms::number(value) {
        if number.exceeds(span_up_to) {
            return until(number.instant()?, clock.now);
        }
        return number.times(SECOND).span();
    }
    if let Some(sum) = forms::duration(value) {
        return sum.span();
    }
    until(dates::date(value)?, clock.server)
}
