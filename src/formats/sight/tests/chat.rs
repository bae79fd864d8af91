//! Chunks of chat completions: flow 6.2, 6.3.12, 6.7.36, 6.7.37.

use policy::catalogue::Dialect;

use super::check;

#[test]
fn flow_6_2_a_chunk_without_text_announces_or_closes() {
    check(
        Dialect::Openai,
        &[
            (r#"{"choices":[{"index":0,"delta":{"role":"assistant"}}]}"#, "Lifecycle"),
            (r#"{"choices":[{"delta":{"role":"assistant","content":"","refusal":null}}]}"#, "Lifecycle"),
            (r#"{"choices":[{"delta":{}}]}"#, "Lifecycle"),
            (r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m"}"#, "Lifecycle"),
            (r#"{"choices":[],"prompt_filter_results":[{"prompt_index":0}],"usage":null}"#, "Lifecycle"),
            (
                r#"{"choices":[{"delta":{"tool_calls":[],"content":null,"audio":null,"images":[]}}]}"#,
                "Lifecycle",
            ),
            (r#"{"choices":[{"delta":{"content":[{"type":"text","text":""}]}}]}"#, "Lifecycle"),
        ],
    );
}

#[test]
fn flow_6_7_36_text_is_counted_as_utf_8() {
    check(
        Dialect::Openai,
        &[
            (
                r#"{"id":"c","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}"#,
                "Output 5",
            ),
            (r#"{"choices":[{"delta":{"content":"北京🙂é"}}]}"#, "Output 12"),
            (
                r#"{"choices":[{"delta":{"content":"\u5317\u4eac\ud83d\ude42\u00e9\n\"\u0041"}}]}"#,
                "Output 15",
            ),
            (r#"{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"bc"}}]}"#, "Output 3"),
            (r#"{"choices":[{"delta":{"text":"abc"}}]}"#, "Output 3"),
            (r#"{"object":"text_completion","choices":[{"text":"abc","logprobs":null}]}"#, "Output 3"),
            (r#"{"choices":[{"message":{"role":"assistant","content":"abc"}}]}"#, "Output 3"),
            (
                r#"{"choices":[{"delta":{"content":[{"type":"text","text":"abc"},{"text":"d"}]}}]}"#,
                "Output 4",
            ),
            (r#"{"choices":[{"delta":{"refusal":"I cannot"}}]}"#, "Output 8"),
            (r#"{"choices":[{"delta":{"content":" "}}]}"#, "Output 1"),
            (r#"{"choices":[{"delta":{"content":"{\"error\":\"no\"}"}}]}"#, "Output 14"),
        ],
    );
}

#[test]
fn pictures_sound_and_what_nobody_knows_are_output() {
    check(
        Dialect::Openai,
        &[
            (r#"{"choices":[{"delta":{"audio":{"data":"AAAA"}}}]}"#, "Output"),
            (r#"{"choices":[{"delta":{"content":"","images":[{"image_url":{"url":"data:"}}]}}]}"#, "Output"),
            (r#"{"choices":[{"delta":{"content":[{"type":"image_url","image_url":{}}]}}]}"#, "Output"),
            (r#"{"choices":[{"delta":{"content":[{"type":"hologram"}]}}]}"#, "Output"),
            (r#"{"choices":[{"delta":{"annotations":[{"type":"url_citation"}]}}]}"#, "Output"),
        ],
    );
}

#[test]
fn flow_6_7_37_a_tool_call_outranks_the_text_beside_it() {
    check(
        Dialect::Openai,
        &[
            (r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":""}}]}}]}"#, "Tool"),
            (r#"{"choices":[{"delta":{"content":"x","tool_calls":[{"id":"1"}]}}]}"#, "Tool"),
            (r#"{"choices":[{"delta":{"function_call":{"name":"f"}}}]}"#, "Tool"),
            (r#"{"choices":[{"delta":{"content":null,"function_call":null}}]}"#, "Lifecycle"),
            (r#"{"choices":[{"delta":{"reasoning":"hm","content":"x"}}]}"#, "Output 1"),
        ],
    );
}

#[test]
fn flow_6_3_12_reasoning_progress_is_told_exactly() {
    let detail = |detail: &str| format!(r#"{{"choices":[{{"delta":{{"reasoning_details":[{detail}]}}}}]}}"#);
    let rows = [
        (r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#.to_owned(), "Reasoning true"),
        (r#"{"choices":[{"delta":{"reasoning":"hm","content":""}}]}"#.to_owned(), "Reasoning true"),
        (r#"{"choices":[{"delta":{"reasoning_content":""}}]}"#.to_owned(), "Reasoning false"),
        (r#"{"choices":[{"delta":{"reasoning":""}}]}"#.to_owned(), "Reasoning false"),
        (r#"{"choices":[{"delta":{"reasoning":null,"reasoning_content":null}}]}"#.to_owned(), "Lifecycle"),
        (r#"{"choices":[{"delta":{"reasoning":{"a":1}}}]}"#.to_owned(), "Lifecycle"),
        (r#"{"choices":[{"delta":{"signature":"stray"}}]}"#.to_owned(), "Lifecycle"),
        (
            r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"text":"hm"}]}]}}]}"#
                .to_owned(),
            "Reasoning true",
        ),
        (detail(""), "Lifecycle"),
        (detail(r#"{"type":"reasoning.encrypted","data":"abc"}"#), "Reasoning false"),
        (detail(r#"{"type":"reasoning.encrypted","data":""}"#), "Lifecycle"),
        (detail(r#"{"type":"reasoning.text","text":"","signature":"abc"}"#), "Reasoning false"),
        (detail(r#"{"type":"reasoning.text","signature":""}"#), "Lifecycle"),
        (detail(r#"{"type":"reasoning.text","text":"hm","signature":null}"#), "Reasoning true"),
        (detail(r#"{"type":"reasoning.summary","summary":"hm"}"#), "Reasoning true"),
        (detail(r#"{"type":"mystery","data":"abc"}"#), "Lifecycle"),
    ];
    let rows: Vec<(&str, &str)> = rows.iter().map(|(data, expected)| (data.as_str(), *expected)).collect();
    check(Dialect::Openai, &rows);
}

#[test]
fn a_finish_and_counts_are_seen_wherever_they_stand() {
    check(
        Dialect::Openai,
        &[
            (r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#, "Lifecycle Stop"),
            (r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#, "Lifecycle Length"),
            (r#"{"choices":[{"delta":{},"finish_reason":"max_tokens"}]}"#, "Lifecycle Length"),
            (r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#, "Lifecycle Tools"),
            (r#"{"choices":[{"delta":{},"finish_reason":"function_call"}]}"#, "Lifecycle Tools"),
            (r#"{"choices":[{"delta":{},"finish_reason":"content_filter"}]}"#, "Lifecycle Filter"),
            (r#"{"choices":[{"delta":{},"finish_reason":"weather"}]}"#, "Lifecycle Other"),
            (r#"{"choices":[{"delta":{},"finish_reason":""}]}"#, "Lifecycle"),
            (
                r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"total_tokens":1}}"#,
                "Output 1 usage Stop",
            ),
            (r#"{"choices":[],"usage":{"prompt_tokens":1}}"#, "Lifecycle usage"),
            (r#"{"usage":{"prompt_tokens":1}}"#, "Lifecycle usage"),
            (r#"{"choices":[],"usage":null}"#, "Lifecycle"),
        ],
    );
}

#[test]
fn flow_6_2_3_an_error_beside_an_answer_ends_it_and_keeps_it() {
    check(
        Dialect::Openai,
        &[
            (
                r#"{"error":{"code":"x"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}"#,
                "Error Other end:Failed",
            ),
            (r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#, "Error Other end:Failed"),
            (r#"{"choices":[{"delta":{},"error":{"code":502}}]}"#, "Error end:Failed"),
            (r#"{"error":{"code":"x"},"choices":[{"delta":{"content":"half"}}]}"#, "Output 4 end:Failed"),
            (r#"{"object":"error","message":"m","code":400}"#, "Error end:Failed"),
            (
                r#"{"error":{"code":"server_is_overloaded","type":"service_unavailable_error"}}"#,
                "Error end:Failed",
            ),
            (r#"{"error":null,"choices":[{"delta":{"content":"x"}}]}"#, "Output 1"),
        ],
    );
}
