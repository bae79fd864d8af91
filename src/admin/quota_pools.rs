//! `/api/quota-pools`: accounts of one provider that client keys share (flow 2, contract 8).
//! What is made or changed here is on disk before the answer and applies at once. The models
//! of a pool are no combos that could be listed or changed: they follow from it.

use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Map, Value, json};

use super::errors::Refusal;
use super::input::object;
use super::{Admin, access};
use crate::app::offered_models;
use crate::http::errors::rfc3339;
use crate::settings::{QuotaPool, Settings, Stored, is_id, read_pool};

/// All of them, by id.
pub(super) async fn list(request: HttpRequest, admin: web::Data<Admin>) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let loaded = admin.live.current();
    let settings = &loaded.settings;
    let pools: Vec<Value> = settings.pools.iter().map(|(id, pool)| show(id, pool, settings)).collect();
    Ok(HttpResponse::Ok().json(json!({"pools": pools})))
}

/// One of them.
pub(super) async fn one(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    Ok(HttpResponse::Ok().json(shown(&admin, &id)?))
}

/// Makes one.
pub(super) async fn create(
    request: HttpRequest,
    admin: web::Data<Admin>,
    body: web::Bytes,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let mut body = object(&body)?;
    let given = match body.remove("id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) if is_id(&id) => Some(id),
        Some(_) => {
            return Err(Refusal::invalid(
                "id",
                "is no id, accepted: 1 to 64 characters of A-Z a-z 0-9 . _ -",
            ));
        }
    };
    let (live, now) = (admin.live.clone(), admin.owners.clock.now());
    let id = admin.live.change(move |stored: &mut Stored| {
        let mut pool = read_pool(&body, &live.current().settings).map_err(Refusal::of)?;
        (pool.created_at, pool.updated_at) = (now, now);
        let id = match given {
            Some(id) if stored.pools.contains_key(&id) => {
                return Err(Refusal::Exists("quota pool".into(), id));
            }
            Some(id) => id,
            None => free_id(&pool, stored),
        };
        stored.pools.insert(id.clone(), pool);
        Ok(id)
    });
    let id = id.await?;
    tracing::info!(pool = %id, "an operator made a quota pool");
    Ok(HttpResponse::Created().json(shown(&admin, &id)?))
}

/// Puts a whole one in its place.
pub(super) async fn replace(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
    body: web::Bytes,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    update(&admin, id.into_inner(), object(&body)?, Mode::Replace).await
}

/// Changes the fields that are named; null clears one.
pub(super) async fn patch(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
    body: web::Bytes,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    update(&admin, id.into_inner(), object(&body)?, Mode::Patch).await
}

/// Whether a body is the whole pool or a change of it.
#[derive(Clone, Copy)]
enum Mode {
    Replace,
    Patch,
}

async fn update(
    admin: &Admin,
    id: String,
    mut body: Map<String, Value>,
    mode: Mode,
) -> Result<HttpResponse, Refusal> {
    // What a GET showed can be sent back: what only describes the pool is not read.
    READ_ONLY.iter().for_each(|field| drop(body.remove(*field)));
    let (live, of, now) = (admin.live.clone(), id.clone(), admin.owners.clock.now());
    let changed = admin.live.change(move |stored: &mut Stored| {
        let old = stored.pools.get(&of).ok_or_else(|| unknown(&of))?;
        let mut whole = match mode {
            Mode::Replace => Map::new(),
            Mode::Patch => fields(old),
        };
        whole.extend(body);
        let mut pool = read_pool(&whole, &live.current().settings).map_err(Refusal::of)?;
        (pool.created_at, pool.updated_at) = (old.created_at, now);
        stored.pools.insert(of, pool);
        Ok::<(), Refusal>(())
    });
    changed.await?;
    tracing::info!(pool = %id, "an operator changed a quota pool");
    Ok(HttpResponse::Ok().json(shown(admin, &id)?))
}

/// Takes one away, and its models with it.
pub(super) async fn delete(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let id = id.into_inner();
    let of = id.clone();
    let removed = admin.live.change(move |stored: &mut Stored| match stored.pools.remove(&of) {
        Some(_) => Ok(()),
        None => Err(unknown(&of)),
    });
    removed.await?;
    tracing::info!(pool = %id, "an operator deleted a quota pool");
    Ok(HttpResponse::Ok().json(json!({"success": true})))
}

/// Fields that only describe.
const READ_ONLY: [&str; 6] = ["id", "provider", "models", "createdAt", "updatedAt", "warnings"];

fn shown(admin: &Admin, id: &str) -> Result<Value, Refusal> {
    let loaded = admin.live.current();
    let pool = loaded.settings.pools.get(id).ok_or_else(|| unknown(id))?;
    Ok(show(id, pool, &loaded.settings))
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
