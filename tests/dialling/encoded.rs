//! FC-055: answers in an encoding that nobody asked for.

use std::time::Instant;

use async_compression::tokio::write::{BrotliEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder};
use futures_util::FutureExt;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::support::{Answer, End, Gate, Reply, Setup, World};

const JSON: &str = "content-type: application/json\r\n";
const CODINGS: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

/// The text in pieces, each of which can be read as soon as it is there.
fn pieces(coding: &str, text: &[&str]) -> Vec<Vec<u8>> {
    macro_rules! pack {
        ($encoder:ident) => {{
            let mut encoder = $encoder::new(Vec::new());
            let mut pieces = Vec::new();
            for piece in text {
                encoder.write_all(piece.as_bytes()).now_or_never().unwrap().unwrap();
                encoder.flush().now_or_never().unwrap().unwrap();
                pieces.push(std::mem::take(encoder.get_mut()));
            }
            encoder.shutdown().now_or_never().unwrap().unwrap();
            pieces.push(encoder.into_inner());
            pieces
        }};
    }
    match coding {
        "gzip" => pack!(GzipEncoder),
        "deflate" => pack!(ZlibEncoder),
        "br" => pack!(BrotliEncoder),
        _ => pack!(ZstdEncoder),
    }
}

fn packed(coding: &str, text: &str) -> Vec<u8> {
    pieces(coding, &[text]).concat()
}

fn headers(coding: &str) -> String {
    format!("{JSON}content-encoding: {coding}\r\n")
}

fn world() -> World {
    Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start()
}

/// Body and headers say the same.
#[track_caller]
fn is_plain(reply: &Reply, body: &str) {
    assert_eq!((reply.status, reply.end), (200, End::Complete));
    assert!(reply.text() == body, "{} bytes", reply.body.len());
    assert_eq!(reply.header("content-encoding"), None);
    assert_eq!(reply.header("content-length"), Some(body.len().to_string().as_str()));
}

#[test]
fn fc_055_a_good_answer_is_passed_on_plain() {
    let body = format!(r#"{{"text":"{}"}}"#, "abc ".repeat(20_000));
    for coding in CODINGS {
        let world = world();
        let packed = packed(coding, &body);
        world.upstream("a").answers(Answer::sized(200, &headers(coding), &packed));
        is_plain(&world.ask("a/x"), &body);
        let chunked = packed.chunks(7).fold(Answer::chunked(200, &headers(coding)), Answer::chunk);
        world.upstream("a").answers(chunked.last_chunk());
        is_plain(&world.ask("a/x"), &body);
        assert_eq!(world.upstream("a").connections(), 1, "{coding}: and its connection is used again");
    }
}

#[test]
fn fc_055_events_arrive_while_the_stream_goes_on() {
    let events = ["data: {\"n\":1}\n\n", "data: {\"n\":2}\n\n", "data: [DONE]\n\n"];
    for coding in CODINGS {
        let world = world();
        let gates = [Gate::default(), Gate::default(), Gate::default()];
        let pieces = pieces(coding, &events);
        let head = format!("content-type: text/event-stream\r\ncontent-encoding: {coding}\r\n");
        let mut script = Answer::chunked(200, &head);
        for (piece, gate) in pieces.iter().zip(&gates) {
            script = script.chunk(piece).until(gate);
        }
        let end = &pieces[events.len()];
        world.upstream("a").answers(if end.is_empty() { script } else { script.chunk(end) }.last_chunk());
        let mut wire = world.open("/v1/chat/completions", &json!({"model": "a/x", "stream": true}));
        for (number, gate) in gates.iter().enumerate() {
            let so_far = events[..=number].concat();
            wire.read_until(|reply| reply.text() == so_far);
            gate.open();
        }
        let reply = wire.reply();
        assert_eq!((reply.end, reply.text()), (End::Complete, events.concat()), "{coding}");
        assert_eq!(reply.header("content-encoding"), None);
    }
}

#[test]
fn fc_055_an_error_is_judged_by_its_decoded_body() {
    // Only the body says how long to wait.
    let body = r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[
        {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"46s"}]}}"#;
    let outcome = |answer: Answer| {
        let world = world();
        world.upstream("a").answers(answer);
        let reply = world.ask("a/x");
        let left = world.derived("connection", "a-1")["remainingMs"].as_u64().unwrap();
        let lock = world.admin("/api/resilience/model-cooldowns").json();
        (reply.status, reply.text(), reply.header("retry-after").map(str::to_owned), left / 10_000, {
            lock["items"].as_array().unwrap().len()
        })
    };
    let plain = outcome(Answer::sized(429, JSON, body));
    assert_eq!(plain.2.as_deref(), Some("46"), "{plain:?}");
    for coding in CODINGS {
        assert_eq!(outcome(Answer::sized(429, &headers(coding), packed(coding, body))), plain, "{coding}");
    }
}

