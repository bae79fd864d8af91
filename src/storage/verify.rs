//! Reading every record as a start would, and telling of those that it could not use (FC-060), and of
//! those whose secrets do not open. Nothing is changed: a start sets the first aside, this only looks.

use super::codec::{self, Unreadable};
use super::database::Database;
use super::kept_connections;
use super::sealed::parts;
use super::tree::Tree;
use super::vault::Vault;
use super::{audit, history, kept, kept_entities, kept_keys, kept_providers, meta, tokens};
use crate::settings::{QuotaPool, Stored, StoredEntity};

/// Longest key that is told, characters: whoever wrote it may have written anything.
const LONGEST_KEY: usize = 200;

/// What is told while the store is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// So many records of this tree were read.
    Read(&'a str, u64),
    /// A start could not use this one.
    Bad {
        /// Its tree.
        tree: &'a str,
        /// Its key, escaped. Never its value: that may hold a secret.
        key: String,
        /// What is wrong with it.
        why: String,
    },
    /// A start can read this one, and not open what is sealed in it.
    Closed {
        /// Its tree.
        tree: &'a str,
        /// Its key, escaped.
        key: String,
        /// What does not open, and why.
        why: String,
    },
}

/// Whose records a tree holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// This version's.
    Known,
    /// Those that starts have set aside.
    SetAside,
    /// Another version's, which nobody can judge.
    Unknown,
}

/// What was found in one tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// Its name.
    pub tree: String,
    /// Whose records it holds.
    pub standing: Standing,
    /// Records that a start can use; of other trees than this version's: all.
    pub good: u64,
    /// Records that it cannot.
    pub bad: u64,
    /// Of the good ones those that hold something sealed.
    pub sealed: u64,
    /// Of these those that do not open with the key.
    pub closed: u64,
}

impl Database {
    /// Reads every record of every tree, in the order of their names. `vault`: what is sealed is opened
    /// with it; `None`: it is only counted.
    pub fn verify(
        &self,
        vault: Option<&Vault>,
        tell: &mut dyn FnMut(Found<'_>),
    ) -> Result<Vec<Count>, sled::Error> {
        self.with(|db| {
            let mut names: Vec<_> = db.tree_names();
            names.sort();
            let mut counts = Vec::new();
            for name in names {
                let count = count((&db.open_tree(&name)?, &name), vault, tell);
                // sled's own tree is always there, and never used.
                if *name != *DEFAULT || count.good > 0 {
                    counts.push(count);
                }
            }
            Ok(counts)
        })
    }
}

/// The tree that sled makes in every store.
const DEFAULT: &[u8] = b"__sled__default";

fn count(
    (records, name): (&sled::Tree, &[u8]),
    vault: Option<&Vault>,
    tell: &mut dyn FnMut(Found<'_>),
) -> Count {
    let known = Tree::named(name);
    let standing = match known {
        Some(Tree::Quarantine) => Standing::SetAside,
        Some(_) => Standing::Known,
        None => Standing::Unknown,
    };
    let tree = shown(name);
    let (mut good, mut bad, mut sealed, mut closed) = (0, 0, 0, 0);
    for entry in records.iter() {
        let parts = known.zip(entry.as_ref().ok()).map(|(tree, (key, value))| parts(tree, key, value));
        let parts = parts.and_then(Result::ok).unwrap_or_default();
        let (key, checked) = match &entry {
            Ok((key, value)) => (
                shown(key),
                known.map_or(Ok(()), |tree| check(tree, key, value)).map_err(|why| why.to_string()),
            ),
            Err(error) => ("?".to_owned(), Err(format!("the tree cannot be read on from here: {error}"))),
        };
        match checked {
            Ok(()) => {
                good += 1;
                sealed += u64::from(!parts.is_empty());
                let whys = parts.iter().filter_map(|part| part.closed(vault?)).collect::<Vec<_>>();
                if !whys.is_empty() {
                    closed += 1;
                    tell(Found::Closed { tree: &tree, key, why: whys.join("; ") });
                }
            }
            Err(why) => {
                bad += 1;
                tell(Found::Bad { tree: &tree, key, why });
            }
        }
        tell(Found::Read(&tree, good + bad));
        if entry.is_err() {
            break;
        }
    }
    Count { tree, standing, good, bad, sealed, closed }
}

/// Fit for a terminal.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().take(LONGEST_KEY).flat_map(char::escape_debug).collect()
}

/// With the reader that a start uses.
fn check(tree: Tree, key: &[u8], value: &[u8]) -> Result<(), Unreadable> {
    match tree {
        tree if tree.holds_snapshots() => codec::read(tree, key, value).map(drop),
        Tree::Settings => kept::read(key, value, &mut Stored::default()),
        Tree::ProviderConnections => {
            kept_entities::read(tree, key, value, kept_connections::of_row).map(drop)
        }
        Tree::Providers => kept_entities::read(tree, key, value, kept_providers::of_row).map(drop),
        Tree::Keys => kept_entities::read(tree, key, value, kept_keys::of_row).map(drop),
        Tree::Combos | Tree::Mappings => {
            kept_entities::read(tree, key, value, Ok::<StoredEntity, _>).map(drop)
        }
        Tree::Aliases => kept_entities::read(tree, key, value, Ok::<String, _>).map(drop),
        Tree::Pools => kept_entities::read(tree, key, value, Ok::<QuotaPool, _>).map(drop),
        Tree::History => history::read(key, value).map(drop),
        Tree::Audit => audit::read(key, value).map(drop),
        Tree::Tokens => tokens::read(key, value).map(drop),
        Tree::Meta => meta::check(key, value),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
