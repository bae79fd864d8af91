//! Combos, mappings and aliases that the management API made, as records: one tree each, one
//! record for each name. Only what differs is written.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::codec::{self, Unreadable};
use super::database::{Tree, quarantine};
use crate::settings::Shape;

/// Reads all of a tree.
pub(super) fn load<T: DeserializeOwned>(
    db: &sled::Db,
    tree: Tree,
) -> Result<BTreeMap<String, T>, sled::Error> {
    let mut entities = BTreeMap::new();
    for entry in db.open_tree(tree.name())?.iter() {
        let (key, value) = entry?;
        match read(tree, &key, &value) {
            Ok((name, entity)) => drop(entities.insert(name, entity)),
            Err(error) => quarantine(db, tree, &key, &value, &error)?,
        }
    }
    Ok(entities)
}

fn read<T: DeserializeOwned>(tree: Tree, key: &[u8], value: &[u8]) -> Result<(String, T), Unreadable> {
    let name = std::str::from_utf8(key).ok().filter(|name| shape(tree).fits(name)).ok_or(Unreadable::Key)?;
    Ok((name.to_owned(), codec::open(value)?))
}

/// What its keys may be called.
fn shape(tree: Tree) -> Shape {
    match tree {
        Tree::Combos => Shape::ComboName,
        Tree::Aliases => Shape::Model,
        _ => Shape::Id,
    }
}

/// Puts these in the place of what is there.
pub(super) fn replace<T: Serialize>(
    db: &sled::Db,
    tree: Tree,
    entities: &BTreeMap<String, T>,
) -> Result<(), sled::Error> {
    let tree = db.open_tree(tree.name())?;
    let mut batch = sled::Batch::default();
    for key in tree.iter().keys() {
        let key = key?;
        if !std::str::from_utf8(&key).is_ok_and(|name| entities.contains_key(name)) {
            batch.remove(key);
        }
    }
    for (name, entity) in entities {
        let bytes = codec::seal(entity).map_err(|error| sled::Error::Io(error.into()))?;
        if tree.get(name)?.is_none_or(|old| *old != *bytes) {
            batch.insert(name.as_bytes(), bytes);
        }
    }
    tree.apply_batch(batch)
}
