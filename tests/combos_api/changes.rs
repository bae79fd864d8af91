//! Made, used, changed, deleted: at once, and after a crash.

use serde_json::{Value, json};

use crate::stage::Stage;

#[test]
fn a_combo_that_was_made_answers_at_once_and_after_a_kill_9() {
    let mut stage = Stage::new("made");
    assert_eq!(stage.status("mine"), 404);
    let made = stage.make("mine", json!(["demo-b/steady"]));
    assert_eq!(
        (&made["name"], &made["id"], &made["source"]),
        (&"mine".into(), &"mine".into(), &"stored".into())
    );
    assert_eq!(made["strategy"], "priority");
    assert_eq!(made["targets"][0]["model"], "demo-b/steady");
    assert_eq!(made["targets"][0]["id"], "mine-model-1-demo-b-steady", "routing 1.2f");
    assert_eq!(stage.served("mine"), "demo-b/steady");
    assert_eq!(stage.served("combo/mine"), "demo-b/steady");
    let before = stage.get("/api/combos/mine");
    stage.crash();
    assert_eq!(stage.get("/api/combos/mine"), before);
    assert_eq!(stage.served("mine"), "demo-b/steady");
    let (status, _) = stage.api("DELETE", "/api/combos/mine", &Value::Null);
    assert_eq!(status, 200);
    assert_eq!(stage.status("mine"), 404);
    stage.crash();
    assert_eq!((stage.status("mine"), stage.status("filed")), (404, 200));
}

#[test]
fn what_is_stored_wins_over_the_file_until_it_is_deleted() {
    let mut stage = Stage::new("wins");
    let (status, answer) = stage.api("DELETE", "/api/combos/filed", &Value::Null);
    assert_eq!((status, &answer["error"]["code"]), (409, &"ENTITY_FROM_FILE".into()));
    let (status, answer) = stage.api("PATCH", "/api/combos/filed", &json!({"targets": ["demo-b/steady"]}));
    assert_eq!(status, 200, "{answer}");
    assert_eq!((&answer["source"], &answer["overrides"]), (&"stored".into(), &"file".into()));
    assert_eq!(
        (stage.served("filed"), stage.served("over")),
        ("demo-b/steady".into(), "demo-b/steady".into())
    );
    stage.crash();
    assert_eq!(stage.served("filed"), "demo-b/steady");
    assert_eq!(stage.api("DELETE", "/api/combos/filed", &Value::Null).0, 200);
    assert_eq!(
        (stage.served("filed"), &stage.get("/api/combos/filed")["source"]),
        ("demo-a/steady".into(), &"file".into())
    );
    // So it is with the demo's.
    assert_eq!(stage.api("PUT", "/api/combos/demo-fast", &json!({"targets": ["demo-b/steady"]})).0, 200);
    assert_eq!(stage.get("/api/combos/demo-fast")["overrides"], "demo");
    stage.crash();
    assert_eq!(stage.served("demo-fast"), "demo-b/steady");
    assert_eq!(stage.api("DELETE", "/api/combos/demo-fast", &Value::Null).0, 200);
    assert_eq!(stage.get("/api/combos/demo-fast")["strategy"], "p2c");
}

#[test]
fn a_patch_changes_what_it_names_and_what_a_get_showed_can_be_put_back() {
    let stage = Stage::new("patch");
    let body = json!({
        "name": "team/best [1]", "description": "two lines\nof it", "strategy": " P2C ",
        "targets": [{"model": "demo-a/steady", "weight": 3, "connectionId": "demo-a-1", "label": "first"}, "demo-b/steady"],
        "config": {"maxRetries": 3, "retryDelayMs": "1s"},
    });
    let made = stage.post(body);
    assert_eq!(made["strategy"], "p2c");
    assert_eq!(
        (&made["targets"][0]["connection"], &made["targets"][1]["connection"]),
        (&"demo-a-1".into(), &Value::Null)
    );
    let path = "/api/combos/team%2Fbest%20%5B1%5D";
    let (status, changed) = stage.api(
        "PATCH",
        path,
        &json!({"description": null, "config": {"maxRetries": 0, "slowStartMs": 7}}),
    );
    assert_eq!(status, 200, "{changed}");
    assert_eq!(changed["config"], json!({"maxRetries": 0, "retryDelayMs": 1000, "slowStartMs": 7}));
    assert_eq!((&changed["description"], &changed["targets"]), (&Value::Null, &made["targets"]));
    let shown = stage.get(path);
    let (status, again) = stage.api("PUT", path, &shown);
    assert_eq!(status, 200, "{again}");
    let fields = ["strategy", "targets", "config", "name", "source", "createdAt"];
    fields.iter().for_each(|field| assert_eq!(again[*field], shown[*field], "{field}"));
    let (_, whole) = stage.api("PUT", path, &json!({"models": ["demo-b/steady"]}));
    assert_eq!((&whole["strategy"], &whole["config"]), (&"priority".into(), &Value::Null));
    let listed = stage.get("/api/combos");
    assert!(listed["combos"].as_array().unwrap().contains(&stage.get(path)));
}

