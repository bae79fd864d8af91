//! `switchtower store`: looking at the store of a stopped instance, and making it smaller.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::commands::{failed, load, refused, say};
use crate::storage::{Count, Database, Found, KEY_VARIABLE, OpenError, Standing, Tree, Vault, key_path};

/// Long work says so often how far it is.
const PACE: Duration = Duration::from_secs(1);

/// Opens the store that the config names, or says why not.
fn opened(config: &Path) -> Result<(Database, PathBuf), ExitCode> {
    let path = match load(config) {
        Ok(loaded) => loaded.settings.store.path.clone(),
        Err(findings) => return Err(refused(&findings)),
    };
    if !Database::exists(&path) {
        return Err(failed(format!("there is no store at {}", path.display())));
    }
    match Database::open_as_it_is(&path) {
        Ok(database) => Ok((database, path)),
        Err(error @ OpenError::Locked(_)) => {
            Err(failed(format!("{error}; a running instance answers `switchtower status`")))
        }
        Err(error) => Err(failed(error)),
    }
}

/// `switchtower store dump`.
pub(super) fn dump(config: &Path) -> ExitCode {
    let database = match opened(config) {
        Ok((database, _)) => database,
        Err(code) => return code,
    };
    for tree in Tree::ALL {
        let records = match database.records(tree) {
            Ok(records) => records,
            Err(error) => return failed(error),
        };
        for (key, value) in records {
            say(&line(tree, &key, &value).to_string());
        }
    }
    ExitCode::SUCCESS
}

/// One record; hashes and the salt are nobody's to read.
fn line(tree: Tree, key: &str, value: &[u8]) -> Value {
    let mut shown = match tree {
        Tree::Meta => Value::from("[redacted]"),
        _ => serde_json::from_slice(value)
            .unwrap_or_else(|_| String::from_utf8_lossy(value).into_owned().into()),
    };
    if let Some(hash) = shown.pointer_mut("/data/hash").filter(|_| tree == Tree::Keys) {
        *hash = "[redacted]".into();
    }
    json!({"tree": tree.name(), "key": key, "value": shown})
}

/// `switchtower store verify`.
pub(super) fn verify(config: &Path) -> ExitCode {
    let (database, path) = match opened(config) {
        Ok(opened) => opened,
        Err(code) => return code,
    };
    let variable = std::env::var(KEY_VARIABLE).ok();
    let (vault, keyless) = match Vault::at_hand(&path, variable.as_deref()) {
        Ok(vault) => (vault, None),
        Err(error) => (None, Some(error)),
    };
    let mut tell = |what: &str, (tree, key, why): Row<'_>| say(&format!("{what}: {tree}: {key}: {why}"));
    let counts = match checked(&database, vault.as_ref(), &mut tell) {
        Ok(counts) => counts,
        Err(error) => return failed(error),
    };
    let width = counts.iter().map(|count| count.tree.chars().count()).max().unwrap_or(0);
    for count in &counts {
        say(&format!("{:width$}  {}", count.tree, words(count)));
    }
    let sum = |of: fn(&Count) -> u64| counts.iter().map(of).sum::<u64>();
    let (bad, sealed, closed) =
        (sum(|count| count.bad), sum(|count| count.sealed), sum(|count| count.closed));
    match (bad, closed, keyless) {
        (0, 0, None) => {
            say(&match (sealed, vault) {
                (0, _) => "every record can be read".to_owned(),
                (_, Some(_)) => "every record can be read, and what is sealed opens".to_owned(),
                (sealed, None) => format!(
                    "every record can be read; what is sealed in {sealed} was not tried: there is no key, neither \
                     {KEY_VARIABLE} nor {}",
                    key_path(&path).display()
                ),
            });
            ExitCode::SUCCESS
        }
        (0, 0, Some(error)) => failed(error),
        (0, closed, _) => failed(format!(
            "{closed} of the records above do not open with this key; a start keeps them and cannot use them: \
             bring the right key back, or enter their secrets once more"
        )),
        (bad, ..) => failed(format!(
            "{bad} of the records above cannot be read; a start sets them aside in `quarantine`"
        )),
    }
}

