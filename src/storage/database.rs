//! The database on disk: trees, opening, rewriting, quarantine.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use actors::router::family::Restored;
use policy::ids::ConnectionId;

use super::codec::{self, Record, Unreadable};
use super::tokens::{self, SaveTokens, StoredTokens};
use super::{kept, kept_connections, kept_entities, kept_keys, kept_providers};
use crate::settings::Stored;

/// Above this size, and `WASTE` times its live data, the store is rewritten at start.
const REWRITE_ABOVE: u64 = 64 * 1024 * 1024;
const WASTE: u64 = 8;
/// Snapshots are small and few: a larger cache would only be memory unused.
const CACHE_BYTES: u64 = 4 * 1024 * 1024;

/// Trees, named as the guide names its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    /// Breakers by provider.
    Breakers,
    /// Connections by id.
    Connections,
    /// Lockouts by id.
    Lockouts,
    /// What the management API has set.
    Settings,
    /// Connections that the management API made or changed.
    ProviderConnections,
    /// Providers that the management API made or changed.
    Providers,
    /// Client keys that the management API made or changed.
    Keys,
    /// Combos that the management API made or changed.
    Combos,
    /// Patterns of models that are a combo's, likewise.
    Mappings,
    /// Other names of models, likewise.
    Aliases,
    /// Pools that the management API made.
    Pools,
    /// What keys have used of pools, by pool, time and key.
    Usage,
    /// The newest lease of each owner, by the owner's hash.
    Leases,
    /// Which account each session is tied to.
    Pins,
    /// Who served each combo last.
    LastGood,
    /// Summaries for next accounts, sealed.
    Handoffs,
    /// What requests took, by day, key and who answered.
    History,
    /// Tokens of OAuth connections by id.
    Tokens,
    /// Hashes of what was made at first start.
    Meta,
    /// Records that could not be read.
    Quarantine,
}

impl Tree {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::Breakers,
        Self::Connections,
        Self::Lockouts,
        Self::Settings,
        Self::ProviderConnections,
        Self::Providers,
        Self::Keys,
        Self::Combos,
        Self::Mappings,
        Self::Aliases,
        Self::Pools,
        Self::Usage,
        Self::Leases,
        Self::Pins,
        Self::LastGood,
        Self::Handoffs,
        Self::History,
        Self::Tokens,
        Self::Meta,
        Self::Quarantine,
    ];

    /// The name on disk.
    pub fn name(self) -> &'static str {
        match self {
            Self::Breakers => "domain_circuit_breakers",
            Self::Connections => "connections",
            Self::Lockouts => "model_lockouts",
            Self::Settings => "settings",
            Self::ProviderConnections => "provider_connections",
            Self::Providers => "provider_nodes",
            Self::Keys => "api_keys",
            Self::Combos => "combos",
            Self::Mappings => "model_combo_mappings",
            Self::Aliases => "model_aliases",
            Self::Pools => "quota_pools",
            Self::Usage => "quota_consumption",
            Self::Leases => "session_leases",
            Self::Pins => "pins",
            Self::LastGood => "last_good",
            Self::Handoffs => "handoffs",
            Self::History => "usage_history",
            Self::Tokens => "oauth_tokens",
            Self::Meta => "meta",
            Self::Quarantine => "quarantine",
        }
    }

    /// Whether its values are snapshots of owners.
    pub fn holds_snapshots(self) -> bool {
        matches!(
            self,
            Self::Breakers
                | Self::Connections
                | Self::Lockouts
                | Self::Usage
                | Self::Leases
                | Self::Pins
                | Self::LastGood
                | Self::Handoffs
        )
    }
}

/// Why the store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error(
        "the store {} is in use by another switchtower; stop that one, or give this one another `store.path`",
        .0.display()
    )]
    Locked(PathBuf),
    /// The disk, the rights, or the files themselves.
    #[error("the store {} cannot be opened: {}; check the folder's rights, or move it away to start empty", .0.display(), .1)]
    Broken(PathBuf, sled::Error),
    /// It grew and could not be rewritten.
    #[error("the store {} could not be rewritten: {}", .0.display(), .1)]
    Rewrite(PathBuf, io::Error),
}

/// The open database.
#[derive(Clone, Debug)]
pub struct Database {
    /// None while it cannot be opened again after a failed write.
    db: Arc<Mutex<Option<sled::Db>>>,
    path: PathBuf,
}

fn config(path: &Path) -> sled::Config {
    sled::Config::new().path(path).cache_capacity(CACHE_BYTES).flush_every_ms(None)
}

