//! Who the client is: its key, kept and compared as SHA-256 only.

use std::collections::HashMap;
use std::sync::Arc;

use actix_web::http::header::{AUTHORIZATION, HeaderMap};
use policy::ids::ConnectionId;
use policy::keys::{Fallen, Schedule};
use policy::time::Millis;
use sha2::{Digest, Sha256};

use super::state::ListedModel;
use crate::settings::{Key, KeyRules, KeySecret, Scope, Settings};
use crate::upstream::header;

/// What a known key may do.
#[derive(Clone, Debug)]
pub struct KeyPolicy {
    /// Its name.
    pub name: Arc<str>,
    /// It may send requests.
    pub inference: bool,
    /// It may use the management API.
    pub manage: bool,
    /// It leases connections, and sends requests under a lease only (rules 7).
    pub lease: bool,
    /// The connections it may use; `None`: all.
    pub allowed: Option<Arc<[ConnectionId]>>,
    /// Of these, those that are tried before the others; `None`: none.
    pub preferred: Option<Arc<[ConnectionId]>>,
    /// Whether it stands, what it reaches, and how much of it.
    pub rules: KeyRules,
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
    /// A known key that is none any more; it is not taken for no key at all.
    Fallen(Fallen),
}

/// SHA-256 of a key or token.
pub fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

impl KeyPolicy {
    /// Who comes with this key.
    pub fn caller(self: &Arc<Self>, now: Millis) -> Caller {
        match self.rules.standing.at(now) {
            Err(fallen) => Caller::Fallen(fallen),
            Ok(()) if self.inference => Caller::Known(self.clone()),
            Ok(()) => Caller::Forbidden,
        }
    }

    fn of(key: &Key, shared: &dyn Fn(&str) -> Vec<ListedModel>) -> Self {
        let some = |ids: &[ConnectionId]| (!ids.is_empty()).then(|| ids.into());
        Self {
            name: key.name.as_str().into(),
            inference: key.scopes.contains(&Scope::Inference),
            manage: key.scopes.contains(&Scope::Manage),
            lease: key.scopes.contains(&Scope::Lease),
            allowed: some(&key.allowed_connections),
            preferred: some(&key.preferred_connections),
            rules: key.rules.clone(),
            models: key.quota_only.then(|| shared(&key.name).into()),
        }
    }
}

impl Keys {
    /// The keys of a configuration. `shared`: the models of a key's quota pools.
    pub fn of(settings: &Settings, shared: &dyn Fn(&str) -> Vec<ListedModel>) -> Self {
        let by_hash = settings.keys.iter().filter_map(|key| {
            let hash = match &key.key {
                KeySecret::Plain(secret) => hash(secret.expose()),
                KeySecret::Hashed(kept) => kept.hash,
                KeySecret::Lost => return None,
            };
            Some((hash, Arc::new(KeyPolicy::of(key, shared))))
        });
        Self { by_hash: by_hash.collect(), required: settings.server.keys_required() }
    }

    /// Adds a key that was made at start and is kept as a hash.
    pub fn add(&mut self, hash: [u8; 32], name: &str) {
        let policy = KeyPolicy {
            name: name.into(),
            inference: true,
            manage: false,
            lease: false,
            allowed: None,
            preferred: None,
            rules: KeyRules::default(),
            models: None,
        };
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

    /// The key of this hash, if it stands, may manage, and is not outside its hours.
    pub fn manager(&self, hash: &[u8; 32], now: Millis) -> Option<&Arc<KeyPolicy>> {
        self.by_hash.get(hash).filter(|policy| {
            let (rules, is_open) = (&policy.rules, |schedule: Schedule| schedule.at(now).is_ok());
            policy.manage && rules.standing.at(now).is_ok() && rules.schedule.is_none_or(is_open)
        })
    }

    /// The policy of a key.
    fn find(&self, key: &str) -> Option<&Arc<KeyPolicy>> {
        // Nothing is hashed when nothing could be found.
        if self.by_hash.is_empty() { None } else { self.by_hash.get(&hash(key)) }
    }

    /// The policy of a key that stands.
    pub fn standing(&self, key: &str, now: Millis) -> Option<&Arc<KeyPolicy>> {
        self.find(key).filter(|policy| policy.rules.standing.at(now).is_ok())
    }

    /// The policy of the key of that name.
    pub fn named(&self, name: &str) -> Option<&Arc<KeyPolicy>> {
        self.by_hash.values().find(|policy| &*policy.name == name)
    }

    /// Judges a client's request.
    pub fn caller(&self, headers: &HeaderMap, now: Millis) -> Caller {
        match credential(headers).and_then(|key| self.find(key)) {
            Some(policy) => policy.caller(now),
            None if self.required => Caller::Refused,
            None => Caller::Anonymous,
        }
    }
}

/// The client's own credential: the bearer token first, then `x-api-key` (decision 28).
pub fn credential(headers: &HeaderMap) -> Option<&str> {
    bearer(headers).or_else(|| header(headers, "x-api-key")?.to_str().ok().map(str::trim))
}

/// The bearer token.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
