//! What a client sends and gets, byte for byte, over real sockets.
//!
//! `refusals` holds what is refused and in which words, `secrets` what never crosses
//! to the other side.

#[path = "client_side/framing.rs"]
mod framing;
#[path = "client_side/naming.rs"]
mod naming;
#[path = "client_side/refusals.rs"]
mod refusals;
#[path = "client_side/secrets.rs"]
mod secrets;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;

use serde_json::json;
use support::{Answer, End, Setup, Wire, World, post};

const CHAT: &str = "/v1/chat/completions";
const ROUTES: [&str; 5] =
    [CHAT, "/v1/embeddings", "/v1/messages", "/v1/messages/count_tokens", "/v1/responses"];

fn a_combo() -> World {
    Setup::new().provider("a", 1).combo("my-combo", &["a"]).start()
}

/// What the vendor got when the client posted this.
fn forwarded(world: &World, path: &str, body: &[u8]) -> Vec<u8> {
    post(world.address, path, "", body).served_by("a");
    let request = world.upstream("a").requests().pop().unwrap();
    assert_eq!(request.header("content-length"), Some(request.body.len().to_string().as_str()));
    assert_eq!(request.headers("transfer-encoding"), [""; 0]);
    assert_eq!(request.header("content-type"), Some("application/json"));
    request.body
}

#[test]
fn a_body_is_forwarded_byte_for_byte_but_for_its_model() {
    let world = a_combo();
    let rows = [
        r#"{"model":"my-combo"}"#,
        r#"{"z":1,"model":"my-combo","a":{"model":"my-combo"},"messages":[{"content":"model"}]}"#,
        "\r\n { \"stream\" : null ,\t\"model\"\n:\n\"my-combo\" , \"x\" : [ ] }  \n",
        r#"{"model":"my-combo","text":"zażółć 🦀 \u0000 \ud83e\udd80 \/ \" \\"}"#,
        r#"{"n":12345678901234567890.1234567890e-7,"m":-0.0,"k":1E400,"model":"my-combo"}"#,
        r#"{"a":1,"a":2,"model":"my-combo","unknown_field_of_tomorrow":{"":[null,true]}}"#,
    ];
    for path in ROUTES {
        for row in rows {
            let expected = row.replacen("\"my-combo\"", "\"x\"", 1);
            let got = forwarded(&world, path, row.as_bytes());
            assert_eq!(String::from_utf8(got).unwrap(), expected, "{path}");
        }
    }
}

