//! `POST /api/providers/{id}/test`: does this connection work now?
//!
//! A real small request goes upstream, whatever holds the connection back. Passing disproves
//! what was concluded about the credential: a terminal state and an auth cooldown end, and a
//! degraded breaker closes (core 1.3.5, decision 12a). Failing is told and rests nobody
//! (core P8).

use std::rc::Rc;
use std::sync::Arc;

use ::actors::connection::{CheckFailed, ConnectionShared, Order as ConnectionOrder};
use ::actors::messages::Barrier;
use ::actors::provider::Order as ProviderOrder;
use actix_web::{HttpRequest, HttpResponse, web};
use policy::catalogue::{Dialect, ProviderEntry};
use policy::ids::{ConnectionId, ModelId};
use policy::plan::{Forced, Planned};
use policy::verdict::Verdict;
use serde_json::{Map, Value, json};

use super::Admin;
use super::access::Operator;
use super::errors::Refusal;
use super::input::Body;
use super::views;
use crate::relay::{Checkup, Worker, checkup};

/// Reads nothing, `{}`, or `{"model": ID}`.
fn model(body: &[u8]) -> Result<Option<ModelId>, Refusal> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let fields: Map<String, Value> = serde_json::from_slice(body)
        .map_err(|error| Refusal::invalid("body", format!("must be a JSON object: {error}")))?;
    if let Some(unknown) = fields.keys().find(|field| *field != "model") {
        return Err(Refusal::invalid(unknown, "unknown field; accepted: model"));
    }
    match fields.get("model") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) if !id.trim().is_empty() => Ok(Some(id.as_str().into())),
        Some(_) => Err(Refusal::invalid("model", "must be the id of a model, as the provider names it")),
    }
}

/// The first model that the connection serves by name, else the provider's first.
fn first_model(provider: &ProviderEntry, connection: &ConnectionId) -> Option<ModelId> {
    let own = provider.connections.iter().find(|entry| entry.id == *connection);
    let named = own.and_then(|entry| entry.models.iter().find(|pattern| !pattern.contains('*')));
    named
        .map(|model| model.as_str().into())
        .or_else(|| Some(provider.models.as_ref()?.iter().next()?.0.clone()))
}

/// Tests.
pub(super) async fn test(
    admin: Operator,
    request: HttpRequest,
    id: web::Path<String>,
    body: Body,
) -> Result<HttpResponse, Refusal> {
    let worker = request.app_data::<Rc<Worker>>().expect("every worker is given its own").clone();
    let wanted = model(&body)?;
    let unknown = || Refusal::NotFound("connection".into(), id.clone());
    let shared = admin.owners.directory.connection(&id.as_str().into()).ok_or_else(unknown)?;
    let catalogue = admin.blueprint.load().catalogue.clone();
    let provider = catalogue.providers.get(&shared.provider).ok_or_else(unknown)?;
    let model = wanted.or_else(|| first_model(provider, &shared.id)).ok_or_else(|| {
        Refusal::invalid("model", "must be given: neither the connection nor its provider names a model")
    })?;
    let dialect = *provider.dialects.first().expect("a provider speaks at least one dialect");
    if dialect == Dialect::Gemini {
        return Err(Refusal::invalid("id", "its provider speaks gemini, which cannot be called yet"));
    }
    let target = Planned {
        provider: provider.id.clone(),
        class: provider.class,
        connection: shared.id.clone(),
        model,
        step: 0,
        pinned: true,
        only_on_quota: false,
        place: None,
        grant: None,
        forced: Forced::Not,
    };
    let before = state(&admin, &shared);
    let shown = checkup(&worker, &target, dialect).await.ok_or(Refusal::Unavailable)?;
    tell(&admin, &shared, &shown.verdict).await;
    let after = json!({"state": state(&admin, &shared), "verdict": shown.verdict.label()});
    admin.tell(Some(&id), (json!({"state": before}), after));
    Ok(HttpResponse::Ok().json(report(&admin, &shared, &target, &shown)))
}

/// Tells the owners what was shown.
async fn tell(admin: &Admin, shared: &Arc<ConnectionShared>, verdict: &Verdict) {
    match verdict {
        Verdict::Success => {
            shared.mailbox.post(ConnectionOrder::TestPassed);
            if let Some(provider) = admin.owners.directory.provider(&shared.provider) {
                provider.mailbox.post(ProviderOrder::TestPassed);
                let _ = provider.mailbox.ask(Barrier).await;
            }
        }
        Verdict::Failure(failure) => shared.mailbox.post(CheckFailed(failure.clone())),
        Verdict::Neutral => {}
    }
    let _ = shared.mailbox.ask(Barrier).await;
    admin.settle_board().await;
    admin.flush().await;
}

fn state(admin: &Admin, shared: &ConnectionShared) -> &'static str {
    let (board, now) = (admin.owners.router.board.load(), admin.owners.clock.now());
    views::connection_state(board.connections.get(&shared.id).map(AsRef::as_ref), now)
}

fn report(admin: &Admin, shared: &ConnectionShared, target: &Planned, shown: &Checkup) -> Value {
    let state = state(admin, shared);
    let failure = match &shown.verdict {
        Verdict::Failure(failure) => Some(failure),
        Verdict::Success | Verdict::Neutral => None,
    };
    json!({
        "ok": matches!(shown.verdict, Verdict::Success), "connectionId": shared.id, "provider": shared.provider,
        "model": target.model, "status": shown.status, "latencyMs": shown.took.as_millis() as u64,
        "verdict": shown.verdict.label(), "detector": failure.map(|failure| failure.detector),
        "error": failure.map(|_| shown.said.as_str()), "state": state,
    })
}
