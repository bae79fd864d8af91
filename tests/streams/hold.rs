//! Before the first meaningful frame (decision 18; FC-001, FC-002, FC-005, FC-028, FC-090,
//! FC-091).

use crate::support::{Answer, End, Gate, Setup, eventually};
use crate::{ALL, CHAT, Dialect, MESSAGES, RESPONSES, events, got, open_events, pair};

#[test]
fn fc_001_an_error_as_the_only_frame_is_a_failed_attempt() {
    for dialect in ALL {
        for error in [dialect.overloaded.0, dialect.quota, DETAIL] {
            let world = pair(dialect);
            world.upstream("a").answers(events(&[": ping\n\n", error]));
            got(&dialect.ask(&world, "m"), &dialect.complete());
            assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (1, 1));
        }
    }
}

/// How web frameworks write an error, in no dialect.
const DETAIL: &str = "data: {\"detail\":\"the worker is gone\"}\n\n";

/// Its words are told in the client's dialect.
#[test]
fn fc_001_an_error_in_no_dialect_becomes_one_of_the_clients() {
    for dialect in ALL {
        let world = pair(dialect);
        world.upstream("a").answers(events(&[DETAIL]));
        let reply = dialect.ask(&world, "a/x");
        assert_eq!((reply.status, reply.end), (502, End::Complete), "{}", reply.text());
        assert_eq!(reply.json()["error"]["message"], "the worker is gone", "{}", reply.text());
    }
}

#[test]
fn fc_002_an_error_after_lifecycle_frames_is_a_failed_attempt() {
    for dialect in ALL {
        let world = pair(dialect);
        world.upstream("a").answers(events(&[&dialect.opening(), dialect.quota]));
        got(&dialect.ask(&world, "m"), &dialect.complete());
    }
}

/// The client sees the status that the upstream should have sent, as JSON of its dialect.
#[test]
fn fc_002_if_all_fail_before_content_the_client_gets_a_status() {
    for dialect in ALL {
        let world = pair(dialect);
        let (error, status) = dialect.overloaded;
        for provider in ["a", "b"] {
            world.upstream(provider).answers(events(&[&dialect.opening(), error]));
        }
        let reply = dialect.ask(&world, "m");
        assert_eq!((reply.status, reply.end), (status, End::Complete), "{}", reply.text());
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let error = &reply.json()["error"];
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|text| text.eq_ignore_ascii_case("busy") || text == "Overloaded")
        );
    }
}

/// What a credential says stays here, also where an upstream repeats it inside a stream.
#[test]
fn fc_042_a_key_in_an_error_of_a_stream_is_redacted() {
    let secret = crate::support::credential("a-1");
    let error = format!("data: {{\"error\":{{\"code\":\"x\",\"message\":\"bad {secret}\"}}}}\n\n");
    for opening in [": ping\n\n", CHAT.text] {
        let world = Setup::new().provider("a", 1).start();
        world.upstream("a").answers(events(&[opening, &error]));
        let reply = CHAT.ask(&world, "a/x");
        assert!(reply.text().contains("[redacted]") && !reply.text().contains(&secret), "{}", reply.text());
    }
}

#[test]
fn fc_005_nothing_is_sent_before_anything_is_known() {
    let world = pair(&CHAT);
    let gate = Gate::default();
    world.upstream("a").answers(Answer::status(503).held_by(&gate));
    world.upstream("b").answers(Answer::status(503));
    let mut wire = world.open(CHAT.route, &CHAT.body("m"));
    eventually("the vendor is asked", || world.upstream("a").asked() == 1);
    gate.open();
    let reply = wire.reply();
    assert_eq!((reply.status, reply.end), (503, End::Complete), "{}", reply.text());
}

/// FC-005: the status, and when to come again.
#[test]
fn fc_005_what_a_single_target_answers_keeps_its_status_and_its_wait() {
    for dialect in ALL {
        let world = Setup::new().refusing("a").start();
        let reply = dialect.ask(&world, "a/x");
        reply.is_error(502, "bad_gateway");
        let world = Setup::new().provider("a", 1).start();
        let wait = "content-type: application/json\r\nretry-after: 7\r\n";
        world.upstream("a").answers(Answer::sized(429, wait, "{\"error\":{\"message\":\"slow down\"}}"));
        let reply = dialect.ask(&world, "a/x");
        assert_eq!((reply.status, reply.end), (429, End::Complete), "{}", reply.text());
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert_eq!(reply.header("retry-after"), Some("7"));
        assert_eq!(reply.json()["error"]["message"], "slow down");
    }
}

/// (i) comments only; (ii) a role and a finish reason; nothing at all; a terminal event alone.
#[test]
fn fc_028_a_stream_without_output_is_a_failed_attempt() {
    for dialect in ALL {
        let opening = dialect.opening();
        let stop = dialect.stop.concat();
        for empty in [
            vec![": ping\n\n", ": ping\n\n"],
            vec![opening.as_str(), stop.as_str(), dialect.end],
            vec![dialect.end],
            vec![],
        ] {
            let world = pair(dialect);
            world.upstream("a").answers(events(&empty));
            got(&dialect.ask(&world, "m"), &dialect.complete());
            assert_eq!(world.failures("a"), 0, "it counts on no breaker: {empty:?}");
        }
    }
}

