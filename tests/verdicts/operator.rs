//! The operator's own rules, by API: they act on the very next request, a wrong list is
//! refused whole and the old one stays (rules 3.6, C13–C29).

use serde_json::{Value, json};

use super::{assert_unharmed, error_type, level, locks, only_lock, reset, rest, says, state, told};
use crate::support::{Answer, Setup, World};

const SETTINGS: &str = "/api/settings";

fn acme() -> World {
    Setup::new().provider("acme", 1).provider("b", 1).combo("m", &["acme", "b"]).start()
}

#[track_caller]
fn patch(world: &World, body: Value) {
    let reply = world.manage("PATCH", SETTINGS, &body);
    assert_eq!(reply.status, 200, "{}", reply.text());
}

fn rules(rules: Value) -> Value {
    json!({"providerErrorRules": {"acme": rules}})
}

fn default(default: Value) -> Value {
    json!({"providerErrorDefaults": {"acme": default}})
}

/// The fields for which a PATCH is refused.
#[track_caller]
fn refused(world: &World, body: &Value) -> Vec<String> {
    let reply = world.manage("PATCH", SETTINGS, body);
    assert_eq!(reply.status, 400, "{}", reply.text());
    let answer = reply.json();
    let details = answer["error"]["details"].as_array().unwrap().iter();
    details.map(|detail| detail["field"].as_str().unwrap().to_owned()).collect()
}

/// What one answer costs the account, which is then given a clean slate: its rest and why.
fn costs(world: &World, answer: Answer) -> (u64, Value) {
    world.upstream("acme").answers_first([answer]);
    world.ask("acme/x");
    let running = state(world, "acme-1") == "cooling";
    let cost = (if running { rest(world, "acme-1") } else { 0 }, error_type(world, "acme-1"));
    reset(world, "acme-1");
    cost
}

