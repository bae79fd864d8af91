//! Waits that an upstream states, in every form that was met, and how long the account then
//! rests (FC-021, FC-070 to FC-073, FC-075, FC-122).

use serde_json::{Value, json};

use super::{locks, now_ms, only_lock, reset, rest, told};
use crate::support::{Setup, World};

/// How a 429 of these headers and this body is understood: the stated wait, ms, or null.
#[track_caller]
fn stated(world: &World, headers: &str, body: &str) -> Value {
    reset(world, "a-1");
    world.upstream("a").answers_first([told(429, headers, body)]);
    let reply = world.ask("a/x");
    assert_eq!(reply.status, 429, "{headers}{body}");
    let wait = world.derived("connection", "a-1")["statedWaitMs"].clone();
    // What is stated is obeyed, and told on in whole seconds (decision 26b).
    let rests = rest(world, "a-1");
    assert_eq!(rests, wait.as_u64().unwrap_or(3_000), "{headers}{body}");
    if let Some(wait) = wait.as_u64() {
        let seconds = wait.div_ceil(1_000).to_string();
        assert_eq!(reply.header("retry-after"), Some(seconds.as_str()), "{headers}{body}");
    }
    wait
}

/// With every row of headers or bodies at one account.
fn each(rows: &[(&str, Option<u64>)], parts: impl Fn(&str) -> (String, String)) {
    let world = Setup::new().provider("a", 1).start();
    for (text, expected) in rows {
        let (headers, body) = parts(text);
        assert_eq!(stated(&world, &headers, &body), json!(expected), "{text}");
    }
}

fn in_headers(rows: &[(&str, Option<u64>)]) {
    each(rows, |headers| (format!("{headers}\r\n"), "{}".into()));
}

/// Decision 3 lifts what is shorter than a second to one.
#[test]
fn fc_070_parts_of_seconds_and_milliseconds_are_read() {
    in_headers(&[
        ("retry-after: 0.5", Some(1_000)),
        ("retry-after-ms: 1500", Some(1_500)),
        ("x-ms-retry-after-ms: 2500", Some(2_500)),
        ("retry-after: 2\r\nretry-after-ms: 1500", Some(1_500)),
        ("retry-after: 1.0", Some(1_000)),
        ("retry-after: 3.2", Some(3_200)),
    ]);
}

#[test]
fn fc_071_an_instant_in_retry_after_is_no_length() {
    let world = Setup::new().provider("a", 1).start();
    for (unit, name) in [(1_000, "s"), (1, "ms")] {
        let at = now_ms() + 60_000;
        let wait = stated(&world, &format!("retry-after: {}\r\n", at / unit), "{}").as_u64().unwrap();
        assert!((45_000..=60_000).contains(&wait), "epoch {name}: {wait}");
        let past = stated(&world, &format!("retry-after: {}\r\n", (at - 600_000) / unit), "{}");
        assert_eq!(past, Value::Null, "epoch {name}: what lies in the past is skipped (decision 4)");
    }
}

/// Decision 3: the cap is 30 days.
#[test]
fn fc_072_a_long_wait_is_clamped_and_never_thrown_away() {
    in_headers(&[
        ("retry-after: 135734", Some(135_734_000)),
        ("retry-after: 999999999", Some(2_592_000_000)),
    ]);
}

#[test]
fn fc_073_reset_headers_are_read_in_all_their_forms() {
    let rows = [
        ("1s", Some(1_000)),
        ("6m0s", Some(360_000)),
        ("2m30.5s", Some(150_500)),
        ("500ms", Some(1_000)),
        ("1h30m", Some(5_400_000)),
        ("60", Some(60_000)),
        ("0", None),
        ("-1", None),
        ("abc", None),
    ];
    let headers =
        |form: &str| format!("x-ratelimit-remaining-requests: 0\r\nx-ratelimit-reset-requests: {form}\r\n");
    each(&rows, |form| (headers(form), "{}".into()));
    let world = Setup::new().provider("a", 1).start();
    let at = now_ms() + 60_000;
    let text = jiff::Timestamp::from_millisecond(at as i64).unwrap();
    let offset = text.to_zoned(jiff::tz::TimeZone::fixed(jiff::tz::offset(2)));
    let offset = offset.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string();
    for form in [(at / 1_000).to_string(), at.to_string(), text.to_string(), offset] {
        let wait = stated(&world, &headers(&form), "{}").as_u64().unwrap_or_else(|| panic!("{form}"));
        assert!((45_000..=60_000).contains(&wait), "{form}: {wait}");
    }
    // A bucket that is not empty limits nobody.
    let full = "x-ratelimit-remaining-requests: 7\r\nx-ratelimit-reset-requests: 6m0s\r\n";
    assert_eq!(stated(&world, full, "{}"), Value::Null);
}

