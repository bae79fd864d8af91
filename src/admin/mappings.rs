//! `/api/model-combo-mappings` and `/api/models/alias`: other ways to a combo or a model
//! (routing 2.1, 12.3, 14.1). Stored ones win over the file's and apply at once.

use std::collections::BTreeMap;

use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Map, Value, json};

use super::entities::{self, Mode};
use super::errors::Refusal;
use super::input::{self, object};
use super::providers::change;
use super::{Admin, access};
use crate::settings::{
    Checked, Mapping, Settings, Stored, check_alias, check_mapping, free_mapping_id, is_id,
};

/// All mappings, as they are looked at.
pub(super) async fn list(request: HttpRequest, admin: web::Data<Admin>) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let stored = admin.live.stored().await;
    let loaded = admin.live.current();
    let mut mappings: Vec<&Mapping> = loaded.settings.mappings.iter().collect();
    mappings.sort_by_key(|mapping| mapping.priority);
    let mappings: Vec<Value> = mappings.into_iter().map(|mapping| show(mapping, &stored)).collect();
    Ok(HttpResponse::Ok().json(json!({"mappings": mappings})))
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
    let id = change(&admin, move |stored: &mut Stored| {
        let loaded = live.current();
        let taken = |id: &str| loaded.settings.mappings.iter().any(|mapping| mapping.id == id);
        let pattern = body.get("pattern").and_then(Value::as_str).unwrap_or_default();
        let id = match given {
            Some(id) if taken(&id) => return Err(Refusal::Exists("mapping".into(), id)),
            Some(id) => id,
            None => free_mapping_id(pattern, &taken),
        };
        keep(stored, &loaded.settings, &id, body, now)?;
        Ok(id)
    });
    let id = id.await?;
    tracing::info!(mapping = %id, "an operator made a mapping");
    Ok(HttpResponse::Created().json(shown(&admin, &id).await?))
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

async fn update(
    admin: &Admin,
    id: String,
    body: Map<String, Value>,
    mode: Mode,
) -> Result<HttpResponse, Refusal> {
    let (live, of, now) = (admin.live.clone(), id.clone(), admin.owners.clock.now());
    change(admin, move |stored: &mut Stored| {
        let loaded = live.current();
        let current = loaded.settings.mappings.iter().find(|mapping| mapping.id == of);
        let current = current.ok_or_else(|| unknown(&of))?;
        let change = entities::fields(body, &["id"], &of)?;
        let mut whole = match mode {
            Mode::Replace => Map::new(),
            Mode::Patch => fields(current),
        };
        entities::merge(&mut whole, change);
        keep(stored, &loaded.settings, &of, whole, now)
    })
    .await?;
    tracing::info!(mapping = %id, "an operator changed a mapping");
    Ok(HttpResponse::Ok().json(shown(admin, &id).await?))
}

fn keep(
    stored: &mut Stored,
    settings: &Settings,
    id: &str,
    body: Map<String, Value>,
    now: policy::time::Millis,
) -> Result<(), Refusal> {
    let Checked { entity, .. } = check_mapping(settings, id, &body).map_err(Refusal::of)?;
    entities::put(&mut stored.mappings, id, fields(&entity), now);
    Ok(())
}

/// Takes a stored one away; what the file has of that id is in force again.
pub(super) async fn delete(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let id = id.into_inner();
    let (live, of) = (admin.live.clone(), id.clone());
    change(&admin, move |stored: &mut Stored| match stored.mappings.remove(&of) {
        Some(_) => Ok(()),
        None => Err(match live.current().settings.mappings.iter().any(|mapping| mapping.id == of) {
            true => Refusal::Fixed(of),
            false => unknown(&of),
        }),
    })
    .await?;
    tracing::info!(mapping = %id, "an operator deleted a mapping");
    Ok(HttpResponse::Ok().json(json!({"success": true})))
}

async fn shown(admin: &Admin, id: &str) -> Result<Value, Refusal> {
    let stored = admin.live.stored().await;
    let loaded = admin.live.current();
    let mapping = loaded.settings.mappings.iter().find(|mapping| mapping.id == id);
    Ok(show(mapping.ok_or_else(|| unknown(id))?, &stored))
}

fn show(mapping: &Mapping, stored: &Stored) -> Value {
    let mut shown = Value::Object(fields(mapping));
    shown["id"] = mapping.id.as_str().into();
    entities::describe(&mut shown, (mapping.source, mapping.replaces), stored.mappings.get(&mapping.id));
    shown
}

