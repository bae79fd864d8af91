//! `/api/keys`: what clients show (routing 10.5). A key that is made here is shown once, in the
//! answer that makes it, and kept as its hash. What is made or changed is on disk before the answer,
//! wins over the file's key of the same name, and applies at once.

use actix_web::{HttpRequest, HttpResponse, web};
use policy::time::Millis;
use serde_json::{Map, Value, json};

use super::errors::Refusal;
use super::input::object;
use super::providers::edit::merge;
use super::providers::secrets::{GAP, mask};
use super::providers::view::source;
use super::{Admin, access};
use crate::http::auth::hash;
use crate::http::errors::rfc3339;
use crate::settings::{
    Detail, Key, KeyHash, KeySecret, Secret, Settings, Shape, Stored, StoredKey, check_key, show_key,
};

/// What a read shows and no body can change; a client may send it back.
const READ_ONLY: [&str; 7] = ["id", "key", "status", "source", "overrides", "createdAt", "updatedAt"];

/// All of them, by name.
pub(super) async fn list(request: HttpRequest, admin: web::Data<Admin>) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let stored = admin.live.stored().await;
    let loaded = admin.live.current();
    let mut keys: Vec<&Key> = loaded.settings.keys.iter().collect();
    keys.sort_by(|a, b| a.name.cmp(&b.name));
    let now = admin.owners.clock.now();
    let rows: Vec<Value> = keys.into_iter().map(|key| show(key, &stored, now)).collect();
    Ok(HttpResponse::Ok().json(json!({ "keys": rows })))
}

/// One of them.
pub(super) async fn one(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    Ok(HttpResponse::Ok().json(shown(&admin, &id).await?))
}

/// Makes one; the answer shows the key this once.
pub(super) async fn create(
    request: HttpRequest,
    admin: web::Data<Admin>,
    body: web::Bytes,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let body = object(&body)?;
    let secret = made()?;
    let kept = KeyHash { hash: hash(secret.expose()), mask: mask(&secret) };
    let (live, now) = (admin.live.clone(), admin.owners.clock.now());
    let name = admin.live.change(move |stored: &mut Stored| {
        let loaded = live.current();
        let mut fields = body;
        fields.retain(|_, value| !value.is_null());
        let name = fields.remove("name");
        let name = checked(&loaded.settings, name, &fields)?;
        if loaded.settings.keys.iter().any(|key| key.name == name) || stored.keys.contains_key(&name) {
            return Err(Refusal::Exists("key".into(), name));
        }
        let key = StoredKey { fields, hash: Some(kept), created_at: now, updated_at: now };
        stored.keys.insert(name.clone(), key);
        Ok(name)
    });
    let name = name.await?;
    tracing::info!(key = %name, "an operator made a client key");
    let mut answer = shown(&admin, &name).await?;
    answer["key"] = secret.expose().into();
    Ok(HttpResponse::Created().insert_header(("cache-control", "no-store")).json(answer))
}

/// 256 random bits.
fn made() -> Result<Secret, Refusal> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|_| Refusal::Unkept)?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Secret::from(format!("sk-swt-{hex}")))
}

/// Puts a whole one in its place; what opens it stays.
pub(super) async fn replace(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
    body: web::Bytes,
) -> Result<HttpResponse, Refusal> {
    update(request, admin, id.into_inner(), &body, true).await
}

/// Changes the fields that are named; null clears one.
pub(super) async fn patch(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
    body: web::Bytes,
) -> Result<HttpResponse, Refusal> {
    update(request, admin, id.into_inner(), &body, false).await
}

async fn update(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: String,
    body: &[u8],
    whole: bool,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let mut body = object(body)?;
    body.retain(|field, _| !READ_ONLY.contains(&field.as_str()));
    if body.is_empty() && !whole {
        return Ok(HttpResponse::Ok().json(shown(&admin, &id).await?));
    }
    let (live, of, now) = (admin.live.clone(), id.clone(), admin.owners.clock.now());
    let changed = admin.live.change(move |stored: &mut Stored| {
        let loaded = live.current();
        let current = find(&loaded.settings, &of)?;
        let existing = stored.keys.get(&of);
        let mut change = body;
        if change.remove("name").is_some_and(|name| !name.is_null() && name.as_str() != Some(&of)) {
            let message = "cannot change; delete this key and make another one";
            return Err(Refusal::invalid("name", message));
        }
        let mut fields = match (whole, existing) {
            (true, _) => Map::new(),
            (false, Some(existing)) => existing.fields.clone(),
            (false, None) => current.given.clone(),
        };
        fields.remove("name");
        merge(&mut fields, change);
        let details = check_key(&loaded.settings, &of, &fields);
        if !details.is_empty() {
            return Err(Refusal::of(details));
        }
        let (hash, created_at) = existing.map_or((None, now), |it| (it.hash.clone(), it.created_at));
        stored.keys.insert(of, StoredKey { fields, hash, created_at, updated_at: now });
        Ok::<(), Refusal>(())
    });
    changed.await?;
    tracing::info!(key = %id, "an operator changed a client key");
    Ok(HttpResponse::Ok().json(shown(&admin, &id).await?))
}

/// Takes a stored one away; what the file has of that name is in force again.
pub(super) async fn delete(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let id = id.into_inner();
    let (live, of) = (admin.live.clone(), id.clone());
    let removed = admin.live.change(move |stored: &mut Stored| match stored.keys.remove(&of) {
        Some(_) => Ok(()),
        None => find(&live.current().settings, &of).and(Err(Refusal::FromFile(of))),
    });
    removed.await?;
    tracing::info!(key = %id, "an operator deleted a client key");
    Ok(HttpResponse::Ok().json(json!({"success": true})))
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

async fn shown(admin: &Admin, name: &str) -> Result<Value, Refusal> {
    let stored = admin.live.stored().await;
    let loaded = admin.live.current();
    Ok(show(find(&loaded.settings, name)?, &stored, admin.owners.clock.now()))
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
    shown.insert("source".into(), source(key.source).into());
    shown.insert("overrides".into(), key.replaces.map(source).into());
    let record = stored.keys.get(&key.name);
    shown.insert("createdAt".into(), record.map(|record| rfc3339(record.created_at)).into());
    shown.insert("updatedAt".into(), record.map(|record| rfc3339(record.updated_at)).into());
    shown.into()
}
