//! After the first byte: complete, failed, truncated, and nothing invented (decision 20; FC-003,
//! FC-025, FC-026, FC-082, FC-083).

use std::time::Duration;

use crate::support::{Answer, End, Gate, Setup, World, eventually, within};
use crate::{ALL, CHAT, Dialect, events, got, open_events, pair};

/// The reply is `text`, then one error frame with `code`, and not complete.
#[track_caller]
fn failed(reply: &crate::support::Reply, dialect: &Dialect, text: &str, code: &str) {
    assert_ne!(reply.end, End::Complete, "{}", reply.text());
    let all = reply.text();
    let error = all.strip_prefix(text).unwrap_or_else(|| panic!("{all}"));
    assert!(error.contains(&format!("\"code\":\"{code}\"")), "{error}");
    assert_eq!(error.matches("data: ").count(), 1, "one error frame: {error}");
    assert!(!all.contains(dialect.end.trim()), "no end marker: {all}");
}

/// A world with `a` alone before `b`, whose answer this is.
fn answered(dialect: &Dialect, answer: Answer) -> (World, crate::support::Reply) {
    let world = pair(dialect);
    world.upstream("a").answers(answer);
    let reply = dialect.ask(&world, "m");
    assert_eq!(world.upstream("b").asked(), 0, "nobody else is asked after the first byte");
    assert_eq!(world.upstream("a").asked(), 1);
    (world, reply)
}

#[test]
fn fc_003_iii_a_proper_end_without_an_end_marker_is_truncated() {
    for dialect in ALL {
        let text = dialect.opening() + &dialect.text.repeat(3);
        let (world, reply) = answered(dialect, events(&[&text]));
        failed(&reply, dialect, &text, "upstream_truncated");
        eventually("one failure is recorded", || world.failures("a") == 1);
        eventually("the slot is free", || world.in_flight("a-1") == 0);
    }
}

/// A cut leaves no half event with the client.
#[test]
fn a_cut_in_the_middle_of_an_event_keeps_that_event_back() {
    for dialect in ALL {
        let text = dialect.opening() + dialect.text;
        let (half, _) = dialect.text.split_at(40);
        let (_, reply) = answered(dialect, events(&[&text, half]));
        failed(&reply, dialect, &text, "upstream_truncated");
        let (_, reply) = answered(dialect, open_events(&[&text, half]).resets());
        failed(&reply, dialect, &text, "upstream_truncated");
    }
}

#[test]
fn an_error_in_the_middle_of_a_stream_passes_as_it_is_and_is_no_good_end() {
    for dialect in ALL {
        let text = dialect.opening() + dialect.text;
        let error = dialect.overloaded.0;
        let (world, reply) = answered(dialect, events(&[&text, error, dialect.text, dialect.end]));
        assert_eq!(reply.text(), text.clone() + error);
        assert_ne!(reply.end, End::Complete);
        eventually("the slot is free", || world.in_flight("a-1") == 0);
    }
}

/// Decision 21: its reader has nothing.
#[test]
fn decision_21_reasoning_alone_is_told_as_empty() {
    for dialect in ALL {
        let text = dialect.opening() + dialect.reasoning;
        let end = dialect.stop.concat() + dialect.end;
        let (_, reply) = answered(dialect, events(&[&text, &end]));
        failed(&reply, dialect, &(text + &dialect.stop.concat()), "empty_response");
    }
}

/// FC-083: the marker once, what follows it belongs to nobody, and the connection is not used again.
#[test]
fn fc_083_what_follows_the_end_is_not_relayed() {
    for dialect in ALL {
        let world = Setup::new().provider("a", 1).start();
        let all = dialect.complete();
        let more = dialect.text.to_owned() + dialect.end;
        world.upstream("a").answers(events(&[&all, &more]));
        got(&dialect.ask(&world, "a/x"), &all);
        let one = all.clone() + &more;
        world.upstream("a").answers(events(&[&one]));
        got(&dialect.ask(&world, "a/x"), &all);
    }
}

