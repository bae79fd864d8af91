//! What tests of the store share.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{Database, LETTING_GO, OpenError, Tree};

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

/// Opens a store. Whoever had it open last in this process lets go of it a moment later: sled's
/// threads do.
pub(in crate::storage) fn opened(path: &Path) -> Database {
    let since = Instant::now();
    loop {
        match Database::open(path) {
            Err(OpenError::Locked(_)) if since.elapsed() < LETTING_GO => std::thread::yield_now(),
            opened => return opened.unwrap(),
        }
    }
}

/// A run that has nothing to write never flushes.
#[test]
fn fc_060_what_a_start_sets_aside_is_so_on_disk() {
    let folder = Folder::new("set-aside");
    let path = folder.0.join("store");
    let database = Database::open(&path).unwrap();
    let mut batch = sled::Batch::default();
    batch.insert("no id", "no JSON");
    database.apply(Tree::Connections, batch).unwrap();
    database.flush().unwrap();
    database.load().unwrap();
    // As it is on disk now, without what closing would still write.
    let copy = folder.0.join("copy");
    fs::create_dir_all(copy.join("blobs")).unwrap();
    for name in ["db", "conf"] {
        fs::copy(path.join(name), copy.join(name)).unwrap();
    }
    let copy = Database::open(&copy).unwrap();
    assert!(copy.records(Tree::Connections).unwrap().is_empty());
    assert_eq!(copy.records(Tree::Quarantine).unwrap().len(), 1);
}
