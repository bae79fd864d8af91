//! Changes: what PATCH and PUT do to the fields, to requests that run, and to an account's rests.

use serde_json::json;

use crate::process::{open, read};
use crate::stage::{FILE_KEY, KEY, OTHER_KEY, Stage};
use crate::support::{Answer, Gate, eventually};

#[test]
fn a_patch_changes_what_it_names_and_null_clears() {
    let stage = Stage::new("patch");
    stage.make(json!({
        "id": "mine", "provider": "p", "name": "n", "apiKey": KEY, "maxConcurrent": 3, "models": ["x"],
        "rateLimitOverrides": {"rpm": 1, "tpm": 2}, "providerSpecificData": {"disableCooling": true},
    }));
    let changed = stage.patch(
        "mine",
        json!({
            "maxConcurrent": null, "models": null, "rateLimitOverrides": {"rpm": null, "rpd": 3},
        }),
    );
    assert_eq!([&changed["maxConcurrent"], &changed["models"]], [&json!(0), &json!(["*"])]);
    assert_eq!(changed["rateLimitOverrides"], json!({"tpm": 2, "rpd": 3}));
    assert_eq!(
        [&changed["name"], &changed["providerSpecificData"]],
        [&json!("n"), &json!({"disableCooling": true})]
    );
    let changed = stage.patch("mine", json!({"rateLimitOverrides": null, "name": null}));
    assert_eq!([&changed["rateLimitOverrides"], &changed["name"]], [&json!({}), &json!("mine")]);
    let before = stage.shown("mine");
    for (body, field) in [
        (json!({"maxConcurrent": -1}), "maxConcurrent"),
        (json!({"provider": "l"}), "provider"),
        (json!({"provider": null}), "provider"),
        (json!({"id": "other"}), "id"),
        (json!({"authType": "local"}), "authType"),
    ] {
        let (status, answer) = stage.api("PATCH", "/api/providers/mine", &body);
        assert_eq!(
            (status, &answer["error"]["details"][0]["field"]),
            (400, &field.into()),
            "{body}: {answer}"
        );
    }
    assert_eq!(stage.shown("mine"), before, "a refused change changes nothing");
}

#[test]
fn a_put_puts_a_whole_one_in_the_place_but_keeps_the_secret() {
    let stage = Stage::new("put");
    stage.make(
        json!({"id": "mine", "provider": "p", "name": "n", "apiKey": KEY, "priority": 0, "maxConcurrent": 3}),
    );
    let (status, answer) = stage.api("PUT", "/api/providers/mine", &json!({"provider": "p", "name": "m"}));
    let put = &answer["connection"];
    assert_eq!((status, &put["name"], &put["maxConcurrent"]), (200, &json!("m"), &json!(0)), "{answer}");
    assert_eq!(
        [&put["priority"], &put["apiKey"]],
        [&json!(0), &json!("sk-…ABCD")],
        "its place and its key stay"
    );
    assert_eq!(stage.ask("p/x"), (200, Some(KEY.into())));
}

#[test]
fn what_was_read_can_be_sent_back() {
    let stage = Stage::new("roundtrip");
    stage.make(json!({
        "id": "mine", "provider": "p", "apiKey": KEY, "priority": 0, "maxConcurrent": 3,
        "rateLimitOverrides": {"rpm": 1}, "providerSpecificData": {"organizationUUID": "u"},
    }));
    for (id, key) in [("mine", KEY), ("p-file", FILE_KEY)] {
        let before = stage.shown(id);
        let (status, answer) = stage.api("PUT", &format!("/api/providers/{id}"), &before);
        assert_eq!(status, 200, "{answer}");
        for field in before.as_object().unwrap().keys() {
            let moves = matches!(field.as_str(), "updatedAt" | "createdAt" | "source" | "overrides");
            assert!(moves || before[field] == answer["connection"][field], "{id} {field}: {answer}");
        }
        assert_eq!(stage.ask("p/x"), (200, Some(key.into())));
        stage.patch(id, json!({"isActive": false}));
    }
}

#[test]
fn an_inactive_connection_is_not_asked_and_comes_back() {
    let stage = Stage::new("inactive");
    stage.make(json!({"id": "box", "provider": "l", "apiKey": KEY}));
    let changed = stage.patch("box", json!({"isActive": false}));
    assert_eq!([&changed["isActive"], &changed["status"]], [&json!(false), &json!("inactive")]);
    assert_eq!(stage.ask("l/x"), (503, None));
    assert_eq!(stage.patch("box", json!({"isActive": true}))["status"], "ready");
    assert_eq!(stage.ask("l/x"), (200, Some(KEY.into())));
    stage.delete("box");
    assert_eq!(stage.ask("l/x").1, None);
    assert_eq!(stage.api("GET", "/api/providers/box", &json!(null)).0, 404);
}

