//! What a good answer looks like in each dialect, and what is no behaviour at all.
//!
//! The official clients check the shapes more strictly than these tests do; here it is the order of
//! events, where chunks begin, and the facts that must be in them.

use serde_json::json;
use switchtower::demo;
use tokio::io::AsyncWriteExt;

use crate::client::{End, World, read_reply};
use crate::{CHAT, MESSAGES, RESPONSES, ask, ask_streamed, gemini, pieces, types};

#[actix_web::test]
async fn a_whole_answer_names_connection_and_model_in_every_dialect() {
    let world = World::start().await;
    let table = [
        (
            CHAT.to_owned(),
            "authorization: Bearer demo-a-x\r\n",
            "/choices/0/message/content",
            "connection a-x",
        ),
        (MESSAGES.to_owned(), "x-api-key: demo-b-x\r\n", "/content/0/text", "connection b-x"),
        (RESPONSES.to_owned(), "api-key: demo-c-x\r\n", "/output/0/content/0/text", "connection c-x"),
        (
            gemini("steady", "generateContent"),
            "x-goog-api-key: demo-d-x\r\n",
            "/candidates/0/content/parts/0/text",
            "connection d-x",
        ),
        (CHAT.to_owned(), "", "/choices/0/message/content", "no credential"),
    ];
    for (path, header, place, name) in table {
        let reply = world.post_with(&path, header, &ask("steady")).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
        let text = format!("demo answer from {name} with model steady");
        assert_eq!(reply.json().pointer(place), Some(&json!(text)), "{path}");
    }
}

#[actix_web::test]
async fn ids_count_and_usage_follows_from_body_and_text() {
    let world = World::with_log(false).await;
    let body = ask("steady");
    world.post(CHAT, &body).await;
    let answer = world.post(CHAT, &body).await.json();
    assert_eq!(answer["id"], "chatcmpl-demo-2");
    let prompt = body.len().div_ceil(4);
    assert_eq!(
        answer["usage"],
        json!({"prompt_tokens": prompt, "completion_tokens": 8, "total_tokens": prompt + 8})
    );
    assert!(answer["created"].as_u64().unwrap() > 1_700_000_000);
    assert_eq!(world.post("/v1/messages/count_tokens", &body).await.json(), json!({"input_tokens": prompt}));
}

#[actix_web::test]
async fn a_chat_stream_is_role_words_finish_usage_done() {
    let world = World::start().await;
    let body =
        json!({"model": "steady", "stream": true, "stream_options": {"include_usage": true}}).to_string();
    let reply = world.post(CHAT, &body).await;
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    assert_eq!(reply.end, End::Complete);
    let events = reply.events();
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(pieces(&reply).concat(), "demo answer from no credential with model steady");
    assert_eq!(events[9]["choices"][0]["finish_reason"], "stop");
    assert_eq!(events[10]["usage"]["completion_tokens"], 8);
    assert_eq!(reply.chunks.last().unwrap(), "data: [DONE]\n\n");
    let without = world.post(CHAT, &ask_streamed("steady")).await;
    assert!(without.events().iter().all(|event| event.get("usage").is_none()));
}

#[actix_web::test]
async fn a_messages_stream_has_the_events_in_order() {
    let world = World::start().await;
    let reply = world.post(MESSAGES, &ask_streamed("chunks-2x0")).await;
    let order = ["message_start", "content_block_start", "content_block_delta", "content_block_delta"];
    let end = ["content_block_stop", "message_delta", "message_stop"];
    assert_eq!(types(&reply), [&order[..], &end[..]].concat());
    for (chunk, kind) in reply.chunks.iter().zip(types(&reply)) {
        assert!(chunk.starts_with(&format!("event: {kind}\n")), "{chunk}");
    }
}

#[actix_web::test]
async fn a_responses_stream_counts_its_events() {
    let world = World::start().await;
    let reply = world.post(RESPONSES, &ask_streamed("chunks-2x0")).await;
    let short = [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ];
    assert_eq!(types(&reply), short.map(|kind| format!("response.{kind}")));
    let numbers: Vec<u64> =
        reply.events().iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..10).collect::<Vec<u64>>());
    assert_eq!(reply.events()[9]["response"]["output"][0]["content"][0]["text"], "demo answer");
}