fn drained(status: u16, headers: &str) -> Answer {
    told(status, headers, r#"{"error":{"message":"POOL DRAINED"}}"#)
}

#[test]
fn c13_c14_a_rule_acts_on_the_very_next_request_and_its_time_is_exact() {
    let world = acme();
    assert_eq!(costs(&world, drained(503, "")), (3_000, json!("server_error")), "before");
    patch(&world, rules(json!([{"match": "pool drained", "scope": "connection", "cooldownMs": 60_000}])));
    let gone = json!("quota_exhausted");
    assert_eq!(costs(&world, drained(429, "retry-after: 900\r\n")), (60_000, gone.clone()), "C13");
    assert_eq!(costs(&world, drained(503, "")), (60_000, gone.clone()), "C14: any status");
    assert_eq!(costs(&world, drained(403, "")), (60_000, gone), "403 as well");
    assert_eq!(costs(&world, says(503, "something else")), (3_000, json!("server_error")));
    // Another provider's answers are not its affair.
    world.upstream("b").answers_first([drained(503, "")]);
    world.ask("b/x");
    assert_eq!(rest(&world, "b-1"), 3_000);
    patch(&world, json!({"providerErrorRules": null}));
    assert_eq!(costs(&world, drained(503, "")), (3_000, json!("server_error")), "taken back");
}

#[test]
fn c15_c16_status_and_text_are_both_needed_and_the_first_rule_wins() {
    let world = acme();
    patch(&world, rules(json!([{"status": 429, "match": "drained", "cooldownMs": 70_000}])));
    assert_eq!(costs(&world, drained(503, "")).0, 3_000, "C15");
    let list = json!([{"status": 429, "cooldownMs": 60_000}, {"match": "drained", "cooldownMs": 900_000}]);
    patch(&world, rules(list));
    assert_eq!(costs(&world, drained(429, "")).0, 60_000, "C16");
    assert_eq!(costs(&world, drained(503, "")).0, 900_000, "the second one");
}

#[test]
fn rules_3_10_9_a_rule_of_a_model_bars_that_model_only() {
    let world = acme();
    patch(
        &world,
        rules(json!([{"status": 503, "scope": "model", "reason": "model_capacity", "cooldownMs": 90_000}])),
    );
    world.upstream("acme").answers_first([Answer::status(503)]);
    world.ask("m").served_by("b");
    only_lock(&world, "acme-1/x/exact/model_capacity", 90_000);
    assert_eq!((state(&world, "acme-1").as_str(), level(&world, "acme-1")), ("ready", 0));
    world.ask("acme/y").served_by("acme");
}

/// Decision 29: a rule that names a 400 runs, after the texts of the detectors.
#[test]
fn decision_29_a_rule_that_names_400_acts_and_the_request_moves_on() {
    let world = acme();
    world.upstream("acme").answers(says(400, "tenant is asleep"));
    assert_eq!(world.ask("m").status, 400);
    assert_unharmed(&world, "acme", "before");
    patch(&world, rules(json!([{"status": 400, "match": "asleep", "cooldownMs": 60_000}])));
    world.ask("m").served_by("b");
    assert_eq!((state(&world, "acme-1").as_str(), rest(&world, "acme-1")), ("cooling", 60_000));
    reset(&world, "acme-1");
    world.upstream("acme").answers(says(400, "`temperature` must be a number"));
    assert_eq!(world.ask("m").status, 400);
    assert_unharmed(&world, "acme", "another 400");
}

#[test]
fn c24_the_texts_that_are_built_in_win_over_a_rule() {
    let world = acme();
    patch(&world, rules(json!([{"status": 403, "scope": "connection", "cooldownMs": 60_000}])));
    world.upstream("acme").answers(says(403, "You exceeded your current quota: insufficient_quota"));
    world.ask("m").served_by("b");
    assert_eq!(state(&world, "acme-1"), "credits_exhausted");
}

#[test]
fn c17_c18_a_default_is_at_least_so_long_and_yields_to_a_longer_wait() {
    let world = acme();
    patch(&world, default(json!({"cooldownMs": 300_000})));
    let limited = json!("rate_limit_exceeded");
    assert_eq!(costs(&world, told(429, "retry-after: 60\r\n", "{}")), (300_000, limited.clone()), "C17");
    assert_eq!(costs(&world, told(429, "retry-after: 900\r\n", "{}")), (900_000, limited), "C18");
    assert_eq!(costs(&world, says(403, "forbidden")), (300_000, json!("auth_error")), "C25");
    for status in [408, 500, 502, 503, 520] {
        assert_eq!(costs(&world, Answer::status(status)).0, 300_000, "{status}");
    }
    for status in [400, 409, 413, 422] {
        assert_ne!(costs(&world, Answer::status(status)).0, 300_000, "C20: {status}");
    }
    world.upstream("acme").answers_first([Answer::status(404)]);
    world.ask("acme/z");
    assert_eq!(locks(&world).len(), 1, "C20: a 404 bars its model");
    assert_eq!(costs(&world, Answer::status(401)), (3_000, json!("auth_error")), "C20: a bare 401");
}

#[test]
fn c19_with_hints_off_a_stated_wait_lengthens_nothing() {
    let world = acme();
    let off = json!({"connectionCooldown": {"apikey": {"useUpstreamRetryHints": false}}});
    assert_eq!(world.manage("PATCH", "/api/resilience", &off).status, 200);
    assert_eq!(costs(&world, told(429, "retry-after: 900\r\n", "{}")).0, 3_000);
    patch(&world, default(json!({"cooldownMs": 300_000})));
    assert_eq!(costs(&world, told(429, "retry-after: 900\r\n", "{}")).0, 300_000, "C19");
}

/// Rules 3.10.8: only a quota of the account rests the account of a gateway.
#[test]
fn c30_a_limit_of_a_gateways_account_bars_the_model() {
    let world = Setup::new().provider_with("acme", 1, "format = \"openai\"\nper_model_quota = true").start();
    patch(&world, rules(json!([{"status": 429, "scope": "connection", "reason": "rate_limit_exceeded"}])));
    world.upstream("acme").answers_first([Answer::status(429)]);
    world.ask("acme/x");
    assert_eq!((state(&world, "acme-1").as_str(), locks(&world).len()), ("ready", 1));
    world.ask("acme/y").served_by("acme");
    patch(&world, rules(json!([{"status": 429, "scope": "connection"}])));
    world.upstream("acme").answers_first([Answer::status(429)]);
    world.ask("acme/y");
    assert_eq!(state(&world, "acme-1"), "cooling", "a quota, as without a reason (3.6.0)");
}

#[test]
fn c21_c22_a_rule_shortens_nothing_and_overwrites_no_terminal_state() {
    let world = acme();
    patch(&world, rules(json!([{"status": 429, "cooldownMs": 60_000}])));
    world.order("connection", "acme-1", json!({"message": "cool", "for": "600s"}));
    let until = || world.snapshot("acme-1")["cooldown"]["until"].clone();
    let before = until();
    world.ask("acme/x").is_error(429, "model_cooldown");
    assert_eq!(until(), before, "C21");
    reset(&world, "acme-1");
    world.upstream("acme").answers_first([says(403, "account_deactivated"), Answer::status(429)]);
    world.ask("acme/x");
    world.ask("acme/x").is_error(503, "no_usable_connection");
    assert_eq!(state(&world, "acme-1"), "banned", "C22");
}

#[test]
fn c26_to_c29_a_wrong_list_is_refused_whole_and_the_old_one_acts_on() {
    let world = acme();
    patch(&world, rules(json!([{"match": "pool drained", "cooldownMs": 60_000}])));
    let good = json!({"status": 503, "cooldownMs": 90_000});
    let rows = [
        (rules(json!([good, {"scope": "model"}])), "providerErrorRules.acme[1]"),
        (rules(json!([good, {"status": 1}])), "providerErrorRules.acme[1].status"),
        (rules(json!([{"match": " "}])), "providerErrorRules.acme[0].match"),
        (rules(json!([{"match": "x".repeat(501)}])), "providerErrorRules.acme[0].match"),
        (
            rules(json!([{"status": 503, "cooldownMs": 2_592_000_001_u64}])),
            "providerErrorRules.acme[0].cooldownMs",
        ),
        (rules(json!([{"status": 503, "cooldownMs": 0}])), "providerErrorRules.acme[0].cooldownMs"),
        (rules(json!([{"status": 503, "scope": "galaxy"}])), "providerErrorRules.acme[0].scope"),
        (rules(json!([{"status": 503, "patience": 1}])), "providerErrorRules.acme[0]"),
        (default(json!({"cooldownMs": 59_999})), "providerErrorDefaults.acme.cooldownMs"),
    ];
    for (body, field) in rows {
        assert_eq!(refused(&world, &body), [field], "{body}");
        assert_eq!(costs(&world, drained(503, "")).0, 60_000, "the old rules act on: {body}");
        assert_eq!(costs(&world, says(503, "busy")).0, 3_000, "nothing of the new ones: {body}");
    }
    let many = |count: usize| {
        let rule = json!({"status": 503, "match": "never"});
        let third = |share: usize| Value::Array(vec![rule.clone(); share]);
        json!({"providerErrorRules": {"acme": third(20), "b": third(20), "c": third(count - 40)}})
    };
    assert_eq!(refused(&world, &many(51)), ["providerErrorRules"], "C28");
    assert_eq!(costs(&world, drained(503, "")).0, 60_000, "C28: the old rules act on");
    patch(&world, many(50));
    assert_eq!(costs(&world, drained(503, "")).0, 3_000, "C28: 50 are taken, and the old ones are gone");
    patch(&world, rules(json!([{"status": 503, "cooldownMs": 2_592_000_000_u64}])));
    assert_eq!(costs(&world, Answer::status(503)).0, 2_592_000_000, "C27");
    patch(&world, default(json!({"cooldownMs": 60_000})));
}

#[test]
fn core_3_9_6_an_operators_ban_signal_bans_at_once() {
    let world = acme();
    patch(&world, json!({"customBannedSignals": ["Your workspace was closed"]}));
    world.upstream("acme").answers(says(500, "sorry: YOUR WORKSPACE WAS CLOSED"));
    world.ask("m").served_by("b");
    assert_eq!((state(&world, "acme-1").as_str(), world.failures("acme")), ("banned", 0));
}
