//! `GET|POST /api/rate-limits`: which connections have a local limiter, how it fares, and the one
//! way to protect a connection explicitly (flow 5.5, 5.7).
//!
//! Taking the flag back leaves the safety net where it is: an active API-key connection stays
//! protected (flow 5.6). Owners have heard of the change before the answer.

use actix_web::{HttpRequest, HttpResponse, web};
use policy::time::Millis;
use serde_json::{Value, json};

use super::errors::Refusal;
use super::providers::change;
use super::{Admin, access, health, input};
use crate::app::is_protected;
use crate::settings::{Connection, Settings};

/// All connections, by provider and id.
pub(super) async fn list(request: HttpRequest, admin: web::Data<Admin>) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let now = admin.owners.clock.now();
    let loaded = admin.live.current();
    let mut connections: Vec<&Connection> = loaded.settings.connections.iter().collect();
    connections.sort_by(|a, b| (&a.provider, &a.id).cmp(&(&b.provider, &b.id)));
    let rows = connections.iter().map(|connection| row(&admin, &loaded.settings, connection, now));
    Ok(HttpResponse::Ok().json(json!({
        "connections": rows.collect::<Vec<_>>(), "lockouts": health::lockouts(&admin, now),
    })))
}

fn row(admin: &Admin, settings: &Settings, connection: &Connection, _now: Millis) -> Value {
    let provider = settings.providers.iter().find(|provider| provider.id == connection.provider);
    let enabled = provider.is_some_and(|provider| is_protected(settings, provider, connection));
    let shared = admin.owners.directory.connection(&connection.id);
    json!({
        "connectionId": connection.id, "provider": connection.provider, "name": connection.name,
        "rateLimitProtection": settings.protected.contains(&connection.id), "enabled": enabled,
        "running": shared.map_or(0, |shared| shared.in_flight()),
    })
}

/// Sets or takes back the flag of one connection.
pub(super) async fn protect(
    request: HttpRequest,
    admin: web::Data<Admin>,
    body: web::Bytes,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let fields = input::fields(&body, &["connectionId", "enabled"])?;
    let Some(id) = input::text(&fields, "connectionId")? else {
        return Err(Refusal::invalid("connectionId", "is missing: the id of a connection"));
    };
    let enabled = fields.get("enabled").is_some_and(is_truthy);
    let (live, of) = (admin.live.clone(), id.clone());
    change(&admin, move |stored| {
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
