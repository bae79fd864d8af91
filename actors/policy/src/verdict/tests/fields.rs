//! Field cases of the topics 429-class, quota-scope, wrong-status-quota, 404-scope, scope-400,
//! overload-529 and gemini-retryinfo, as far as one verdict says.

use super::super::{
    BreakerMark, Case, CooldownRule, Detector, Failure, Level, Reason, TerminalRule, Then, Verdict,
};
use super::examples::{T0, acme, judged};
use crate::cooldown::{Cooldown, CooldownSettings};
use crate::ids::Class::{Apikey, Oauth};
use crate::lockout::{LockCase, LockoutSettings, lock_for};
use crate::time::{HOUR, MINUTE, Millis};

fn locks(provider: &str, failure: &Failure, settings: &LockoutSettings) -> bool {
    let case = LockCase { provider: &provider.into(), model: &"m1".into(), use_hints: true };
    lock_for(failure, &case, settings).is_some()
}

#[test]
fn fc_016_a_bad_request_touches_no_account() {
    let text = r#"{"error":{"type":"invalid_request_error","message":"messages: field required"}}"#;
    for status in [400, 413, 415, 422] {
        let failure = judged(&acme(Apikey), status, &[], text);
        assert_eq!((failure.then, failure.cooldown), (Then::Stop, CooldownRule::Nothing), "{status}");
        assert_eq!((failure.lock, failure.terminal), (None, None), "{status}");
    }
}

#[test]
fn fc_021_retry_info_is_26_seconds_and_no_quota_of_the_day() {
    let info = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"26s"}]}}"#;
    for text in [info.to_owned(), format!("[{info}]")] {
        let failure = judged(&acme(Apikey), 429, &[], &text);
        assert_eq!((failure.reason, failure.cooldown), (Reason::RateLimitExceeded, CooldownRule::Scaled));
        assert_eq!(failure.hint.map(|hint| hint.wait_ms), Some(26_000));
    }
}

/// Every exhausted account is hit once, then rarely: 20 requests in 100 min, 5 min apart.
#[test]
fn fc_022_a_subscriptions_quota_is_no_burst() {
    let text = r#"{"error":"Subscription quota exceeded. Upgrade your plan."}"#;
    for class in [Apikey, Oauth] {
        let mut connection = Cooldown::new(CooldownSettings::for_class(class));
        let mut hits = 0;
        for request in 0..20 {
            let now: Millis = T0 + request * 5 * MINUTE;
            let Ok(trial) = connection.admit(true, now) else { continue };
            let failure = judged(&Case { now, ..acme(class) }, 429, &[], text);
            assert_eq!((failure.reason, failure.then), (Reason::QuotaExhausted, Then::Next));
            connection.record(trial, &Verdict::Failure(failure), now, now);
            hits += 1;
        }
        assert_eq!(hits, 2, "at 0 and 60 min");
    }
}

#[test]
fn fc_023_out_of_credit_under_five_statuses() {
    let anthropic = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#;
    let google = r#"{"error":{"code":400,"message":"Please enable billing on project 7.","status":"FAILED_PRECONDITION"}}"#;
    let quota = r#"{"error":{"code":"insufficient_quota"}}"#;
    for (name, status, text) in [
        ("(i)", 402, "insufficient credits"),
        ("(ii)", 400, anthropic),
        ("(iii)", 403, quota),
        ("(iv)", 429, quota),
        ("(v)", 400, google),
    ] {
        let failure = judged(&acme(Apikey), status, &[], text);
        assert_eq!((failure.reason, failure.detector), (Reason::QuotaExhausted, Detector::Credits), "{name}");
        assert_eq!(failure.terminal, Some(TerminalRule::CreditsExhausted), "{name}: visible and clearable");
        assert_eq!(failure.then, Then::Next, "{name}: immediate B");
    }
    // (iii) without the words of credit: long, but it passes.
    for class in [Apikey, Oauth] {
        let failure = judged(&acme(class), 403, &[], "Quota exceeded for quota metric x");
        assert_eq!((failure.reason, failure.terminal), (Reason::QuotaExhausted, None));
        let cooldown = CooldownRule::Exact { ms: 120_000, level: Level::Rises, stated: false };
        assert_eq!(failure.cooldown, cooldown);
    }
    for status in [400, 403] {
        let plain = judged(&acme(Apikey), status, &[], "no");
        assert_eq!((plain.terminal, plain.reason == Reason::QuotaExhausted), (None, false), "plain {status}");
    }
}

#[test]
fn fc_058_overload_climbs_no_ramp() {
    let mut connection = Cooldown::new(CooldownSettings::for_class(Apikey));
    for _ in 0..5 {
        let trial = connection.admit(true, T0).unwrap();
        let failure = judged(&acme(Apikey), 529, &[], "Overloaded");
        assert!(locks("p", &failure, &LockoutSettings::for_class(Apikey)));
        connection.record(trial, &Verdict::Failure(failure), T0, T0);
    }
    let trial = connection.admit(true, T0).unwrap();
    connection.record(trial, &Verdict::Failure(judged(&acme(Apikey), 429, &[], "")), T0, T0);
    assert_eq!((connection.cooling_until(T0), connection.view().level), (Some(T0 + 3_000), 1));
}

