//! Stored over file and demo: who wins, what stays with the file, and how it comes back.

use serde_json::{Value, json};

use crate::process::{actors, eventually};
use crate::stage::{FILE_KEY, KEY, Stage};

fn source(stage: &Stage, id: &str) -> [Value; 2] {
    let shown = stage.shown(id);
    [shown["source"].clone(), shown["overrides"].clone()]
}

#[test]
fn an_override_keeps_what_a_body_cannot_say_and_deleting_it_brings_the_file_back() {
    let stage = Stage::new("override");
    let before = stage.shown("p-file");
    assert_eq!(source(&stage, "p-file"), [json!("file"), Value::Null]);
    let changed = stage.patch("p-file", json!({"name": "theirs", "maxConcurrent": 2}));
    assert_eq!([&changed["name"], &changed["maxConcurrent"]], [&json!("theirs"), &json!(2)]);
    assert_eq!(source(&stage, "p-file"), [json!("stored"), json!("file")]);
    assert_eq!(stage.ask("p/x"), (200, Some(FILE_KEY.into())), "its secret stays with the file");
    let team = |stage: &Stage| stage.vendor.requests().last().unwrap().header("x-team").map(str::to_owned);
    assert_eq!(team(&stage).as_deref(), Some("blue"), "and so do its headers");
    stage.patch("p-file", json!({"apiKey": KEY}));
    assert_eq!(stage.ask("p/x"), (200, Some(KEY.into())));
    stage.patch("p-file", json!({"apiKey": null}));
    assert_eq!(stage.ask("p/x"), (200, Some(FILE_KEY.into())), "cleared: the file's again");
    assert_eq!(stage.shown("p-file")["name"], "theirs");
    stage.delete("p-file");
    assert_eq!(stage.shown("p-file"), before);
    assert_eq!(stage.ask("p/x"), (200, Some(FILE_KEY.into())));
}

#[test]
fn what_only_the_file_or_the_demo_has_cannot_be_deleted() {
    let stage = Stage::new("fixed");
    for id in ["p-file", "demo-a-1"] {
        let (status, answer) = stage.api("DELETE", &format!("/api/providers/{id}"), &Value::Null);
        assert_eq!((status, &answer["error"]["code"]), (409, &"ENTITY_FROM_FILE".into()), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(id), "{answer}");
    }
    stage.make(json!({"id": "mine", "provider": "p", "apiKey": KEY}));
    stage.delete("mine");
    assert_eq!(stage.api("DELETE", "/api/providers/mine", &Value::Null).0, 404);
}

#[test]
fn a_connection_of_the_demo_can_be_overridden_and_keeps_its_credential() {
    let stage = Stage::new("demo");
    stage.patch("demo-a-1", json!({"priority": 9}));
    assert_eq!(source(&stage, "demo-a-1"), [json!("stored"), json!("demo")]);
    stage.patch("demo-a-2", json!({"isActive": false}));
    assert_eq!(crate::process::ask(&stage.process.address, "demo-a/steady").0, 200);
    let told = crate::process::ask(&stage.process.address, "demo-a/steady").1;
    assert!(told.contains("x-omniroute-selected-connection-id: demo-a-1"), "{told}");
    stage.delete("demo-a-1");
    stage.delete("demo-a-2");
    assert_eq!(source(&stage, "demo-a-2"), [json!("demo"), Value::Null]);
    assert_eq!(stage.shown("demo-a-1")["priority"], 1);
}

#[test]
fn the_file_may_change_under_an_override() {
    let mut stage = Stage::new("under");
    stage.patch("p-file", json!({"name": "theirs"}));
    stage.make(json!({"id": "mine", "provider": "p", "priority": 0, "apiKey": KEY}));
    let reload = |stage: &Stage, change: &dyn Fn(String) -> String| {
        let done = || stage.site.log().matches("the config was read again").count();
        let before = done();
        stage.site.edit(change);
        stage.process.signal("HUP");
        eventually("it is read", || done() > before);
    };
    reload(&stage, &|config| config.replace(FILE_KEY, "sk-file-another-0123456"));
    stage.patch("mine", json!({"isActive": false}));
    assert_eq!(stage.ask("p/x"), (200, Some("sk-file-another-0123456".into())));
    // The connection leaves the file: what is stored of it stays, without a secret, as a warning.
    reload(&stage, &|config| config.split("[[connections]]").next().unwrap().to_owned());
    let shown = stage.shown("p-file");
    assert_eq!([&shown["status"], &shown["overrides"]], [&json!("inactive"), &Value::Null], "{shown}");
    // Its provider leaves, too: the others are listed, and can be deleted.
    let provider = |config: String| {
        let (head, rest) = config.split_once("[[providers]]\nid = \"p\"").unwrap();
        let rest = rest.split_once("[[providers]]").unwrap().1;
        format!("{head}[[providers]]{rest}")
    };
    reload(&stage, &provider);
    stage.crash();
    assert_eq!(stage.shown("mine")["status"], "inactive");
    assert_eq!(stage.shown("mine")["authType"], Value::Null);
    assert!(stage.site.log().contains("which does not exist"), "{}", stage.site.log());
    assert!(!actors(&stage.process.address).contains_key("connection/mine"));
    stage.delete("mine");
    stage.delete("p-file");
    assert!(stage.sources().iter().all(|(_, source)| source == "demo"));
}

/// An id that the file takes for another provider: what was stored under it is not sent there.
#[test]
fn a_secret_goes_to_no_other_provider() {
    let mut stage = Stage::new("other-provider");
    stage.make(json!({"id": "mine", "provider": "p", "apiKey": KEY}));
    stage.site.edit(|config| {
        let address = stage.vendor.address;
        format!(
            "{config}[[providers]]\nid = \"q\"\nauth = \"apikey\"\nformat = \"openai\"\nbase_url = \"http://{address}\"\n\
             [[connections]]\nid = \"mine\"\nprovider = \"q\"\ncredential = \"sk-of-q-0123456789\"\n"
        )
    });
    stage.crash();
    assert_eq!(stage.ask("q/x"), (200, Some("sk-of-q-0123456789".into())));
    assert_eq!(source(&stage, "mine"), [json!("file"), Value::Null]);
    assert!(stage.site.log().contains("is another provider's"), "{}", stage.site.log());
    stage.patch("mine", json!({"name": "theirs"}));
    assert_eq!(stage.ask("q/x"), (200, Some("sk-of-q-0123456789".into())), "a change begins with the file's");
    assert_eq!(source(&stage, "mine"), [json!("stored"), json!("file")]);
    stage.delete("mine");
    assert_eq!(source(&stage, "mine"), [json!("file"), Value::Null]);
}
