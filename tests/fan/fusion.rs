//! Routing 6.1.

use std::time::Duration;

use serde_json::json;

use super::support::{Answer, Gate, Setup, World, eventually};
use super::{CHAT, body, combo, message, setup, streamed};

#[test]
fn routing_6_1_g_the_judge_gets_the_request_and_every_answer() {
    let world = setup("fusion", &["a", "b"], "").start();
    world.upstream("a").answers_first([Answer::good("first words"), Answer::good_stream("judge")]);
    world.upstream("b").answers(Answer::good("second words"));
    let reply = world.post(CHAT, streamed());
    reply.served_by("judge");
    assert_eq!(reply.header("x-omniroute-decision"), Some("strategy=fusion; provider=a; attempts=3"));
    assert_eq!(reply.header("x-omniroute-fallback-attempts"), None);

    let asked = world.upstream("a").requests();
    let (member, judge) = (body(&asked[0]), body(&asked[1]));
    assert_eq!(
        member,
        json!({"model": "x", "messages": [{"role": "user", "content": "q"}], "stream": false, "max_tokens": 5})
    );
    assert_eq!(body(&world.upstream("b").only_request()), member);
    assert_eq!((&judge["stream"], &judge["max_tokens"]), (&json!(true), &json!(5)));
    assert_eq!(judge["messages"][0], json!({"role": "user", "content": "q"}));
    let turn = judge["messages"][1]["content"].as_str().unwrap();
    assert!(turn.ends_with("Source 1:\nfirst words\n\nSource 2:\nsecond words"), "{turn}");
    assert_eq!(judge["messages"].as_array().unwrap().len(), 2);

    let log = world.admin("/api/decisions?model=m&limit=1").json();
    let attempts = log["decisions"][0]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 3, "{log}");
    assert!(attempts.iter().all(|attempt| attempt["verdict"] == "success"), "{log}");
}

#[test]
fn row_66_who_is_too_slow_is_dropped_and_counts_against_nobody() {
    let tuning = "fusion_tuning = { straggler_grace_ms = 200 }";
    let world = setup("fusion", &["a", "b", "c"], tuning).start();
    world.upstream("c").answers(Answer::silence());
    let reply = world.post(CHAT, json!({"model": "m", "messages": []}));
    assert_eq!(reply.status, 200, "{}", reply.text());
    let judge = body(&world.upstream("a").requests()[1]);
    let turn = judge["messages"][0]["content"].as_str().unwrap();
    assert!(turn.ends_with("Source 1:\na\n\nSource 2:\nb"), "{turn}");
    eventually("it is hung up on", || world.upstream("c").closed() == 1);
    eventually("its slot is free", || world.in_flight("c-1") == 0);
    assert_eq!(world.failures("c"), 0);
    let log = world.admin("/api/decisions?model=m&limit=1").json();
    let attempts = log["decisions"][0]["attempts"].as_array().unwrap();
    let dropped: Vec<_> = attempts.iter().filter(|attempt| attempt["verdict"] == "dropped").collect();
    assert_eq!((attempts.len(), dropped.len(), &dropped[0]["provider"]), (4, 1, &json!("c")), "{log}");
}

#[test]
fn row_67_a_lone_survivor_is_asked_again_with_the_own_request() {
    let world = setup("fusion", &["a", "b"], "").start();
    world.upstream("a").answers(Answer::status(503));
    world.upstream("b").answers_first([Answer::good("b"), Answer::good_stream("b again")]);
    let asked = streamed();
    world.post(CHAT, asked.clone()).served_by("b again");
    let mut last = body(&world.upstream("b").requests()[1]);
    last["model"] = "m".into();
    assert_eq!(last, asked);
    assert_eq!(world.upstream("a").asked(), 1);
}

#[test]
fn row_68_tools_go_to_the_judge_alone() {
    let world = setup("fusion", &["a", "b"], "").start();
    let asked = json!({"model": "m", "messages": [], "tools": [{"type": "function"}], "tool_choice": "auto"});
    world.post(CHAT, asked.clone()).served_by("a");
    let mut sent = body(&world.upstream("a").only_request());
    sent["model"] = "m".into();
    assert_eq!((sent, world.upstream("b").asked()), (asked, 0));
}

#[test]
fn routing_6_1_a_the_only_member_gets_the_own_request() {
    let world = setup("fusion", &["a"], "").start();
    let text = r#"{ "model":"m", "stream" : false,"messages":[ ],"z":1.0}"#;
    let reply = super::support::post(world.address, CHAT, "", text.as_bytes());
    reply.served_by("a");
    let sent = world.upstream("a").only_request();
    assert_eq!(String::from_utf8(sent.body).unwrap(), text.replace("\"m\"", "\"x\""));
}

#[test]
fn routing_6_1_f_a_panel_without_an_answer_says_why_of_each() {
    let world = setup("fusion", &["a", "b"], "").start();
    world.upstream("a").answers(Answer::status(500));
    world.upstream("b").answers(Answer::json(200, r#"{"choices":[{"message":{"content":""}}]}"#));
    let reply = world.post(CHAT, streamed());
    reply.is_error(503, "panel_failed");
    let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with("a/x=status_500, b/x=empty_content"), "{message}");
    assert_eq!(reply.json()["diagnostics"]["attempted"], 2);
}

#[test]
fn routing_6_1_each_dialect_has_its_own_turn() {
    let world = setup("fusion", &["a", "b"], "").start();
    world.upstream("a").answers(message("one"));
    world.upstream("b").answers(message("two"));
    let asked = json!({"model": "m", "max_tokens": 9, "system": "s",
        "messages": [{"role": "user", "content": "q"}]});
    assert_eq!(world.post("/v1/messages", asked).status, 200);
    let judge = body(&world.upstream("a").requests()[1]);
    let turn = judge["messages"][1]["content"].as_str().unwrap();
    assert!(turn.ends_with("Source 1:\none\n\nSource 2:\ntwo"), "{turn}");
    assert_eq!(judge["system"], "s");
}

#[test]
fn what_is_no_talk_has_one_voice() {
    let world = setup("fusion", &["a", "b"], "").start();
    assert_eq!(world.post("/v1/embeddings", json!({"model": "m", "input": "q"})).status, 200);
    assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (1, 0));
}

