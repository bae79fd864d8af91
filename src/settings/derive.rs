//! Values that follow from others when they are not given.
//!
//! Runs between reading and building, on what was typed, so that `switchtower
//! settings` shows the same numbers as the owners use. Rules: core 1.1 (thresholds),
//! 3.1 (local cooldowns are those of apikey), 5.2 (the longest lock), 6 (waits, budgets).

use super::finding::{Findings, Place, Problem};
use super::sheet::{Cell, Sheet};
use super::value::Value;

/// What a local back end shares with API keys; breaker hints are its own affair (core 1.4.3).
const COOLDOWN_NAMES: [&str; 3] = ["base_cooldown_ms", "use_upstream_retry_hints", "max_backoff_steps"];

/// Fills in what follows, and refuses a threshold that cannot.
pub(super) fn derive(root: &mut Sheet, findings: &mut Findings) {
    for class in ["oauth", "apikey", "local"] {
        degradation(class, root, findings);
    }
    for name in COOLDOWN_NAMES {
        let apikey = format!("resilience.connection_cooldown.apikey.{name}");
        root.follow(&format!("resilience.connection_cooldown.local.{name}"), &apikey);
    }
    raise(root, "resilience.model_lockout.max_cooldown_ms", "resilience.model_lockout.base_cooldown_ms", 1);
    let key = |name: &str| format!("resilience.provider_cooldown.{name}");
    raise(root, &key("max_retry_cooldown_ms"), &key("min_retry_cooldown_ms"), 1);
    waits(root);
    let [warns, cuts] = ["warn_threshold_percent", "default_threshold_percent"]
        .map(|name| format!("resilience.quota_preflight.{name}"));
    if root.millis(&warns) <= root.millis(&cuts) {
        root.replace(&warns, &cuts, Value::Whole(root.millis(&cuts) + 1));
    }
}

/// One key is never below a multiple of another.
fn raise(root: &mut Sheet, key: &str, least: &str, factor: u64) {
    let floor = root.millis(least) * factor;
    if root.millis(key) < floor {
        root.replace(key, least, Value::Whole(floor));
    }
}

/// A wait of no time or no attempt is none, and a budget holds at least one (core 6).
fn waits(root: &mut Sheet) {
    for (section, longest, count, factor) in [
        ("wait_for_cooldown", "max_retry_wait_sec", "max_retries", 1_000),
        ("combo_cooldown_wait", "max_wait_ms", "max_attempts", 1),
    ] {
        let key = |name: &str| format!("resilience.{section}.{name}");
        for cause in [key(longest), key(count)] {
            if root.millis(&cause) == 0 && root.flag(&key("enabled")) {
                root.replace(&key("enabled"), &cause, Value::Flag(false));
            }
        }
        raise(root, &key("budget_ms"), &key(longest), factor);
    }
}

/// A breaker degrades before it opens. What the operator typed must say so; a default,
/// the guide's variables and what is stored give way. A local breaker may have both alike, then it
/// never degrades.
fn degradation(class: &str, root: &mut Sheet, findings: &mut Findings) {
    let key = |name: &str| format!("resilience.provider_breaker.{class}.{name}");
    let (degrades, opens) = (key("degradation_threshold"), key("failure_threshold"));
    let threshold = root.millis(&opens);
    let local = class == "local";
    let highest = if local { threshold } else { threshold.saturating_sub(1).max(1) };
    if local && !root.is_given(&degrades) && root.is_given(&opens) {
        root.replace(&degrades, &opens, Value::Whole((threshold * 3).div_ceil(5)));
    } else if root.millis(&degrades) > highest {
        if root.is_given(&degrades) && !gives_way(root, &degrades) && !gives_way(root, &opens) {
            let below = if local { "above" } else { "not below" };
            let problem = format!("is {below} failure_threshold ({threshold})");
            let accepted = format!("a whole number from 1 to {highest}");
            let problem = Problem::new(problem, accepted);
            findings.refuse(root.place_of(&degrades), &degrades, problem);
        } else {
            root.replace(&degrades, &opens, Value::Whole(highest));
        }
    }
}

/// Whether the value comes from one of the guide's variables or from the store: neither may
/// keep the process from starting.
fn gives_way(root: &Sheet, key: &str) -> bool {
    match root.cells.get(key).map(|cell: &Cell| &cell.place) {
        Some(Place::Env(name)) => !name.starts_with("SWITCHTOWER__"),
        Some(Place::Stored) => true,
        Some(Place::Line(_)) | None => false,
    }
}
