//! The tokens of OAuth connections as health shows them: times and counts, never a token.

use policy::time::Millis;
use policy::token::{Timetable, TokenView};
use serde_json::{Map, Value, json};

use super::views;

/// By connection, and what token endpoints say is wrong with our settings.
pub(super) fn shown(views: &[TokenView], now: Millis) -> Value {
    let mut alarms = Map::new();
    let mut connections = Map::new();
    for view in views {
        if let Some(code) = view.alarm {
            alarms.insert(view.provider.to_string(), json!({"code": code, "message": "the token endpoint refuses our client: correct `oauth` of this provider"}));
        }
        connections.insert(view.connection.to_string(), one(view, now));
    }
    json!({"alarms": alarms, "connections": connections})
}

fn one(view: &TokenView, now: Millis) -> Value {
    let times = &view.times;
    json!({
        "provider": view.provider, "state": state(times, now), "failures": times.failures,
        "receivedAt": views::instant(times.received_at), // A token that never was has no end.
        "expiresAt": views::instant(times.expires_at.filter(|at| *at > 0)),
        "nextRefreshAt": views::instant(times.next_at()),
        "unsaved": view.unsaved,
    })
}

fn state(times: &Timetable, now: Millis) -> &'static str {
    match times.dead {
        true => "expired",
        false if times.is_good(now) => "good",
        false => "due",
    }
}
