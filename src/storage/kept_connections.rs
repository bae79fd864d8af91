//! Connections that the management API made or changed, as records: one for each, with its
//! secrets and its proxy sealed, each by itself. Only what differs is written.

use policy::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::codec::Unreadable;
use super::kept_entities;
use super::tree::Tree;
use super::vault::Vault;
use crate::settings::{Kept, OwnSecrets, Secret, StoredConnection, StoredConnections};

/// A connection as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    fields: Map<String, Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed_proxy: Option<String>,
    #[serde(default)]
    created_at: Millis,
    #[serde(default)]
    updated_at: Millis,
}

/// Reads all of them; their secrets are still sealed.
pub(super) fn load(db: &sled::Db) -> Result<StoredConnections, sled::Error> {
    kept_entities::load(db, Tree::ProviderConnections, of_row)
}

/// What a record says.
pub(super) fn of_row(row: Row) -> Result<StoredConnection, Unreadable> {
    let Row { fields, sealed, sealed_proxy, created_at, updated_at } = row;
    let secrets = sealed.map_or(Kept::Inherited, Kept::Sealed);
    let proxy = sealed_proxy.map_or(Kept::Inherited, Kept::Sealed);
    Ok(StoredConnection { fields, secrets, proxy, created_at, updated_at })
}

/// Puts these in the place of what is there.
pub(super) fn replace(db: &sled::Db, stored: &StoredConnections) -> Result<(), sled::Error> {
    kept_entities::replace(db, Tree::ProviderConnections, stored, |connection| Row {
        fields: connection.fields.clone(),
        sealed: connection.secrets.sealed().map(str::to_owned),
        sealed_proxy: connection.proxy.sealed().map(str::to_owned),
        created_at: connection.created_at,
        updated_at: connection.updated_at,
    })
}

/// What the sealed proxy of a connection is bound to: its secrets are bound to the id alone, so
/// neither opens in the place of the other.
pub fn proxy_record(id: &str) -> String {
    format!("connection/{id}/proxy")
}

/// Opens what is sealed. What does not open stays as it is: the right key may come back.
pub fn unlock(stored: &mut StoredConnections, vault: &Vault) {
    for (id, connection) in stored {
        if let Kept::Sealed(sealed) = &connection.secrets
            && let Ok(text) = vault.open(id, sealed)
            && let Some(own) = OwnSecrets::from_text(&text)
        {
            connection.secrets = Kept::Open(own, sealed.clone());
        }
        if let Kept::Sealed(sealed) = &connection.proxy
            && let Ok(text) = vault.open(&proxy_record(id), sealed)
        {
            connection.proxy = Kept::Open(Secret::from(text), sealed.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::{proxy_record, unlock};
    use crate::settings::{Kept, OwnSecrets, Secret, Stored, StoredConnection};
    use crate::storage::database::tests::{Folder, opened};
    use crate::storage::{Database, Tree, Vault};

    const KEYS: [&str; 2] = [
        "0000000000000000000000000000000000000000000000000000000000000001",
        "0000000000000000000000000000000000000000000000000000000000000002",
    ];
    const CANARY: &str = "sk-canary-at-rest-0123456789";
    const PROXY: &str = "http://user:px-canary-at-rest@127.0.0.1:3128";

    fn vault(key: usize) -> Vault {
        Vault::of_store("nowhere".as_ref(), Some(KEYS[key])).unwrap()
    }

    fn connection(id: &str, priority: u32) -> StoredConnection {
        let own = OwnSecrets { api_key: Some(Secret::from(CANARY)), ..OwnSecrets::default() };
        let sealed = vault(0).seal(id, &own.to_text()).unwrap();
        let fields: Map<_, _> = json!({"provider": "p", "priority": priority}).as_object().unwrap().clone();
        let proxy = vault(0).seal(&proxy_record(id), PROXY).unwrap();
        StoredConnection {
            fields,
            secrets: Kept::Open(own, sealed),
            proxy: Kept::Open(Secret::from(PROXY), proxy),
            created_at: 1,
            updated_at: 2,
        }
    }

    fn stored(ids: &[(&str, u32)]) -> Stored {
        let connections = ids.iter().map(|(id, priority)| ((*id).to_owned(), connection(id, *priority)));
        Stored { connections: connections.collect(), ..Stored::default() }
    }

    #[test]
    fn a_connection_comes_back_with_its_secrets_and_only_the_right_key_opens_them() {
        let folder = Folder::new("kept-connections");
        let path = folder.0.join("store");
        let database = opened(&path);
        let mut before = stored(&[("a", 1), ("b", 1)]);
        database.keep(&before).unwrap();
        before.connections.remove("a");
        database.keep(&before).unwrap();
        drop(database);
        let database = opened(&path);
        let mut wrong = database.stored().unwrap();
        unlock(&mut wrong.connections, &vault(1));
        assert!(matches!(wrong.connections["b"].secrets, Kept::Sealed(_)), "kept, closed");
        assert!(matches!(wrong.connections["b"].proxy, Kept::Sealed(_)), "and so is its proxy");
        let mut right = database.stored().unwrap();
        unlock(&mut right.connections, &vault(0));
        assert_eq!(right, before);
        database.keep(&wrong).unwrap();
        let mut again = database.stored().unwrap();
        unlock(&mut again.connections, &vault(0));
        assert_eq!(again, before, "a start with the wrong key destroys nothing");
    }

    #[test]
    fn no_file_of_the_store_holds_a_secret() {
        let folder = Folder::new("kept-canary");
        let path = folder.0.join("store");
        let database = opened(&path);
        database.keep(&stored(&[("a", 1)])).unwrap();
        drop(database);
        let mut files = vec![path];
        let mut seen = 0;
        while let Some(at) = files.pop() {
            if at.is_dir() {
                files.extend(std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()));
                continue;
            }
            let bytes = std::fs::read(&at).unwrap();
            seen += bytes.windows(8).filter(|window| window == b"priority").count();
            for secret in [b"sk-canary", b"px-canary"] {
                assert!(!bytes.windows(9).any(|window| window == secret), "{}", at.display());
            }
        }
        assert!(seen > 0, "the record itself is there");
    }

    #[test]
    fn a_sealed_proxy_and_sealed_secrets_do_not_open_in_each_others_place() {
        let mut swapped = stored(&[("a", 1)]);
        let of_a = swapped.connections.get_mut("a").unwrap();
        let (secrets, proxy) = (of_a.secrets.sealed().unwrap(), of_a.proxy.sealed().unwrap());
        (of_a.secrets, of_a.proxy) = (Kept::Sealed(proxy.to_owned()), Kept::Sealed(secrets.to_owned()));
        let before = swapped.clone();
        unlock(&mut swapped.connections, &vault(0));
        assert_eq!(swapped, before);
    }

    #[test]
    fn an_unreadable_record_is_set_aside_and_the_others_are_read() {
        let folder = Folder::new("kept-broken");
        let database = Database::open(&folder.0.join("store")).unwrap();
        database.keep(&stored(&[("a", 1)])).unwrap();
        let garbage: [(&[u8], &[u8]); 3] = [
            (b"b", b"no JSON"),
            (b"c", br#"{"v":9,"data":{"fields":{}}}"#),
            (b"d d", br#"{"v":1,"data":{"fields":{}}}"#),
        ];
        let mut batch = sled::Batch::default();
        garbage.iter().for_each(|(key, value)| batch.insert(*key, *value));
        database.apply(Tree::ProviderConnections, batch).unwrap();
        let read = database.stored().unwrap();
        assert_eq!(read.connections.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(database.records(Tree::Quarantine).unwrap().len(), 3);
    }
}
