//! Heads that the client library would not understand: interim ones, and those of bodies that
//! only end with their connection (RFC 9112 6.3, RFC 9110 15.2).

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::support::{Answer, End, Gate, Reply, Setup, World, eventually};
use crate::tls::{Ending, provider, trusted, vendor};

const JSON: &str = "content-type: application/json\r\n";
const EVENTS: &str = "content-type: text/event-stream\r\n";
const BODY: &str = r#"{"choices":[{"message":{"content":"a"}}]}"#;
const ERROR: &str = r#"{"error":{"message":"no such parameter"}}"#;
const EVENT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn world() -> World {
    Setup::new().provider("a", 1).start()
}

fn told(reply: &Reply) -> (u16, String, End) {
    (reply.status, reply.text(), reply.end)
}

#[test]
fn a_body_that_ends_with_its_connection_arrives_whole() {
    let pause = Duration::from_millis(1);
    for headers in
        ["", "connection: close\r\n", "connection: keep-alive\r\n", "transfer-encoding: identity\r\n"]
    {
        for of in [3, 41, 1000] {
            let world = world();
            let sent = format!("HTTP/1.1 200 OK\r\n{JSON}{headers}\r\n{BODY}");
            let parts = sent.as_bytes().chunks(of);
            let answer = parts.fold(Answer::nothing(), |answer, part| answer.send(part).pauses(pause));
            world.upstream("a").answers(Answer::good("a")).answers_first([answer.closes()]);
            assert_eq!(told(&world.ask("a/x")), (200, BODY.into(), End::Complete), "{headers} {of}");
            world.ask("a/x").served_by("a");
            assert_eq!(world.upstream("a").connections(), 2, "it is not used again");
            assert_eq!(world.failures("a"), 0);
        }
    }
}

#[test]
fn a_stream_that_ends_with_its_connection_is_relayed_as_it_comes() {
    let (world, gate) = (world(), Gate::default());
    let answer = Answer::raw(format!("HTTP/1.1 200 OK\r\n{EVENTS}connection: close\r\n\r\n")).send(EVENT);
    world.upstream("a").answers(answer.until(&gate).send(DONE).closes());
    let mut wire = world.open("/v1/chat/completions", &serde_json::json!({"model": "a/x", "stream": true}));
    let begun = wire.read_until(|reply| !reply.chunks.is_empty());
    assert_eq!(begun.text(), EVENT);
    gate.open();
    assert_eq!(told(&wire.reply()), (200, format!("{EVENT}{DONE}"), End::Complete));
}

/// Decisions 9a, 20: the end of the connection is no end of what has one of its own.
#[test]
fn a_body_that_ends_with_its_connection_is_whole_only_if_it_says_so_itself() {
    let (begins, ends) = BODY.split_at(9);
    let rows = [
        (JSON, begins.to_owned(), false),
        (JSON, format!("{begins}{ends}"), true),
        (EVENTS, EVENT.to_owned(), true),
        (EVENTS, format!("{EVENT}{DONE}"), true),
    ];
    for (headers, body, fin_is_enough) in rows {
        for resets in [false, true] {
            let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
            let answer = Answer::raw(format!("HTTP/1.1 200 OK\r\n{headers}\r\n{body}"));
            let answer = answer.pauses(Duration::from_millis(50));
            let answer = if resets { answer.resets() } else { answer.closes() };
            world.upstream("a").answers(answer);
            world.upstream("b").answers(Answer::good("b"));
            if headers == JSON {
                let reply = world.ask("m");
                assert_eq!(reply.end, End::Complete);
                assert_eq!(reply.text() == BODY, fin_is_enough && !resets, "{}", reply.text());
                assert_eq!(world.upstream("b").asked(), usize::from(reply.text() != BODY));
                continue;
            }
            let reply = world.ask_streamed("m");
            let is_whole = body.ends_with(DONE);
            assert_eq!(reply.end == End::Complete, is_whole, "{}", reply.text());
            assert_eq!(reply.text().contains("upstream_truncated"), !is_whole, "{}", reply.text());
            eventually("a cut is counted", || world.failures("a") == u64::from(!is_whole));
        }
    }
}

/// Behind TLS an end without a close_notify is no better than a FIN, and no worse.
#[test]
fn a_body_that_ends_with_its_connection_behind_tls_is_whole_only_if_it_says_so_itself() {
    const WHOLE: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"served_by\":\"secure\"}";
    const CUT: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"served_by\":\"secure\"";
    for ending in [Ending::Notified, Ending::Abrupt] {
        for (says, status) in [(WHOLE, 200), (CUT, 502)] {
            let address = vendor(TcpListener::bind("127.0.0.1:0").unwrap(), says, ending);
            let base = format!("https://{address}");
            let world = Setup::new().section(&trusted()).section(&provider(&base)).start();
            assert_eq!(world.ask("s/x").status, status);
        }
    }
}

