//! The day's rows, and which of them wait to be written.
//!
//! Rows are sums of their whole day, so that writing one twice is writing it once: a store that
//! failed in the middle is simply told again. Only the newest day is held; a row of an earlier
//! one is kept until it is written and then read from the store.

use std::collections::{BTreeMap, HashMap};

use super::{Day, Entry, Tally, Who};
use crate::time::Millis;

/// Days that the store keeps, today besides.
pub const RETENTION_DAYS: u32 = 400;
/// Rows of one day. Clients choose the names of models: further ones share a row without a name.
pub const MOST_ROWS: usize = 100_000;
/// Longer names of models share that row too.
const LONGEST_MODEL: usize = 256;

#[derive(Clone, Debug, Default)]
struct Row {
    tally: Tally,
    waits: bool,
}

/// A row as it is to be written: the sums of its whole day.
pub type Written = (Day, Who, Tally);

/// The newest day's rows.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// How many it may hold.
    most: usize,
    day: Day,
    rows: HashMap<Who, Row>,
    /// Rows of the day that wait.
    waiting: Vec<Who>,
    /// Rows of earlier days that wait.
    late: Vec<Written>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self::of(MOST_ROWS)
    }
}

impl Ledger {
    /// A ledger of at most so many rows a day, and one without a model's name for the rest of each
    /// connection.
    pub fn of(most: usize) -> Self {
        let (rows, waiting, late) = (HashMap::new(), Vec::new(), Vec::new());
        Self { most, day: Day::default(), rows, waiting, late }
    }

    /// The newest day.
    pub fn day(&self) -> Day {
        self.day
    }

    /// Takes the rows of the day of `now` back from the store.
    pub fn restore(&mut self, rows: impl IntoIterator<Item = (Who, Tally)>, now: Millis) {
        self.turn(Day::of(now));
        for (who, tally) in rows {
            self.rows.entry(who).or_default().tally.add(&tally);
        }
    }

    /// Counts one request.
    pub fn record(&mut self, mut who: Who, entry: &Entry, now: Millis) {
        self.turn(Day::of(now));
        if who.model.as_ref().is_some_and(|model| model.as_str().len() > LONGEST_MODEL) {
            who.model = None;
        }
        let full = self.rows.len() >= self.most;
        if full && !self.rows.contains_key(&who) {
            who.model = None;
        }
        match self.rows.get_mut(&who) {
            Some(row) => {
                row.tally.count(entry);
                if !std::mem::replace(&mut row.waits, true) {
                    self.waiting.push(who);
                }
            }
            None => {
                let mut row = Row { waits: true, ..Row::default() };
                row.tally.count(entry);
                self.waiting.push(who.clone());
                self.rows.insert(who, row);
            }
        }
    }

    /// A new day begins. A clock that goes back counts on the day it left.
    fn turn(&mut self, day: Day) {
        if day <= self.day {
            return;
        }
        self.late = self.take();
        // A store that has failed for days must not fill the memory.
        let too_many = self.late.len().saturating_sub(self.most);
        self.late.drain(..too_many);
        self.day = day;
        self.rows.clear();
    }

    /// All that waits, as it is now.
    pub fn waiting(&self) -> impl Iterator<Item = Written> {
        let of_day = self.waiting.iter().filter_map(|who| {
            let row = self.rows.get(who)?;
            Some((self.day, who.clone(), row.tally))
        });
        self.late.iter().cloned().chain(of_day)
    }

    /// All that waits; it waits no longer.
    pub fn take(&mut self) -> Vec<Written> {
        let news = self.waiting().collect();
        self.late.clear();
        for who in self.waiting.drain(..) {
            if let Some(row) = self.rows.get_mut(&who) {
                row.waits = false;
            }
        }
        news
    }

    /// It could not be written and waits again, unless it grew meanwhile and waits as it is now.
    pub fn put_back(&mut self, news: Vec<Written>) {
        let newer = self.late.len();
        for (day, who, tally) in news {
            match self.rows.get_mut(&who) {
                Some(row) if day == self.day => {
                    if !std::mem::replace(&mut row.waits, true) {
                        self.waiting.push(who);
                    }
                }
                _ if self.late[..newer].iter().any(|(other, same, _)| (*other, same) == (day, &who)) => {}
                _ => self.late.push((day, who, tally)),
            }
        }
    }
}

/// What rows are added up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// The client's key.
    Key,
    /// The model.
    Model,
    /// The provider.
    Provider,
    /// The connection, with its provider.
    Connection,
    /// The day.
    Day,
}

impl GroupBy {
    /// All of them, by name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("key", Self::Key),
        ("model", Self::Model),
        ("provider", Self::Provider),
        ("connection", Self::Connection),
        ("day", Self::Day),
    ];

    fn of(self, day: Day, who: Who) -> (Option<Day>, Who) {
        let Who { key, provider, connection, model } = who;
        let nobody = Who::default();
        match self {
            Self::Key => (None, Who { key, ..nobody }),
            Self::Model => (None, Who { model, ..nobody }),
            Self::Provider => (None, Who { provider, ..nobody }),
            Self::Connection => (None, Who { provider, connection, ..nobody }),
            Self::Day => (Some(day), nobody),
        }
    }
}

/// Sums of many rows.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    by: Option<GroupBy>,
    sums: BTreeMap<(Option<Day>, Who), Tally>,
}

impl Groups {
    /// Nothing yet. Without `by` each row stays alone.
    pub fn new(by: Option<GroupBy>) -> Self {
        Self { by, sums: BTreeMap::new() }
    }

    /// Adds a row.
    pub fn add(&mut self, (day, who, tally): Written) {
        let group = match self.by {
            Some(by) => by.of(day, who),
            None => (Some(day), who),
        };
        self.sums.entry(group).or_default().add(&tally);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sums.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// The sums, by day, key, provider, connection and model.
    pub fn into_sums(self) -> impl Iterator<Item = ((Option<Day>, Who), Tally)> {
        self.sums.into_iter()
    }
}
