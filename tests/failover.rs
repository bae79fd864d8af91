//! Failing over, over real sockets: who is asked next, and from when on nobody is.
//!
//! `answers` holds what the client is told when nobody answers, `counts` what each
//! failure costs whom.

#[path = "failover/answers.rs"]
mod answers;
#[path = "failover/counts.rs"]
mod counts;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;
#[path = "failover/terminal.rs"]
mod terminal;

use std::collections::BTreeSet;

use serde_json::json;
use support::{Answer, End, Gate, Reply, Setup, World, credential, eventually};

/// Every way in which a provider fails without an answer of use, and the limit that ends the silent one.
fn failures() -> Vec<(&'static str, Answer)> {
    let statuses = [("408", 408), ("429", 429), ("500", 500), ("502", 502), ("503", 503), ("504", 504)];
    let mut failures: Vec<_> =
        statuses.into_iter().map(|(name, status)| (name, Answer::status(status))).collect();
    failures.push(("reset", Answer::nothing().resets()));
    failures.push(("cut before the first byte", Answer::nothing().closes()));
    failures.push(("cut inside the head", Answer::raw("HTTP/1.1 200 OK\r\ncontent-").closes()));
    failures.push(("no HTTP", Answer::raw("220 mail.example.com ESMTP\r\n\r\n").closes()));
    failures.push(("no head in time", Answer::silence()));
    failures
}

const LIMITED: &str = "max_retries = 0, target_timeout_ms = 300";

/// A combo `<n>` for each failure n: first a provider `f<n>` that fails so, then `b`.
fn a_world_of_failures() -> World {
    let mut setup = Setup::new().provider("b", 1).refusing("refusing").combo("refused", &["refusing", "b"]);
    for number in 0..failures().len() {
        let failing = format!("f{number}");
        setup = setup.provider(&failing, 1);
        setup = setup.combo_with(&format!("c{number}"), &[&failing, "b"], LIMITED);
    }
    let world = setup.start();
    for (number, (_, answer)) in failures().into_iter().enumerate() {
        world.upstream(&format!("f{number}")).answers(answer);
    }
    world
}

fn each_failure_is_passed_over(ask: impl Fn(&World, &str) -> Reply, good: Answer) {
    let world = a_world_of_failures();
    world.upstream("b").answers(good);
    for (number, (name, _)) in failures().into_iter().enumerate() {
        let reply = ask(&world, &format!("c{number}"));
        reply.served_by("b");
        assert_eq!(world.upstream(&format!("f{number}")).asked(), 1, "{name}");
        assert_eq!(world.upstream("b").asked(), number + 1, "{name}");
        assert_eq!(reply.header("x-omniroute-fallback-attempts"), Some("1"), "{name}");
        assert_eq!(reply.header("x-omniroute-provider"), Some("b"), "{name}");
    }
    ask(&world, "refused").served_by("b");
    assert_eq!(world.failures("refusing"), 1);
    assert_eq!(world.failures("b"), 0);
}

#[test]
fn a_failing_provider_is_passed_over_before_the_client_sees_a_byte() {
    each_failure_is_passed_over(World::ask, Answer::good("b"));
}

#[test]
fn a_failing_provider_is_passed_over_when_a_stream_is_wanted() {
    each_failure_is_passed_over(World::ask_streamed, Answer::good_stream("b"));
}

/// The credentials that a provider was asked with, in order.
fn asked_with(world: &World, provider: &str) -> Vec<String> {
    let requests = world.upstream(provider).requests();
    let bearer = |value: &str| value.strip_prefix("Bearer ").unwrap().to_owned();
    requests.iter().map(|request| bearer(request.header("authorization").unwrap())).collect()
}

#[test]
fn a_single_target_tries_its_next_connection() {
    for status in [401, 403, 429, 503] {
        let world = Setup::new().provider("a", 3).start();
        world.upstream("a").answers_first([Answer::status(status)]);
        world.ask("a/x").served_by("a");
        assert_eq!(asked_with(&world, "a"), [credential("a-1"), credential("a-2")], "{status}");
    }
}

#[test]
fn decision_9c_no_connection_is_asked_twice_for_one_answer() {
    for status in [401, 403, 429, 503] {
        let world = Setup::new().provider("a", 3).provider("b", 2).combo("m", &["a", "b"]).start();
        world.upstream("a").answers(Answer::status(status));
        world.upstream("b").answers(Answer::status(status));
        world.ask("m");
        let asked = [asked_with(&world, "a"), asked_with(&world, "b")].concat();
        let different: BTreeSet<&String> = asked.iter().collect();
        assert_eq!((asked.len(), different.len()), (5, 5), "{status}");
    }
}