fn words(Count { standing, good, bad, closed, .. }: &Count) -> String {
    match standing {
        Standing::Known => {
            let bad = if *bad > 0 { format!(", {bad} bad") } else { String::new() };
            let closed = if *closed > 0 { format!(", {closed} of them closed") } else { String::new() };
            format!("{good} good{closed}{bad}")
        }
        Standing::SetAside => format!("{good} set aside by earlier starts"),
        Standing::Unknown => format!("{good} of another version, not judged and left as they are"),
    }
}

/// Tree and key of a record, and what is to be said of it.
type Row<'a> = (&'a str, &'a str, &'a str);

/// Reads everything; `tell` hears of each record that cannot be used, and how it is called.
fn checked(
    database: &Database,
    vault: Option<&Vault>,
    tell: &mut dyn FnMut(&str, Row<'_>),
) -> Result<Vec<Count>, sled::Error> {
    let mut progress = Progress::new("read");
    database.verify(vault, &mut |found| match found {
        Found::Read(tree, records) => progress.seen(tree, records),
        Found::Bad { tree, key, why } => tell("bad", (tree, &key, &why)),
        Found::Closed { tree, key, why } => tell("closed", (tree, &key, &why)),
    })
}

/// `switchtower store compact`.
pub(super) fn compact(config: &Path, with_bad: bool) -> ExitCode {
    let (database, path) = match opened(config) {
        Ok(opened) => opened,
        Err(code) => return code,
    };
    let counts = match checked(&database, None, &mut |_, _| {}) {
        Ok(counts) => counts,
        Err(error) => return failed(error),
    };
    let bad: u64 = counts.iter().map(|count| count.bad).sum();
    if bad > 0 && !with_bad {
        return failed(format!(
            "{bad} records cannot be read, and nothing was changed; `switchtower store verify` names them, \
             `--with-bad` takes them along as they are"
        ));
    }
    let mut progress = Progress::new("copied or compared");
    match database.rewrite(&mut |tree, records| progress.seen(tree, records)) {
        Ok((before, after)) => {
            let records: u64 = counts.iter().map(|count| count.good + count.bad).sum();
            say(&format!("{}: {before} bytes before, {after} after, {records} records", path.display()));
            ExitCode::SUCCESS
        }
        Err(error) => failed(error),
    }
}

/// How far long work is, on stderr; short work says nothing.
struct Progress {
    what: &'static str,
    told: Instant,
}

impl Progress {
    fn new(what: &'static str) -> Self {
        Self { what, told: Instant::now() }
    }

    fn seen(&mut self, tree: &str, records: u64) {
        // The clock is asked now and then: a record takes less than it does.
        if records.is_multiple_of(256)
            && let Some(line) = self.line(tree, records, Instant::now())
        {
            eprintln!("{line}");
        }
    }

    /// What is to be said now.
    fn line(&mut self, tree: &str, records: u64, now: Instant) -> Option<String> {
        if now.duration_since(self.told) < PACE {
            return None;
        }
        self.told = now;
        Some(format!("{tree}: {records} records {}", self.what))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{PACE, Progress};

    #[test]
    fn long_work_says_how_far_it_is_and_short_work_nothing() {
        let mut progress = Progress::new("read");
        let began = progress.told;
        let short = Duration::from_millis(1);
        assert_eq!(progress.line("pins", 256, began + PACE - short), None);
        assert_eq!(progress.line("pins", 512, began + PACE).unwrap(), "pins: 512 records read");
        assert_eq!(progress.line("pins", 768, began + PACE + short), None);
        assert_eq!(progress.line("pins", 1_024, began + 2 * PACE).unwrap(), "pins: 1024 records read");
    }
}
