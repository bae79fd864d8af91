//! Upstreams that say one thing and send another: what is in an answer counts, not its label, and
//! whatever they do the client is never told that half an answer is a whole one.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Answer, End, Gate, Setup, eventually, within};
use crate::{ALL, CHAT, events, got, open_events, pair};

/// Well before an idle connection is closed anyway.
const SOON: Duration = Duration::from_secs(5);

/// Labels of an answer whose content is another one's.
const LABELS: [&str; 4] = [
    "content-type: application/json\r\n",
    "content-type: text/plain; charset=utf-8\r\n",
    "",
    "content-type: text/html\r\n",
];

/// An event stream under another label, each event in a chunk of its own.
fn labelled(label: &str, events: &[&str]) -> Answer {
    events.iter().fold(Answer::chunked(200, label), |answer, event| answer.chunk(event))
}

#[test]
fn events_are_events_whatever_their_label() {
    for label in LABELS {
        for dialect in ALL {
            let world = pair(dialect);
            let gate = Gate::default();
            let begun = dialect.opening() + dialect.text;
            let rest = dialect.text.to_owned() + &dialect.stop.concat() + dialect.end;
            let answer = labelled(label, &[&dialect.opening(), dialect.text]);
            world.upstream("a").answers(answer.until(&gate).chunk(&rest).last_chunk());
            let mut wire = world.open(dialect.route, &dialect.body("m"));
            let reply = wire.read_until(|reply| reply.body.len() >= begun.len());
            assert_eq!(reply.header("content-type"), Some("text/event-stream"), "{label}");
            gate.open();
            got(&wire.reply(), &(begun + &rest));
        }
    }
}

#[test]
fn an_error_among_events_is_one_whatever_their_label() {
    for label in LABELS {
        for dialect in ALL {
            let world = pair(dialect);
            world.upstream("a").answers(labelled(label, &[&dialect.opening(), dialect.quota]).last_chunk());
            got(&dialect.ask(&world, "m"), &dialect.complete());
        }
    }
}

#[test]
fn a_cut_among_events_is_told_whatever_their_label() {
    for label in LABELS {
        let world = pair(&CHAT);
        world.upstream("a").answers(labelled(label, &[CHAT.text, CHAT.text]).last_chunk());
        let reply = CHAT.ask(&world, "m");
        assert_ne!(reply.end, End::Complete);
        assert!(reply.text().contains("upstream_truncated"), "{label}{}", reply.text());
    }
}

/// Who asked for none gets them as events, and hears of a cut; it was once half an answer under the
/// label of a whole one.
#[test]
fn events_that_nobody_asked_for_are_watched_whatever_their_label() {
    for label in LABELS.into_iter().chain(["content-type: text/event-stream\r\n"]) {
        for dialect in ALL {
            let mut body = dialect.body("m");
            body["stream"] = json!(false);
            let opening = dialect.opening();
            let world = pair(dialect);
            world.upstream("a").answers(labelled(label, &[&dialect.complete()]).last_chunk());
            let reply = world.post(dialect.route, body.clone());
            got(&reply, &dialect.complete());
            assert_eq!(reply.header("content-type"), Some("text/event-stream"), "{label}");
            assert_eq!(world.upstream("b").asked(), 0);

            world.upstream("a").answers(labelled(label, &[&opening, dialect.text]).last_chunk());
            let reply = world.post(dialect.route, body.clone());
            assert_ne!(reply.end, End::Complete, "{label}{}", reply.text());
            assert!(reply.text().contains("upstream_truncated"), "{label}{}", reply.text());

            let world = pair(dialect);
            world.upstream("a").answers(labelled(label, &[&opening, dialect.quota]).last_chunk());
            got(&world.post(dialect.route, body), &dialect.complete());
            assert_eq!(world.upstream("b").asked(), 1);
        }
    }
}

/// No client of a stream would find a word in it.
#[test]
fn json_under_the_label_of_a_stream_is_a_failed_attempt() {
    for dialect in ALL {
        let world = pair(dialect);
        world.upstream("a").answers(
            labelled(
                "content-type: text/event-stream\r\n",
                &["{\"choices\":[{\"message\":{\"content\":\"x\"}}]}"],
            )
            .last_chunk(),
        );
        got(&dialect.ask(&world, "m"), &dialect.complete());
    }
}

/// FC-001: an error of JSON under the label of a stream says what went wrong.
#[test]
fn fc_001_an_error_under_the_label_of_a_stream_is_read() {
    for (dialect, ends) in
        ALL.into_iter().flat_map(|dialect| [(dialect, ""), (dialect, "\n"), (dialect, "\n\n")])
    {
        let world = Setup::new().provider("a", 1).start();
        let error = "{\"error\":{\"code\":\"insufficient_quota\",\"type\":\"insufficient_quota\",\"message\":\"no more\"}}";
        let answer = labelled("content-type: text/event-stream\r\n", &[&(error.to_owned() + ends)]);
        world.upstream("a").answers(answer.last_chunk());
        let reply = dialect.ask(&world, "a/x");
        assert_eq!((reply.status, reply.end), (429, End::Complete), "{}", reply.text());
        assert_eq!(reply.json()["error"]["message"], "no more");
    }
}

