//! Who the client is: its key, kept and compared as SHA-256 only.

use std::collections::HashMap;
use std::sync::Arc;

use actix_web::http::header::{AUTHORIZATION, HeaderMap};
use policy::ids::ConnectionId;
use sha2::{Digest, Sha256};

use super::state::ListedModel;
use crate::settings::{Scope, Settings};

/// What a known key may do.
#[derive(Clone, Debug)]
pub struct KeyPolicy {
    /// Its name.
    pub name: Arc<str>,
    /// It may send requests.
    pub inference: bool,
    /// It may use the management API.
    pub manage: bool,
    /// The connections it may use; `None`: all.
    pub allowed: Option<Arc<[ConnectionId]>>,
    /// The only models it sees and may ask for, those of its quota pools; `None`: all (flow 2.6).
    pub models: Option<Arc<[ListedModel]>>,
}

/// The known keys.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    by_hash: HashMap<[u8; 32], Arc<KeyPolicy>>,
    required: bool,
}

/// What a request's key makes of it.
pub enum Caller {
    /// A known key.
    Known(Arc<KeyPolicy>),
    /// No key, or an unknown one, where none is required.
    Anonymous,
    /// A key is required and this is none.
    Refused,
    /// A known key that may not send requests.
    Forbidden,
}

/// SHA-256 of a key or token.
pub fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

impl Keys {
    /// The keys of a configuration. `shared`: the models of a key's quota pools.
    pub fn of(settings: &Settings, shared: &dyn Fn(&str) -> Vec<ListedModel>) -> Self {
        let by_hash = settings.keys.iter().map(|key| {
            let allowed =
                (!key.allowed_connections.is_empty()).then(|| key.allowed_connections.clone().into());
            let policy = KeyPolicy {
                name: key.name.as_str().into(),
                inference: key.scopes.contains(&Scope::Inference),
                manage: key.scopes.contains(&Scope::Manage),
                allowed,
                models: key.quota_only.then(|| shared(&key.name).into()),
            };
            (hash(key.key.expose()), Arc::new(policy))
        });
        Self { by_hash: by_hash.collect(), required: settings.server.keys_required() }
    }

    /// Adds a key that was made at start and is kept as a hash.
    pub fn add(&mut self, hash: [u8; 32], name: &str) {
        let policy =
            KeyPolicy { name: name.into(), inference: true, manage: false, allowed: None, models: None };
        self.by_hash.insert(hash, Arc::new(policy));
    }

    /// No key is known.
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    /// A key is required.
    pub fn required(&self) -> bool {
        self.required
    }

    /// The policy of a key.
    pub fn find(&self, key: &str) -> Option<&Arc<KeyPolicy>> {
        // Nothing is hashed when nothing could be found.
        if self.by_hash.is_empty() { None } else { self.by_hash.get(&hash(key)) }
    }

    /// The policy of the key of that name.
    pub fn named(&self, name: &str) -> Option<&Arc<KeyPolicy>> {
        self.by_hash.values().find(|policy| &*policy.name == name)
    }

    /// Judges a client's request.
    pub fn caller(&self, headers: &HeaderMap) -> Caller {
        let known = credential(headers).and_then(|key| self.find(key));
        match known {
            Some(policy) if policy.inference => Caller::Known(policy.clone()),
            Some(_) => Caller::Forbidden,
            None if self.required => Caller::Refused,
            None => Caller::Anonymous,
        }
    }
}

/// The client's own credential: the bearer token first, then `x-api-key` (decision 28).
pub fn credential(headers: &HeaderMap) -> Option<&str> {
    bearer(headers).or_else(|| headers.get("x-api-key")?.to_str().ok().map(str::trim))
}

/// The bearer token.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
