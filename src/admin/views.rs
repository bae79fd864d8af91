//! Owners as JSON (contract 8, "Management JSON").

use ::actors::connection::ConnectionShared;
use ::actors::lockout::LockoutShared;
use ::actors::mailbox::Gauge;
use ::actors::provider::ProviderShared;
use policy::board::{Board, ConnectionView};
use policy::breaker::BreakerView;
use policy::lockout::LockoutView;
use policy::time::Millis;
use policy::window::WindowView;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Admin;
use crate::http::errors::rfc3339;

/// An instant, or null.
pub(super) fn instant(at: Option<Millis>) -> Value {
    at.map_or(Value::Null, |at| rfc3339(at).into())
}

/// The state of a connection in one word.
pub(super) fn connection_state(view: Option<&ConnectionView>, now: Millis) -> &'static str {
    view.map_or("ready", |view| view.label(now))
}

fn row((kind, id): (&str, &str), gauge: &Gauge, restarts: &AtomicU64, in_flight: u32, state: &str) -> Value {
    json!({
        "kind": kind, "id": id,
        "mailbox": {"len": gauge.waiting(), "capacity": gauge.capacity(), "refused": gauge.refused()},
        "restarts": restarts.load(Ordering::Relaxed), "inFlight": in_flight, "state": state,
    })
}

impl Admin {
    pub(super) fn router_row(&self) -> Value {
        let router = &self.owners.router;
        let state = if router.mailbox.is_live() { "running" } else { "restarting" };
        row(("router", "router"), router.mailbox.gauge(), &router.restarts, self.gate.running() as u32, state)
    }

    pub(super) fn store_row(&self) -> Value {
        let restarts = AtomicU64::new(self.health.restarts());
        let state = if self.health.is_failing() { "failing" } else { "running" };
        row(("store", "store"), self.store_link.gauge(), &restarts, 0, state)
    }

    pub(super) fn provider_row(&self, shared: &ProviderShared, now: Millis) -> Value {
        let in_flight = self.owners.directory.connections();
        let in_flight = in_flight.iter().filter(|connection| connection.provider == shared.id);
        let in_flight = in_flight.map(|connection| connection.in_flight()).sum();
        let state = shared.view.load().label(now);
        row(("provider", shared.id.as_str()), shared.mailbox.gauge(), &shared.restarts, in_flight, state)
    }

    pub(super) fn connection_row(&self, shared: &ConnectionShared, board: &Board, now: Millis) -> Value {
        let state = connection_state(board.connections.get(&shared.id).map(AsRef::as_ref), now);
        let in_flight = shared.in_flight();
        row(("connection", shared.id.as_str()), shared.mailbox.gauge(), &shared.restarts, in_flight, state)
    }

    pub(super) fn lockout_row(&self, shared: &LockoutShared, board: &Board, now: Millis) -> Value {
        let locks = board.lockouts.get(&shared.connection);
        let lock = locks.and_then(|locks| locks.iter().find(|lock| lock.key == shared.key));
        let state = if lock.is_some_and(|lock| now <= lock.until) { "locked" } else { "expired" };
        let id = shared.key.id(&shared.connection);
        row(("lockout", &id), shared.mailbox.gauge(), &shared.restarts, 0, state)
    }
}

/// What a breaker derives for now.
pub(super) fn breaker(view: &BreakerView, now: Millis) -> Value {
    let history: Vec<Value> = view
        .history
        .iter()
        .map(|change| json!({"from": change.from, "to": change.to, "why": change.why, "at": rfc3339(change.at)}))
        .collect();
    json!({
        "state": view.label(now), "failureCount": view.failures, "lastFailureTime": instant(view.last_failure_at),
        "lastFailureKind": view.last_kind, "retryAfterMs": view.retry_after_ms(now),
        "openCycleCount": view.open_cycles, "degradationThreshold": view.degrade_at,
        "effectiveResetTimeoutMs": view.hold_ms, "openUntil": instant(view.open_until),
        "quietUntil": instant(view.quiet_until), "probePermitsLeft": view.permits_left,
        "probeLeaseUntil": instant(view.lease_until), "generation": view.generation, "transitionHistory": history,
    })
}

/// What a provider derives for now: its breaker, and how combos see it (core 2).
pub(super) fn provider(shared: &ProviderShared, now: Millis) -> Value {
    let mut derived = breaker(&shared.view.load(), now);
    let window = shared.window.load();
    derived["providerCooldownUntil"] = cooldown_end(window.view(), now);
    derived["windowFailures"] = json!(window.failures(now));
    derived
}

fn cooldown_end(view: WindowView, now: Millis) -> Value {
    json!(instant(view.refusal(now).and_then(|refusal| refusal.retry_at)))
}

/// What a connection derives for now.
pub(super) fn connection(view: &ConnectionView, now: Millis) -> Value {
    let cooldown = &view.cooldown;
    let until = cooldown.cooling_until(now);
    let error = cooldown.last_error.as_ref();
    json!({
        "state": connection_state(Some(view), now),
        "rateLimitedUntil": instant(until), "remainingMs": until.map_or(0, |until| until.saturating_sub(now)),
        "backoffLevel": cooldown.level, "lastErrorType": error.map(|error| error.reason.as_str()),
        "errorCode": error.map(|error| error.status), "lastErrorAt": instant(error.map(|error| error.at)),
        "statedWaitMs": error.and_then(|error| error.hint_ms), "trialDue": cooldown.trial_due,
        "trialUntil": instant(cooldown.trial_until), "draining": view.draining,
        "terminal": cooldown.terminal.map(|terminal| json!({
            "state": terminal.state, "at": rfc3339(terminal.at), "reason": terminal.reason,
            "retries": terminal.retries, "retriedAt": instant(terminal.retried_at),
        })),
        "providerCooldownUntil": cooldown_end(view.retry, now),
    })
}

/// What a lockout derives for now.
pub(super) fn lockout(view: &LockoutView, now: Millis) -> Value {
    json!({
        "state": if now <= view.until { "locked" } else { "expired" },
        "model": view.key.model, "scope": view.key.scope, "reason": view.reason.as_str(),
        "failureCount": view.failures, "lockedAt": rfc3339(view.locked_at), "expiresAt": rfc3339(view.until),
        "remainingMs": view.until.saturating_sub(now),
    })
}
