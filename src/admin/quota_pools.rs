//! `/api/quota-pools`: accounts of one provider that client keys share (flow 2, contract 8).
//! What is made or changed here is on disk before the answer and applies at once. The models
//! of a pool are no combos that could be listed or changed: they follow from it.

use serde_json::{Map, Value, json};

use super::entities::{Edit, Entity, Made, Mode, Seen};
use super::errors::Refusal;
use super::input;
use crate::app::offered_models;
use crate::http::errors::rfc3339;
use crate::settings::{QuotaPool, Settings, Stored, read_pool};

/// Quota pools, by id.
pub(super) struct Pools;

impl Entity for Pools {
    const KIND: &'static str = "quota pool";
    const LIST: &'static str = "pools";
    const READ_ONLY: &'static [&'static str] =
        &["id", "provider", "models", "createdAt", "updatedAt", "warnings"];

    fn rows(seen: &Seen<'_>) -> Vec<Value> {
        let settings = &seen.loaded.settings;
        settings.pools.iter().map(|(id, pool)| show(id, pool, settings)).collect()
    }

    fn show(seen: &Seen<'_>, id: &str) -> Result<Value, Refusal> {
        let settings = &seen.loaded.settings;
        Ok(show(id, settings.pools.get(id).ok_or_else(|| unknown(id))?, settings))
    }

    fn create(edit: &Edit, stored: &mut Stored, mut body: Map<String, Value>) -> Result<Made, Refusal> {
        let given = input::id(&mut body)?;
        let mut pool = read_pool(&body, &edit.live.current().settings).map_err(Refusal::of)?;
        (pool.created_at, pool.updated_at) = (edit.now, edit.now);
        let id = match given {
            Some(id) if stored.pools.contains_key(&id) => {
                return Err(Refusal::Exists("quota pool".into(), id));
            }
            Some(id) => id,
            None => free_id(&pool, stored),
        };
        stored.pools.insert(id.clone(), pool);
        Ok(Made::plain(id))
    }

    fn update(
        edit: &Edit,
        stored: &mut Stored,
        id: &str,
        (change, mode): (Map<String, Value>, Mode),
    ) -> Result<Vec<String>, Refusal> {
        let old = stored.pools.get(id).ok_or_else(|| unknown(id))?;
        let mut whole = match mode {
            Mode::Replace => Map::new(),
            Mode::Patch => fields(old),
        };
        whole.extend(change);
        let mut pool = read_pool(&whole, &edit.live.current().settings).map_err(Refusal::of)?;
        (pool.created_at, pool.updated_at) = (old.created_at, edit.now);
        stored.pools.insert(id.into(), pool);
        Ok(Vec::new())
    }

    /// Its models go with it.
    fn remove(_: &Edit, stored: &mut Stored, id: String) -> Result<(), Refusal> {
        stored.pools.remove(&id).map(drop).ok_or_else(|| unknown(&id))
    }
}

fn show(id: &str, pool: &QuotaPool, settings: &Settings) -> Value {
    let mut shown = Value::Object(fields(pool));
    shown["id"] = id.into();
    shown["provider"] = json!(pool.provider(settings));
    shown["models"] = json!(offered_models(pool, settings));
    shown["createdAt"] = rfc3339(pool.created_at).into();
    shown["updatedAt"] = rfc3339(pool.updated_at).into();
    let warnings = warnings(pool, settings);
    if !warnings.is_empty() {
        shown["warnings"] = warnings.into();
    }
    shown
}

/// A pool as a body says it.
fn fields(pool: &QuotaPool) -> Map<String, Value> {
    let mut fields = match json!(pool) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    fields.remove("createdAt");
    fields.remove("updatedAt");
    fields
}

/// What names nothing: it may come later, or be a slip.
fn warnings(pool: &QuotaPool, settings: &Settings) -> Vec<Value> {
    let keys = pool.allocations.iter().enumerate().filter_map(|(index, allocation)| {
        let known = settings.keys.iter().any(|key| key.name == allocation.key_id);
        (!known).then(|| (format!("allocations[{index}].keyId"), "names no key that is configured"))
    });
    let members = pool.connections.iter().enumerate().filter_map(|(index, id)| {
        let known = settings.connections.iter().any(|connection| connection.id == *id);
        (!known).then(|| (format!("connections[{index}]"), "is gone, and contributes nothing"))
    });
    keys.chain(members).map(|(field, message)| json!({"field": field, "message": message})).collect()
}

/// An id made of the name, that nobody has.
fn free_id(pool: &QuotaPool, stored: &Stored) -> String {
    let mut base: String = pool
        .name
        .to_lowercase()
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .take(56)
        .collect();
    base = base.trim_matches('-').to_owned();
    if base.is_empty() {
        base = "pool".to_owned();
    }
    let numbered = (2..).map(|number: u32| format!("{base}-{number}"));
    let free = |id: &String| !stored.pools.contains_key(id);
    std::iter::once(base.clone()).chain(numbered).find(free).unwrap_or(base)
}

fn unknown(id: &str) -> Refusal {
    Refusal::NotFound("quota pool".into(), id.into())
}