/// A mapping as a body says it.
fn fields(mapping: &Mapping) -> Map<String, Value> {
    let mut fields = Map::from_iter([
        ("pattern".to_owned(), Value::from(mapping.pattern.as_str())),
        ("comboId".to_owned(), mapping.combo.as_str().into()),
        ("priority".to_owned(), mapping.priority.into()),
        ("enabled".to_owned(), mapping.enabled.into()),
    ]);
    if let Some(description) = &mapping.description {
        fields.insert("description".to_owned(), description.as_str().into());
    }
    fields
}

fn unknown(id: &str) -> Refusal {
    Refusal::NotFound("mapping".into(), id.into())
}

/// Every alias, and who made each.
pub(super) async fn aliases(request: HttpRequest, admin: web::Data<Admin>) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    Ok(HttpResponse::Ok().json(all_aliases(&admin)))
}

fn all_aliases(admin: &Admin) -> Value {
    let loaded = admin.live.current();
    let aliases = loaded.settings.aliases.iter();
    let to: BTreeMap<&str, &str> = aliases.clone().map(|(name, alias)| (&**name, &*alias.to)).collect();
    let source: BTreeMap<&str, &str> =
        aliases.map(|(name, alias)| (&**name, entities::source_name(alias.source))).collect();
    json!({"aliases": to, "sources": source})
}

/// Sets one (`from`, `to`), or all that `aliases` names.
pub(super) async fn set_aliases(
    request: HttpRequest,
    admin: web::Data<Admin>,
    body: web::Bytes,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let wanted = wanted(object(&body)?)?;
    let live = admin.live.clone();
    let names: Vec<String> = wanted.keys().cloned().collect();
    change(&admin, move |stored: &mut Stored| {
        let loaded = live.current();
        let mut wrong = Vec::new();
        for (name, to) in &wanted {
            match check_alias(&loaded.settings, name, to) {
                Ok(to) => drop(stored.aliases.insert(name.trim().to_owned(), to)),
                Err(mut details) => wrong.append(&mut details),
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(Refusal::of(wrong)) }
    })
    .await?;
    tracing::info!(aliases = ?names, "an operator set aliases");
    Ok(HttpResponse::Ok().json(all_aliases(&admin)))
}

fn wanted(mut body: Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
    const ACCEPTED: &str = "unknown field; accepted: from and to, or aliases";
    if let Some(field) = body.keys().find(|field| !["from", "to", "aliases"].contains(&field.as_str())) {
        return Err(Refusal::invalid(field, ACCEPTED));
    }
    match (body.remove("from"), body.remove("to"), body.remove("aliases")) {
        (Some(Value::String(from)), Some(to), None) => Ok(Map::from_iter([(from, to)])),
        (None, None, Some(Value::Object(aliases))) if !aliases.is_empty() => Ok(aliases),
        (None, None, Some(_)) => Err(Refusal::invalid("aliases", "must be an object of names and models")),
        (_, None, None) => Err(Refusal::invalid("to", "is missing")),
        _ => Err(Refusal::invalid("from", "must be a text; from and to, or aliases")),
    }
}

/// `?from=`: the alias that goes.
#[derive(serde::Deserialize)]
pub(super) struct Gone {
    from: Option<String>,
}

/// Takes a stored one away (`from`, in the body or the query); the file's is in force again.
pub(super) async fn delete_alias(
    request: HttpRequest,
    admin: web::Data<Admin>,
    query: web::Query<Gone>,
    body: web::Bytes,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let named = input::text(&input::fields(&body, &["from"])?, "from")?;
    let from = named.or(query.into_inner().from);
    let from = from.ok_or_else(|| Refusal::invalid("from", "is missing, accepted: the alias that goes"))?;
    let (live, of) = (admin.live.clone(), from.clone());
    change(&admin, move |stored: &mut Stored| match stored.aliases.remove(&of) {
        Some(_) => Ok(()),
        None => Err(match live.current().settings.aliases.contains_key(&of) {
            true => Refusal::Fixed(of),
            false => Refusal::NotFound("alias".into(), of),
        }),
    })
    .await?;
    tracing::info!(alias = %from, "an operator deleted an alias");
    Ok(HttpResponse::Ok().json(all_aliases(&admin)))
}
