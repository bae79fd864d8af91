//! Whole answers of every dialect, by row.

use policy::catalogue::Dialect::{self, Anthropic, Gemini, Openai, Responses};

use super::Quality::{self, Cut, Empty, Error, Garbled, Good};
use super::judge;

#[track_caller]
fn rows(dialect: Dialect, rows: &[(&str, Quality)]) {
    for (body, wanted) in rows {
        assert_eq!(judge(dialect, body.as_bytes()), *wanted, "{dialect:?}: {body}");
    }
}

/// A chat answer with this message and this finish reason.
fn chat(message: &str, finish: &str) -> String {
    format!(
        r#"{{"id":"x","object":"chat.completion","choices":[{{"index":0,"message":{message},"finish_reason":{finish}}}]}}"#
    )
}

#[test]
fn fc_028_an_answer_without_anything_usable_is_empty() {
    rows(
        Openai,
        &[
            ("", Empty),
            (" \r\n ", Empty),
            ("{}", Empty),
            ("{ \n}", Empty),
            ("null", Empty),
            ("[]", Empty),
            ("\"\"", Empty),
            (r#"{"choices":[]}"#, Empty),
            (r#"{"choices":[ ]}"#, Empty),
            (r#"{"object":"chat.completion","choices":null}"#, Empty),
            (r#"{"choices":[{"message":{"content":null}}]}"#, Empty),
            (r#"{"choices":[{"index":0}]}"#, Empty),
            (r#"{"choices":[{"index":0,"finish_reason":"length"}]}"#, Empty),
            (r#"{"choices":[null]}"#, Empty),
            (&chat(r#"{"role":"assistant","content":""}"#, r#""stop""#), Empty),
            (&chat(r#"{"content":[]}"#, r#""stop""#), Empty),
            (
                &chat(r#"{"content":[{"type":"text","text":""}],"tool_calls":[],"refusal":null}"#, "null"),
                Empty,
            ),
        ],
    );
    rows(
        Anthropic,
        &[
            ("{}", Empty),
            (r#"{"type":"message","content":[],"stop_reason":"end_turn"}"#, Empty),
            (r#"{"type":"message","content":[{"type":"text","text":""}],"stop_reason":"end_turn"}"#, Empty),
            (r#"{"type":"message","content":null,"stop_reason":null}"#, Empty),
            (r#"{"type":"message","role":"assistant"}"#, Empty),
            (r#"{"type":"message","content":[],"stop_reason":"stop_sequence"}"#, Empty),
        ],
    );
    rows(
        Responses,
        &[
            ("{}", Empty),
            (r#"{"object":"response","status":"completed","output":[]}"#, Empty),
            (r#"{"object":"response","status":"completed"}"#, Empty),
            (
                r#"{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":""}]}]}"#,
                Empty,
            ),
            (r#"{"status":"completed","output":[{"type":"message","content":[]}]}"#, Empty),
            (r#"{"status":"completed","output":[{"type":"compaction","encrypted_content":""}]}"#, Empty),
            (r#"{"status":"cancelled","output":[{"type":"function_call","name":"f"}]}"#, Empty),
            (r#"{"status":"in_progress","background":false,"output":[]}"#, Empty),
        ],
    );
}

#[test]
fn what_a_reader_can_use_is_good() {
    rows(
        Openai,
        &[
            (&chat(r#"{"content":"hi"}"#, r#""stop""#), Good),
            (&chat(r#"{"content":"\n"}"#, r#""stop""#), Good),
            (&chat(r#"{"content":" "}"#, "null"), Good),
            (&chat(r#"{"content":[{"type":"text","text":"hi"}]}"#, r#""stop""#), Good),
            (&chat(r#"{"content":[{"type":"image_url","image_url":{}}]}"#, r#""stop""#), Good),
            (&chat(r#"{"content":null,"refusal":"no"}"#, r#""stop""#), Good),
            (&chat(r#"{"content":null,"tool_calls":[{"id":"1"}]}"#, r#""stop""#), Good),
            (&chat(r#"{"content":null,"function_call":{"name":"f"}}"#, r#""stop""#), Good),
            (&chat(r#"{"content":null,"audio":{"id":"a"}}"#, r#""stop""#), Good),
            (&chat(r#"{"content":"","images":[{"type":"image_url"}]}"#, r#""stop""#), Good),
            (r#"{"choices":[{"message":{"content":""}},{"message":{"content":"second"}}]}"#, Good),
            ("data: {\"choices\":[]}\n\n", Good),
            (" event: x\ndata: {}\n\n", Good),
        ],
    );
    rows(
        Anthropic,
        &[
            (r#"{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}"#, Good),
            (r#"{"content":[{"type":"tool_use","id":"t","input":{}}]}"#, Good),
            (r#"{"content":[{"type":"thinking","thinking":"x"},{"type":"server_tool_use"}]}"#, Good),
            (r#"{"content":[{"text":"hi"}]}"#, Good),
        ],
    );
    let part = |part: &str| {
        format!(r#"{{"status":"completed","output":[{{"type":"message","content":[{part}]}}]}}"#)
    };
    rows(
        Responses,
        &[
            (&part(r#"{"type":"output_text","text":"hi"}"#), Good),
            (&part(r#"{"type":"refusal","refusal":"no"}"#), Good),
            (&part(r#"{"type":"output_image"}"#), Good),
            (r#"{"status":"done","output":[{"type":"function_call","name":"f","arguments":""}]}"#, Good),
            (r#"{"output":[{"type":"compaction","encrypted_content":"abc"}]}"#, Good),
            (r#"{"object":"response","status":"queued","background":true,"output":[]}"#, Good),
        ],
    );
}

/// FC-085, E125.
#[test]
fn fc_085_an_empty_answer_that_says_why_is_good() {
    for finish in ["length", "content_filter", "tool_calls", "function_call", "max_tokens", "refusal"] {
        rows(Openai, &[(&chat(r#"{"content":""}"#, &format!("{finish:?}")), Good)]);
    }
    let whys = ["max_tokens", "pause_turn", "refusal", "tool_use", "model_context_window_exceeded"];
    for why in whys {
        let body = format!(
            r#"{{"type":"message","content":[],"stop_reason":{why:?},"usage":{{"output_tokens":1}}}}"#
        );
        rows(Anthropic, &[(&body, Good)]);
    }
    let reason = r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[],"error":null}"#;
    rows(Responses, &[(reason, Good)]);
}

#[test]
fn e126_e127_an_error_is_one_in_its_own_field_and_never_in_the_text() {
    rows(
        Openai,
        &[
            (
                r#"{"error":{"message":"quota exceeded"},"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#,
                Error,
            ),
            (&chat(r#"{"content":"they said: quota exceeded, out of credits"}"#, r#""stop""#), Good),
            (r#"{"error":"broken"}"#, Error),
            (r#"{"error":5}"#, Error),
            (r#"{"error":true}"#, Error),
            (r#"{"message":"Insufficient balance"}"#, Error),
            (r#"{"detail":"Your QUOTA EXCEEDED"}"#, Error),
            (r#"{"detail":[{"msg":"credits exhausted"}]}"#, Error),
            (
                r#"{"choices":[{"message":{"content":""},"error":{"code":502},"finish_reason":"error"}]}"#,
                Error,
            ),
            (r#"{"choices":[{"message":{"content":""},"finish_reason":"error"}]}"#, Error),
            (r#"{"choices":[{"message":{"content":"half"},"finish_reason":"error"}]}"#, Good),
            (r#"{"choices":"none","error":{"message":"x"}}"#, Error),
        ],
    );
    for nothing in ["null", "{}", "[]", "\"\"", "false", "{ }"] {
        let body = format!(r#"{{"error":{nothing},"choices":[{{"message":{{"content":"hi"}}}}]}}"#);
        rows(Openai, &[(&body, Good)]);
    }
    rows(
        Anthropic,
        &[
            (r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Error),
            (r#"{"type":"error"}"#, Error),
            (r#"{"content":[{"type":"text","text":"out of credits"}]}"#, Good),
        ],
    );
    rows(
        Responses,
        &[
            (r#"{"status":"failed","error":{"code":"server_error"},"output":[]}"#, Error),
            (r#"{"status":"failed","error":null,"output":[{"type":"function_call"}]}"#, Error),
            (r#"{"status":"completed","error":null,"output":[{"type":"function_call"}]}"#, Good),
        ],
    );
    rows(Gemini, &[(r#"{"error":{"code":429}}"#, Error), (r#"{"candidates":[]}"#, Good), ("{\"a", Cut)]);
}

/// Decisions 18 and 21: both halves fail over.
#[test]
fn e128_reasoning_alone_is_nothing() {
    for reasoning in [95, 80] {
        let usage = format!(
            r#""usage":{{"completion_tokens":100,"completion_tokens_details":{{"reasoning_tokens":{reasoning}}}}}"#
        );
        let with = |content: &str| {
            let message = format!(r#"{{"content":{content},"reasoning_content":"hm"}}"#);
            format!(r#"{{"choices":[{{"message":{message},"finish_reason":"stop"}}],{usage}}}"#)
        };
        rows(Openai, &[(&with("null"), Empty), (&with("\"\""), Empty), (&with("\"x\""), Good)]);
        // White space is a text, unless all the work went into thinking.
        let blank = if reasoning == 95 { Empty } else { Good };
        rows(Openai, &[(&with(r#"" \n\t""#), blank), (&with(r#"" \n.""#), Good)]);
    }
    let rest = r#""usage":{"completion_tokens":10,"completion_tokens_details":{"reasoning_tokens":9}}"#;
    let body = format!(r#"{{"choices":[{{"message":{{"content":" ","reasoning":"hm"}}}}],{rest}}}"#);
    rows(
        Openai,
        &[(&body, Empty), (&body.replace(":9}", ":8}"), Good), (&body.replace("\"hm\"", "null"), Good)],
    );
    rows(
        Anthropic,
        &[
            (r#"{"content":[{"type":"thinking","thinking":"hm"}],"stop_reason":"end_turn"}"#, Empty),
            (r#"{"content":[{"type":"redacted_thinking","data":"x"}],"stop_reason":"end_turn"}"#, Empty),
            (r#"{"content":[{"type":"thinking","thinking":"hm"}],"stop_reason":"max_tokens"}"#, Good),
        ],
    );
    rows(
        Responses,
        &[(r#"{"status":"completed","output":[{"type":"reasoning","summary":[{"text":"hm"}]}]}"#, Empty)],
    );
}

/// Flow 6.11.53: no `choices` and no error passes.
#[test]
fn what_nobody_can_place_is_let_through() {
    for dialect in [Openai, Anthropic, Responses, Gemini] {
        let shapes = [
            r#"{"foo":1}"#,
            r#"{"data":[{"embedding":[0.1]}],"model":"e"}"#,
            r#"{"input_tokens":12}"#,
            r#"["a"]"#,
            r#""text""#,
            "7",
            r#"{"choices":5,"content":5,"output":5}"#,
            r#"{"choices":[{"message":"text"}],"content":["text"],"output":["text"]}"#,
        ];
        rows(dialect, &shapes.map(|shape| (shape, Good)));
    }
}

/// Decision 9a: its JSON must be closed; an HTML page is none.
#[test]
fn json_that_is_not_closed_is_cut_and_what_is_none_is_garbled() {
    let whole = chat(r#"{"content":"a \"b\" \u00e9","x":[1,2,{"y":null}]}"#, r#""stop""#);
    assert_eq!(judge(Openai, whole.as_bytes()), Good);
    for at in 1..whole.len() {
        assert_eq!(judge(Openai, &whole.as_bytes()[..at]), Cut, "{}", &whole[..at]);
    }
    for text in
        ["<html><body>502</body></html>", "upstream error", "{'a':1}", "{\"a\":1}x", "{\"a\":1}{\"b\":2}"]
    {
        rows(Openai, &[(text, Garbled)]);
    }
}

#[test]
fn bytes_that_are_no_text_make_no_answer_bad() {
    let with = |bytes: &[u8]| [b"{\"choices\":[{\"message\":{\"content\":\"a", bytes, b"\"}}]}"].concat();
    assert_eq!(judge(Openai, &with(b"\xff\xfe")), Good);
    assert_eq!(judge(Openai, &with(b"\xe2\x82")), Good);
    let cut = with(b"\xff");
    assert_eq!(judge(Openai, &cut[..cut.len() - 2]), Cut);
    assert_eq!(judge(Openai, b"\xff\xfe"), Garbled);
    assert_eq!(judge(Openai, &[b"\xef\xbb\xbf", &with(b"")[..]].concat()), Good, "a byte order mark");
    let deep = format!("{{\"x\":{}{},\"choices\":[]}}", "[".repeat(5_000), "]".repeat(5_000));
    assert_eq!(judge(Openai, deep.as_bytes()), Empty, "however deep");
}