fn open(path: &Path) -> Result<sled::Db, OpenError> {
    config(path).open().map_err(|error| match &error {
        sled::Error::Io(io) if is_lock(io) => OpenError::Locked(path.to_owned()),
        _ => OpenError::Broken(path.to_owned(), error),
    })
}

/// sled tells a held lock only in words.
fn is_lock(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.to_string().contains("could not acquire lock")
}

impl Database {
    /// Opens the store, and rewrites it first if it is mostly waste (FC-063).
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        finish_rewrite(path).map_err(|error| OpenError::Rewrite(path.to_owned(), error))?;
        let database = Self::of(open(path)?, path);
        if !database.is_wasteful() {
            return Ok(database);
        }
        database.rewrite()
    }

    fn of(db: sled::Db, path: &Path) -> Self {
        Self { db: Arc::new(Mutex::new(Some(db))), path: path.to_owned() }
    }

    /// Does something with the database, which is opened again if a failure closed it.
    pub(super) fn with<T>(
        &self,
        work: impl FnOnce(&sled::Db) -> Result<T, sled::Error>,
    ) -> Result<T, sled::Error> {
        let mut db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        let db = match &mut *db {
            Some(db) => db,
            closed => closed.insert(config(&self.path).open()?),
        };
        work(db)
    }

    /// After a failed write: sled answers with that failure for as long as it is open (FC-120). At once,
    /// because a closed store is locked by nobody; if it fails, the next use tries again.
    pub(super) fn reopen(&self) {
        let mut db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        *db = None;
        *db = config(&self.path).open().ok();
    }

    fn is_wasteful(&self) -> bool {
        let size = self.size();
        size > REWRITE_ABOVE && size > self.live_bytes().saturating_mul(WASTE)
    }

    /// Bytes on disk.
    pub fn size(&self) -> u64 {
        self.with(|db| db.size_on_disk()).unwrap_or(0)
    }

    /// Bytes of keys and values.
    pub fn live_bytes(&self) -> u64 {
        let count = |db: &sled::Db| {
            let all = Tree::ALL.into_iter().filter_map(|tree| db.open_tree(tree.name()).ok());
            let records = all.flat_map(|tree| tree.iter().flatten());
            Ok(records.map(|(key, value)| (key.len() + value.len()) as u64).sum())
        };
        self.with(count).unwrap_or(0)
    }

    /// Writes all live records into a fresh store and puts it in the old one's place.
    pub fn rewrite(self) -> Result<Self, OpenError> {
        let path = self.path.clone();
        let before = self.size();
        let fresh = beside(&path, "new");
        let failed = |error: sled::Error| OpenError::Broken(path.clone(), error);
        remove(&fresh).map_err(|error| OpenError::Rewrite(path.clone(), error))?;
        let copy = open(&fresh)?;
        copy.import(self.with(|db| Ok(db.export())).map_err(failed)?);
        copy.flush().map_err(failed)?;
        drop(copy);
        // Its last handle: the swapped store is another one.
        *self.db.lock().unwrap_or_else(PoisonError::into_inner) = None;
        swap(&path, &fresh).map_err(|error| OpenError::Rewrite(path.clone(), error))?;
        let database = Self::of(open(&path)?, &path);
        tracing::info!(before, after = database.size(), "the store was rewritten");
        Ok(database)
    }

    /// Everything the owners start from. What cannot be read is moved to the quarantine tree, never
    /// stops the start, and is logged.
    pub fn load(&self) -> Result<Restored, sled::Error> {
        self.with(load)
    }

    /// Applies one batch to a tree.
    pub(super) fn apply(&self, tree: Tree, batch: sled::Batch) -> Result<(), sled::Error> {
        self.with(|db| db.open_tree(tree.name())?.apply_batch(batch))
    }

    /// Waits until everything is on disk.
    pub fn flush(&self) -> Result<(), sled::Error> {
        self.with(|db| db.flush().map(drop))
    }

    /// What the management API has set. What cannot be read is moved to the quarantine tree.
    pub fn stored(&self) -> Result<Stored, sled::Error> {
        self.with(|db| {
            let mut stored = kept::load(db)?;
            stored.connections = kept_connections::load(db)?;
            stored.providers = kept_providers::load(db)?;
            stored.keys = kept_keys::load(db)?;
            stored.combos = kept_entities::load(db, Tree::Combos, Ok)?;
            stored.mappings = kept_entities::load(db, Tree::Mappings, Ok)?;
            stored.aliases = kept_entities::load(db, Tree::Aliases, Ok)?;
            stored.pools = kept_entities::load(db, Tree::Pools, Ok)?;
            Ok(stored)
        })
    }

    /// Puts this in the place of what was stored, on disk when this returns.
    pub(super) fn keep(&self, stored: &Stored) -> Result<(), sled::Error> {
        self.with(|db| {
            kept::replace(db, stored)?;
            kept_connections::replace(db, &stored.connections)?;
            kept_providers::replace(db, &stored.providers)?;
            kept_keys::replace(db, &stored.keys)?;
            kept_entities::replace(db, Tree::Combos, &stored.combos, |it| it)?;
            kept_entities::replace(db, Tree::Mappings, &stored.mappings, |it| it)?;
            kept_entities::replace(db, Tree::Aliases, &stored.aliases, |it| it)?;
            kept_entities::replace(db, Tree::Pools, &stored.pools, |it| it)
        })?;
        self.flush()
    }

    /// The newest tokens of OAuth connections. What cannot be read is moved to the quarantine tree.
    pub fn tokens(&self) -> Result<HashMap<ConnectionId, StoredTokens>, sled::Error> {
        self.with(tokens::load)
    }

    /// Stores the tokens of one connection, on disk when this returns.
    pub(super) fn save_tokens(&self, saved: &SaveTokens) -> Result<(), sled::Error> {
        self.with(|db| tokens::save(db, saved))?;
        self.flush()
    }

    /// A value of the meta tree.
    pub fn meta(&self, key: &str) -> Result<Option<Vec<u8>>, sled::Error> {
        self.with(|db| Ok(db.open_tree(Tree::Meta.name())?.get(key)?.map(|value| value.to_vec())))
    }

    /// Sets a value of the meta tree, on disk when this returns.
    pub fn set_meta(&self, key: &str, value: &[u8]) -> Result<(), sled::Error> {
        self.with(|db| db.open_tree(Tree::Meta.name())?.insert(key, value))?;
        self.flush()
    }

    /// Every record of a tree.
    pub fn records(&self, tree: Tree) -> Result<Vec<(String, Vec<u8>)>, sled::Error> {
        let text = |key: sled::IVec| String::from_utf8_lossy(&key).into_owned();
        self.with(|db| {
            let records = db.open_tree(tree.name())?;
            records.iter().map(|entry| entry.map(|(key, value)| (text(key), value.to_vec()))).collect()
        })
    }
}

