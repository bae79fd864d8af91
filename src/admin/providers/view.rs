//! A connection as it is shown: its fields, its secrets masked, and how it fares.

use serde_json::{Map, Value, json};

use super::proxy;
use super::secrets::{hidden, mask};
use crate::admin::entities::describe_whole;
use crate::admin::{Admin, views};
use crate::settings::{Connection, Kept, Secret, Settings, Stored, StoredConnection, fields_of};
use policy::ids::Class;

/// What a read shows and no body can change; a client may send it back.
pub(super) const READ_ONLY: [&str; 12] = [
    // Only `POST /api/rate-limits` sets it: no update of other fields may flip it (flow 5.8).
    "rateLimitProtection",
    "source",
    "overrides",
    "status",
    "rateLimitedUntil",
    "remainingMs",
    "backoffLevel",
    "lastErrorType",
    "lastErrorAt",
    "errorCode",
    "createdAt",
    "updatedAt",
];

/// The whole of it.
pub(super) fn show(admin: &Admin, settings: &Settings, stored: &Stored, connection: &Connection) -> Value {
    let mut shown = Map::new();
    shown.insert("id".into(), connection.id.as_str().into());
    shown.insert("authType".into(), auth_type(settings, connection));
    shown.extend(fields_of(connection));
    for field in ["expiresAt", "rateLimitOverrides", "providerSpecificData"] {
        shown.entry(field).or_insert_with(|| match field {
            "expiresAt" => Value::Null,
            _ => json!({}),
        });
    }
    shown.extend(masked(stored, connection));
    let record = record(stored, connection);
    shown.insert(proxy::FIELD.into(), proxy::shown(record, connection).into());
    let protected = settings.protected.contains(&connection.id);
    shown.insert("rateLimitProtection".into(), protected.into());
    shown.extend(state(admin, connection));
    let dates = record.map(|record| (record.created_at, record.updated_at));
    describe_whole(&mut shown, (connection.source, connection.replaces), dates);
    shown.into()
}

/// What is stored of it.
fn record<'a>(stored: &'a Stored, connection: &Connection) -> Option<&'a StoredConnection> {
    let record = stored.connections.get(connection.id.as_str());
    record.filter(|record| record.is_of(connection.provider.as_str()))
}

/// What its provider says; null when that has gone.
fn auth_type(settings: &Settings, connection: &Connection) -> Value {
    let provider = settings.providers.iter().find(|provider| provider.id == connection.provider);
    provider.map(|provider| auth_name(provider.class)).into()
}

/// A class as `auth` and `authType` spell it.
pub(in crate::admin) fn auth_name(class: Class) -> &'static str {
    match class {
        Class::Oauth => "oauth",
        Class::Apikey => "apikey",
        Class::Local => "local",
    }
}

fn masked(stored: &Stored, connection: &Connection) -> Map<String, Value> {
    let record = record(stored, connection);
    let sealed = record.is_some_and(|record| matches!(record.secrets, Kept::Sealed(_)));
    let show = |secret: Option<&Secret>| secret.filter(|secret| !secret.expose().is_empty()).map(mask);
    let tokens = connection.tokens.as_ref();
    let api_key = match tokens {
        Some(_) => None,
        None if sealed => Some(hidden()),
        None => show(connection.credential.as_ref()),
    };
    let access = tokens.and_then(|tokens| show(tokens.access.as_ref()));
    let refresh = tokens.and_then(|tokens| show(tokens.refresh.as_ref()));
    let fields = [("apiKey", api_key), ("accessToken", access), ("refreshToken", refresh)];
    fields.into_iter().map(|(field, shown)| (field.to_owned(), shown.into())).collect()
}

/// Its state as in `/api/actors`; one that no provider has any more is inactive.
fn state(admin: &Admin, connection: &Connection) -> Map<String, Value> {
    let (board, now) = (admin.owners.router.board.load(), admin.owners.clock.now());
    let known = admin.blueprint.load().connections.contains_key(&connection.id);
    let view = board.connections.get(&connection.id);
    let derived = view.map_or(Value::Null, |view| views::connection(view, now));
    let status = match known {
        true => views::connection_state(view.map(AsRef::as_ref), now),
        false => "inactive",
    };
    let mut state = Map::new();
    state.insert("status".into(), status.into());
    for field in
        ["rateLimitedUntil", "remainingMs", "backoffLevel", "lastErrorType", "lastErrorAt", "errorCode"]
    {
        state.insert(field.into(), derived[field].clone());
    }
    state
}