#[test]
fn a_page_is_no_answer_whatever_its_label() {
    for label in ["content-type: text/html\r\n", "content-type: text/event-stream\r\n"] {
        for dialect in ALL {
            let page = "<!doctype html>\n<html>\n\n<body>502: data: none</body>\n</html>\n";
            let world = pair(dialect);
            world.upstream("a").answers(labelled(label, &[page]).last_chunk());
            got(&dialect.ask(&world, "m"), &dialect.complete());
        }
    }
}

/// What a stream of chat may hold beside plain text.
#[test]
fn odd_answers_are_answers() {
    let choice = |index: u8, rest: &str| {
        format!("data: {{\"id\":\"1\",\"choices\":[{{\"index\":{index},{rest}}}]}}\n\n")
    };
    let tool = choice(
        0,
        "\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\"}}]},\"finish_reason\":null",
    );
    let refusal = choice(0, "\"delta\":{\"content\":null,\"refusal\":\"no\"},\"finish_reason\":null");
    let audio = choice(0, "\"delta\":{\"audio\":{\"data\":\"AAAA\"}},\"finish_reason\":null");
    let stop = |index| choice(index, "\"delta\":{},\"finish_reason\":\"stop\"");
    let usage =
        "data: {\"id\":\"1\",\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\n";
    let text = |index| choice(index, "\"delta\":{\"content\":\"x\"},\"finish_reason\":null");
    for all in [
        [&tool, &choice(0, "\"delta\":{},\"finish_reason\":\"tool_calls\""), CHAT.end].concat(),
        [&refusal, &stop(0), CHAT.end].concat(),
        [&audio, &stop(0), CHAT.end].concat(),
        [&text(0), &stop(0), usage, CHAT.end].concat(),
        [&text(0), &stop(0), usage].concat(),
        [&text(0), &text(1), &stop(1), &text(0), &stop(0), CHAT.end].concat(),
        [&text(0), &stop(0), &stop(0), CHAT.end].concat(),
        ["\u{feff}", &text(0), CHAT.end].concat(),
    ] {
        let world = pair(&CHAT);
        world.upstream("a").answers(events(&[&all]));
        got(&CHAT.ask(&world, "m"), &all);
    }
    let half = [text(0), text(1), stop(1)].concat();
    for cut in [tool, refusal, audio, choice(0, "\"delta\":{\"reasoning_content\":\"hm\"}"), half] {
        let world = pair(&CHAT);
        world.upstream("a").answers(events(&[&cut]));
        let reply = CHAT.ask(&world, "m");
        assert!(
            reply.end != End::Complete && reply.text().contains("upstream_truncated"),
            "{}",
            reply.text()
        );
    }
}

/// A client that reads events would find none, and no error.
#[test]
fn a_whole_answer_is_none_to_who_asked_for_a_stream() {
    let whole = [
        "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}",
        "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"stop_reason\":\"end_turn\"}",
        "{\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"x\"}]}]}",
    ];
    for (dialect, whole) in ALL.into_iter().zip(whole) {
        let world = pair(dialect);
        world.upstream("a").answers(Answer::json(200, whole));
        got(&dialect.ask(&world, "m"), &dialect.complete());
        let world = Setup::new().provider("a", 1).start();
        world.upstream("a").answers(Answer::json(200, whole));
        dialect.ask(&world, "a/x").is_error(502, "bad_gateway");
        world.order("connection", "a-1", json!({"message": "reset"}));
        got(&world.post(dialect.route, json!({"model": "a/x", "max_tokens": 9})), whole);
    }
}

/// An error with a piece of the answer beside it.
#[test]
fn an_error_beside_content_is_an_error() {
    let both = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}],\"error\":{\"code\":\"insufficient_quota\",\"message\":\"no more\"}}\n\n";
    let world = pair(&CHAT);
    world.upstream("a").answers(events(&[both, CHAT.end]));
    got(&CHAT.ask(&world, "m"), &CHAT.complete());
    world.upstream("a").answers(events(&[CHAT.text, both, CHAT.end]));
    world.order("connection", "a-1", json!({"message": "reset"}));
    let reply = CHAT.ask(&world, "m");
    assert_eq!(reply.text(), CHAT.text.to_owned() + both);
    assert_ne!(reply.end, End::Complete);
}

#[test]
fn a_head_and_then_a_reset_is_a_failed_attempt() {
    for dialect in ALL {
        let world = pair(dialect);
        world.upstream("a").answers(open_events(&[]).resets());
        got(&dialect.ask(&world, "m"), &dialect.complete());
    }
}

