//! `/api/providers`: connections, as the guide names them. What is made or changed here is
//! stored with its secrets sealed, wins over the file's connection of the same id, and
//! applies at once; requests that run keep what they began with.

pub(super) mod edit;
pub(super) mod many;
mod proxy;
pub(super) mod secrets;
pub(super) mod view;

use std::collections::BTreeSet;

use actix_web::{HttpResponse, web};
use policy::ids::ConnectionId;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Admin;
use super::access::Operator;
use super::entities::{Edit, Entity, Made, Mode, Seen, change};
use super::errors::Refusal;
use crate::settings::{Connection, SECRETS, Settings, Stored, StoredConnection, idle_fields};

/// `?provider=`: only its connections.
#[derive(Deserialize)]
pub(super) struct Filter {
    provider: Option<String>,
}

/// All of them, or those of one provider.
pub(super) async fn list(
    admin: Operator,
    filter: Result<web::Query<Filter>, actix_web::Error>,
) -> Result<HttpResponse, Refusal> {
    let filter = filter.map_err(|_| Refusal::invalid("query", "accepted: provider"))?;
    let mut rows = Connections::rows(&Seen::by(&admin).await);
    if let Some(only) = filter.into_inner().provider {
        rows.retain(|row| row["provider"] == only);
    }
    Ok(HttpResponse::Ok().json(json!({ Connections::LIST: rows })))
}

/// Connections, by provider and priority.
pub(super) struct Connections;

impl Entity for Connections {
    const KIND: &'static str = "connection";
    const LIST: &'static str = "connections";
    const READ_ONLY: &'static [&'static str] = &view::READ_ONLY;

    fn rows(seen: &Seen<'_>) -> Vec<Value> {
        let settings = &seen.loaded.settings;
        let mut connections: Vec<&Connection> = settings.connections.iter().collect();
        connections.sort_by(|a, b| (&a.provider, a.priority, &a.id).cmp(&(&b.provider, b.priority, &b.id)));
        let show = |connection| view::show(seen.admin, settings, &seen.stored, connection);
        connections.into_iter().map(show).collect()
    }

    fn show(seen: &Seen<'_>, id: &str) -> Result<Value, Refusal> {
        let settings = &seen.loaded.settings;
        let connection = find(settings, id)?;
        Ok(json!({"connection": view::show(seen.admin, settings, &seen.stored, connection)}))
    }

    fn fields(seen: &Seen<'_>, id: &str) -> Option<Value> {
        Some(Self::show(seen, id).ok()?["connection"].take())
    }

    fn veiled(before: &Stored, after: &Stored, id: &str) -> Vec<&'static str> {
        let (before, after) = (before.connections.get(id), after.connections.get(id));
        let own =
            |record: Option<&StoredConnection>| record.map(|record| record.secrets.own()).unwrap_or_default();
        let (mut was, mut is) = (own(before), own(after));
        let pairs = was.by_field_mut().into_iter().zip(is.by_field_mut());
        let fields = SECRETS.iter().map(|(field, _)| *field).zip(pairs);
        let mut veiled: Vec<_> =
            fields.filter_map(|(field, (was, is))| (was != is).then_some(field)).collect();
        if before.map(|record| &record.proxy) != after.map(|record| &record.proxy) {
            veiled.push(proxy::FIELD);
        }
        veiled
    }

    fn create(edit: &Edit, stored: &mut Stored, body: Map<String, Value>) -> Result<Made, Refusal> {
        let idle = idle_fields(&body);
        Ok(Made { idle, ..Made::plain(edit::create(edit, stored, body, &BTreeSet::new())?) })
    }

    /// A secret or proxy that is not given stays.
    fn update(
        edit: &Edit,
        stored: &mut Stored,
        id: &str,
        (body, mode): (Map<String, Value>, Mode),
    ) -> Result<Vec<String>, Refusal> {
        let idle = idle_fields(&body);
        edit::update(edit, stored, id, body, mode).map(|()| idle)
    }

    fn remove(edit: &Edit, stored: &mut Stored, id: String) -> Result<(), Refusal> {
        let loaded = edit.live.current();
        let known = find(&loaded.settings, &id);
        if stored.connections.remove(&id).is_none() {
            return known.and(Err(Refusal::FromFile(id.clone())));
        }
        // Its flag goes with it, unless there is another one under it.
        if known.is_ok_and(|known| known.replaces.is_some()) {
            return Ok(());
        }
        stored.protected.remove(&id);
        Ok(())
    }
}

fn find<'a>(settings: &'a Settings, id: &str) -> Result<&'a Connection, Refusal> {
    let found = settings.connections.iter().find(|known| known.id.as_str() == id);
    found.ok_or_else(|| Refusal::NotFound("connection".into(), id.into()))
}

/// Makes a connection inactive, as an operator would (core 3.7, P18).
pub async fn switch_off(admin: &Admin, id: &ConnectionId) {
    let (edit, of) = (Edit::new(admin), id.to_string());
    let body = Map::from_iter([("isActive".to_owned(), Value::Bool(false))]);
    match change(admin, move |stored| edit::update(&edit, stored, &of, body, Mode::Patch)).await {
        Ok(_) => tracing::warn!(connection = %id, "it was banned and is switched off"),
        Err(error) => tracing::error!(connection = %id, %error, "it was banned and cannot be switched off"),
    }
}
