//! Banned accounts, and what an operator wants to happen to them (core 3.7 P18).

use serde_json::{Value, json};

use crate::stage::Stage;
use crate::support::{Answer, eventually};

const BAN: &str = r#"{"error":{"message":"Your account has been suspended"}}"#;

fn banned(stage: &Stage) {
    let json = "content-type: application/json\r\n";
    stage.vendor.answers_first([Answer::sized(403, json, BAN)]);
    assert_eq!(stage.ask("p/x").0, 403, "a 403 may be about the request, so it passes");
}

#[test]
fn p18_a_banned_account_is_switched_off_if_the_operator_wants_it() {
    let mut stage = Stage::new("bans");
    let (status, answer) = stage.api("PATCH", "/api/settings", &json!({"autoDisableBannedAccounts": true}));
    assert_eq!(status, 200, "{answer}");
    banned(&stage);
    eventually("the account is inactive", || stage.shown("p-file")["isActive"] == false);
    assert_eq!(stage.shown("p-file")["status"], "inactive");
    stage.crash();
    assert_eq!(stage.shown("p-file")["isActive"], false, "it is stored");
    assert_eq!(stage.patch("p-file", json!({"isActive": true}))["status"], "banned", "until it is reset");
    assert_eq!(stage.ask("p/x"), (503, None));
}

#[test]
fn p18_by_itself_a_ban_only_takes_the_account_out_of_use() {
    let stage = Stage::new("bans-off");
    let scope = json!({"autoDisableBannedAccounts": true, "autoDisableBannedScope": "subscription"});
    assert_eq!(stage.api("PATCH", "/api/settings", &scope).0, 200);
    banned(&stage);
    eventually("the account is banned", || stage.shown("p-file")["status"] == "banned");
    let shown = stage.shown("p-file");
    assert_eq!([&shown["isActive"], &shown["source"]], [&json!(true), &json!("file")], "no subscription");
    // Core 1.7.7: the breakers are closed, a terminal state stays.
    let (status, answer) = stage.api("DELETE", "/api/monitoring/health", &Value::Null);
    assert_eq!(
        (status, &answer["success"], &answer["resetCount"]),
        (200, &json!(true), &json!(9)),
        "three, and the six of the demo: {answer}"
    );
    assert_eq!(stage.shown("p-file")["status"], "banned");
}