#[test]
fn a_model_written_with_escapes_is_the_same_model() {
    let body = r#"{"model":"my\u002dcombo"}"#;
    assert_eq!(forwarded(&a_combo(), CHAT, body.as_bytes()), br#"{"model":"x"}"#);
}

#[test]
fn a_provider_s_own_slashes_stay_in_the_model() {
    let body = br#"{"model":"a/vendor/model:free"}"#;
    assert_eq!(forwarded(&a_combo(), CHAT, body), br#"{"model":"vendor/model:free"}"#);
}

#[test]
fn three_megabytes_are_forwarded_byte_for_byte() {
    let text: String = (0..300_000).map(|number| format!("{number:09} ")).collect();
    let body = format!(r#"{{"before":"{text}","model":"my-combo","after":"é"}}"#);
    let got = forwarded(&a_combo(), CHAT, body.as_bytes());
    assert!(got == body.replacen("my-combo", "x", 1).as_bytes(), "{} bytes", got.len());
}

#[test]
fn a_body_in_chunks_is_forwarded_with_its_length() {
    let world = a_combo();
    let mut wire = Wire::open(world.address);
    wire.send(b"POST /v1/chat/completions HTTP/1.1\r\nhost: s\r\ntransfer-encoding: chunked\r\n\r\n");
    for part in [&b"a\r\n{\"model\":\"\r\n"[..], b"8\r\nmy-combo\r\n", b"2\r\n\"}\r\n", b"0\r\n\r\n"] {
        wire.send(part);
    }
    wire.reply().served_by("a");
    let request = world.upstream("a").only_request();
    assert_eq!(request.body, br#"{"model":"x"}"#);
    assert_eq!(request.header("content-length"), Some("13"));
}

#[test]
fn a_client_that_waits_for_100_continue_is_told_to_go_on() {
    let world = a_combo();
    let body = br#"{"model":"my-combo"}"#;
    let mut wire = Wire::open(world.address);
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: s\r\nexpect: 100-continue\r\n";
    wire.send(format!("{head}content-length: {}\r\n\r\n", body.len()).as_bytes());
    assert_eq!(wire.interim(), "HTTP/1.1 100 Continue");
    wire.send(body);
    wire.reply().served_by("a");
}

/// The client's reply to this answer, asked for as a stream or not.
fn relayed(answer: Answer, stream: bool) -> support::Reply {
    let world = a_combo();
    world.upstream("a").answers(answer);
    let reply = world.post(CHAT, json!({"model": "my-combo", "stream": stream}));
    assert_eq!((reply.status, reply.end), (200, End::Complete), "{}", reply.text());
    reply
}

#[test]
fn a_stream_reaches_the_client_byte_for_byte() {
    let rows: [&[&[u8]]; 5] = [
        // cut inside a line, inside a character, inside a line end
        &[b"da", b"ta: {\"x\":\"\xf0\x9f", b"\xa6\x80\"}\r", b"\n\r\nd", b"ata: [DONE]\n", b"\n"],
        &[b": a comment\r\n\r\nevent: x\r\ndata: {\"x\":1}\r\n\r\n", b"data: [DONE]\r\n\r\n"],
        &[b"data: \xff\xfe not utf-8\n\n", b"data: [DONE]\n\n"],
        &[b"id: 7\nretry: 10\ndata: a\ndata: b\n\n", b"\n\n\ndata: [DONE]\n\n"],
        &[b"\xef\xbb\xbfdata:{\"no\":\"space\"}\r\rdata:[DONE]\r\r"],
    ];
    for row in rows {
        let answer = row.iter().fold(Answer::stream(), |answer, chunk| answer.chunk(chunk)).last_chunk();
        let reply = relayed(answer, true);
        assert_eq!(reply.body, row.concat(), "{}", reply.text());
        assert_eq!(reply.header("content-type"), Some("text/event-stream"));
        assert_eq!(reply.header("content-length"), None);
    }
}

#[test]
fn an_answer_reaches_the_client_byte_for_byte() {
    let odd = "  {\"b\":1,\r\n\"a\":\"\\u00e9é\", \"b\":1e400}\n\n";
    let json = "content-type: application/json; charset=utf-8\r\n";
    let rows = [
        ("sized", Answer::sized(200, json, odd)),
        ("chunked", Answer::chunked(200, json).chunk(&odd[..5]).chunk(&odd[5..]).last_chunk()),
        (
            "chunk extensions",
            Answer::chunked(200, json).send(format!("{:x};a=b\r\n{odd}\r\n0\r\n\r\n", odd.len())),
        ),
        ("until the end, HTTP/1.0", Answer::raw(format!("HTTP/1.0 200 OK\r\n{json}\r\n{odd}")).closes()),
    ];
    for (name, answer) in rows {
        let reply = relayed(answer, false);
        assert_eq!(reply.text(), odd, "{name}");
        assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"), "{name}");
        assert_eq!(reply.header("content-length"), Some(odd.len().to_string().as_str()), "{name}");
    }
}

#[test]
fn three_megabytes_reach_the_client_byte_for_byte() {
    let text: String = (0..300_000).map(|number| format!("{number:09} ")).collect();
    let body = format!(r#"{{"text":"{text}"}}"#);
    let json = "content-type: application/json\r\n";
    let sized = relayed(Answer::sized(200, json, &body), false);
    assert!(sized.body == body.as_bytes(), "{} bytes", sized.body.len());
    assert_eq!(sized.header("content-length"), Some(body.len().to_string().as_str()));
    let parts = body.as_bytes().chunks(100_003);
    let chunked = parts.fold(Answer::chunked(200, json), |answer, part| answer.chunk(part)).last_chunk();
    let chunked = relayed(chunked, false);
    assert!(chunked.body == body.as_bytes(), "{} bytes", chunked.body.len());
}

#[test]
fn only_the_listed_headers_of_an_answer_pass() {
    let headers = "content-type: application/json\r\nset-cookie: session=1\r\nserver: vendor\r\n\
        x-request-id: theirs\r\nrequest-id: theirs-too\r\nx-ratelimit-remaining-requests: 7\r\n\
        anthropic-ratelimit-tokens-limit: 8\r\nopenai-processing-ms: 9\r\nretry-after: 1\r\n\
        www-authenticate: Bearer\r\nx-powered-by: vendor\r\nalt-svc: h3\r\ncf-ray: 1\r\n\
        access-control-allow-origin: *\r\nx-omniroute-provider: forged\r\nx-switchtower-overhead-us: 0\r\n";
    let reply = relayed(Answer::sized(200, headers, r#"{"x":1}"#), false);
    let expected = [
        ("anthropic-ratelimit-tokens-limit", "8"),
        ("content-length", "7"),
        ("content-type", "application/json"),
        ("openai-processing-ms", "9"),
        ("request-id", "theirs-too"),
        ("retry-after", "1"),
        ("x-omniroute-combo-attempted", "1"),
        ("x-omniroute-combo-pool-size", "1"),
        ("x-omniroute-decision", "strategy=priority; provider=a; attempts=1"),
        ("x-omniroute-model", "x"),
        ("x-omniroute-provider", "a"),
        ("x-omniroute-selected-connection-id", "a-1"),
        ("x-ratelimit-remaining-requests", "7"),
        ("x-upstream-request-id", "theirs"),
    ];
    let own = |name: &str| ["date", "x-request-id", "x-switchtower-overhead-us"].contains(&name);
    let mut passed: Vec<(&str, &str)> =
        reply.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    passed.retain(|(name, _)| !own(name));
    passed.sort_unstable();
    assert_eq!(passed, expected);
    assert!(reply.header("x-request-id").unwrap().starts_with("req_"), "ours, not theirs");
}
