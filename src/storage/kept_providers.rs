//! Providers that the management API made or changed, as records: one for each, with its headers and
//! client secret sealed. Only what differs is written.

use policy::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::codec::Unreadable;
use super::kept_entities;
use super::tree::Tree;
use super::vault::Vault;
use crate::settings::{Kept, ProviderSecrets, StoredProvider, StoredProviders};

/// A provider as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    fields: Map<String, Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
    #[serde(default)]
    created_at: Millis,
    #[serde(default)]
    updated_at: Millis,
}

/// Reads all of them; their secrets are still sealed.
pub(super) fn load(db: &sled::Db) -> Result<StoredProviders, sled::Error> {
    kept_entities::load(db, Tree::Providers, of_row)
}

/// What a record says.
pub(super) fn of_row(row: Row) -> Result<StoredProvider, Unreadable> {
    let Row { fields, sealed, created_at, updated_at } = row;
    let secrets = sealed.map_or(Kept::Inherited, Kept::Sealed);
    Ok(StoredProvider { fields, secrets, created_at, updated_at })
}

/// Puts these in the place of what is there.
pub(super) fn replace(db: &sled::Db, providers: &StoredProviders) -> Result<(), sled::Error> {
    kept_entities::replace(db, Tree::Providers, providers, |provider| Row {
        fields: provider.fields.clone(),
        sealed: provider.secrets.sealed().map(str::to_owned),
        created_at: provider.created_at,
        updated_at: provider.updated_at,
    })
}

/// What the sealed secrets of a provider are bound to: they open in no connection's place.
pub fn provider_record(id: &str) -> String {
    format!("provider/{id}")
}

/// Opens what is sealed. What does not open stays as it is: the right key may come back.
pub fn unlock_providers(providers: &mut StoredProviders, vault: &Vault) {
    for (id, provider) in providers {
        if let Kept::Sealed(sealed) = &provider.secrets
            && let Ok(text) = vault.open(&provider_record(id), sealed)
            && let Some(own) = ProviderSecrets::from_text(&text)
        {
            provider.secrets = Kept::Open(own, sealed.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{provider_record, unlock_providers};
    use crate::settings::{Kept, ProviderSecrets, Secret, Stored, StoredProvider};
    use crate::storage::database::tests::{Folder, opened};
    use crate::storage::{Tree, Vault};

    const CANARY: &str = "canary-at-rest-0123456789";

    fn vault(key: u32) -> Vault {
        Vault::of_store("nowhere".as_ref(), Some(&format!("{key:064}"))).unwrap()
    }

    fn provider(id: &str) -> StoredProvider {
        let own = ProviderSecrets {
            headers: Some(vec![("x-org".into(), CANARY.into())]),
            client_secret: Some(Secret::from(CANARY)),
        };
        let sealed = vault(1).seal(&provider_record(id), &own.to_text()).unwrap();
        let fields = json!({"format": ["openai"], "baseUrl": "https://h"}).as_object().unwrap().clone();
        StoredProvider { fields, secrets: Kept::Open(own, sealed), created_at: 1, updated_at: 2 }
    }

    fn stored(ids: &[&str]) -> Stored {
        let providers = ids.iter().map(|id| ((*id).to_owned(), provider(id)));
        Stored { providers: providers.collect(), ..Stored::default() }
    }

    #[test]
    fn a_provider_comes_back_with_its_secrets_and_only_the_right_key_opens_them() {
        let folder = Folder::new("kept-providers");
        let path = folder.0.join("store");
        let database = opened(&path);
        database.keep(&stored(&["a", "b"])).unwrap();
        // Sealing takes a nonce of its own each time: the same value is compared.
        let kept = stored(&["b"]);
        database.keep(&kept).unwrap();
        drop(database);
        let database = opened(&path);
        let mut wrong = database.stored().unwrap();
        unlock_providers(&mut wrong.providers, &vault(2));
        assert!(matches!(wrong.providers["b"].secrets, Kept::Sealed(_)), "kept, closed");
        let mut right = database.stored().unwrap();
        unlock_providers(&mut right.providers, &vault(1));
        assert_eq!(right, kept);
        let dump = database.records(Tree::Providers).unwrap();
        assert_eq!(dump.len(), 1);
        assert!(!String::from_utf8_lossy(&dump[0].1).contains(&CANARY[..8]));
    }
}
