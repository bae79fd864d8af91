//! `GET|POST /api/resilience/cooldowns`: who rests, is locked or terminal, and the order to
//! clear it (contract 8, core 5.7.3, 5.7.4). Terminal states are listed, never cleared here.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use ::actors::connection::{ConnectionShared, Order};
use ::actors::lockout::{LockoutShared, Remove};
use ::actors::messages::Barrier;
use actix_web::{HttpResponse, web};
use policy::board::{Board, ConnectionView};
use policy::ids::ConnectionId;
use policy::lockout::LockoutView;
use policy::time::Millis;
use serde::Deserialize;
use serde_json::{Value, json};

use super::access::Operator;
use super::errors::Refusal;
use super::input::{self, Body};
use super::{Admin, views};
use crate::http::errors::rfc3339;

/// `?provider=`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Filter {
    provider: Option<String>,
}

/// Every connection that rests, has a lock or is terminal.
pub(super) async fn list(
    admin: Operator,
    filter: Result<web::Query<Filter>, actix_web::Error>,
) -> Result<HttpResponse, Refusal> {
    let filter = filter.map_err(|_| Refusal::invalid("query", "accepted: provider"))?.into_inner();
    let (board, now) = (admin.owners.router.board.load(), admin.owners.clock.now());
    let mut rows = Vec::new();
    for shared in admin.owners.directory.connections() {
        if filter.provider.as_deref().is_some_and(|wanted| wanted != shared.provider.as_str()) {
            continue;
        }
        let Some(view) = board.connections.get(&shared.id) else { continue };
        let locks = active_locks(&board, &shared.id, now);
        let until = view.cooldown.cooling_until(now);
        if until.is_none() && locks.is_empty() && view.cooldown.terminal.is_none() {
            continue;
        }
        let key = (shared.provider.clone(), Reverse(until.unwrap_or(now)), shared.id.clone());
        rows.push((key, row(&shared, view, &locks, now)));
    }
    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
    let rows: Vec<Value> = rows.into_iter().map(|(_, row)| row).collect();
    Ok(HttpResponse::Ok().json(json!({"connections": rows})))
}

/// Those that bar something at `now`, the one that ends last first.
fn active_locks<'a>(board: &'a Board, id: &ConnectionId, now: Millis) -> Vec<&'a Arc<LockoutView>> {
    let all = board.lockouts.get(id).map_or(&[][..], Vec::as_slice);
    let mut active: Vec<_> = all.iter().filter(|lock| lock.is_locked(now)).collect();
    active.sort_by_key(|lock| (Reverse(lock.until), lock.key.clone()));
    active
}

fn row(shared: &ConnectionShared, view: &ConnectionView, locks: &[&Arc<LockoutView>], now: Millis) -> Value {
    let cooldown = &view.cooldown;
    let (until, error) = (cooldown.cooling_until(now), cooldown.last_error.as_ref());
    let locks: Vec<Value> = locks.iter().map(|lock| lock_row(lock, now)).collect();
    json!({
        "connectionId": shared.id, "provider": shared.provider, "name": shared.id, "isActive": view.usable,
        "status": view.label(now), "terminal": cooldown.terminal.is_some(),
        "remainingMs": until.map_or(0, |until| until.saturating_sub(now)),
        "rateLimitedUntil": views::instant(until), "backoffLevel": cooldown.level,
        "lastErrorType": error.map(|error| error.reason.as_str()),
        "errorCode": error.map(|error| error.status),
        "lastErrorAt": views::instant(error.map(|error| error.at)),
        "lockouts": locks,
    })
}

fn lock_row(lock: &LockoutView, now: Millis) -> Value {
    json!({
        "model": lock.key.model, "scope": lock.key.scope, "reason": lock.reason.as_str(),
        "expiresAt": rfc3339(lock.until), "remainingMs": lock.until.saturating_sub(now),
        "failureCount": lock.failures, "until": lock.until,
    })
}

/// Whom an order is about.
enum Whom {
    All(Option<String>),
    These(BTreeSet<String>),
}

impl Whom {
    /// The one that it is about, if it is one.
    fn target(&self) -> Option<String> {
        match self {
            Self::All(provider) => provider.clone(),
            Self::These(ids) => ids.first().filter(|_| ids.len() == 1).cloned(),
        }
    }
}

