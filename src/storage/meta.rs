//! What was made at first start, as plain bytes: hashes of a token and a key, and a salt.

use super::codec::Unreadable;
use super::database::Database;
use super::tree::Tree;

/// Hash of the admin token that was made.
pub const ADMIN_TOKEN: &str = "admin_token";
/// Hash of the client key that was made.
pub const CLIENT_KEY: &str = "client_key";
/// Seasons fingerprints of credentials.
pub const SALT: &str = "salt";

impl Database {
    /// A value of the meta tree.
    pub fn meta(&self, key: &str) -> Result<Option<Vec<u8>>, sled::Error> {
        self.with(|db| Ok(db.open_tree(Tree::Meta.name())?.get(key)?.map(|value| value.to_vec())))
    }

    /// A hash of the meta tree; one that is none is like none.
    pub fn meta_hash(&self, key: &str) -> Result<Option<[u8; 32]>, sled::Error> {
        Ok(self.meta(key)?.and_then(|value| hash(&value)))
    }

    /// Sets a value of the meta tree, on disk when this returns.
    pub fn set_meta(&self, key: &str, value: &[u8]) -> Result<(), sled::Error> {
        self.with(|db| db.open_tree(Tree::Meta.name())?.insert(key, value))?;
        self.flush()
    }
}

fn hash(value: &[u8]) -> Option<[u8; 32]> {
    value.try_into().ok()
}

/// Whether a start could use it.
pub(super) fn check(key: &[u8], value: &[u8]) -> Result<(), Unreadable> {
    let is_hash = [ADMIN_TOKEN, CLIENT_KEY].iter().any(|name| name.as_bytes() == key);
    if is_hash && hash(value).is_none() { Err(Unreadable::Hash) } else { Ok(()) }
}
