//! Every way in which a request may end leaves one row, and never a zero that looks known (FC-098).

use std::io::Read;

use serde_json::{Value, json};

use crate::process::{eventually, read};
use crate::stage::{ALICE, Stage, fields};
use crate::support::{Answer, Gate};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const ENDS: [&str; 6] =
    ["requests", "attempts", "failedRequests", "partialRequests", "estimatedRequests", "unknownRequests"];

/// The beginning of a message's stream.
fn begun() -> Answer {
    let usage = r#"{"input_tokens":27,"cache_read_input_tokens":100,"output_tokens":1}"#;
    let start = format!(
        "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"usage\":{usage}}}}}\n\n"
    );
    let delta = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word \"}}\n\n";
    (0..6).fold(Answer::stream().chunk(start), |answer, _| answer.chunk(delta))
}

/// Reads of a stream until so many deltas have come.
fn deltas(stream: &mut std::net::TcpStream, count: usize) {
    let (mut read, mut piece) = (String::new(), [0; 4096]);
    while read.matches("content_block_delta\"").count() < count {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "{read}");
        read += &String::from_utf8_lossy(&piece[..count]);
    }
}

#[test]
fn fc_098_a_client_that_leaves_after_a_few_deltas_leaves_a_row() {
    let stage = Stage::new("leaves");
    let never = Gate::default();
    stage.vendor.answers(begun().until(&never).last_chunk());
    let mut stream = stage.open(ALICE, MESSAGES, &json!({"model": "p/m", "stream": true}));
    deltas(&mut stream, 6);
    drop(stream);
    let row = stage.row(1);
    assert_eq!(
        [&row["key"], &row["connection"], &row["model"]],
        [&json!("alice"), &json!("p-1"), &json!("m")]
    );
    assert_eq!(fields(&row, ENDS)[..4], [1, 1, 0, 1], "{row}");
    assert_eq!(fields(&row, ["inputTokens", "cachedTokens"]), [127, 100]);
    assert!(fields(&row, ["outputTokens"])[0] >= 1, "what was said as it began, or more");
}

#[test]
fn fc_098_a_stream_that_is_cut_leaves_a_row() {
    let stage = Stage::new("cut");
    stage.vendor.answers(begun().closes());
    let stream = stage.open(ALICE, MESSAGES, &json!({"model": "p/m", "stream": true}));
    assert_eq!(read(stream).0, 200);
    let row = stage.row(1);
    assert_eq!(fields(&row, ENDS)[..4], [1, 1, 0, 1], "{row}");
    assert_eq!(fields(&row, ["inputTokens", "cachedTokens"]), [127, 100]);
}

#[test]
fn fc_098_what_the_provider_does_not_say_is_not_zero() {
    let stage = Stage::new("silent");
    stage.vendor.answers(Answer::good("vendor"));
    assert_eq!(stage.ask(ALICE, CHAT, "p/m"), 200);
    assert_eq!(fields(&stage.row(1), ENDS), [1, 1, 0, 0, 0, 1]);
    stage.vendor.answers(Answer::json(
        200,
        r#"{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":0,"completion_tokens":0}}"#,
    ));
    assert_eq!(stage.ask(ALICE, CHAT, "p/m"), 200);
    assert_eq!(fields(&stage.row(2), ENDS), [2, 2, 0, 0, 0, 2]);
}

/// What is written in the first part of an answer counts as much as the rest.
#[test]
fn fc_098_an_answer_that_comes_in_one_piece_is_estimated() {
    let stage = Stage::new("piece");
    let text = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"12345678\"}}]}\n\n";
    let body = json!({"model": "p/m", "stream": true});
    for (number, (end, partial)) in [("data: [DONE]\n\n", 0), ("", 1)].into_iter().enumerate() {
        stage.vendor.answers(Answer::stream().chunk(text.to_owned() + end).last_chunk());
        assert_eq!(read(stage.open(ALICE, CHAT, &body)).0, 200);
        let row = stage.row(number as u64 + 1);
        let estimated = number as u64 + 1;
        assert_eq!(fields(&row, ENDS), [estimated, estimated, 0, partial, estimated, 0], "{row}");
        assert_eq!(fields(&row, ["outputTokens"]), [2 * estimated]);
    }
}

#[test]
fn a_client_that_leaves_before_its_answer_leaves_a_row() {
    let stage = Stage::new("early");
    stage.vendor.answers(Answer::silence());
    let stream = stage.open(ALICE, CHAT, &json!({"model": "p/m"}));
    eventually("the vendor is asked", || stage.vendor.asked() == 1);
    drop(stream);
    let row = stage.row(1);
    assert_eq!((&row["connection"], fields(&row, ENDS)), (&json!("p-1"), [1, 1, 0, 1, 0, 1]), "{row}");
}

