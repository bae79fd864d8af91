//! The database on disk: opening it, what is in it, quarantine.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use actors::router::family::Restored;
use policy::ids::ConnectionId;

use super::codec::{self, Record, Unreadable};
use super::tokens::{self, SaveTokens, StoredTokens};
use super::tree::Tree;
use super::{kept, kept_connections, kept_entities, kept_keys, kept_providers, rewrite};
use crate::settings::Stored;

/// Above this size, and `WASTE` times its live data, the store is rewritten at start.
const REWRITE_ABOVE: u64 = 64 * 1024 * 1024;
const WASTE: u64 = 8;
/// Snapshots are small and few: a larger cache would only be memory unused.
const CACHE_BYTES: u64 = 4 * 1024 * 1024;

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
    /// It could not be rewritten.
    #[error("the store {} could not be rewritten and is as it was: {}", .0.display(), .1)]
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

pub(super) fn open(path: &Path) -> Result<sled::Db, OpenError> {
    config(path).open().map_err(|error| match &error {
        sled::Error::Io(io) if is_lock(io) => OpenError::Locked(path.to_owned()),
        _ => OpenError::Broken(path.to_owned(), error),
    })
}

/// How long sled's threads may hold a store that was closed.
const LETTING_GO: Duration = Duration::from_secs(10);

/// Opens a store that this process has just closed: sled's threads let go of it a moment later.
pub(super) fn open_again(path: &Path) -> Result<sled::Db, OpenError> {
    let closed = Instant::now();
    loop {
        match open(path) {
            Err(OpenError::Locked(_)) if closed.elapsed() < LETTING_GO => {
                thread::sleep(Duration::from_millis(5))
            }
            opened => return opened,
        }
    }
}

/// sled tells a held lock only in words.
fn is_lock(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.to_string().contains("could not acquire lock")
}

impl Database {
    /// Opens the store, and rewrites it first if it is mostly waste (FC-063).
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let database = Self::open_as_it_is(path)?;
        if !database.is_wasteful() {
            return Ok(database);
        }
        match database.rewrite(&mut |_, _| {}) {
            Ok((before, after)) => tracing::info!(before, after, "the store was rewritten"),
            // It is as it was, and large: no reason to serve nobody.
            Err(error) => tracing::warn!(%error, "the store stays as large as it is"),
        }
        Self::opened(path, open_again)
    }

    /// Opens the store, however much waste it holds.
    pub fn open_as_it_is(path: &Path) -> Result<Self, OpenError> {
        Self::opened(path, open)
    }

    fn opened(path: &Path, open: fn(&Path) -> Result<sled::Db, OpenError>) -> Result<Self, OpenError> {
        let _turn = rewrite::Turn::take(path);
        rewrite::finish(path).map_err(|error| OpenError::Rewrite(path.to_owned(), error))?;
        Ok(Self { db: Arc::new(Mutex::new(Some(open(path)?))), path: path.to_owned() })
    }

    /// Whether there is one, or what a crash left of one.
    pub fn exists(path: &Path) -> bool {
        path.exists() || rewrite::replaced(path).exists()
    }

    /// Writes all records into a fresh store that takes this one's place, and closes it; bytes on disk
    /// before and after. `seen`: a tree and how many of its records are done.
    pub fn rewrite(self, seen: &mut dyn FnMut(&str, u64)) -> Result<(u64, u64), OpenError> {
        let mut db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        let old = match db.take() {
            Some(old) => old,
            None => open(&self.path)?,
        };
        rewrite::run(&self.path, old, seen).map_err(|error| OpenError::Rewrite(self.path.clone(), error))
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

    /// Everything the owners start from. What cannot be read is moved to the quarantine tree, never
    /// stops the start, and is logged.
    pub fn load(&self) -> Result<Restored, sled::Error> {
        self.with(load).inspect(|_| self.settle())
    }

    /// What was set aside is so on disk; if that fails, the next start sets it aside again.
    fn settle(&self) {
        let _ = self.flush();
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
        .inspect(|_| self.settle())
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
        self.with(tokens::load).inspect(|_| self.settle())
    }

    /// Stores the tokens of one connection, on disk when this returns.
    pub(super) fn save_tokens(&self, saved: &SaveTokens) -> Result<(), sled::Error> {
        self.with(|db| tokens::save(db, saved))?;
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

#[cfg(test)]
pub(super) mod tests;
