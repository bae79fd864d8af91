//! Every behaviour, in every dialect that can show it.
//!
//! Where one behaviour looks the same in several dialects, one test goes through all of them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{End, World, read_reply, read_until};
use crate::{CHAT, EMBEDDINGS, MESSAGES, PLAIN, RESPONSES, ask, ask_streamed, gemini, pieces, types};

#[actix_web::test]
async fn a_status_comes_with_the_error_of_the_dialect() {
    let world = World::start().await;
    let table = [
        (CHAT.to_owned(), "/error/code", json!("rate_limit_exceeded")),
        (EMBEDDINGS.to_owned(), "/error/code", json!("rate_limit_exceeded")),
        (MESSAGES.to_owned(), "/error/type", json!("rate_limit_error")),
        (RESPONSES.to_owned(), "/error/code", json!("rate_limit_exceeded")),
        (gemini("status-429-retry-7", "generateContent"), "/error/details/0/retryDelay", json!("7s")),
    ];
    for (path, place, kind) in table {
        for body in [ask("status-429-retry-7"), ask_streamed("status-429-retry-7")] {
            let reply = world.post(&path, &body).await;
            assert_eq!((reply.status, reply.header("retry-after")), (429, Some("7")), "{path}");
            assert_eq!(reply.json().pointer(place), Some(&kind), "{path}");
        }
    }
    let plain = world.post(MESSAGES, &ask("status-529")).await;
    assert_eq!((plain.status, plain.header("retry-after")), (529, None));
    assert_eq!(plain.json()["error"]["type"], "overloaded_error");
    assert_eq!(world.post(CHAT, &ask("status-204")).await.status, 204);
}

#[actix_web::test]
async fn flaky_fails_at_4_7_10_whoever_asks() {
    let world = World::start().await;
    let mut failing = Vec::new();
    for n in 1..=10 {
        let header = format!("x-api-key: demo-{n}\r\n");
        let path = PLAIN[n % 3];
        match world.post_with(path, &header, &ask("flaky-30")).await.status {
            503 => failing.push(n),
            status => assert_eq!(status, 200),
        }
    }
    assert_eq!(failing, [4, 7, 10]);
    assert_eq!(world.post(CHAT, &ask("flaky-100")).await.status, 503, "another name counts for itself");
}

#[actix_web::test]
async fn down_answers_503_until_its_time_is_over() {
    let world = World::start().await;
    assert_eq!(world.post(CHAT, &ask("down-3600s")).await.status, 503);
    assert_eq!(world.post(CHAT, &ask("down-0s")).await.status, 200);
}

#[actix_web::test]
async fn slow_chunks_and_trickle_take_their_time_and_end_correctly() {
    let world = World::start().await;
    let table = [
        (ask("slow-20ms"), 20),
        (ask_streamed("slow-20ms"), 20),
        (ask_streamed("chunks-5x5"), 20),
        (ask("chunks-4x5"), 20),
        (ask("trickle-20000"), 0),
        (ask_streamed("trickle-40000"), 50),
    ];
    for (body, least_ms) in table {
        let start = Instant::now();
        let reply = world.post(CHAT, &body).await;
        assert!(start.elapsed() >= Duration::from_millis(least_ms), "{body}");
        assert_eq!((reply.status, reply.end), (200, End::Complete), "{body}");
    }
    let trickle = world.post(CHAT, &ask_streamed("trickle-40000")).await;
    assert!(trickle.text().ends_with("data: [DONE]\n\n") && trickle.chunks.len() >= 2);
}

#[actix_web::test]
async fn chunks_gives_so_many_pieces_in_every_dialect() {
    let world = World::start().await;
    for path in PLAIN {
        let reply = world.post(path, &ask_streamed("chunks-500x0")).await;
        assert_eq!((reply.end, pieces(&reply).len()), (End::Complete, 500), "{path}");
        assert_eq!(pieces(&reply)[499], " word-500");
    }
    let whole = world.post(CHAT, &ask("chunks-10x0")).await.json();
    assert_eq!(whole["usage"]["completion_tokens"], 10);
}

#[actix_web::test]
async fn a_broken_stream_has_so_many_pieces_and_no_end() {
    let world = World::start().await;
    let sse = gemini("MODEL", "streamGenerateContent") + "?alt=sse";
    for path in [CHAT, MESSAGES, RESPONSES, &sse] {
        for count in [0, 3, 12] {
            let model = format!("cut-after-{count}");
            let cut = world.post(&path.replace("MODEL", &model), &ask_streamed(&model)).await;
            assert_eq!(
                (cut.status, cut.end, pieces(&cut).len()),
                (200, End::Closed, count),
                "{path} {model}"
            );
        }
        let stall = world
            .post_until(&path.replace("MODEL", "stall-after-3"), &ask_streamed("stall-after-3"), |reply| {
                pieces(reply).len() == 3
            })
            .await;
        assert_eq!((stall.status, stall.end, pieces(&stall).len()), (200, End::Silent, 3), "{path}");
    }
}

