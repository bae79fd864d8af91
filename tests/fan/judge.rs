//! Who makes one answer of a panel's (routing 6.1g): found to be of no use before anybody is paid, or
//! lost after that.

use serde_json::{Value, json};

use super::support::{Answer, Setup, World, eventually};
use super::{CHAT, combo, setup, streamed};

fn plain() -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": "q"}]})
}

fn nobody_is_asked(world: &World, providers: &[&str]) {
    for provider in providers {
        assert_eq!(world.upstream(provider).asked(), 0, "{provider}");
    }
}

fn explained(world: &World, body: Value) -> super::support::Reply {
    world.manage("POST", "/api/route/explain", &body)
}

/// The panel would be paid for nothing.
#[test]
fn a_judge_of_another_dialect_is_told_before_the_panel_is_asked() {
    let world = setup("fusion", &["a", "b"], "judge_model = \"j/y\"")
        .provider_with("j", 1, "format = \"anthropic\"")
        .start();
    let reply = world.post(CHAT, plain());
    reply.is_error(400, "format_not_supported");
    nobody_is_asked(&world, &["a", "b", "j"]);
    let told = explained(&world, json!({"model": "m", "format": "openai"}));
    told.is_error(400, "format_not_supported");
    assert_eq!(told.json()["error"]["message"], reply.json()["error"]["message"]);
}

#[test]
fn routing_2_6_a_judge_that_leads_back_is_told_before_the_panel_is_asked() {
    for (judge, way) in [
        ("best", "[aliases]\n\"best\" = \"combo/m\""),
        ("gpt-5", "[[model_combo_mappings]]\nid = \"g\"\npattern = \"gpt-*\"\ncombo = \"m\""),
    ] {
        let world = setup("fusion", &["a", "b"], &format!("judge_model = \"{judge}\"")).section(way).start();
        let reply = world.post(CHAT, plain());
        reply.is_error(400, "combo_cycle");
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.ends_with("m -> m"), "{message}");
        nobody_is_asked(&world, &["a", "b"]);
        explained(&world, json!({"model": "m"})).is_error(400, "combo_cycle");
    }
}

#[test]
fn a_judge_whom_nobody_knows_is_told_before_the_panel_is_asked() {
    let world = setup("fusion", &["a", "b"], "judge_model = \"gone\"").start();
    let reply = world.post(CHAT, plain());
    reply.is_error(404, "model_not_found");
    let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("the judge of `m`: ") && message.contains("`gone`"), "{message}");
    nobody_is_asked(&world, &["a", "b"]);
}

/// A member that fails puts the judge's only account to rest.
fn resting(validation: &str) -> World {
    let config = format!("judge_model = \"c/y\"{validation}");
    let world = setup("fusion", &["a", "b", "c"], &config).start();
    world.upstream("c").answers(Answer::status(503));
    world
}

#[test]
fn a_judge_that_rests_leaves_the_first_answer_of_the_panel() {
    let world = resting("");
    let reply = world.post(CHAT, plain());
    reply.served_by("a");
    assert_eq!(reply.header("x-omniroute-combo-terminal-reason"), Some("judge_unavailable"));
    assert_eq!(reply.header("x-omniroute-provider"), Some("a"));
    let asked = ["a", "b", "c"].map(|provider| world.upstream(provider).asked());
    assert_eq!(asked, [1, 1, 1], "what was said is given as it is");
    let log = world.admin("/api/decisions?limit=1").json();
    let row = &log["decisions"][0];
    assert_eq!((&row["status"], &row["excluded"][0]["connection"]), (&json!(200), &json!("c-1")), "{log}");
}

#[test]
fn a_stream_in_place_of_a_judge_that_rests_is_asked_for_again() {
    let world = resting("");
    world.upstream("a").answers_first([Answer::good("a"), Answer::status(500)]);
    world.upstream("b").answers_first([Answer::good("b"), Answer::good_stream("b again")]);
    let reply = world.post(CHAT, streamed());
    reply.served_by("b again");
    assert_eq!(reply.header("x-omniroute-combo-terminal-reason"), Some("judge_unavailable"));
    assert_eq!(["a", "b", "c"].map(|provider| world.upstream(provider).asked()), [2, 2, 1]);
}

