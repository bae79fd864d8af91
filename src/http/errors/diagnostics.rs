//! What a combo's error says of how it came to that, and what to do (routing 9.2): in the body, and
//! the heart of it in headers.

use actix_web::HttpResponseBuilder;
use policy::plan::Excluded;
use serde_json::{Map, Value, json};

use super::{Problem, rfc3339, seconds};
use crate::relay::Story;

/// Entries of a diagnostic list.
pub(super) const LONGEST_LIST: usize = 64;
/// The longest wait that is told as advice, s.
const LONGEST_ADVICE: u64 = 3_600;

/// The heart of the diagnostics, as headers.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    terminal: String,
    action: Option<&'static str>,
    wait_seconds: Option<u64>,
}

impl Recovery {
    /// Adds the headers.
    pub(super) fn tell(self, response: &mut HttpResponseBuilder) {
        response.insert_header(("x-omniroute-combo-terminal-reason", self.terminal));
        let Some(action) = self.action else { return };
        response.insert_header(("x-omniroute-recovery-action", action));
        response.insert_header(("x-omniroute-recovery-next-step", next_step(action)));
        if let Some(wait) = self.wait_seconds {
            response.insert_header(("x-omniroute-retry-after-seconds", wait.to_string()));
        }
    }
}

/// `terminal`: the reason, where it is not the code.
pub(super) fn with_diagnostics(mut problem: Problem, story: &Story, terminal: Option<&str>) -> Problem {
    let excluded: Vec<Value> = story.left_out().take(LONGEST_LIST).map(excluded).collect();
    let order: Vec<Value> = story
        .order
        .iter()
        .take(LONGEST_LIST)
        .map(|target| json!({"provider": target.provider, "model": target.model}))
        .collect();
    let action = action(problem.facts.code, terminal);
    let terminal = terminal.unwrap_or(problem.facts.code).to_ascii_lowercase();
    let wait_seconds = problem.retry_after_ms.map(|wait| seconds(wait).min(LONGEST_ADVICE));
    let mut beside = Map::new();
    beside.insert(
        "diagnostics".into(),
        json!({
            "poolSize": story.pool_size, "attempted": story.attempts, "excluded": excluded,
            "attemptOrder": order, "terminalReason": terminal,
        }),
    );
    if let Some(action) = action {
        let mut hint = json!({"action": action, "next_step": next_step(action)});
        if let Some(wait) = wait_seconds {
            hint["retry_after_seconds"] = wait.into();
        }
        beside.insert("recovery_hint".into(), hint);
    }
    problem.facts.beside = beside;
    problem.recovery = Some(Recovery { terminal, action, wait_seconds });
    problem
}

/// One target that was left out, with the end of that if it is known (FC-018).
fn excluded(target: &Excluded) -> Value {
    let mut shown =
        json!({"provider": target.provider, "model": target.model, "reason": target.reason.as_str()});
    if let Some(until) = target.until {
        shown["until"] = rfc3339(until).into();
    }
    shown
}

/// The column `recovery` of the table.
fn action(code: &str, terminal: Option<&str>) -> Option<&'static str> {
    match (code, terminal) {
        (_, Some("quota_exhausted")) => Some("switch-combo"),
        (_, Some("max_attempts_exceeded")) => Some("try-auto"),
        ("all_targets_cooling_down", _) => Some("wait"),
        ("ALL_TARGETS_SKIPPED" | "no_executable_targets" | "capability_mismatch" | "model_not_found", _) => {
            Some("switch-combo")
        }
        ("bad_gateway" | "gateway_timeout" | "service_unavailable" | "COMBO_TIMEOUT" | "panel_failed", _) => {
            Some("retry")
        }
        _ => None,
    }
}

fn next_step(action: &str) -> &'static str {
    match action {
        "wait" => "wait for the time in Retry-After and send the request again",
        "switch-combo" => "ask for another combo or model",
        "try-auto" => "ask for the model `auto`, or for another combo",
        _ => "send the request again",
    }
}