/// (iii) to (v): and so is an answer that is not streamed.
#[test]
fn fc_028_a_whole_answer_without_output_is_a_failed_attempt() {
    let nothing = [
        ["{\"choices\":[{\"message\":{\"content\":null},\"finish_reason\":\"stop\"}]}", "{\"choices\":[]}"],
        ["{\"type\":\"message\",\"content\":[],\"stop_reason\":\"end_turn\"}", "{\"content\":[]}"],
        ["{\"status\":\"completed\",\"output\":[]}", "{\"object\":\"response\",\"output\":[]}"],
    ];
    for (dialect, bodies) in ALL.into_iter().zip(nothing) {
        for body in bodies.into_iter().chain(["{}", ""]) {
            let world = pair(dialect);
            world.upstream("a").answers(Answer::json(200, body));
            world.upstream("b").answers(Answer::good("b"));
            world.post(dialect.route, serde_json::json!({"model": "m", "max_tokens": 9})).served_by("b");
            assert_eq!((world.upstream("a").asked(), world.failures("a")), (1, 0), "{body}");
        }
    }
}

#[test]
fn fc_028_of_a_single_target_it_is_told_as_empty() {
    for dialect in ALL {
        let world = Setup::new().provider("a", 1).start();
        let opening = dialect.opening();
        world.upstream("a").answers(events(&[&opening, &dialect.stop.concat(), dialect.end]));
        dialect.ask(&world, "a/x").is_error(502, "empty_response");
    }
}

/// E93, flow 6.2.6: the only end that is worth one more try where nobody else is left.
#[test]
fn e93_a_stream_that_ends_before_it_begins_is_tried_once_more() {
    let world = Setup::new().provider("a", 1).start();
    world.upstream("a").answers(events(&[&CHAT.complete()]));
    world.upstream("a").answers_first([events(&[": ping\n\n"])]);
    got(&CHAT.ask(&world, "a/x"), &CHAT.complete());
    assert_eq!(world.upstream("a").asked(), 2);
    world.upstream("a").answers(events(&[": ping\n\n"]));
    CHAT.ask(&world, "a/x").is_error(502, "empty_response");
    assert_eq!(world.upstream("a").asked(), 4);
}

/// FC-085: who says why there is nothing more is believed.
#[test]
fn fc_085_a_legitimate_empty_answer_passes() {
    let chat = |finish: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{finish}\"}}]}}\n\ndata: [DONE]\n\n"
        )
    };
    let messages = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{\"output_tokens\":1}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let incomplete = "event: response.incomplete\ndata: {\"type\":\"response.incomplete\",\"response\":{\"id\":\"r\",\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}}\n\n";
    let rows: [(&Dialect, String); 5] = [
        (&CHAT, chat("length")),
        (&CHAT, chat("content_filter")),
        (&CHAT, chat("tool_calls")),
        (&MESSAGES, messages.into()),
        (&RESPONSES, incomplete.into()),
    ];
    for (dialect, end) in rows {
        let world = pair(dialect);
        let all = dialect.opening() + &end;
        world.upstream("a").answers(events(&[&all]));
        got(&dialect.ask(&world, "m"), &all);
        assert_eq!(world.upstream("b").asked(), 0);
    }
}

/// Reasoning begins an answer: its reader sees the model at work, word by word, through a combo as
/// without one.
#[test]
fn fc_090_reasoning_is_not_held() {
    for (dialect, model) in ALL.into_iter().flat_map(|dialect| [(dialect, "m"), (dialect, "a/x")]) {
        let world = pair(dialect);
        let gates = [Gate::default(), Gate::default()];
        let rest = dialect.text.to_owned() + &dialect.stop.concat() + dialect.end;
        let opening = dialect.opening() + dialect.reasoning;
        let answer = open_events(&[&opening]).until(&gates[0]).chunk(dialect.reasoning).until(&gates[1]);
        world.upstream("a").answers(answer.chunk(&rest).last_chunk());
        let mut wire = world.open(dialect.route, &dialect.body(model));
        let begun = wire.read_until(|reply| !reply.chunks.is_empty());
        assert_eq!(begun.text(), opening);
        gates[0].open();
        let thought = opening + dialect.reasoning;
        wire.read_until(|reply| reply.text() == thought);
        gates[1].open();
        got(&wire.reply(), &(thought + &rest));
    }
}

/// FC-091: more than 64 KiB without anything meaningful begin the answer as they are.
#[test]
fn fc_091_what_is_held_is_bounded() {
    let world = pair(&CHAT);
    let comments = format!(": {}\n\n", "x".repeat(1_000)).repeat(70);
    let all = comments + &CHAT.complete();
    world.upstream("a").answers(events(&[&all]));
    got(&CHAT.ask(&world, "m"), &all);
    assert_eq!(world.upstream("b").asked(), 0);
}
