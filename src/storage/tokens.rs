//! Tokens of OAuth connections as records. They rotate, so what the config says is only where
//! they began. Secrets come here sealed; a record of a connection that is not configured now
//! stays, because its account is lost without it.

use std::collections::HashMap;

use actix::Message;
use policy::ids::ConnectionId;
use policy::token::Timetable;
use serde::{Deserialize, Serialize};

use super::codec::{self, Unreadable, is_id};
use super::database::quarantine;
use super::tree::Tree;

/// The newest tokens of one connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTokens {
    /// Tells the configured tokens that these descend from.
    pub origin: String,
    /// The access token, sealed.
    pub access: Option<String>,
    /// The refresh token, sealed.
    pub refresh: String,
    /// When they are renewed.
    #[serde(default)]
    pub times: Timetable,
}

/// What a sealed token of a connection is bound to; `what`: `access` or `refresh`.
pub fn token_record(connection: &ConnectionId, what: &str) -> String {
    format!("oauth/{connection}/{what}")
}

/// Stores the newest tokens of a connection; answers when they are on disk.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), String>")]
pub struct SaveTokens {
    /// Whose.
    pub connection: ConnectionId,
    /// What.
    pub tokens: StoredTokens,
}

/// Reads all of them. What cannot be read is moved to the quarantine tree.
pub(super) fn load(db: &sled::Db) -> Result<HashMap<ConnectionId, StoredTokens>, sled::Error> {
    let mut found = HashMap::new();
    for entry in db.open_tree(Tree::Tokens.name())?.iter() {
        let (key, value) = entry?;
        match read(&key, &value) {
            Ok((connection, tokens)) => drop(found.insert(connection, tokens)),
            Err(error) => quarantine(db, Tree::Tokens, &key, &value, &error)?,
        }
    }
    Ok(found)
}

pub(super) fn read(key: &[u8], value: &[u8]) -> Result<(ConnectionId, StoredTokens), Unreadable> {
    let key = std::str::from_utf8(key).ok().filter(|key| is_id(key)).ok_or(Unreadable::Key)?;
    Ok((key.into(), codec::open(value)?))
}

/// Puts one in the place of the older one.
pub(super) fn save(db: &sled::Db, saved: &SaveTokens) -> Result<(), sled::Error> {
    let value = codec::seal(&saved.tokens).map_err(|error| sled::Error::Io(error.into()))?;
    db.open_tree(Tree::Tokens.name())?.insert(saved.connection.as_str(), value).map(drop)
}

#[cfg(test)]
mod tests {
    use policy::token::Timetable;

    use super::{SaveTokens, StoredTokens};
    use crate::storage::database::tests::{Folder, opened};
    use crate::storage::{Database, Tree};

    fn tokens(refresh: &str) -> StoredTokens {
        let times = Timetable::configured(Some(7));
        StoredTokens { origin: "o".into(), access: Some("a".into()), refresh: refresh.into(), times }
    }

    fn save(database: &Database, connection: &str, refresh: &str) {
        let saved = SaveTokens { connection: connection.into(), tokens: tokens(refresh) };
        database.save_tokens(&saved).unwrap();
    }

    #[test]
    fn the_newest_of_each_connection_is_there_after_the_next_opening() {
        let folder = Folder::new("tokens");
        let path = folder.0.join("store");
        let database = opened(&path);
        save(&database, "a", "r1");
        save(&database, "b", "r1");
        save(&database, "a", "r2");
        drop(database);
        let found = opened(&path).tokens().unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((&found["a"], &found["b"]), (&tokens("r2"), &tokens("r1")));
    }

    #[test]
    fn fc_060_an_unreadable_record_is_set_aside_and_the_others_are_read() {
        let folder = Folder::new("tokens-garbage");
        let database = Database::open(&folder.0.join("store")).unwrap();
        save(&database, "a", "r1");
        let mut batch = sled::Batch::default();
        batch.insert("b", "no JSON");
        batch.insert("c", r#"{"v":1,"data":{"origin":"o"}}"#);
        batch.insert("not an id", r#"{"v":1,"data":{"origin":"o","access":null,"refresh":"r"}}"#);
        database.apply(Tree::Tokens, batch).unwrap();
        assert_eq!(database.tokens().unwrap().len(), 1);
        assert_eq!(database.records(Tree::Quarantine).unwrap().len(), 3);
        assert_eq!(database.records(Tree::Tokens).unwrap().len(), 1);
    }
}
