//! `GET /api/monitoring/health` (core 1.7.3, contract 8, "Health").

use actix_web::{HttpRequest, HttpResponse, web};
use policy::breaker::BreakerState;
use serde_json::{Map, Value, json};

use super::gates::Gates;
use super::tokens;
use super::views;
use super::{Admin, access};
use crate::http::errors::rfc3339;

/// The word health uses for a state (`/api/actors` writes them in lower case).
fn word(state: BreakerState) -> &'static str {
    match state {
        BreakerState::Closed => "CLOSED",
        BreakerState::Degraded => "DEGRADED",
        BreakerState::Open => "OPEN",
        BreakerState::HalfOpen => "HALF_OPEN",
    }
}

/// Anybody gets the status, operators everything.
pub(super) async fn show(request: HttpRequest, admin: web::Data<Admin>) -> HttpResponse {
    // The store is the one part whose failure loses something; routing goes on without it.
    // So does a token endpoint that refuses our settings, in time: every token ends.
    let tokens = admin.tokens.views();
    let is_whole = !admin.health.is_failing() && tokens.iter().all(|view| view.alarm.is_none());
    let status = if is_whole { "healthy" } else { "degraded" };
    if !access::is_operator(&request) {
        return HttpResponse::Ok().json(json!({"status": status}));
    }
    let now = admin.owners.clock.now();
    let board = admin.owners.router.board.load();
    let mut providers = admin.owners.directory.providers();
    providers.sort_by(|a, b| a.id.cmp(&b.id));
    let mut counts = [0_usize; 4];
    let mut breakers = Vec::new();
    let mut health = Map::new();
    for shared in &providers {
        let view = shared.view.load();
        let state = view.state_at(now);
        counts[state as usize] += 1;
        let mut breaker = views::breaker(&view, now);
        breaker["provider"] = shared.id.as_str().into();
        breaker["state"] = word(state).into();
        breaker["operator"] = json!(view.operator);
        breakers.push(breaker);
        let last = views::instant(view.last_failure_at);
        health.insert(
            shared.id.to_string(),
            json!({"state": word(state), "failures": view.failures, "lastFailure": last}),
        );
    }
    let mut connections = Map::new();
    for shared in admin.owners.directory.connections() {
        let Some(view) = board.connections.get(&shared.id) else { continue };
        let mut shown = views::connection(view, now);
        shown["provider"] = shared.provider.as_str().into();
        shown["inFlight"] = shared.in_flight().into();
        connections.insert(shared.id.to_string(), shown);
    }
    let uptime = admin.started.elapsed().as_secs();
    HttpResponse::Ok().json(json!({
        "status": status, "timestamp": rfc3339(now), "version": env!("CARGO_PKG_VERSION"), "uptime": uptime,
        "system": {"version": env!("CARGO_PKG_VERSION"), "uptime": uptime, "pid": std::process::id()},
        "circuitBreakers": {
            "closed": counts[0], "degraded": counts[1], "open": counts[2], "halfOpen": counts[3],
            "total": providers.len(),
        },
        "providerBreakers": breakers, "providerHealth": health, "connectionHealth": connections,
        "lockouts": lockouts(&admin, now), "draining": admin.gate.is_draining(),
        "tokens": tokens::shown(&tokens, now), "gates": Gates::of(&admin).shown(&admin),
        "store": {"failing": admin.health.is_failing(), "bytes": admin.health.bytes()},
    }))
}

/// What is locked now, the longest first.
pub(super) fn lockouts(admin: &Admin, now: u64) -> Vec<Value> {
    let board = admin.owners.router.board.load();
    let mut items: Vec<(u64, Value)> = Vec::new();
    for (connection, locks) in &board.lockouts {
        let provider =
            admin.owners.directory.connection(connection).map(|shared| shared.provider.to_string());
        for lock in locks.iter().filter(|lock| now <= lock.until) {
            let remaining = lock.until.saturating_sub(now);
            items.push((
                remaining,
                json!({
                    "provider": provider, "connectionId": connection, "model": lock.key.model,
                    "reason": lock.reason.as_str(), "remainingMs": remaining, "failureCount": lock.failures,
                    "lockedAt": rfc3339(lock.locked_at), "until": rfc3339(lock.until),
                }),
            ));
        }
    }
    items.sort_by_key(|(remaining, _)| std::cmp::Reverse(*remaining));
    items.into_iter().map(|(_, item)| item).collect()
}
