//! An error that came inside a stream, as the status that it would have had as an answer.
//!
//! A status in numbers wins; else the code says it, else the type: a code is the narrower word.
//! What nobody knows is 502: the upstream failed, and we cannot say how.

use serde_json::Value;

/// How much of an error without a message is told.
const LONGEST: usize = 300;

/// What an upstream said of its failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamError {
    /// The status that it stands for.
    pub status: u16,
    /// Its code, or else its type; empty if it has neither.
    pub code: String,
    /// In its own words, secrets and all.
    pub message: String,
}

/// Words of codes and types, and their statuses. Those of Google are statuses of its own kind.
const WORDS: &[(u16, &[&str])] = &[
    (
        400,
        &[
            "invalid_request_error",
            "invalid_request",
            "bad_request",
            "invalid_prompt",
            "invalid_argument",
            "context_length_exceeded",
            "failed_precondition",
            "out_of_range",
        ],
    ),
    (
        401,
        &[
            "authentication_error",
            "invalid_api_key",
            "invalid_authentication",
            "unauthorized",
            "unauthenticated",
        ],
    ),
    (402, &["billing_error", "payment_required", "insufficient_credits"]),
    (403, &["permission_error", "permission_denied", "forbidden"]),
    (404, &["not_found_error", "not_found", "model_not_found"]),
    (409, &["conflict_error", "aborted"]),
    (413, &["request_too_large"]),
    (
        429,
        &[
            "rate_limit_error",
            "rate_limit_exceeded",
            "rate_limited",
            "too_many_requests",
            "insufficient_quota",
            "quota_exceeded",
            "resource_exhausted",
        ],
    ),
    (500, &["api_error", "server_error", "internal_error", "internal_server_error", "internal", "data_loss"]),
    (501, &["unimplemented"]),
    (
        503,
        &[
            "server_is_overloaded",
            "service_unavailable",
            "service_unavailable_error",
            "engine_overloaded",
            "engine_overloaded_error",
            "slow_down",
            "unavailable",
        ],
    ),
    (504, &["timeout_error", "timeout", "gateway_timeout", "deadline_exceeded"]),
    (529, &["overloaded_error", "overloaded"]),
];

/// Reads the data of an error frame.
pub fn failure(data: &[u8]) -> StreamError {
    let whole: Value = serde_json::from_slice(data).unwrap_or(Value::Null);
    let error = find(&whole);
    let words = ["code", "status", "type"].map(|key| error.get(key));
    let status =
        words.iter().flatten().find_map(|value| number(value)).or_else(|| number(whole.get("status")?));
    let texts = || words.iter().flatten().filter_map(|value| value.as_str()).filter(|word| !word.is_empty());
    let first = error.get("code").filter(|code| code.is_number()).map(Value::to_string);
    StreamError {
        status: status.or_else(|| texts().find_map(of_word)).unwrap_or(502),
        code: texts().find(|word| *word != "error").map(str::to_owned).or(first).unwrap_or_default(),
        message: message(error, &whole).unwrap_or_else(|| shortened(data)),
    }
}

/// Where the error lies: in a field, in the response that failed, or the frame is it.
fn find(whole: &Value) -> &Value {
    let places = [whole.get("error"), whole.pointer("/response/error"), whole.pointer("/choices/0/error")];
    places.into_iter().flatten().find(|error| !error.is_null()).unwrap_or(whole)
}

fn number(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

fn of_word(word: &str) -> Option<u16> {
    let word = word.to_ascii_lowercase();
    let listed = WORDS.iter().find(|(_, words)| words.contains(&word.as_str())).map(|(status, _)| *status);
    listed.or_else(|| word.starts_with("rate_limit").then_some(429))
}

fn message(error: &Value, whole: &Value) -> Option<String> {
    let texts = [error.as_str(), text(error, "message"), text(error, "detail"), text(whole, "message")];
    texts.into_iter().flatten().find(|text| !text.is_empty()).map(str::to_owned)
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

fn shortened(data: &[u8]) -> String {
    String::from_utf8_lossy(data).trim().chars().take(LONGEST).collect()
}