#[test]
fn routing_7_8_a_panel_sends_no_more_than_any_request() {
    let targets: Vec<String> = (0..31).map(|number| format!("a/m{number}")).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    let world = Setup::new().provider("a", 1).section(&combo("fusion", &targets, "")).start();
    world.post(CHAT, streamed()).is_error(503, "service_unavailable");
    assert_eq!(world.upstream("a").asked(), 30);
}

#[test]
fn decision_22_a_client_that_leaves_a_panel_ends_it() {
    let world = setup("fusion", &["a", "b"], "").start();
    let gate = Gate::default();
    for provider in ["a", "b"] {
        world.upstream(provider).answers(Answer::good(provider).held_by(&gate));
    }
    let wire = world.open(CHAT, &streamed());
    let asked = || world.upstream("a").asked() + world.upstream("b").asked();
    eventually("both are asked", || asked() == 2);
    drop(wire);
    for provider in ["a", "b"] {
        super::support::within(Duration::from_secs(2), "it is hung up on", || {
            world.upstream(provider).closed() == 1
        });
        eventually("the slot is free", || world.in_flight(&format!("{provider}-1")) == 0);
        assert_eq!(world.failures(provider), 0);
    }
    gate.open();
    assert_eq!(asked(), 2, "no judge is asked");
    eventually("both are counted", || counted(&world) == 2);
}

/// Attempts in the usage history.
fn counted(world: &World) -> u64 {
    let history = world.admin("/api/usage/history").json();
    history["items"].as_array().unwrap().iter().map(|row| row["attempts"].as_u64().unwrap()).sum()
}

#[test]
fn routing_7_15_the_end_of_the_combos_time_counts_every_member() {
    let config = "combo_timeout_ms = 400, combo_cooldown_wait_enabled = false";
    let world = setup("fusion", &["a", "b"], config).start();
    for provider in ["a", "b"] {
        world.upstream(provider).answers(Answer::silence());
    }
    world.post(CHAT, streamed()).is_error(504, "COMBO_TIMEOUT");
    eventually("both are counted", || counted(&world) == 2);
    let log = world.admin("/api/decisions?limit=1").json();
    let attempts = log["decisions"][0]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2, "{log}");
    assert!(attempts.iter().all(|attempt| attempt["verdict"] == "dropped"), "{log}");
}

/// Routing 1.1: a combo may be called as a model is.
#[test]
fn routing_1_1_a_combo_may_have_the_name_of_its_own_member() {
    let combo = combo("fusion", &["a/x", "b/x"], "").replace("\"m\"", "\"a/x\"");
    let world = Setup::new().provider("a", 1).provider("b", 1).section(&combo).start();
    world.post(CHAT, json!({"model": "a/x", "messages": []})).served_by("a");
    assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (2, 1));
}

#[test]
fn routing_7_9_what_is_expected_of_an_answer_is_expected_of_the_judge() {
    let config = "response_validation = { forbidden_substrings = [\"secret\"] }";
    let world = setup("fusion", &["a", "b"], config).start();
    world.upstream("a").answers_first([Answer::good("a secret source"), Answer::good("the secret")]);
    let reply = world.post(CHAT, json!({"model": "m", "messages": []}));
    reply.is_error(502, "response_validation_failed");
    assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (2, 1));
}

#[test]
fn row_67_with_a_judge_that_is_named_one_answer_is_judged_too() {
    let world = setup("fusion", &["a", "b"], "judge_model = \"j/y\"").provider("j", 1).start();
    world.upstream("a").answers(Answer::status(503));
    world.post(CHAT, json!({"model": "m", "messages": []})).served_by("j");
    let judge = body(&world.upstream("j").only_request());
    let turn = judge["messages"][0]["content"].as_str().unwrap();
    assert!(turn.ends_with("\n\nSource 1:\nb") && judge["model"] == "y", "{judge}");
    assert_eq!(world.upstream("b").asked(), 1);
}

#[test]
fn routing_6_1_a_a_nested_combo_is_one_voice() {
    let inner = combo("priority", &["b/x", "c/x"], "max_retries = 0").replace("\"m\"", "\"inner\"");
    let mut setup = Setup::new();
    for provider in ["a", "b", "c"] {
        setup = setup.provider(provider, 1);
    }
    let world = setup.section(&inner).section(&combo("fusion", &["a/x", "inner"], "")).start();
    world.upstream("b").answers(Answer::status(503));
    world.post(CHAT, json!({"model": "m", "messages": []})).served_by("a");
    let asked = ["a", "b", "c"].map(|provider| world.upstream(provider).asked());
    assert_eq!(asked, [2, 1, 1]);
    let judge = body(&world.upstream("a").requests()[1]);
    assert!(judge["messages"][0]["content"].as_str().unwrap().ends_with("Source 1:\na\n\nSource 2:\nc"));
}
