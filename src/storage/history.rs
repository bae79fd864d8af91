//! What requests took, as records: one for each day, client key and target, in the order of days.
//!
//! A record's key is `DAY/["KEY","PROVIDER","CONNECTION","MODEL"]`, null for what there is none of:
//! keys and models may be called anything. A record holds the sums of its day.

use std::collections::HashMap;

use actix::{Handler, Message, ResponseFuture};
use policy::usage::{Day, GroupBy, Groups, RETENTION_DAYS, Tally, Who, Written};

use super::actor::Store;
use super::codec::{self, Unreadable};
use super::database::{Database, quarantine};
use super::tree::Tree;

/// Reads rows of these days, the last one included, and what is not written yet.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<Groups, Unread>")]
pub struct ReadUsage {
    /// The first day.
    pub from: Day,
    /// The last day.
    pub to: Day,
    /// What they are added up by.
    pub by: Option<GroupBy>,
    /// More groups are refused.
    pub most: usize,
}

/// Why there is no history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// There are more groups than wanted.
    TooMany,
    /// The store cannot be read.
    Store(String),
}

type Parts<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>, Option<&'a str>);

fn key(day: Day, who: &Who) -> String {
    let parts: Parts<'_> = (
        who.key.as_deref(),
        who.provider.as_ref().map(|provider| provider.as_str()),
        who.connection.as_ref().map(|connection| connection.as_str()),
        who.model.as_ref().map(|model| model.as_str()),
    );
    let parts = serde_json::to_string(&parts).expect("texts can be written as JSON");
    format!("{day}/{parts}")
}

pub(super) fn read(key: &[u8], value: &[u8]) -> Result<(Who, Tally), Unreadable> {
    type Owned = (Option<String>, Option<String>, Option<String>, Option<String>);
    let key = std::str::from_utf8(key).map_err(|_| Unreadable::Key)?;
    let (day, parts) = key.split_once('/').ok_or(Unreadable::Key)?;
    day.parse::<Day>().map_err(|_| Unreadable::Key)?;
    let (key, provider, connection, model) =
        serde_json::from_str::<Owned>(parts).map_err(|_| Unreadable::Key)?;
    let who = Who {
        key: key.map(Into::into),
        provider: provider.map(Into::into),
        connection: connection.map(Into::into),
        model: model.map(Into::into),
    };
    Ok((who, codec::open(value)?))
}

impl Database {
    /// The rows of a day. What cannot be read is moved to the quarantine tree.
    pub fn usage_of(&self, day: Day) -> Result<Vec<(Who, Tally)>, sled::Error> {
        self.with(|db| {
            let mut rows = Vec::new();
            // A digit follows the slash.
            for entry in db.open_tree(Tree::History.name())?.range(format!("{day}/")..format!("{day}0")) {
                let (key, value) = entry?;
                match read(&key, &value) {
                    Ok(row) => rows.push(row),
                    Err(error) => quarantine(db, Tree::History, &key, &value, &error)?,
                }
            }
            Ok(rows)
        })
    }

    /// Puts these in the place of the older ones.
    pub(super) fn keep_usage(&self, rows: &[Written]) -> Result<(), sled::Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut batch = sled::Batch::default();
        for (day, who, tally) in rows {
            let value = codec::seal(tally).map_err(|error| sled::Error::Io(error.into()))?;
            batch.insert(key(*day, who).as_bytes(), value);
        }
        self.apply(Tree::History, batch)
    }

    /// Drops what is older than is kept on this day.
    pub(super) fn drop_usage(&self, today: Day) -> Result<(), sled::Error> {
        self.with(|db| {
            let tree = db.open_tree(Tree::History.name())?;
            let mut batch = sled::Batch::default();
            for key in tree.range(..today.back(RETENTION_DAYS).to_string()).keys() {
                batch.remove(key?);
            }
            tree.apply_batch(batch)
        })
    }

    /// The store is free for others between two days.
    fn history(&self, asked: ReadUsage, waiting: Vec<Written>) -> Result<Groups, Unread> {
        let mut waiting: HashMap<(Day, Who), Tally> =
            waiting.into_iter().map(|(day, who, tally)| ((day, who), tally)).collect();
        let mut groups = Groups::new(asked.by);
        let mut day = asked.from;
        while day <= asked.to {
            for (who, tally) in self.usage_of(day).map_err(|error| Unread::Store(error.to_string()))? {
                let place = (day, who);
                let tally = waiting.remove(&place).unwrap_or(tally);
                groups.add((day, place.1, tally));
            }
            if groups.len() > asked.most {
                return Err(Unread::TooMany);
            }
            day = day.next();
        }
        let asked_for = |day: Day| (asked.from..=asked.to).contains(&day);
        for ((day, who), tally) in waiting.into_iter().filter(|((day, _), _)| asked_for(*day)) {
            groups.add((day, who, tally));
        }
        if groups.len() > asked.most { Err(Unread::TooMany) } else { Ok(groups) }
    }
}

impl Handler<ReadUsage> for Store {
    type Result = ResponseFuture<Result<Groups, Unread>>;

    /// A year of many keys takes a while: others must not wait for it.
    fn handle(&mut self, asked: ReadUsage, _: &mut Self::Context) -> Self::Result {
        let (database, waiting) = (self.database.clone(), self.dirty.usage.waiting());
        let read = tokio::task::spawn_blocking(move || database.history(asked, waiting));
        Box::pin(async { read.await.unwrap_or_else(|error| Err(Unread::Store(error.to_string()))) })
    }
}

