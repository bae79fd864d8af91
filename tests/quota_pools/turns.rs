//! A pool's models: who sees them, whose turn it is, and how a full account is waited for.

use std::net::TcpStream;

use serde_json::{Value, json};

use crate::stage::{LIMITED, PLAIN, SHARED, Stage, told};
use crate::support::{Answer, Gate, eventually};

const BOTH: [&str; 2] = ["p-1", "p-2"];

fn limited() -> Value {
    json!([{"keyId": "limited", "weight": 100}])
}

#[test]
fn e20_accounts_of_a_pool_take_turns_and_only_its_own_are_asked() {
    let stage = Stage::new("turns", 0, "");
    stage.pool(&BOTH, limited(), json!([]));
    for _ in 0..6 {
        let answer = stage.ask(PLAIN, SHARED);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(
            answer.header("x-omniroute-decision").unwrap().starts_with("strategy=quota-share; provider=p")
        );
    }
    assert_eq!(stage.seen(), ["p-1", "p-2", "p-1", "p-2", "p-1", "p-2"]);
    let body: Value = serde_json::from_slice(&stage.vendor.requests()[0].body).unwrap();
    assert_eq!(body["model"], "m", "the vendor's own name");
}

#[test]
fn decision_16_the_account_that_serves_in_the_place_of_another_is_charged() {
    let stage = Stage::new("charged", 0, "");
    stage.pool(&BOTH, limited(), json!([]));
    stage.vendor.answers_first([Answer::status(503)]);
    // p-1 fails and rests, p-2 serves and owes for it.
    assert_eq!(stage.ask(PLAIN, SHARED).status, 200);
    assert_eq!(stage.seen(), ["p-1", "p-2"]);
    let (status, _) = stage.api("POST", "/api/resilience/cooldowns", &json!({"all": true}));
    assert_eq!(status, 200);
    for _ in 0..4 {
        assert_eq!(stage.ask(PLAIN, SHARED).status, 200);
    }
    assert_eq!(stage.seen()[2..], ["p-1", "p-1", "p-2", "p-1"]);
}

#[test]
fn flow_2_6_only_a_limited_key_sees_the_models_and_it_sees_and_gets_nothing_else() {
    let stage = Stage::new("seen", 0, "");
    assert_eq!(stage.models(LIMITED), Vec::<String>::new(), "no pool: fail closed");
    assert_eq!(stage.ask(LIMITED, "p/m").code(), "permission_denied");
    stage.pool(&BOTH, limited(), json!([]));
    assert_eq!(stage.models(LIMITED), [SHARED, "qtSd/team/p/vendor/n"]);
    let one = told(stage.send(LIMITED, "GET", &format!("/v1/models/{SHARED}"), ""));
    assert_eq!((one.status, &one.body["id"]), (200, &json!(SHARED)));
    assert_eq!(told(stage.send(LIMITED, "GET", "/v1/models/p/m", "")).status, 404);
    let plain = stage.models(PLAIN);
    assert!(plain.contains(&"p/m".to_owned()) && !plain.iter().any(|id| id.starts_with("qtSd")), "{plain:?}");
    let (_, combos) = stage.api("GET", "/api/combos", &Value::Null);
    assert!(!combos.to_string().contains("qtSd"), "{combos}");
    assert_eq!(stage.ask(LIMITED, SHARED).status, 200);
    for model in ["p/m", "demo", "qtSd/other/p/m", "m"] {
        let refused = stage.ask(LIMITED, model);
        assert_eq!((refused.status, refused.code()), (403, "permission_denied"), "{model}");
    }
    assert_eq!(stage.ask(PLAIN, "qtSd/team/p/unlisted").code(), "model_not_found");
}

#[test]
fn routing_0_5_nobody_else_may_use_the_strategy() {
    let stage = Stage::new("strategy", 0, "");
    stage.site.edit(|config| {
        config + "[[combos]]\nname = \"mine\"\nstrategy = \"quota-share\"\ntargets = [\"p/m\"]\n"
    });
    let checked = std::process::Command::new(env!("CARGO_BIN_EXE_switchtower"))
        .args(["check", "--config"])
        .arg(stage.site.path("config.toml"))
        .output()
        .unwrap();
    let text =
        String::from_utf8_lossy(&checked.stdout).into_owned() + &String::from_utf8_lossy(&checked.stderr);
    assert_eq!(checked.status.code(), Some(2));
    assert!(text.contains("is no strategy that is built, accepted: priority, weighted"), "{text}");
}

#[test]
fn flow_2_17_an_account_that_says_it_is_used_up_is_asked_last() {
    let stage = Stage::new("used-up", 0, "");
    stage.pool(&BOTH, limited(), json!([]));
    let used = "content-type: application/json\r\nanthropic-ratelimit-unified-5h-utilization: 1.0\r\n\
                anthropic-ratelimit-unified-5h-reset: 4102444800\r\n";
    stage.vendor.answers_first([Answer::sized(200, used, r#"{"ok":1}"#)]);
    for _ in 0..4 {
        assert_eq!(stage.ask(PLAIN, SHARED).status, 200);
    }
    assert_eq!(stage.seen(), ["p-1", "p-2", "p-2", "p-2"]);
}

/// One request that holds the only slot, and 20 that wait for it.
fn full_house(stage: &Stage, gate: &Gate) -> Vec<TcpStream> {
    stage.pool(&["p-1"], limited(), json!([]));
    stage.vendor.answers(Answer::good("vendor").held_by(gate));
    let mut clients = vec![stage.open(PLAIN, SHARED)];
    eventually("the first is sent", || stage.vendor.asked() == 1);
    clients.extend((0..20).map(|_| stage.open(PLAIN, SHARED)));
    eventually("20 wait", || waiting(stage) == 20);
    assert_eq!(stage.vendor.asked(), 1, "E31: they wait");
    clients
}

/// Who waits for the account.
fn waiting(stage: &Stage) -> u64 {
    let (_, actor) = stage.api("GET", "/api/actors/connection/p-1", &Value::Null);
    let levels = actor["derived"]["gate"]["levels"].as_array().cloned().unwrap_or_default();
    levels.iter().filter_map(|level| level["queued"].as_u64()).max().unwrap_or(0)
}

#[test]
fn e33_whoever_finds_the_line_full_goes_on_without_a_slot_and_nobody_fails() {
    let stage = Stage::new("soft", 1, "");
    let gate = Gate::default();
    let mut clients = full_house(&stage, &gate);
    clients.push(stage.open(PLAIN, SHARED));
    eventually("the 22nd is sent beside the first", || stage.vendor.asked() == 2);
    assert!(stage.site.log().contains("goes on without one"), "{}", stage.site.log());
    gate.open();
    for client in clients {
        assert_eq!(told(client).status, 200);
    }
    assert_eq!(stage.vendor.asked(), 22);
}

#[test]
fn e34_switched_off_it_waits_and_is_refused_as_others_are() {
    let stage = Stage::new("hard", 1, "[resilience.quota_share_concurrency_limit]\nenabled = false\n");
    let gate = Gate::default();
    let clients = full_house(&stage, &gate);
    assert_eq!(stage.ask(PLAIN, SHARED).code(), "SEMAPHORE_QUEUE_FULL");
    gate.open();
    for client in clients {
        assert_eq!(told(client).status, 200);
    }
}
