use policy::usage::Tokens;

use super::said::MOST;
use super::{LONGEST, Usage};

fn read(bytes: &[u8], chunk: usize) -> Tokens {
    let mut usage = Usage::default();
    bytes.chunks(chunk).for_each(|bytes| usage.see(bytes));
    usage.tokens()
}

/// Input, cached, written to a cache, output, reasoning.
type Numbers = [u64; 5];

fn check(rows: &[(&str, &str, Numbers)]) {
    for (row, text, [input, cached, cache_write, output, reasoning]) in rows {
        let expected = Tokens {
            input: *input,
            cached: *cached,
            cache_write: *cache_write,
            output: *output,
            reasoning: *reasoning,
        };
        for chunk in [1, 2, 3, 5, 7, 16, 64, text.len()] {
            assert_eq!(read(text.as_bytes(), chunk), expected, "{row} in chunks of {chunk}");
        }
    }
}

const RESPONSES: &str = concat!(
    "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"usage\":null}}\n\n",
    "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"usage\"}\n\n",
    "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":12,",
    "\"input_tokens_details\":{\"cached_tokens\":4},\"output_tokens\":34,\"output_tokens_details\":",
    "{\"reasoning_tokens\":20},\"total_tokens\":46}}}\n\n",
);

#[test]
fn each_dialect_says_it_in_its_way_and_however_it_is_cut() {
    check(&[
        (
            "chat",
            r#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":34,"total_tokens":46,
               "prompt_tokens_details":{"cached_tokens":8,"audio_tokens":0},
               "completion_tokens_details":{"reasoning_tokens":20}}}"#,
            [12, 8, 0, 34, 20],
        ),
        (
            "chat, details that are null",
            r#"{"usage":{"prompt_tokens":12,"prompt_tokens_details":null}}"#,
            [12, 0, 0, 0, 0],
        ),
        (
            "chat, a gateway that writes to caches",
            r#"{"usage":{"prompt_tokens":12,"completion_tokens":3,
               "prompt_tokens_details":{"cached_tokens":2,"cache_write_tokens":5}}}"#,
            [12, 2, 5, 3, 0],
        ),
        (
            "chat, hits and misses",
            r#"{"usage":{"prompt_tokens":12,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":4}}"#,
            [12, 8, 0, 0, 0],
        ),
        (
            "chat, Anthropic's words beside a prompt that holds them",
            r#"{"usage":{"prompt_tokens":12,"cache_read_input_tokens":5,"cache_creation_input_tokens":4}}"#,
            [12, 5, 4, 0, 0],
        ),
        (
            "chat, reasoning besides the output: the total tells",
            r#"{"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":35,
               "completion_tokens_details":{"reasoning_tokens":20}}}"#,
            [12, 0, 0, 23, 20],
        ),
        ("embeddings", r#"{"data":[],"usage":{"prompt_tokens":12,"total_tokens":12}}"#, [12, 0, 0, 0, 0]),
        ("responses", RESPONSES, [12, 4, 0, 34, 20]),
        (
            "messages",
            r#"{"content":[],"usage":{"input_tokens":10,"cache_creation_input_tokens":20,
               "cache_read_input_tokens":5,"output_tokens":34,"service_tier":"standard",
               "cache_creation":{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":0}}}"#,
            [35, 5, 20, 34, 0],
        ),
        (
            "gemini",
            r#"{"candidates":[],"usageMetadata" : {"promptTokenCount":12,"cachedContentTokenCount":4,
               "candidatesTokenCount":34,"thoughtsTokenCount":20,"toolUsePromptTokenCount":3,
               "totalTokenCount":69,"promptTokensDetails":[{"modality":"TEXT","tokenCount":12}]}}"#,
            [15, 4, 0, 54, 20],
        ),
        (
            "gemini, without its output: the total tells",
            r#"{"usageMetadata":{"promptTokenCount":12,"thoughtsTokenCount":20,"totalTokenCount":39}}"#,
            [12, 0, 0, 27, 20],
        ),
    ]);
}

