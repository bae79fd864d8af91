//! Waits in the words of a body (core 3.3 H8–H13, rules 3.5.2): a phrase, then a value. The
//! body may be prose, HTML, or JSON that was cut, so phrases are looked for everywhere. They
//! are few and fixed: a scan by hand is shorter than patterns, and linear by construction.

use super::dates;
use super::forms::{self, Number};
use super::{Clock, Hint, HintSource, SKEW_MS, until};
use crate::time::{DAY, MINUTE, Millis, SECOND};

/// One row of the table: what stands after one of the phrases, and the longest wait it tells.
struct Row {
    phrases: &'static [&'static str],
    read: fn(&str, Clock) -> Option<Millis>,
    longest: Millis,
}

/// In the order of core 3.3; the first that yields a wait wins.
const ROWS: [Row; 5] = [
    // H8. "try again in" is OpenAI's wording of the same (decision 2: every stated wait).
    Row { phrases: &["retry in", "try again in"], read: span, longest: DAY },
    // H9.
    Row {
        phrases: &["try again at", "wait until", "reset at", "resets at", "available at", "retry after"],
        read: date_time,
        longest: Millis::MAX,
    },
    // H10 and H11.
    Row {
        phrases: &["reset after", "resets after", "reset in", "resets in"],
        read: span,
        longest: Millis::MAX,
    },
    // H12.
    Row { phrases: &["reset at", "resets at"], read: month_day, longest: Millis::MAX },
    // H13.
    Row { phrases: &["retry after"], read: span, longest: DAY },
];

pub(super) fn read(body: &str, clock: Clock) -> Option<Hint> {
    let text = plain(body);
    let wait_ms = ROWS.iter().find_map(|row| Some(row.wait(&text, clock)?.min(row.longest)))?;
    Some(Hint::new(wait_ms, HintSource::Body))
}

/// The wait until the reset that the text states, however long (core D13): the rows about
/// pacing, which never tell more than a day, are left out.
#[cfg_attr(not(test), allow(dead_code, reason = "for the text rules of the verdict"))]
pub(crate) fn reset_of(text: &str, now: Millis) -> Option<Millis> {
    let text = plain(text);
    let resets = ROWS.iter().filter(|row| row.longest > DAY);
    resets.filter_map(|row| row.wait(&text, Clock::ours(now))).next()
}

/// "Resets in 13 days" (rules 3.5.2): whole numbers above 0 with a unit in words.
#[cfg_attr(not(test), allow(dead_code, reason = "for the text rules of the verdict"))]
pub(crate) fn countdown(text: &str) -> Option<Millis> {
    let in_words = |unit: &str| {
        let names = ["day", "hour", "minute", "second"];
        names.iter().any(|name| unit.strip_prefix(name).is_some_and(|plural| matches!(plural, "" | "s")))
    };
    let text = plain(text);
    let read = |rest: &str| {
        let whole = rest.split(|c: char| !c.is_ascii_digit()).next()?.len();
        let (sum, _) = forms::leading_duration(rest, in_words).filter(|_| !rest[whole..].starts_with('.'))?;
        sum.span()
    };
    ["reset in", "resets in"].iter().find_map(|phrase| after(&text, phrase).find_map(read))
}

impl Row {
    fn wait(&self, text: &str, clock: Clock) -> Option<Millis> {
        let read = |rest: &str| (self.read)(rest, clock);
        self.phrases.iter().find_map(|phrase| after(text, phrase).find_map(read))
    }
}

// === finding ===

/// Small letters, and a blank for every escape of JSON: "\nResets in" begins a word too.
fn plain(body: &str) -> String {
    let mut plain = String::with_capacity(body.len());
    let mut chars = body.chars().peekable();
    while let Some(letter) = chars.next() {
        if letter != '\\' {
            plain.push(letter.to_ascii_lowercase());
            continue;
        }
        while chars.next_if_eq(&'\\').is_some() {}
        if chars.next() == Some('u') {
            for _ in 0..4 {
                chars.next_if(char::is_ascii_hexdigit);
            }
        }
        plain.push(' ');
    }
    plain
}

/// What follows each place where the phrase stands; blanks between its words may be any.
fn after<'a>(text: &'a str, phrase: &'a str) -> impl Iterator<Item = &'a str> {
    let (first, others) = phrase.split_once(' ').unwrap_or((phrase, ""));
    text.match_indices(first).filter_map(move |(at, _)| {
        if text[..at].ends_with(char::is_alphanumeric) {
            return None;
        }
        let mut rest = &text[at + first.len()..];
        for word in others.split(' ') {
            rest = rest.strip_prefix(char::is_whitespace)?.trim_start().strip_prefix(word)?;
        }
        let rest = rest.trim_start();
        Some(rest.strip_prefix(':').unwrap_or(rest).trim_start())
    })
}

// === values ===

fn span(rest: &str, _: Clock) -> Option<Millis> {
    forms::leading_duration(rest, |_| true).map(|(sum, _)| sum).and_then(Number::span)
}

/// "2026-01-21T12:00:00.5+02:00", "2026-01-21 12:00", "2026-01-21 12:00:00 +0800".
fn date_time(rest: &str, clock: Clock) -> Option<Millis> {
    let (day, tail) = shaped(rest, "0000-00-00")?;
    let (time, tail) = time_of_day(tail.strip_prefix(['t', ' '])?.trim_start())?;
    until(dates::date(&format!("{day}T{time}{}", zone(tail)))?, clock.server)
}

/// "01-20 12:00", with or without seconds.
fn month_day(rest: &str, clock: Clock) -> Option<Millis> {
    let (day, tail) = shaped(rest, "00-00")?;
    let (time, _) = time_of_day(tail.strip_prefix(['t', ' '])?.trim_start())?;
    // A reset told to the minute is not over before the minute is; else it would be a year away.
    let late = if time.len() == "00:00".len() { MINUTE } else { SKEW_MS };
    let at = dates::next_in_year(&format!("{day}T{time}"), clock.server, late)?;
    Some(at.saturating_sub(clock.server).max(SECOND))
}

/// Hours and minutes, and as much of "seconds and fraction" as there is.
fn time_of_day(text: &str) -> Option<(&str, &str)> {
    let (short, tail) = shaped(text, "00:00")?;
    let Some((_, tail)) = shaped(tail, ":00") else { return Some((short, tail)) };
    let decimals = tail.strip_prefix('.').map_or(0, |digits| {
        let count = digits.bytes().take_while(u8::is_ascii_digit).count();
        if count > 0 { count + 1 } else { 0 }
    });
    Some(text.split_at(text.len() - tail.len() + decimals))
}

/// A numeric offset, after at most a blank; anything else is read as UTC.
fn zone(text: &str) -> &str {
    let text = text.strip_prefix(' ').unwrap_or(text);
    let shapes = ["+00:00", "-00:00", "+0000", "-0000"];
    shapes.iter().find_map(|shape| shaped(text, shape)).map_or("Z", |(offset, _)| offset)
}

/// The beginning of the text if it is like the shape, in which 0 is any digit; and the rest.
fn shaped<'a>(text: &'a str, shape: &str) -> Option<(&'a str, &'a str)> {
    let head = text.get(..shape.len())?;
    let fits = |(byte, shape): (u8, u8)| if shape == b'0' { byte.is_ascii_digit() } else { byte == shape };
    head.bytes().zip(shape.bytes()).all(fits).then(|| text.split_at(shape.len()))
}
