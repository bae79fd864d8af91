//! What a failure costs: exactly once on the provider's breaker, at most once on the
//! connection, whatever way the request took (FC-015, FC-066; decision 7).

use serde_json::{Value, json};

use super::failures;
use crate::support::{Answer, End, Setup, World};

/// Routes with and without a stream.
const WAYS: [(&str, bool); 8] = [
    ("/v1/chat/completions", false),
    ("/v1/chat/completions", true),
    ("/v1/messages", false),
    ("/v1/messages", true),
    ("/v1/responses", false),
    ("/v1/responses", true),
    ("/v1/embeddings", false),
    ("/v1/messages/count_tokens", false),
];

const KEYS: &str =
    "format = [\"openai\", \"anthropic\", \"responses\"]\ntimeouts = { first_byte = \"200ms\" }";

/// What counts, and how often the connection cools.
fn kinds() -> Vec<(&'static str, Answer, u64)> {
    let json = "content-type: application/json\r\n";
    let counted = failures().into_iter().filter(|(name, _)| *name != "429");
    let mut kinds: Vec<_> =
        counted.map(|(name, answer)| (name, answer, u64::from(name != "no head in time"))).collect();
    kinds.push(("shorter than it said", Answer::lying(200, json, 1000, "{}").closes(), 1));
    kinds
}

fn one_failure_counts_once(model: impl Fn(&str) -> String, combos: bool) {
    for (path, stream) in WAYS {
        let mut setup = Setup::new();
        for number in 0..kinds().len() {
            let provider = format!("p{number}");
            setup = setup.provider_with(&provider, 1, KEYS);
            if combos {
                setup = setup.combo(&format!("c{number}"), &[&provider]);
            }
        }
        let world = setup.start();
        for (number, (name, answer, cooled)) in kinds().into_iter().enumerate() {
            let provider = format!("p{number}");
            world.upstream(&provider).answers(answer);
            let way = format!("{path}, stream {stream}, {name}");
            let reply = world.post(path, json!({"model": model(&number.to_string()), "stream": stream}));
            assert!(reply.status >= 400 && reply.end == End::Complete, "{way}: {}", reply.status);
            assert_eq!(world.failures(&provider), 1, "{way}: failures on the breaker");
            assert_eq!(world.upstream(&provider).asked(), 1, "{way}");
            assert_eq!(level(&world, &format!("{provider}-1")), cooled, "{way}: cooldown level");
        }
    }
}

fn level(world: &World, connection: &str) -> u64 {
    world.snapshot(connection)["cooldown"]["level"].as_u64().unwrap()
}

#[test]
fn fc_066_one_failure_counts_once_on_every_way_to_a_target() {
    one_failure_counts_once(|number| format!("p{number}/x"), false);
}

#[test]
fn fc_066_one_failure_counts_once_on_every_way_through_a_combo() {
    one_failure_counts_once(|number| format!("c{number}"), true);
}

#[test]
fn fc_015_each_failing_request_adds_one_and_the_threshold_opens() {
    let numbers = "[resilience.provider_breaker.apikey]\nfailure_threshold = 3\ndegradation_threshold = 2";
    for status in [408, 500, 502, 503, 504] {
        let setup = Setup::new().section(numbers).provider("a", 1);
        let world = setup.section("provider_specific = { disable_cooling = true }").start();
        world.upstream("a").answers(Answer::status(status));
        for count in 1..=3 {
            assert_eq!(world.ask("a/x").status, status);
            assert_eq!(world.failures("a"), count, "{status}");
        }
        assert_eq!(world.derived("provider", "a")["state"], "open", "{status}");
        world.ask("a/x").is_error(503, "provider_circuit_open");
        assert_eq!((world.failures("a"), world.upstream("a").asked()), (3, 3), "{status}");
    }
}

#[test]
fn decision_7_one_request_counts_once_however_many_connections_failed() {
    let world = Setup::new().provider("a", 3).start();
    world.upstream("a").answers(Answer::status(503));
    assert_eq!(world.ask("a/x").status, 503);
    assert_eq!((world.upstream("a").asked(), world.failures("a")), (3, 1));
    let levels: Vec<u64> = ["a-1", "a-2", "a-3"].iter().map(|id| level(&world, id)).collect();
    assert_eq!(levels, [1, 1, 1]);
}

#[test]
fn decision_9c_a_failure_that_is_retried_is_settled_once() {
    let config = "max_retries = 2, retry_delay_ms = 1, combo_cooldown_wait_enabled = false";
    let world = Setup::new().provider("a", 1).combo_with("m", &["a"], config).start();
    world.upstream("a").answers(Answer::status(500));
    assert_eq!(world.ask("m").status, 500);
    assert_eq!((world.upstream("a").asked(), world.failures("a"), level(&world, "a-1")), (3, 1, 1));
}

#[test]
fn an_answer_about_the_account_or_the_model_never_counts_on_the_breaker() {
    for status in [400, 401, 402, 403, 404, 413, 429, 529] {
        let world = Setup::new().provider("a", 1).start();
        world.upstream("a").answers(Answer::status(status));
        world.ask("a/x");
        assert_eq!(world.failures("a"), 0, "{status}");
        let derived: Value = world.derived("provider", "a");
        assert_eq!(derived["state"], "closed", "{status}");
    }
}
