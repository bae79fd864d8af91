//! The Store actor: newest snapshot per owner, one batch and one flush per interval.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, Message};
use actors::mailbox::Letter;
pub use actors::messages::Flush;
use actors::messages::{Owner, Save, Snapshot};
use actors::watch::DeathWatch;
use policy::usage::{Day, Written};

use super::codec;
use super::database::Database;
use super::tokens::SaveTokens;
use super::tree::Tree;
use crate::settings::Stored;
use crate::telemetry::{AuditLog, AuditRows, Book};

/// How the store fares, for health and metrics.
#[derive(Debug, Default)]
pub struct Health {
    failing: AtomicBool,
    bytes: AtomicU64,
    restarts: AtomicU64,
}

impl Health {
    /// The last write failed; routing goes on from memory (FC-120).
    pub fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// Bytes on disk at the last write.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Replacements of the actor.
    pub fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Relaxed)
    }

    /// Counts a replacement.
    pub fn restarted(&self) {
        self.restarts.fetch_add(1, Ordering::Relaxed);
    }
}

/// The longest pause between two tries of a store that fails, in intervals.
const LONGEST_PAUSE: u32 = 20;

/// Puts this in the place of what the management API has set; answers when it is on disk.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), String>")]
pub struct Keep(pub Stored);

/// What waits to be written. It outlives the actor: a crash loses no news.
pub type Dirty = Arc<Waiting>;

/// What waits to be written.
#[derive(Debug, Default)]
pub struct Waiting {
    owners: Mutex<HashMap<Owner, Option<Snapshot>>>,
    pub(super) usage: Arc<Book>,
    pub(super) audit: Arc<AuditLog>,
}

impl Waiting {
    /// Nothing yet but what these two will hold.
    pub fn of(usage: Arc<Book>, audit: Arc<AuditLog>) -> Self {
        Self { usage, audit, ..Self::default() }
    }
}

/// The actor.
pub struct Store {
    pub(super) database: Database,
    pub(super) dirty: Dirty,
    interval: Duration,
    health: Arc<Health>,
    /// The day for which old usage was dropped last.
    swept: Day,
    /// Intervals of the latest pause after a failure, and how many of them are left.
    pause: u32,
    pause_left: u32,
    _watch: DeathWatch,
}

impl Store {
    /// A store that writes every `interval`.
    pub fn new(
        database: Database,
        dirty: Dirty,
        interval: Duration,
        health: Arc<Health>,
        watch: DeathWatch,
    ) -> Self {
        health.bytes.store(database.size(), Ordering::Relaxed);
        let swept = Day::default();
        Self { database, dirty, interval, health, swept, pause: 0, pause_left: 0, _watch: watch }
    }

    /// An interval is over. What fails is tried less and less often: each try opens the store anew.
    fn tick(&mut self) {
        if self.pause_left > 0 {
            self.pause_left -= 1;
            return;
        }
        // A failure was logged and counted by `write`.
        self.pause = match self.write() {
            Ok(()) => 0,
            Err(_) => (self.pause * 2).clamp(1, LONGEST_PAUSE),
        };
        self.pause_left = self.pause;
    }

    /// Writes what waits; on failure it goes on waiting, under what is newer.
    fn write(&mut self) -> Result<(), String> {
        let dirty = self.dirty.clone();
        let (mut taken, usage, audit) = (Taken::from(&dirty), dirty.usage.take(), dirty.audit.take());
        if taken.news.is_empty() && usage.rows.is_empty() && audit.rows.is_empty() {
            return Ok(());
        }
        let written = self.write_batches(&taken.news, &usage.rows, &audit.rows);
        let written = written.map_err(|error| error.to_string());
        let was_failing = self.health.failing.swap(written.is_err(), Ordering::Relaxed);
        match &written {
            Ok(()) if was_failing => tracing::info!("the store can be written again"),
            Ok(()) => {}
            Err(error) => {
                if !was_failing {
                    tracing::error!(%error, "the store cannot be written; routing goes on from memory");
                }
                self.database.reopen();
            }
        }
        if written.is_ok() {
            taken.news.clear();
            usage.done();
            audit.done();
            self.health.bytes.store(self.database.size(), Ordering::Relaxed);
        }
        written
    }

