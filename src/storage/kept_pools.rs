//! Pools that the management API made, as records: one for each. Only what differs is written.

use super::codec::{self, Unreadable};
use super::database::{Tree, quarantine};
use crate::settings::{QuotaPool, QuotaPools};

/// Reads all of them.
pub(super) fn load(db: &sled::Db) -> Result<QuotaPools, sled::Error> {
    let mut pools = QuotaPools::new();
    for entry in db.open_tree(Tree::Pools.name())?.iter() {
        let (key, value) = entry?;
        match read(&key, &value) {
            Ok((id, pool)) => drop(pools.insert(id, pool)),
            Err(error) => quarantine(db, Tree::Pools, &key, &value, &error)?,
        }
    }
    Ok(pools)
}

fn read(key: &[u8], value: &[u8]) -> Result<(String, QuotaPool), Unreadable> {
    let id = std::str::from_utf8(key).ok().filter(|id| codec::is_id(id)).ok_or(Unreadable::Key)?;
    Ok((id.to_owned(), codec::open(value)?))
}

/// Puts these in the place of what is there.
pub(super) fn replace(db: &sled::Db, pools: &QuotaPools) -> Result<(), sled::Error> {
    let tree = db.open_tree(Tree::Pools.name())?;
    let mut batch = sled::Batch::default();
    for key in tree.iter().keys() {
        let key = key?;
        if !std::str::from_utf8(&key).is_ok_and(|id| pools.contains_key(id)) {
            batch.remove(key);
        }
    }
    for (id, pool) in pools {
        let bytes = codec::seal(pool).map_err(|error| sled::Error::Io(error.into()))?;
        if tree.get(id)?.is_none_or(|old| *old != *bytes) {
            batch.insert(id.as_bytes(), bytes);
        }
    }
    tree.apply_batch(batch)
}

#[cfg(test)]
mod tests {
    use policy::quota::{Rule, Unit, UsageWindow};

    use crate::settings::{PoolAllocation, PoolLimit, QuotaPool, Stored};
    use crate::storage::database::tests::Folder;
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
        let database = Database::open(&path).unwrap();
        database.keep(&stored(&["a", "b"])).unwrap();
        database.keep(&stored(&["b"])).unwrap();
        drop(database);
        let database = Database::open(&path).unwrap();
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
