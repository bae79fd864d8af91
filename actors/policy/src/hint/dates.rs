//! Dates as strangers write them: ISO and RFC 3339 with or without a zone, and those of HTTP and
//! mail. Whole days are counted in the calendar of the proleptic Gregorian year; no zone table,
//! no clock.

use std::time::UNIX_EPOCH;

use crate::time::{DAY, HOUR, MINUTE, Millis, SECOND};

/// An HTTP, mail or ISO date as epoch ms; without a zone it is UTC.
pub(crate) fn date(text: &str) -> Option<Millis> {
    let http = || httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok();
    if let Some(since) = http() {
        return Some(since.as_secs().saturating_mul(SECOND));
    }
    iso_date(text).or_else(|| mail_date(text))
}

/// The next time that this month, day and time come round (H12); `late` is still "now".
pub(super) fn next_in_year(month_day_time: &str, now: Millis, late: Millis) -> Option<Millis> {
    let year = year_of(now)?;
    let in_year = |year: u64| iso_date(&format!("{year:04}-{month_day_time}"));
    let ahead = |at: &Millis| at.saturating_add(late) >= now;
    in_year(year).filter(ahead).or_else(|| in_year(year + 1))
}

/// `2026-01-21`, then perhaps a time after a `T` or a blank, then perhaps a zone.
fn iso_date(text: &str) -> Option<Millis> {
    let mut rest = Rest(text.trim_ascii());
    let year = rest.number(4, 4)?;
    rest.sign(b"-")?;
    let month = rest.number(2, 2)?;
    rest.sign(b"-")?;
    let days = days(year, month, rest.number(2, 2)?)?;
    if rest.is_over() {
        return since_epoch(days, 0, 0);
    }
    rest.sign(b"Tt ")?;
    let time = rest.time()?;
    let ahead = if rest.is_over() { 0 } else { rest.zone()? };
    rest.is_over().then(|| since_epoch(days, time, ahead))?
}

/// `Thu, 15 Jan 2026 14:02:00 +0200`; the day's name is not compared.
fn mail_date(text: &str) -> Option<Millis> {
    let text = text.trim_ascii();
    let mut words = text.split_once(',').map_or(text, |(_, rest)| rest).split_ascii_whitespace();
    let day: u64 = words.next()?.parse().ok()?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|known| known.eq_ignore_ascii_case(name))? as u64 + 1;
    let year = words.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let mut time = Rest(words.next()?);
    let of_day = time.time()?;
    let ahead = match words.next()? {
        "GMT" | "UT" | "UTC" | "Z" => 0,
        zone => Rest(zone).zone()?,
    };
    let whole = time.is_over() && words.next().is_none();
    whole.then(|| since_epoch(days(year, month, day)?, of_day, ahead))?
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// What is still to be read.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    fn starts_with(&self, signs: &[u8]) -> bool {
        self.0.bytes().next().is_some_and(|byte| signs.contains(&byte))
    }

    /// One of these.
    fn sign(&mut self, signs: &[u8]) -> Option<u8> {
        let first = self.0.bytes().next().filter(|byte| signs.contains(byte))?;
        self.0 = &self.0[1..];
        Some(first)
    }

    /// So many digits.
    fn number(&mut self, least: usize, most: usize) -> Option<u64> {
        let count = self.0.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        if count < least { None } else { digits.parse().ok() }
    }

    /// `14:02`, `14:02:00`, `14:02:00.25`: ms of the day. A leap second is the one before it.
    fn time(&mut self) -> Option<Millis> {
        let hour = self.number(2, 2).filter(|hour| *hour < 24)?;
        self.sign(b":")?;
        let minute = self.number(2, 2).filter(|minute| *minute < 60)?;
        let mut ms = hour * HOUR + minute * MINUTE;
        if self.sign(b":").is_some() {
            let second = self.number(2, 2).filter(|second| *second <= 60)?;
            ms += second.min(59) * SECOND;
            if self.sign(b".,").is_some() {
                let digits = self.0.bytes().take_while(u8::is_ascii_digit).count();
                let thousandths = self.0.get(..digits.min(3)).filter(|digits| !digits.is_empty())?;
                self.0 = &self.0[digits..];
                ms += format!("{thousandths:0<3}").parse::<u64>().ok()?;
            }
        }
        Some(ms)
    }

    /// `Z`, `+02:00`, `+0200`, `+02`: ms ahead of UTC.
    fn zone(&mut self) -> Option<i64> {
        if self.sign(b"Zz").is_some() {
            return Some(0);
        }
        let behind = self.sign(b"+-")? == b'-';
        let hours = self.number(2, 2).filter(|hours| *hours < 26)?;
        let minutes = match self.sign(b":").is_some() || self.starts_with(b"0123456789") {
            true => self.number(2, 2).filter(|minutes| *minutes < 60)?,
            false => 0,
        };
        let ahead = (hours * HOUR + minutes * MINUTE) as i64;
        Some(if behind { -ahead } else { ahead })
    }
}

