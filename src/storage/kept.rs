//! What the management API has set, as records: one tree, one batch, all or nothing.
//!
//! A record's key says what it is: `setting:KEY`, or `protection:CONNECTION` for a connection
//! that an operator protects, whoever made it (flow 5.5). The whole tree is put in the place of the
//! old one at every change: it is small, and what a failed write left behind goes with it.

use super::codec::{self, Unreadable};
use super::database::quarantine;
use super::tree::Tree;
use crate::settings::Stored;

const SETTING: &str = "setting:";
const PROTECTION: &str = "protection:";

/// Reads all of it.
pub(super) fn load(db: &sled::Db) -> Result<Stored, sled::Error> {
    let mut stored = Stored::default();
    for entry in db.open_tree(Tree::Settings.name())?.iter() {
        let (key, value) = entry?;
        if let Err(error) = read(&key, &value, &mut stored) {
            quarantine(db, Tree::Settings, &key, &value, &error)?;
        }
    }
    Ok(stored)
}

pub(super) fn read(key: &[u8], value: &[u8], stored: &mut Stored) -> Result<(), Unreadable> {
    let key = std::str::from_utf8(key).map_err(|_| Unreadable::Key)?;
    if let Some(connection) = key.strip_prefix(PROTECTION) {
        if codec::open::<bool>(value)? {
            stored.protected.insert(connection.to_owned());
        }
        return Ok(());
    }
    let setting = key.strip_prefix(SETTING).ok_or(Unreadable::Key)?;
    stored.settings.insert(setting.to_owned(), codec::open(value)?);
    Ok(())
}

/// Puts this in the place of what is there.
pub(super) fn replace(db: &sled::Db, stored: &Stored) -> Result<(), sled::Error> {
    let tree = db.open_tree(Tree::Settings.name())?;
    let mut batch = sled::Batch::default();
    for key in tree.iter().keys() {
        batch.remove(key?);
    }
    let settings = stored.settings.iter().map(|(key, value)| (format!("{SETTING}{key}"), codec::seal(value)));
    let flags = stored.protected.iter().map(|id| (format!("{PROTECTION}{id}"), codec::seal(&true)));
    for (key, sealed) in settings.chain(flags) {
        batch.insert(key.as_bytes(), sealed.map_err(|error| sled::Error::Io(error.into()))?);
    }
    tree.apply_batch(batch)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::settings::Stored;
    use crate::storage::Tree;
    use crate::storage::database::tests::{Folder, opened};

    fn stored(settings: &[(&str, i64)]) -> Stored {
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), json!(value)));
        Stored { settings: settings.collect(), ..Stored::default() }
    }

    #[test]
    fn what_is_kept_is_there_after_the_next_opening_and_nothing_else() {
        let folder = Folder::new("kept");
        let path = folder.0.join("store");
        let database = opened(&path);
        assert!(database.stored().unwrap().is_empty());
        database.keep(&stored(&[("a.b", 1), ("a.c", 2)])).unwrap();
        database.keep(&stored(&[("a.c", 3), ("a.d", 4)])).unwrap();
        drop(database);
        let database = opened(&path);
        assert_eq!(database.stored().unwrap(), stored(&[("a.c", 3), ("a.d", 4)]));
        database.keep(&Stored::default()).unwrap();
        assert!(database.stored().unwrap().is_empty());
    }

    #[test]
    fn flow_5_5_flags_of_connections_are_kept_beside_the_settings() {
        let folder = Folder::new("kept-flags");
        let path = folder.0.join("store");
        let database = opened(&path);
        let mut before = stored(&[("a.b", 1)]);
        before.protected = ["c-1".to_owned(), "c-2".to_owned()].into();
        database.keep(&before).unwrap();
        assert!(!before.is_empty() && database.stored().unwrap() == before);
        before.protected.remove("c-1");
        database.keep(&before).unwrap();
        drop(database);
        assert_eq!(opened(&path).stored().unwrap(), before);
    }

    #[test]
    fn fc_060_an_unreadable_setting_is_set_aside_and_the_others_are_read() {
        let folder = Folder::new("kept-garbage");
        let path = folder.0.join("store");
        let database = opened(&path);
        database.keep(&stored(&[("a.b", 1)])).unwrap();
        let garbage: [(&[u8], &[u8]); 5] = [
            (b"protection:c", br#"{"v":1,"data":"yes"}"#),
            (b"setting:a.c", b"\xff no JSON"),
            (b"setting:a.d", br#"{"v":2,"data":1}"#),
            (b"other:a.e", br#"{"v":1,"data":1}"#),
            (b"\xff", br#"{"v":1,"data":1}"#),
        ];
        let mut batch = sled::Batch::default();
        garbage.iter().for_each(|(key, value)| batch.insert(*key, *value));
        database.apply(Tree::Settings, batch).unwrap();
        assert_eq!(database.stored().unwrap(), stored(&[("a.b", 1)]));
        let aside = database.records(Tree::Quarantine).unwrap();
        assert_eq!(aside.len(), garbage.len());
        assert!(aside.iter().all(|(key, _)| key.starts_with("settings/")), "{aside:?}");
        assert_eq!(database.records(Tree::Settings).unwrap().len(), 1, "moved, not copied");
    }
}
