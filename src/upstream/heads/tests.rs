//! What a look finds, and that no cut changes what the client gets.

use std::io;
use std::task::{Context, Poll, Waker};

use tokio::io::ReadBuf;

use super::{Heads, LONGEST, Look, look};

fn looked(head: &str) -> (Look, String) {
    let mut bytes = head.as_bytes().to_vec();
    let look = look(&mut bytes);
    (look, String::from_utf8(bytes).unwrap())
}

#[test]
fn a_head_without_a_length_is_shown_as_http_1_0() {
    let rows = [
        ("200 OK\r\n", true),
        ("200 OK\r\nx-content-length: 5\r\ncontent-lengths: 5\r\ntrailer: content-length:\r\n", true),
        ("200 OK\nserver: x\n", true),
        ("200 OK\r\ntransfer-encoding: identity\r\n", true),
        ("200\r\n", true),
        ("503 Unavailable\r\n", true),
        ("503 Unavailable\r\nconnection: keep-alive\r\n", true),
        ("302 Found\r\nlocation: /\r\n", true),
        ("200 OK\r\nContent-Length: 5\r\n", false),
        ("200 OK\r\ncontent-length \t:5\r\n", false),
        ("200 OK\r\ntransfer-encoding:chunked\r\n", false),
        ("200 OK\r\ntransfer-encoding: identity\r\ncontent-length: 5\r\n", false),
        ("204 No Content\r\ncontent-length: 0\r\n", false),
        ("101 Switching Protocols\r\n", false),
        ("429 Slow\r\nconnection: close\r\ncontent-length: 2\r\n", false),
    ];
    for (lines, is_old) in rows {
        for blanks in ["", "\r\n", "\n\r\n"] {
            let (look, shown) = looked(&format!("{blanks}HTTP/1.1 {lines}\r\nHTTP/1.1 is text"));
            assert_eq!(look, Look::Final, "{lines}");
            let version = if is_old { "HTTP/1.0" } else { "HTTP/1.1" };
            assert_eq!(shown, format!("{blanks}{version} {lines}\r\nHTTP/1.1 is text"));
        }
    }
}

#[test]
fn heads_of_no_answer_and_of_no_body_are_told() {
    for status in [100, 102, 103, 199] {
        let head = format!("\r\nHTTP/1.1 {status} Wait\r\nlink: </x>\r\ncontent-length: 5\r\n\r\n");
        assert_eq!(looked(&format!("{head}HTTP/1.1 200 OK\r\n")).0, Look::Interim(head.len()));
    }
    for status in [204, 304] {
        let head = format!("HTTP/1.1 {status} Nothing\r\nconnection: close\r\n\r\n{{}}");
        assert_eq!(looked(&head), (Look::Bare, head));
    }
}

#[test]
fn what_cannot_become_a_head_is_the_clients() {
    let long = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(LONGEST));
    let blanks = "\r\n".repeat(LONGEST);
    for text in ["SSH-2.0\r\n", "HTTP/1.0 200 OK\r\n", "HTTP/2", "{", " ", &long, &blanks] {
        assert_eq!(looked(text), (Look::Final, text.into()));
    }
    for text in ["", "H", "\r\nHTTP/1.1", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nx: y\r\n\r"] {
        assert_eq!(looked(text), (Look::Partial, text.into()));
    }
}

