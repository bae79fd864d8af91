//! Frames of streamGenerateContent: flow 6.3.12.

use policy::catalogue::Dialect;

use super::check;

#[test]
fn parts_say_what_they_hold() {
    let rows = [
        (r#"{"text":"Hi é"}"#, "Output 5"),
        (r#"{"text":""}"#, "Lifecycle"),
        (r#"{"text":"hm","thought":true}"#, "Reasoning true"),
        (r#"{"text":"","thought":true}"#, "Lifecycle"),
        (r#"{"text":"Hi","thoughtSignature":"abc"}"#, "Output 2"),
        (r#"{"text":"","thoughtSignature":"abc"}"#, "Reasoning false"),
        (r#"{"thoughtSignature":"abc"}"#, "Reasoning false"),
        (r#"{"text":"","thoughtSignature":""}"#, "Lifecycle"),
        (r#"{"functionCall":{"name":"f","args":{}},"thoughtSignature":"abc"}"#, "Tool"),
        (r#"{"executableCode":{"code":"1"}}"#, "Tool"),
        (r#"{"codeExecutionResult":{"output":"1"}}"#, "Output"),
        (r#"{"inlineData":{"mimeType":"image/png","data":"AAAA"}}"#, "Output"),
        (r#"{"hologram":{"a":1}}"#, "Output"),
    ];
    for (part, expected) in rows {
        let data =
            format!(r#"{{"candidates":[{{"content":{{"parts":[{part}],"role":"model"}},"index":0}}]}}"#);
        check(Dialect::Gemini, &[(&data, expected)]);
    }
}

#[test]
fn a_finish_ends_nothing_by_itself() {
    let reasons = [
        ("STOP", "Stop"),
        ("MAX_TOKENS", "Length"),
        ("SAFETY", "Filter"),
        ("RECITATION", "Filter"),
        ("PROHIBITED_CONTENT", "Filter"),
        ("MALFORMED_FUNCTION_CALL", "Other"),
        ("OTHER", "Other"),
    ];
    for (reason, finish) in reasons {
        let data = format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":""}}]}},"finishReason":"{reason}"}}],"usageMetadata":{{"promptTokenCount":1}}}}"#
        );
        check(Dialect::Gemini, &[(&data, &format!("Lifecycle usage {finish}"))]);
    }
}

#[test]
fn blocks_counts_and_errors_are_seen() {
    check(
        Dialect::Gemini,
        &[
            (r#"{"promptFeedback":{"blockReason":"SAFETY","safetyRatings":[]}}"#, "Lifecycle Filter"),
            (r#"{"promptFeedback":{"safetyRatings":[]}}"#, "Lifecycle"),
            (r#"{"usageMetadata":{"promptTokenCount":1},"modelVersion":"m"}"#, "Lifecycle usage"),
            (r#"{"responseId":"r","modelVersion":"m"}"#, "Lifecycle"),
            (r#"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}"#, "Error end:Failed"),
        ],
    );
}
