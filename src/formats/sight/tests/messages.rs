//! Frames of messages: flow 6.3.12, 6.7.36, 6.7.37.

use policy::catalogue::Dialect;

use super::{check, sight, words};

#[test]
fn what_opens_and_closes_is_life_cycle() {
    check(
        Dialect::Anthropic,
        &[
            (r#"{"type":"message_start","message":{"id":"m","content":[],"stop_reason":null}}"#, "Lifecycle"),
            (
                r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":3}}}"#,
                "Lifecycle usage",
            ),
            (r#"{"type":"message_start","message":{"content":[{"type":"text","text":"ab"}]}}"#, "Output 2"),
            (r#"{"type":"message_start"}"#, "Lifecycle"),
            (
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                "Lifecycle",
            ),
            (r#"{"type":"content_block_stop","index":0}"#, "Lifecycle"),
            (r#"{"type":"message_stop"}"#, "Lifecycle end:Complete"),
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                "Error end:Failed",
            ),
            (r#"{"type":"error"}"#, "Error end:Failed"),
            (r#"{"type":"mystery","delta":{"text":"x"}}"#, "Opaque"),
        ],
    );
    assert_eq!(
        words(sight(Dialect::Anthropic, "event:message_stop\ndata:{\"a\":1}")),
        "Lifecycle end:Complete"
    );
}

#[test]
fn a_stop_reason_is_seen_with_its_counts() {
    let reasons = [
        ("end_turn", "Stop"),
        ("stop_sequence", "Stop"),
        ("max_tokens", "Length"),
        ("model_context_window_exceeded", "Length"),
        ("tool_use", "Tools"),
        ("refusal", "Filter"),
        ("pause_turn", "Other"),
    ];
    for (reason, finish) in reasons {
        let data = format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":1}}}}"#
        );
        check(Dialect::Anthropic, &[(&data, &format!("Lifecycle usage {finish}"))]);
    }
    check(Dialect::Anthropic, &[(r#"{"type":"message_delta","delta":{"stop_reason":null}}"#, "Lifecycle")]);
}

#[test]
fn a_delta_says_what_its_type_says() {
    let rows = [
        (r#"{"type":"text_delta","text":"Hi é"}"#, "Output 5"),
        (r#"{"type":"text_delta","text":""}"#, "Lifecycle"),
        (r#"{"text":"Hi"}"#, "Output 2"),
        (r#"{"type":"input_json_delta","partial_json":""}"#, "Tool"),
        (r#"{"type":"input_json_delta","partial_json":"{\"a\""}"#, "Tool"),
        (r#"{"type":"thinking_delta","thinking":"hm"}"#, "Reasoning true"),
        (r#"{"type":"thinking_delta","thinking":""}"#, "Reasoning false"),
        (r#"{"type":"signature_delta","signature":"abc"}"#, "Reasoning false"),
        (r#"{"type":"signature_delta","signature":""}"#, "Lifecycle"),
        (r#"{"type":"citations_delta","citation":{}}"#, "Output"),
        (r#"{"type":"hologram_delta"}"#, "Output"),
    ];
    for (delta, expected) in rows {
        let data = format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#);
        check(Dialect::Anthropic, &[(&data, expected)]);
    }
}

#[test]
fn a_block_says_by_its_start_what_it_is() {
    let rows = [
        (r#"{"type":"text","text":"Hi"}"#, "Output 2"),
        (r#"{"type":"tool_use","id":"t","name":"f","input":{}}"#, "Tool"),
        (r#"{"type":"server_tool_use","name":"web_search"}"#, "Tool"),
        (r#"{"type":"thinking","thinking":"","signature":""}"#, "Reasoning false"),
        (r#"{"type":"thinking","thinking":"hm"}"#, "Reasoning true"),
        (r#"{"type":"redacted_thinking","data":"abc"}"#, "Reasoning false"),
        (r#"{"type":"web_search_tool_result","content":[]}"#, "Output"),
        (r#"{"type":"image","source":{}}"#, "Output"),
    ];
    for (block, expected) in rows {
        let data = format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
        check(Dialect::Anthropic, &[(&data, expected)]);
    }
}
