//! FC-123, decision 26b: what the `model` of an answer says, and that nothing else of it changes.

use std::time::Duration;

use serde_json::json;

use super::CHAT;
use crate::support::{Answer, Setup, World};

const REQUESTED: &str = "[formats]\nresponse_model = \"requested\"\n";
const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";

/// What an upstream answers, by route; the model talks of itself, too.
const WHOLE: [(&str, &str); 4] = [
    (
        CHAT,
        r#"{ "id":"x", "model":"GPT-Y-2026","choices":[{"index":0,"message":{"role":"assistant","content":"I am \"model\":\"GPT-Y-2026\""},"finish_reason":"stop"}], "n":1.0 }"#,
    ),
    (
        MESSAGES,
        r#"{"id":"m","type":"message","role":"assistant","model":"GPT-Y-2026","content":[{"type":"text","text":"I am GPT-Y-2026"}],"stop_reason":"end_turn"}"#,
    ),
    (
        RESPONSES,
        r#"{"id":"r","object":"response","status":"completed","model":"GPT-Y-2026","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}"#,
    ),
    ("/v1/embeddings", r#"{"object":"list","data":[{"embedding":[0.5]}],"model":"GPT-Y-2026"}"#),
];
const STREAMS: [(&str, &str); 3] = [
    (
        CHAT,
        "data: {\"id\":\"x\",\"model\":\"GPT-Y-2026\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"I am GPT-Y-2026\"}}]}\n\n\
         data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"model\":\"GPT-Y-2026\"}\r\n\r\n\
         data: [DONE]\n\n",
    ),
    (
        MESSAGES,
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"model\":\"GPT-Y-2026\",\"content\":[]}}\n\n\
         event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n\
         event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
         event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    ),
    (
        RESPONSES,
        "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"model\":\"GPT-Y-2026\"}}\n\n\
         event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}\n\n\
         event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"model\":\"GPT-Y-2026\"}}\n\n",
    ),
];

fn world(section: &str) -> World {
    Setup::new().section(section).provider("a", 1).combo("my-combo", &["a"]).start()
}

/// What the client is to get.
fn named(answer: &str) -> String {
    answer.replace("\"model\":\"GPT-Y-2026\"", "\"model\":\"my-combo\"")
}

/// In three chunks, cut within events.
fn stream(events: &str) -> Answer {
    let (first, rest) = events.split_at(20);
    let (second, third) = rest.split_at(rest.len() / 2);
    Answer::stream().chunk(first).chunk(second).chunk(third).last_chunk()
}

#[test]
fn fc_123_an_answer_names_the_model_that_was_asked_for_where_that_is_wanted() {
    let world = world(REQUESTED);
    for (path, answer) in WHOLE {
        world.upstream("a").answers(Answer::json(200, answer));
        let reply = world.post(path, json!({"model": "my-combo"}));
        // What the model says of itself is written with other quotes.
        assert_eq!((reply.status, reply.text()), (200, named(answer)), "{path}");
        assert_eq!(reply.header("x-omniroute-model"), Some("x"), "who answered is told");
    }
    for (path, events) in STREAMS {
        world.upstream("a").answers(stream(events));
        let reply = world.post(path, json!({"model": "my-combo", "stream": true}));
        assert_eq!((reply.status, reply.text()), (200, named(events)), "{path}");
    }
}

#[test]
fn decision_26b_by_default_no_byte_of_an_answer_changes() {
    let world = world("");
    for (path, answer) in WHOLE {
        world.upstream("a").answers(Answer::json(200, answer));
        assert_eq!(world.post(path, json!({"model": "my-combo"})).text(), answer, "{path}");
    }
    for (path, events) in STREAMS {
        world.upstream("a").answers(stream(events));
        assert_eq!(world.post(path, json!({"model": "my-combo", "stream": true})).text(), events, "{path}");
    }
}

/// An answer that is too long to be held has its length told before it has come.
#[test]
fn fc_123_a_long_answer_has_the_right_length_and_a_failure_keeps_its_words() {
    let world = world(REQUESTED);
    let answer = WHOLE[0].1.replace("I am", &"I am ".repeat(400_000));
    world.upstream("a").answers(Answer::json(200, &answer));
    let reply = world.post(CHAT, json!({"model": "my-combo"}));
    let expected = named(&answer);
    assert_eq!(reply.header("content-length"), Some(expected.len().to_string().as_str()));
    assert!(reply.text() == expected, "{} bytes", reply.text().len());
    let failure = r#"{"error":{"message":"no","code":"bad"},"model":"GPT-Y-2026"}"#;
    world.upstream("a").answers(Answer::json(400, failure));
    let reply = world.post(CHAT, json!({"model": "my-combo"}));
    assert!(reply.status == 400 && reply.text().contains("GPT-Y-2026"), "{}", reply.text());
}

#[test]
fn fc_123_a_stream_whose_head_went_out_early_names_it_too() {
    let world = world(&format!("{REQUESTED}[stream]\nearly_commit = \"50ms\"\nheartbeat = \"100ms\""));
    for (path, events) in STREAMS {
        world.upstream("a").answers(stream(events).after(Duration::from_millis(300)));
        let text = world.post(path, json!({"model": "my-combo", "stream": true})).text();
        assert!(text.starts_with(": keep-alive\n\n") && text.ends_with(&named(events)), "{path}: {text}");
    }
}

/// Each name is as clients write it; the others go by what is said of all.
#[test]
fn fc_123_single_names_can_be_told_otherwise() {
    let one = "[formats]\nresponse_model_by_name = { \"alias-*\" = \"upstream\", \"alias-mine\" = \"requested\" }\n\
               [aliases]\nalias-mine = \"a/x\"\nalias-other = \"a/x\"\n";
    let all_but = one.replace("[formats]\n", REQUESTED);
    for (section, combo) in [(one, "GPT-Y-2026"), (&*all_but, "my-combo")] {
        let world = world(section);
        for (model, expected) in
            [("alias-mine", "alias-mine"), ("alias-other", "GPT-Y-2026"), ("my-combo", combo)]
        {
            let named =
                |text: &str| text.replace("\"model\":\"GPT-Y-2026\"", &format!("\"model\":\"{expected}\""));
            world.upstream("a").answers(Answer::json(200, WHOLE[0].1));
            assert_eq!(world.post(CHAT, json!({"model": model})).text(), named(WHOLE[0].1), "{model}");
            world.upstream("a").answers(stream(STREAMS[0].1));
            let reply = world.post(CHAT, json!({"model": model, "stream": true}));
            assert_eq!(reply.text(), named(STREAMS[0].1), "{model}");
        }
    }
}

/// Its length is not told before the name has come.
#[test]
fn fc_123_a_long_answer_may_name_its_model_at_its_end() {
    let world = world(REQUESTED);
    let words = "I am \\\"model\\\":\\\"GPT-Y-2026\\\" ".repeat(100_000);
    let answer = format!(
        r#"{{"id":"x","choices":[{{"index":0,"message":{{"role":"assistant","content":"{words}"}},"model":"inner"}}],"model":"GPT-Y-2026","n":1.0}}"#
    );
    world.upstream("a").answers(Answer::json(200, &answer));
    let reply = world.post(CHAT, json!({"model": "my-combo"}));
    let expected = answer.replace("\"model\":\"GPT-Y-2026\"", "\"model\":\"my-combo\"");
    assert!(answer.len() > 2 << 20 && expected != answer, "{} bytes", answer.len());
    assert!(reply.text() == expected, "{} of {} bytes", reply.text().len(), expected.len());
    assert_eq!(reply.header("content-length"), None);
}
