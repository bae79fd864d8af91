//! At rest: what survives a crash, what is shown of secrets anywhere, and what a wrong key costs.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::process::{Process, call};
use crate::stage::{CLIENT_SECRET, HEADER, Stage};

#[test]
fn what_was_answered_survives_a_kill_9_and_the_file_may_not_name_it() {
    let mut stage = Stage::new("kill");
    stage.mine();
    stage.make(json!({"id": "gone", "format": "openai", "baseUrl": "http://h"}));
    assert_eq!(stage.api("DELETE", "/api/provider-nodes/gone", &Value::Null).0, 200);
    let before = stage.shown("mine");
    stage.crash();
    assert_eq!(stage.shown("mine"), before);
    assert_eq!(before["connections"], json!(["mine-1"]));
    assert_eq!(stage.ask("mine/x").0, 200);
    assert_eq!(Stage::sent(&stage.other, "x-org").as_deref(), Some(HEADER));
    assert_eq!(stage.api("GET", "/api/provider-nodes/gone", &Value::Null).0, 404);
    // The file must be right alone: it may come to a machine with another store.
    stage.site.edit(|text| text + "[[connections]]\nid = \"c\"\nprovider = \"mine\"\ncredential = \"k\"\n");
    stage.process.signal("HUP");
    crate::process::eventually("it is refused", || stage.site.log().contains("the new config is refused"));
    assert!(
        stage.site.log().contains("names the provider `mine`, which does not exist"),
        "{}",
        stage.site.log()
    );
    assert_eq!(stage.ask("mine/x").0, 200, "the old one stays");
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

/// Of a secret its last four characters are shown: eight are a leak.
#[test]
fn no_header_and_no_client_secret_is_logged_dumped_or_shown() {
    let mut stage = Stage::new("secrets");
    stage.process.signal("TERM");
    stage.process.child.wait().unwrap();
    stage.process = Process::of(stage.site.command().env("RUST_LOG", "switchtower=trace,info"));
    stage.mine();
    let oauth = json!({"tokenUrl": "http://127.0.0.1:9/t", "clientId": "me", "clientSecret": CLIENT_SECRET});
    stage
        .make(json!({"id": "o", "auth": "oauth", "format": "openai", "baseUrl": "http://h", "oauth": oauth}));
    let mut shown = Vec::new();
    let wrong = json!({"baseUrl": HEADER, "auth": HEADER, HEADER: 1, "headers": {"host": HEADER}, "oauth": {"clientSecret": [CLIENT_SECRET]}}).to_string();
    for (method, path, body) in [
        ("POST", "/v1/chat/completions", r#"{"model":"mine/x"}"#),
        ("GET", "/api/provider-nodes", ""),
        ("GET", "/api/provider-nodes/mine", ""),
        ("GET", "/api/provider-nodes/o", ""),
        ("GET", "/api/settings/effective", ""),
        ("GET", "/api/actors", ""),
        ("GET", "/api/actors/provider/mine", ""),
        ("GET", "/metrics", ""),
        ("PATCH", "/api/provider-nodes/mine", r#"{"headers":{"x-2":"two"}}"#),
        ("PATCH", "/api/provider-nodes/mine", &wrong),
        ("POST", "/api/provider-nodes", &wrong),
    ] {
        let (_, head, body) = call(&stage.process.address, method, path, body);
        shown.extend([head, body]);
    }
    assert_eq!(Stage::sent(&stage.other, "x-org").as_deref(), Some(HEADER), "it is used");
    stage.process.signal("TERM");
    stage.process.child.wait().unwrap();
    let log = stage.site.log();
    assert!(log.contains("an operator made a provider"), "the log is whole");
    let dump = stage.site.command().args(["store", "dump"]).output().unwrap();
    assert!(dump.status.success() && holds(&dump.stdout, "provider_nodes"), "{dump:?}");
    let mut texts: Vec<(String, Vec<u8>)> =
        shown.into_iter().map(|text| (text.clone(), text.into())).collect();
    texts.extend([("log".into(), log.into_bytes()), ("dump".into(), dump.stdout)]);
    texts.extend(files(stage.site.path("store")));
    for (name, text) in texts {
        for secret in [HEADER, CLIENT_SECRET] {
            for start in 0..=secret.len() - 8 {
                let piece = &secret[start..start + 8];
                assert!(!holds(&text, piece), "{name} holds {piece}");
            }
        }
    }
}

#[test]
fn a_wrong_key_costs_the_headers_but_nobody_is_called_without_them() {
    let mut stage = Stage::new("key");
    stage.mine();
    let path = stage.site.path("store.key");
    let key = fs::read_to_string(&path).unwrap();
    fs::write(&path, "0".repeat(64)).unwrap();
    stage.crash();
    assert_eq!(stage.shown("mine")["headers"], "…");
    assert!(stage.site.log().contains("sealed with another key"), "{}", stage.site.log());
    assert_eq!((stage.ask("mine/x").0, stage.other.asked()), (503, 0));
    stage.patch("mine", json!({"perModelQuota": true}));
    fs::write(&path, key).unwrap();
    stage.crash();
    assert_eq!(
        [&stage.shown("mine")["headers"]["X-Org"], &stage.shown("mine")["perModelQuota"]],
        [&json!("org…ABCD"), &json!(true)]
    );
    assert_eq!(stage.ask("mine/x").0, 200);
    assert_eq!(Stage::sent(&stage.other, "x-org").as_deref(), Some(HEADER), "nothing was destroyed");
}
