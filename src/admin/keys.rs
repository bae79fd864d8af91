//! `/api/keys`: what clients show (routing 10.5). A key that is made here is shown once, in the
//! answer that makes it, and kept as its hash. What is made or changed is on disk before the answer,
//! wins over the file's key of the same name, and applies at once.

use policy::time::Millis;
use serde_json::{Map, Value};

use super::entities::{Edit, Entity, Made, Mode, Seen, describe_whole, merge_unchecked, without_nulls};
use super::errors::Refusal;
use super::providers::secrets::{GAP, mask};
use crate::http::auth::hash;
use crate::settings::{
    Detail, Key, KeyHash, KeySecret, Secret, Settings, Shape, Stored, StoredKey, check_key, show_key,
};

/// Client keys, by name.
pub(super) struct Keys;

impl Entity for Keys {
    const KIND: &'static str = "client key";
    const LIST: &'static str = "keys";
    const READ_ONLY: &'static [&'static str] =
        &["id", "key", "status", "source", "overrides", "createdAt", "updatedAt"];

    fn rows(seen: &Seen<'_>) -> Vec<Value> {
        let mut keys: Vec<&Key> = seen.loaded.settings.keys.iter().collect();
        keys.sort_by(|a, b| a.name.cmp(&b.name));
        let now = seen.admin.owners.clock.now();
        keys.into_iter().map(|key| show(key, &seen.stored, now)).collect()
    }

    fn show(seen: &Seen<'_>, name: &str) -> Result<Value, Refusal> {
        Ok(show(find(&seen.loaded.settings, name)?, &seen.stored, seen.admin.owners.clock.now()))
    }

    fn create(edit: &Edit, stored: &mut Stored, mut fields: Map<String, Value>) -> Result<Made, Refusal> {
        let settings = &edit.live.current().settings;
        let name = fields.remove("name").filter(|name| !name.is_null());
        let name = checked(settings, name, &fields)?;
        if find(settings, &name).is_ok() || stored.keys.contains_key(&name) {
            return Err(Refusal::Exists("key".into(), name));
        }
        let secret = made()?;
        let kept = KeyHash { hash: hash(secret.expose()), mask: mask(&secret) };
        let fields = without_nulls(fields);
        let key = StoredKey { fields, hash: Some(kept), created_at: edit.now, updated_at: edit.now };
        stored.keys.insert(name.clone(), key);
        Ok(Made { secret: Some(secret), ..Made::plain(name) })
    }

    /// What opens it stays.
    fn update(
        edit: &Edit,
        stored: &mut Stored,
        name: &str,
        (mut change, mode): (Map<String, Value>, Mode),
    ) -> Result<Vec<String>, Refusal> {
        let settings = &edit.live.current().settings;
        let current = find(settings, name)?;
        let existing = stored.keys.get(name);
        if change.remove("name").is_some_and(|given| !given.is_null() && given.as_str() != Some(name)) {
            return Err(Refusal::invalid("name", "cannot change; delete this key and make another one"));
        }
        let mut fields = match (mode, existing) {
            (Mode::Replace, _) => Map::new(),
            (Mode::Patch, Some(existing)) => existing.fields.clone(),
            (Mode::Patch, None) => current.given.clone(),
        };
        fields.remove("name");
        merge_unchecked(&mut fields, change);
        let details = check_key(settings, name, &fields);
        if !details.is_empty() {
            return Err(Refusal::of(details));
        }
        let fields = without_nulls(fields);
        let (hash, created_at) = existing.map_or((None, edit.now), |it| (it.hash.clone(), it.created_at));
        stored.keys.insert(name.into(), StoredKey { fields, hash, created_at, updated_at: edit.now });
        Ok(Vec::new())
    }

    fn remove(edit: &Edit, stored: &mut Stored, name: String) -> Result<(), Refusal> {
        match stored.keys.remove(&name) {
            Some(_) => Ok(()),
            None => find(&edit.live.current().settings, &name).and(Err(Refusal::FromFile(name.clone()))),
        }
    }
}

/// 256 random bits.
fn made() -> Result<Secret, Refusal> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|_| Refusal::Unkept)?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Secret::from(format!("sk-swt-{hex}")))
}

/// The name, if everything is right.
fn checked(settings: &Settings, name: Option<Value>, fields: &Map<String, Value>) -> Result<String, Refusal> {
    let mut details = Vec::new();
    let name = match name {
        Some(Value::String(name)) if Shape::Name.fits(&name) && name.trim() == name => Some(name),
        given => {
            let problem = if given.is_none() { "is missing" } else { "is no name" };
            details.push(Detail::new("name", format!("{problem}, accepted: {}", Shape::Name.accepted())));
            None
        }
    };
    details.extend(check_key(settings, name.as_deref().unwrap_or("key"), fields));
    match name {
        Some(name) if details.is_empty() => Ok(name),
        _ => Err(Refusal::of(details)),
    }
}

fn find<'a>(settings: &'a Settings, name: &str) -> Result<&'a Key, Refusal> {
    let found = settings.keys.iter().find(|key| key.name == name);
    found.ok_or_else(|| Refusal::NotFound("key".into(), name.into()))
}

fn show(key: &Key, stored: &Stored, now: Millis) -> Value {
    let mut shown = Map::new();
    shown.insert("id".into(), key.name.as_str().into());
    shown.insert("name".into(), key.name.as_str().into());
    let masked = match &key.key {
        KeySecret::Plain(secret) => Some(mask(secret)),
        KeySecret::Hashed(kept) if kept.mask.is_empty() => Some(GAP.to_string()),
        KeySecret::Hashed(kept) => Some(kept.mask.clone()),
        KeySecret::Lost => None,
    };
    shown.insert("key".into(), masked.into());
    shown.extend(show_key(key));
    let status = match key.rules.standing.at(now) {
        Ok(()) => "active",
        Err(fallen) => fallen.name(),
    };
    shown.insert("status".into(), status.into());
    let dates = stored.keys.get(&key.name).map(|record| (record.created_at, record.updated_at));
    describe_whole(&mut shown, (key.source, key.replaces), dates);
    shown.into()
}
