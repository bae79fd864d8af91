//! `switchtower settings`: what is in force and who said so, with what operators have stored.
//! While an instance runs, its store is its own: then it is asked.

use std::path::Path;
use std::process::ExitCode;

use policy::strategy;
use serde_json::Value;

use super::Instance;
use super::client::Remote;
use super::commands::{failed, load, refused, say};
use crate::app;
use crate::settings::{Effective, Finding, Loaded, load_again};
use crate::storage::{Database, OpenError};

/// One line: key, value, who gave it, whether it acts.
struct Line {
    key: String,
    value: String,
    origin: String,
    acts: bool,
}

/// Shows them.
pub(super) fn settings(config: &Path, instance: &Instance) -> ExitCode {
    if instance.url.is_some() {
        return remote(config, instance);
    }
    let loaded = match load(config) {
        Ok(loaded) => loaded,
        Err(findings) => return refused(&findings),
    };
    match with_stored(loaded) {
        Ok(loaded) => {
            show(&loaded.effective.iter().map(Line::of).collect::<Vec<_>>());
            ExitCode::SUCCESS
        }
        Err(Unread::Locked) => remote(config, instance),
        Err(Unread::Refused(findings)) => refused(&findings),
        Err(Unread::Failed(error)) => failed(error),
    }
}

/// Why what is stored cannot be shown from here.
enum Unread {
    Locked,
    Refused(Vec<Finding>),
    Failed(String),
}

/// Lays what is stored over the file; no store, nothing stored, and none is made.
fn with_stored(loaded: Loaded) -> Result<Loaded, Unread> {
    let path = &loaded.settings.store.path;
    if !path.exists() {
        return Ok(loaded);
    }
    let database = Database::open(path).map_err(|error| match error {
        OpenError::Locked(_) => Unread::Locked,
        other => Unread::Failed(other.to_string()),
    })?;
    let stored = database.stored().map_err(|error| Unread::Failed(error.to_string()))?;
    let env = |name: &str| std::env::var(name).ok();
    load_again(&loaded.text, &env, &strategy::names(), &app::builtin(), &stored).map_err(Unread::Refused)
}

fn remote(config: &Path, instance: &Instance) -> ExitCode {
    let asked = Remote::of(config, instance).and_then(|remote| remote.ask("/api/settings/effective", None));
    match asked {
        Ok(answer) => {
            let entries = answer["settings"].as_array().into_iter().flatten();
            show(&entries.map(Line::read).collect::<Vec<_>>());
            ExitCode::SUCCESS
        }
        Err(error) => failed(error),
    }
}

impl Line {
    fn of(entry: &Effective) -> Self {
        let (key, value) = (entry.key.clone(), entry.value.clone());
        Self { key, value, origin: entry.origin.to_string(), acts: entry.acts }
    }

    fn read(entry: &Value) -> Self {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let acts = entry["acts"].as_bool().unwrap_or(true);
        Self { key: text("key"), value: text("text"), origin: text("origin"), acts }
    }
}

fn show(lines: &[Line]) {
    let width = lines.iter().map(|line| line.key.len()).max().unwrap_or(0);
    for Line { key, value, origin, acts } in lines {
        let mark = if *acts { "" } else { ", not acted on yet" };
        say(&format!("{key:width$}  {value}  ({origin}{mark})"));
    }
}
