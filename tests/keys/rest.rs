//! At rest: what survives a crash, and what the files and everything that is shown hold of keys.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::process::{Process, call};
use crate::stage::{FILE_KEY, Stage};

#[test]
fn what_was_answered_survives_a_kill_9() {
    let mut stage = Stage::new("kill");
    let (_, mine) = stage.make(json!({"name": "mine", "allowedModels": ["demo-a/*"]}));
    let (_, gone) = stage.make(json!({"name": "gone"}));
    stage.patch("mine", json!({"maxSessions": 5}));
    stage.delete("gone");
    let before = stage.get("/api/keys");
    stage.crash();
    assert_eq!(stage.get("/api/keys"), before);
    let statuses = [&mine, &gone].map(|key| stage.ask(key, "demo-a/steady").status);
    assert_eq!(statuses, [200, 401]);
    assert_eq!(stage.ask(&mine, "demo-b/steady").status, 403);
    stage.patch("mine", json!({"isActive": false}));
    stage.crash();
    assert_eq!(stage.ask(&mine, "demo-a/steady").status, 401);
}

/// A known key that has fallen is not taken for an anonymous client where none is required.
#[test]
fn contract_8_where_no_key_is_required_an_unknown_one_is_anonymous_and_a_fallen_one_is_not() {
    let mut stage = Stage::new("anonymous");
    let (_, key) = stage.make(json!({"name": "k", "allowedModels": ["demo-a/*"]}));
    stage.site.edit(|text| text.replace("require_api_key = true", "require_api_key = false"));
    stage.crash();
    assert_eq!(stage.ask("sk-unknown", "demo-b/steady").status, 200);
    assert_eq!(stage.ask(&key, "demo-b/steady").status, 403, "a known key keeps its policy");
    stage.patch("k", json!({"isBanned": true}));
    assert_eq!(stage.ask(&key, "demo-a/steady").told(), (401, "invalid_api_key".into()));
}

/// Every file below a folder.
fn files(folder: PathBuf) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut waiting = vec![folder];
    while let Some(path) = waiting.pop() {
        match path.is_dir() {
            true => waiting.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path())),
            false => found.push((path.display().to_string(), fs::read(&path).unwrap())),
        }
    }
    found
}

fn holds(text: &[u8], word: &str) -> bool {
    text.windows(word.len()).any(|window| window == word.as_bytes())
}

/// Of a key its last four characters are shown: eight are a leak.
#[test]
fn no_key_is_logged_dumped_counted_or_shown_again() {
    let mut stage = Stage::new("secrets");
    stage.process.signal("TERM");
    stage.process.child.wait().unwrap();
    stage.process = Process::of(stage.site.command().env("RUST_LOG", "trace"));
    let (_, key) = stage.make(json!({"name": "mine", "rateLimits": [{"limit": 1, "window": "1h"}]}));
    let mut shown = vec![stage.patch("mine", json!({"noLog": false})).to_string()];
    for _ in 0..2 {
        let seen = stage.ask(&key, "demo-a/steady");
        shown.extend([seen.head, seen.body]);
    }
    let wrong =
        json!({"name": key, "x": key, "scopes": [key], "allowedConnections": [key], &key: 1}).to_string();
    for (method, path, body) in [
        ("GET", "/api/keys", ""),
        ("GET", "/api/keys/mine", ""),
        ("GET", "/api/settings/effective", ""),
        ("GET", "/api/actors", ""),
        ("GET", "/api/usage/history", ""),
        ("GET", "/metrics", ""),
        ("PATCH", "/api/keys/mine", &wrong),
        ("POST", "/api/keys", &wrong),
    ] {
        let (_, head, body) = call(&stage.process.address, method, path, body);
        shown.extend([head, body]);
    }
    stage.process.signal("TERM");
    stage.process.child.wait().unwrap();
    let log = stage.site.log();
    assert!(log.contains("an operator made a client key"), "the log is whole");
    let dump = stage.site.command().args(["store", "dump"]).output().unwrap();
    assert!(dump.status.success() && holds(&dump.stdout, "api_keys"), "{dump:?}");
    let record = String::from_utf8_lossy(&dump.stdout)
        .lines()
        .find(|line| line.contains("api_keys"))
        .unwrap()
        .to_owned();
    let record: Value = serde_json::from_str(&record).unwrap();
    assert_eq!(record["value"]["data"]["hash"], "[redacted]", "{record}");
    let mut texts: Vec<(String, Vec<u8>)> =
        shown.into_iter().map(|text| (text.clone(), text.into())).collect();
    texts.extend([("log".into(), log.into_bytes()), ("dump".into(), dump.stdout)]);
    texts.extend(files(stage.site.path("store")));
    for (name, text) in texts {
        for secret in [FILE_KEY, &key] {
            // What every made key begins with is no secret.
            let secret = secret.trim_start_matches("sk-swt-");
            for start in 0..=secret.len() - 8 {
                let piece = &secret[start..start + 8];
                assert!(!holds(&text, piece), "{name} holds {piece}");
            }
        }
    }
}
