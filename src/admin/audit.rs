//! `GET /api/audit`: what operators have changed, the newest first (contract 8).

use std::collections::BTreeMap;

use actix_web::{HttpResponse, web};
use serde_json::{Value, json};

use super::access::Operator;
use super::errors::Refusal;
use crate::http::errors::rfc3339;
use crate::storage::ReadAudit;
use crate::telemetry::AuditRow;

/// Shown when nobody says how many.
const USUAL: usize = 100;
/// The most that are shown.
const MOST: usize = 1_000;

type Query = Result<web::Query<BTreeMap<String, String>>, actix_web::Error>;

/// The latest.
pub(super) async fn list(admin: Operator, query: Query) -> Result<HttpResponse, Refusal> {
    let query = query.map_err(|_| Refusal::invalid("query", "accepted: limit"))?;
    let most = limit(&query)?;
    let store = admin.store.load_full().ok_or(Refusal::Unavailable)?;
    let rows = store.send(ReadAudit(most)).await.map_err(|_| Refusal::Unavailable)?;
    let rows = rows.map_err(|error| {
        tracing::error!(%error, "the audit cannot be read");
        Refusal::Unavailable
    })?;
    let items: Vec<Value> = rows.iter().map(shown).collect();
    Ok(HttpResponse::Ok().json(json!({"items": items})))
}

fn limit(query: &BTreeMap<String, String>) -> Result<usize, Refusal> {
    if let Some(unknown) = query.keys().find(|name| *name != "limit") {
        return Err(Refusal::invalid(unknown, "unknown parameter; accepted: limit"));
    }
    let Some(text) = query.get("limit") else { return Ok(USUAL) };
    let limit = text.parse().ok().filter(|limit| (1..=MOST).contains(limit));
    limit.ok_or_else(|| Refusal::invalid("limit", format!("must be a whole number from 1 to {MOST}")))
}

fn shown(row: &AuditRow) -> Value {
    json!({
        "at": rfc3339(row.at), "who": row.who, "action": row.action, "target": row.target,
        "before": row.before, "after": row.after,
    })
}