#[test]
fn a_request_that_nobody_answers_well_is_a_failed_one() {
    let stage = Stage::new("failed");
    stage.vendor.answers(Answer::status(400));
    assert_eq!(stage.ask(ALICE, CHAT, "p/m"), 400);
    let row = stage.row(1);
    assert_eq!((&row["connection"], fields(&row, ENDS)), (&json!("p-1"), [1, 1, 1, 0, 0, 0]), "{row}");
}

#[test]
fn a_request_that_was_never_sent_names_no_target() {
    let stage = Stage::new("unsent");
    assert_eq!(stage.ask(ALICE, CHAT, "nobody/knows"), 404);
    let row = stage.row(1);
    let names = ["provider", "connection", "model"].map(|name| row.get(name));
    assert_eq!(names, [Some(&Value::Null); 3], "{row}");
    assert_eq!((&row["key"], fields(&row, ENDS)), (&json!("alice"), [1, 0, 1, 0, 0, 0]), "{row}");
}

#[test]
fn a_request_that_failed_over_counts_once_for_who_answered() {
    let stage = Stage::new("over");
    let good =
        r#"{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":5,"completion_tokens":6}}"#;
    stage.vendor.answers(Answer::json(200, good));
    stage.vendor.answers_first([Answer::status(503)]);
    assert_eq!(stage.ask("nobody", CHAT, "p/m"), 200);
    assert_eq!(stage.vendor.asked(), 2);
    let row = stage.row(1);
    assert_eq!((&row["key"], fields(&row, ENDS)), (&Value::Null, [1, 2, 0, 0, 0, 0]), "{row}");
    assert_eq!(fields(&row, ["inputTokens", "outputTokens"]), [5, 6]);
    let second = stage.vendor.requests()[1].header("authorization").unwrap().to_owned();
    assert!(second.contains(row["connection"].as_str().unwrap()), "{second} {row}");
}

#[test]
fn counting_tokens_is_a_request_that_takes_none() {
    let stage = Stage::new("counting");
    stage.vendor.answers(Answer::json(200, r#"{"input_tokens":1234}"#));
    assert_eq!(stage.ask(ALICE, "/v1/messages/count_tokens", "p/m"), 200);
    let row = stage.row(1);
    assert_eq!(fields(&row, ENDS), [1, 1, 0, 0, 0, 0]);
    assert_eq!(fields(&row, ["inputTokens", "outputTokens"]), [0, 0]);
}

#[test]
fn a_shutdown_that_cuts_a_stream_counts_it_before_it_ends() {
    let mut stage = Stage::new("shutdown");
    stage.site.edit(|config| config.replace("shutdown_grace = \"5s\"", "shutdown_grace = \"50ms\""));
    stage.site.crash(&mut stage.process);
    let never = Gate::default();
    stage.vendor.answers(begun().until(&never).last_chunk());
    let mut stream = stage.open(ALICE, MESSAGES, &json!({"model": "p/m", "stream": true}));
    deltas(&mut stream, 6);
    stage.process.signal("TERM");
    assert_eq!(read(stream).0, 0, "the head was read before");
    assert!(stage.process.child.wait().unwrap().success());
    stage.process = stage.site.start();
    let row = stage.row(1);
    assert_eq!(fields(&row, ENDS)[..4], [1, 1, 0, 1], "{row}");
}

/// Flow 6.8.42: an answer that was gone on with is one request, and what both calls took is counted.
#[test]
fn an_answer_that_was_gone_on_with_counts_all_of_it_once() {
    let mut stage = Stage::new("resumed");
    stage.site.edit(|config| config + "[resilience.stream_recovery]\ncontinue_mid_stream = true\n");
    stage.site.crash(&mut stage.process);
    let chat = |text: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n"
        )
    };
    let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
               data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":70}}\n\ndata: [DONE]\n\n";
    stage.vendor.answers(Answer::stream().chunk(chat("Hello world!")).chunk(end).last_chunk());
    stage.vendor.answers_first([Answer::stream().chunk(chat("Hello wor")).resets()]);
    let body = json!({"model": "p/m", "stream": true, "messages": [{"role": "user", "content": "q"}]});
    let (status, _, text) = read(stage.open(ALICE, CHAT, &body));
    assert!(status == 200 && text.contains("[DONE]"), "{text}");
    let row = stage.row(1);
    assert_eq!(fields(&row, ENDS), [1, 1, 0, 0, 1, 0], "{row}");
    let asked = body.to_string().len() as u64;
    let first = [asked.div_ceil(4), 3];
    assert_eq!(fields(&row, ["inputTokens", "outputTokens"]), [1000 + first[0], 70 + first[1]], "{row}");
}
