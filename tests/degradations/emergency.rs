//! One last attempt when the money is out (rules 8.3, decision 31b).

use serde_json::{Value, json};

use crate::support::{Answer, Reply, Setup, World, eventually};

const SETTINGS: &str = "/api/settings";

fn world() -> World {
    let setup = Setup::new().provider("p", 1).provider("nvidia", 1).combo("m", &["p"]);
    let world = setup.start();
    world.upstream("p").answers(Answer::status(402));
    world
}

fn switch(world: &World, on: bool) {
    let reply = world.manage("PATCH", SETTINGS, &json!({"emergencyFallback": {"enabled": on}}));
    assert_eq!((reply.status, &reply.json()["emergencyFallback"]["enabled"]), (200, &json!(on)));
}

fn ask(world: &World, more: Value) -> Reply {
    let mut body = json!({"model": "p/x", "messages": []});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    world.post("/v1/chat/completions", body)
}

/// What the last resort was asked.
fn asked(world: &World) -> Vec<Value> {
    let requests = world.upstream("nvidia").requests();
    requests.iter().map(|got| serde_json::from_slice(&got.body).unwrap()).collect()
}

/// Provider, requests and failures of each line of the usage.
fn counted(world: &World) -> Vec<Value> {
    let taken = world.admin("/api/usage/history").json();
    let line = |line: &Value| json!([line["provider"], line["requests"], line["failedRequests"]]);
    taken["items"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn d6_d7_it_is_off_until_somebody_switches_it_on_and_then_at_once() {
    let world = world();
    ask(&world, json!({"max_tokens": 9000})).is_error(502, "upstream_credits_exhausted");
    assert_eq!(asked(&world).len(), 0, "D7: flag off, and that is the default (decision 31b)");
    world.order("connection", "p-1", json!({"message": "reset"}));
    switch(&world, true);
    ask(&world, json!({"max_tokens": 9000})).served_by("nvidia");
    let request = &asked(&world)[0];
    assert_eq!(request["model"], "openai/gpt-oss-120b");
    assert_eq!(request["max_tokens"], 4096, "D6");
    assert_eq!(world.failures("p"), 0, "8.3.4");
    ask(&world, json!({})).served_by("nvidia");
    assert_eq!(world.upstream("p").asked(), 2, "its account is known to be out of credit");
    switch(&world, false);
    assert_eq!(ask(&world, json!({})).status, 503);
    assert_eq!(asked(&world).len(), 2);
}

#[test]
fn d7_neither_streams_nor_tools() {
    let world = world();
    switch(&world, true);
    for more in [json!({"stream": true}), json!({"tools": [{"type": "function"}]})] {
        assert_ne!(ask(&world, more.clone()).status, 200, "{more}");
        world.order("connection", "p-1", json!({"message": "reset"}));
    }
    assert_eq!(asked(&world).len(), 0);
}

#[test]
fn d8_a_text_will_do_and_the_client_wants_less_than_the_bound() {
    let world = world();
    switch(&world, true);
    world.upstream("p").answers(Answer::json(429, r#"{"error":{"message":"Quota exceeded"}}"#));
    let reply = world.post("/v1/chat/completions", json!({"model": "m", "max_tokens": 100, "messages": []}));
    reply.served_by("nvidia");
    assert_eq!(asked(&world)[0]["max_tokens"], 100);
    // An answer's count comes behind it.
    eventually("it is counted once (FC-098)", || counted(&world) == [json!(["nvidia", 1, 0])]);
}

#[test]
fn rules_8_3_3_a_failure_leaves_the_first_answer_and_is_the_only_attempt() {
    let world = world();
    switch(&world, true);
    world.upstream("nvidia").answers(Answer::status(503));
    ask(&world, json!({})).is_error(502, "upstream_credits_exhausted");
    assert_eq!(asked(&world).len(), 1);
    assert_eq!(counted(&world), [json!(["p", 1, 1])], "counted once (FC-098)");
}

#[test]
fn rules_8_3_4_none_where_it_is_not_configured_and_never_for_itself() {
    let world = Setup::new().provider("p", 1).start();
    world.upstream("p").answers(Answer::status(402));
    switch(&world, true);
    ask(&world, json!({})).is_error(502, "upstream_credits_exhausted");

    let world = Setup::new().provider("nvidia", 2).start();
    world.upstream("nvidia").answers(Answer::status(402));
    switch(&world, true);
    let body = json!({"model": "nvidia/x", "messages": []});
    world.post("/v1/chat/completions", body.clone()).is_error(502, "upstream_credits_exhausted");
    assert_eq!(asked(&world).len(), 2, "its two accounts, once each");
    assert_eq!(world.post("/v1/chat/completions", body).status, 503);
    assert_eq!(asked(&world).len(), 2);
}

#[test]
fn another_failure_is_no_matter_of_money() {
    let world = world();
    switch(&world, true);
    world.upstream("p").answers(Answer::status(503));
    assert_eq!(ask(&world, json!({})).status, 503);
    assert_eq!(asked(&world).len(), 0);
}
