//! Client keys that the management API made or changed, as records: one for each, with the hash of
//! its key and never the key. Only what differs is written.

use policy::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::codec::Unreadable;
use super::kept_entities;
use super::tree::Tree;
use crate::settings::{KeyHash, StoredKey, StoredKeys};

/// A key as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    fields: Map<String, Json>,
    /// SHA-256 in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(default)]
    mask: String,
    #[serde(default)]
    created_at: Millis,
    #[serde(default)]
    updated_at: Millis,
}

/// Reads all of them.
pub(super) fn load(db: &sled::Db) -> Result<StoredKeys, sled::Error> {
    kept_entities::load(db, Tree::Keys, of_row)
}

/// What a record says.
pub(super) fn of_row(row: Row) -> Result<StoredKey, Unreadable> {
    let Row { fields, hash, mask, created_at, updated_at } = row;
    // A hash that is none must not fall back to the file's secret.
    let hash = match hash {
        Some(text) => Some(KeyHash { hash: from_hex(&text).ok_or(Unreadable::Hash)?, mask }),
        None => None,
    };
    Ok(StoredKey { fields, hash, created_at, updated_at })
}

/// Puts these in the place of what is there.
pub(super) fn replace(db: &sled::Db, keys: &StoredKeys) -> Result<(), sled::Error> {
    kept_entities::replace(db, Tree::Keys, keys, |key| Row {
        fields: key.fields.clone(),
        hash: key.hash.as_ref().map(|hash| to_hex(&hash.hash)),
        mask: key.hash.as_ref().map(|hash| hash.mask.clone()).unwrap_or_default(),
        created_at: key.created_at,
        updated_at: key.updated_at,
    })
}

fn to_hex(hash: &[u8; 32]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, at) in hash.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::settings::{KeyHash, Stored, StoredKey};
    use crate::storage::Tree;
    use crate::storage::database::tests::{Folder, opened};

    fn key(hash: Option<u8>) -> StoredKey {
        let fields = json!({"scopes": ["manage"]}).as_object().unwrap().clone();
        let hash = hash.map(|byte| KeyHash { hash: [byte; 32], mask: "sk-…abcd".into() });
        StoredKey { fields, hash, created_at: 1, updated_at: 2 }
    }

    fn stored(keys: &[(&str, Option<u8>)]) -> Stored {
        let keys = keys.iter().map(|(name, hash)| ((*name).to_owned(), key(*hash)));
        Stored { keys: keys.collect(), ..Stored::default() }
    }

    #[test]
    fn a_key_comes_back_by_its_hash_and_one_that_was_deleted_does_not() {
        let folder = Folder::new("kept-keys");
        let path = folder.0.join("store");
        let database = opened(&path);
        database.keep(&stored(&[("a key/of mine", Some(0xa5)), ("b", None), ("c", Some(1))])).unwrap();
        database.keep(&stored(&[("a key/of mine", Some(0xa5)), ("b", None)])).unwrap();
        drop(database);
        let database = opened(&path);
        assert_eq!(database.stored().unwrap(), stored(&[("a key/of mine", Some(0xa5)), ("b", None)]));
    }

    #[test]
    fn a_broken_hash_is_set_aside_and_never_stands_for_the_secret_of_the_file() {
        let folder = Folder::new("kept-keys-broken");
        let database = opened(&folder.0.join("store"));
        let letters = format!(r#"{{"v":1,"data":{{"fields":{{}},"hash":"{}"}}}}"#, "+1".repeat(32));
        let records: [(&[u8], &[u8]); 4] = [
            (b"short", br#"{"v":1,"data":{"fields":{},"hash":"abc"}}"#),
            (b"letters", letters.as_bytes()),
            (b"newer", br#"{"v":9,"data":{"fields":{}}}"#),
            (b"fine", br#"{"v":1,"data":{"fields":{}}}"#),
        ];
        let mut batch = sled::Batch::default();
        records.iter().for_each(|(key, value)| batch.insert(*key, *value));
        database.apply(Tree::Keys, batch).unwrap();
        assert_eq!(database.stored().unwrap().keys.keys().collect::<Vec<_>>(), ["fine"]);
        assert_eq!(database.records(Tree::Quarantine).unwrap().len(), 3);
    }
}
