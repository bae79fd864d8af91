//! When a key may be used: one window of the day, on some days of the week, by a clock that is a
//! fixed offset from UTC. A window that ends before it begins goes on over midnight and belongs to
//! the day it began.

use crate::time::{DAY, MINUTE, Millis};

/// Minutes of a day.
pub const DAY_MIN: u16 = 1_440;

/// The hours of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// When it opens, minutes after midnight.
    pub from_min: u16,
    /// When it closes; the same as `from_min`: a day later.
    pub until_min: u16,
    /// The days that it opens on, Sunday first; none of them: every day.
    pub days: [bool; 7],
    /// How far its clock is ahead of UTC, minutes.
    pub offset_min: i16,
}

impl Schedule {
    /// Whether it is open at this instant; else when it opens.
    pub fn at(&self, now: Millis) -> Result<(), Millis> {
        let minute = MINUTE as i64;
        let offset = i64::from(self.offset_min) * minute;
        let local = i64::try_from(now).unwrap_or(i64::MAX / 2) + offset;
        let today = local.div_euclid(DAY as i64);
        // The window of yesterday may last until now; of eight days one is the next.
        for day in today - 1..=today + 7 {
            let opens = day * DAY as i64 + i64::from(self.from_min) * minute;
            let closes = opens + i64::from(self.length_min()) * minute;
            if self.is_on(day) && local < closes {
                let at = Millis::try_from(opens - offset).unwrap_or(0);
                return if opens <= local { Ok(()) } else { Err(at) };
            }
        }
        Ok(())
    }

    fn length_min(&self) -> u16 {
        match (self.until_min + DAY_MIN - self.from_min) % DAY_MIN {
            0 => DAY_MIN,
            length => length,
        }
    }

    /// `day`: since the epoch, which was a Thursday.
    fn is_on(&self, day: i64) -> bool {
        let of_week = (day + 4).rem_euclid(7);
        self.days == [false; 7] || self.days[of_week as usize]
    }
}