/// Contract 8: an upstream that ends soon after its answer keeps its connection, one that does not
/// loses it, and the client waits for neither.
#[test]
fn contract_8_the_upstreams_end_is_awaited_for_a_moment() {
    for (ends, connections) in [(true, 1), (false, 2)] {
        let world = Setup::new().provider("a", 1).start();
        let answer = open_events(&[&CHAT.complete()]);
        let answer = if ends { answer.last_chunk() } else { answer.hangs() };
        world.upstream("a").answers(answer);
        got(&CHAT.ask(&world, "a/x"), &CHAT.complete());
        eventually("the slot is free", || world.in_flight("a-1") == 0);
        if !ends {
            within(Duration::from_secs(2), "it is closed", || world.upstream("a").closed() == 1);
        }
        world.upstream("a").answers(events(&[&CHAT.complete()]));
        got(&CHAT.ask(&world, "a/x"), &CHAT.complete());
        assert_eq!(world.upstream("a").connections(), connections, "it ends: {ends}");
    }
}

/// FC-083: `[DONE]` without a finish reason, and without its blank.
#[test]
fn fc_083_done_is_enough() {
    for end in ["data: [DONE]\n\n", "data:[DONE]\n\n", "data: [DONE]\r\n\r\n", "data: [DONE]"] {
        let world = Setup::new().provider("a", 1).start();
        let all = CHAT.text.to_owned() + end;
        world.upstream("a").answers(events(&[&all]));
        let reply = CHAT.ask(&world, "a/x");
        got(&reply, &if all.ends_with('\n') { all } else { all + "\n\n" });
    }
}

/// A chat answer may end with its finish reason: no `[DONE]` is invented (decision 20).
#[test]
fn decision_20_no_end_marker_is_invented() {
    let world = Setup::new().provider("a", 1).start();
    let all = CHAT.opening() + CHAT.text + &CHAT.stop.concat();
    world.upstream("a").answers(events(&[&all]));
    got(&CHAT.ask(&world, "a/x"), &all);
}

/// FC-082: the last event without its blank line is honoured if it is whole.
#[test]
fn fc_082_a_last_event_without_a_blank_line_counts() {
    for dialect in ALL {
        let world = Setup::new().provider("a", 1).start();
        let all = dialect.complete();
        world.upstream("a").answers(events(&[all.strip_suffix("\n\n").unwrap()]));
        got(&dialect.ask(&world, "a/x"), &all);
    }
}

/// FC-025, FC-026: any cut, any line end, the same bytes.
#[test]
fn fc_025_fc_026_cuts_and_line_ends_change_nothing() {
    for dialect in ALL {
        let complete = dialect.complete();
        for ends in ["\n", "\r\n", "\r"] {
            let all = complete.replace('\n', ends);
            let world = Setup::new().provider("a", 1).start();
            let bytes: Vec<&[u8]> = all.as_bytes().chunks(1).collect();
            let answer = bytes.iter().fold(Answer::stream(), Answer::chunk);
            world.upstream("a").answers(answer.last_chunk());
            // A CR ends the last line; what would come behind it is awaited no longer.
            let expected = if ends == "\r\n" { all.strip_suffix('\n').unwrap() } else { &all };
            got(&dialect.ask(&world, "a/x"), expected);
        }
    }
}

/// Invalid UTF-8 is the model's affair.
#[test]
fn fc_025_invalid_utf_8_passes_unchanged() {
    let world = Setup::new().provider("a", 1).start();
    let mut bytes = b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\"}}]}\n\n".to_vec();
    bytes.extend_from_slice(b"data: [DONE]\n\n");
    world.upstream("a").answers(Answer::stream().chunk(&bytes).last_chunk());
    let reply = CHAT.ask(&world, "a/x");
    assert_eq!((reply.status, reply.end, reply.body), (200, End::Complete, bytes));
}

/// A typed keep-alive reaches the client as a comment (contract 8).
#[test]
fn contract_8_a_typed_keep_alive_becomes_a_comment() {
    let world = Setup::new().provider("a", 1).start();
    let alive = "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":3}\n\n";
    let gate = Gate::default();
    let rest = CHAT.text.to_owned() + CHAT.end;
    world.upstream("a").answers(open_events(&[CHAT.text, alive]).until(&gate).chunk(&rest).last_chunk());
    let mut wire = world.open(CHAT.route, &CHAT.body("a/x"));
    let text = wire.read_until(|reply| reply.text().contains("alive")).text();
    gate.open();
    let comment = text.strip_prefix(CHAT.text).unwrap();
    assert!(comment.starts_with(':') && comment.ends_with("\n\n") && !comment.contains("data"), "{comment}");
    got(&wire.reply(), &(text + &rest));
}