#[actix_web::test]
async fn a_broken_whole_answer_promises_more_than_it_sends() {
    let world = World::start().await;
    for path in [CHAT, MESSAGES, RESPONSES, EMBEDDINGS] {
        for count in [0, 7] {
            let cut = world.post(path, &ask(&format!("cut-after-{count}"))).await;
            assert_eq!((cut.status, cut.end, cut.body.len()), (200, End::Closed, count), "{path}");
            assert!(cut.header("content-length").unwrap().parse::<usize>().unwrap() > 50);
        }
        let stall = world.post_until(path, &ask("stall-after-7"), |reply| reply.body.len() == 7).await;
        assert_eq!((stall.status, stall.end, stall.body.len()), (200, End::Silent, 7), "{path}");
    }
    let cut = world.post(CHAT, &ask("cut-after-9999")).await;
    assert_eq!(cut.end, End::Closed, "a cut cuts, however short the answer");
}

#[actix_web::test]
async fn empty_ends_correctly_without_content() {
    let world = World::start().await;
    let chat = world.post(CHAT, &ask("empty")).await.json();
    assert_eq!(chat["choices"][0]["message"]["content"], "");
    assert_eq!(world.post(MESSAGES, &ask("empty")).await.json()["content"], json!([]));
    assert_eq!(world.post(RESPONSES, &ask("empty")).await.json()["output"], json!([]));
    assert_eq!(world.post(EMBEDDINGS, &ask("empty")).await.json()["data"], json!([]));
    let gemini = world.post(&gemini("empty", "generateContent"), "{}").await.json();
    assert_eq!(gemini["candidates"][0]["content"]["parts"], json!([]));
    for (path, last) in [(CHAT, "[DONE]"), (MESSAGES, "message_stop"), (RESPONSES, "response.completed")] {
        let reply = world.post(path, &ask_streamed("empty")).await;
        assert_eq!((reply.status, reply.end, pieces(&reply).len()), (200, End::Complete, 0), "{path}");
        assert!(reply.chunks.last().unwrap().contains(last), "{path}");
    }
}

#[actix_web::test]
async fn an_error_in_200_is_one_error_and_no_end_marker() {
    let world = World::start().await;
    for path in [CHAT, MESSAGES, RESPONSES, EMBEDDINGS] {
        let whole = world.post(path, &ask("error-in-200")).await;
        assert_eq!(whole.status, 200);
        assert!(whole.json()["error"]["message"].is_string(), "{path}");
    }
    for (path, first) in [(CHAT, "?"), (MESSAGES, "message_start"), (RESPONSES, "response.created")] {
        let reply = world.post(path, &ask_streamed("error-in-200")).await;
        assert_eq!((reply.status, reply.end, reply.chunks.len()), (200, End::Complete, 2), "{path}");
        assert_eq!(types(&reply)[0], first);
        let error = &reply.events()[1];
        assert!(error["error"].is_object() || error["type"] == "error", "{error}");
    }
}

#[actix_web::test]
async fn hang_reset_and_garbage_send_no_head() {
    let world = World::start().await;
    for path in PLAIN {
        let mut stream = world.open(path, "", &ask("hang")).await;
        world.log_entry(|entry| entry["path"] == path && entry["behaviour"] == "hang").await;
        let hang = read_until(&mut stream, |_| true).await;
        assert_eq!((hang.end, hang.raw.len()), (End::Silent, 0), "{path}");
        let reset = world.post(path, &ask("reset")).await;
        assert_eq!((reset.end, reset.raw.len()), (End::Reset, 0), "{path}");
        let garbage = world.post(path, &ask("garbage")).await;
        assert_eq!((garbage.end, garbage.status), (End::Closed, 0), "{path}");
        assert!(garbage.raw.starts_with(b"\x00\x01"));
    }
}

#[actix_web::test]
async fn a_redirect_points_elsewhere() {
    let world = World::start().await;
    let reply = world.post(CHAT, &ask("redirect-307")).await;
    assert_eq!((reply.status, reply.header("location")), (307, Some("http://evil.test/")));
}

#[actix_web::test]
async fn an_early_refusal_does_not_wait_for_the_body() {
    let world = World::start().await;
    let head = "POST /v1/messages HTTP/1.1\r\nhost: demo\r\ncontent-length: 9999\r\nx-demo-behaviour: early-413\r\n\r\n{";
    let mut stream = world.raw(head).await;
    let reply = read_reply(&mut stream).await;
    assert_eq!((reply.status, reply.header("connection")), (413, Some("close")));
    assert_eq!(reply.json()["error"]["type"], "request_too_large");
    let entry = world.log_entry(|entry| entry["status"] == 413).await;
    assert_eq!((&entry["behaviour"], &entry["bodySha256"]), (&json!("early-413"), &Value::Null));
    let late = world.post(CHAT, &ask("early-400")).await;
    assert_eq!((late.status, late.header("connection")), (400, Some("close")), "by model: after the body");
}

#[actix_web::test]
async fn the_header_overrides_the_model() {
    let world = World::start().await;
    let reply = world.post_with(CHAT, "x-demo-behaviour: status-418\r\n", &ask("steady")).await;
    assert_eq!(reply.status, 418);
    let models =
        world.raw("GET /v1/models HTTP/1.1\r\nhost: demo\r\nx-demo-behaviour: status-401\r\n\r\n").await;
    assert_eq!(read_reply(&mut { models }).await.status, 401);
    let unknown = world.post_with(CHAT, "x-demo-behaviour: nonsense\r\n", &ask("status-500")).await;
    assert_eq!(unknown.status, 200, "an unknown name is steady, also in the header");
}
