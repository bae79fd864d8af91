//! `/api/providers`: connections, as the guide names them. What is made or changed here is
//! stored with its secrets sealed, wins over the file's connection of the same id, and
//! applies at once; requests that run keep what they began with.

pub(super) mod edit;
mod proxy;
pub(super) mod secrets;
pub(super) mod view;

use actix_web::{HttpRequest, HttpResponse, web};
use policy::ids::ConnectionId;
use policy::time::Millis;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::edit::{Edit, Mode};
use super::errors::Refusal;
use super::input::object;
use super::{Admin, access};
use crate::settings::{Stored, idle_fields};

/// `?provider=`: only its connections.
#[derive(Deserialize)]
pub(super) struct Filter {
    provider: Option<String>,
}

/// All of them, by provider and priority.
pub(super) async fn list(
    request: HttpRequest,
    admin: web::Data<Admin>,
    filter: web::Query<Filter>,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let stored = admin.live.stored().await;
    let loaded = admin.live.current();
    let wanted = |provider: &str| filter.provider.as_deref().is_none_or(|only| only == provider);
    let mut connections: Vec<_> = loaded.settings.connections.iter().collect();
    connections.retain(|connection| wanted(connection.provider.as_str()));
    connections.sort_by(|a, b| (&a.provider, a.priority, &a.id).cmp(&(&b.provider, b.priority, &b.id)));
    let rows: Vec<Value> = connections
        .iter()
        .map(|connection| view::show(&admin, &loaded.settings, &stored, connection))
        .collect();
    Ok(HttpResponse::Ok().json(json!({"connections": rows})))
}

/// One of them.
pub(super) async fn one(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    Ok(HttpResponse::Ok().json(json!({"connection": shown(&admin, &id).await?})))
}

/// Makes one.
pub(super) async fn create(
    request: HttpRequest,
    admin: web::Data<Admin>,
    body: web::Bytes,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let body = object(&body)?;
    let (edit, idle) = (Edit::new(&admin), idle_fields(&body));
    let id = change(&admin, move |stored| edit.create(stored, body)).await?;
    tracing::info!(connection = %id, "an operator made a connection");
    Ok(HttpResponse::Created().json(answer(shown(&admin, &id).await?, &idle)))
}

/// Puts a whole one in its place; a secret or proxy that is not given stays.
pub(super) async fn replace(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
    body: web::Bytes,
) -> Result<HttpResponse, Refusal> {
    update(request, admin, id.into_inner(), &body, Mode::Replace).await
}

/// Changes the fields that are named; null clears one.
pub(super) async fn patch(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
    body: web::Bytes,
) -> Result<HttpResponse, Refusal> {
    update(request, admin, id.into_inner(), &body, Mode::Patch).await
}

async fn update(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: String,
    body: &[u8],
    mode: Mode,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let body = object(body)?;
    let (edit, of, idle) = (Edit::new(&admin), id.clone(), idle_fields(&body));
    change(&admin, move |stored| edit.update(stored, &of, body, mode)).await?;
    tracing::info!(connection = %id, "an operator changed a connection");
    Ok(HttpResponse::Ok().json(answer(shown(&admin, &id).await?, &idle)))
}

/// Makes a connection inactive, as an operator would (core 3.7, P18).
pub async fn switch_off(admin: &Admin, id: &ConnectionId) {
    let (edit, of) = (Edit::new(admin), id.to_string());
    let body = Map::from_iter([("isActive".to_owned(), Value::Bool(false))]);
    match change(admin, move |stored| edit.update(stored, &of, body, Mode::Patch)).await {
        Ok(_) => tracing::warn!(connection = %id, "it was banned and is switched off"),
        Err(error) => tracing::error!(connection = %id, %error, "it was banned and cannot be switched off"),
    }
}

/// What was changed, and which of its fields do nothing yet: nothing is ignored silently.
fn answer(connection: Value, idle: &[String]) -> Value {
    let mut answer = json!({"connection": connection});
    if !idle.is_empty() {
        let warning = |field| json!({"field": field, "message": "is kept, but not acted on yet"});
        answer["warnings"] = idle.iter().map(warning).collect();
    }
    answer
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
    change(&admin, move |stored| {
        let loaded = live.current();
        let known = loaded.settings.connections.iter().find(|known| known.id.as_str() == of);
        if stored.connections.remove(&of).is_some() {
            // Its flag goes with it, unless there is another one under it.
            if known.is_none_or(|known| known.replaces.is_none()) {
                stored.protected.remove(&of);
            }
            return Ok(());
        }
        Err(if known.is_some() { Refusal::FromFile(of) } else { unknown(&of) })
    })
    .await?;
    tracing::info!(connection = %id, "an operator deleted a connection");
    Ok(HttpResponse::Ok().json(json!({"success": true})))
}

/// Changes what is stored, and waits until everybody sees it.
pub(super) async fn change<T: 'static>(
    admin: &Admin,
    edit: impl FnOnce(&mut Stored) -> Result<T, Refusal> + 'static,
) -> Result<T, Refusal> {
    let answer = admin.live.change(edit).await?;
    admin.settle_board().await;
    Ok(answer)
}

async fn shown(admin: &Admin, id: &str) -> Result<Value, Refusal> {
    let stored = admin.live.stored().await;
    let loaded = admin.live.current();
    let connection = loaded.settings.connections.iter().find(|known| known.id.as_str() == id);
    let connection = connection.ok_or_else(|| unknown(id))?;
    Ok(view::show(admin, &loaded.settings, &stored, connection))
}

fn unknown(id: &str) -> Refusal {
    Refusal::NotFound("connection".into(), id.into())
}

/// The current time, as it is stored.
fn now(admin: &Admin) -> Millis {
    admin.owners.clock.now()
}

/// What an edit works with: it runs later, when no other change runs.
impl Edit {
    fn new(admin: &Admin) -> Self {
        Self { live: admin.live.clone(), vault: admin.vault.clone(), now: now(admin) }
    }
}
