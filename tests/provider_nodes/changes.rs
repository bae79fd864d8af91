//! What making, changing and deleting a provider does to requests; file and store.

use serde_json::{Value, json};

use crate::process::{actors, eventually, open, read};
use crate::stage::{HEADER, Stage};
use crate::support::{Answer, Gate};

fn ok() -> (u16, String) {
    (200, String::new())
}

#[test]
fn a_made_provider_serves_at_once_with_its_headers_and_drains_when_it_is_deleted() {
    let stage = Stage::new("made");
    assert_eq!(stage.ask("mine/x"), (404, "model_not_found".into()));
    let made = stage.mine();
    assert_eq!(
        [&made["source"], &made["overrides"], &made["connections"]],
        [&json!("stored"), &Value::Null, &json!([])]
    );
    assert_eq!(stage.ask("mine/x"), ok());
    assert_eq!(Stage::sent(&stage.other, "x-org").as_deref(), Some(HEADER));
    assert_eq!(
        stage.other.requests()[0].head.split(" ").nth(1),
        Some("/v1/chat/completions"),
        "the version is not doubled"
    );
    assert!(actors(&stage.process.address).contains_key("provider/mine"));
    let (status, answer) = stage.api("DELETE", "/api/provider-nodes/mine", &Value::Null);
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("provider_in_use")), "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("mine-1"), "{answer}");
    // Nothing in flight is lost.
    let gate = Gate::default();
    stage.other.answers(Answer::good("other").held_by(&gate));
    let body = json!({"model": "mine/x"}).to_string();
    let running = open(&stage.process.address, "POST", "/v1/chat/completions", &body);
    eventually("the vendor is asked", || stage.other.asked() == 2);
    assert_eq!(stage.api("DELETE", "/api/providers/mine-1", &Value::Null).0, 200);
    assert_eq!(stage.api("DELETE", "/api/provider-nodes/mine", &Value::Null).0, 200);
    assert_eq!(stage.ask("mine/x"), (404, "model_not_found".into()));
    assert_eq!(stage.api("GET", "/api/provider-nodes/mine", &Value::Null).0, 404);
    gate.open();
    assert_eq!(read(running).0, 200);
    eventually("its owner has gone", || !actors(&stage.process.address).contains_key("provider/mine"));
}

#[test]
fn a_stored_one_wins_over_the_file_and_deleting_it_brings_the_file_back() {
    let mut stage = Stage::new("override");
    let before = stage.shown("p");
    assert_eq!([&before["source"], &before["connections"]], [&json!("file"), &json!(["p-file"])]);
    let changed = stage.patch("p", json!({"baseUrl": format!("http://{}", stage.other.address)}));
    assert_eq!([&changed["source"], &changed["overrides"]], [&json!("stored"), &json!("file")]);
    assert_eq!(stage.ask("p/x"), ok());
    assert_eq!([stage.file.asked(), stage.other.asked()], [0, 1]);
    assert_eq!(
        Stage::sent(&stage.other, "x-team").as_deref(),
        Some("blue-0123456789-team"),
        "headers stay with the file"
    );
    stage.crash();
    assert_eq!(stage.shown("p"), changed, "also after a kill -9");
    assert_eq!(stage.ask("p/x"), ok());
    assert_eq!(stage.other.asked(), 2);
    stage.patch("p", json!({"models": ["m", {"id": "n", "inputPrice": 1.5}]}));
    assert_eq!(
        [stage.ask("p/x"), stage.ask("p/m"), stage.ask("n")],
        [(404, "model_not_found".into()), ok(), ok()]
    );
    let (status, answer) = stage.api("PATCH", "/api/provider-nodes/p", &json!({"auth": "oauth"}));
    assert_eq!((status, &answer["error"]["details"][0]["field"]), (400, &json!("auth")), "{answer}");
    assert_eq!(
        stage.api("DELETE", "/api/provider-nodes/p", &Value::Null).0,
        200,
        "its connections stay with the file's"
    );
    assert_eq!(stage.shown("p"), before);
    assert_eq!(stage.ask("p/x"), ok());
    assert_eq!(stage.file.asked(), 1);
    let (status, answer) = stage.api("DELETE", "/api/provider-nodes/p", &Value::Null);
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("ENTITY_FROM_FILE")), "{answer}");
    assert_eq!(stage.api("DELETE", "/api/provider-nodes/nobody", &Value::Null).0, 404);
}

#[test]
fn the_demos_are_shown_and_cannot_be_changed() {
    let stage = Stage::new("demo");
    let shown = stage.shown("demo-a");
    assert_eq!(
        [&shown["source"], &shown["passthroughModels"], &shown["format"]],
        [&json!("demo"), &json!(true), &json!(["openai"])]
    );
    for (method, body) in [
        ("PATCH", json!({"perModelQuota": true})),
        ("PUT", json!({"format": "openai", "baseUrl": "http://h"})),
        ("DELETE", Value::Null),
    ] {
        let (status, answer) = stage.api(method, "/api/provider-nodes/demo-a", &body);
        assert_eq!(
            (status, &answer["error"]["code"]),
            (409, &json!("ENTITY_FROM_FILE")),
            "{method}: {answer}"
        );
    }
    let (status, answer) = stage.api(
        "POST",
        "/api/provider-nodes",
        &json!({"id": "demo-a", "format": "openai", "baseUrl": "http://h"}),
    );
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("already_exists")), "{answer}");
}

#[test]
fn headers_are_merged_kept_and_put() {
    let stage = Stage::new("headers");
    stage.mine();
    let names = |shown: &Value| shown["headers"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let sent = |name: &str| {
        assert_eq!(stage.ask("mine/x"), ok());
        Stage::sent(&stage.other, name)
    };
    let changed = stage.patch("mine", json!({"headers": {"x-new": "one"}}));
    assert_eq!(names(&changed), ["X-Org", "x-new"]);
    assert_eq!(sent("x-org").as_deref(), Some(HEADER), "what is not named stays");
    let changed = stage.patch("mine", json!({"headers": {"x-org": null}}));
    assert_eq!(names(&changed), ["x-new"]);
    assert_eq!(sent("x-org"), None);
    let (status, put) = stage.api(
        "PUT",
        "/api/provider-nodes/mine",
        &json!({"format": "openai", "baseUrl": format!("http://{}", stage.other.address)}),
    );
    assert_eq!((status, names(&put)), (200, vec!["x-new".to_owned()]), "what is sealed and not given stays");
    let (_, put) = stage.api("PUT", "/api/provider-nodes/mine", &put);
    assert_eq!(
        (names(&put), sent("x-new").as_deref()),
        (vec!["x-new".to_owned()], Some("one")),
        "what was shown comes back"
    );
    let changed = stage.patch("mine", json!({"headers": null}));
    assert_eq!((names(&changed), sent("x-new")), (vec![], None));
    // One that changes the file's begins with the file's.
    stage.patch("p", json!({"headers": {"x-new": "two"}}));
    assert_eq!(stage.ask("p/x"), ok());
    assert_eq!(
        [Stage::sent(&stage.file, "x-team").as_deref(), Stage::sent(&stage.file, "x-new").as_deref()],
        [Some("blue-0123456789-team"), Some("two")]
    );
}
