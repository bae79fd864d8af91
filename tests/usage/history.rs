//! The route: groups, days, what survives, what is refused.

use serde_json::{Value, json};

use crate::process::{call, eventually, operate};
use crate::stage::{ALICE, BOB, Stage, fields};
use crate::support::Answer;

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";
const EMBEDDINGS: &str = "/v1/embeddings";

const TOKENS: [&str; 6] =
    ["requests", "inputTokens", "cachedTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens"];

fn stream(frames: &[&str]) -> Answer {
    let answer = Answer::stream();
    frames.iter().fold(answer, |answer, frame| answer.chunk(format!("{frame}\n\n"))).last_chunk()
}

fn chat(streamed: bool) -> Answer {
    let usage = r#""usage":{"prompt_tokens":12,"completion_tokens":34,"total_tokens":46,
        "prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":20}}"#
        .replace(['\n', ' '], "");
    match streamed {
        false => Answer::json(200, format!(r#"{{"choices":[{{"message":{{"content":"hi"}}}}],{usage}}}"#)),
        true => stream(&[
            r#"data: {"choices":[{"delta":{"content":"hi"}}]}"#,
            r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
            &format!(r#"data: {{"choices":[],{usage}}}"#),
            "data: [DONE]",
        ]),
    }
}

fn messages(streamed: bool) -> Answer {
    let usage = |output| {
        format!(
            r#""usage":{{"input_tokens":27,"cache_read_input_tokens":100,"cache_creation_input_tokens":3,"output_tokens":{output}}}"#
        )
    };
    match streamed {
        false => Answer::json(200, format!(r#"{{"content":[{{"type":"text","text":"hi"}}],{}}}"#, usage(47))),
        true => stream(&[
            &format!(
                "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{{}}}}}",
                usage(1)
            ),
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}",
            &format!(
                "event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"end_turn\"}},{}}}",
                usage(47)
            ),
            "event: message_stop\ndata: {\"type\":\"message_stop\"}",
        ]),
    }
}

fn responses() -> Answer {
    stream(&[
        "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}",
        "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":5,\"output_tokens\":6,\"output_tokens_details\":{\"reasoning_tokens\":2}}}}",
    ])
}

/// Six answers, three for each key.
fn six(stage: &Stage) {
    let embedding = r#"{"data":[],"usage":{"prompt_tokens":9,"total_tokens":9}}"#;
    let asked: [(&str, &str, &str, Answer); 6] = [
        (ALICE, CHAT, "p/m", chat(false)),
        (ALICE, CHAT, "p/m", chat(true)),
        (ALICE, MESSAGES, "p/n", messages(true)),
        (BOB, MESSAGES, "p/n", messages(false)),
        (BOB, RESPONSES, "p/m", responses()),
        (BOB, EMBEDDINGS, "p/e", Answer::json(200, embedding)),
    ];
    for (key, path, model, answer) in asked {
        stage.vendor.answers(answer);
        assert_eq!(stage.ask(key, path, model), 200, "{path} {model}");
    }
    let counted = || stage.items("?groupBy=day")[0]["requests"].as_u64();
    eventually("all are counted", || counted() == Some(6));
}

fn shown(stage: &Stage, query: &str, names: &[&str]) -> Vec<(Vec<Value>, [u64; 6])> {
    let row = |row: &Value| {
        let names = names.iter().map(|name| row[*name].clone()).collect();
        (names, fields(row, TOKENS))
    };
    stage.items(query).iter().map(row).collect()
}

fn texts(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| json!(name)).collect()
}

#[test]
fn each_group_adds_up_what_the_others_keep_apart() {
    let stage = Stage::new("groups");
    six(&stage);
    let (alice, bob) = ([3, 154, 116, 3, 115, 40], [3, 144, 100, 3, 53, 2]);
    assert_eq!(shown(&stage, "?groupBy=key", &["key"]), [(texts(&["alice"]), alice), (texts(&["bob"]), bob)]);
    let connections = [(texts(&["p", "p-1"]), alice), (texts(&["p", "p-2"]), bob)];
    assert_eq!(shown(&stage, "?groupBy=connection", &["provider", "connection"]), connections);
    let (e, m, n) = ([1, 9, 0, 0, 0, 0], [3, 29, 16, 0, 74, 42], [2, 260, 200, 6, 94, 0]);
    let models = [(texts(&["e"]), e), (texts(&["m"]), m), (texts(&["n"]), n)];
    assert_eq!(shown(&stage, "?groupBy=model", &["model"]), models);
    let all = [6, 298, 216, 6, 168, 42];
    assert_eq!(shown(&stage, "?groupBy=provider", &["provider"]), [(texts(&["p"]), all)]);
    let day = stage.items("?groupBy=day")[0]["day"].clone();
    assert_eq!(shown(&stage, "?groupBy=day", &["day"]), [(vec![day.clone()], all)]);
    let rows = [
        (["alice", "p", "p-1", "m"], [2, 24, 16, 0, 68, 40]),
        (["alice", "p", "p-1", "n"], [1, 130, 100, 3, 47, 0]),
        (["bob", "p", "p-2", "e"], e),
        (["bob", "p", "p-2", "m"], [1, 5, 0, 0, 6, 2]),
        (["bob", "p", "p-2", "n"], [1, 130, 100, 3, 47, 0]),
    ];
    let rows: Vec<_> = rows.iter().map(|(names, numbers)| (texts(names), *numbers)).collect();
    assert_eq!(shown(&stage, "", &["key", "provider", "connection", "model"]), rows);
    let first = &stage.items("")[0];
    assert_eq!(first["day"], day);
    let absent = |row: &Value, names: &[&str]| names.iter().all(|name| row.get(name).is_none());
    assert!(absent(&stage.items("?groupBy=key")[0], &["day", "provider", "connection", "model"]));
    let text = call(&stage.process.address, "GET", "/metrics", "").2;
    let metric = r#"switchtower_tokens_total{kind="cache_write",provider="p",connection="p-1"} 3"#;
    assert!(text.contains(metric), "{text}");
}

#[test]
fn what_is_counted_survives_a_restart_and_a_kill_and_goes_on() {
    let mut stage = Stage::new("kept");
    six(&stage);
    let before = stage.items("");
    stage.flush();
    stage.site.crash(&mut stage.process);
    assert_eq!(stage.items(""), before, "a kill after a flush costs nothing");
    stage.vendor.answers(chat(false));
    assert_eq!(stage.ask(ALICE, CHAT, "p/m"), 200);
    let counted = || fields(&stage.items("")[0], TOKENS);
    eventually("it is counted", || counted() == [3, 36, 24, 0, 102, 60]);
    stage.process.signal("TERM");
    assert!(stage.process.child.wait().unwrap().success());
    stage.process = stage.site.start();
    assert_eq!(fields(&stage.items("")[0], TOKENS), [3, 36, 24, 0, 102, 60]);
    assert_eq!(stage.items("").len(), before.len());
}

#[test]
fn old_days_are_dropped_and_what_cannot_be_read_stops_nobody() {
    let mut stage = Stage::new("old");
    six(&stage);
    let day = stage.items("?groupBy=day")[0]["day"].as_str().unwrap().to_owned();
    stage.process.signal("TERM");
    assert!(stage.process.child.wait().unwrap().success());
    let all = |stage: &Stage| {
        let db = sled::Config::new().path(stage.site.path("store")).flush_every_ms(None).open().unwrap();
        let tree = db.open_tree("usage_history").unwrap();
        let keys = tree.iter().keys().map(|key| String::from_utf8(key.unwrap().to_vec()).unwrap());
        let keys: Vec<String> = keys.collect();
        (db, tree, keys)
    };
    {
        let (db, tree, keys) = all(&stage);
        assert!(keys.len() == 5 && keys.iter().all(|key| key.starts_with(&day)), "{keys:?}");
        tree.insert("2020-01-01/[null,null,null,null]", r#"{"v":1,"data":{"requests":7}}"#).unwrap();
        tree.insert(format!("{day}/garbage"), "no JSON").unwrap();
        db.flush().unwrap();
    }
    stage.process = stage.site.start();
    stage.vendor.answers(chat(false));
    assert_eq!(stage.ask(ALICE, CHAT, "p/m"), 200);
    eventually("it is counted", || stage.items("?groupBy=key")[0]["requests"] == 4);
    stage.process.signal("TERM");
    assert!(stage.process.child.wait().unwrap().success());
    let (db, _, keys) = all(&stage);
    assert!(keys.len() == 5 && keys.iter().all(|key| key.starts_with(&day)), "{keys:?}");
    assert_eq!(db.open_tree("quarantine").unwrap().len(), 1, "and what was garbage is kept aside");
}

#[test]
fn days_that_are_not_asked_for_are_not_shown() {
    let stage = Stage::new("days");
    six(&stage);
    let day = stage.items("?groupBy=day")[0]["day"].as_str().unwrap().to_owned();
    for query in [format!("?from={day}&to={day}"), format!("?from={day}T00:00:00Z"), format!("?to={day}")] {
        assert_eq!(stage.items(&format!("{query}&groupBy=day")).len(), 1, "{query}");
    }
    for query in ["?to=2020-01-01", "?from=2999-01-01&to=2999-01-02"] {
        assert_eq!(stage.items(query), Vec::<Value>::new(), "{query}");
    }
}

#[test]
fn wrong_questions_are_told_by_field_and_strangers_nothing() {
    let stage = Stage::new("refused");
    for (query, names) in [
        ("?from=yesterday", &["from"][..]),
        ("?to=2026-02-30", &["to"]),
        ("?groupBy=colour", &["groupBy"]),
        ("?limit=5&groupBy=", &["groupBy", "limit"]),
        ("?from=2026-11-30&to=2026-11-29", &["from"]),
    ] {
        let (status, body) = stage.history(query);
        let told: Vec<&str> = body["error"]["details"]
            .as_array()
            .unwrap_or_else(|| panic!("{query}: {body}"))
            .iter()
            .map(|detail| detail["field"].as_str().unwrap())
            .collect();
        assert_eq!((status, told.as_slice()), (400, names), "{query}: {body}");
    }
    let stranger = stage.open(ALICE, "/api/usage/history", &json!({}));
    assert_eq!(crate::process::read(stranger).0, 405);
    let path = "/api/usage/history";
    assert_eq!(operate(&stage.process.address, "POST", path, &Value::Null).0, 405);
    let bare = format!(
        "GET {path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\nauthorization: Bearer {ALICE}\r\n\r\n"
    );
    let mut wire = crate::support::Wire::open(stage.process.address.parse().unwrap());
    wire.send(bare.as_bytes());
    assert_eq!(wire.reply().status, 401);
}
