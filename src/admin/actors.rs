//! `GET /api/actors` and `GET /api/actors/{kind}/{id}`.

use std::sync::Arc;

use ::actors::connection::{self, ConnectionShared};
use ::actors::lockout::{self, LockoutShared};
use ::actors::provider::{self, ProviderShared};
use actix_web::{HttpResponse, web};
use policy::lockout::LockKey;
use policy::time::Millis;
use serde_json::{Value, json};

use super::Admin;
use super::access::Operator;
use super::errors::Refusal;
use super::gates;
use super::views;
use crate::http::errors::rfc3339;

/// Every actor.
pub(super) async fn list(admin: Operator) -> Result<HttpResponse, Refusal> {
    let (board, now) = (admin.owners.router.board.load(), admin.owners.clock.now());
    let directory = &admin.owners.directory;
    let mut rows = vec![admin.router_row(), admin.store_row()];
    let mut owners: Vec<Value> = Vec::new();
    owners.extend(directory.providers().iter().map(|shared| admin.provider_row(shared, now)));
    owners.extend(directory.connections().iter().map(|shared| admin.connection_row(shared, &board, now)));
    owners.extend(directory.lockouts().iter().map(|shared| admin.lockout_row(shared, &board, now)));
    let name = |row: &Value| (row["kind"].to_string(), row["id"].to_string());
    owners.sort_by_key(name);
    rows.extend(owners);
    Ok(HttpResponse::Ok().json(json!({"actors": rows})))
}

/// An actor that a path names.
pub(super) enum Named {
    Router,
    Store,
    Provider(Arc<ProviderShared>),
    Connection(Arc<ConnectionShared>),
    Lockout(Arc<LockoutShared>),
}

/// Finds the actor of a path, or says that there is none.
pub(super) fn find(admin: &Admin, kind: &str, id: &str) -> Result<Named, Refusal> {
    let directory = &admin.owners.directory;
    let found = match kind {
        "router" if id == "router" => Some(Named::Router),
        "store" if id == "store" => Some(Named::Store),
        "provider" => directory.provider(&id.into()).map(Named::Provider),
        "connection" => directory.connection(&id.into()).map(Named::Connection),
        "lockout" => find_lockout(admin, id).map(Named::Lockout),
        "router" | "store" => None,
        _ => return Err(Refusal::NotFound("kind of actor".into(), kind.into())),
    };
    found.ok_or_else(|| Refusal::NotFound(kind.into(), id.into()))
}

/// The id is percent-encoded, and a path may encode it once more or have it decoded on the way.
fn find_lockout(admin: &Admin, id: &str) -> Option<Arc<LockoutShared>> {
    let directory = &admin.owners.directory;
    let exact = LockKey::parse_id(id).and_then(|(connection, key)| directory.lockout(&connection, &key));
    exact.or_else(|| {
        let decoded = |shared: &LockoutShared| {
            format!("{}:{}:{}", shared.connection, shared.key.scope.as_str(), shared.key.model)
        };
        directory.lockouts().into_iter().find(|shared| decoded(shared) == id)
    })
}

/// One actor's whole state.
pub(super) async fn one(admin: Operator, path: web::Path<(String, String)>) -> Result<HttpResponse, Refusal> {
    let (kind, id) = path.into_inner();
    describe(&admin, find(&admin, &kind, &id)?).await
}

/// Its state in one word.
pub(super) fn state(admin: &Admin, named: &Named) -> Value {
    let (board, now) = (admin.owners.router.board.load(), admin.owners.clock.now());
    let mut row = match named {
        Named::Router => admin.router_row(),
        Named::Store => admin.store_row(),
        Named::Provider(shared) => admin.provider_row(shared, now),
        Named::Connection(shared) => admin.connection_row(shared, &board, now),
        Named::Lockout(shared) => admin.lockout_row(shared, &board, now),
    };
    row["state"].take()
}

/// The actor's row, its snapshot, and what it derives for now.
pub(super) async fn describe(admin: &Admin, named: Named) -> Result<HttpResponse, Refusal> {
    let (board, now) = (admin.owners.router.board.load_full(), admin.owners.clock.now());
    let snapshot = match &named {
        Named::Router | Named::Store => Ok(Value::Null),
        Named::Provider(shared) => shared.mailbox.ask(provider::Describe).await.map(|stored| json!(*stored)),
        Named::Connection(shared) => {
            shared.mailbox.ask(connection::Describe).await.map(|stored| json!(*stored))
        }
        Named::Lockout(shared) => shared.mailbox.ask(lockout::Describe).await.map(|stored| json!(*stored)),
    };
    let snapshot = snapshot.map_err(|_| Refusal::Unavailable)?;
    let (mut row, derived) = match &named {
        Named::Router => (admin.router_row(), json!({"owners": admin.owners.directory.connections().len()})),
        Named::Store => {
            (admin.store_row(), json!({"bytes": admin.health.bytes(), "failing": admin.health.is_failing()}))
        }
        Named::Provider(shared) => (admin.provider_row(shared, now), views::provider(shared, now)),
        Named::Connection(shared) => {
            let view = board.connections.get(&shared.id);
            let mut derived = view.map_or(Value::Null, |view| views::connection(view, now));
            derived["lease"] = lease(admin, shared, now);
            derived["gate"] = gates::whole(&shared.gate().view(now), gates::rest(admin, &shared.id, now));
            (admin.connection_row(shared, &board, now), derived)
        }
        Named::Lockout(shared) => {
            let view = board.lockouts.get(&shared.connection);
            let view = view.and_then(|locks| locks.iter().find(|lock| lock.key == shared.key));
            let derived = view.map_or(Value::Null, |view| views::lockout(view, now));
            (admin.lockout_row(shared, &board, now), derived)
        }
    };
    row["snapshot"] = snapshot;
    row["derived"] = derived;
    Ok(HttpResponse::Ok().json(row))
}

/// Who holds it is nobody's business, nor with which key (rules 7.3.0, 7.6.8).
fn lease(admin: &Admin, shared: &ConnectionShared, now: Millis) -> Value {
    let row = admin.owners.tenancies().with(|book| book.of_connection(&shared.id, now).cloned());
    row.map_or(Value::Null, |row| {
        json!({
            "state": row.state.as_str(), "generation": row.generation, "acquiredAt": rfc3339(row.acquired_at),
            "renewedAt": rfc3339(row.renewed_at), "expiresAt": rfc3339(row.expires_at), "inUse": row.in_use,
        })
    })
}