    fn write_batches(
        &mut self,
        waiting: &HashMap<Owner, Option<Snapshot>>,
        usage: &[Written],
        audit: &AuditRows,
    ) -> Result<(), sled::Error> {
        self.write_owners(waiting)?;
        self.database.keep_usage(usage)?;
        self.database.keep_audit(audit)?;
        let today = self.dirty.usage.day();
        if today > self.swept {
            self.database.drop_usage(today)?;
            self.swept = today;
        }
        self.database.flush()
    }

    fn write_owners(&self, waiting: &HashMap<Owner, Option<Snapshot>>) -> Result<(), sled::Error> {
        for tree in Tree::ALL {
            let mut batch = sled::Batch::default();
            let mut any = false;
            for (owner, snapshot) in waiting {
                let Some((place, key)) = codec::place(owner) else { continue };
                if place != tree {
                    continue;
                }
                any = true;
                match snapshot.as_ref().map(codec::write) {
                    Some(Ok(bytes)) => batch.insert(key.as_bytes(), bytes),
                    Some(Err(error)) => {
                        tracing::error!(%owner, %error, "a snapshot could not be written down")
                    }
                    None => batch.remove(key.as_bytes()),
                }
            }
            if any {
                self.database.apply(tree, batch)?;
            }
        }
        Ok(())
    }
}

/// News that is being written. What is not known to be on disk goes back under what is newer,
/// also when the write panics.
struct Taken<'a> {
    dirty: &'a Waiting,
    news: HashMap<Owner, Option<Snapshot>>,
}

impl<'a> Taken<'a> {
    fn from(dirty: &'a Waiting) -> Self {
        Self { dirty, news: std::mem::take(&mut *lock(dirty)) }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut dirty = lock(self.dirty);
        for (owner, snapshot) in self.news.drain() {
            dirty.entry(owner).or_insert(snapshot);
        }
    }
}

fn lock(dirty: &Waiting) -> MutexGuard<'_, HashMap<Owner, Option<Snapshot>>> {
    dirty.owners.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Actor for Store {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        // The bound is kept by the link's own count; the runtime's would only drop.
        ctx.set_mailbox_capacity(usize::MAX >> 8);
        ctx.run_interval(self.interval, |store, _| store.tick());
    }
}

impl Handler<Letter<Save>> for Store {
    type Result = ();

    fn handle(&mut self, letter: Letter<Save>, _: &mut Self::Context) {
        let save = letter.open();
        lock(&self.dirty).insert(save.owner, save.snapshot);
    }
}

impl Handler<Flush> for Store {
    type Result = Result<(), String>;

    fn handle(&mut self, _: Flush, _: &mut Self::Context) -> Self::Result {
        self.write()
    }
}

impl Handler<SaveTokens> for Store {
    type Result = Result<(), String>;

    fn handle(&mut self, saved: SaveTokens, _: &mut Self::Context) -> Self::Result {
        self.database.save_tokens(&saved).map_err(|error| {
            self.database.reopen();
            error.to_string()
        })
    }
}

impl Handler<Keep> for Store {
    type Result = Result<(), String>;

    fn handle(&mut self, Keep(stored): Keep, _: &mut Self::Context) -> Self::Result {
        self.database.keep(&stored).map_err(|error| {
            tracing::error!(%error, "a change of the settings could not be stored");
            self.database.reopen();
            error.to_string()
        })
    }
}

#[cfg(feature = "test-hooks")]
impl Handler<actors::messages::Poison> for Store {
    type Result = ();

    fn handle(&mut self, _: actors::messages::Poison, _: &mut Self::Context) {
        panic!("poisoned store");
    }
}
