//! At rest: what survives a crash, what the files and everything that is shown hold of secrets,
//! and what a wrong key costs.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::process::{Process, call};
use crate::stage::{FILE_KEY, KEY, OTHER_KEY, Stage, site};
use crate::support::{Answer, Proxy, Upstream, Way};

#[test]
fn what_was_answered_survives_a_kill_9() {
    let mut stage = Stage::new("kill");
    stage.make(json!({"id": "mine", "provider": "p", "priority": 0, "apiKey": KEY, "models": ["x"]}));
    stage.make(json!({"id": "gone", "provider": "p", "apiKey": KEY}));
    stage.patch("p-file", json!({"name": "theirs"}));
    stage.delete("gone");
    let before = ["mine", "p-file"].map(|id| stage.shown(id));
    stage.crash();
    assert_eq!(["mine", "p-file"].map(|id| stage.shown(id)), before);
    assert_eq!(stage.ask("p/x"), (200, Some(KEY.into())));
    assert_eq!(stage.api("GET", "/api/providers/gone", &Value::Null).0, 404);
    stage.patch("mine", json!({"apiKey": OTHER_KEY}));
    stage.crash();
    assert_eq!(stage.ask("p/x"), (200, Some(OTHER_KEY.into())));
    stage.delete("p-file");
    stage.crash();
    assert_eq!(stage.shown("p-file")["source"], "file");
}

/// Every file below a folder.
fn files(folder: PathBuf) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut waiting = vec![folder];
    while let Some(path) = waiting.pop() {
        match path.is_dir() {
            true => waiting.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path())),
            false => found.push((path.clone(), fs::read(&path).unwrap())),
        }
    }
    found
}

fn holds(text: &[u8], word: &str) -> bool {
    text.windows(word.len()).any(|window| window == word.as_bytes())
}

/// What nobody may see.
const SECRETS: [&str; 6] = [
    KEY,
    "at-canary-5555566666-QQQQ",
    "rt-canary-7777788888-RRRR",
    OTHER_KEY,
    "px-canary-8888899999-PPPP",
    // base64 of team:px-canary-8888899999-PPPP
    "dGVhbTpweC1jYW5hcnktODg4ODg5OTk5OS1QUFBQ",
];

