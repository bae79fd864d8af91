//! `switchtower explain MODEL`: who would be asked now, and why each other one would not.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::Instance;
use super::client::Remote;
use super::commands::say;
use super::status::columns;

/// Asks a running instance.
pub(super) fn explain(config: &Path, instance: &Instance, model: &str, as_json: bool) -> ExitCode {
    let asked = Remote::of(config, instance)
        .and_then(|remote| remote.ask("/api/route/explain", Some(json!({"model": model}))));
    match asked {
        Ok(plan) => {
            say(if as_json { plan.to_string() } else { shown(&plan) }.trim_end());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn shown(plan: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let name = |row: &Value| format!("{}/{}", text(&row["provider"]), text(&row["model"]));
    let connection = |row: &Value| row["connection"].as_str().unwrap_or("-").to_owned();
    let list = |key: &str| plan[key].as_array().cloned().unwrap_or_default();
    let (order, excluded) = (list("order"), list("excluded"));
    let target = |(place, row): (usize, &Value)| {
        let score = row["score"].as_f64().map_or_else(|| "-".into(), |score| format!("{score:.4}"));
        vec![(place + 1).to_string(), name(row), connection(row), score, text(&row["why"])]
    };
    let order: Vec<_> = order.iter().enumerate().map(target).collect();
    let left_out = |row: &Value| {
        let until = row["until"].as_str().unwrap_or("-").to_owned();
        vec![name(row), connection(row), text(&row["reason"]), until]
    };
    let excluded: Vec<_> = excluded.iter().map(left_out).collect();
    let mut shown = format!("strategy {}\n\n", text(&plan["strategy"]));
    match order.is_empty() {
        true => shown.push_str("nobody would be asked\n"),
        false => shown.push_str(&columns(&["#", "target", "connection", "score", "why"], order)),
    }
    if !excluded.is_empty() {
        shown.push_str("\nleft out\n");
        shown.push_str(&columns(&["target", "connection", "reason", "until"], excluded));
    }
    shown
}
