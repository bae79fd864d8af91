//! Writing the store anew: its records go into a fresh one beside it, which then takes its place
//! (FC-063).
//!
//! Whenever this is killed, the old store or the new one is there, whole: the fresh one is compared
//! with the old one before it moves, and a start finishes what stopped between the two moves. The
//! old one stays open, and so locked, until it has been moved away: whoever starts meanwhile is
//! refused, and never writes into files that are about to go.

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::database::{OpenError, open, open_again};

/// What is told of the work: a tree, and how many of its records are done.
type Seen<'a> = &'a mut dyn FnMut(&str, u64);

/// One rewrite.
pub(super) struct Rewrite<'a> {
    path: &'a Path,
    fresh: PathBuf,
    replaced: PathBuf,
    old: sled::Db,
    /// Bytes on disk of the fresh one.
    size: Cell<u64>,
}

impl<'a> Rewrite<'a> {
    fn of(path: &'a Path, old: sled::Db) -> Self {
        Self { path, fresh: beside(path, "rewritten"), replaced: replaced(path), old, size: Cell::new(0) }
    }

    /// What an earlier one left, which a crash has ended.
    fn clear(&self) -> io::Result<()> {
        remove(&self.fresh)?;
        remove(&self.replaced)
    }

    /// Trees of other versions, too.
    fn copy(&self, seen: Seen<'_>) -> io::Result<()> {
        self.old.flush()?;
        let fresh = open(&self.fresh).map_err(told)?;
        for name in self.old.tree_names() {
            let (from, to) = (self.old.open_tree(&name)?, fresh.open_tree(&name)?);
            let name = String::from_utf8_lossy(&name);
            let mut load = Load::default();
            for (entry, done) in from.iter().zip(1..) {
                load.add(entry?, &to)?;
                seen(&name, done);
            }
            load.put_down(&to)?;
        }
        fresh.flush()?;
        Ok(())
    }

    /// Read from the disk again, the fresh one holds what the old one does.
    fn compare(&self, seen: Seen<'_>) -> io::Result<()> {
        let fresh = open_again(&self.fresh).map_err(told)?;
        for name in self.old.tree_names() {
            let (here, there) = (self.old.open_tree(&name)?, fresh.open_tree(&name)?);
            let (mut there, mut done) = (there.iter(), 0);
            for entry in here.iter() {
                if there.next().transpose()? != Some(entry?) {
                    return Err(io::Error::other("its copy is another one"));
                }
                done += 1;
                seen(&String::from_utf8_lossy(&name), done);
            }
            if there.next().is_some() {
                return Err(io::Error::other("its copy has more records"));
            }
        }
        self.size.set(fresh.size_on_disk()?);
        Ok(())
    }

    fn move_away(&self) -> io::Result<()> {
        fs::rename(self.path, &self.replaced)
    }

    fn move_in(&self) -> io::Result<()> {
        fs::rename(&self.fresh, self.path).inspect_err(|_| {
            // If this fails, too, the next start does it.
            let _ = fs::rename(&self.replaced, self.path);
        })
    }

    fn make(&self, seen: Seen<'_>) -> io::Result<()> {
        self.clear()?;
        self.copy(seen)?;
        self.compare(seen)?;
        let _turn = Turn::take(self.path);
        self.move_away()?;
        self.move_in()
    }
}

/// Records on their way: many at once take a third less room than one by one.
#[derive(Default)]
struct Load {
    batch: sled::Batch,
    records: usize,
    bytes: usize,
}

/// Most records and bytes of one load.
const MOST: (usize, usize) = (500, 1 << 20);

impl Load {
    fn add(&mut self, (key, value): (sled::IVec, sled::IVec), to: &sled::Tree) -> io::Result<()> {
        (self.records, self.bytes) = (self.records + 1, self.bytes + key.len() + value.len());
        self.batch.insert(key, value);
        if self.records < MOST.0 && self.bytes < MOST.1 { Ok(()) } else { std::mem::take(self).put_down(to) }
    }

    fn put_down(self, to: &sled::Tree) -> io::Result<()> {
        Ok(to.apply_batch(self.batch)?)
    }
}

/// Rewrites the store at `path`, which is `old`; bytes on disk before and after.
pub(super) fn run(path: &Path, old: sled::Db, seen: Seen<'_>) -> io::Result<(u64, u64)> {
    let before = old.size_on_disk()?;
    let rewrite = Rewrite::of(path, old);
    if let Err(error) = rewrite.make(seen) {
        // The disk may be full because of it; what matters is why it failed.
        let _ = remove(&rewrite.fresh);
        return Err(error);
    }
    let Rewrite { replaced, old, size, .. } = rewrite;
    drop(old);
    // The new one is in place: what cannot be done now, a start does or the disk in its own time.
    if let Err(error) = sync_folder_of(path).and_then(|()| remove(&replaced)) {
        tracing::warn!(path = %replaced.display(), %error, "the old store could not be removed");
    }
    Ok((before, size.get()))
}

/// Finishes what a crash has interrupted: between the two moves the old store is the store, after
/// them it is only room. Somebody's empty folder is no store.
pub(super) fn finish(path: &Path) -> io::Result<()> {
    let replaced = replaced(path);
    match (path.join("db").exists(), replaced.exists()) {
        (false, true) => fs::rename(&replaced, path),
        (true, true) => remove(&replaced),
        (_, false) => Ok(()),
    }
}

/// Nobody opens a store while its folders move, and none moves while somebody opens it: whoever
/// looked between the two moves would begin an empty one. A file system that knows no locks is
/// trusted.
pub(super) struct Turn(#[expect(dead_code, reason = "held, never read")] Option<File>);

impl Turn {
    /// Waits for it.
    pub(super) fn take(path: &Path) -> Self {
        Self(folder_of(path).ok().filter(|folder| folder.lock().is_ok()))
    }
}

/// Where the old store waits until it goes. No name that people give a copy of theirs.
pub(super) fn replaced(path: &Path) -> PathBuf {
    beside(path, "replaced")
}

/// Another name in the same folder.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

/// What was renamed in it stays renamed when the power fails.
pub(super) fn sync_folder_of(path: &Path) -> io::Result<()> {
    folder_of(path)?.sync_all()
}

fn folder_of(path: &Path) -> io::Result<File> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn told(error: OpenError) -> io::Error {
    io::Error::other(error)
}

#[cfg(test)]
mod tests;