#[test]
fn decision_26a_the_last_target_is_asked_again_after_its_stated_wait() {
    let world = Setup::new().provider("a", 1).combo_with("m", &["a"], "max_retries = 1").start();
    let limited = Answer::sized(429, "content-type: application/json\r\nretry-after-ms: 20\r\n", "{}");
    world.upstream("a").answers_first([limited]);
    world.ask("m").served_by("a");
    assert_eq!(world.upstream("a").asked(), 2);
}

#[test]
fn decision_9a_an_answer_that_is_not_whole_fails_over() {
    let json = "content-type: application/json\r\n";
    let half = r#"{"choices":[{"message":"#;
    let rows = [
        ("shorter than it said", Answer::lying(200, json, 1000, support::GOOD).closes()),
        ("no last chunk", Answer::chunked(200, json).chunk(support::GOOD).closes()),
        ("JSON not closed", Answer::sized(200, json, half)),
        ("JSON not closed, chunked", Answer::chunked(200, json).chunk(half).last_chunk()),
        ("empty", Answer::sized(200, json, "")),
    ];
    for (name, answer) in rows {
        let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
        world.upstream("a").answers(answer);
        world.ask("m").served_by("b");
        assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (1, 1), "{name}");
    }
}

const DIALECTS: [(&str, &str); 3] = [
    ("/v1/chat/completions", "data: {"),
    ("/v1/messages", "event: error\ndata: {"),
    ("/v1/responses", "event: error\ndata: {"),
];

type Ending = fn(Answer) -> Answer;

fn a_cut_stream(path: &str, opening: &str, ending: Ending) {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
    let (gate, first) = (Gate::default(), "data: {\"delta\":\"half\"}\n\n");
    world.upstream("a").answers(ending(Answer::stream().chunk(first).until(&gate)));
    let mut wire = world.open(path, &json!({"model": "m", "stream": true}));
    let begun = wire.read_until(|reply| !reply.chunks.is_empty());
    assert_eq!((begun.status, begun.text().as_str(), begun.end), (200, first, End::Open));
    gate.open();
    let reply = wire.reply();
    assert_ne!(reply.end, End::Complete, "{path}: a cut answer must not look whole");
    let told = reply.text();
    let error = told.strip_prefix(first).unwrap();
    assert!(error.starts_with(opening) && error.ends_with("}\n\n"), "{path}: {error}");
    assert_eq!(error.matches("data: ").count(), 1, "{path}: one error frame");
    assert!(error.contains(r#""code":"upstream_truncated""#), "{path}: {error}");
    assert!(!told.contains("[DONE]"), "{path}");
    assert_eq!(world.upstream("a").asked(), 1, "{path}: nothing is asked again after commit");
    assert_eq!(world.upstream("b").asked(), 0, "{path}: nobody else is asked after commit");
    eventually("one failure is recorded", || world.failures("a") == 1);
    eventually("the slot is free", || world.in_flight("a-1") == 0);
}

#[test]
fn fc_003_i_a_stream_reset_after_commit_is_told_and_not_replayed() {
    for (path, opening) in DIALECTS {
        a_cut_stream(path, opening, Answer::resets);
    }
}

#[test]
fn fc_003_ii_a_stream_without_its_last_chunk_is_told_and_not_replayed() {
    for (path, opening) in DIALECTS {
        a_cut_stream(path, opening, Answer::closes);
    }
}

#[test]
fn a_long_answer_that_is_cut_after_commit_ends_abnormally() {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
    let (gate, megabytes) = (Gate::default(), vec![b' '; 2 * 1024 * 1024]);
    let answer = Answer::lying(200, "content-type: application/json\r\n", 4 * 1024 * 1024, megabytes);
    world.upstream("a").answers(answer.until(&gate).closes());
    let mut wire = world.open("/v1/chat/completions", &json!({"model": "m"}));
    wire.read_until(|reply| reply.body.len() == 2 * 1024 * 1024);
    gate.open();
    let reply = wire.reply();
    assert_ne!(reply.end, End::Complete);
    assert_eq!(reply.body.len(), 2 * 1024 * 1024, "nothing is put behind a body that is cut");
    assert_eq!(world.upstream("b").asked(), 0);
}
