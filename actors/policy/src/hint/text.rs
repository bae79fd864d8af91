//! The forms of a time in a header value. They come from strangers: anything odd is `None`,
//! nothing panics, and no number is infinite or negative.

use std::time::UNIX_EPOCH;

use crate::time::{HOUR, MINUTE, Millis, SECOND};

/// A finite number ≥ 0 as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number(pub f64);

impl Number {
    pub(super) fn times(self, unit: Millis) -> Self {
        // Units are small, so the conversion is exact.
        Self(self.0 * unit as f64)
    }

    pub(super) fn is_zero(self) -> bool {
        self.0 == 0.0
    }

    /// Whole milliseconds of a positive span, at least 1; a span beyond u64 saturates.
    pub(super) fn span(self) -> Option<Millis> {
        (self.0 > 0.0).then(|| (self.0.round() as Millis).max(1))
    }
}

/// The value as trimmed text; `None` if it is not ASCII.
pub(super) fn clean(value: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(value).ok()?;
    text.is_ascii().then(|| text.trim_ascii())
}

/// Digits with at most one point and nothing else: no sign, no exponent, no words.
pub(super) fn number(text: &str) -> Option<Number> {
    let (digits, rest) = text.split_at(numeral_len(text));
    if !rest.is_empty() || !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value: f64 = digits.parse().ok()?;
    value.is_finite().then_some(Number(value))
}

/// The digits that the text begins with.
pub(super) fn leading_integer(text: &str) -> Option<Number> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    number(&text[..len])
}

/// Numbers with units h, m, s, ms, joined or separated by blanks ("1h5m", "1h 5m",
/// "59.7ms"; decision 4), as ms.
pub(super) fn duration(text: &str) -> Option<Number> {
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let (digits, tail) = rest.split_at(numeral_len(rest));
        let tail = tail.trim_ascii_start();
        let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = tail.split_at(letters);
        sum += number(digits)?.times(unit_ms(unit)?).0;
        rest = tail.trim_ascii_start();
    }
    f64::is_finite(sum).then_some(Number(sum))
}

/// An HTTP date as epoch ms.
pub(super) fn http_date(text: &str) -> Option<Number> {
    let at = httpdate::parse_http_date(text).ok()?;
    let since = at.duration_since(UNIX_EPOCH).ok()?;
    Some(Number(since.as_secs() as f64).times(SECOND))
}

fn numeral_len(text: &str) -> usize {
    let in_numeral = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    text.bytes().take_while(in_numeral).count()
}

fn unit_ms(unit: &str) -> Option<Millis> {
    let known = [("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", 1)];
    let found = known.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name));
    found.map(|(_, ms)| *ms)
}
