//! The forms of a number and a span. They come from strangers: anything odd is
//! `None`, nothing panics, and no number is infinite or negative. Numbers are exact to nine
//! decimals, so that a wait rounds as it was written (FC-075).

use crate::time::{DAY, HOUR, MINUTE, Millis, SECOND};

/// Parts of one: a number is kept as whole billionths.
const ONE: u128 = 1_000_000_000;
/// Digits after the point that count; further ones are cut off (FC-075).
const DECIMALS: usize = 9;
/// An instant above this is in ms, else in seconds (H4).
const EPOCH_MS_FROM: u64 = 10_000_000_000;

/// A number ≥ 0 as it was written, in billionths; it saturates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Number(u128);

impl Number {
    pub(super) fn whole(value: u64) -> Self {
        Self(u128::from(value) * ONE)
    }

    /// From JSON. The cast saturates, so a negative number is 0.
    pub(super) fn of_f64(value: f64) -> Self {
        Self((value * ONE as f64) as u128)
    }

    pub(super) fn times(self, unit: Millis) -> Self {
        Self(self.0.saturating_mul(u128::from(unit)))
    }

    pub(super) fn exceeds(self, value: u64) -> bool {
        self > Self::whole(value)
    }

    /// Without its fraction.
    pub(super) fn floor(self) -> u64 {
        u64::try_from(self.0 / ONE).unwrap_or(u64::MAX)
    }

    /// Whole milliseconds of a positive span, at least 1; a span beyond u64 saturates.
    pub(super) fn span(self) -> Option<Millis> {
        let rounded = self.0.saturating_add(ONE / 2) / ONE;
        (self.0 > 0).then(|| Millis::try_from(rounded).unwrap_or(Millis::MAX).max(1))
    }

    /// As an instant: epoch seconds or, if it is large, epoch ms.
    pub(super) fn instant(self) -> Option<Millis> {
        if self.exceeds(EPOCH_MS_FROM) { self.span() } else { self.times(SECOND).span() }
    }
}

/// The value as trimmed text; `None` if it is not ASCII.
pub(super) fn clean(value: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(value).ok()?;
    text.is_ascii().then(|| text.trim_ascii())
}

// === numbers ===

/// Digits with at most one point and nothing else: no sign, no exponent, no words.
pub(super) fn number(text: &str) -> Option<Number> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() || !all_digits(whole) || !all_digits(decimals) {
        return None;
    }
    // Only digits are left, so the one thing that can go wrong is a number too large.
    let whole: u64 = whole.parse().unwrap_or(u64::MAX);
    let kept = &decimals[..decimals.len().min(DECIMALS)];
    let decimals: u64 = format!("{kept:0<DECIMALS$}").parse().ok()?;
    Some(Number(Number::whole(whole).0 + u128::from(decimals)))
}

/// The digits that the text begins with.
pub(super) fn leading_integer(text: &str) -> Option<Number> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    number(&text[..len])
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

// === spans ===

/// The parts of one span: "1h5m", "1h 5m", "59.7ms", "3 days" (decision 4), as ms.
pub(super) fn duration(text: &str) -> Option<Number> {
    let (sum, rest) = leading_duration(text, |_| true)?;
    rest.is_empty().then_some(sum)
}

/// The parts that the text begins with and their sum in ms, as far as units are known and
/// taken; at least one.
pub(super) fn leading_duration(text: &str, takes: impl Fn(&str) -> bool) -> Option<(Number, &str)> {
    let mut rest = text;
    let mut sum: Option<u128> = None;
    while let Some((part, tail)) = leading_part(rest, &takes) {
        sum = Some(part.0.saturating_add(sum.unwrap_or(0)));
        rest = tail.trim_ascii_start();
    }
    Some((Number(sum?), rest))
}

fn leading_part(text: &str, takes: impl Fn(&str) -> bool) -> Option<(Number, &str)> {
    let in_numeral = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let (digits, tail) = text.split_at(text.bytes().take_while(in_numeral).count());
    let tail = tail.trim_ascii_start();
    let (unit, tail) = tail.split_at(tail.bytes().take_while(u8::is_ascii_alphabetic).count());
    let ms = unit_ms(unit).filter(|_| takes(unit))?;
    Some((number(digits)?.times(ms), tail))
}

fn unit_ms(unit: &str) -> Option<Millis> {
    let known: [(&[&str], Millis); 5] = [
        (&["d", "day", "days"], DAY),
        (&["h", "hr", "hrs", "hour", "hours"], HOUR),
        (&["m", "min", "mins", "minute", "minutes"], MINUTE),
        (&["s", "sec", "secs", "second", "seconds"], SECOND),
        (&["ms", "millisecond", "milliseconds"], 1),
    ];
    let found = known.iter().find(|(names, _)| names.iter().any(|name| unit.eq_ignore_ascii_case(name)));
    found.map(|(_, ms)| *ms)
}
