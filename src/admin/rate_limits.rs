//! `GET|POST /api/rate-limits`: which connections have a local limiter, how it fares, and the one
//! way to protect a connection explicitly (flow 5.5, 5.7).
//!
//! Taking the flag back leaves the safety net where it is: an active API-key connection stays
//! protected (flow 5.6). Owners have heard of the change before the answer.

use ::actors::messages::Barrier;
use actix_web::HttpResponse;
use policy::gate::GateView;
use serde_json::{Value, json};

use super::access::Operator;
use super::entities::change;
use super::errors::Refusal;
use super::gates::{self, Gates};
use super::health;
use super::input::{self, Body};
use super::trail::difference;
use crate::app::{State, gate_settings, is_protected};
use crate::settings::{Connection, Settings};

/// All connections and their limiters, by provider and id.
pub(super) async fn list(admin: Operator) -> Result<HttpResponse, Refusal> {
    let loaded = admin.live.current();
    let gates = Gates::of(&admin);
    let views = gates.by_id();
    let mut connections: Vec<&Connection> = loaded.settings.connections.iter().collect();
    connections.sort_by(|a, b| (&a.provider, &a.id).cmp(&(&b.provider, &b.id)));
    let (mut rows, mut overview) = (Vec::new(), Vec::new());
    for connection in connections {
        let view = views.get(connection.id.as_str()).copied();
        rows.push(row(&loaded.settings, connection, view));
        overview.extend(view.into_iter().flat_map(|view| limiters(connection, view)));
    }
    let learnt = overview.iter().filter(|limiter| !limiter["learnt"].is_null()).count();
    Ok(HttpResponse::Ok().json(json!({
        "connections": rows, "lockouts": health::lockouts(&admin, gates.now()),
        "cacheStats": {"limiters": overview.len(), "learnt": learnt}, "overview": overview,
    })))
}

/// `active`: it has a limiter now; one comes to be with the first request and goes when it is idle.
fn row(settings: &Settings, connection: &Connection, view: Option<&GateView>) -> Value {
    let provider = settings.providers.iter().find(|provider| provider.id == connection.provider);
    let enabled = provider.is_some_and(|provider| is_protected(settings, provider, connection));
    let account = view.and_then(|view| view.levels.first());
    let numbers = provider.and_then(|provider| gate_settings(settings, provider, connection).limiter);
    json!({
        "connectionId": connection.id, "provider": connection.provider, "name": connection.name,
        "rateLimitProtection": settings.protected.contains(&connection.id), "enabled": enabled,
        "active": view.is_some_and(|view| !view.limiters.is_empty()),
        "queued": account.map_or(0, |account| account.queued),
        "running": account.map_or(0, |account| account.running),
        "maxConcurrency": account.map_or(0, |account| account.max_concurrency),
        "oldestWaitMs": view.and_then(|view| view.oldest_wait_ms),
        "limits": numbers.map(|numbers| json!({
            "rpm": numbers.rpm, "minTimeMs": numbers.min_time_ms, "concurrentRequests": numbers.parallel,
            "maxWaitMs": numbers.max_wait_ms, "maxQueueDepth": numbers.max_depth,
        })),
    })
}

/// Its limiters, each under its own name (flow 4.2.5).
fn limiters(connection: &Connection, view: &GateView) -> Vec<Value> {
    let Value::Array(mut limiters) = gates::limiters(view) else { return Vec::new() };
    for limiter in &mut limiters {
        let (provider, id) = (&connection.provider, &connection.id);
        let name = match limiter["key"].as_str() {
            Some(part) => format!("{provider}:{id}:{part}"),
            None => format!("{provider}:{id}"),
        };
        limiter["key"] = name.into();
        limiter["connectionId"] = id.as_str().into();
        limiter["provider"] = provider.as_str().into();
    }
    limiters
}

/// Sets or takes back the flag of one connection.
pub(super) async fn protect(admin: Operator, body: Body) -> Result<HttpResponse, Refusal> {
    let fields = input::fields(&body, &["connectionId", "enabled"])?;
    let Some(id) = input::text(&fields, "connectionId")? else {
        return Err(Refusal::invalid("connectionId", "is missing: the id of a connection"));
    };
    let enabled = fields.get("enabled").is_some_and(is_truthy);
    let (live, of) = (admin.live.clone(), id.clone());
    let turn = change(&admin, move |stored| {
        let loaded = live.current();
        if !loaded.settings.connections.iter().any(|known| known.id.as_str() == of) {
            return Err(Refusal::NotFound("connection".into(), of));
        }
        match enabled {
            true => stored.protected.insert(of),
            false => stored.protected.remove(&of),
        };
        Ok(())
    })
    .await?;
    let flag = |state: &State| Some(json!({"rateLimitProtection": state.stored.protected.contains(&id)}));
    admin.tell(Some(&id), difference(flag(&turn.before), flag(&turn.after), &[]));
    // The router has told its owner; when that answers, its limiters have come or gone (flow 5.6).
    if let Some(shared) = admin.owners.directory.connection(&id.as_str().into()) {
        let _ = shared.mailbox.ask(Barrier).await;
    }
    tracing::info!(connection = %id, enabled, "an operator set the protection of a connection");
    Ok(HttpResponse::Ok().json(json!({"success": true, "connectionId": id, "enabled": enabled})))
}

/// As the guide's clients coerce it: nothing, 0 and an empty text are false (flow 5.5).
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_truthy;

    #[test]
    fn flow_5_5_enabled_is_coerced_to_a_boolean() {
        for on in [json!(true), json!(1), json!(-0.5), json!("false"), json!("0"), json!([]), json!({})] {
            assert!(is_truthy(&on), "{on}");
        }
        for off in [json!(false), json!(0), json!(0.0), json!(""), json!(null)] {
            assert!(!is_truthy(&off), "{off}");
        }
    }
}