#[actix_web::test]
async fn gemini_streams_events_or_one_array() {
    let world = World::start().await;
    let events = world.post(&(gemini("steady", "streamGenerateContent") + "?alt=sse"), "{}").await;
    assert_eq!(events.header("content-type"), Some("text/event-stream"));
    assert_eq!(pieces(&events).concat(), "demo answer from no credential with model steady");
    assert_eq!(events.events()[8]["candidates"][0]["finishReason"], "STOP");
    let array = world.post(&gemini("steady", "streamGenerateContent"), "{}").await;
    assert_eq!(array.header("content-type"), Some("application/json"));
    assert_eq!(array.json().as_array().unwrap().len(), 9);
    assert_eq!(array.chunks.len(), 9, "element by element");
    for model in ["empty", "error-in-200", "chunks-1x0"] {
        let array = world.post(&gemini(model, "streamGenerateContent"), "{}").await.json();
        assert!(array.is_array(), "{model}");
    }
}

#[actix_web::test]
async fn one_connection_serves_many_requests() {
    let world = World::start().await;
    let mut stream = world.open(CHAT, "", r#"{"model":"steady"}"#).await;
    assert_eq!(read_reply(&mut stream).await.status, 200);
    let again = "POST /v1/chat/completions HTTP/1.1\r\nhost: demo\r\ncontent-length: 32\r\n\r\n{\"model\":\"steady\",\"stream\":true}";
    stream.write_all(again.as_bytes()).await.unwrap();
    assert!(read_reply(&mut stream).await.text().ends_with("data: [DONE]\n\n"));
}

#[actix_web::test]
async fn what_a_provider_refuses_is_refused_in_its_dialect() {
    let world = World::start().await;
    for body in ["", "{", "[]", "{}"] {
        let reply = world.post("/v1/messages", body).await;
        assert_eq!(
            (reply.status, &reply.json()["error"]["type"]),
            (400, &json!("invalid_request_error")),
            "{body}"
        );
    }
    let mut large =
        world.raw("POST /v1/responses HTTP/1.1\r\nhost: demo\r\ncontent-length: 67108865\r\n\r\n").await;
    assert_eq!(read_reply(&mut large).await.status, 413);
    for (method, path) in [
        ("GET", CHAT),
        ("POST", "/v1/completions"),
        ("POST", "/chat/completions"),
        ("POST", "/v1beta/models/steady:countTokens"),
        ("GET", "/"),
    ] {
        assert_eq!(world.call(method, path).await.status, 404, "{method} {path}");
    }
}

#[actix_web::test]
async fn models_and_health_are_listed() {
    let world = World::start().await;
    let models = world.call("GET", "/v1/models").await.json();
    let ids: Vec<&str> =
        models["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), demo::behaviours().len());
    assert!(ids.contains(&"flaky-30") && ids.contains(&"steady"));
    assert_eq!(world.call("GET", "/demo/health").await.json(), json!({"status": "ok"}));
}

#[actix_web::test]
async fn embeddings_come_as_numbers_or_base64_one_for_each_input() {
    let world = World::start().await;
    let numbers = world.post("/v1/embeddings", r#"{"model":"steady","input":["a","b"]}"#).await.json();
    assert_eq!(numbers["data"].as_array().unwrap().len(), 2);
    assert_eq!(numbers["data"][1]["embedding"][0], 0.5);
    let text = world
        .post("/v1/embeddings", r#"{"model":"steady","input":"a","encoding_format":"base64"}"#)
        .await
        .json();
    assert!(text["data"][0]["embedding"].is_string());
}

#[actix_web::test]
async fn two_upstreams_run_in_one_system() {
    let (one, two) = (World::start().await, World::start().await);
    assert_ne!(one.address, two.address);
    for world in [&one, &two] {
        assert_eq!(world.post(CHAT, r#"{"model":"steady"}"#).await.json()["id"], "chatcmpl-demo-1");
    }
}
