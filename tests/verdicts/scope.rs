//! The narrowest right scope: what is the request's affair costs nobody, what is one model's
//! bars that model on that account (FC-016, FC-080, FC-081; decision 8).

use serde_json::json;

use super::{a_then_b, assert_unharmed, level, locks, only_lock, rest, says, short_rests, state, told};
use crate::support::{Answer, Setup, credential, eventually};

#[test]
fn fc_016_a_bad_request_costs_one_attempt_and_nobody_else_sees_it() {
    for status in [400, 413, 415, 422] {
        let world = Setup::new().provider("a", 3).start();
        let body =
            r#"{"error":{"message":"messages: canary-4711 is no role","type":"invalid_request_error"}}"#;
        world.upstream("a").answers_first([told(status, "", body)]);
        let reply = world.ask("a/x");
        assert_eq!((reply.status, reply.text().as_str()), (status, body), "word for word");
        assert_eq!(world.upstream("a").asked(), 1, "{status}: no other account is asked");
        assert_unharmed(&world, "a", "a bad request");
        let other = world.ask("a/x");
        other.served_by("a");
        assert!(!other.text().contains("canary"));
        let sent = format!("Bearer {}", credential("a-1"));
        assert_eq!(world.upstream("a").requests()[1].header("authorization"), Some(sent.as_str()));
    }
}

#[test]
fn fc_016_a_combo_stops_at_a_bad_request() {
    for status in [400, 413, 415, 422] {
        let world = a_then_b();
        world.upstream("a").answers(says(status, "`temperature` must be a number"));
        assert_eq!(world.ask("m").status, status);
        assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (1, 0), "{status}");
        assert_unharmed(&world, "a", "a bad request");
    }
}

#[test]
fn decision_8_a_400_that_another_model_may_take_moves_on_and_blames_nobody() {
    for message in [
        "prompt is too long: 250000 tokens > 200000 maximum",
        "This model's maximum context length is 8192 tokens",
        "max_tokens is illegal: must be in range 1 to 8192",
        "your key has no access to the model x",
    ] {
        let world = a_then_b();
        world.upstream("a").answers(says(400, message));
        world.ask("m").served_by("b");
        assert_eq!(world.upstream("a").asked(), 1);
        assert_unharmed(&world, "a", message);
        // When all say so, the first such answer goes back (decision 9b).
        world.upstream("b").answers(says(400, &format!("b: {message}")));
        let reply = world.ask("m");
        assert_eq!(reply.status, 400);
        assert!(reply.text().contains(message) && !reply.text().contains("b: "), "{}", reply.text());
        assert_unharmed(&world, "b", message);
    }
}

#[test]
fn decision_8_throttling_keeps_its_verdict_on_a_400() {
    let world = a_then_b();
    world.upstream("a").answers(says(400, "Detected high-frequency non-compliant requests"));
    world.ask("m").served_by("b");
    assert_eq!(
        (state(&world, "a-1").as_str(), rest(&world, "a-1"), level(&world, "a-1")),
        ("cooling", 3_000, 1)
    );
}

#[test]
fn decision_8_a_ban_keeps_its_verdict_on_every_status() {
    for status in [400, 401, 403, 422, 429, 500] {
        let world = a_then_b();
        world.upstream("a").answers(says(status, "Your account has been deactivated: account_deactivated"));
        world.ask("m").served_by("b");
        assert_eq!(state(&world, "a-1"), "banned", "{status}");
        assert_eq!((world.upstream("a").asked(), world.failures("a")), (1, 0), "{status}");
    }
}

#[test]
fn fc_080_a_thing_that_a_request_names_is_not_the_model() {
    let missing_file = r#"{"error":{"message":"Files [file-abc] were not found"}}"#;
    let missing_response = r#"{"error":{"message":"Previous response with id 'resp_1' not found.","type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}"#;
    for body in [missing_file, missing_response] {
        let world = a_then_b();
        world.upstream("a").answers_first([told(404, "", body)]);
        let reply = world.ask("m");
        assert_eq!((reply.status, reply.text().as_str()), (404, body));
        assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (1, 0));
        assert_unharmed(&world, "a", body);
        world.ask("m").served_by("a");
    }
}

/// A model that is not there, in three forms.
fn missing() -> [(&'static str, Answer); 3] {
    [
        ("m1", says(404, "The model `m1` does not exist")),
        ("m2", Answer::status(410)),
        ("m3", says(400, "Model is unavailable")),
    ]
}

#[test]
fn fc_081_a_missing_model_costs_one_call_for_each_lock() {
    for (model, answer) in missing() {
        let world = Setup::new().provider("a", 1).start();
        world.upstream("a").answers_first([answer.clone()]);
        let first = world.ask(&format!("a/{model}"));
        assert!(first.status >= 400, "{model}");
        let locked = locks(&world);
        assert_eq!(locked.len(), 1, "{model}: {locked:?}");
        assert!(locked[0].0.starts_with(&format!("a-1/{model}/")), "{locked:?}");
        assert!(locked[0].0.ends_with("/not_found") && locked[0].1 <= 86_400_000, "{locked:?}");
        for _ in 0..20 {
            world.ask(&format!("a/{model}")).is_error(429, "model_cooldown");
        }
        assert_eq!(world.upstream("a").asked(), 1, "{model}: nobody is asked while it is locked");
        assert_eq!((state(&world, "a-1").as_str(), level(&world, "a-1")), ("ready", 0), "{model}");
        world.ask("a/other").served_by("a");
        assert_eq!(world.failures("a"), 0, "{model}");
        let cleared = world.manage("DELETE", "/api/resilience/model-cooldowns", &json!({"all": true}));
        assert_eq!(cleared.status, 200, "{}", cleared.text());
        world.ask(&format!("a/{model}")).served_by("a");
    }
}

#[test]
fn fc_081_a_lock_ends_by_itself() {
    for (model, answer) in missing() {
        let world = Setup::new().section(&short_rests(50)).provider("a", 1).start();
        world.upstream("a").answers_first([answer]);
        assert!(world.ask(&format!("a/{model}")).status >= 400);
        eventually("its lock is over", || locks(&world).is_empty());
        world.ask(&format!("a/{model}")).served_by("a");
        assert_eq!(world.upstream("a").asked(), 2, "{model}");
    }
}

#[test]
fn fc_081_a_combo_goes_on_and_comes_back_to_the_other_models() {
    let world = a_then_b();
    world.upstream("a").answers_first([Answer::status(404)]);
    world.ask("m").served_by("b");
    world.ask("m").served_by("b");
    assert_eq!(world.upstream("a").asked(), 1);
    only_lock(&world, "a-1/x/family/not_found", 3_000);
    world.ask("a/y").served_by("a");
}