#[test]
fn routing_14_4_a_combo_may_have_a_models_name_and_is_told() {
    let stage = Stage::new("shadow");
    for (name, model, provider) in
        [("listed", "listed", "p"), ("p/other", "other", "p"), ("demo-a/anything", "anything", "demo-a")]
    {
        let made = stage.make(name, json!(["demo-b/steady"]));
        assert_eq!(made["warning"]["code"], "COMBO_NAME_SHADOWS_MODEL", "{made}");
        assert_eq!(
            (&made["warning"]["modelId"], &made["warning"]["providerId"]),
            (&model.into(), &provider.into())
        );
        assert_eq!(stage.served(name), "demo-b/steady");
    }
    for name in ["plain", "p/nothing", "nobody/x"] {
        assert_eq!(stage.make(name, json!(["demo-b/steady"]))["warning"], Value::Null, "{name}");
    }
}

/// Routing 1.1: the guide's own names are taken and shown; the others are taken too.
#[test]
fn the_fields_of_requests_are_set_changed_and_cleared() {
    let mut stage = Stage::new("fields-of-requests");
    let fields = json!({"name": "m", "targets": ["demo-a/steady"], "systemMessage": "be kind",
        "tool_filter_regex": "^read_", "context_length": 150_000, "contextCacheProtection": true});
    let made = stage.post(fields);
    let shown = |combo: &Value| {
        let names = ["system_message", "tool_filter_regex", "context_length", "context_cache_protection"];
        names.map(|name| combo[name].clone())
    };
    assert_eq!(shown(&made), [json!("be kind"), json!("^read_"), json!(150_000), json!(true)]);
    let change = json!({"system_message": "be brief", "contextLength": null, "toolFilterRegex": "^list_"});
    let (status, changed) = stage.api("PATCH", "/api/combos/m", &change);
    assert_eq!(status, 200, "{changed}");
    stage.crash();
    let kept = stage.get("/api/combos/m");
    assert_eq!(shown(&kept), [json!("be brief"), json!("^list_"), Value::Null, json!(true)]);
    assert_eq!(stage.api("PUT", "/api/combos/m", &kept).0, 200, "what was shown can be sent back");
    let twice = json!({"system_message": "a", "systemMessage": "b"});
    let refused = stage.refused("PATCH", "/api/combos/m", twice);
    assert!(refused[0].1.contains("two spellings"), "{refused:?}");
}

/// Routing 1.1: what clients are told that fits in; without a word of it the smallest that is known.
#[test]
fn a_combo_is_listed_with_what_fits_in() {
    let stage = Stage::with(
        "windows",
        r#"[[providers]]
id = "w"
format = "openai"
base_url = "http://127.0.0.1:9"
models = [{ id = "small", context_window = 8000 }, { id = "large", context_window = 200000 }, "new"]
[[combos]]
name = "both"
targets = ["w/large", "w/small", "w/new"]
[[combos]]
name = "around"
targets = [{ combo = "both" }, "w/large"]
config = { nested_combo_mode = "execute" }
[[combos]]
name = "said"
context_length = 150000
targets = ["w/small"]
"#,
    );
    let listed = stage.get("/v1/models");
    let window = |id: &str| {
        let find = |model: &&Value| model["id"] == id;
        let model = listed["data"].as_array().unwrap().iter().find(find).expect("it is listed");
        model.get("context_length").cloned()
    };
    for (id, tokens) in [
        ("w/small", Some(8_000)),
        ("w/new", None),
        ("both", Some(8_000)),
        ("around", Some(8_000)),
        ("said", Some(150_000)),
        ("filed", None),
    ] {
        assert_eq!(window(id), tokens.map(Value::from), "{id}");
    }
    assert_eq!(stage.get("/v1/models/said")["context_length"], 150_000);
}
