//! Records: JSON in an envelope with a version, readable with any tool.

use actors::messages::{ConnectionSnapshot, Owner, Snapshot};
use policy::affinity::{Pin, PinKey};
use policy::breaker::BreakerSnapshot;
use policy::handoff::{Handoff, HandoffKey};
use policy::ids::{ConnectionId, ProviderId};
use policy::lease::{OwnerHash, Row};
use policy::lockout::{LockKey, LockoutSnapshot};
use policy::quota::{Counts, SlotKey};
use policy::strategy::LastGood;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use super::tree::Tree;

/// The version that is written. An older one is read as long as its fields have defaults.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    v: u32,
    data: T,
}

/// A record that was read.
#[derive(Clone, Debug)]
pub enum Record {
    /// Of a provider.
    Breaker(ProviderId, BreakerSnapshot),
    /// Of a connection.
    Connection(ConnectionId, ConnectionSnapshot),
    /// Of a lockout.
    Lockout(ConnectionId, LockoutSnapshot),
    /// Of a while of a key's use.
    Usage(SlotKey, Counts),
    /// Of an owner's newest lease.
    Lease(Row),
    /// Of a session's tie to an account.
    Pin(PinKey, Pin),
    /// Who served a combo last.
    LastGood(String, LastGood),
    /// Of a summary for a session's next account.
    Handoff(HandoffKey, Handoff),
}

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Not the JSON it should be.
    #[error("not a record of this tree: {}", fault(.0))]
    Json(#[from] serde_json::Error),
    /// Written by a newer switchtower.
    #[error("version {0} is newer than the {VERSION} that is understood")]
    Newer(u32),
    /// The key is no id.
    #[error("the key is not an id")]
    Key,
    /// A hash is none.
    #[error("its hash is none")]
    Hash,
}

/// What is wrong, without a word of the record: it may hold a secret, and the parser quotes it.
fn fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match error.classify() {
        Category::Data if text.starts_with("missing field `") => text,
        Category::Data => format!("a value is not what it must be at column {}", error.column()),
        Category::Syntax | Category::Eof | Category::Io => format!("no JSON at column {}", error.column()),
    }
}

/// Where an owner's record stands.
pub(super) fn place(owner: &Owner) -> Option<(Tree, String)> {
    match owner {
        Owner::Provider(id) => Some((Tree::Breakers, id.to_string())),
        Owner::Connection(id) => Some((Tree::Connections, id.to_string())),
        Owner::Lockout(connection, key) => Some((Tree::Lockouts, key.id(connection))),
        Owner::Usage(_) => Some((Tree::Usage, owner.id())),
        Owner::Lease(owner) => Some((Tree::Leases, owner.to_string())),
        Owner::Pin(_) => Some((Tree::Pins, owner.id())),
        Owner::LastGood(_) => Some((Tree::LastGood, owner.id())),
        Owner::Handoff(_) => Some((Tree::Handoffs, owner.id())),
        Owner::Router | Owner::Store => None,
    }
}

/// The bytes of a snapshot.
pub(super) fn write(snapshot: &Snapshot) -> Result<Vec<u8>, serde_json::Error> {
    match snapshot {
        Snapshot::Breaker(data) => seal(data),
        Snapshot::Connection(data) => seal(data),
        Snapshot::Lockout(data) => seal(data),
        Snapshot::Usage(data) => seal(data),
        Snapshot::Lease(data) => seal(data),
        Snapshot::Pin(data) => seal(data),
        Snapshot::LastGood(data) => seal(data),
        Snapshot::Handoff(data) => seal(data),
    }
}

/// A value in the envelope.
pub(super) fn seal<T: Serialize>(data: &T) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&Envelope { v: VERSION, data })
}

/// The value in an envelope.
pub(super) fn open<T: DeserializeOwned>(value: &[u8]) -> Result<T, Unreadable> {
    #[derive(Deserialize)]
    struct Version {
        v: u32,
    }
    let Version { v } = serde_json::from_slice(value)?;
    if v > VERSION {
        return Err(Unreadable::Newer(v));
    }
    Ok(serde_json::from_slice::<Envelope<T>>(value)?.data)
}

/// What an entity of the config may be called (contract 8): nothing else has an owner.
pub(super) fn is_id(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(known)
}

/// Reads one record.
pub(super) fn read(tree: Tree, key: &[u8], value: &[u8]) -> Result<Record, Unreadable> {
    let key = std::str::from_utf8(key).map_err(|_| Unreadable::Key)?;
    match tree {
        Tree::Breakers | Tree::Connections if !is_id(key) => Err(Unreadable::Key),
        Tree::Breakers => Ok(Record::Breaker(key.into(), open(value)?)),
        Tree::Connections => Ok(Record::Connection(key.into(), open(value)?)),
        Tree::Lockouts => {
            let named = LockKey::parse_id(key).filter(|(connection, _)| is_id(connection.as_str()));
            let (connection, lock) = named.ok_or(Unreadable::Key)?;
            let mut stored: LockoutSnapshot = open(value)?;
            stored.key = lock;
            Ok(Record::Lockout(connection, stored))
        }
        Tree::Usage => Ok(Record::Usage(slot(key).ok_or(Unreadable::Key)?, open(value)?)),
        Tree::Leases => lease(key, open(value)?).map(Record::Lease),
        Tree::LastGood => Ok(Record::LastGood(key.to_owned(), open(value)?)),
        Tree::Pins => Ok(Record::Pin(pin(key).ok_or(Unreadable::Key)?, open(value)?)),
        Tree::Handoffs => Ok(Record::Handoff(handoff(key).ok_or(Unreadable::Key)?, open(value)?)),
        Tree::Settings
        | Tree::ProviderConnections
        | Tree::Providers
        | Tree::Keys
        | Tree::Combos
        | Tree::Mappings
        | Tree::Aliases
        | Tree::Pools
        | Tree::History
        | Tree::Audit
        | Tree::Tokens
        | Tree::Meta
        | Tree::Quarantine => Err(Unreadable::Key),
    }
}

/// `PROVIDER/SESSION`.
fn pin(text: &str) -> Option<PinKey> {
    let (provider, session) =
        text.split_once('/').filter(|(provider, session)| is_id(provider) && is_id(session))?;
    Some(PinKey { provider: provider.into(), session: session.into() })
}

/// `SESSION/COMBO`: a combo's name may hold slashes.
fn handoff(text: &str) -> Option<HandoffKey> {
    let (session, combo) =
        text.split_once('/').filter(|(session, combo)| is_id(session) && !combo.is_empty())?;
    Some(HandoffKey { session: session.into(), combo: combo.into() })
}

/// `POOL/START/KEY`: a key may be called anything.
fn slot(text: &str) -> Option<SlotKey> {
    let mut parts = text.splitn(3, '/');
    let (pool, start, key) = (parts.next()?, parts.next()?, parts.next()?);
    let start = start.parse().ok().filter(|_| is_id(pool) && !key.is_empty())?;
    Some(SlotKey { pool: pool.into(), key: key.into(), start })
}

/// A row says whose it is, as its key does.
fn lease(key: &str, row: Row) -> Result<Row, Unreadable> {
    let owner = OwnerHash::from_hex(key).filter(|owner| *owner == row.owner);
    let named = is_id(row.connection.as_str()) && is_id(row.provider.as_str()) && row.generation > 0;
    owner.filter(|_| named).map(|_| row).ok_or(Unreadable::Key)
}