/// A stated length of a stream is believed, and none is passed on.
#[test]
fn a_stream_with_a_length() {
    let label = "content-type: text/event-stream\r\n";
    for dialect in ALL {
        let all = dialect.complete();
        let world = Setup::new().provider("a", 1).start();
        world.upstream("a").answers(Answer::sized(200, label, &all));
        let reply = dialect.ask(&world, "a/x");
        got(&reply, &all);
        assert_eq!(reply.header("content-length"), None);
        let half = dialect.opening() + dialect.text;
        world.upstream("a").answers(Answer::lying(200, label, all.len(), &half).closes());
        let reply = dialect.ask(&world, "a/x");
        assert!(
            reply.end != End::Complete && reply.text().contains("upstream_truncated"),
            "{}",
            reply.text()
        );
    }
}

/// Nobody asked for a stream: what is one is relayed and supervised as one.
#[test]
fn a_stream_that_nobody_asked_for() {
    for dialect in ALL {
        let world = pair(dialect);
        let body = json!({"model": "m", "max_tokens": 9});
        world.upstream("a").answers(events(&[&dialect.opening(), dialect.quota]));
        got(&world.post(dialect.route, body.clone()), &dialect.complete());
        world.upstream("b").answers(events(&[&dialect.opening(), dialect.text]));
        let reply = world.post(dialect.route, body);
        assert!(
            reply.end != End::Complete && reply.text().contains("upstream_truncated"),
            "{}",
            reply.text()
        );
    }
}

/// FC-083: whoever sends on behind his own end is not trusted with another request.
#[test]
fn fc_083_a_connection_with_bytes_behind_the_end_is_not_used_again() {
    let all = CHAT.complete();
    for more in [CHAT.text, ": ping\n\n"] {
        for parts in [vec![all.clone() + more], vec![all.clone(), more.to_owned()]] {
            let world = Setup::new().provider("a", 1).start();
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            world.upstream("a").answers(events(&parts));
            got(&CHAT.ask(&world, "a/x"), &all);
            within(SOON, "it is closed", || world.upstream("a").closed() == 1);
        }
    }
    // A line end more is no word.
    let world = Setup::new().provider("a", 1).start();
    world.upstream("a").answers(events(&[&(all.clone() + "\n")]));
    for _ in 0..2 {
        got(&CHAT.ask(&world, "a/x"), &all);
        eventually("the slot is free", || world.in_flight("a-1") == 0);
    }
    assert_eq!(world.upstream("a").connections(), 1);
}

/// A long answer that is not streamed goes out before it is whole; it may not keep its slot for ever.
#[test]
fn a_long_answer_that_stops_is_ended() {
    let keys = "format = \"openai\"\ntimeouts = { first_byte = \"400ms\" }";
    let world = Setup::new().provider_with("a", 1, keys).start();
    let body = format!("{{\"choices\":[{{\"message\":{{\"content\":\"{}\"", "x".repeat(1_200_000));
    world
        .upstream("a")
        .answers(Answer::lying(200, "content-type: application/json\r\n", 2_000_000, body).hangs());
    let reply = world.post(CHAT.route, json!({"model": "a/x"}));
    assert_eq!((reply.status, reply.end), (200, End::Closed));
    eventually("the slot is free", || world.in_flight("a-1") == 0);
    eventually("the vendor is told", || world.upstream("a").closed() == 1);
}

/// Nothing of ours looks like an answer: neither the last frame of a stream nor a body.
#[test]
fn fc_086_no_text_of_ours_is_the_assistants() {
    let is_ours = |text: &str, all: &str| {
        let ours: Value = serde_json::from_str(text.trim()).unwrap_or_else(|error| panic!("{error}: {all}"));
        assert!(ours["error"]["message"].is_string() && ours["error"]["code"].is_string(), "{all}");
        for word in ["choices", "delta", "content", "content_block", "output", "response"] {
            assert!(ours.get(word).is_none(), "{word}: {all}");
        }
    };
    for dialect in ALL {
        let text = dialect.opening() + dialect.text;
        let thought = dialect.reasoning.to_owned() + &dialect.stop.concat() + dialect.end;
        for broken in [text, thought] {
            let world = Setup::new().provider("a", 1).start();
            world.upstream("a").answers(events(&[&broken]));
            let all = dialect.ask(&world, "a/x").text();
            is_ours(all.rsplit("data: ").next().unwrap(), &all);
        }
        let world = Setup::new().provider("a", 1).start();
        world.upstream("a").answers(Answer::json(200, "{}"));
        let reply = world.post(dialect.route, json!({"model": "a/x", "max_tokens": 9}));
        reply.is_error(502, "empty_response");
        is_ours(&reply.text(), &reply.text());
    }
    let world = Setup::new().provider("a", 1).start();
    world.upstream("a").answers(Answer::json(200, "{\"choices\":[]}"));
    world.post(CHAT.route, json!({"model": "a/x"})).is_error(502, "empty_response");
}
