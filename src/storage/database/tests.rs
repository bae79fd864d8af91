//! What tests of the store share.

use std::fs;
use std::path::PathBuf;

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
