//! `switchtower status`: a table of a running instance.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use super::Instance;
use super::client::Remote;
use super::commands::say;

/// Pause between two looks of `--watch`.
const PAUSE: Duration = Duration::from_secs(1);

/// Shows it once, or again and again.
pub(super) fn status(config: &Path, instance: &Instance, as_json: bool, watch: bool) -> ExitCode {
    let remote = match Remote::of(config, instance) {
        Ok(remote) => remote,
        Err(error) => return failed(&error),
    };
    loop {
        let looked = remote.ask("/api/monitoring/health", None).and_then(|health| {
            Ok((health, remote.ask("/api/actors", None)?, remote.ask("/api/combos", None)?))
        });
        let (health, actors, combos) = match looked {
            Ok(looked) => looked,
            Err(error) => return failed(&error),
        };
        let shown = match as_json {
            true => {
                json!({"health": health, "actors": actors["actors"], "combos": combos["combos"]}).to_string()
            }
            false => table(&health, &actors, &combos),
        };
        let clear = if watch && !as_json { "\x1b[2J\x1b[H" } else { "" };
        say(&format!("{clear}{}", shown.trim_end()));
        if !watch {
            return ExitCode::SUCCESS;
        }
        std::thread::sleep(PAUSE);
    }
}

fn failed(error: &str) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn rows(actors: &Value, kind: &str) -> Vec<Value> {
    let all = actors["actors"].as_array().cloned().unwrap_or_default();
    all.into_iter().filter(|row| row["kind"] == kind).collect()
}

/// Columns as wide as their widest cell.
pub(super) fn columns(head: &[&str], body: Vec<Vec<String>>) -> String {
    let mut lines = vec![head.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>()];
    lines.extend(body);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let cells: Vec<String> =
            line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}", width = *width)).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn table(health: &Value, actors: &Value, combos: &Value) -> String {
    let mut shown = format!(
        "switchtower {}  {}  up {} s\n\n",
        text(&health["version"]),
        text(&health["status"]),
        text(&health["uptime"])
    );
    let providers = rows(actors, "provider").into_iter().map(|row| {
        let breaker =
            &health["providerBreakers"].as_array().into_iter().flatten().find(|b| b["provider"] == row["id"]);
        let of = |field: &str| breaker.map_or_else(|| "-".into(), |breaker| text(&breaker[field]));
        vec![
            text(&row["id"]),
            text(&row["state"]),
            of("failureCount"),
            of("retryAfterMs"),
            text(&row["inFlight"]),
        ]
    });
    shown += &columns(&["PROVIDER", "BREAKER", "FAILURES", "RETRY MS", "IN FLIGHT"], providers.collect());
    let connections = rows(actors, "connection").into_iter().map(|row| {
        let of = &health["connectionHealth"][text(&row["id"])];
        vec![
            text(&row["id"]),
            text(&of["provider"]),
            text(&row["state"]),
            text(&of["remainingMs"]),
            text(&of["backoffLevel"]),
            text(&of["lastErrorType"]),
            text(&row["inFlight"]),
        ]
    });
    let head = ["CONNECTION", "PROVIDER", "STATE", "REMAINING MS", "LEVEL", "LAST ERROR", "IN FLIGHT"];
    shown += &format!("\n{}", columns(&head, connections.collect()));
    let lockouts: Vec<Vec<String>> = health["lockouts"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|lock| {
            ["connectionId", "model", "reason", "remainingMs"]
                .iter()
                .map(|field| text(&lock[*field]))
                .collect()
        })
        .collect();
    if !lockouts.is_empty() {
        shown += &format!("\n{}", columns(&["LOCKOUT OF", "MODEL", "REASON", "REMAINING MS"], lockouts));
    }
    let combos = combos["combos"].as_array().into_iter().flatten().map(|combo| {
        let asked = |target: &Value| text(target.get("model").unwrap_or(&target["comboName"]));
        let targets = combo["targets"].as_array().into_iter().flatten().map(asked);
        vec![text(&combo["name"]), text(&combo["strategy"]), targets.collect::<Vec<_>>().join(", ")]
    });
    shown += &format!("\n{}", columns(&["COMBO", "STRATEGY", "TARGETS"], combos.collect()));
    shown
}