fn retry_info(delay: &str) -> String {
    json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]}})
    .to_string()
}

#[test]
fn fc_075_fractions_in_googles_waits_are_read() {
    let rows = [
        ("45.837906927s", Some(45_838)),
        ("0.000000001s", Some(1_000)),
        ("1.5s", Some(1_500)),
        ("26.5s", Some(26_500)),
        ("soon", None),
    ];
    each(&rows, |delay| (String::new(), retry_info(delay)));
    let rows = [
        (
            r#"{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","metadata":{"quotaResetDelay":"1373.801628ms"}}]}}"#,
            Some(1_374),
        ),
        (r#"{"error":{"message":"Please retry in 26.66s."}}"#, Some(26_660)),
    ];
    each(&rows, |body| (String::new(), body.to_owned()));
}

/// SDKs read the wait in milliseconds first, so it may not say something else (decisions 9b, 26b).
#[test]
fn decision_26b_the_wait_in_milliseconds_is_the_one_that_is_told_in_seconds() {
    for name in ["retry-after-ms", "x-ms-retry-after-ms"] {
        let limited = |wait: u64| told(429, &format!("{name}: {wait}\r\n"), "{}");
        let capped = Setup::new().server("max_retry_after = \"5s\"").provider("a", 1).start();
        capped.upstream("a").answers(limited(600_000));
        let reply = capped.ask("a/x");
        assert_eq!(
            (reply.header("retry-after"), reply.header(name)),
            (Some("5"), Some("5000")),
            "the cap holds"
        );
        // Of two accounts the one that comes back first counts.
        let world = Setup::new().provider("a", 2).start();
        world.upstream("a").answers_first([limited(1_500), limited(600_000)]);
        let reply = world.ask("a/x");
        assert_eq!(
            (reply.status, reply.header("retry-after"), reply.header(name)),
            (429, Some("2"), Some("1500"))
        );
        // What says nothing usable is not handed on.
        let world = Setup::new().provider("a", 1).start();
        world.upstream("a").answers(told(429, &format!("{name}: soon\r\n"), "{}"));
        let reply = world.ask("a/x");
        assert_eq!((reply.header("retry-after"), reply.header(name)), (None, None));
    }
}

#[test]
fn fc_021_googles_wait_rests_one_model_for_its_seconds_and_not_till_midnight() {
    for (body, headers, length) in [
        (retry_info("26s"), "", 26_000),
        (format!("[{}]", retry_info("26s")), "", 26_000),
        (retry_info("26s"), "retry-after: 40\r\n", 40_000),
        (retry_info("soon"), "", 3_000),
    ] {
        let keys = "format = \"openai\"\nper_model_quota = true";
        let world = Setup::new().provider_with("google", 1, keys).start();
        world.upstream("google").answers_first([told(429, headers, &body)]);
        assert_eq!(world.ask("google/pro").status, 429);
        only_lock(&world, "google-1/pro/family/rate_limited", length);
        world.ask("google/flash").served_by("google");
        let asked = world.upstream("google").asked();
        let refused = world.ask("google/pro");
        refused.is_error(429, "model_cooldown");
        assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() * 1_000 <= length);
        assert_eq!(world.upstream("google").asked(), asked, "nobody is asked meanwhile");
    }
}

#[test]
fn fc_021_without_a_quota_per_model_the_account_rests_for_them() {
    let world = Setup::new().provider("a", 1).start();
    for body in [retry_info("26s"), format!("[{}]", retry_info("26s"))] {
        assert_eq!(stated(&world, "", &body), json!(26_000));
        assert_eq!(locks(&world), [], "not the model as well (decision 3b)");
    }
}

#[test]
fn fc_122_a_date_counts_from_the_date_of_its_own_answer() {
    let world = Setup::new().provider("a", 1).start();
    let date = |at: u64| {
        let at = jiff::Timestamp::from_second(at as i64).unwrap();
        at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
    };
    for hours in [-7, 0, 7] {
        let theirs = (now_ms() / 1_000).checked_add_signed(hours * 3_600).unwrap();
        let headers = format!("date: {}\r\nretry-after: {}\r\n", date(theirs), date(theirs + 60));
        let wait = stated(&world, &headers, "{}").as_u64().unwrap();
        match hours {
            0 => assert!((45_000..=60_000).contains(&wait), "{wait}"),
            _ => assert_eq!(wait, 60_000, "{hours} h off"),
        }
    }
}
