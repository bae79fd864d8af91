//! What operators have changed, as records: one for each change, in the order of their numbers.
//!
//! A record's key is its number in twenty digits. Beyond so many records the oldest go.

use actix::{Handler, Message, ResponseFuture};

use super::actor::Store;
use super::codec::{self, Unreadable};
use super::database::{Database, quarantine};
use super::tree::Tree;
use crate::telemetry::{AuditRow, AuditRows, MOST_ROWS};

/// Reads the latest so many, the newest first, and those that are not written yet.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<Vec<AuditRow>, String>")]
pub struct ReadAudit(pub usize);

fn key(number: u64) -> String {
    format!("{number:020}")
}

pub(super) fn read(record: &[u8], value: &[u8]) -> Result<(u64, AuditRow), Unreadable> {
    let number = std::str::from_utf8(record).ok().and_then(|text| text.parse().ok());
    let number = number.filter(|number| key(*number).as_bytes() == record).ok_or(Unreadable::Key)?;
    Ok((number, codec::open(value)?))
}

impl Database {
    /// The latest so many. What cannot be read is moved to the quarantine tree.
    pub(super) fn latest_audit(&self, most: usize) -> Result<AuditRows, sled::Error> {
        self.with(|db| {
            let mut rows = AuditRows::new();
            for entry in db.open_tree(Tree::Audit.name())?.iter().rev() {
                if rows.len() == most {
                    break;
                }
                let (key, value) = entry?;
                match read(&key, &value) {
                    Ok((number, row)) => drop(rows.insert(number, row)),
                    Err(error) => quarantine(db, Tree::Audit, &key, &value, &error)?,
                }
            }
            Ok(rows)
        })
    }

    /// The number of the newest; 0: there is none.
    pub fn newest_audit(&self) -> Result<u64, sled::Error> {
        Ok(self.latest_audit(1)?.keys().next_back().copied().unwrap_or(0))
    }

    /// Adds these; the oldest make room.
    pub(super) fn keep_audit(&self, rows: &AuditRows) -> Result<(), sled::Error> {
        let Some(newest) = rows.keys().next_back() else { return Ok(()) };
        let first_kept = key(newest.saturating_sub(MOST_ROWS as u64 - 1));
        let mut batch = sled::Batch::default();
        for (number, row) in rows {
            let value = codec::seal(row).map_err(|error| sled::Error::Io(error.into()))?;
            batch.insert(key(*number).as_bytes(), value);
        }
        self.with(|db| {
            let tree = db.open_tree(Tree::Audit.name())?;
            for old in tree.range(..first_kept.as_bytes()).keys() {
                batch.remove(old?);
            }
            tree.apply_batch(batch)
        })
    }
}

impl Handler<ReadAudit> for Store {
    type Result = ResponseFuture<Result<Vec<AuditRow>, String>>;

    /// The disk may be slow: others must not wait for it.
    fn handle(&mut self, ReadAudit(most): ReadAudit, _: &mut Self::Context) -> Self::Result {
        let (database, waiting) = (self.database.clone(), self.dirty.audit.waiting());
        let read = tokio::task::spawn_blocking(move || {
            let mut rows = database.latest_audit(most).map_err(|error| error.to_string())?;
            rows.extend(waiting);
            Ok(rows.into_values().rev().take(most).collect())
        });
        Box::pin(async { read.await.unwrap_or_else(|error| Err(error.to_string())) })
    }
}

#[cfg(test)]
mod tests {
    use super::key;
    use crate::storage::database::tests::{Folder, opened};
    use crate::storage::{Database, Tree};
    use crate::telemetry::{AuditRow, AuditRows, MOST_ROWS};

    fn rows(numbers: std::ops::RangeInclusive<u64>) -> AuditRows {
        let row = |number: u64| AuditRow { at: number, action: "a.b".into(), ..AuditRow::default() };
        numbers.map(|number| (number, row(number))).collect()
    }

    #[test]
    fn rows_come_back_as_they_were_and_the_newest_are_read() {
        let folder = Folder::new("audit");
        let path = folder.0.join("store");
        let database = opened(&path);
        assert_eq!(database.newest_audit().unwrap(), 0);
        database.keep_audit(&AuditRows::new()).unwrap();
        database.keep_audit(&rows(9..=11)).unwrap();
        drop(database);
        let database = opened(&path);
        assert_eq!(database.newest_audit().unwrap(), 11, "by number, not by letters");
        assert_eq!(database.latest_audit(2).unwrap(), rows(10..=11));
        assert_eq!(database.latest_audit(9).unwrap(), rows(9..=11));
    }

    #[test]
    fn ten_thousand_are_kept_and_the_oldest_go() {
        let folder = Folder::new("audit-bound");
        let database = Database::open(&folder.0.join("store")).unwrap();
        let most = MOST_ROWS as u64;
        assert_eq!(most, 10_000);
        database.keep_audit(&rows(1..=most)).unwrap();
        let count = || database.records(Tree::Audit).unwrap().len();
        assert_eq!(count(), MOST_ROWS);
        database.keep_audit(&rows(most + 1..=most + 3)).unwrap();
        assert_eq!(count(), MOST_ROWS);
        assert_eq!(database.records(Tree::Audit).unwrap()[0].0, key(4));
    }

    #[test]
    fn fc_060_an_unreadable_row_is_set_aside_and_the_others_are_read() {
        let folder = Folder::new("audit-garbage");
        let database = Database::open(&folder.0.join("store")).unwrap();
        database.keep_audit(&rows(1..=2)).unwrap();
        let mut batch = sled::Batch::default();
        let good =
            r#"{"v":1,"data":{"at":1,"who":"w","action":"a","target":null,"before":null,"after":null}}"#;
        for (record, value) in [("3", good), ("zzz", good), (&*key(3), "no JSON"), (&*key(4), r#"{"v":9}"#)] {
            batch.insert(record, value);
        }
        database.apply(Tree::Audit, batch).unwrap();
        let verified = database.verify(None, &mut |_| {}).unwrap();
        let count = verified.iter().find(|count| count.tree == Tree::Audit.name()).unwrap();
        assert_eq!((count.good, count.bad), (2, 4));
        assert_eq!(database.newest_audit().unwrap(), 2);
        assert_eq!(database.latest_audit(9).unwrap(), rows(1..=2));
        assert_eq!(database.records(Tree::Quarantine).unwrap().len(), 4);
    }
}
