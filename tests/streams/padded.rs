//! A head that goes out before an answer that is not streamed, and blank lines meanwhile, where an
//! operator wants that (FC-092).

use serde_json::json;

use crate::old::Old;
use crate::support::{Answer, End, Gate, Reply, Setup, Wire, World, eventually};
use crate::{ALL, CHAT, Dialect, events};

const WHOLE: [(&Dialect, &str); 3] = [
    (
        &CHAT,
        "{\"id\":\"1\",\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"北京\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5}}",
    ),
    (
        &crate::MESSAGES,
        "{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"北京\"}],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":3,\"output_tokens\":5}}",
    ),
    (
        &crate::RESPONSES,
        "{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"北京\"}]}],\"usage\":{\"input_tokens\":3,\"output_tokens\":5}}",
    ),
];

fn padded() -> World {
    let section = "[stream]\nearly_commit_json = \"50ms\"\nheartbeat = \"50ms\"";
    Setup::new().section(section).provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start()
}

fn body(model: &str) -> serde_json::Value {
    json!({"model": model, "max_tokens": 9})
}

/// Asks, and has read three blank lines while the first vendor keeps its answer back.
fn waiting(world: &World, dialect: &Dialect, model: &str) -> Wire {
    let mut wire = world.open(dialect.route, &body(model));
    let begun = wire.read_until(|reply| reply.text().matches('\n').count() >= 3);
    assert_eq!((begun.status, begun.header("content-type")), (200, Some("application/json")));
    assert_eq!(begun.header("x-accel-buffering"), Some("no"), "a middlebox is to pass them on");
    assert_eq!(begun.text().trim(), "");
    wire
}

/// What follows the blank lines, of an answer that says itself that it did not end well.
fn failure(reply: &Reply) -> serde_json::Value {
    assert_eq!(reply.status, 200);
    assert!(matches!(reply.end, End::Closed | End::Reset), "{:?}: {}", reply.end, reply.text());
    reply.json()
}

#[test]
fn fc_092_by_default_nothing_is_sent_before_the_answer() {
    let section = "[stream]\nheartbeat = \"50ms\"\nearly_commit = \"50ms\"";
    let world = Setup::new().section(section).provider("a", 1).start();
    let gate = Gate::default();
    world.upstream("a").answers(Answer::status(503).held_by(&gate));
    let mut wire = world.open(CHAT.route, &body("a/x"));
    eventually("the vendor is asked", || world.upstream("a").asked() == 1);
    gate.open();
    assert_eq!(wire.reply().status, 503, "the status is its own");
}

#[test]
fn fc_092_blank_lines_keep_a_middlebox_patient() {
    for (dialect, answer) in WHOLE {
        let world = padded();
        let gate = Gate::default();
        world.upstream("a").answers(Answer::json(200, answer).held_by(&gate));
        let mut wire = waiting(&world, dialect, "m");
        gate.open();
        let reply = wire.reply();
        assert_eq!((reply.text().trim_start(), reply.end), (answer, End::Complete));
        assert_eq!(
            reply.json()["usage"],
            serde_json::from_str::<serde_json::Value>(answer).unwrap()["usage"]
        );
        let tokens = || world.admin("/api/usage/history").json()["items"][0]["outputTokens"].clone();
        eventually("it is counted", || tokens() == 5);
    }
}

/// Its answer ends with its connection.
#[test]
fn fc_092_blank_lines_reach_a_middlebox_of_http_1_0() {
    let world = padded();
    let gate = Gate::default();
    world.upstream("a").answers(Answer::json(200, WHOLE[0].1).held_by(&gate));
    let mut old = Old::ask(&world, CHAT.route, &body("a/x"));
    let begun = old.read_until(|reply| reply.ends_with("\r\n\r\n\n\n"));
    assert!(begun.starts_with("HTTP/1.0 200") && !begun.contains("transfer-encoding"), "{begun}");
    gate.open();
    assert_eq!(old.rest().trim_start(), WHOLE[0].1);
}

#[test]
fn fc_092_failover_goes_on_behind_the_blank_lines() {
    for (dialect, answer) in WHOLE {
        let world = padded();
        let gate = Gate::default();
        world.upstream("a").answers(Answer::status(503).held_by(&gate));
        world.upstream("b").answers(Answer::json(200, answer));
        let mut wire = waiting(&world, dialect, "m");
        gate.open();
        let reply = wire.reply();
        assert_eq!((reply.text().trim_start(), reply.end), (answer, End::Complete));
    }
}

