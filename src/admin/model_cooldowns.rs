//! `GET|DELETE /api/resilience/model-cooldowns`: the locks that bar a model, and their removal
//! (contract 8, core 5.7.1, 5.7.2). A removal takes all keys that bar the model.

use std::cmp::Reverse;

use actix_web::HttpResponse;
use policy::lockout::{LockScope, LockoutView};
use policy::time::Millis;
use serde_json::{Map, Value, json};

use super::Admin;
use super::access::Operator;
use super::cooldowns::remove_all;
use super::errors::Refusal;
use super::input::{self, Body};
use crate::http::errors::rfc3339;

/// Every lock that bars something now, the one that ends last first.
pub(super) async fn list(admin: Operator) -> Result<HttpResponse, Refusal> {
    let (board, now) = (admin.owners.router.board.load(), admin.owners.clock.now());
    let mut items = Vec::new();
    for (connection, locks) in &board.lockouts {
        let Some(shared) = admin.owners.directory.connection(connection) else { continue };
        for lock in locks.iter().filter(|lock| lock.is_locked(now)) {
            let key = (Reverse(lock.until), connection.clone(), lock.key.clone());
            items.push((key, item(shared.provider.as_str(), connection.as_str(), lock, now)));
        }
    }
    items.sort_by(|(a, _), (b, _)| a.cmp(b));
    let items: Vec<Value> = items.into_iter().map(|(_, item)| item).collect();
    Ok(HttpResponse::Ok().json(json!({"items": items})))
}

fn item(provider: &str, connection: &str, lock: &LockoutView, now: Millis) -> Value {
    json!({
        "provider": provider, "connection": connection, "connectionId": connection, "model": lock.key.model,
        "scope": lock.key.scope, "reason": lock.reason.as_str(), "expiresAt": rfc3339(lock.until),
        "remainingMs": lock.until.saturating_sub(now), "failureCount": lock.failures,
        "lockedAt": rfc3339(lock.locked_at), "until": lock.until,
        "modelFamily": (lock.key.scope == LockScope::Family).then_some(&lock.key.model),
    })
}

/// What an order removes.
enum Which {
    All,
    Model { provider: String, connection: Option<String>, model: String },
}

/// Reads `{"provider", "connection"?, "model"}` (`connectionId` is the same) or `{"all": true}`.
fn which(body: &[u8]) -> Result<Which, Refusal> {
    let fields = input::fields(body, &["provider", "connection", "connectionId", "model", "all"])?;
    if input::flag(&fields, "all")? {
        let alone = fields.len() == 1;
        return alone.then_some(Which::All).ok_or_else(|| Refusal::invalid("all", "goes with nothing else"));
    }
    Ok(Which::Model {
        provider: needed(&fields, "provider")?,
        connection: input::text(&fields, "connection")?.or(input::text(&fields, "connectionId")?),
        model: needed(&fields, "model")?,
    })
}

fn needed(fields: &Map<String, Value>, name: &str) -> Result<String, Refusal> {
    input::text(fields, name)?.ok_or_else(|| Refusal::invalid(name, "is needed, or \"all\": true"))
}

/// Removes locks.
pub(super) async fn remove(admin: Operator, body: Body) -> Result<HttpResponse, Refusal> {
    let which = which(&body)?;
    check(&admin, &which)?;
    admin.settle_board().await;
    let (board, now) = (admin.owners.router.board.load_full(), admin.owners.clock.now());
    let mut lockouts = admin.owners.directory.lockouts();
    lockouts.retain(|lockout| {
        let shared = admin.owners.directory.connection(&lockout.connection);
        match (&which, shared) {
            (Which::All, _) => true,
            (_, None) => false,
            (Which::Model { provider, connection, model }, Some(shared)) => {
                shared.provider.as_str() == provider
                    && connection.as_ref().is_none_or(|id| shared.id.as_str() == id)
                    && lockout.key.covers(&shared.provider, &model.as_str().into())
            }
        }
    });
    let bars = |lockout: &::actors::lockout::LockoutShared| {
        let locks = board.lockouts.get(&lockout.connection).map_or(&[][..], Vec::as_slice);
        locks.iter().any(|lock| lock.key == lockout.key && lock.is_locked(now))
    };
    let removed = lockouts.iter().filter(|lockout| bars(lockout)).count();
    remove_all(&lockouts).await;
    admin.settle_board().await;
    admin.flush().await;
    tracing::info!(removed, "an operator removed locks");
    match &which {
        Which::All => admin.tell(None, (Value::Null, json!({"removed": removed}))),
        Which::Model { provider, connection, model } => {
            let target = connection.as_ref().unwrap_or(provider);
            admin.tell(Some(target), (Value::Null, json!({"removed": removed, "model": model})));
        }
    }
    Ok(HttpResponse::Ok().json(json!({"removed": removed})))
}

/// Names that nobody has are mistakes (contract 8).
fn check(admin: &Admin, which: &Which) -> Result<(), Refusal> {
    let Which::Model { provider, connection, .. } = which else { return Ok(()) };
    let directory = &admin.owners.directory;
    if directory.provider(&provider.as_str().into()).is_none() {
        return Err(Refusal::NotFound("provider".into(), provider.clone()));
    }
    match connection {
        Some(id) if directory.connection(&id.as_str().into()).is_none() => {
            Err(Refusal::NotFound("connection".into(), id.clone()))
        }
        _ => Ok(()),
    }
}
