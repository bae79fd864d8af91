//! Mappings and aliases: other ways to a combo or a model (routing 2.1, 12.3, 14.1).

use serde_json::{Value, json};

use crate::stage::Stage;

const FILE: &str = r#"
[[model_combo_mappings]]
pattern = "claude-*"
combo = "filed"
[[model_combo_mappings]]
pattern = "claude-big-*"
combo = "over"
priority = 200
enabled = false
[aliases]
"nick" = "demo-a/steady"
"old-*" = { provider = "demo-b", model = "steady" }
"#;

const PATH: &str = "/api/model-combo-mappings";

#[test]
fn a_mapping_answers_at_once_and_the_smallest_priority_first() {
    let mut stage = Stage::with("mappings", FILE);
    assert_eq!(stage.served("claude-1"), "demo-a/steady");
    stage.make("mine", json!(["demo-b/steady"]));
    let body = json!({"pattern": "claude-1*", "comboId": "mine", "priority": 7, "description": "ours"});
    let (status, made) = stage.api("POST", PATH, &body);
    assert_eq!(status, 201, "{made}");
    let fields = ["id", "pattern", "comboId", "priority", "enabled", "description", "source"];
    let shown: Vec<&Value> = fields.iter().map(|field| &made[*field]).collect();
    let expected = [
        json!("claude-1"),
        json!("claude-1*"),
        json!("mine"),
        json!(7),
        json!(true),
        json!("ours"),
        json!("stored"),
    ];
    assert_eq!(shown, expected.iter().collect::<Vec<_>>());
    for _ in 0..2 {
        assert_eq!(
            (stage.served("claude-1"), stage.served("claude-2")),
            ("demo-b/steady".into(), "demo-a/steady".into())
        );
        stage.crash();
    }
    let (status, later) = stage.api("PATCH", &format!("{PATH}/claude-1"), &json!({"priority": 101}));
    assert_eq!((status, &later["priority"], &later["pattern"]), (200, &101.into(), &"claude-1*".into()));
    assert_eq!(stage.served("claude-1"), "demo-a/steady");
    stage.api("PATCH", &format!("{PATH}/claude-1"), &json!({"priority": 1, "enabled": false}));
    assert_eq!(stage.served("claude-1"), "demo-a/steady");
    let ids = |stage: &Stage| -> Vec<String> {
        let list = stage.get(PATH);
        list["mappings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&stage), ["claude-1", "claude", "claude-big"]);
    assert_eq!(stage.api("DELETE", &format!("{PATH}/claude-1"), &Value::Null).0, 200);
    assert_eq!(ids(&stage), ["claude", "claude-big"]);
}

#[test]
fn a_mapping_of_the_file_can_be_overridden_and_comes_back() {
    let stage = Stage::with("mapping-file", FILE);
    let one = format!("{PATH}/claude");
    let (status, answer) = stage.api("DELETE", &one, &Value::Null);
    assert_eq!((status, &answer["error"]["code"]), (409, &"ENTITY_FROM_FILE".into()));
    let (status, answer) =
        stage.api("PUT", &one, &json!({"pattern": "claude-*", "comboId": "demo-fast", "enabled": false}));
    assert_eq!((status, &answer["source"], &answer["overrides"]), (200, &"stored".into(), &"file".into()));
    assert_eq!(stage.status("claude-1"), 404);
    assert_eq!(stage.api("DELETE", &one, &Value::Null).0, 200);
    assert_eq!(stage.served("claude-1"), "demo-a/steady");
    for (body, field) in [
        (json!({"comboId": "filed"}), "pattern"),
        (json!({"pattern": "x-*"}), "comboId"),
        (json!({"pattern": "x-*", "comboId": "nobody"}), "comboId"),
        (json!({"pattern": "x-*", "comboId": "filed", "priority": -1}), "priority"),
        (json!({"pattern": "x-*", "comboId": "filed", "enabled": "yes"}), "enabled"),
        (json!({"pattern": "x-*", "comboId": "filed", "color": 1}), "color"),
        (json!({"pattern": "x-*", "comboId": "filed", "id": "no id"}), "id"),
    ] {
        let found = stage.refused("POST", PATH, body.clone());
        assert_eq!(found[0].0, field, "{body}: {found:?}");
    }
    let (status, _) = stage.api("POST", PATH, &json!({"id": "claude", "pattern": "y", "comboId": "filed"}));
    assert_eq!((status, stage.api("GET", &format!("{PATH}/nobody"), &Value::Null).0), (409, 404));
}

#[test]
fn an_alias_stands_for_a_model_at_once_and_after_a_kill_9() {
    let mut stage = Stage::with("aliases", FILE);
    assert_eq!(
        (stage.served("nick"), stage.served("old-7")),
        ("demo-a/steady".into(), "demo-b/steady".into())
    );
    let path = "/api/models/alias";
    let (status, all) = stage.api("POST", path, &json!({"from": "mate", "to": "demo-b/steady"}));
    assert_eq!(status, 200);
    assert_eq!(
        all["aliases"],
        json!({"mate": "demo-b/steady", "nick": "demo-a/steady", "old-*": "demo-b/steady"})
    );
    let more = json!({"aliases": {"nick": {"provider": "demo-b", "model": "steady"}, "to-combo": "filed"}});
    let (_, all) = stage.api("POST", path, &more);
    assert_eq!(
        all["sources"],
        json!({"mate": "stored", "nick": "stored", "old-*": "file", "to-combo": "stored"})
    );
    for _ in 0..2 {
        let names = ["mate", "nick", "to-combo"].map(|name| stage.served(name));
        assert_eq!(names, ["demo-b/steady", "demo-b/steady", "demo-a/steady"]);
        stage.crash();
    }
    let (status, all) = stage.api("DELETE", path, &json!({"from": "nick"}));
    assert_eq!(
        (status, &all["aliases"]["nick"], &all["sources"]["nick"]),
        (200, &"demo-a/steady".into(), &"file".into())
    );
    assert_eq!(stage.served("nick"), "demo-a/steady");
    let (status, answer) = stage.api("DELETE", path, &json!({"from": "nick"}));
    assert_eq!((status, &answer["error"]["code"]), (409, &"ENTITY_FROM_FILE".into()));
    for (method, twice) in [
        ("DELETE", format!("{path}?from=mate&from=mate")),
        ("GET", "/api/providers?provider=a&provider=b".into()),
    ] {
        assert_eq!(stage.refused(method, &twice, Value::Null)[0].0, "query", "{twice}");
    }
    assert_eq!(stage.api("DELETE", &format!("{path}?from=mate"), &Value::Null).0, 200);
    assert_eq!((stage.status("mate"), stage.api("DELETE", path, &json!({"from": "mate"})).0), (404, 404));
    for (body, field) in [
        (json!({"from": "x"}), "to"),
        (json!({"to": "x"}), "from"),
        (json!({"from": 7, "to": "x"}), "from"),
        (json!({"aliases": []}), "aliases"),
        (json!({"from": "x", "to": "nobody/y"}), "to"),
        (json!({"from": "x", "to": "x"}), "to"),
        (json!({"from": "x", "to": 7}), "to"),
        (json!({"from": "x", "to": "y", "why": 1}), "why"),
    ] {
        let found = stage.refused("POST", path, body.clone());
        assert_eq!(found[0].0, field, "{body}: {found:?}");
    }
}

/// Routing 14.4, 12.3: it is kept, since what providers list may change, and that is told.
#[test]
fn an_alias_that_nobody_answers_to_is_made_with_a_warning() {
    let stage = Stage::with("aliases-lost", FILE);
    let path = "/api/models/alias";
    let set = |body: Value| {
        let (status, all) = stage.api("POST", path, &body);
        assert_eq!(status, 200, "{all}");
        all["warning"].clone()
    };
    for to in [
        "demo-b/any",
        "p/listed",
        "other",
        "filed",
        "combo/filed",
        "auto/cheap",
        "demo-fast",
        "auto",
        "listed[1m]",
    ] {
        assert_eq!(set(json!({"from": "x", "to": to})), Value::Null, "{to}");
    }
    for (to, why) in [
        ("p/gone", "leads to `p/gone`, which nobody answers to"),
        ("unlisted", "leads to `unlisted`, which nobody answers to"),
        ("nick", "leads to `nick`, which is an alias, too, and is not followed"),
        ("old-7", "leads to `old-7`, which is an alias, too, and is not followed"),
    ] {
        let warning = set(json!({"from": "x", "to": to}));
        assert_eq!(
            (&warning["code"], &warning["aliases"]),
            (&json!("ALIAS_LEADS_NOWHERE"), &json!(["x"])),
            "{to}"
        );
        assert!(warning["message"].as_str().unwrap().starts_with(&format!("x: {why}")), "{warning}");
        assert_eq!(stage.status("x"), 404, "{to}");
    }
    let both = set(json!({"aliases": {"x": "filed", "y": "unlisted", "z": "y"}}));
    assert_eq!(both["aliases"], json!(["y", "z"]));
    assert_eq!(stage.served("x"), "demo-a/steady");
}