#[cfg(test)]
mod tests {
    use policy::usage::{Day, GroupBy, Tally, Tokens, Who, Written};

    use super::{ReadUsage, Unread};
    use crate::storage::database::tests::{Folder, opened};
    use crate::storage::{Database, Tree};

    fn row(day: &str, key: &str, model: &str, input: u64) -> Written {
        let who = Who {
            key: (!key.is_empty()).then(|| key.into()),
            provider: Some("p".into()),
            connection: Some("p-1".into()),
            model: Some(model.into()),
        };
        let tokens = Tokens { input, ..Tokens::default() };
        (day.parse().unwrap(), who, Tally { requests: 1, tokens, ..Tally::default() })
    }

    fn asked(from: &str, to: &str, by: Option<GroupBy>) -> ReadUsage {
        ReadUsage { from: from.parse().unwrap(), to: to.parse().unwrap(), by, most: 100 }
    }

    fn inputs(database: &Database, asked: ReadUsage, waiting: Vec<Written>) -> Vec<u64> {
        let groups = database.history(asked, waiting).unwrap();
        groups.into_sums().map(|(_, tally)| tally.tokens.input).collect()
    }

    #[test]
    fn rows_come_back_as_they_were_whatever_keys_and_models_are_called() {
        let folder = Folder::new("history");
        let path = folder.0.join("store");
        let database = opened(&path);
        let rows = [
            row("2026-11-29", "k", "m", 1),
            row("2026-11-30", "k/\"[,é", "a/b\n", 2),
            row("2026-11-30", "", "m", 4),
            row("2026-12-01", "k", "m", 8),
        ];
        database.keep_usage(&rows).unwrap();
        database.keep_usage(&[row("2026-12-01", "k", "m", 9)]).unwrap();
        drop(database);
        let database = opened(&path);
        let of_day: Vec<_> = database.usage_of("2026-11-30".parse().unwrap()).unwrap();
        let expected = [&rows[1], &rows[2]].map(|(_, who, tally)| (who.clone(), *tally));
        assert!(expected.iter().all(|row| of_day.contains(row)) && of_day.len() == 2, "{of_day:?}");
        assert_eq!(
            inputs(&database, asked("2026-11-29", "2026-12-01", Some(GroupBy::Day)), vec![]),
            [1, 6, 9]
        );
        assert_eq!(inputs(&database, asked("2026-11-30", "2026-11-30", None), vec![]).len(), 2);
        assert!(inputs(&database, asked("2026-12-02", "2026-11-01", None), vec![]).is_empty());
    }

    #[test]
    fn what_waits_takes_the_place_of_what_was_written() {
        let folder = Folder::new("history-waiting");
        let database = Database::open(&folder.0.join("store")).unwrap();
        database.keep_usage(&[row("2026-11-30", "k", "m", 1), row("2026-11-30", "l", "m", 2)]).unwrap();
        let waiting = || {
            vec![
                row("2026-11-30", "k", "m", 10),
                row("2026-11-30", "n", "m", 20),
                row("2026-12-01", "k", "m", 40),
            ]
        };
        let by_key = |to| asked("2026-11-30", to, Some(GroupBy::Key));
        assert_eq!(inputs(&database, by_key("2026-11-30"), waiting()), [10, 2, 20]);
        assert_eq!(inputs(&database, by_key("2026-12-01"), waiting()), [50, 2, 20]);
        let few = ReadUsage { most: 2, ..by_key("2026-12-01") };
        assert_eq!(database.history(few, waiting()).unwrap_err(), Unread::TooMany);
    }

    #[test]
    fn days_older_than_the_retention_are_dropped() {
        let folder = Folder::new("history-old");
        let database = Database::open(&folder.0.join("store")).unwrap();
        let rows =
            [row("2025-10-25", "k", "m", 1), row("2025-10-26", "k", "m", 2), row("2026-11-30", "k", "m", 4)];
        database.keep_usage(&rows).unwrap();
        database.drop_usage("2026-11-30".parse().unwrap()).unwrap();
        assert_eq!(inputs(&database, asked("2025-01-01", "2026-12-01", Some(GroupBy::Day)), vec![]), [2, 4]);
    }

    #[test]
    fn fc_060_an_unreadable_row_is_set_aside_and_the_others_are_read() {
        let folder = Folder::new("history-garbage");
        let database = Database::open(&folder.0.join("store")).unwrap();
        database.keep_usage(&[row("2026-11-30", "k", "m", 1)]).unwrap();
        let mut batch = sled::Batch::default();
        batch.insert("2026-11-30/x", r#"{"v":1,"data":{}}"#);
        batch.insert(r#"2026-11-30/["k","p","p-1","n"]"#, "no JSON");
        batch.insert(r#"2026-11-30/["k","p","p-1","o"]"#, r#"{"v":9,"data":{}}"#);
        database.apply(Tree::History, batch).unwrap();
        assert_eq!(inputs(&database, asked("2026-11-30", "2026-11-30", None), vec![]), [1]);
        assert_eq!(database.records(Tree::Quarantine).unwrap().len(), 3);
        let day: Day = "2026-11-30".parse().unwrap();
        assert_eq!(database.usage_of(day).unwrap().len(), 1);
    }
}