/// Reads `{"connectionIds": [..]}` or `{"all": true, "provider": ID?}`: exactly one of them.
fn whom(body: &[u8]) -> Result<Whom, Refusal> {
    let fields = input::fields(body, &["connectionIds", "all", "provider"])?;
    let (all, provider) = (input::flag(&fields, "all")?, input::text(&fields, "provider")?);
    let ids = match fields.get("connectionIds") {
        None | Some(Value::Null) => None,
        Some(Value::Array(ids)) => {
            let texts = ids.iter().map(|id| id.as_str().map(str::to_owned));
            let texts: Option<BTreeSet<String>> = texts.collect();
            Some(texts.ok_or_else(|| Refusal::invalid("connectionIds", "must be a list of ids"))?)
        }
        Some(_) => return Err(Refusal::invalid("connectionIds", "must be a list of ids")),
    };
    match (ids, all) {
        (None, true) => Ok(Whom::All(provider)),
        (Some(_), true) => Err(Refusal::invalid("body", "say either connectionIds or all, not both")),
        (Some(_), false) if provider.is_some() => {
            Err(Refusal::invalid("provider", "goes with all, not with connectionIds"))
        }
        (Some(ids), false) => Ok(Whom::These(ids)),
        (None, false) => Err(Refusal::invalid("body", "say connectionIds or \"all\": true")),
    }
}

#[derive(Default)]
struct Counts {
    cleared: usize,
    unchanged: usize,
    skipped_terminal: usize,
    lockouts_cleared: usize,
}

/// Clears cooldowns and locks of connections that are not terminal.
pub(super) async fn clear(admin: Operator, body: Body) -> Result<HttpResponse, Refusal> {
    let mut counts = Counts::default();
    let whom = whom(&body)?;
    let target = whom.target();
    let connections = chosen(&admin, whom, &mut counts)?;
    admin.settle_board().await;
    for shared in connections {
        clear_one(&admin, &shared, &mut counts).await;
    }
    admin.settle_board().await;
    admin.flush().await;
    let Counts { cleared, unchanged, skipped_terminal, lockouts_cleared } = counts;
    tracing::info!(cleared, lockouts_cleared, skipped_terminal, "an operator cleared cooldowns");
    let done = json!({
        "cleared": cleared, "unchanged": unchanged, "skippedTerminal": skipped_terminal,
        "lockoutsCleared": lockouts_cleared,
    });
    admin.tell(target.as_deref(), (Value::Null, done.clone()));
    Ok(HttpResponse::Ok().json(done))
}

/// An id that nobody has is unchanged; a provider that nobody has is a mistake.
fn chosen(admin: &Admin, whom: Whom, counts: &mut Counts) -> Result<Vec<Arc<ConnectionShared>>, Refusal> {
    let directory = &admin.owners.directory;
    match whom {
        Whom::These(ids) => {
            let found: Vec<_> =
                ids.iter().filter_map(|id| directory.connection(&id.as_str().into())).collect();
            counts.unchanged += ids.len() - found.len();
            Ok(found)
        }
        Whom::All(provider) => {
            let mut connections = directory.connections();
            if let Some(provider) = provider {
                let known = directory.provider(&provider.as_str().into()).is_some();
                if !known {
                    return Err(Refusal::NotFound("provider".into(), provider));
                }
                connections.retain(|shared| shared.provider.as_str() == provider);
            }
            Ok(connections)
        }
    }
}

async fn clear_one(admin: &Admin, shared: &ConnectionShared, counts: &mut Counts) {
    let (board, now) = (admin.owners.router.board.load_full(), admin.owners.clock.now());
    let cooldown = board.connections.get(&shared.id).map(|view| &view.cooldown);
    if cooldown.is_some_and(|cooldown| cooldown.terminal.is_some()) {
        counts.skipped_terminal += 1;
        return;
    }
    let locked = active_locks(&board, &shared.id, now).len();
    let cooling = cooldown.is_some_and(|cooldown| cooldown.cooling_until(now).is_some());
    if !cooling && locked == 0 {
        counts.unchanged += 1;
        return;
    }
    counts.cleared += 1;
    counts.lockouts_cleared += locked;
    shared.mailbox.post(Order::Lift);
    let _ = shared.mailbox.ask(Barrier).await;
    remove_all(&admin.owners.directory.lockouts_of(&shared.id)).await;
}

/// They end themselves; the router hears of it behind what is asked of it next.
pub(super) async fn remove_all(lockouts: &[Arc<LockoutShared>]) {
    for lockout in lockouts {
        lockout.mailbox.post(Remove);
    }
    for lockout in lockouts {
        let _ = lockout.mailbox.ask(Barrier).await;
    }
}
