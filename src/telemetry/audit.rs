//! What operators have changed: told by the management API, kept by the store (contract 8).
//!
//! A row has a number, and numbers go on where the store's end: the order is that of the changes,
//! whatever the clock does. Nobody waits for the disk here; what the store has not written yet is
//! read from here, and if it cannot write, the oldest rows go.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use policy::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Rows that are kept, here and on disk.
pub const MOST_ROWS: usize = 10_000;

/// Rows by number.
pub type AuditRows = BTreeMap<u64, AuditRow>;

/// One change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditRow {
    /// When it was done, epoch ms.
    pub at: Millis,
    /// `admin`, or `key NAME`.
    pub who: String,
    /// What was done: `NOUN.VERB`.
    pub action: String,
    /// To whom; `None`: to no one of them.
    pub target: Option<String>,
    /// What it was like, of what changed; null: it was not there.
    pub before: Value,
    /// What it is like; null: it is gone.
    pub after: Value,
}

#[derive(Debug, Default)]
struct Rows {
    newest: u64,
    waiting: AuditRows,
}

impl Rows {
    fn trim(&mut self) {
        while self.waiting.len() > MOST_ROWS {
            self.waiting.pop_first();
        }
    }
}

/// What waits to be written.
#[derive(Debug, Default)]
pub struct AuditLog(Mutex<Rows>);

impl AuditLog {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers go on behind this one.
    pub fn go_on(&self, newest: u64) {
        self.rows().newest = newest;
    }

    /// Adds the newest.
    pub fn add(&self, row: AuditRow) {
        let mut rows = self.rows();
        rows.newest += 1;
        let number = rows.newest;
        rows.waiting.insert(number, row);
        rows.trim();
    }

    /// What waits to be written.
    pub fn waiting(&self) -> AuditRows {
        self.rows().waiting.clone()
    }

    /// What waits to be written. What is not known to be on disk when the value goes waits again,
    /// also after a panic.
    pub fn take(&self) -> Unwritten<'_> {
        Unwritten { log: self, rows: std::mem::take(&mut self.rows().waiting) }
    }
}

/// Rows that are being written.
pub struct Unwritten<'a> {
    log: &'a AuditLog,
    /// The rows.
    pub rows: AuditRows,
}

impl Unwritten<'_> {
    /// They are on disk.
    pub fn done(mut self) {
        self.rows.clear();
    }
}

impl Drop for Unwritten<'_> {
    fn drop(&mut self) {
        let mut rows = self.log.rows();
        rows.waiting.append(&mut self.rows);
        rows.trim();
    }
}

#[cfg(test)]
mod tests {
    use super::{AuditLog, AuditRow, MOST_ROWS};

    fn row(action: &str) -> AuditRow {
        AuditRow { action: action.into(), ..AuditRow::default() }
    }

    #[test]
    fn what_is_not_known_to_be_written_waits_again_and_numbers_go_on() {
        let log = AuditLog::default();
        log.go_on(41);
        log.add(row("a"));
        let taken = log.take();
        log.add(row("b"));
        drop(taken);
        let waiting: Vec<_> = log.waiting().into_iter().map(|(number, row)| (number, row.action)).collect();
        assert_eq!(waiting, [(42, "a".to_owned()), (43, "b".to_owned())]);
        log.take().done();
        assert!(log.waiting().is_empty());
        log.add(row("c"));
        assert_eq!(log.waiting().keys().copied().collect::<Vec<_>>(), [44]);
    }

    #[test]
    fn the_oldest_go_when_nothing_can_be_written() {
        let log = AuditLog::default();
        (0..MOST_ROWS).for_each(|_| log.add(row("old")));
        let taken = log.take();
        log.add(row("new"));
        drop(taken);
        log.add(row("newest"));
        let waiting = log.waiting();
        let end = MOST_ROWS as u64;
        assert_eq!(waiting.len(), MOST_ROWS);
        assert_eq!((waiting.keys().next(), waiting.keys().next_back()), (Some(&3), Some(&(end + 2))));
    }
}