fn since_epoch(days: i64, time: Millis, ahead: i64) -> Option<Millis> {
    u64::try_from(days * DAY as i64 + time as i64 - ahead).ok()
}

/// Days since 1970-01-01; `None` for a day that no calendar has.
fn days(year: u64, month: u64, day: u64) -> Option<i64> {
    let month = month.checked_sub(1).filter(|month| *month < 12)?;
    let leap = is_leap(year);
    let length = [31, 28 + u64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize];
    let day = day.checked_sub(1).filter(|day| *day < length)?;
    let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334][month as usize];
    let of_year = before + u64::from(leap && month > 1) + day;
    Some(first_day(year) + of_year as i64)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// 1 January of a year, in days since 1970-01-01.
fn first_day(year: u64) -> i64 {
    let whole = year.saturating_sub(1);
    let leaps = whole / 4 - whole / 100 + whole / 400;
    // Year 0 is a leap year before the first counted one.
    let days = whole * 365 + leaps;
    days as i64 - 719_162 - if year == 0 { 366 } else { 0 }
}

/// The year of an instant, up to the last that dates are written for.
fn year_of(now: Millis) -> Option<u64> {
    let day = i64::try_from(now / DAY).ok()?;
    // No year is longer, so this is the year or an earlier one.
    let least = 1970 + now / DAY / 366;
    (least..10_000).find(|year| first_day(year + 1) > day)
}

#[cfg(test)]
mod tests {
    use super::{date, next_in_year, year_of};
    use crate::time::{DAY, HOUR, SECOND};

    #[test]
    fn days_of_the_calendar() {
        for (text, days) in [
            ("1970-01-01", Some(0)),
            ("1972-02-29", Some(789)),
            ("2000-02-29", Some(11_016)),
            ("2024-03-01", Some(19_783)),
            ("2026-12-31", Some(20_818)),
            ("2100-03-01", Some(47_541)),
            ("2400-02-29", Some(157_113)),
            ("9999-12-31", Some(2_932_896)),
            ("2100-02-29", None),
            ("2026-02-29", None),
            ("2026-04-31", None),
            ("2026-00-01", None),
            ("2026-01-00", None),
            ("1969-12-31", None),
            ("0000-01-01", None),
        ] {
            assert_eq!(date(text), days.map(|days| days * DAY), "{text}");
        }
    }

    #[test]
    fn times_and_zones() {
        for (text, ms) in [
            ("1970-01-01T01:00", Some(HOUR)),
            ("1970-01-01 00:00:60", Some(59 * SECOND)),
            ("1970-01-01T00:00:01.5", Some(1_500)),
            ("1970-01-01T00:00:01.123456789Z", Some(1_123)),
            ("1970-01-01T03:00+0200", Some(HOUR)),
            ("1970-01-01T03:00+02", Some(HOUR)),
            ("1970-01-01T00:00-01:00", Some(HOUR)),
            ("1970-01-01T00:00+01:00", None),
            ("1970-01-01T", None),
            ("1970-01-01T24:00", None),
            ("1970-01-01T00:60", None),
            ("1970-01-01T00:00:61", None),
            ("1970-01-01T00:00:01.", None),
            ("1970-01-01T00:00Zx", None),
            ("1970-01-01T00:00+", None),
            ("1 Jan 1970 02:00 +0100", Some(HOUR)),
            ("Thu, 1 jan 1970 01:00:00 UT", Some(HOUR)),
            ("Thu, 1 Jan 70 01:00:00 UT", None),
            ("Thu, 1 Jan 1970 01:00:00", None),
            ("Thu, 1 Jan 1970 01:00:00 GMT x", None),
            ("é970-01-01", None),
        ] {
            assert_eq!(date(text), ms, "{text}");
        }
    }

    #[test]
    fn the_next_time_in_a_year() {
        let new_year = 20_819 * DAY;
        assert_eq!((year_of(new_year - 1), year_of(new_year)), (Some(2026), Some(2027)));
        assert_eq!((year_of(0), year_of(u64::MAX)), (Some(1970), None));
        assert_eq!(next_in_year("12-31T00:00", new_year - DAY, 0), Some(new_year - DAY));
        assert_eq!(next_in_year("12-31T00:00", new_year - DAY + 1, 0), Some(new_year + 364 * DAY));
        assert_eq!(next_in_year("12-31T00:00", new_year - DAY + 1, 1), Some(new_year - DAY));
    }
}