/// A daily quota is not retried like a burst, whatever RetryInfo says.
#[test]
fn fc_076_per_day_and_per_minute() {
    let violation = |id: &str| {
        format!(
            r#"{{"error":{{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","details":[{{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{{"quotaMetric":"generativelanguage.googleapis.com/generate_content_requests","quotaId":"{id}"}}]}},{{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"12s"}}]}}}}"#
        )
    };
    for provider in ["gemini", "my-gemini"] {
        let case = Case { provider, ..acme(Apikey) };
        let day = judged(&case, 429, &[], &violation("GenerateRequestsPerDayPerProjectPerModel-FreeTier"));
        let to_midnight = CooldownRule::Exact { ms: 12 * HOUR, level: Level::Keeps, stated: true };
        assert_eq!((day.reason, day.cooldown), (Reason::QuotaExhausted, to_midnight));
        assert_eq!((day.then, day.terminal), (Then::Next, None), "no retry in place, not out of credit");
        let minute = judged(&case, 429, &[], &violation("GenerateRequestsPerMinutePerProjectPerModel"));
        assert_eq!((minute.reason, minute.cooldown), (Reason::RateLimitExceeded, CooldownRule::Scaled));
        assert_eq!(minute.hint.map(|hint| hint.wait_ms), Some(12_000));
        assert_eq!(minute.terminal, None);
    }
    // The same words without a metric, as the compatible endpoint has them: not out of credit.
    let plain = r#"[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. https://ai.google.dev/gemini-api/docs/rate-limits","status":"RESOURCE_EXHAUSTED"}}]"#;
    assert_eq!(judged(&acme(Apikey), 429, &[], plain).terminal, None);
}

#[test]
fn fc_078_a_usage_limit_cools_the_whole_account() {
    let text = r#"{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","resets_in_seconds":9000}}"#;
    for class in [Apikey, Oauth] {
        let case = Case { per_model_quota: true, ..acme(class) };
        let failure = judged(&case, 429, &[], text);
        let cooldown = CooldownRule::Exact { ms: 9_000_000, level: Level::Keeps, stated: true };
        assert_eq!((failure.cooldown, failure.detector), (cooldown, Detector::UsageLimit));
        assert!(failure.of_account && failure.lock.is_none());
        let settings = LockoutSettings { per_model_quota: true, ..LockoutSettings::for_class(class) };
        for provider in ["codex", "gateway"] {
            assert!(!locks(provider, &failure, &settings), "m2 goes straight to account 2");
        }
        // Capacity stays one model's.
        assert!(locks("gateway", &judged(&case, 503, &[], "at capacity"), &settings));
    }
    let bare = judged(&acme(Oauth), 429, &[], r#"{"error":{"code":"usage_limit_reached"}}"#);
    assert_eq!(bare.cooldown, CooldownRule::Exact { ms: HOUR, level: Level::Keeps, stated: false });
}

#[test]
fn fc_080_a_missing_file_or_response_is_the_requests() {
    for text in [
        r#"{"error":{"message":"Files [file-abc] were not found"}}"#,
        r#"{"error":{"code":"previous_response_not_found","message":"Previous response with id 'resp_1' not found."}}"#,
    ] {
        let failure = judged(&acme(Apikey), 404, &[], text);
        assert_eq!((failure.then, failure.cooldown), (Then::Stop, CooldownRule::Nothing), "{text}");
        assert_eq!((failure.lock, failure.breaker), (None, BreakerMark::Reachable), "{text}");
    }
}

#[test]
fn fc_081_a_missing_model_is_locked_and_nothing_else() {
    for (status, text) in [
        (404, r#"{"error":{"message":"The model `m1` does not exist"}}"#),
        (404, "Not Found"),
        (404, ""),
        (410, "Gone"),
        (410, ""),
        (400, "Model is unavailable"),
    ] {
        let failure = judged(&acme(Apikey), status, &[], text);
        let lock = failure.lock.expect("bounded");
        assert_eq!(
            (lock.exact_key, lock.exact_ms, lock.authoritative),
            (false, None, false),
            "{status} {text}"
        );
        assert_eq!((failure.cooldown, failure.then), (CooldownRule::Nothing, Then::Next), "{status} {text}");
        assert_eq!((failure.reason, failure.terminal), (Reason::NotFound, None), "{status} {text}");
    }
}

/// A 401 is about the key unless it says that a model is not supported (core 3.9.4).
#[test]
fn an_odd_401_is_about_its_model() {
    let failure = judged(&acme(Oauth), 401, &[], "Model m1 is not supported on this plan");
    assert!(failure.lock.is_some() && failure.terminal.is_none());
    assert_eq!(failure.cooldown, CooldownRule::Nothing);
}