#[test]
fn a_running_request_keeps_the_credential_it_began_with() {
    let stage = Stage::new("running");
    stage.make(json!({"id": "mine", "provider": "p", "priority": 0, "apiKey": KEY}));
    let gate = Gate::default();
    stage.vendor.answers(Answer::good("vendor").held_by(&gate));
    let body = json!({"model": "p/x"}).to_string();
    let running = open(&stage.process.address, "POST", "/v1/chat/completions", &body);
    eventually("the vendor is asked", || stage.vendor.asked() == 1);
    stage.patch("mine", json!({"apiKey": OTHER_KEY}));
    stage.vendor.answers(Answer::good("vendor"));
    assert_eq!(stage.ask("p/x"), (200, Some(OTHER_KEY.into())));
    stage.delete("mine");
    assert_eq!(stage.ask("p/x"), (200, Some(FILE_KEY.into())));
    gate.open();
    assert_eq!(read(running).0, 200, "it was neither cut nor asked again");
    assert_eq!(stage.vendor.asked(), 3);
}

/// Decision 3c through the API: what the old credential did is not held against the new one.
#[test]
fn a_changed_credential_clears_what_the_old_one_did() {
    let stage = Stage::new("3c");
    stage.make(json!({"id": "mine", "provider": "p", "priority": 0, "apiKey": KEY}));
    stage.vendor.answers_first([Answer::status(401)]);
    stage.ask("p/x");
    let cooling = stage.shown("mine");
    assert_eq!([&cooling["status"], &cooling["backoffLevel"]], [&json!("cooling"), &json!(1)], "{cooling}");
    assert_eq!([&cooling["lastErrorType"], &cooling["errorCode"]], [&json!("auth_error"), &json!(401)]);
    assert!(cooling["rateLimitedUntil"].is_string() && cooling["lastErrorAt"].is_string());
    let named = stage.patch("mine", json!({"name": "another", "apiKey": KEY}));
    assert_eq!(named["status"], "cooling", "the same credential is not a new one");
    let changed = stage.patch("mine", json!({"apiKey": OTHER_KEY}));
    assert_eq!([&changed["status"], &changed["backoffLevel"]], [&json!("ready"), &json!(0)], "{changed}");
    assert_eq!([&changed["rateLimitedUntil"], &changed["remainingMs"]], [&json!(null), &json!(0)]);
    assert_eq!(stage.ask("p/x"), (200, Some(OTHER_KEY.into())));
}

#[test]
fn changes_at_the_same_time_all_land() {
    let stage = Stage::new("parallel");
    stage.make(json!({"id": "mine", "provider": "p", "apiKey": KEY}));
    let limits = ["rpm", "rpd", "tpm", "tpd"];
    std::thread::scope(|scope| {
        for (number, limit) in limits.into_iter().enumerate() {
            let stage = &stage;
            scope.spawn(move || {
                stage.patch("mine", json!({"rateLimitOverrides": {limit: number}}));
                stage.make(json!({"provider": "p", "name": "same", "apiKey": KEY}));
            });
        }
    });
    let shown = stage.shown("mine");
    assert_eq!(shown["rateLimitOverrides"], json!({"rpm": 0, "rpd": 1, "tpm": 2, "tpd": 3}));
    let ids: Vec<String> =
        stage.sources().into_iter().map(|(id, _)| id).filter(|id| id.starts_with("p-same")).collect();
    assert_eq!(ids, ["p-same", "p-same-2", "p-same-3", "p-same-4"]);
}

/// Decision 3c for accounts with tokens: each of the two is part of the credential.
#[test]
fn another_access_token_or_refresh_token_is_another_credential() {
    let site = crate::process::Site::new("connections-fingerprint", "1s");
    let fingerprint = |tokens: &str| {
        let text = format!(
            "[[providers]]\nid = \"o\"\nauth = \"oauth\"\nformat = \"openai\"\nbase_url = \"http://127.0.0.1:1\"\n\
             oauth = {{ token_url = \"http://127.0.0.1:1\", client_id = \"id\" }}\n\
             [[connections]]\nid = \"c\"\nprovider = \"o\"\n{tokens}\n"
        );
        site.edit(|_| text);
        let loaded = switchtower::settings::load(&site.path("config.toml"), &|_| None, &["priority"]);
        let settings = loaded.unwrap_or_else(|findings| panic!("{findings:#?}")).settings;
        switchtower::app::blueprint(&settings, "salt").connections["c"].fingerprint.clone()
    };
    let with = |access: &str, refresh: &str| {
        fingerprint(&format!("access_token = \"{access}\"\nrefresh_token = \"{refresh}\""))
    };
    let first = with("a1", "r1");
    assert_eq!(first, with("a1", "r1"));
    assert_ne!(first, with("a2", "r1"));
    assert_ne!(first, with("a1", "r2"));
    assert_ne!(first, fingerprint("refresh_token = \"r1\""));
}
