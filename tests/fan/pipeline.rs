//! Routing 6.2.

use serde_json::json;

use super::support::{Answer, Setup};
use super::{CHAT, body, combo, message, setup, streamed};

/// Rests of a failed account are over before the step is asked again.
const SHORT_RESTS: &str =
    "[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = 50\nmax_backoff_steps = 0";

#[test]
fn routing_6_2_each_step_gets_the_text_of_the_one_before() {
    let world = setup("pipeline", &["a", "b"], "").start();
    world.upstream("a").answers(Answer::good("draft"));
    world.upstream("b").answers(Answer::good_stream("b"));
    let mut asked = streamed();
    asked["tools"] = json!([{"type": "function"}]);
    let reply = world.post(CHAT, asked.clone());
    reply.served_by("b");
    assert_eq!(reply.header("x-omniroute-decision"), Some("strategy=pipeline; provider=b; attempts=2"));
    assert_eq!(
        body(&world.upstream("a").only_request()),
        json!({"model": "x", "messages": [{"role": "user", "content": "q"}], "stream": false, "max_tokens": 5})
    );
    let last = json!({"model": "x", "messages": [{"role": "user", "content": "draft"}], "stream": true,
        "max_tokens": 5, "tools": [{"type": "function"}]});
    assert_eq!(body(&world.upstream("b").only_request()), last);
}

#[test]
fn row_69() {
    let world = setup("pipeline", &["a", "b", "c"], "retry_delay_ms = 10").section(SHORT_RESTS).start();
    world.upstream("b").answers_first([Answer::status(429), Answer::good("polished")]);
    world.post(CHAT, json!({"model": "m", "messages": []})).served_by("c");
    assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (1, 2));
    let last = body(&world.upstream("c").only_request());
    assert_eq!(last["messages"], json!([{"role": "user", "content": "polished"}]));
}

/// Decision 9b: a 401 is about our account, whichever step it met.
#[test]
fn row_70_a_step_that_fails_is_the_end() {
    let world = setup("pipeline", &["a", "b"], "").start();
    let asked = || json!({"model": "m", "messages": []});
    for (answer, status, code) in [
        (Answer::status(401), 502, "upstream_auth_failed"),
        (Answer::status(400), 400, "fake_400"),
        (Answer::json(200, r#"{"choices":[{"message":{"content":""}}]}"#), 502, "empty_response"),
        (Answer::json(200, r#"{"some":"thing"}"#), 502, "empty_response"),
    ] {
        let world = setup("pipeline", &["a", "b"], "").start();
        world.upstream("a").answers(answer);
        world.post(CHAT, asked()).is_error(status, code);
        assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (1, 0), "{code}");
    }
    world.upstream("b").answers(Answer::status(500));
    assert_eq!(world.post(CHAT, asked()).status, 500, "the last step's failure is told as it is");
}

#[test]
fn routing_6_2_b_the_format_is_the_requests() {
    let world = setup("pipeline", &["a", "b"], "").start();
    world.upstream("a").answers(message("draft"));
    world.upstream("b").answers(message("done"));
    let asked =
        json!({"model": "m", "max_tokens": 9, "system": "s", "messages": [{"role": "user", "content": "q"}]});
    let reply = world.post("/v1/messages", asked);
    assert_eq!((reply.status, &reply.json()["content"][0]["text"]), (200, &json!("done")));
    assert_eq!(
        body(&world.upstream("b").only_request()),
        json!({"model": "x", "max_tokens": 9, "messages": [{"role": "user", "content": "draft"}]})
    );
}

#[test]
fn routing_6_2_b_each_step_has_its_own_prompt() {
    let steps = "[[combos]]\nname = \"m\"\nstrategy = \"pipeline\"\n\
                 targets = [{ model = \"a/x\", prompt = \"draft\" }, { model = \"b/x\", prompt = \"polish\" }]";
    let world = Setup::new().provider("a", 1).provider("b", 1).section(steps).start();
    world.post(CHAT, json!({"model": "m", "messages": [{"role": "user", "content": "q"}]})).served_by("b");
    for (provider, prompt, said) in [("a", "draft", "q"), ("b", "polish", "a")] {
        let sent = body(&world.upstream(provider).only_request());
        let turns = json!([{"role": "system", "content": prompt}, {"role": "user", "content": said}]);
        assert_eq!(sent["messages"], turns, "{provider}");
    }
}

/// Nobody is paid for a step whose text no later one could be handed.
#[test]
fn routing_6_2_steps_without_a_dialect_in_common_are_refused_before_the_first() {
    let world = Setup::new()
        .provider_with("a", 1, "format = \"openai\"")
        .provider_with("b", 1, "format = \"anthropic\"")
        .provider_with("c", 1, "format = [\"openai\", \"anthropic\"]")
        .section(&combo("pipeline", &["a/x", "b/x"], ""))
        .section("[[combos]]\nname = \"either\"\ntargets = [\"b/x\", \"a/x\"]")
        .section("[[combos]]\nname = \"both\"\nstrategy = \"pipeline\"\ntargets = [\"c/x\", \"b/x\"]")
        .section(
            "[[combos]]\nname = \"nested\"\nstrategy = \"pipeline\"\ntargets = [{ combo = \"either\" }, \"a/x\"]",
        )
        .start();
    let asked = |model: &str| json!({"model": model, "max_tokens": 5, "messages": [{"role": "user", "content": "q"}]});
    for route in [CHAT, "/v1/messages"] {
        let refused = world.post(route, asked("m"));
        refused.is_error(400, "format_not_supported");
        assert!(refused.text().contains("no dialect in common"), "{}", refused.text());
    }
    let refused = world.post(CHAT, asked("both"));
    refused.is_error(400, "format_not_supported");
    assert!(refused.text().contains("speaks anthropic;"), "{}", refused.text());
    world.post("/v1/messages", asked("nested")).is_error(400, "format_not_supported");
    for provider in ["a", "b", "c"] {
        assert_eq!(world.upstream(provider).asked(), 0, "{provider}");
    }
    world.upstream("c").answers(message("draft"));
    world.upstream("b").answers(message("done"));
    assert_eq!(world.post("/v1/messages", asked("both")).status, 200);
    world.upstream("a").answers(Answer::good("a"));
    assert_eq!(world.post(CHAT, asked("nested")).status, 200);
    assert_eq!(["a", "b", "c"].map(|provider| world.upstream(provider).asked()), [2, 1, 1]);
}