/// What a client gets that asked once and has room for so much at a time; the connection ends
/// behind the parts, and is quiet before each.
fn got(parts: &[&[u8]], mut room: impl FnMut() -> usize) -> Vec<u8> {
    let mut parts = parts.iter();
    let (mut current, mut quiet): (&[u8], bool) = (&[], true);
    let (mut heads, mut got) = (Heads::default(), Vec::new());
    heads.expect();
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        let mut bytes = vec![0; room()];
        let mut buffer = ReadBuf::new(&mut bytes);
        let mut asked_last = None;
        let read = heads.read(&mut cx, &mut buffer, |_, buffer| {
            let polled = if !current.is_empty() {
                let count = current.len().min(buffer.remaining());
                buffer.put_slice(&current[..count]);
                current = &current[count..];
                Poll::Ready(Ok(()))
            } else if std::mem::take(&mut quiet) {
                Poll::Pending
            } else {
                quiet = true;
                match parts.next() {
                    Some(part) => {
                        assert!(!part.is_empty());
                        let count = part.len().min(buffer.remaining());
                        buffer.put_slice(&part[..count]);
                        current = &part[count..];
                        Poll::Ready(Ok(()))
                    }
                    None => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                }
            };
            asked_last = Some(polled.is_pending());
            polled
        });
        match read {
            // Whoever waits is woken by the connection, so it was asked last.
            Poll::Pending => assert_eq!(asked_last, Some(true)),
            Poll::Ready(Ok(())) => {
                assert!(!buffer.filled().is_empty(), "an end that none was");
                got.extend_from_slice(buffer.filled());
            }
            Poll::Ready(Err(_)) => return got,
        }
    }
}

const INTERIM: &str = "HTTP/1.1 100 Continue\r\n\r\n\r\nHTTP/1.1 103 Hints\r\nlink: </x>\r\n\r\n";

/// What is sent, and what the client sees.
fn exchanges() -> Vec<(String, String)> {
    let body = "{\"text\":\"HTTP/1.1 100 Continue\r\n\r\n\"}\n\n";
    let rest = ["200 OK\r\nserver: x\r\n\r\n", "503 Busy\r\n\r\n"]
        .map(|rest| (format!("HTTP/1.1 {rest}{body}"), format!("HTTP/1.0 {rest}{body}")));
    let framed = format!("HTTP/1.1 200 OK\r\nx: y\r\nContent-Length: 38\r\n\r\n{body}");
    let bare = "HTTP/1.1 204 No Content\r\nx: y\r\n\r\n".to_owned();
    let finals = [rest[0].clone(), rest[1].clone(), (framed.clone(), framed), (bare.clone(), bare)];
    let before = ["", INTERIM, "\r\n"].map(|before| (before, before.replace(INTERIM, "")));
    let pairs = before.into_iter().flat_map(|(sent, seen)| {
        finals.clone().map(|(answer, shown)| (format!("{sent}{answer}"), format!("{seen}{shown}")))
    });
    pairs.collect()
}

#[test]
fn one_cut_anywhere_changes_nothing() {
    for (sent, seen) in exchanges() {
        for cut in 1..sent.len() {
            let (one, two) = sent.as_bytes().split_at(cut);
            assert_eq!(String::from_utf8(got(&[one, two], || 8192)).unwrap(), seen, "cut at {cut}");
        }
    }
}

/// Numbers from one on, always the same.
fn wheel(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |most| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 + (seed >> 33) as usize % most
    }
}

#[test]
fn cuts_and_room_anywhere_change_nothing() {
    let mut roll = wheel(9112);
    for (sent, seen) in exchanges() {
        for _ in 0..300 {
            let (mut parts, mut left, longest) = (Vec::new(), sent.as_bytes(), roll(40));
            while !left.is_empty() {
                let (part, rest) = left.split_at(left.len().min(roll(longest)));
                parts.push(part);
                left = rest;
            }
            let shown = got(&parts, || roll(longest));
            assert_eq!(String::from_utf8(shown).unwrap(), seen, "{parts:?}");
        }
    }
}

/// A body behind a 204, or anything else there, is no later request's answer.
#[test]
fn nothing_is_read_behind_a_head_of_no_body() {
    for status in ["204 No Content", "304 Not Modified"] {
        let head = format!("HTTP/1.1 {status}\r\n\r\n");
        let shown = got(&[head.as_bytes(), b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"], || 8192);
        assert_eq!(String::from_utf8(shown).unwrap(), head);
    }
}

#[test]
fn a_head_that_never_ends_is_given_to_the_client() {
    let line = format!("x: {}\r\n", "y".repeat(997));
    let mut parts = vec![b"HTTP/1.1 200 OK\r\n".as_slice()];
    parts.resize(140, line.as_bytes());
    let given = got(&parts, || 8192);
    assert_eq!(given, parts.concat());
}
