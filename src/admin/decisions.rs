//! `GET /api/decisions`: the latest requests, each attempt with its verdict, and who was left out.

use std::collections::BTreeMap;

use actix_web::{HttpRequest, HttpResponse, web};
use policy::plan::Excluded;
use serde_json::{Value, json};

use super::access::Operator;
use super::errors::Refusal;
use crate::http::errors::rfc3339;
use crate::relay::Worker;
use crate::telemetry::{Attempted, Decision};

/// Shown when nobody says how many.
const USUAL: usize = 100;
/// The most that are shown.
const MOST: usize = 1_000;

type Query = Result<web::Query<BTreeMap<String, String>>, actix_web::Error>;

/// The latest, newest first.
pub(super) async fn list(_: Operator, request: HttpRequest, query: Query) -> Result<HttpResponse, Refusal> {
    let accepted = ["limit", "model", "connection"];
    let query = query.map_err(|_| Refusal::invalid("query", format!("accepted: {}", accepted.join(", "))))?;
    if let Some(unknown) = query.keys().find(|name| !accepted.contains(&name.as_str())) {
        return Err(Refusal::invalid(
            unknown,
            format!("unknown parameter; accepted: {}", accepted.join(", ")),
        ));
    }
    let limit =
        match query.get("limit") {
            None => USUAL,
            Some(text) => text.parse().ok().filter(|limit| (1..=MOST).contains(limit)).ok_or_else(|| {
                Refusal::invalid("limit", format!("must be a whole number from 1 to {MOST}"))
            })?,
        };
    let (model, connection) = (query.get("model"), query.get("connection"));
    let wanted = |decision: &Decision| {
        let asked = model.is_none_or(|model| {
            *decision.model == **model
                || decision.attempts.iter().any(|attempt| attempt.model.as_str() == model.as_str())
        });
        // Who was left out is told in each row, and was not tried.
        let tried = connection.is_none_or(|connection| {
            decision.attempts.iter().any(|attempt| attempt.connection.as_str() == connection.as_str())
        });
        asked && tried
    };
    let worker = request.app_data::<std::rc::Rc<Worker>>().ok_or(Refusal::Unavailable)?;
    let decisions = worker.tower.decisions.latest(limit, wanted);
    let decisions: Vec<Value> = decisions.iter().map(|decision| shown(decision)).collect();
    Ok(HttpResponse::Ok().json(json!({"decisions": decisions})))
}

fn shown(decision: &Decision) -> Value {
    json!({
        "id": &*decision.id,
        "at": rfc3339(decision.at),
        "model": &*decision.model,
        "key": decision.key.as_deref(),
        "session": decision.session.as_deref(),
        "strategy": decision.strategy,
        "status": decision.status,
        "durationMs": decision.duration_ms,
        "overheadUs": decision.overhead_us,
        "attempts": decision.attempts.iter().map(attempt).collect::<Vec<_>>(),
        "excluded": decision.excluded.iter().map(exclusion).collect::<Vec<_>>(),
    })
}

fn attempt(attempt: &Attempted) -> Value {
    json!({
        "provider": attempt.provider,
        "model": attempt.model,
        "connection": attempt.connection,
        "startedMs": attempt.started_ms,
        "firstByteMs": attempt.first_byte_ms,
        "durationMs": attempt.duration_ms,
        "status": attempt.status,
        "verdict": attempt.verdict,
        "reason": attempt.reason,
        "end": attempt.end,
        "waitMs": attempt.wait_ms,
    })
}

/// A target that was left out (contract 8).
pub(super) fn exclusion(excluded: &Excluded) -> Value {
    json!({
        "provider": excluded.provider,
        "model": excluded.model,
        "connection": excluded.connection,
        "reason": excluded.reason.as_str(),
        "until": excluded.until.map(rfc3339),
    })
}
