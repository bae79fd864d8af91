//! What of a record is sealed, and whether it opens with a key: `store verify` tries each, so that a
//! key that does not belong to the store is known before somebody needs it. What opens is dropped at
//! once, and never told.

use super::codec::{self, Record, Unreadable};
use super::kept_connections::{self, proxy_record};
use super::kept_entities;
use super::kept_providers::{self, provider_record};
use super::tokens::{self, token_record};
use super::tree::Tree;
use super::vault::{Closed, Vault};
use crate::settings::{Kept, OwnSecrets, ProviderSecrets};

/// One sealed text of a record.
#[derive(Debug)]
pub(super) struct Part {
    /// What it is, in a few words.
    what: &'static str,
    /// What it is bound to.
    record: String,
    sealed: String,
    /// Whether a text is what it should be.
    is_right: fn(&str) -> bool,
}

impl Part {
    /// Opens it and looks at it; else says why that cannot be done.
    pub(super) fn closed(&self, vault: &Vault) -> Option<String> {
        let why = match vault.open(&self.record, &self.sealed) {
            Ok(text) if (self.is_right)(&text) => return None,
            Ok(_) | Err(Closed::Form) => "is not sealed as this version does",
            Err(Closed::NoKey) => "has no key",
            Err(Closed::WrongKey) => "was sealed with another key, or for another record",
        };
        Some(format!("its {} {why}", self.what))
    }
}

/// The sealed texts of a record that can be read.
pub(super) fn parts(tree: Tree, key: &[u8], value: &[u8]) -> Result<Vec<Part>, Unreadable> {
    let any = |_: &str| true;
    let part = |what, record, sealed| Part { what, record, sealed, is_right: any };
    Ok(match tree {
        Tree::ProviderConnections => {
            let (id, kept) = kept_entities::read(tree, key, value, kept_connections::of_row)?;
            let secrets = sealed(kept.secrets).map(|sealed| Part {
                is_right: |text| OwnSecrets::from_text(text).is_some(),
                ..part("secret", id.clone(), sealed)
            });
            let proxy = sealed(kept.proxy).map(|sealed| part("proxy", proxy_record(&id), sealed));
            secrets.into_iter().chain(proxy).collect()
        }
        Tree::Providers => {
            let (id, kept) = kept_entities::read(tree, key, value, kept_providers::of_row)?;
            let secrets = sealed(kept.secrets).map(|sealed| Part {
                is_right: |text| ProviderSecrets::from_text(text).is_some(),
                ..part("secret", provider_record(&id), sealed)
            });
            secrets.into_iter().collect()
        }
        Tree::Tokens => {
            let (id, kept) = tokens::read(key, value)?;
            let access = kept.access.map(|sealed| part("access token", token_record(&id, "access"), sealed));
            let refresh = part("refresh token", token_record(&id, "refresh"), kept.refresh);
            access.into_iter().chain([refresh]).collect()
        }
        Tree::Handoffs => match codec::read(tree, key, value)? {
            Record::Handoff(key, handoff) => vec![part("summary", key.record(), handoff.sealed)],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    })
}

fn sealed<T>(kept: Kept<T>) -> Option<String> {
    match kept {
        Kept::Sealed(sealed) | Kept::Open(_, sealed) => Some(sealed),
        Kept::Inherited => None,
    }
}
