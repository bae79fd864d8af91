//! Waits in JSON: H5–H7, FC-021, FC-075, FC-078, E13–E17.

use super::{HintSource, T0, stated};
use crate::hint::from_body;
use crate::time::{DAY, Millis};

fn retry_info(delay: &str) -> String {
    format!(
        r#"{{"error":{{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{{"@type":"type.googleapis.com/google.rpc.Help"}},{{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":{delay}}}]}}}}"#
    )
}

#[test]
fn forms_of_a_retry_delay() {
    let rows = [
        ("H5", r#""12s""#, Some(12_000)),
        ("E14", r#""26.5s""#, Some(26_500)),
        ("E15: 24 h", r#""172800s""#, Some(DAY)),
        ("FC-021", r#""26s""#, Some(26_000)),
        ("FC-075", r#""45.837906927s""#, Some(45_838)),
        ("FC-075: under 1 ms, then the floor", r#""0.000000001s""#, Some(1_000)),
        ("FC-075", r#""1.5s""#, Some(1_500)),
        ("FC-075: a 10th digit is cut", r#""1.0004999999s""#, Some(1_000)),
        ("E18: to the nearest", r#""1.0005s""#, Some(1_001)),
        ("H5", r#""5000ms""#, Some(5_000)),
        ("H5", r#""2m""#, Some(120_000)),
        ("H5", r#""1h""#, Some(3_600_000)),
        ("decision 4", r#""1h 5m""#, Some(3_900_000)),
        ("H5: bare", r#""7.5""#, Some(7_500)),
        ("H5: bare", "7.5", Some(7_500)),
        ("H5: bare", "90", Some(90_000)),
        ("zero", r#""0s""#, None),
        ("negative", r#""-5s""#, None),
        ("negative", "-5", None),
        ("garbage", r#""soon""#, None),
        ("no unit known", r#""5 fortnights""#, None),
        ("overflow", "1e300", Some(DAY)),
        ("overflow", r#""99999999999999999999999s""#, Some(DAY)),
        ("no number", "null", None),
    ];
    for (row, delay, want) in rows {
        let want = want.map(|wait_ms: Millis| (wait_ms, HintSource::GoogleRpcRetryInfo));
        let body = retry_info(delay);
        assert_eq!(stated(&body), want, "{row}: {delay}");
        assert_eq!(stated(&format!("[{body}]")), want, "FC-021, list-wrapped: {delay}");
        let bare = body.strip_prefix(r#"{"error":"#).expect("how it begins");
        assert_eq!(stated(&bare[..bare.len() - 1]), want, "details[] itself: {delay}");
    }
}

#[test]
fn fc_075_the_quota_reset_delay_of_error_info() {
    let body = |delay: &str, more: &str| {
        format!(
            r#"{{"error":{{"details":[{{"@type":"type.googleapis.com/google.rpc.ErrorInfo","metadata":{{"quotaResetDelay":"{delay}"}}}}{more}]}}}}"#
        )
    };
    assert_eq!(stated(&body("373.801628ms", "")), Some((1_000, HintSource::Body)));
    assert_eq!(stated(&body("2373.801628ms", "")), Some((2_374, HintSource::Body)));
    assert_eq!(stated(&body("48h30m", "")), Some((174_600_000, HintSource::Body)), "not capped at a day");
    let info = r#",{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"9s"}"#;
    assert_eq!(stated(&body("5s", info)), Some((9_000, HintSource::GoogleRpcRetryInfo)));
    let elsewhere = r#"{"error":{"details":[{"@type":"x.Other","retryDelay":"9s","metadata":{"quotaResetDelay":"5s"}}]}}"#;
    assert_eq!(stated(elsewhere), None);
    let delay = r#"{"error":{"details":[{"@type":"google.rpc.ErrorInfo","retryDelay":"9s"}]}}"#;
    assert_eq!(stated(delay), None, "each field in its own type");
    let metadata =
        r#"{"error":{"details":[{"@type":"google.rpc.RetryInfo","metadata":{"quotaResetDelay":"5s"}}]}}"#;
    assert_eq!(stated(metadata), None, "each field in its own type");
}

/// Flow 4.22: it is obeyed, but no lock rests on it (flow 4.24, E81).
#[test]
fn a_retry_delay_without_a_type_is_a_wait_of_the_body() {
    let rows = [
        (r#"{"error":{"retryDelay":"45s"}}"#, 45_000),
        (r#"{"retryDelay":45}"#, 45_000),
        (r#"{"error":{"details":[{"retryDelay":"45s"}]}}"#, 45_000),
        (r#"[{"error":{"details":[{},{"retryDelay":"1.5s"}]}}]"#, 1_500),
        (r#"{"error":{"retryDelay":"soon"},"retryDelay":"7s"}"#, 7_000),
        (
            r#"{"error":{"retryDelay":"45s","details":[{"metadata":{"quotaResetDelay":"5s"},"@type":"ErrorInfo"}]}}"#,
            5_000,
        ),
    ];
    for (body, want) in rows {
        assert_eq!(stated(body), Some((want, HintSource::Body)), "{body}");
    }
    let typed = r#"{"error":{"retryDelay":"45s","details":[{"@type":"x.RetryInfo","retryDelay":"9s"}]}}"#;
    assert_eq!(stated(typed), Some((9_000, HintSource::GoogleRpcRetryInfo)));
    assert_eq!([HintSource::Header, HintSource::Body].map(HintSource::is_typed), [false; 2]);
    assert!(HintSource::GoogleRpcRetryInfo.is_typed());
}

#[test]
fn named_fields_of_a_body() {
    let rows = [
        ("E16", r#"{"error":{"retryAfter":"2026-01-15T13:00:00Z"}}"#, Some(3_600_000)),
        ("H6", r#"{"retryAfter":"2026-01-15T13:00:00Z"}"#, Some(3_600_000)),
        ("H6: any date", r#"{"retryAfter":"Thu, 15 Jan 2026 12:02:00 GMT"}"#, Some(120_000)),
        ("H6: 30 d", r#"{"retryAfter":"2027-01-15T13:00:00Z"}"#, Some(30 * DAY)),
        ("H6: past", r#"{"error":{"retryAfter":"2026-01-15T11:00:00Z"}}"#, None),
        ("H6 then H7", r#"{"error":{"retryAfter":"2026-01-15T11:00:00Z"},"retryAfterMs":4000}"#, Some(4_000)),
        ("E17", r#"{"retry_after_ms":2500}"#, Some(2_500)),
        ("H7", r#"{"error":{"retry_after_ms":2500.4}}"#, Some(2_500)),
        ("H7", r#"{"error":{"retryAfterMs":2500}}"#, Some(2_500)),
        ("H7", r#"{"retryAfterMs":"2500"}"#, Some(2_500)),
        (
            "H7: order",
            r#"{"retryAfterMs":1,"error":{"retryAfterMs":2000,"retry_after_ms":4000},"retry_after_ms":3000}"#,
            Some(4_000),
        ),
        (
            "H7: order",
            r#"{"retryAfterMs":1,"error":{"retryAfterMs":2000},"retry_after_ms":3000}"#,
            Some(3_000),
        ),
        ("H7: order", r#"{"retryAfterMs":1,"error":{"retryAfterMs":2000}}"#, Some(2_000)),
        ("H7: 30 d", r#"{"retry_after_ms":1e300}"#, Some(30 * DAY)),
        ("H7: not positive", r#"{"error":{"retry_after_ms":0},"retry_after_ms":-3}"#, None),
        ("H7: null", r#"{"retry_after_ms":null}"#, None),
        ("FC-078", r#"{"error":{"type":"usage_limit_reached","resets_in_seconds":9000}}"#, Some(9_000_000)),
        ("FC-078", r#"{"resets_in_seconds":9000}"#, Some(9_000_000)),
        ("FC-078: s", r#"{"error":{"resets_at":1768482000}}"#, Some(3_600_000)),
        ("FC-078: ms", r#"{"error":{"resets_at":1768482000000}}"#, Some(3_600_000)),
        ("FC-078: date", r#"{"resets_at":"2026-01-15T13:00:00Z"}"#, Some(3_600_000)),
        ("FC-078: past", r#"{"resets_at":1768470000}"#, None),
        ("FC-078: not a wait", r#"{"resets_at":9000}"#, None),
        (
            "FC-078: a span needs no clock",
            r#"{"error":{"resets_at":1768482000,"resets_in_seconds":60}}"#,
            Some(60_000),
        ),
        ("a list", r#"[{"error":{}},{"error":{"retry_after_ms":2500}}]"#, Some(2_500)),
        ("error in words", r#"{"error":"slow down","retry_after_ms":2500}"#, Some(2_500)),
    ];
    for (row, body, want) in rows {
        let want = want.map(|wait_ms: Millis| (wait_ms, HintSource::Body));
        assert_eq!(stated(body), want, "{row}: {body}");
    }
}

#[test]
fn a_body_that_is_no_json_costs_nothing() {
    let deep = "[".repeat(65_536);
    let cut = retry_info(r#""26s""#);
    let bodies =
        ["", " ", "{", "[]", "{}", "null", "12", "\u{fffd}\u{fffd}", "{\"error\":", &deep, &cut[..150]];
    for body in bodies {
        assert_eq!(from_body(body, T0), None, "{:.20}", body);
    }
    let cut = r#"{"error":{"message":"Quota exceeded.\nPlease retry in 26.66s.","details":[{"@ty"#;
    assert_eq!(stated(cut), Some((26_660, HintSource::Body)), "words are left");
}
