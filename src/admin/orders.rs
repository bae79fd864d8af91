//! `POST /api/actors/{kind}/{id}/messages`: an operator's order to one actor.

use std::sync::Arc;

use ::actors::connection::{ConnectionShared, Order as ConnectionOrder};
use ::actors::lockout::{LockoutShared, Remove};
use ::actors::mailbox::Unanswered;
use ::actors::messages::{Barrier, Owner};
use ::actors::provider::{Order as ProviderOrder, ProviderShared};
use ::actors::router::family::Restart;
use actix_web::{HttpResponse, web};
use policy::time::Millis;
use serde_json::{Map, Value, json};

use super::Admin;
use super::access::Operator;
use super::actors::{Named, describe, find, state};
use super::errors::Refusal;
use super::input::Body;

/// A message and how long it is for.
struct Order {
    name: String,
    for_ms: Option<Millis>,
}

impl Order {
    /// The order, and the state it has found and left.
    fn told(&self, before: Value, after: Value) -> (Value, Value) {
        let mut is = json!({"message": self.name, "state": after});
        if let Some(for_ms) = self.for_ms {
            is["forMs"] = for_ms.into();
        }
        (json!({"state": before}), is)
    }
}

/// Reads `{"message": NAME, "for": DURATION?}`.
fn parse(body: &[u8]) -> Result<Order, Refusal> {
    let fields: Map<String, Value> = serde_json::from_slice(body)
        .map_err(|error| Refusal::invalid("body", format!("must be a JSON object: {error}")))?;
    if let Some(unknown) = fields.keys().find(|field| !matches!(field.as_str(), "message" | "for")) {
        return Err(Refusal::invalid(unknown, "unknown field; accepted: message, for"));
    }
    let name = fields.get("message").and_then(Value::as_str);
    let name = name.ok_or_else(|| Refusal::invalid("message", "must be the name of a message"))?.to_owned();
    let for_ms = match fields.get("for") {
        None => None,
        Some(Value::String(text)) => {
            let length = humantime::parse_duration(text);
            let length = length.map_err(|error| {
                Refusal::invalid("for", format!("must be a duration like \"60s\": {error}"))
            })?;
            Some(Millis::try_from(length.as_millis()).unwrap_or(Millis::MAX))
        }
        Some(_) => return Err(Refusal::invalid("for", "must be a duration like \"60s\"")),
    };
    Ok(Order { name, for_ms })
}

/// Longest time an order may be for, ms: 30 days.
const LONGEST: Millis = 30 * policy::time::DAY;

fn accepted(kind: &str) -> &'static str {
    match kind {
        "provider" => "reset, trip, isolate, observe, restart",
        "connection" => "reset, cool, drain, undrain, restart",
        "lockout" => "reset, restart",
        "router" => "restart",
        _ => "none",
    }
}

/// Carries the order out and answers the actor's new state.
pub(super) async fn order(
    admin: Operator,
    path: web::Path<(String, String)>,
    body: Body,
) -> Result<HttpResponse, Refusal> {
    let (kind, id) = path.into_inner();
    let named = find(&admin, &kind, &id)?;
    let order = parse(&body)?;
    if order.for_ms.is_some_and(|for_ms| for_ms == 0 || for_ms > LONGEST) {
        return Err(Refusal::invalid("for", "must be between 1ms and 30days"));
    }
    let before = state(&admin, &named);
    let known = match &named {
        Named::Provider(shared) => tell_provider(&admin, shared, &order).await,
        Named::Connection(shared) => tell_connection(&admin, shared, &order).await?,
        Named::Lockout(shared) => tell_lockout(&admin, shared, &order).await,
        Named::Router => tell_router(&admin, &order).await,
        Named::Store => tell_store(&admin, &order),
    };
    if known.is_none() {
        return Err(Refusal::invalid("message", format!("accepted for a {kind}: {}", accepted(&kind))));
    }
    tracing::info!(%kind, %id, message = order.name, "an operator's order");
    admin.settle_board().await;
    admin.flush().await;
    let is_gone = matches!(&named, Named::Lockout(shared)
        if admin.owners.directory.lockout(&shared.connection, &shared.key).is_none());
    let after = if is_gone { "removed".into() } else { state(&admin, &named) };
    admin.tell(Some(&format!("{kind}/{id}")), order.told(before, after));
    match is_gone {
        true => Ok(HttpResponse::Ok().json(json!({"kind": "lockout", "id": id, "state": "removed"}))),
        false => describe(&admin, named).await,
    }
}