/// Decision 9a: longer ones commit before they are whole, and are whole only if they are closed.
#[test]
fn a_long_answer_is_complete_only_if_its_json_is_closed() {
    let open = format!(r#"{{"text":"{}","more":["#, "}\\\"".repeat(500_000));
    for (ends, is_whole) in [("]}\n", true), ("]", false)] {
        let body = format!("{open}{ends}");
        let bare = Answer::raw(format!("HTTP/1.1 200 OK\r\n{JSON}\r\n{body}")).closes();
        for answer in [bare, Answer::chunked(200, JSON).chunk(&body).last_chunk()] {
            let world = world();
            world.upstream("a").answers(answer);
            let reply = world.ask("a/x");
            // What is not flushed yet goes with an abnormal end.
            assert!(reply.status == 200 && body.starts_with(&reply.text()), "{} bytes", reply.body.len());
            assert_eq!(reply.end == End::Complete, is_whole);
            assert!(reply.text() == body || !is_whole);
            eventually("a cut is counted", || world.failures("a") == u64::from(!is_whole));
        }
    }
}

#[test]
fn an_error_that_ends_with_its_connection_keeps_its_body() {
    for headers in ["", "connection: close\r\n"] {
        let world = world();
        let head = format!("HTTP/1.1 400 Bad Request\r\n{JSON}{headers}\r\n");
        world.upstream("a").answers(Answer::raw(head).pauses(Duration::from_millis(20)).send(ERROR).closes());
        assert_eq!(told(&world.ask("a/x")), (400, ERROR.into(), End::Complete));
    }
}

/// Its status is known, so nobody waits for long.
#[test]
fn an_error_without_a_length_and_without_an_end_is_told_all_the_same() {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
    let head = format!("HTTP/1.1 503 Unavailable\r\n{JSON}\r\n");
    world.upstream("a").answers(Answer::raw(head).hangs());
    let asked = Instant::now();
    world.ask("m").served_by("b");
    assert!((1..10).contains(&asked.elapsed().as_secs()), "{:?}", asked.elapsed());
    eventually("its connection is closed", || world.upstream("a").closed() == 1);
}

#[test]
fn interim_heads_are_not_the_answer() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n";
    let good = format!("HTTP/1.1 200 OK\r\n{JSON}content-length: {}\r\n\r\n{BODY}", BODY.len());
    let pause = Duration::from_millis(20);
    let rows = [
        ("in one write", Answer::raw(format!("{interim}{good}"))),
        ("apart", Answer::raw(interim).pauses(pause).send(good.as_str())),
        ("cut anywhere", {
            let whole = format!("{interim}{good}");
            let parts = whole.as_bytes().chunks(7);
            parts.fold(Answer::nothing(), |answer, part| answer.send(part).pauses(Duration::from_millis(1)))
        }),
    ];
    for (name, answer) in rows {
        let world = world();
        world.upstream("a").answers(answer);
        for _ in 0..2 {
            assert_eq!(told(&world.ask("a/x")), (200, BODY.into(), End::Complete), "{name}");
        }
        assert_eq!(world.upstream("a").connections(), 1, "{name}: it is used again");
    }
}

/// Neither an answer in the middle of our body (decision 9c), nor the answer.
#[test]
fn an_interim_head_that_comes_before_the_body_is_out_is_not_the_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let body = format!(r#"{{"model":"s/x","x":"{}"}}"#, "y".repeat(20 * 1024 * 1024));
    let serving = std::thread::spawn(move || {
        let (mut stream, mut piece) = (listener.accept().unwrap().0, vec![0; 65_536]);
        let mut count = stream.read(&mut piece).unwrap();
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
        while !piece[..count].ends_with(b"\"}") {
            count = stream.read(&mut piece).unwrap();
        }
        let good = format!("HTTP/1.1 200 OK\r\n{JSON}\r\n{BODY}");
        stream.write_all(good.as_bytes()).unwrap();
    });
    let world = Setup::new().section(&provider(&base)).start();
    let reply = crate::support::post(world.address, "/v1/chat/completions", "", body.as_bytes());
    assert_eq!(told(&reply), (200, BODY.into(), End::Complete));
    serving.join().unwrap();
}

/// An interim head promises nothing.
#[test]
fn a_connection_that_ends_behind_an_interim_head_is_a_failure() {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
    for cut in ["HTTP/1.1 103 Early Hints\r\n\r\n", "HTTP/1.1 103 Early", "HTTP/1.1 200 OK\r\nx: y\r\n"] {
        let before = world.failures("a");
        world.upstream("a").answers(Answer::raw(cut).closes());
        world.ask("m").served_by("b");
        eventually("it is counted", || world.failures("a") == before + 1);
        assert_eq!(world.order("connection", "a-1", serde_json::json!({"message": "reset"})).status, 200);
    }
}

/// RFC 9110 15.3.5, 15.4.5: by its status there is no body, so nobody waits for it.
#[test]
fn an_answer_of_no_body_is_over_with_its_head() {
    let lengths = ["HTTP/1.0 204 No Content\r\n\r\n", "HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n"];
    let chunked = ["HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n"];
    let unchanged =
        ["HTTP/1.0 304 Not Modified\r\n\r\n", "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n"];
    for head in lengths.into_iter().chain(chunked).chain(unchanged) {
        let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
        world.upstream("a").answers(Answer::raw(head).hangs());
        let asked = Instant::now();
        world.ask("m").served_by("b");
        assert!(asked.elapsed() < Duration::from_millis(1_500), "{head}");
        eventually("its connection is closed", || world.upstream("a").closed() == 1);
    }
}
