//! `POST /v1/session-leases`: a client with a managed key takes a connection for itself, keeps it
//! and gives it back (rules 7.3). Nothing is ever sent upstream from here.

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, CONTENT_TYPE, HeaderMap};
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use actors::lease::desk::NoLease;
use actors::router::offer::Offer;
use policy::catalogue::Dialect;
use policy::lease::{EndReason, Fence, LAST_GENERATION, OwnerHash, Row, is_owner};
use serde_json::{Value, json};

use super::auth::{KeyPolicy, credential, hash};
use super::body::read;
use super::errors::{Code, Problem, of_lease, rfc3339};
use super::inference::of_unread;
use super::key_rules;
use super::state::{Http, HttpSettings};

/// Names the owner of a lease; never forwarded, never logged (rules 7.6.8).
pub const OWNER: &str = "x-omniroute-lease-owner";
/// The generation that the owner was given; the same holds for it.
pub const GENERATION: &str = "x-omniroute-lease-generation";
/// The connection that a client wants.
pub const CONNECTION: &str = "x-omniroute-connection";

/// Longest name of a model, characters.
const LONGEST_MODEL: usize = 512;

/// What a client wants of its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    Acquire(String),
    Renew(u64),
    Release(u64, EndReason),
    Status(u64),
}

/// Serves one request.
pub async fn handle(request: HttpRequest, payload: Payload) -> HttpResponse {
    let http = request.app_data::<Http>().expect("every worker is given its state").clone();
    let settings = http.settings.load_full();
    let answer = answer(&request, payload, &http, &settings).await;
    answer.unwrap_or_else(|problem| problem.respond(Dialect::Openai, 0))
}

/// What a browser may send here (rules 7.3.1).
pub async fn options() -> HttpResponse {
    let headers = format!("authorization, x-api-key, content-type, {OWNER}, {GENERATION}");
    HttpResponse::build(StatusCode::NO_CONTENT)
        .insert_header((ALLOW, "POST, OPTIONS"))
        .insert_header(("access-control-allow-methods", "POST, OPTIONS"))
        .insert_header(("access-control-allow-headers", headers))
        .finish()
}

fn lease_problem(code: Code, message: &str) -> Problem {
    Problem::new(code, message).kind("lease_error")
}

/// The checks in their order (rules 7.3).
async fn answer(
    request: &HttpRequest,
    payload: Payload,
    http: &Http,
    settings: &HttpSettings,
) -> Result<HttpResponse, Problem> {
    if http.gate.is_draining() {
        return Err(Problem::new(Code::Draining, "switchtower is shutting down").after(1_000));
    }
    if !http.gate.is_ready() {
        return Err(Problem::new(Code::ServiceUnavailable, "switchtower is starting").after(1_000));
    }
    let _running = http.gate.enter();
    let headers = request.headers();
    let key = credential(headers).filter(|key| !key.is_empty()).ok_or_else(|| {
        lease_problem(Code::LeaseAuthenticationRequired, "a lease needs a key: `Authorization: Bearer KEY`")
    })?;
    let now = http.worker.tower.owners.clock.now();
    let policy = settings.keys.standing(key, now).cloned();
    let policy = policy.ok_or_else(|| lease_problem(Code::LeaseApiKeyInvalid, "this key is not known"))?;
    if !is_json(headers) {
        let message = "the body must be `application/json`";
        return Err(lease_problem(Code::LeaseContentTypeRequired, message));
    }
    let body = read(payload, headers, settings.max_body).await;
    let body = body.map_err(|unread| of_unread(&unread, settings.max_body))?;
    let action = action(&body).ok_or_else(|| {
        let message = "the body must be {action: acquire, model}, {action: renew, generation}, \
                       {action: release, generation, reason?} or {action: status, generation}";
        lease_problem(Code::LeaseActionInvalid, message)
    })?;
    if let Action::Acquire(model) = &action {
        key_rules::is_open(&policy, now)?;
        key_rules::may_reach(&policy, &http.worker.tower.plan, model)?;
    }
    allow(&policy, &action)?;
    let owner = owner(headers)?;
    let row = act(http, &policy, owner, &action).await?;
    Ok(HttpResponse::Ok().json(shown(&row, &action, settings)))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn action(body: &[u8]) -> Option<Action> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let generation = || body["generation"].as_u64().filter(|number| (1..=LAST_GENERATION).contains(number));
    match body["action"].as_str()? {
        "acquire" => {
            let model = body["model"].as_str()?.trim();
            let fits = (1..=LONGEST_MODEL).contains(&model.chars().count());
            fits.then(|| Action::Acquire(model.to_owned()))
        }
        "renew" => Some(Action::Renew(generation()?)),
        "release" => {
            let reason = match body.get("reason") {
                None => EndReason::OwnerExit,
                Some(reason) if reason == "OWNER_EXIT" => EndReason::OwnerExit,
                Some(reason) if reason == "CLIENT_CANCELLED" => EndReason::ClientCancelled,
                Some(_) => return None,
            };
            Some(Action::Release(generation()?, reason))
        }
        "status" => Some(Action::Status(generation()?)),
        _ => None,
    }
}

