//! What a client key is held to (routing 10.5): whether it stands, what it reaches, how much of it.

use policy::keys::{Budget, BudgetWindow, Limits, Rate, Reach, Standing};

use super::Context;
use crate::settings::entities::KeyRules;
use crate::settings::kind::window_ms;
use crate::settings::schedule;
use crate::settings::sheet::Sheet;

const RATES: &str = "keys[].rate_limits[]";
const BUDGETS: &str = "keys[].budgets[]";
const WINDOW: &str = "keys[].rate_limits[].window";

/// Reads the rules of one key.
pub(super) fn read(context: &mut Context<'_>, sheet: &Sheet) -> KeyRules {
    let rates = rates(context, sheet);
    let budgets = sheet.list(BUDGETS).iter().filter_map(budget).collect();
    KeyRules {
        standing: Standing {
            active: sheet.flag("keys[].is_active"),
            banned: sheet.flag("keys[].is_banned"),
            expires_at: expires_at(sheet),
        },
        reach: reach(sheet),
        endpoints: sheet.texts("keys[].allowed_endpoints"),
        schedule: sheet.data("keys[].access_schedule").as_ref().and_then(schedule::read),
        throttle_ms: sheet.millis("keys[].throttle_delay_ms"),
        streams_by_accept: sheet.text("keys[].stream_default_mode").as_deref() == Some("legacy"),
        limits: Limits { rates, budgets, max_sessions: sheet.count("keys[].max_sessions") },
        no_log: sheet.flag("keys[].no_log"),
    }
}

fn expires_at(sheet: &Sheet) -> Option<u64> {
    let at: jiff::Timestamp = sheet.text("keys[].expires_at")?.parse().ok()?;
    u64::try_from(at.as_millisecond()).ok()
}

/// A list without a mode is meant to restrict: what looks closed is not open.
fn reach(sheet: &Sheet) -> Reach {
    let (models, combos) = (sheet.texts("keys[].allowed_models"), sheet.texts("keys[].allowed_combos"));
    let restricted = match sheet.text("keys[].model_access_mode").as_deref() {
        Some("restricted") => true,
        Some(_) => false,
        None => !models.is_empty() || !combos.is_empty(),
    };
    Reach { restricted, models, combos }
}

/// Two limits of one window would only be the smaller one.
fn rates(context: &mut Context<'_>, sheet: &Sheet) -> Vec<Rate> {
    let mut rates: Vec<Rate> = Vec::new();
    for entry in sheet.list(RATES) {
        let window_ms = entry.text(WINDOW).and_then(|text| window_ms(&text));
        let (Some(limit), Some(window_ms)) = (entry.whole("keys[].rate_limits[].limit"), window_ms) else {
            continue;
        };
        if rates.iter().any(|other| other.window_ms == window_ms) {
            context.refuse(entry, WINDOW, "is the window of another limit already", "each window once");
        }
        rates.push(Rate { limit, window_ms });
    }
    rates
}

fn budget(entry: &Sheet) -> Option<Budget> {
    let window = entry.text("keys[].budgets[].window")?;
    let (_, window) = BudgetWindow::ALL.into_iter().find(|(name, _)| *name == window)?;
    Some(Budget { limit_usd: entry.number("keys[].budgets[].limit_usd")?, window })
}
