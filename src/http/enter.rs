//! What the head of a request decides alone: whether anybody is served, who asks, and what its key
//! is held to. Nothing is read of the body before that.

use std::sync::Arc;

use actix_web::{HttpMessage, HttpRequest};

use super::auth::{Caller, KeyPolicy};
use super::errors::{Code, Problem};
use super::inference::refusal;
use super::state::{Http, HttpSettings, Running};
use super::{key_rules, leases};
use crate::relay::Leased;
use crate::upstream::Route;

/// Its key wants to be remembered nowhere.
pub(super) struct Unlogged;

/// A request that may go on.
pub(super) struct Entered {
    pub(super) running: Running,
    pub(super) policy: Option<Arc<KeyPolicy>>,
    pub(super) lease: Option<Leased>,
}

/// What a head alone decides: whether anybody is served, who asks, and what its key is held to.
pub(super) fn enter(
    route: Route,
    request: &HttpRequest,
    http: &Http,
    settings: &HttpSettings,
) -> Result<Entered, Problem> {
    if http.gate.is_draining() {
        return Err(Problem::new(Code::Draining, "switchtower is shutting down").after(1_000));
    }
    if !http.gate.is_ready() {
        return Err(Problem::new(Code::ServiceUnavailable, "switchtower is starting").after(1_000));
    }
    let running = http.gate.enter();
    let now = http.worker.tower.owners.clock.now();
    let caller = settings.keys.caller(request.headers(), now);
    let policy = match caller {
        Caller::Known(policy) => policy,
        Caller::Anonymous => return Ok(Entered { running, policy: None, lease: None }),
        refused @ (Caller::Refused | Caller::Forbidden | Caller::Fallen(_)) => return Err(refusal(&refused)),
    };
    if policy.rules.no_log {
        request.extensions_mut().insert(Unlogged);
    }
    key_rules::is_open(&policy, now)?;
    key_rules::may_call(&policy, route.path())?;
    let lease = if policy.lease { Some(leased(request, &policy)?) } else { None };
    Ok(Entered { running, policy: Some(policy), lease })
}

/// What a managed key's request says of its lease.
fn leased(request: &HttpRequest, policy: &KeyPolicy) -> Result<Leased, Problem> {
    let fence = leases::context(request.headers(), policy)?;
    let forced = request.headers().get(leases::CONNECTION).map(|value| {
        // No connection is called like something that is no text.
        value.to_str().unwrap_or("").trim().to_owned()
    });
    Ok(Leased { fence, forced })
}
