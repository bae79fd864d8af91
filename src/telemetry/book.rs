//! The book of what requests took: written to by every worker, read by the store, which keeps it.
//!
//! One lock, held for the time of one look into a map: a request comes here once, at its end.

use std::sync::{Mutex, MutexGuard, PoisonError};

use policy::time::Millis;
use policy::usage::{Day, Entry, Ledger, Tally, Who, Written};

/// The day's ledger, shared.
#[derive(Debug, Default)]
pub struct Book(Mutex<Ledger>);

impl Book {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one request that is over.
    pub fn record(&self, who: Who, entry: &Entry, now: Millis) {
        self.ledger().record(who, entry, now);
    }

    /// Takes the rows of the day of `now` back from the store.
    pub fn restore(&self, rows: impl IntoIterator<Item = (Who, Tally)>, now: Millis) {
        self.ledger().restore(rows, now);
    }

    /// The newest day that it has rows of.
    pub fn day(&self) -> Day {
        self.ledger().day()
    }

    /// What waits to be written.
    pub fn waiting(&self) -> Vec<Written> {
        self.ledger().waiting().collect()
    }

    /// What waits to be written. What is not known to be on disk when the value goes waits again,
    /// also after a panic.
    pub fn take(&self) -> Taken<'_> {
        Taken { book: self, rows: self.ledger().take() }
    }
}

/// Rows that are being written.
pub struct Taken<'a> {
    book: &'a Book,
    /// The rows.
    pub rows: Vec<Written>,
}

impl Taken<'_> {
    /// They are on disk.
    pub fn done(mut self) {
        self.rows.clear();
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if !self.rows.is_empty() {
            self.book.ledger().put_back(std::mem::take(&mut self.rows));
        }
    }
}

#[cfg(test)]
mod tests {
    use policy::usage::{End, Entry, Source, Tokens, Who};

    use super::Book;

    #[test]
    fn what_is_not_known_to_be_written_waits_again() {
        let book = Book::default();
        let tokens = Tokens { input: 1, ..Tokens::default() };
        let entry = Entry { end: End::Complete, attempts: 1, source: Source::Reported, tokens };
        book.record(Who::default(), &entry, 1);
        drop(book.take());
        assert_eq!(book.waiting().len(), 1);
        book.take().done();
        assert_eq!(book.waiting(), []);
    }
}