/// Everything that shows or refuses a connection.
const LOOKS: [(&str, &str, &str); 12] = [
    ("GET", "/api/providers", ""),
    ("GET", "/api/providers/mine", ""),
    ("GET", "/api/providers/acc", ""),
    ("GET", "/api/actors", ""),
    ("GET", "/api/actors/connection/mine", ""),
    ("GET", "/api/monitoring/health", ""),
    ("GET", "/metrics", ""),
    ("PATCH", "/api/providers/mine", r#"{"apiKey":"sk-canary-9876543210-WXYZ","priority":-1}"#),
    (
        "PATCH",
        "/api/providers/mine",
        r#"{"sk-canary-9876543210-WXYZ":1,"authType":"sk-canary-9876543210-WXYZ"}"#,
    ),
    ("PATCH", "/api/providers/acc", r#"{"proxy":"socks5://team:px-canary-8888899999-PPPP@h:1"}"#),
    ("PATCH", "/api/providers/acc", r#"{"proxy":"http://h:px-canary-8888899999-PPPP"}"#),
    (
        "POST",
        "/api/providers",
        r#"{"provider":"sk-canary-9876543210-WXYZ","apiKey":"sk-canary-9876543210-WXYZ"}"#,
    ),
];

/// Of a secret its last four characters are shown: eight are a leak.
#[test]
fn no_secret_is_logged_dumped_counted_or_shown() {
    let vendor = Upstream::start("vendor");
    let way = Proxy::start(Way::To(vendor.address));
    let proxy = format!("http://team:{}@{}", SECRETS[4], way.address);
    let site = site("secrets", &vendor);
    let process = Process::of(site.command().env("RUST_LOG", "trace"));
    let mut stage = Stage { site, vendor, process };
    let mut shown = Vec::new();
    stage.make(json!({"id": "mine", "provider": "p", "priority": 0, "apiKey": KEY}));
    stage.make(json!({"id": "acc", "provider": "o", "accessToken": SECRETS[1], "refreshToken": SECRETS[2]}));
    stage.patch("acc", json!({"proxy": proxy}));
    stage.vendor.answers_first([Answer::json(401, format!("{{\"error\":\"bad key {KEY}\"}}"))]);
    for model in ["p/x", "p/x", "o/x"] {
        shown.push(crate::process::ask(&stage.process.address, model).2);
    }
    assert!(way.heads()[0].contains(SECRETS[5]), "the login is used");
    stage.patch("mine", json!({"apiKey": OTHER_KEY}));
    for (method, path, body) in LOOKS {
        shown.push(call(&stage.process.address, method, path, body).2);
    }
    stage.process.signal("TERM");
    stage.process.child.wait().unwrap();
    let log = stage.site.log();
    assert!(log.contains("an operator made a connection"), "the log is whole");
    let dump = stage.site.command().args(["store", "dump"]).output().unwrap();
    assert!(dump.status.success() && holds(&dump.stdout, "provider_connections"), "{dump:?}");
    let mut texts: Vec<(String, Vec<u8>)> =
        shown.into_iter().map(|text| (text.clone(), text.into())).collect();
    texts.push(("log".into(), log.into_bytes()));
    texts.push(("dump".into(), dump.stdout));
    let raw = files(stage.site.path("store"));
    assert!(raw.iter().any(|(_, bytes)| holds(bytes, "createdAt")), "the records are in these files");
    texts.extend(raw.into_iter().map(|(path, bytes)| (path.display().to_string(), bytes)));
    for (name, text) in texts {
        for secret in SECRETS {
            for start in 0..=secret.len() - 8 {
                let piece = &secret[start..start + 8];
                assert!(!holds(&text, piece), "{name} holds {piece}");
            }
        }
    }
    stage.process = stage.site.start();
    assert_eq!(stage.ask("p/x"), (200, Some(OTHER_KEY.into())));
}

#[test]
fn a_wrong_key_costs_the_secrets_but_destroys_nothing() {
    let mut stage = Stage::new("key");
    stage.make(json!({"id": "mine", "provider": "p", "priority": 0, "apiKey": KEY}));
    stage.make(json!({"id": "acc", "provider": "o", "accessToken": "at-0123456789abcdef"}));
    let path = stage.site.path("store.key");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    let key = fs::read_to_string(&path).unwrap();
    fs::write(&path, "0".repeat(64)).unwrap();
    stage.crash();
    let shown = stage.shown("mine");
    assert_eq!([&shown["status"], &shown["apiKey"]], [&json!("inactive"), &json!("…")], "{shown}");
    let log = stage.site.log();
    assert!(log.contains("`mine`") && log.contains("sealed with another key"), "{log}");
    assert_eq!(stage.ask("p/x"), (200, Some(FILE_KEY.into())), "it is left out");
    stage.patch("mine", json!({"name": "still mine"}));
    fs::write(&path, key).unwrap();
    stage.crash();
    assert_eq!(stage.shown("mine")["name"], "still mine");
    assert_eq!(stage.ask("p/x"), (200, Some(KEY.into())));
    assert_eq!(stage.ask("o/x"), (200, Some("at-0123456789abcdef".into())));
    fs::write(stage.site.path("store.key"), "f".repeat(64)).unwrap();
    stage.crash();
    assert_eq!(stage.patch("mine", json!({"apiKey": OTHER_KEY}))["status"], "ready", "entered once more");
    assert_eq!(stage.ask("p/x"), (200, Some(OTHER_KEY.into())));
}

#[test]
fn an_unreadable_record_is_set_aside_and_the_start_goes_on() {
    let mut stage = Stage::new("broken");
    stage.make(json!({"id": "mine", "provider": "p", "apiKey": KEY}));
    stage.process.signal("TERM");
    stage.process.child.wait().unwrap();
    let db = sled::open(stage.site.path("store")).unwrap();
    db.open_tree("provider_connections").unwrap().insert("broken", "no record").unwrap();
    db.flush().unwrap();
    drop(db);
    stage.process = stage.site.start();
    assert_eq!(stage.shown("mine")["status"], "ready");
    assert_eq!(stage.api("GET", "/api/providers/broken", &Value::Null).0, 404);
    assert!(stage.site.log().contains("moved to quarantine"), "{}", stage.site.log());
}

fn failing(command: &mut Command) -> String {
    let output = command.stderr(std::process::Stdio::piped()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    told
}

#[test]
fn a_key_that_is_none_is_a_clear_start_error() {
    let vendor = Upstream::start("vendor");
    let site = site("bad-key", &vendor);
    let told = failing(site.command().env("SWITCHTOWER_STORE_KEY", "canary-no-key"));
    assert!(told.contains("SWITCHTOWER_STORE_KEY") && told.contains("64 hex digits"), "{told}");
    assert!(!told.contains("canary"), "{told}");
    assert!(!site.path("store.key").exists(), "none is made beside it");
    fs::write(site.path("store.key"), "garbage").unwrap();
    let told = failing(&mut site.command());
    assert!(told.contains("store.key") && !told.contains("garbage"), "{told}");
}

#[test]
fn a_key_from_the_environment_needs_no_file_and_a_readable_file_is_a_warning() {
    let vendor = Upstream::start("vendor");
    let site = site("env-key", &vendor);
    let key = "ab".repeat(32);
    let process = Process::of(site.command().env("SWITCHTOWER_STORE_KEY", &key));
    let mut stage = Stage { site, vendor, process };
    stage.make(json!({"id": "mine", "provider": "p", "priority": 0, "apiKey": KEY}));
    assert!(!stage.site.path("store.key").exists());
    stage.process.signal("KILL");
    stage.process.child.wait().unwrap();
    fs::write(stage.site.path("store.key"), key).unwrap();
    fs::set_permissions(stage.site.path("store.key"), fs::Permissions::from_mode(0o640)).unwrap();
    stage.process = stage.site.start();
    assert_eq!(stage.ask("p/x"), (200, Some(KEY.into())), "the same key from the file");
    let log = stage.site.log();
    assert!(log.contains("WARN") && log.contains("others may read the key") && log.contains("640"), "{log}");
}