#[test]
fn fc_098_usage_behind_the_finish_reason_counts_and_what_was_not_said_is_zero() {
    check(&[
        (
            "behind the finish reason",
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null}\n\n\
             data: {\"choices\":[],\"usage\": {\"prompt_tokens\":12,\"completion_tokens\":34}}\n\ndata: [DONE]\n\n",
            [12, 0, 0, 34, 0],
        ),
        ("none", r#"{"choices":[{"message":{"content":"hello"}}]}"#, [0; 5]),
        ("of another shape", r#"{"usage":{"prompt_tokens":-1,"completion_tokens":"many"}}"#, [0; 5]),
        ("no object", r#"{"usage":[{"prompt_tokens":1}],"usage":7,"usage":"x"}"#, [0; 5]),
        ("no JSON", r#"{"usage":{"prompt_tokens":12,}}"#, [0; 5]),
        ("another name", r#"{"usages":{"prompt_tokens":1},"usageMeta":{"prompt_tokens":1}}"#, [0; 5]),
        ("cut", r#"{"usage":{"prompt_tokens":12,"completion_tokens":3"#, [0; 5]),
    ]);
}

#[test]
fn numbers_inside_texts_are_not_taken() {
    check(&[
        (
            "escaped",
            r#"{"content":"{\"usage\":{\"prompt_tokens\":99}}","usage":{"prompt_tokens":1}}"#,
            [1, 0, 0, 0, 0],
        ),
        ("a text that is the name", r#"{"content":"usage","name":"usage", "x":{"prompt_tokens":9}}"#, [0; 5]),
        ("a text that ends in it", r#"{"content":"so \"usage","x":{"prompt_tokens":9}}"#, [0; 5]),
        (
            "arguments of a tool that are JSON: what the answer says itself comes last",
            r#"{"content":[{"type":"tool_use","input":{"usage":{"input_tokens":900,"output_tokens":900}}}],
               "usage":{"input_tokens":10,"output_tokens":3}}"#,
            [10, 0, 0, 3, 0],
        ),
    ]);
}

/// Frames of a message's start and of its ends.
fn message(start: &str, deltas: &[&str]) -> String {
    let mut text = format!(
        "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"usage\":{start}}}}}\n\n\
         event: content_block_delta\ndata: {{\"delta\":{{\"text\":\"\\\"usage\\\"\"}}}}\n\n"
    );
    for delta in deltas {
        text += &format!("event: message_delta\ndata: {{\"type\":\"message_delta\",\"usage\":{delta}}}\n\n");
    }
    text + "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
}

#[test]
fn fc_035_what_is_said_twice_counts_once() {
    let full = r#"{"input_tokens":27,"cache_read_input_tokens":100,"output_tokens":47}"#;
    let start = r#"{"input_tokens":27,"cache_read_input_tokens":100,"output_tokens":1}"#;
    let grows = [r#"{"output_tokens":12}"#, r#"{"output_tokens":30}"#, r#"{"output_tokens":47}"#];
    let zero = r#"{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}"#;
    let whole = r#"{"input_tokens":127,"output_tokens":1}"#;
    let read = r#"{"cache_read_input_tokens":100,"output_tokens":47}"#;
    check(&[
        ("start and delta", &message(start, &[full]), [127, 100, 0, 47, 0]),
        ("none in the start", &message(zero, &[full]), [127, 100, 0, 47, 0]),
        ("null in the start", &message("null", &[full]), [127, 100, 0, 47, 0]),
        ("several deltas", &message(start, &grows), [127, 100, 0, 47, 0]),
        ("several full deltas", &message(start, &[start, full, full]), [127, 100, 0, 47, 0]),
        ("a delta that says only its output", &message(start, &grows[2..]), [127, 100, 0, 47, 0]),
        ("zeros at the end say nothing", &message(start, &[full, zero]), [127, 100, 0, 47, 0]),
        ("a start that counts the cache in", &message(whole, &[full]), [127, 100, 0, 47, 0]),
        ("half here, half there", &message(r#"{"input_tokens":27}"#, &[read]), [127, 100, 0, 47, 0]),
    ]);
}

#[test]
fn a_stream_of_gemini_says_it_with_every_chunk_and_the_last_holds() {
    let chunk =
        |numbers: &str| format!("data: {{\"candidates\":[],\"usageMetadata\":{{{numbers}}}}}\r\n\r\n");
    let text = chunk(r#""promptTokenCount":12,"totalTokenCount":12"#)
        + &chunk(r#""promptTokenCount":12,"candidatesTokenCount":3,"totalTokenCount":15"#)
        + &chunk(
            r#""promptTokenCount":12,"candidatesTokenCount":9,"thoughtsTokenCount":5,"totalTokenCount":26"#,
        );
    check(&[("gemini, streamed", &text, [12, 0, 0, 14, 5])]);
}

#[test]
fn what_never_ends_is_not_awaited() {
    let mut usage = Usage::default();
    usage.see(b"{\"usage\":{\"a\":\"");
    for _ in 0..100 {
        usage.see(&[b'x'; 1_000]);
    }
    assert!(usage.rest.len() <= LONGEST, "{}", usage.rest.len());
    usage.see(b"\"}, \"usage\":{\"prompt_tokens\":1}}");
    assert_eq!(usage.tokens().input, 1, "and hides nothing behind it");
}

#[test]
fn bytes_without_the_name_leave_nothing_behind() {
    let mut usage = Usage::default();
    usage.see(b"data: {\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\n");
    assert_eq!(usage.rest.capacity(), 0);
}

/// A client's budget is charged with what is said here.
#[test]
fn a_number_beyond_all_bounds_says_nothing() {
    let text = |number: u64| {
        format!(
            r#"{{"usage":{{"input_tokens":{number},"cache_read_input_tokens":{number},"output_tokens":{number}}}}}"#
        )
    };
    check(&[
        ("the most", &text(MOST), [2 * MOST, MOST, 0, MOST, 0]),
        ("more", &text(MOST + 1), [0; 5]),
        ("all there is", &text(u64::MAX), [0; 5]),
        ("beside others", &text(u64::MAX).replacen(&u64::MAX.to_string(), "7", 1), [7, 0, 0, 0, 0]),
    ]);
}
