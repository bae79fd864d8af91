//! Errors inside a stream and the statuses they stand for (decision 12c, flow 6.10.47).

use super::super::{StreamError, failure};

/// Data; the status, code and message that it stands for. No message: the data itself.
const ROWS: &[(&str, u16, &str, &str)] = &[
    (
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        529,
        "overloaded_error",
        "Overloaded",
    ),
    (
        r#"{"error":{"code":"server_is_overloaded","type":"service_unavailable_error"}}"#,
        503,
        "server_is_overloaded",
        "",
    ),
    (
        r#"{"error":{"type":"service_unavailable_error","message":"m"}}"#,
        503,
        "service_unavailable_error",
        "m",
    ),
    (r#"{"error":{"type":"rate_limit_error","message":"m"}}"#, 429, "rate_limit_error", "m"),
    (
        r#"{"error":{"code":"rate_limit_exceeded","type":"server_error","message":"m"}}"#,
        429,
        "rate_limit_exceeded",
        "m",
    ),
    (r#"{"error":{"type":"rate_limit_of_the_day","message":"m"}}"#, 429, "rate_limit_of_the_day", "m"),
    (
        r#"{"error":{"code":"insufficient_quota","type":"invalid_request_error","message":"m"}}"#,
        429,
        "insufficient_quota",
        "m",
    ),
    (r#"{"error":{"type":"authentication_error","message":"m"}}"#, 401, "authentication_error", "m"),
    (
        r#"{"error":{"code":"invalid_api_key","type":"invalid_request_error","message":"m"}}"#,
        401,
        "invalid_api_key",
        "m",
    ),
    (r#"{"error":{"type":"permission_error","message":"m"}}"#, 403, "permission_error", "m"),
    (r#"{"error":{"type":"invalid_request_error","message":"m"}}"#, 400, "invalid_request_error", "m"),
    (r#"{"error":{"code":"context_length_exceeded","message":"m"}}"#, 400, "context_length_exceeded", "m"),
    (r#"{"error":{"type":"not_found_error","message":"m"}}"#, 404, "not_found_error", "m"),
    (r#"{"error":{"type":"request_too_large","message":"m"}}"#, 413, "request_too_large", "m"),
    (r#"{"error":{"type":"api_error","message":"m"}}"#, 500, "api_error", "m"),
    (r#"{"error":{"type":"timeout_error","message":"m"}}"#, 504, "timeout_error", "m"),
    (r#"{"error":{"type":"billing_error","message":"m"}}"#, 402, "billing_error", "m"),
    (r#"{"error":{"code":429,"message":"m"}}"#, 429, "429", "m"),
    (r#"{"error":{"code":"503","type":"invalid_request_error","message":"m"}}"#, 503, "503", "m"),
    (r#"{"error":{"code":200,"type":"api_error","message":"m"}}"#, 500, "api_error", "m"),
    (r#"{"error":{"status":418,"message":"m"}}"#, 418, "", "m"),
    (r#"{"status":503,"error":"m"}"#, 503, "", "m"),
    (r#"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}"#, 429, "RESOURCE_EXHAUSTED", "m"),
    (r#"{"error":{"message":"m","status":"UNAVAILABLE"}}"#, 503, "UNAVAILABLE", "m"),
    (r#"{"error":{"message":"m","status":"DEADLINE_EXCEEDED"}}"#, 504, "DEADLINE_EXCEEDED", "m"),
    (r#"{"type":"error","code":"server_error","message":"m","param":null}"#, 500, "server_error", "m"),
    (r#"{"type":"error","code":"ERR_SOMETHING","message":"m"}"#, 502, "ERR_SOMETHING", "m"),
    (
        r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"m"}}}"#,
        429,
        "rate_limit_exceeded",
        "m",
    ),
    (r#"{"choices":[{"error":{"code":502,"message":"m"}}]}"#, 502, "502", "m"),
    (r#"{"object":"error","message":"m","type":"BadRequestError","code":400}"#, 400, "BadRequestError", "m"),
    (r#"{"error":{"message":"spawn failed"}}"#, 502, "", "spawn failed"),
    (r#"{"error":"spawn failed"}"#, 502, "", "spawn failed"),
    (r#"{"detail":"Not Found"}"#, 502, "", "Not Found"),
    (r#"{"detail":[{"msg":"m"}]}"#, 502, "", ""),
    ("out of order", 502, "", "out of order"),
];

#[test]
fn decision_12c_an_error_in_a_stream_stands_for_the_status_it_would_have_had() {
    for (data, status, code, message) in ROWS {
        let message = if message.is_empty() { data } else { message };
        let expected = StreamError { status: *status, code: (*code).into(), message: (*message).into() };
        assert_eq!(failure(data.as_bytes()), expected, "{data}");
    }
}

#[test]
fn an_error_of_any_length_is_told_in_300_characters() {
    assert_eq!(failure("é".repeat(10_000).as_bytes()).message, "é".repeat(300));
}
