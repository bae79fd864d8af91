//! FC-113: bodies are framed once and rightly on both sides, and what belongs to one
//! connection never crosses to another.

use serde_json::json;

use super::{CHAT, ROUTES};
use crate::support::{Answer, End, Setup, Wire, World};

/// Names longer and shorter than the model they stand for.
fn world() -> World {
    Setup::new()
        .provider("a", 1)
        .combo("m", &["a"])
        .combo("a-much-longer-name-than-the-model", &["a"])
        .start()
}

fn head(path: &str, headers: &str) -> Vec<u8> {
    format!("POST {path} HTTP/1.1\r\nhost: s\r\n{headers}\r\n").into_bytes()
}

#[test]
fn fc_113_a_vendor_gets_one_length_that_is_right_however_the_client_framed_it() {
    let world = world();
    for path in ROUTES {
        for model in ["m", "a-much-longer-name-than-the-model", "a/a-model-of-many-letters"] {
            let body = format!(r#"{{"model":"{model}","stream":false}}"#);
            let sized = head(path, &format!("content-length: {}\r\n", body.len()));
            let chunked = head(path, "transfer-encoding: chunked\r\n");
            let chunks =
                format!("3\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n", &body[..3], body.len() - 3, &body[3..]);
            for request in
                [[sized, body.clone().into_bytes()].concat(), [chunked, chunks.into_bytes()].concat()]
            {
                let mut wire = Wire::open(world.address);
                wire.send(&request);
                wire.reply().served_by("a");
                let got = world.upstream("a").requests().pop().unwrap();
                let upstream = model.strip_prefix("a/").unwrap_or("x");
                let expected = format!(r#"{{"model":"{upstream}","stream":false}}"#);
                assert_eq!(String::from_utf8(got.body.clone()).unwrap(), expected);
                assert_eq!(got.headers("content-length"), [got.body.len().to_string()], "{}", got.head);
                assert_eq!(got.headers("transfer-encoding"), [""; 0], "{}", got.head);
            }
        }
    }
    // A byte too many or too few, and the next request on the connection would have been misread.
    assert_eq!(world.upstream("a").connections(), 1);
}

#[test]
fn fc_113_what_is_framed_twice_or_wrongly_is_refused_and_its_connection_closed() {
    let world = world();
    let body = r#"{"model":"m"}"#;
    let chunks = "d\r\n{\"model\":\"m\"}\r\n0\r\n\r\n";
    let rows = [
        ("content-length: 13\r\ntransfer-encoding: chunked\r\n", chunks),
        ("transfer-encoding: chunked\r\ncontent-length: 13\r\n", chunks),
        ("transfer-encoding: chunked\r\ncontent-length: 0\r\n", chunks),
        ("content-length: 13\r\ncontent-length: 12\r\n", body),
        ("content-length: 13, 12\r\n", body),
        ("content-length: +13\r\n", body),
        ("content-length: 0x0d\r\n", body),
        ("content-length: -1\r\n", body),
        ("transfer-encoding: chunked, gzip\r\n", chunks),
        ("transfer-encoding: gzip\r\n", chunks),
        ("transfer-encoding: xchunked\r\n", chunks),
    ];
    for (headers, body) in rows {
        let mut wire = Wire::open(world.address);
        // What is smuggled would be answered as a request of its own.
        let smuggled = String::from_utf8(head(CHAT, "content-length: 13\r\n")).unwrap() + r#"{"model":"m"}"#;
        wire.send(&[&head(CHAT, headers), body.as_bytes(), smuggled.as_bytes()].concat());
        let reply = wire.read_to_the_end();
        assert_eq!(reply.status, 400, "{headers}: {}", reply.text());
        assert!(!reply.text().contains("served_by"), "{headers}: {}", reply.text());
    }
    assert_eq!(world.upstream("a").asked(), 0);
}

#[test]
fn fc_113_what_belongs_to_the_client_s_connection_reaches_no_vendor() {
    let world = world();
    let hops = "connection: keep-alive, x-named\r\nkeep-alive: timeout=CANARY\r\nte: trailers, CANARY\r\n\
        trailer: x-CANARY\r\nproxy-connection: CANARY\r\nx-named: CANARY\r\n";
    let mut wire = Wire::open(world.address);
    wire.send(&[head(CHAT, &format!("{hops}content-length: 13\r\n")), br#"{"model":"m"}"#.to_vec()].concat());
    wire.reply().served_by("a");
    let got = world.upstream("a").only_request();
    assert!(!got.head.contains("CANARY"), "{}", got.head);
    for name in ["connection", "keep-alive", "te", "trailer", "upgrade", "proxy-connection", "x-named"] {
        assert_eq!(got.headers(name), [""; 0], "{name}");
    }
}

#[test]
fn fc_113_a_header_that_the_client_names_in_connection_reaches_no_vendor() {
    let world = world();
    let named = "connection: TraceParent , close\r\ntraceparent: 00-CANARY\r\nopenai-beta: kept\r\n";
    let mut wire = Wire::open(world.address);
    wire.send(
        &[head(CHAT, &format!("{named}content-length: 13\r\n")), br#"{"model":"m"}"#.to_vec()].concat(),
    );
    wire.reply().served_by("a");
    let got = world.upstream("a").only_request();
    assert_eq!(got.headers("traceparent"), [""; 0]);
    assert_eq!(got.header("openai-beta"), Some("kept"));
}

#[test]
fn fc_113_a_client_gets_one_framing_and_nothing_of_the_vendor_s_connection() {
    let hops = "connection: keep-alive, x-named\r\nkeep-alive: timeout=5\r\nx-named: 1\r\ntrailer: x-end\r\n\
        proxy-authenticate: Basic\r\nupgrade: h2c\r\n";
    let event = "data: {\"n\":1}\n\ndata: [DONE]\n\n";
    let stream = format!("content-type: text/event-stream\r\n{hops}");
    let json = format!("content-type: application/json\r\n{hops}");
    let rows = [
        (true, Answer::sized(200, &stream, event)),
        (true, Answer::chunked(200, &stream).chunk(event).send("0\r\nx-end: 1\r\n\r\n")),
        (false, Answer::sized(200, &json, "{}")),
        (false, Answer::chunked(200, &json).chunk("{}").last_chunk()),
        (false, Answer::sized(404, &json, "{}")),
    ];
    for (streamed, answer) in rows {
        let world = world();
        world.upstream("a").answers(answer);
        let reply = world.post(CHAT, json!({"model": "a/x", "stream": streamed}));
        assert_eq!(reply.end, End::Complete);
        let (length, coding) = (reply.header("content-length"), reply.header("transfer-encoding"));
        assert!(length.is_some() != coding.is_some(), "{length:?} and {coding:?}");
        for name in
            ["connection", "keep-alive", "x-named", "trailer", "x-end", "proxy-authenticate", "upgrade"]
        {
            assert_eq!(reply.header(name), None, "{name}");
        }
    }
}