impl Admin {
    /// What the owners have just published is on the shared board.
    pub(super) async fn settle_board(&self) {
        // The first hears what was posted, the second the fold that it caused.
        for _ in 0..2 {
            let _: Result<(), Unanswered> = self.owners.router.mailbox.ask(Barrier).await;
        }
    }
}

async fn tell_provider(admin: &Admin, shared: &Arc<ProviderShared>, order: &Order) -> Option<()> {
    let what = match order.name.as_str() {
        "reset" => ProviderOrder::Reset,
        "trip" => ProviderOrder::Trip(order.for_ms),
        "isolate" => ProviderOrder::Isolate,
        "observe" => ProviderOrder::Observe,
        "restart" => {
            restart(admin, Owner::Provider(shared.id.clone())).await;
            return Some(());
        }
        #[cfg(feature = "test-hooks")]
        "poison" => {
            shared.mailbox.post(::actors::messages::Poison);
            return Some(());
        }
        _ => return None,
    };
    shared.mailbox.post(what);
    let _ = shared.mailbox.ask(Barrier).await;
    Some(())
}

async fn tell_connection(
    admin: &Admin,
    shared: &Arc<ConnectionShared>,
    order: &Order,
) -> Result<Option<()>, Refusal> {
    let what = match order.name.as_str() {
        "reset" => {
            for lockout in admin.owners.directory.lockouts_of(&shared.id) {
                remove(admin, &lockout).await;
            }
            admin.tokens.revive(&shared.id);
            ConnectionOrder::Reset
        }
        "cool" => match order.for_ms {
            Some(for_ms) => {
                refuse_terminal(admin, shared).await?;
                ConnectionOrder::Cool(for_ms)
            }
            None => return Err(Refusal::invalid("for", "must say how long, like \"30s\"")),
        },
        "drain" => ConnectionOrder::Drain,
        "undrain" => ConnectionOrder::Undrain,
        "restart" => {
            restart(admin, Owner::Connection(shared.id.clone())).await;
            return Ok(Some(()));
        }
        #[cfg(feature = "test-hooks")]
        "poison" => {
            shared.mailbox.post(::actors::messages::Poison);
            return Ok(Some(()));
        }
        _ => return Ok(None),
    };
    shared.mailbox.post(what);
    let _ = shared.mailbox.ask(Barrier).await;
    Ok(Some(()))
}

/// A terminal connection takes no cooldown (contract 8).
async fn refuse_terminal(admin: &Admin, shared: &ConnectionShared) -> Result<(), Refusal> {
    let _ = shared.mailbox.ask(Barrier).await;
    admin.settle_board().await;
    let board = admin.owners.router.board.load();
    let terminal = board.connections.get(&shared.id).and_then(|view| view.cooldown.terminal);
    terminal.map_or(Ok(()), |terminal| Err(Refusal::Terminal(shared.id.to_string(), terminal.state.as_str())))
}

async fn tell_lockout(admin: &Admin, shared: &Arc<LockoutShared>, order: &Order) -> Option<()> {
    match order.name.as_str() {
        "reset" => remove(admin, shared).await,
        "restart" => restart(admin, Owner::Lockout(shared.connection.clone(), shared.key.clone())).await,
        #[cfg(feature = "test-hooks")]
        "poison" => shared.mailbox.post(::actors::messages::Poison),
        _ => return None,
    }
    Some(())
}

/// The lockout ends itself; the router hears of it before this returns.
async fn remove(admin: &Admin, shared: &Arc<LockoutShared>) {
    shared.mailbox.post(Remove);
    let _ = shared.mailbox.ask(Barrier).await;
    admin.settle_board().await;
}

async fn tell_router(admin: &Admin, order: &Order) -> Option<()> {
    match order.name.as_str() {
        "restart" => {
            admin.owners.router.mailbox.post(::actors::provider::Leave(::actors::watch::End::Restarted))
        }
        #[cfg(feature = "test-hooks")]
        "poison" => admin.owners.router.mailbox.post(::actors::messages::Poison),
        _ => return None,
    }
    Some(())
}

/// Nothing can be told to the store, except to die in a test.
fn tell_store(admin: &Admin, order: &Order) -> Option<()> {
    #[cfg(feature = "test-hooks")]
    if order.name == "poison" {
        admin.store.load_full()?.do_send(::actors::messages::Poison);
        return Some(());
    }
    let _ = (admin, order);
    None
}

/// The router tells the owner to leave and spawns the next one when it has.
async fn restart(admin: &Admin, owner: Owner) {
    admin.owners.router.mailbox.post(Restart(owner));
    admin.settle_board().await;
}