fn load(db: &sled::Db) -> Result<Restored, sled::Error> {
    let mut restored = Restored::default();
    for tree in Tree::ALL.into_iter().filter(|tree| tree.holds_snapshots()) {
        let records = db.open_tree(tree.name())?;
        for entry in records.iter() {
            let (key, value) = entry?;
            match codec::read(tree, &key, &value) {
                Ok(Record::Breaker(id, stored)) => drop(restored.breakers.insert(id, stored)),
                Ok(Record::Connection(id, stored)) => drop(restored.connections.insert(id, stored)),
                Ok(Record::Lockout(id, stored)) => restored.lockouts.push((id, stored)),
                Ok(Record::Usage(slot, counts)) => restored.usage.push((slot, counts)),
                Ok(Record::Lease(row)) => restored.leases.push(row),
                Ok(Record::Pin(key, pin)) => restored.pins.push((key, pin)),
                Ok(Record::LastGood(combo, good)) => restored.last_good.push((combo.into(), good)),
                Ok(Record::Handoff(key, handoff)) => restored.handoffs.push((key, handoff)),
                Err(error) => quarantine(db, tree, &key, &value, &error)?,
            }
        }
    }
    Ok(restored)
}

pub(super) fn quarantine(
    db: &sled::Db,
    tree: Tree,
    key: &[u8],
    value: &[u8],
    error: &Unreadable,
) -> Result<(), sled::Error> {
    let name = String::from_utf8_lossy(key);
    tracing::error!(tree = tree.name(), key = %name, %error, "an unreadable record was moved to quarantine");
    let place = [tree.name().as_bytes(), b"/", key].concat();
    db.open_tree(Tree::Quarantine.name())?.insert(place, value)?;
    db.open_tree(tree.name())?.remove(key)?;
    Ok(())
}

pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Old away, new in, old gone: at every moment one complete store exists under a known name.
fn swap(path: &Path, fresh: &Path) -> io::Result<()> {
    let old = beside(path, "old");
    remove(&old)?;
    fs::rename(path, &old)?;
    fs::rename(fresh, path)?;
    remove(&old)
}

/// A rewrite that a crash interrupted between its two renames is finished.
fn finish_rewrite(path: &Path) -> io::Result<()> {
    let old = beside(path, "old");
    if !path.exists() && old.exists() {
        fs::rename(&old, path)?;
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests;
