//! Days of the calendar, UTC: what usage is kept by.

use std::fmt;
use std::str::FromStr;

use crate::time::{DAY, Millis};

/// A day, counted from the epoch; written `2026-11-30`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day(u32);

/// Days from 0000-03-01 to the epoch, and in 400 years.
const TO_EPOCH: u32 = 719_468;
const ERA: u32 = 146_097;

impl Day {
    /// The day of an instant.
    pub fn of(now: Millis) -> Self {
        Self(u32::try_from(now / DAY).unwrap_or(u32::MAX - TO_EPOCH).min(u32::MAX - TO_EPOCH))
    }

    /// So many days earlier, at most back to the epoch.
    pub fn back(self, days: u32) -> Self {
        Self(self.0.saturating_sub(days))
    }

    /// The day after it.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Days since Monday.
    pub fn of_week(self) -> u32 {
        // The epoch was a Thursday.
        (self.0 + 3) % 7
    }

    /// Days since the first of its month.
    pub fn of_month(self) -> u32 {
        self.civil().2 - 1
    }

    /// Its midnight.
    pub fn begins(self) -> Millis {
        Millis::from(self.0) * DAY
    }

    /// Year, month and day of the month; years begin in March, so that a leap day comes last.
    fn civil(self) -> (u32, u32, u32) {
        let days = self.0 + TO_EPOCH;
        let of_era = days % ERA;
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let (month, late) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        (days / ERA * 400 + year + late, month, day)
    }

    fn of_civil(year: u32, month: u32, day: u32) -> Option<Self> {
        let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
        let of_year = (153 * month + 2) / 5 + day.checked_sub(1)?;
        let of_era = year % 400 * 365 + year % 400 / 4 - year % 400 / 100 + of_year;
        Some(Self((year / 400 * ERA + of_era).checked_sub(TO_EPOCH)?))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// Not a day of the calendar, or one before the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoDay;

impl FromStr for Day {
    type Err = NoDay;

    fn from_str(text: &str) -> Result<Self, NoDay> {
        let part = |at: std::ops::Range<usize>| text.get(at).and_then(|part| part.parse::<u32>().ok());
        let read = || {
            let (year, month, day) = (part(0..4)?, part(5..7)?, part(8..10)?);
            (1..=12).contains(&month).then(|| Self::of_civil(year, month, day))?
        };
        // Written again it is the same only if it was one.
        read().filter(|day| day.to_string() == text).ok_or(NoDay)
    }
}

#[cfg(test)]
mod tests {
    use super::Day;
    use crate::time::DAY;

    #[test]
    fn days_are_those_of_the_calendar() {
        let rows = [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_787, "2026-11-30"),
            (20_819, "2027-01-01"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ];
        for (number, text) in rows {
            let day = Day::of(number * DAY + DAY - 1);
            assert_eq!(day.to_string(), text);
            assert_eq!(text.parse(), Ok(day));
        }
        for number in 0..80_000 {
            let day = Day::of(number * DAY);
            assert_eq!(day.to_string().parse(), Ok(day));
        }
        assert!(Day::of(u64::MAX) > Day::of(DAY * 1_000_000));
    }

    #[test]
    fn what_is_no_day_is_none() {
        for text in ["", "2026-2-03", "2026-02-30", "2026-13-01", "2026-00-01", "2026-01-00", "1969-12-31"] {
            assert!(text.parse::<Day>().is_err(), "{text}");
        }
        for text in
            ["2100-02-29", "2026-11-30T00:00:00Z", "+026-11-30", "2026/11/30", "é026-11-30", "9999999999"]
        {
            assert!(text.parse::<Day>().is_err(), "{text}");
        }
    }
}