/// What the key may do (rules 7.3 rows 5 to 7).
fn allow(policy: &KeyPolicy, action: &Action) -> Result<(), Problem> {
    if let (Action::Acquire(model), Some(models)) = (action, &policy.models)
        && !models.iter().any(|listed| listed.id == *model)
    {
        let message = "this key may only ask for the models of its quota pools; see GET /v1/models";
        return Err(Problem::new(Code::PermissionDenied, message));
    }
    if !policy.lease {
        return Err(lease_problem(Code::LeaseScopeRequired, "this key has no scope `lease:exclusive`"));
    }
    if policy.allowed.as_ref().is_none_or(|allowed| allowed.is_empty()) {
        let message = "this key names no connections that it could lease";
        return Err(lease_problem(Code::LeaseKeyConfigurationInvalid, message));
    }
    Ok(())
}

/// The owner that a request names.
fn owner(headers: &HeaderMap) -> Result<OwnerHash, Problem> {
    let given = headers.get(OWNER).map(|value| value.to_str().unwrap_or("?"));
    let Some(given) = given.filter(|given| !given.trim().is_empty()) else {
        let message = "`X-OmniRoute-Lease-Owner` is missing";
        return Err(lease_problem(Code::LeaseContextRequired, message));
    };
    if !is_owner(given) {
        let message = "`X-OmniRoute-Lease-Owner` must be `vlo_` and 43 characters of base64url";
        return Err(lease_problem(Code::LeaseContextInvalid, message));
    }
    let hex: String = hash(given).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(OwnerHash::from_hex(&hex).expect("a hash has 64 digits"))
}

/// The lease that a managed key's request speaks of (rules 7.6.1).
pub(super) fn context(headers: &HeaderMap, policy: &KeyPolicy) -> Result<Fence, Problem> {
    let owner = owner(headers)?;
    let given = headers.get(GENERATION).and_then(|value| value.to_str().ok()).unwrap_or("");
    let decimal =
        !given.starts_with('0') && !given.is_empty() && given.bytes().all(|byte| byte.is_ascii_digit());
    let generation = given.parse().ok().filter(|number| decimal && (1..=LAST_GENERATION).contains(number));
    let generation = generation.ok_or_else(|| {
        let message = "`X-OmniRoute-Lease-Generation` must be the number that the lease was given";
        lease_problem(Code::LeaseContextInvalid, message)
    })?;
    Ok(Fence { owner, generation, key: policy.name.to_string() })
}

async fn act(http: &Http, policy: &KeyPolicy, owner: OwnerHash, action: &Action) -> Result<Row, Problem> {
    let owners = &http.worker.tower.owners;
    let fence = |generation| Fence { owner: owner.clone(), generation, key: policy.name.to_string() };
    let (result, model): (Result<Row, NoLease>, &str) = match action {
        Action::Acquire(model) => {
            let offer = Offer {
                owner,
                key: policy.name.clone(),
                allowed: policy.allowed.clone().unwrap_or_default(),
                preferred: policy.preferred.clone(),
                model: model.as_str().into(),
                limited: policy.models.is_some(),
            };
            (owners.lease(offer).await, model)
        }
        Action::Renew(generation) => (owners.renew_lease(fence(*generation)).await, ""),
        Action::Release(generation, why) => (owners.release_lease(fence(*generation), *why).await, ""),
        Action::Status(generation) => (owners.lease_status(&fence(*generation)), ""),
    };
    result.map_err(|no_lease| {
        if let NoLease::Unkept(error) = &no_lease {
            tracing::error!(%error, "a lease could not be stored");
        }
        of_lease(no_lease, model, owners.clock.now())
    })
}

/// Never the connection's id, the key or the owner (rules 7.3.0).
fn shown(row: &Row, action: &Action, settings: &HttpSettings) -> Value {
    let mut shown = json!({
        "state": row.state.as_str(), "generation": row.generation, "acquiredAt": rfc3339(row.acquired_at),
        "renewedAt": rfc3339(row.renewed_at), "expiresAt": rfc3339(row.expires_at),
    });
    if let Action::Status(_) = action {
        let name = settings.names.get(&row.connection);
        shown["connection"] = json!({ "displayName": name, "provider": row.provider });
    }
    shown
}

#[cfg(test)]
mod tests;
