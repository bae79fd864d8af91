//! What a key may use of its pools (flow 2.7-2.15).

use serde_json::{Value, json};

use crate::process;
use crate::stage::{LIMITED, PLAIN, SHARED, Stage};
use crate::support::{Answer, eventually};

fn halves(policy: &str) -> Value {
    json!([
        {"keyId": "plain", "weight": 50, "policy": policy},
        {"keyId": "limited", "weight": 50, "policy": policy},
    ])
}

fn limit(unit: &str, limit: f64) -> Value {
    json!([{"unit": unit, "window": "5h", "limit": limit}])
}

#[test]
fn flow_2_15_a_hard_share_that_is_used_up_is_a_429_that_names_the_provider() {
    let stage = Stage::new("share", 0, "");
    stage.pool(&["p-1", "p-2"], halves("hard"), limit("requests", 2.0));
    // Two accounts, two requests each; half of four is two.
    assert_eq!([stage.ask(PLAIN, SHARED).status, stage.ask(PLAIN, SHARED).status], [200, 200]);
    let refused = stage.ask(PLAIN, SHARED);
    assert_eq!((refused.status, refused.code()), (429, "QUOTA_SHARE_EXCEEDED"), "{refused:?}");
    let error = &refused.body["error"];
    assert_eq!((&error["provider"], &error["type"]), (&json!("p"), &json!("rate_limit_error")));
    assert!(error["message"].as_str().unwrap().contains("`p`"), "{error}");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((5 * 3600..=5 * 3600 + 600).contains(&wait), "{wait}");
    assert_eq!(stage.vendor.asked(), 2);
    assert_eq!(stage.ask(LIMITED, SHARED).status, 200, "the other half");
    // Directly p-3 is left, which nobody shares.
    assert_eq!(stage.ask(PLAIN, "p/m").status, 200);
    assert_eq!(stage.seen().last().unwrap(), "p-3");
    let accounts = process::actors(&stage.process.address);
    assert!(["p-1", "p-2"].iter().all(|id| accounts[&format!("connection/{id}")]["state"] == "ready"));
}

#[test]
fn what_was_used_survives_a_restart() {
    let mut stage = Stage::new("kept", 0, "");
    stage.pool(&["p-1"], halves("hard"), limit("requests", 2.0));
    assert_eq!(stage.ask(PLAIN, SHARED).status, 200);
    stage.process.signal("TERM");
    assert!(stage.process.child.wait().unwrap().success());
    stage.process = stage.site.start();
    assert_eq!(stage.ask(PLAIN, SHARED).code(), "QUOTA_SHARE_EXCEEDED");
    assert_eq!(stage.ask(LIMITED, SHARED).status, 200);
}

#[test]
fn flow_2_13_a_soft_share_that_is_used_up_asks_the_shared_account_last() {
    let stage = Stage::new("soft-share", 0, "");
    stage.pool(&["p-1"], halves("soft"), limit("requests", 2.0));
    for _ in 0..3 {
        assert_eq!(stage.ask(PLAIN, "p/m").status, 200);
    }
    assert_eq!(stage.seen(), ["p-1", "p-2", "p-2"]);
    assert_eq!(stage.ask(LIMITED, SHARED).status, 200);
}

#[test]
fn flow_2_10_percent_is_what_the_account_says() {
    let stage = Stage::new("percent", 0, "");
    stage.pool(&["p-1"], halves("hard"), limit("percent", 100.0));
    assert_eq!(stage.ask(PLAIN, SHARED).status, 200, "unknown allows");
    let used = "content-type: application/json\r\nanthropic-ratelimit-unified-5h-utilization: 0.6\r\n\
                anthropic-ratelimit-unified-5h-reset: 4102444800\r\n";
    stage.vendor.answers_first([Answer::sized(200, used, r#"{"ok":1}"#)]);
    assert_eq!(stage.ask(PLAIN, SHARED).status, 200);
    // 60 % are used, all of it by `plain`: more than its half.
    assert_eq!(stage.ask(PLAIN, SHARED).code(), "QUOTA_SHARE_EXCEEDED");
    assert_eq!(stage.ask(LIMITED, SHARED).status, 200);
}

#[test]
fn e41_a_limit_of_nothing_blocks_every_key_of_the_pool_and_nobody_else() {
    let stage = Stage::new("nothing", 0, "");
    stage.pool(
        &["p-1", "p-2", "p-3"],
        json!([{"keyId": "limited", "weight": 100, "policy": "burst"}]),
        limit("usd", 0.0),
    );
    assert_eq!(stage.ask(LIMITED, SHARED).code(), "QUOTA_SHARE_EXCEEDED");
    assert_eq!(stage.ask(PLAIN, SHARED).status, 200);
}

const USAGE: &str = r#"{"choices":[{"index":0,"message":{"content":"x"},"delta":{"content":"x"}}],"usage":{"prompt_tokens":600000,"completion_tokens":40000}}"#;

#[test]
fn flow_2_10_tokens_and_dollars_are_those_that_answers_tell() {
    // 600000 at 1 USD and 40000 at 10 USD a million: a dollar, and 640000 tokens.
    let stream = Answer::stream().chunk(format!("data: {USAGE}\n\n")).chunk("data: [DONE]\n\n").last_chunk();
    let rows = [
        ("usd", 2.0, Answer::json(200, USAGE)),
        ("tokens", 1_280_000.0, Answer::json(200, USAGE)),
        ("usd-stream", 2.0, stream.clone()),
        ("tokens-stream", 1_280_000.0, stream),
    ];
    for (row, most, answer) in rows {
        let stage = Stage::new(row, 0, "");
        stage.pool(&["p-1"], halves("hard"), limit(row.trim_end_matches("-stream"), most));
        stage.vendor.answers(answer);
        assert_eq!(stage.ask(PLAIN, SHARED).status, 200, "{row}");
        eventually("the share is used up", || stage.ask(PLAIN, SHARED).code() == "QUOTA_SHARE_EXCEEDED");
        // The count comes after the answer, so a second one may have been let through.
        let before = stage.vendor.asked();
        assert!(before <= 2, "{row}: {before}");
    }
    let stage = Stage::new("usd-more", 0, "");
    stage.pool(&["p-1"], halves("hard"), limit("usd", 2.01));
    stage.vendor.answers(Answer::json(200, USAGE));
    assert_eq!([stage.ask(PLAIN, SHARED).status, stage.ask(PLAIN, SHARED).status], [200, 200]);
}