/// The status is given away: the body says it, and its end is none.
#[test]
fn fc_092_a_failure_is_told_in_the_body_and_by_its_end() {
    for dialect in ALL {
        let world = padded();
        let gate = Gate::default();
        world.upstream("a").answers(
            Answer::json(400, "{\"error\":{\"message\":\"too long\",\"code\":\"own\"}}").held_by(&gate),
        );
        let mut wire = waiting(&world, dialect, "a/x");
        gate.open();
        let told = failure(&wire.reply());
        assert_eq!(told["error"]["message"], "too long", "the vendor's own words");

        let gate = Gate::default();
        world
            .upstream("a")
            .answers(Answer::sized(503, "content-type: text/html\r\n", "<h1>Back soon</h1>").held_by(&gate));
        let mut wire = waiting(&world, dialect, "a/x");
        gate.open();
        let told = failure(&wire.reply()).to_string();
        assert!(told.contains("Back soon") && told.contains("answered 503"), "{told}");
    }
}

/// Everybody has failed, or somebody has answered with what nobody asked for.
#[test]
fn fc_092_an_error_of_our_own_is_told_in_the_words_of_its_dialect() {
    for dialect in ALL {
        let world = padded();
        let gate = Gate::default();
        world.upstream("a").answers(Answer::json(200, "{\"choices\":").held_by(&gate));
        world.upstream("b").answers(Answer::json(200, "{\"choices\":"));
        let mut wire = waiting(&world, dialect, "m");
        gate.open();
        let told = failure(&wire.reply());
        assert!(told["error"]["message"].as_str().unwrap().contains("all 2 attempts failed"), "{told}");

        let world = padded();
        let gate = Gate::default();
        world.upstream("a").answers(events(&[&dialect.complete()]).held_by(&gate));
        let mut wire = waiting(&world, dialect, "a/x");
        gate.open();
        assert!(failure(&wire.reply())["error"]["message"].is_string());
    }
}

/// What is longer than is held flows behind them; cut, it has no end.
#[test]
fn fc_092_a_long_answer_flows_behind_the_blank_lines() {
    let world = padded();
    let long = WHOLE[0].1.replace("北京", &"北京".repeat(400_000));
    for cut in [false, true] {
        let gate = Gate::default();
        let answer = Answer::chunked(200, "content-type: application/json\r\n").chunk(&long);
        let answer = if cut { answer.resets() } else { answer.last_chunk() };
        world.upstream("a").answers(answer.held_by(&gate));
        let mut wire = waiting(&world, &CHAT, "a/x");
        gate.open();
        let reply = wire.reply();
        assert_eq!(reply.end == End::Complete, !cut);
        assert!(cut || reply.text().trim_start() == long, "{} bytes", reply.text().len());
    }
}

#[test]
fn fc_092_numbers_are_no_stream_whatever_their_request_says() {
    let rows = [
        ("/v1/embeddings", "{\"object\":\"list\",\"data\":[]}"),
        ("/v1/messages/count_tokens", "{\"input_tokens\":3}"),
    ];
    for (route, answer) in rows {
        let section = "[stream]\nearly_commit = \"50ms\"\nearly_commit_json = \"50ms\"\nheartbeat = \"50ms\"";
        let world = Setup::new().section(section).provider("a", 1).start();
        let gate = Gate::default();
        world.upstream("a").answers(Answer::json(200, answer).held_by(&gate));
        let mut wire = world.open(route, &json!({"model": "a/x", "stream": true, "input": "x"}));
        wire.read_until(|reply| reply.text().len() >= 3);
        gate.open();
        let reply = wire.reply();
        assert_eq!((reply.status, reply.text().trim_start(), reply.end), (200, answer, End::Complete));
        assert_eq!(reply.header("content-type"), Some("application/json"));
    }
}

#[test]
fn fc_092_what_is_known_in_time_keeps_its_status_and_its_headers() {
    let world = padded();
    world.upstream("a").answers(Answer::status(400));
    assert_eq!(world.post(CHAT.route, body("a/x")).status, 400);
    world.upstream("a").answers(Answer::json(200, WHOLE[0].1));
    let reply = world.post(CHAT.route, body("a/x"));
    assert_eq!((reply.text().as_str(), reply.header("x-omniroute-provider")), (WHOLE[0].1, Some("a")));
}

/// FC-092, FC-006: who leaves ends the call, and nobody else is asked.
#[test]
fn fc_092_a_client_that_leaves_ends_the_call() {
    let world = padded();
    world.upstream("a").answers(Answer::silence());
    drop(waiting(&world, &CHAT, "m"));
    eventually("the vendor is told", || world.upstream("a").closed() == 1);
    eventually("the slot is free", || world.in_flight("a-1") == 0);
    assert_eq!(world.upstream("b").asked(), 0);
}
