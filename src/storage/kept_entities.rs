//! What the management API made or changed, as records: one tree for each kind, one record for
//! each name. Only what differs is written.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::codec::{self, Unreadable};
use super::database::quarantine;
use super::tree::Tree;
use crate::settings::Shape;

/// Reads all of a tree; `entity`: what a record says.
pub(super) fn load<R: DeserializeOwned, T>(
    db: &sled::Db,
    tree: Tree,
    entity: impl Fn(R) -> Result<T, Unreadable>,
) -> Result<BTreeMap<String, T>, sled::Error> {
    let mut entities = BTreeMap::new();
    for entry in db.open_tree(tree.name())?.iter() {
        let (key, value) = entry?;
        match read(tree, &key, &value, &entity) {
            Ok((name, entity)) => drop(entities.insert(name, entity)),
            Err(error) => quarantine(db, tree, &key, &value, &error)?,
        }
    }
    Ok(entities)
}

/// One record: what it is called, and what it says.
pub(super) fn read<R: DeserializeOwned, T>(
    tree: Tree,
    key: &[u8],
    value: &[u8],
    entity: impl Fn(R) -> Result<T, Unreadable>,
) -> Result<(String, T), Unreadable> {
    Ok((name(tree, key)?, entity(codec::open(value)?)?))
}

/// What a record is called, if it may be called so.
fn name(tree: Tree, key: &[u8]) -> Result<String, Unreadable> {
    let name = std::str::from_utf8(key).map_err(|_| Unreadable::Key)?;
    let fits = match tree {
        Tree::Combos => Shape::ComboName.fits(name),
        Tree::Aliases => Shape::Model.fits(name),
        Tree::Keys => !name.is_empty(),
        _ => codec::is_id(name),
    };
    if fits { Ok(name.to_owned()) } else { Err(Unreadable::Key) }
}

/// Puts these in the place of what is there; `record`: how one is written.
pub(super) fn replace<'a, T, R: Serialize>(
    db: &sled::Db,
    tree: Tree,
    entities: &'a BTreeMap<String, T>,
    record: impl Fn(&'a T) -> R,
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
        let bytes = codec::seal(&record(entity)).map_err(|error| sled::Error::Io(error.into()))?;
        if tree.get(name)?.is_none_or(|old| *old != *bytes) {
            batch.insert(name.as_bytes(), bytes);
        }
    }
    tree.apply_batch(batch)
}

#[cfg(test)]
mod tests {
    use policy::quota::{Rule, Unit, UsageWindow};

    use crate::settings::{PoolAllocation, PoolLimit, QuotaPool, Stored};
    use crate::storage::database::tests::{Folder, opened};
    use crate::storage::{Database, Tree};

    fn pool(name: &str) -> QuotaPool {
        QuotaPool {
            name: name.into(),
            group: None,
            connections: vec!["a-1".into()],
            allocations: vec![PoolAllocation {
                key_id: "laptop".into(),
                weight: 60.0,
                policy: Rule::Soft,
                cap_value: Some(2.5),
                cap_unit: Some(Unit::Usd),
            }],
            limits: vec![PoolLimit { unit: Unit::Percent, window: UsageWindow::Day, limit: 100.0 }],
            created_at: 1,
            updated_at: 2,
        }
    }

    fn stored(ids: &[&str]) -> Stored {
        let pools = ids.iter().map(|id| ((*id).to_owned(), pool(id)));
        Stored { pools: pools.collect(), ..Stored::default() }
    }

    #[test]
    fn a_pool_comes_back_and_one_that_was_deleted_does_not() {
        let folder = Folder::new("kept-pools");
        let path = folder.0.join("store");
        let database = opened(&path);
        database.keep(&stored(&["a", "b"])).unwrap();
        database.keep(&stored(&["b"])).unwrap();
        drop(database);
        let database = opened(&path);
        assert_eq!(database.stored().unwrap(), stored(&["b"]));
    }

    #[test]
    fn flow_2_7_an_unknown_policy_is_hard_and_an_unreadable_record_is_set_aside() {
        let folder = Folder::new("kept-pools-old");
        let database = Database::open(&folder.0.join("store")).unwrap();
        let records: [(&[u8], &[u8]); 3] = [
            (b"old", br#"{"v":1,"data":{"name":"n","connections":["a"],"allocations":[{"keyId":"k","weight":5,"policy":"strict"}]}}"#),
            (b"broken", br#"{"v":1,"data":{"name":"n","connections":["a"],"limits":[{"unit":"miles","window":"5h","limit":1}]}}"#),
            (b"no id", br#"{"v":1,"data":{"name":"n","connections":["a"]}}"#),
        ];
        let mut batch = sled::Batch::default();
        records.iter().for_each(|(key, value)| batch.insert(*key, *value));
        database.apply(Tree::Pools, batch).unwrap();
        let pools = database.stored().unwrap().pools;
        assert_eq!(pools.keys().collect::<Vec<_>>(), ["old"]);
        assert_eq!(pools["old"].allocations[0].policy, Rule::Hard);
        assert_eq!(database.records(Tree::Quarantine).unwrap().len(), 2);
    }
}
