//! `POST /api/providers/{id}/test`: a real small request, whatever holds the account back.
//! Passing ends what it disproves, failing is told and rests nobody (core 1.3.5, P8).

use serde_json::{Value, json};

use super::{assert_unharmed, error_type, level, locks, reset, rest, says, short_rests, state, told};
use crate::support::{Answer, Reply, Setup, World, credential, eventually, post};

const LISTED: &str = "format = \"openai\"\nmodels = [{ id = \"listed\" }, { id = \"second\" }]";

/// Bodies that are no JSON go as they are.
fn check(world: &World, connection: &str, body: &str) -> Reply {
    let operator = "authorization: Bearer admin-token-of-the-tests\r\n";
    post(world.address, &format!("/api/providers/{connection}/test"), operator, body.as_bytes())
}

#[track_caller]
fn passes(world: &World, connection: &str) -> Value {
    let reply = check(world, connection, r#"{"model":"x"}"#);
    let report = reply.json();
    assert_eq!((reply.status, &report["ok"]), (200, &json!(true)), "{report}");
    report
}

#[test]
fn the_upstream_sees_the_smallest_request_with_that_accounts_credential_only() {
    for (format, path, limit, words) in [
        ("openai", "/v1/chat/completions", "max_tokens", "messages"),
        ("anthropic", "/v1/messages", "max_tokens", "messages"),
        ("responses", "/v1/responses", "max_output_tokens", "input"),
    ] {
        let world = Setup::new().provider_with("a", 2, &format!("format = \"{format}\"")).start();
        passes(&world, "a-2");
        let sent = world.upstream("a").only_request();
        assert!(sent.head.starts_with(&format!("POST {path} ")), "{}", sent.head);
        let body: Value = serde_json::from_slice(&sent.body).unwrap();
        let mut fields: Vec<&String> = body.as_object().unwrap().keys().collect();
        fields.sort();
        let mut wanted = vec!["model", limit, words];
        wanted.sort_unstable();
        assert_eq!(fields, wanted, "{format}");
        assert!(sent.body.len() < 200 && body[limit].as_u64().unwrap() <= 16, "{body}");
        assert_eq!(sent.head.matches(&credential("a-2")).count(), 1, "{}", sent.head);
        for secret in ["admin-token", &credential("a-1")] {
            assert!(!sent.head.contains(secret), "{}", sent.head);
        }
        assert_eq!(sent.headers("cookie").len(), 0);
    }
}

#[test]
fn the_model_is_the_one_that_is_asked_for_else_the_first_that_is_known() {
    let world = Setup::new()
        .provider_with("a", 1, LISTED)
        .section("models = [\"second\", \"l*\"]")
        .provider_with("b", 1, LISTED)
        .provider("c", 1)
        .start();
    let asked = |connection: &str, body: &str| {
        let reply = check(&world, connection, body);
        assert_eq!(reply.status, 200, "{}", reply.text());
        let provider = &connection[..1];
        let sent = world.upstream(provider).requests().pop().unwrap();
        let sent: Value = serde_json::from_slice(&sent.body).unwrap();
        assert_eq!(reply.json()["model"], sent["model"]);
        sent["model"].as_str().unwrap().to_owned()
    };
    assert_eq!(asked("a-1", ""), "second", "what the connection serves by name");
    assert_eq!(asked("b-1", "{}"), "listed", "the provider's first");
    assert_eq!(asked("b-1", r#"{"model":"third"}"#), "third");
    assert_eq!(asked("c-1", r#"{"model":"any/thing"}"#), "any/thing");
    let nobody = check(&world, "c-1", "");
    assert_eq!(nobody.status, 400, "{}", nobody.text());
    assert_eq!(nobody.json()["error"]["details"][0]["field"], "model", "{}", nobody.text());
    for (body, field) in
        [("[]", "body"), ("{", "body"), (r#"{"model":1}"#, "model"), (r#"{"models":"x"}"#, "models")]
    {
        let wrong = check(&world, "b-1", body);
        assert_eq!(
            (wrong.status, wrong.json()["error"]["details"][0]["field"].clone()),
            (400, json!(field)),
            "{body}"
        );
    }
    assert_eq!(world.upstream("c").asked(), 1);
    check(&world, "nobody", r#"{"model":"x"}"#).is_error(404, "not_found");
    let anonymous = world.post("/api/providers/b-1/test", json!({"model": "x"}));
    assert_eq!((anonymous.status, world.upstream("b").asked()), (401, 2));
}

#[test]
fn core_1_3_5_passing_closes_a_degraded_breaker_and_no_other() {
    let numbers = "[resilience.provider_breaker.apikey]\nfailure_threshold = 4\ndegradation_threshold = 2";
    let world = Setup::new()
        .section(numbers)
        .provider("a", 1)
        .section("provider_specific = { disable_cooling = true }")
        .start();
    let breaker = || world.derived("provider", "a")["state"].clone();
    let fail = |count| {
        world.upstream("a").answers_first((0..count).map(|_| Answer::status(503)));
        for _ in 0..count {
            assert_eq!(world.ask("a/x").status, 503);
        }
    };
    fail(2);
    assert_eq!(breaker(), "degraded");
    passes(&world, "a-1");
    assert_eq!((breaker(), world.failures("a")), (json!("closed"), 0));
    fail(4);
    assert_eq!(breaker(), "open");
    passes(&world, "a-1");
    assert_eq!(breaker(), "open", "that is a probe's affair");
    world.ask("a/x").is_error(503, "provider_circuit_open");
}

#[test]
fn decision_12a_passing_ends_every_terminal_state() {
    let refused = || says(401, "Incorrect API key provided");
    for (terminal, answers) in [
        ("banned", vec![says(403, "account_deactivated")]),
        ("credits_exhausted", vec![says(402, "insufficient credits")]),
        ("expired", vec![refused(), refused()]),
    ] {
        let world = Setup::new().section(&short_rests(30)).provider("a", 1).start();
        for answer in answers {
            eventually("it may be asked", || state(&world, "a-1") == "ready");
            world.upstream("a").answers_first([answer]);
            world.ask("a/x");
        }
        assert_eq!(state(&world, "a-1"), terminal);
        world.ask("a/x").is_error(503, "no_usable_connection");
        let report = passes(&world, "a-1");
        assert_eq!(report["state"], "ready", "{report}");
        assert_eq!((state(&world, "a-1").as_str(), level(&world, "a-1")), ("ready", 0), "{terminal}");
        world.ask("a/x").served_by("a");
    }
}

#[test]
fn p8_failing_is_told_and_rests_nobody() {
    let rows = [
        (says(401, "Incorrect API key provided"), "auth_error"),
        (says(403, "account_deactivated"), "auth_error"),
        (says(402, "insufficient credits"), "quota_exhausted"),
        (Answer::status(429), "rate_limit_exceeded"),
        (Answer::status(404), "not_found"),
        (Answer::status(503), "server_error"),
        (Answer::nothing().resets(), "server_error"),
    ];
    for (answer, reason) in rows {
        let world = Setup::new().provider("a", 1).start();
        world.upstream("a").answers(answer);
        for _ in 0..3 {
            let reply = check(&world, "a-1", r#"{"model":"x"}"#);
            let report = reply.json();
            assert_eq!(
                (reply.status, &report["ok"], &report["verdict"]),
                (200, &json!(false), &json!(reason)),
                "{report}"
            );
            assert_eq!(report["state"], "ready", "{report}");
        }
        assert_eq!(error_type(&world, "a-1"), reason);
        assert_unharmed(&world, "a", reason);
        world.upstream("a").answers(Answer::good("a"));
        world.ask("a/x").served_by("a");
    }
}

#[test]
fn p3_failing_leaves_a_terminal_account_as_it_was() {
    let world = Setup::new().provider("a", 1).start();
    world.upstream("a").answers_first([says(402, "insufficient credits")]);
    world.ask("a/x");
    world.upstream("a").answers(Answer::status(503));
    let report = check(&world, "a-1", r#"{"model":"x"}"#).json();
    assert_eq!((&report["ok"], &report["state"]), (&json!(false), &json!("credits_exhausted")), "{report}");
    assert_eq!((state(&world, "a-1").as_str(), world.failures("a")), ("credits_exhausted", 0));
}

/// A test says nothing of a quota's window, nor of a lock of another model.
#[test]
fn fc_060_passing_ends_no_rest_that_it_says_nothing_about() {
    let world = Setup::new().provider("a", 1).start();
    let limit = json!({"error": {"type": "usage_limit_reached", "resets_in_seconds": 432_000}}).to_string();
    world.upstream("a").answers_first([Answer::status(404), told(429, "", &limit)]);
    world.ask("a/gone");
    world.ask("a/x");
    let until = || world.snapshot("a-1")["cooldown"]["until"].clone();
    let before = until();
    assert_eq!((state(&world, "a-1").as_str(), rest(&world, "a-1")), ("cooling", 432_000_000));
    passes(&world, "a-1");
    assert_eq!((state(&world, "a-1").as_str(), until()), ("cooling", before.clone()));
    // Nor after a test that failed in between: what it said is not why the account rests.
    world.upstream("a").answers_first([says(401, "Incorrect API key provided")]);
    assert_eq!(check(&world, "a-1", r#"{"model":"x"}"#).json()["ok"], false);
    passes(&world, "a-1");
    assert_eq!((state(&world, "a-1").as_str(), until()), ("cooling", before));
    assert_eq!(locks(&world).len(), 1, "{:?}", locks(&world));
    reset(&world, "a-1");
}

#[test]
fn passing_ends_the_rest_of_a_refused_credential() {
    let world = Setup::new().provider("a", 1).start();
    world.upstream("a").answers_first([says(401, "Incorrect API key provided")]);
    world.ask("a/x");
    assert_eq!(state(&world, "a-1"), "cooling");
    passes(&world, "a-1");
    assert_eq!((state(&world, "a-1").as_str(), level(&world, "a-1")), ("ready", 0));
    world.ask("a/x").served_by("a");
}

#[test]
fn what_the_upstream_said_is_told_without_the_credential() {
    let world = Setup::new().provider("a", 1).start();
    world.upstream("a").answers(says(401, &format!("bad key {}, sorry", credential("a-1"))));
    let reply = check(&world, "a-1", r#"{"model":"x"}"#);
    let report = reply.json();
    assert_eq!((&report["ok"], &report["status"]), (&json!(false), &json!(401)), "{report}");
    assert!(report["error"].as_str().unwrap().contains("sorry"), "{report}");
    assert!(!reply.text().contains(&credential("a-1")), "{report}");
}

/// The slots are the requests' own: a test needs none and takes none.
#[test]
fn a_full_drained_or_resting_account_can_be_tested() {
    let world = Setup::new().provider("a", 1).section("max_concurrent = 1").start();
    world.order("connection", "a-1", json!({"message": "cool", "for": "1h"}));
    passes(&world, "a-1");
    world.order("connection", "a-1", json!({"message": "drain"}));
    passes(&world, "a-1");
    assert_eq!(world.in_flight("a-1"), 0);
    assert_eq!(state(&world, "a-1"), "draining");
}

/// Some models know the limit under another name only.
#[test]
fn a_limit_that_the_model_does_not_know_is_left_out() {
    let world = Setup::new().provider("a", 1).start();
    world.upstream("a").answers_first([says(400, "Unsupported parameter: max_tokens")]);
    passes(&world, "a-1");
    let sent: Value = serde_json::from_slice(&world.upstream("a").requests()[1].body).unwrap();
    assert_eq!(sent.get("max_tokens"), None, "{sent}");
    assert_eq!(world.upstream("a").asked(), 2);
}
