//! Money by day, week and month of the calendar (UTC), as the usage ledger and the prices of the
//! models say. What is still running is not in it yet.

use std::collections::BTreeMap;

use crate::time::Millis;
use crate::usage::Day;

/// Days that a window can reach back, today besides.
const LONGEST: u32 = 31;

/// A limit of money.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// US dollars.
    pub limit_usd: f64,
    /// In which time.
    pub window: BudgetWindow,
}

/// A window of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetWindow {
    /// From midnight to midnight.
    Day,
    /// From Monday to Sunday.
    Week,
    /// From the first to the last.
    Month,
}

impl BudgetWindow {
    /// All of them, by name.
    pub const ALL: [(&'static str, Self); 3] =
        [("day", Self::Day), ("week", Self::Week), ("month", Self::Month)];

    /// The day that it began.
    pub fn since(self, now: Millis) -> Day {
        let today = Day::of(now);
        match self {
            Self::Day => today,
            Self::Week => today.back(today.of_week()),
            Self::Month => today.back(today.of_month()),
        }
    }

    /// When it ends.
    pub fn ends(self, now: Millis) -> Millis {
        match self {
            Self::Day => Day::of(now).next().begins(),
            Self::Week => self.since(now).begins() + 7 * crate::time::DAY,
            // 31 days after a first lies a day of the next month.
            Self::Month => Self::Month.since((self.since(now).begins()) + 31 * crate::time::DAY).begins(),
        }
    }
}

/// What a key has cost, by day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent(BTreeMap<Day, f64>);

impl Spent {
    /// Adds to a day; what is too old for every window goes.
    pub fn add(&mut self, day: Day, usd: f64) {
        if usd > 0.0 && usd.is_finite() {
            *self.0.entry(day).or_default() += usd;
        }
        if let Some((newest, _)) = self.0.last_key_value() {
            self.0 = self.0.split_off(&newest.back(LONGEST));
        }
    }

    /// What was spent in the window of this instant.
    pub fn of(&self, window: BudgetWindow, now: Millis) -> f64 {
        self.0.range(window.since(now)..=Day::of(now)).map(|(_, usd)| usd).sum()
    }

    /// The first day that any window can reach.
    pub fn horizon(now: Millis) -> Day {
        Day::of(now).back(LONGEST)
    }

    /// How long until none of the budgets is spent; `None`: none is.
    pub(super) fn wait(&self, budgets: &[Budget], now: Millis) -> Option<Millis> {
        let spent = budgets.iter().filter(|budget| self.of(budget.window, now) >= budget.limit_usd);
        spent.map(|budget| budget.window.ends(now) - now).max()
    }
}
