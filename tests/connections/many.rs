//! Many at once (routing 14.1): each row stands for itself, and no answer shows a secret.

use serde_json::{Value, json};

use crate::stage::{KEY, OTHER_KEY, Stage};

fn ids(rows: &Value) -> Vec<&str> {
    rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

/// The place of each bad row, its code and its first wrong field.
fn errors(answer: &Value) -> Vec<(u64, &str, &str)> {
    let rows = answer["errors"].as_array().unwrap().iter();
    rows.map(|row| {
        let field = row["details"][0]["field"].as_str().unwrap_or_default();
        (row["index"].as_u64().unwrap(), row["code"].as_str().unwrap(), field)
    })
    .collect()
}

#[test]
fn connections_are_switched_together_and_strangers_are_told() {
    let stage = Stage::new("switch");
    for id in ["one", "two"] {
        stage.make(json!({"id": id, "provider": "p", "apiKey": KEY}));
    }
    let switch = |body: Value| stage.api("PATCH", "/api/providers", &body);
    let ids = json!(["two", "nobody", "one", "two", "p-file"]);
    let (status, answer) = switch(json!({"ids": ids, "isActive": false}));
    assert_eq!((status, &answer), (200, &json!({"updated": 3, "notFound": ["nobody"]})));
    for id in ["one", "two", "p-file"] {
        let shown = stage.shown(id);
        assert_eq!((&shown["isActive"], &shown["status"]), (&json!(false), &json!("inactive")), "{id}");
    }
    assert_eq!(stage.shown("one")["apiKey"], "sk-…ABCD", "nothing else of it has changed");
    assert_ne!(stage.ask("p/x").0, 200);
    assert_eq!(switch(json!({"ids": ["two"], "isActive": true})).1["updated"], 1);
    assert_eq!(stage.ask("p/x"), (200, Some(KEY.into())));
}

#[test]
fn who_is_as_wanted_counts_and_is_not_stored() {
    let stage = Stage::new("as-wanted");
    let body = json!({"ids": ["p-file"], "isActive": true});
    assert_eq!(stage.api("PATCH", "/api/providers", &body), (200, json!({"updated": 1, "notFound": []})));
    assert_eq!(stage.shown("p-file")["source"], "file");
}

#[test]
fn a_switch_that_says_no_ids_or_no_way_is_refused() {
    let stage = Stage::new("switch-refused");
    let many: Vec<String> = (0..101).map(|number| format!("c-{number}")).collect();
    for (body, field) in [
        (json!({"ids": ["p-file"]}), "isActive"),
        (json!({"ids": ["p-file"], "isActive": "no"}), "isActive"),
        (json!({"isActive": false}), "ids"),
        (json!({"ids": [], "isActive": false}), "ids"),
        (json!({"ids": ["p-file", 7], "isActive": false}), "ids"),
        (json!({"ids": many, "isActive": false}), "ids"),
        (json!({"ids": ["p-file"], "isActive": false, "name": "n"}), "name"),
    ] {
        let (status, answer) = stage.api("PATCH", "/api/providers", &body);
        assert_eq!((status, &answer["error"]["details"][0]["field"]), (400, &json!(field)), "{answer}");
    }
    assert_eq!(stage.shown("p-file")["isActive"], true);
    let (status, answer) =
        stage.api("PATCH", "/api/providers", &json!({"ids": many[..100], "isActive": false}));
    assert_eq!((status, &answer["updated"]), (200, &json!(0)), "{answer}");
}

#[test]
fn a_bad_row_loses_no_other() {
    let mut stage = Stage::new("import");
    let rows = json!([
        {"provider": "p", "name": "First", "apiKey": KEY, "priority": 0},
        {"provider": "nobody", "apiKey": KEY},
        {"provider": "p", "name": "First", "apiKey": OTHER_KEY},
        {"provider": "p", "apiKey": KEY, "colour": "blue"},
        "p",
        {"id": "p-file", "provider": "p", "apiKey": KEY},
        {"id": "p-first", "provider": "p", "apiKey": KEY},
        {"provider": "o", "name": "acc", "accessToken": "at-canary-0123456789", "rateLimitOverrides": {"tpm": 6}},
        {"provider": "p", "name": "third", "apiKey": KEY},
    ]);
    let (status, answer) = stage.api("POST", "/api/providers/import", &json!({"entries": rows}));
    assert_eq!(status, 200, "{answer}");
    let counts = ["total", "success", "failed"].map(|count| answer[count].as_u64().unwrap());
    assert_eq!(counts, [9, 4, 5], "{answer}");
    assert_eq!(ids(&answer["created"]), ["p-first", "p-first-2", "o-acc", "p-third"]);
    let wrong = [
        (1, "invalid_request", "provider"),
        (3, "invalid_request", "colour"),
        (4, "invalid_request", "body"),
        (5, "already_exists", ""),
        (6, "already_exists", ""),
    ];
    assert_eq!(errors(&answer), wrong, "{answer}");
    let idle =
        json!([{"index": 7, "field": "rateLimitOverrides.tpm", "message": "is kept, but not acted on yet"}]);
    assert_eq!(answer["warnings"], idle);
    assert!(!answer.to_string().contains("canary"), "{answer}");
    let priority = |id: &str| stage.shown(id)["priority"].as_u64().unwrap();
    let first = priority("p-first-2");
    assert_eq!(priority("p-third"), first + 1, "each goes behind those before it");
    assert_eq!(stage.ask("p/x"), (200, Some(KEY.into())));
    stage.crash();
    assert_eq!(
        [stage.shown("p-third")["status"].clone(), stage.shown("o-acc")["accessToken"].clone()],
        ["ready", "at-…6789"]
    );
}

#[test]
fn rows_of_one_provider_share_what_stands_beside_them() {
    let stage = Stage::new("bulk");
    let body = json!({
        "provider": "p", "maxConcurrent": 3, "priority": 7,
        "entries": [{"name": "one", "apiKey": KEY}, {"name": "two", "apiKey": OTHER_KEY, "maxConcurrent": 4},
                    {"name": "three"}, {"provider": "o", "apiKey": KEY}],
    });
    let (status, answer) = stage.api("POST", "/api/providers/bulk", &body);
    assert_eq!(status, 200, "{answer}");
    let shown =
        |row: &Value| (row["maxConcurrent"].as_u64(), row["priority"].as_u64(), row["apiKey"].clone());
    let created: Vec<_> = answer["created"].as_array().unwrap().iter().map(shown).collect();
    let wanted = [(Some(3), Some(7), json!("sk-…ABCD")), (Some(4), Some(7), json!("sk-…WXYZ"))];
    assert_eq!(created, wanted, "{answer}");
    let wrong = errors(&answer);
    assert_eq!(wrong, [(2, "invalid_request", "apiKey"), (3, "invalid_request", "provider")], "{answer}");
}

#[test]
fn rows_are_a_list_of_1_to_200() {
    let stage = Stage::new("rows");
    let row = json!({"provider": "p", "apiKey": KEY});
    let of = |count: usize| json!({"entries": vec![row.clone(); count]});
    let refused = |path: &str, body: Value| {
        let (status, answer) = stage.api("POST", &format!("/api/providers/{path}"), &body);
        assert_eq!(status, 400, "{path}: {}", answer["error"]);
        answer["error"]["details"][0]["field"].as_str().unwrap().to_owned()
    };
    for body in [of(0), of(201), json!({"entries": row}), json!({"provider": "p"})] {
        assert_eq!(refused("import", body), "entries");
    }
    assert_eq!(refused("import", json!({"entries": [row], "provider": "p"})), "provider");
    assert_eq!(refused("bulk", of(1)), "provider");
    let shared = json!({"entries": [{"name": "n"}], "provider": "p", "apiKey": KEY});
    assert_eq!(refused("bulk", shared), "entries");
    assert_eq!(stage.sources().iter().filter(|(_, source)| source == "stored").count(), 0);
    let (_, answer) = stage.api("POST", "/api/providers/import", &of(200));
    assert_eq!(answer["success"], 200, "{}", answer["errors"]);
    assert_eq!(stage.get("/api/providers?provider=p")["connections"].as_array().unwrap().len(), 201);
}