#[test]
fn fc_055_what_does_not_unfold_is_an_error_of_the_upstream() {
    let whole = packed("gzip", r#"{"choices":[{"message":{"content":"hello, this is some text"}}]}"#);
    let mut damaged = whole.clone();
    damaged[20] ^= 0xff;
    let cut = whole[..whole.len() - 4].to_vec();
    let followed = [whole, b"{}".to_vec()].concat();
    let plain = br#"{"plain":true}"#.to_vec();
    for body in [damaged, cut, followed, plain] {
        let world = world();
        world.upstream("a").answers(Answer::sized(200, &headers("gzip"), body));
        world.ask("m").served_by("b");
        assert_eq!(world.failures("a"), 1);
    }
}

/// A stream that is cut within its encoding is as cut as a plain one (FC-003); one that was whole by
/// then is whole, whatever becomes of the checksum.
#[test]
fn fc_055_a_stream_that_is_cut_in_its_encoding_is_told_as_cut() {
    let text = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n";
    for coding in CODINGS {
        let pieces = pieces(coding, &[text, text, "data: [DONE]\n\n"]);
        let head = format!("content-type: text/event-stream\r\ncontent-encoding: {coding}\r\n");
        let body = json!({"model": "m", "stream": true});
        for half in [&pieces[1][..pieces[1].len() / 2], &pieces[1][..]] {
            let world = world();
            let script = Answer::chunked(200, &head).chunk(&pieces[0]).chunk(half);
            world.upstream("a").answers(script.last_chunk());
            let reply = world.post("/v1/chat/completions", body.clone());
            assert_ne!(reply.end, End::Complete, "{coding}: {}", reply.text());
            assert!(reply.text().starts_with(text), "{coding}: {}", reply.text());
            assert!(reply.text().contains("upstream_truncated"), "{coding}: {}", reply.text());
            assert_eq!(world.upstream("b").asked(), 0, "{coding}");
        }
        let world = world();
        let script = pieces[..3].iter().fold(Answer::chunked(200, &head), Answer::chunk);
        world.upstream("a").answers(script.last_chunk());
        let reply = world.post("/v1/chat/completions", body);
        assert_eq!(
            (reply.end, reply.text()),
            (End::Complete, text.repeat(2) + "data: [DONE]\n\n"),
            "{coding}"
        );
    }
}

#[test]
fn fc_055_an_unknown_encoding_is_no_answer_and_an_error_keeps_its_status() {
    for coding in ["compress", "gzip, gzip", "gzip, br"] {
        let world = world();
        world.upstream("a").answers(Answer::sized(200, &headers(coding), "{}"));
        world.ask("m").served_by("b");
        assert_eq!(world.failures("a"), 1, "{coding}");
        world.order("connection", "a-1", json!({"message": "reset"}));
        world.upstream("a").answers(Answer::sized(404, &headers(coding), "{}"));
        assert_eq!(world.ask("a/x").status, 404, "{coding}");
    }
}

#[test]
fn fc_055_an_error_that_unfolds_without_end_costs_little() {
    let bomb = packed("gzip", &"0".repeat(64 * 1024 * 1024));
    let world = world();
    world.upstream("a").answers(Answer::sized(503, &headers("gzip"), &bomb));
    let asked = Instant::now();
    let reply = world.ask("a/x");
    assert_eq!((reply.status, reply.end), (503, End::Complete));
    assert!(reply.body.len() <= 256 * 1024, "{} bytes", reply.body.len());
    assert!(asked.elapsed().as_secs() < 2, "{:?}", asked.elapsed());
}
