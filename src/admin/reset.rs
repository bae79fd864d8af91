//! `POST /api/resilience/reset` and `DELETE /api/monitoring/health`: closes breakers, all or one (core 1.7.7). Cooldowns and
//! lockouts are not touched.

use std::sync::Arc;

use ::actors::messages::Barrier;
use ::actors::provider::{Order, ProviderShared};
use actix_web::HttpResponse;
use serde_json::{Value, json};

use super::Admin;
use super::access::Operator;
use super::errors::Refusal;
use super::input::{self, Body};
use super::trail::difference;

/// Reads `{}`, nothing, or `{"provider": ID}`.
fn provider(body: &[u8]) -> Result<Option<String>, Refusal> {
    input::text(&input::fields(body, &["provider"])?, "provider")
}

/// Resets.
pub(super) async fn reset(admin: Operator, body: Body) -> Result<HttpResponse, Refusal> {
    let wanted = provider(&body)?;
    let mut providers = admin.owners.directory.providers();
    if let Some(wanted) = &wanted {
        providers.retain(|shared| shared.id.as_str() == wanted);
        if providers.is_empty() {
            return Err(Refusal::NotFound("provider".into(), wanted.clone()));
        }
    }
    let (count, message) = close(&admin, wanted.as_deref(), &providers).await;
    Ok(HttpResponse::Ok().json(json!({"ok": true, "resetCount": count, "message": message})))
}

/// `DELETE /api/monitoring/health`: the same for all.
pub(super) async fn forget(admin: Operator) -> Result<HttpResponse, Refusal> {
    let (count, message) = close(&admin, None, &admin.owners.directory.providers()).await;
    Ok(HttpResponse::Ok().json(json!({"success": true, "resetCount": count, "message": message})))
}

/// The state of each breaker.
fn states(admin: &Admin, providers: &[Arc<ProviderShared>]) -> Value {
    let now = admin.owners.clock.now();
    let state = |shared: &Arc<ProviderShared>| admin.provider_row(shared, now)["state"].take();
    providers.iter().map(|shared| (shared.id.to_string(), state(shared))).collect()
}

/// Closes their breakers; on disk when this returns.
async fn close(admin: &Operator, target: Option<&str>, providers: &[Arc<ProviderShared>]) -> (usize, String) {
    let before = states(admin, providers);
    for shared in providers {
        shared.mailbox.post(Order::Reset);
        let _ = shared.mailbox.ask(Barrier).await;
    }
    admin.settle_board().await;
    admin.flush().await;
    admin.tell(target, difference(Some(before), Some(states(admin, providers)), &[]));
    let count = providers.len();
    tracing::info!(count, "an operator reset breakers");
    let breakers = if count == 1 { "breaker" } else { "breakers" };
    (count, format!("{count} {breakers} reset"))
}
