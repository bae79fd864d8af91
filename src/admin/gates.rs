//! Gates as operators see them: how full each cap is, who waits, and since when the oldest
//! request is in (flow 1.25, FC-010). For health, for one connection's page, for metrics.
//!
//! A gate is looked at under its own lock, one after the other: the picture is true for each of
//! them, not for all at one instant.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::actors::ceiling::Ceiling;
use ::actors::connection::ConnectionShared;
use policy::gate::{GateView, LevelView, account_key, model_key};
use policy::ids::{ConnectionId, ProviderId};
use policy::time::Millis;
use serde_json::{Map, Value, json};

use super::{Admin, views};

/// Every connection's gate, read once.
pub(super) struct Gates {
    connections: Vec<(Arc<ConnectionShared>, GateView, Option<Millis>)>,
    now: Millis,
}

/// One cap, wherever it is.
pub(super) struct Row {
    /// `global`, `provider`, `account` or `model`.
    pub(super) level: &'static str,
    /// The provider or connection; empty: the process.
    pub(super) id: String,
    /// The model; empty: not of one model.
    pub(super) model: String,
    /// Requests at once; 0: no cap.
    pub(super) cap: u32,
    /// Requests that are in.
    pub(super) running: u32,
    /// Requests that wait for it; above a connection: connections with somebody in line for it.
    pub(super) waiting: usize,
    /// How long the oldest has been in, ms.
    pub(super) oldest_holder_ms: Option<Millis>,
    /// Its name among all gates (flow 1.8).
    key: String,
    /// Nobody passes before it.
    blocked_until: Option<Millis>,
}

impl Gates {
    pub(super) fn of(admin: &Admin) -> Self {
        let now = admin.owners.clock.now();
        let mut connections = admin.owners.directory.connections();
        connections.sort_by(|a, b| (&a.provider, &a.id).cmp(&(&b.provider, &b.id)));
        let view = |shared: Arc<ConnectionShared>| {
            let (view, rest) = (shared.gate().view(now), rest(admin, &shared.id, now));
            (shared, view, rest)
        };
        Self { connections: connections.into_iter().map(view).collect(), now }
    }

    /// All caps, from the outside in.
    pub(super) fn rows(&self, admin: &Admin) -> Vec<Row> {
        let oldest = |of: Option<&ProviderId>| self.oldest(of);
        let mut rows = vec![above("global", "", &admin.owners.router.ceiling, oldest(None))];
        let mut providers = admin.owners.directory.providers();
        providers.sort_by(|a, b| a.id.cmp(&b.id));
        rows.extend(providers.iter().map(|provider| {
            above("provider", provider.id.as_str(), &provider.ceiling, oldest(Some(&provider.id)))
        }));
        for (shared, view, rest) in &self.connections {
            rows.extend(view.levels.iter().map(|level| of_connection(shared, level, *rest)));
        }
        rows
    }

    fn oldest(&self, of: Option<&ProviderId>) -> Option<Millis> {
        let connections = self.connections.iter();
        let of = connections.filter(|(shared, ..)| of.is_none_or(|provider| *provider == shared.provider));
        of.filter_map(|(_, view, _)| view.levels.first()?.oldest_holder_ms).max()
    }

    /// For health: what is capped, is in or waits, by key; and all that wait together.
    pub(super) fn shown(&self, admin: &Admin) -> Value {
        let rows = self.rows(admin).into_iter().filter(Row::says_something);
        let gates: Map<String, Value> = rows.map(|row| (row.key.clone(), row.shown())).collect();
        let queued = &admin.owners.router.queued;
        json!({"queued": queued.waiting(), "maxQueuedTotal": queued.capacity(), "byKey": gates})
    }

    /// The view of each connection's gate, by id.
    pub(super) fn by_id(&self) -> BTreeMap<&str, &GateView> {
        self.connections.iter().map(|(shared, view, _)| (shared.id.as_str(), view)).collect()
    }

    /// When it was looked at.
    pub(super) fn now(&self) -> Millis {
        self.now
    }
}

/// When a connection comes back from its rest: until then nobody passes its gate (flow 1.23).
pub(super) fn rest(admin: &Admin, id: &ConnectionId, now: Millis) -> Option<Millis> {
    admin.owners.router.board.load().connections.get(id)?.cooldown.cooling_until(now)
}

fn above(level: &'static str, id: &str, ceiling: &Ceiling, oldest_holder_ms: Option<Millis>) -> Row {
    Row {
        level,
        id: id.to_owned(),
        model: String::new(),
        cap: ceiling.cap(),
        running: ceiling.taken(),
        waiting: ceiling.waiting(),
        oldest_holder_ms,
        key: if id.is_empty() { level.to_owned() } else { format!("{level}:{id}") },
        blocked_until: None,
    }
}

fn of_connection(shared: &ConnectionShared, level: &LevelView, blocked_until: Option<Millis>) -> Row {
    let key = match &level.model {
        None => account_key(&shared.provider, &shared.id),
        Some(model) => model_key(&shared.provider, &shared.id, model),
    };
    Row {
        level: if level.model.is_none() { "account" } else { "model" },
        id: shared.id.to_string(),
        model: level.model.as_ref().map(ToString::to_string).unwrap_or_default(),
        cap: level.max_concurrency,
        running: level.running,
        waiting: level.queued,
        oldest_holder_ms: level.oldest_holder_ms,
        key,
        blocked_until,
    }
}

impl Row {
    fn says_something(&self) -> bool {
        self.cap > 0 || self.running > 0 || self.waiting > 0 || self.blocked_until.is_some()
    }

    fn shown(&self) -> Value {
        json!({
            "running": self.running, "queued": self.waiting, "maxConcurrency": self.cap,
            "blockedUntil": views::instant(self.blocked_until), "oldestHolderMs": self.oldest_holder_ms,
        })
    }
}

/// One connection's gate, whole: levels, limiters, waiters.
pub(super) fn whole(view: &GateView, blocked_until: Option<Millis>) -> Value {
    let mut shown = json!(view);
    shown["blockedUntil"] = views::instant(blocked_until);
    shown["limiters"] = limiters(view);
    shown
}

/// Its limiters; times as all of the management API writes them.
pub(super) fn limiters(view: &GateView) -> Value {
    let limiter = |entry: &policy::gate::LimiterEntry| {
        let mut shown = json!(entry);
        shown["pausedUntil"] = views::instant(entry.limiter.paused_until);
        if let Some(learnt) = entry.limiter.learnt {
            shown["learnt"]["at"] = views::instant(Some(learnt.at));
        }
        shown
    };
    view.limiters.iter().map(limiter).collect()
}
