//! The limiter by the rows of flow 8.4 and the rules of flow 4, as literal numbers. Rows about
//! time in line go through a small line of calls that stands for the gate's.

mod keyed;
mod learning;
mod life;
mod line;
mod pausing;
mod resets;

use super::{Limiter, LimiterSettings, RateHeaders};
use crate::time::Millis;

/// 2026-01-15T12:00:00Z
const T0: Millis = 1_768_478_400_000;

/// The built-in numbers (decision 15a).
const FREE: LimiterSettings = LimiterSettings::FREE;

fn free() -> Limiter {
    Limiter::new(FREE, T0)
}

type Headers<'a> = &'a [(&'a str, &'a str)];

fn of<'a>(headers: Headers<'a>) -> impl Fn(&str) -> Option<&'a [u8]> {
    |name| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_bytes())
}

/// What an answer states about its limit, as the usual headers read.
fn told(limit: u64, remaining: u64, reset_ms: Millis) -> RateHeaders {
    RateHeaders {
        limit: Some(limit),
        remaining: Some(remaining),
        reset_ms: Some(reset_ms),
        ..RateHeaders::default()
    }
}
