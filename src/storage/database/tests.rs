//! Rewriting the store, and a crash in the middle of it (FC-063).

use std::fs;
use std::path::PathBuf;

use super::{Database, Tree, beside};

/// A folder of a test's own, removed with it.
pub(in crate::storage) struct Folder(pub(in crate::storage) PathBuf);

impl Folder {
    pub(in crate::storage) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("switchtower-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn fc_063_a_rewrite_keeps_every_record() {
    let folder = Folder::new("rewrite");
    let path = folder.0.join("store");
    let database = Database::open(&path).unwrap();
    database.set_meta("name", b"value").unwrap();
    let database = database.rewrite().unwrap();
    assert_eq!(database.records(Tree::Meta).unwrap(), [("name".to_owned(), b"value".to_vec())]);
    assert!(!beside(&path, "new").exists() && !beside(&path, "old").exists());
}

#[test]
fn fc_063_a_crash_between_the_two_renames_loses_nothing() {
    let folder = Folder::new("renames");
    let path = folder.0.join("store");
    let database = Database::open(&path).unwrap();
    database.set_meta("name", b"value").unwrap();
    drop(database);
    fs::rename(&path, beside(&path, "old")).unwrap();
    fs::create_dir(beside(&path, "new")).unwrap();
    let database = Database::open(&path).unwrap();
    assert_eq!(database.meta("name").unwrap().as_deref(), Some(b"value".as_slice()));
}
