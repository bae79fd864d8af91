//! Values that follow from others when they are not given.
//!
//! Runs between reading and building, on what was typed, so that `switchtower
//! settings` shows the same numbers as the owners use. Rules: core 1.1 (thresholds),
//! 3.1 (local cooldowns are those of apikey), 5.2 (the longest lock).

use super::finding::{Findings, Place, Problem};
use super::sheet::{Cell, Sheet};
use super::value::Value;

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
    let longest = "resilience.model_lockout.max_cooldown_ms";
    let base = "resilience.model_lockout.base_cooldown_ms";
    if root.millis(longest) < root.millis(base) {
        root.replace(longest, base, Value::Whole(root.millis(base)));
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
