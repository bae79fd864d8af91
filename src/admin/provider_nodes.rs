//! `/api/provider-nodes`: providers (contract 8: the keys of `[[providers]]` in camel case). What is
//! made or changed here is stored, with headers and client secret sealed, wins over the file's
//! provider of the same id, and applies at once: owners appear, and those of a deleted one drain.

mod edit;

use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Map, Value, json};

use self::edit::Edit;
use super::errors::Refusal;
use super::input::object;
use super::providers::secrets::{GAP, mask};
use super::providers::view::source;
use super::{Admin, access};
use crate::http::errors::rfc3339;
use crate::settings::{Kept, Provider, Secret, Settings, Source, Stored, connections_of, show_provider};

/// What a read shows and no body can change; a client may send it back.
const READ_ONLY: [&str; 5] = ["connections", "source", "overrides", "createdAt", "updatedAt"];

/// All of them, by id.
pub(super) async fn list(request: HttpRequest, admin: web::Data<Admin>) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let stored = admin.live.stored().await;
    let loaded = admin.live.current();
    let settings = &loaded.settings;
    let mut providers: Vec<&Provider> = settings.providers.iter().collect();
    providers.sort_by(|a, b| a.id.cmp(&b.id));
    let rows: Vec<Value> = providers.into_iter().map(|provider| show(provider, settings, &stored)).collect();
    Ok(HttpResponse::Ok().json(json!({ "nodes": rows })))
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
    let body = object(&body)?;
    let edit = Edit::new(&admin);
    let id = super::providers::change(&admin, move |stored| edit.create(stored, body)).await?;
    tracing::info!(provider = %id, "an operator made a provider");
    Ok(HttpResponse::Created().json(shown(&admin, &id).await?))
}

/// Puts a whole one in its place; headers and a client secret that are not given stay.
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
    let (edit, of) = (Edit::new(&admin), id.clone());
    super::providers::change(&admin, move |stored| edit.update(stored, &of, body, whole)).await?;
    tracing::info!(provider = %id, "an operator changed a provider");
    Ok(HttpResponse::Ok().json(shown(&admin, &id).await?))
}

/// Takes a stored one away; what the file has of that id is in force again. One that only the store
/// has goes when no connection names it any more.
pub(super) async fn delete(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let id = id.into_inner();
    let (live, of) = (admin.live.clone(), id.clone());
    let removed = super::providers::change(&admin, move |stored| {
        let loaded = live.current();
        let known = find(&loaded.settings, &of)?;
        if known.source != Source::Stored {
            return Err(Refusal::Fixed(of));
        }
        let named = connections_of(&loaded.settings, &of);
        if known.replaces.is_none() && !named.is_empty() {
            return Err(Refusal::InUse(of, named.join(", ")));
        }
        stored.providers.remove(&of);
        Ok(())
    });
    removed.await?;
    tracing::info!(provider = %id, "an operator deleted a provider");
    Ok(HttpResponse::Ok().json(json!({"success": true})))
}

fn find<'a>(settings: &'a Settings, id: &str) -> Result<&'a Provider, Refusal> {
    let found = settings.providers.iter().find(|provider| provider.id.as_str() == id);
    found.ok_or_else(|| Refusal::NotFound("provider".into(), id.into()))
}

async fn shown(admin: &Admin, id: &str) -> Result<Value, Refusal> {
    let stored = admin.live.stored().await;
    let loaded = admin.live.current();
    Ok(show(find(&loaded.settings, id)?, &loaded.settings, &stored))
}

fn show(provider: &Provider, settings: &Settings, stored: &Stored) -> Value {
    let id = provider.id.as_str();
    let mut shown = Map::new();
    shown.insert("id".into(), id.into());
    shown.extend(show_provider(provider));
    let headers = provider.headers.iter();
    let headers = headers.map(|(name, value)| (name.clone(), mask(&Secret::from(value.as_str())).into()));
    shown.insert("headers".into(), Value::Object(headers.collect()));
    if let Some(Value::Object(oauth)) = shown.get_mut("oauth") {
        let secret = provider.oauth.as_ref().and_then(|oauth| oauth.client_secret.as_ref());
        oauth.insert("clientSecret".into(), secret.map(mask).into());
    }
    let record = stored.providers.get(id);
    if record.is_some_and(|record| matches!(record.secrets, Kept::Sealed(_))) {
        // They are there and cannot be read.
        shown.insert("headers".into(), GAP.to_string().into());
    }
    shown.insert("connections".into(), connections_of(settings, id).into());
    shown.insert("source".into(), source(provider.source).into());
    shown.insert("overrides".into(), provider.replaces.map(source).into());
    shown.insert("createdAt".into(), record.map(|record| rfc3339(record.created_at)).into());
    shown.insert("updatedAt".into(), record.map(|record| rfc3339(record.updated_at)).into());
    shown.into()
}
