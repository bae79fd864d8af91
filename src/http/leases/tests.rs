//! The body and the headers of a lease's request, as values.

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use policy::lease::EndReason;

use super::{Action, GENERATION, OWNER, action, context, owner};
use crate::http::auth::KeyPolicy;
use crate::settings::KeyRules;

const GOOD: &str = "vlo_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-";

fn policy() -> KeyPolicy {
    KeyPolicy {
        name: "k".into(),
        inference: true,
        manage: false,
        lease: true,
        allowed: None,
        preferred: None,
        rules: KeyRules::default(),
        models: None,
    }
}

/// Rules 7.3.0.
#[test]
fn only_the_four_actions_are_read() {
    let rows: [(&str, Option<Action>); 15] = [
        (r#"{"action":"acquire","model":" a/m "}"#, Some(Action::Acquire("a/m".into()))),
        (r#"{"action":"acquire","model":"  "}"#, None),
        (r#"{"action":"acquire"}"#, None),
        (r#"{"action":"renew","generation":1}"#, Some(Action::Renew(1))),
        (r#"{"action":"renew","generation":9007199254740991}"#, Some(Action::Renew(9_007_199_254_740_991))),
        (r#"{"action":"renew","generation":9007199254740992}"#, None),
        (r#"{"action":"renew","generation":0}"#, None),
        (r#"{"action":"renew","generation":1.5}"#, None),
        (r#"{"action":"renew","generation":"1"}"#, None),
        (r#"{"action":"release","generation":2}"#, Some(Action::Release(2, EndReason::OwnerExit))),
        (
            r#"{"action":"release","generation":2,"reason":"CLIENT_CANCELLED"}"#,
            Some(Action::Release(2, EndReason::ClientCancelled)),
        ),
        (r#"{"action":"release","generation":2,"reason":"TTL_EXPIRED"}"#, None),
        (r#"{"action":"status","generation":3}"#, Some(Action::Status(3))),
        (r#"{"action":"pause","generation":3}"#, None),
        ("[]", None),
    ];
    for (body, expected) in rows {
        assert_eq!(action(body.as_bytes()), expected, "{body}");
    }
    let long = format!(r#"{{"action":"acquire","model":"{}"}}"#, "m".repeat(513));
    assert_eq!(action(long.as_bytes()), None);
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&'static str, &str)| {
        (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap())
    };
    pairs.iter().map(pair).collect()
}

/// M10, M15.
#[test]
fn an_owner_and_a_generation_are_what_they_must_be() {
    for (given, status) in [
        ("", 400),
        (" ", 400),
        ("vlo_short", 400),
        ("vlo_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA+", 400),
        ("vlx_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 400),
        (GOOD, 200),
    ] {
        let read = owner(&headers(&[(OWNER, given)]));
        assert_eq!(if read.is_ok() { 200 } else { 400 }, status, "{given}");
    }
    let known = owner(&headers(&[(OWNER, GOOD)])).unwrap();
    assert_eq!(known, owner(&headers(&[(OWNER, GOOD)])).unwrap());
    for (given, good) in [
        ("1", true),
        ("9007199254740991", true),
        ("9007199254740992", false),
        ("0", false),
        ("01", false),
        ("+1", false),
        ("1.5", false),
        ("", false),
        ("x", false),
    ] {
        let read = context(&headers(&[(OWNER, GOOD), (GENERATION, given)]), &policy());
        assert_eq!(read.is_ok(), good, "{given}");
    }
    assert!(context(&headers(&[(OWNER, GOOD)]), &policy()).is_err());
}
