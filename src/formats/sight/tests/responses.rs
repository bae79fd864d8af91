//! Frames of Responses: flow 6.3.12, 6.7.36, 6.11.50.

use policy::catalogue::Dialect;

use super::check;

#[test]
fn a_response_opens_and_ends_in_its_own_words() {
    check(
        Dialect::Responses,
        &[
            (
                r#"{"type":"response.created","response":{"error":null,"output":[],"usage":null}}"#,
                "Lifecycle",
            ),
            (r#"{"type":"response.in_progress","response":{"instructions":"be {kind}"}}"#, "Lifecycle"),
            (r#"{"type":"response.queued"}"#, "Lifecycle"),
            (r#"{"type":"response.completed"}"#, "Lifecycle Stop end:Complete"),
            (
                r#"{"type":"response.completed","response":{"status":"completed","error":null,"output":[],"usage":{"input_tokens":1}}}"#,
                "Lifecycle usage Stop end:Complete",
            ),
            (
                r#"{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]}]}}"#,
                "Output Stop end:Complete",
            ),
            (
                r#"{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":""}]}]}}"#,
                "Lifecycle Stop end:Complete",
            ),
            (
                r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}"#,
                "Lifecycle Length end:Incomplete",
            ),
            (
                r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}"#,
                "Lifecycle Filter end:Incomplete",
            ),
            (r#"{"type":"response.incomplete"}"#, "Lifecycle Other end:Incomplete"),
            (
                r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error"},"usage":{"input_tokens":1}}}"#,
                "Error usage end:Failed",
            ),
            (r#"{"type":"response.failed"}"#, "Error end:Failed"),
            (
                r#"{"type":"response.failed","response":{"output":[{"type":"function_call"}]}}"#,
                "Error end:Failed",
            ),
            (r#"{"type":"response.completed","response":{"error":{"code":"x"}}}"#, "Error Stop end:Failed"),
            (
                r#"{"type":"response.done","response":{"status":"incomplete","incomplete_details":null}}"#,
                "Lifecycle Other end:Incomplete",
            ),
            (r#"{"type":"response.done","response":{"status":"failed"}}"#, "Error end:Failed"),
            (r#"{"type":"response.done","response":{"status":"completed"}}"#, "Lifecycle Stop end:Complete"),
            // The frame's own word wins over a status that was never set anew.
            (
                r#"{"type":"response.completed","response":{"status":"in_progress"}}"#,
                "Lifecycle Stop end:Complete",
            ),
            (r#"{"type":"response.failed","response":{"status":"in_progress"}}"#, "Error end:Failed"),
            (r#"{"type":"error","code":"server_error","message":"m","param":null}"#, "Error end:Failed"),
            (r#"{"type":"response.mystery","x":1}"#, "Opaque"),
        ],
    );
}

#[test]
fn deltas_are_counted_and_what_repeats_them_is_not() {
    check(
        Dialect::Responses,
        &[
            (
                r#"{"type":"response.output_text.delta","item_id":"i","delta":"Hi é","logprobs":[]}"#,
                "Output 5",
            ),
            (r#"{"type":"response.output_text.delta","delta":""}"#, "Lifecycle"),
            (r#"{"type":"response.output_text.done","text":"Hi é"}"#, "Output"),
            (r#"{"type":"response.output_text.done","text":""}"#, "Lifecycle"),
            (r#"{"type":"response.refusal.delta","delta":"No"}"#, "Output 2"),
            (r#"{"type":"response.refusal.done","refusal":"No"}"#, "Output"),
            (r#"{"type":"response.output_text.annotation.added","annotation":{}}"#, "Output"),
            (
                r#"{"type":"response.content_part.added","part":{"type":"output_text","text":""}}"#,
                "Lifecycle",
            ),
            (r#"{"type":"response.content_part.done","part":{"type":"output_text","text":"Hi"}}"#, "Output"),
            (r#"{"type":"response.content_part.done","part":{"type":"refusal","refusal":"No"}}"#, "Output"),
            (r#"{"type":"response.content_part.added","part":{"type":"hologram"}}"#, "Output"),
            (r#"{"type":"response.audio.delta","delta":"AAAA"}"#, "Output"),
            (r#"{"type":"response.audio.done"}"#, "Lifecycle"),
            (r#"{"type":"response.audio.transcript.delta","delta":"Hi"}"#, "Output 2"),
            (r#"{"type":"response.image_generation_call.partial_image","partial_image_b64":"A"}"#, "Output"),
            (r#"{"type":"response.hologram.delta","delta":"Hi"}"#, "Output 2"),
        ],
    );
}

#[test]
fn flow_6_3_12_reasoning_progress_is_told_exactly() {
    check(
        Dialect::Responses,
        &[
            (r#"{"type":"response.reasoning_summary_text.delta","delta":"hm"}"#, "Reasoning true"),
            (r#"{"type":"response.reasoning_text.delta","delta":""}"#, "Reasoning false"),
            (r#"{"type":"response.reasoning_text.done","text":"hm"}"#, "Reasoning true"),
            (
                r#"{"type":"response.reasoning_summary_part.added","part":{"type":"summary_text","text":""}}"#,
                "Reasoning false",
            ),
            (
                r#"{"type":"response.reasoning_summary_part.done","part":{"type":"summary_text","text":"hm"}}"#,
                "Reasoning true",
            ),
            (
                r#"{"type":"response.output_item.added","item":{"type":"reasoning","summary":[]}}"#,
                "Reasoning false",
            ),
            (
                r#"{"type":"response.output_item.done","item":{"type":"reasoning","summary":[{"text":"hm"}]}}"#,
                "Reasoning true",
            ),
            (
                r#"{"type":"response.output_item.done","item":{"type":"reasoning","encrypted_content":"abc","summary":[]}}"#,
                "Reasoning false",
            ),
        ],
    );
}

#[test]
fn items_say_what_they_are() {
    let rows = [
        (r#"{"type":"message","status":"in_progress","content":[]}"#, "Lifecycle"),
        (r#"{"type":"message","content":[{"type":"output_text","text":"Hi"}]}"#, "Output"),
        (r#"{"type":"function_call","name":"f","arguments":""}"#, "Tool"),
        (r#"{"type":"custom_tool_call","name":"f"}"#, "Tool"),
        (r#"{"type":"web_search_call","status":"in_progress"}"#, "Tool"),
        (r#"{"type":"image_generation_call","result":null}"#, "Tool"),
        (r#"{"type":"image_generation_call","result":"AAAA"}"#, "Output"),
        (r#"{"type":"function_call_output","output":"x"}"#, "Output"),
        (r#"{"type":"compaction","encrypted_content":"abc"}"#, "Output"),
        (r#"{"type":"compaction","encrypted_content":""}"#, "Lifecycle"),
        (r#"{"type":"hologram"}"#, "Output"),
    ];
    for (item, expected) in rows {
        for word in ["added", "done"] {
            let data = format!(r#"{{"type":"response.output_item.{word}","output_index":0,"item":{item}}}"#);
            check(Dialect::Responses, &[(&data, expected)]);
        }
    }
}

#[test]
fn fc_089_pieces_of_a_tool_call_are_told_by_their_name() {
    for word in [
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "custom_tool_call_input.delta",
        "mcp_call_arguments.delta",
        "mcp_list_tools.in_progress",
        "web_search_call.searching",
        "code_interpreter_call_code.delta",
    ] {
        let data = format!(r#"{{"type":"response.{word}","delta":"{{\"a\""}}"#);
        check(Dialect::Responses, &[(&data, "Tool")]);
    }
}