#[test]
fn a_judge_that_fails_leaves_an_answer_that_the_combo_accepts() {
    let world = resting(", response_validation = { forbidden_substrings = [\"secret\"] }");
    world.upstream("a").answers(Answer::good("a secret"));
    world.post(CHAT, plain()).served_by("b");
    let world = resting(", response_validation = { required_substrings = [\"never\"] }");
    assert_eq!(world.post(CHAT, plain()).status, 429, "none is accepted: what the judge ended with");
}

/// Routing 3.1, 3.5: the same filters as any target's, and one word in an explanation.
#[test]
fn routing_3_5_a_panel_leaves_out_whom_the_request_is_too_long_for() {
    let window =
        |tokens: u32| format!("format = \"openai\"\nmodels = [{{ id = \"x\", context_window = {tokens} }}]");
    let world = Setup::new()
        .provider_with("a", 1, &window(1_000))
        .provider_with("b", 1, &window(9_000))
        .provider_with("c", 1, &window(9_000))
        .section(&combo("fusion", &["a/x", "b/x", "c/x"], ""))
        .start();
    let long = "q".repeat(8_000);
    let reply = world.post(CHAT, json!({"model": "m", "messages": [{"role": "user", "content": long}]}));
    reply.served_by("b");
    assert_eq!(["a", "b", "c"].map(|provider| world.upstream(provider).asked()), [0, 2, 1]);
    let left_out = Some("a/x:context_window_too_small");
    assert_eq!(reply.header("x-omniroute-combo-excluded"), left_out);
    let told = explained(&world, json!({"model": "m", "estimated_tokens": 2_000})).json();
    let names = |list: &str| {
        let list = told[list].as_array().unwrap();
        list.iter().map(|target| target["provider"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((names("order"), names("excluded")), (vec!["b", "c"], vec!["a"]), "{told}");
}

/// Routing 1.4: what is said of a provider is said of its models in a panel and in a line, too.
#[test]
fn routing_1_4_members_are_asked_as_is_said_of_their_provider() {
    let own = "[settings.combo_defaults]\ntarget_timeout_ms = 60000\n\
        [settings.provider_overrides.a]\ntarget_timeout_ms = 50\nmax_retries = 3\nretry_delay_ms = 1";
    let world = setup("fusion", &["a", "b"], "").section(own).start();
    world.upstream("a").answers(Answer::silence());
    let since = std::time::Instant::now();
    world.post(CHAT, plain()).served_by("b");
    assert!(since.elapsed().as_secs() < 30, "{:?}", since.elapsed());

    let rests = "[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = 1\nmax_backoff_steps = 0";
    let world = setup("pipeline", &["a", "b"], "max_retries = 0").section(own).section(rests).start();
    world.upstream("a").answers(Answer::status(503));
    assert_eq!(world.post(CHAT, plain()).status, 503);
    assert_eq!(world.upstream("a").asked(), 1, "what the combo says itself wins");
    let world = setup("pipeline", &["a", "b"], "").section(own).section(rests).start();
    world.upstream("a").answers(Answer::status(503));
    assert_eq!(world.post(CHAT, plain()).status, 503);
    assert_eq!(world.upstream("a").asked(), 4);
}

/// A judge that hangs is lost when the combo's time is over, like one that fails.
#[test]
fn a_judge_that_hangs_leaves_the_first_answer_when_the_time_is_over() {
    let config = "judge_model = \"j/y\", combo_timeout_ms = 400, combo_cooldown_wait_enabled = false";
    let world = setup("fusion", &["a", "b"], config).provider("j", 1).start();
    world.upstream("j").answers(Answer::silence());
    let reply = world.post(CHAT, plain());
    reply.served_by("a");
    assert_eq!(reply.header("x-omniroute-combo-terminal-reason"), Some("judge_unavailable"));
    let rows = world.admin("/api/decisions?limit=1").json();
    assert_eq!(rows["decisions"][0]["attempts"].as_array().map(Vec::len), Some(3), "{rows}");
    // nobody could be asked again in no time
    world.post(CHAT, streamed()).is_error(504, "COMBO_TIMEOUT");
    eventually("the judge's slots are back", || world.in_flight("j-1") == 0);
}
