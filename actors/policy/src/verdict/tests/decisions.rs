//! What the decisions change of the table, and the corners between its rows.

use super::super::{
    BreakerMark, Case, CooldownRule, DailyReset, Detector, Kind, Level, Reason, Rotation, TerminalRule, Then,
};
use super::examples::{T0, acme, judged};
use crate::ids::Class::{Apikey, Local, Oauth};
use crate::rules::RuleBook;
use crate::time::{DAY, HOUR};

const CONTENT: [u16; 4] = [400, 413, 415, 422];

#[test]
fn decision_1_an_unrecognised_oauth_403_is_a_cooldown() {
    for text in ["", "Forbidden", "has not been used in project 7", "PERMISSION_DENIED", "turnstile"] {
        let failure = judged(&acme(Oauth), 403, &[], text);
        assert_eq!(
            (failure.reason, failure.cooldown, failure.terminal, failure.lock),
            (Reason::AuthError, CooldownRule::Scaled, None, None),
            "{text}"
        );
    }
}

#[test]
fn decision_8_content_stops_and_writes_nothing() {
    for status in CONTENT {
        for text in ["", "bad request", r#"{"error":{"type":"invalid_request_error","message":"no"}}"#] {
            let failure = judged(&acme(Apikey), status, &[("retry-after", "9")], text);
            assert_eq!(
                (failure.then, failure.cooldown, failure.lock, failure.terminal, failure.breaker),
                (Then::Stop, CooldownRule::Nothing, None, None, BreakerMark::Reachable),
                "{status} {text}"
            );
        }
    }
}

#[test]
fn decision_8_the_texts_of_d5_to_d15_keep_their_verdict_on_content() {
    for status in CONTENT {
        for (text, detector) in [
            ("account_deactivated", Detector::BanText),
            ("the endpoint has moved", Detector::EndpointMoved),
            ("suspended: unpaid invoice", Detector::BillingSuspended),
            ("credit balance is too low", Detector::Credits),
            ("daily quota used", Detector::DailyQuota),
            ("usage limit reached", Detector::Subscription),
            ("weekly limit reached", Detector::WeeklyQuota),
            ("session limit reached", Detector::SessionQuota),
            ("quota depleted, resets in 2 hours", Detector::QuotaWithWait),
            ("请求过于频繁", Detector::ContentThrottled),
        ] {
            let failure = judged(&acme(Apikey), status, &[], text);
            assert_eq!(failure.detector, detector, "{status} {text}");
            assert_ne!(failure.then, Then::Stop, "{status} {text}");
        }
    }
}

/// Which texts of a 400 lock the model, which only send the request on (decision 8, core 3.2.6).
#[test]
fn decision_8_what_a_400_says_of_its_model() {
    let coded = r#"{"error":{"code":"model_not_found","message":"x"}}"#;
    let missing = r#"{"type":"error","error":{"type":"not_found_error","message":"x"}}"#;
    for (text, detector, locks, then) in [
        ("this model is no longer available", Detector::ModelRetired, true, Then::Next),
        ("the endpoint has moved", Detector::EndpointMoved, true, Then::Next),
        ("model m does not exist", Detector::ModelUnknown, true, Then::NextProvider),
        (coded, Detector::ModelUnknown, true, Then::NextProvider),
        ("model m does not exist or you do not have access to it", Detector::ModelUnknown, true, Then::Next),
        ("Model is unavailable", Detector::ModelUnavailable, true, Then::Next),
        ("you have no access to the model", Detector::ModelAccess, false, Then::Next),
        (missing, Detector::ModelAccess, false, Then::Next),
        ("this model does not support images", Detector::ModelAccess, false, Then::Next),
        ("maximum context length is 8192", Detector::ContextOverflow, false, Then::Next),
        ("max_tokens must be positive", Detector::ContextOverflow, false, Then::Next),
        ("parameter is illegal", Detector::ParameterRange, false, Then::Next),
        // A client's own mistake, though it names a model (E51 and neighbours).
        ("invalid api key: model m does not exist", Detector::Content, false, Then::Stop),
        ("unsupported parameter: 'x' is not supported with this model", Detector::Content, false, Then::Stop),
        ("messages must alternate", Detector::Content, false, Then::Stop),
    ] {
        for status in [400, 422] {
            let failure = judged(&acme(Apikey), status, &[], text);
            assert_eq!(
                (failure.detector, failure.lock.is_some(), failure.then),
                (detector, locks, then),
                "{status} {text}"
            );
            assert_eq!(
                (failure.cooldown, failure.terminal),
                (CooldownRule::Nothing, None),
                "{status} {text}"
            );
            let reason = if locks { Reason::NotFound } else { failure.reason };
            assert_eq!(failure.reason, reason, "{text}");
        }
    }
    // Structured codes count whatever else stands there (core 3.2.5).
    let both = r#"{"error":{"code":"model_not_found","message":"unauthorized"}}"#;
    assert_eq!(judged(&acme(Apikey), 400, &[], both).detector, Detector::ModelUnknown);
    // 413 and 415 say nothing about models.
    assert_eq!(judged(&acme(Apikey), 413, &[], "model m does not exist").then, Then::Stop);
}

#[test]
fn core_5_3_7_a_retired_model_is_locked_for_a_day() {
    for status in [404, 410] {
        let lock = judged(&acme(Apikey), status, &[], "model m was retired").lock.expect("D6");
        assert_eq!((lock.exact_ms, lock.authoritative, lock.exact_key), (Some(DAY), true, false), "{status}");
    }
    assert_eq!(judged(&acme(Apikey), 409, &[], "model m was retired").lock, None, "not on any status");
    assert!(judged(&acme(Apikey), 500, &[], "the endpoint has moved").lock.is_some(), "D7: any status");
}

/// Decision 12a, core 3.9.3; F10–F12: what a 401 needs before it can be the end.
#[test]
fn decision_12a_a_401_that_a_refresh_may_cure_is_never_the_end() {
    let confirmed = Some(TerminalRule::ExpiredIfConfirmed);
    let rows = [
        ("F11", None, "token rejected", confirmed),
        ("F10", Some(T0 + 2 * HOUR), "token rejected", None),
        ("61 s ahead", Some(T0 + 60_001), "token rejected", None),
        ("60 s ahead", Some(T0 + 60_000), "token rejected", confirmed),
        ("long over", Some(0), "token rejected", confirmed),
        ("F12", None, "Invalid authentication credentials", None),
    ];
    for (name, token_expires_at, text, terminal) in rows {
        let failure = judged(&Case { token_expires_at, ..acme(Oauth) }, 401, &[], text);
        assert_eq!((failure.terminal, failure.cooldown), (terminal, CooldownRule::Ladder), "{name}");
    }
    assert_eq!(judged(&acme(Local), 401, &[], "").terminal, confirmed, "every class");
}

/// Decision 12c: 529 and the typed error on any status.
#[test]
fn decision_12c_overload_bars_one_model_for_ten_seconds() {
    let typed = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let coded = r#"{"error":{"code":"server_is_overloaded","type":"service_unavailable_error"}}"#;
    for (status, text) in
        [(529, ""), (529, "rate limit"), (503, typed), (500, typed), (429, typed), (503, coded)]
    {
        let failure = judged(&acme(Apikey), status, &[], text);
        let lock = failure.lock.expect("12c");
        assert_eq!(
            (failure.cooldown, failure.then, failure.breaker, failure.reason),
            (CooldownRule::Nothing, Then::NextOrOnce, BreakerMark::Reachable, Reason::ModelCapacity),
            "{status} {text}"
        );
        assert_eq!((lock.exact_key, lock.exact_ms, lock.keep_count), (true, Some(10_000), true));
    }
}

/// F16: behind a gateway a 402 is the owner's to lock, never the account's end.
#[test]
fn f16_f17_a_402_ends_a_plain_account_only() {
    let gateway = Case { per_model_quota: true, passthrough: true, ..acme(Apikey) };
    for (text, cooldown) in [
        ("", CooldownRule::Scaled),
        ("insufficient credits", CooldownRule::Exact { ms: 120_000, level: Level::Keeps, stated: false }),
    ] {
        let failure = judged(&gateway, 402, &[], text);
        assert_eq!((failure.terminal, failure.cooldown, failure.status), (None, cooldown, 402), "F16");
        let plain = judged(&acme(Apikey), 402, &[], text);
        assert_eq!(plain.terminal, Some(TerminalRule::CreditsExhausted), "F17");
    }
    // D10: the flag depends on the gateway, not on whose quota it is.
    let native = Case { per_model_quota: true, ..acme(Apikey) };
    assert_eq!(
        judged(&native, 429, &[], "insufficient_quota").terminal,
        Some(TerminalRule::CreditsExhausted)
    );
}

/// Core 3.8.4, F13–F15.
#[test]
fn request_rejected_is_about_one_model_if_it_is_known() {
    let text = r#"{"error":{"message":"Request not allowed"}}"#;
    let failure = judged(&acme(Oauth), 403, &[], text);
    assert_eq!(
        (failure.reason, failure.detector),
        (Reason::RequestRejected, Detector::RequestRejected),
        "F13"
    );
    let lock = failure.lock.expect("F13");
    assert_eq!((lock.exact_key, lock.exact_ms, failure.cooldown), (true, None, CooldownRule::Nothing), "F13");
    assert_eq!((failure.terminal, failure.then), (None, Then::Next), "never the end");
    let failure = judged(&Case { model: None, ..acme(Oauth) }, 403, &[], text);
    assert_eq!((failure.lock, failure.cooldown), (None, CooldownRule::Rejected), "F15");
    assert_eq!(judged(&acme(Apikey), 403, &[], text).detector, Detector::Forbidden, "other classes");
    let elsewhere = judged(&acme(Oauth), 409, &[], text);
    let five = CooldownRule::Exact { ms: 5_000, level: Level::Keeps, stated: false };
    assert_eq!((elsewhere.cooldown, elsewhere.reason), (five, Reason::RateLimitExceeded), "R1");
}

/// Core 1.6.1, 1.6.2, B5, B22: what a breaker counts.
#[test]
fn only_five_statuses_count_and_never_when_overloaded() {
    let counts = BreakerMark::Counts(Kind::Transient);
    for status in [408, 500, 502, 503, 504] {
        for (text, mark) in [
            ("", counts),
            ("high demand", counts),
            ("improperly formed request", counts),
            ("Overloaded", BreakerMark::Reachable),
            ("the server is overloaded now", BreakerMark::Reachable),
            ("rate limit", BreakerMark::Reachable),
            ("quota exceeded", BreakerMark::Reachable),
            ("no credentials", BreakerMark::Reachable),
            ("insufficient_quota", BreakerMark::Reachable),
            ("account_deactivated", BreakerMark::Reachable),
        ] {
            assert_eq!(judged(&acme(Apikey), status, &[], text).breaker, mark, "{status} {text}");
        }
    }
    for status in [401, 402, 403, 404, 409, 410, 429, 432, 406, 501, 505, 520, 529] {
        for text in ["", "capacity", "internal error"] {
            assert_eq!(judged(&acme(Oauth), status, &[], text).breaker, BreakerMark::Reachable, "{status}");
        }
    }
    let hint = [("x-omni-fallback-hint", "connection_cooldown")];
    assert_eq!(judged(&acme(Apikey), 503, &hint, "").breaker, BreakerMark::Ignored, "D3");
    assert_eq!(judged(&acme(Apikey), 502, &hint, "").breaker, counts, "D3 is a 503");
    let other = [("x-omni-fallback-hint", "other")];
    assert_eq!(judged(&acme(Apikey), 503, &other, "").detector, Detector::Trip);
}

/// An operator's rule on a trip status: its reason says whether the provider is to blame.
#[test]
fn a_rule_that_blames_the_account_spares_the_breaker() {
    use crate::rules::ErrorRule;
    for (reason, mark) in [
        (Reason::QuotaExhausted, BreakerMark::Reachable),
        (Reason::AuthError, BreakerMark::Reachable),
        (Reason::ServerError, BreakerMark::Counts(Kind::Transient)),
    ] {
        let rule = ErrorRule { status: Some(503), reason: Some(reason), ..ErrorRule::default() };
        let lists = [("acme".to_owned(), vec![rule])].into();
        let rules = RuleBook::new(lists, Default::default(), Vec::new()).unwrap();
        assert_eq!(judged(&Case { rules: &rules, ..acme(Apikey) }, 503, &[], "").breaker, mark, "{reason:?}");
    }
}

/// A status that says more than the words: "high-capacity" is the name of a model.
#[test]
fn words_of_r1_do_not_outvote_401_and_404() {
    for text in ["capacity", "rate limit", "quota exceeded", "no credentials"] {
        assert_eq!(judged(&acme(Apikey), 404, &[], text).detector, Detector::NotFound, "{text}");
        assert_eq!(judged(&acme(Apikey), 410, &[], text).detector, Detector::NotFound, "{text}");
        assert_eq!(judged(&acme(Apikey), 401, &[], text).detector, Detector::Unauthorized, "{text}");
    }
    for (status, detector) in
        [(402, Detector::CapacityText), (405, Detector::CapacityText), (599, Detector::CapacityText)]
    {
        assert_eq!(judged(&acme(Apikey), status, &[], "capacity").detector, detector, "{status}");
    }
}

/// Rules 3.7.1: on a key's 429 whose quota words are not trusted only the status counts.
#[test]
fn words_of_a_keys_429_are_trusted_only_as_quota_texts() {
    for text in ["capacity", "rate limit", "quota will reset", "today's quota", "usage limit reached"] {
        assert_eq!(judged(&acme(Apikey), 429, &[], text).detector, Detector::RateLimited, "{text}");
        assert_ne!(judged(&acme(Oauth), 429, &[], text).detector, Detector::RateLimited, "{text}");
        let nameless = Case { provider: "", ..acme(Apikey) };
        assert_ne!(judged(&nameless, 429, &[], text).detector, Detector::RateLimited, "{text}");
    }
    assert_eq!(judged(&acme(Local), 429, &[], "today's quota").detector, Detector::RateLimited);
}

/// D4: the gate's word, and that it forces nothing but a 400.
#[test]
fn d4_rotation() {
    let forced = Case { rotation: Rotation::Forces(7_000), ..acme(Apikey) };
    let failure = judged(&forced, 400, &[], "missing field foo");
    let cooldown = CooldownRule::Exact { ms: 7_000, level: Level::Zero, stated: false };
    assert_eq!((failure.reason, failure.cooldown), (Reason::RateLimitExceeded, cooldown));
    assert_eq!((failure.then, failure.detector), (Then::Next, Detector::RotationForces));
    assert_eq!(judged(&forced, 429, &[], "").detector, Detector::RateLimited);
    let held = Case { rotation: Rotation::Holds, ..acme(Apikey) };
    assert_eq!(
        judged(&held, 503, &[], "account_deactivated").detector,
        Detector::RotationHolds,
        "D4 before D5"
    );
}

/// Core 3.2.3: the next reset, at most a day away.
#[test]
fn daily_quotas_come_back_at_the_configured_hour() {
    let at = |hour, offset_minutes| Some(DailyReset { hour, offset_minutes });
    for (daily_reset, now, ms) in [
        (None, T0, 12 * HOUR),
        (at(0, 0), T0, 12 * HOUR),
        (at(12, 0), T0, DAY),
        (at(13, 0), T0, HOUR),
        (at(11, 0), T0, 23 * HOUR),
        (at(0, 120), T0, 10 * HOUR),
        (at(0, -120), T0, 14 * HOUR),
        (at(9, 480), T0, 13 * HOUR),
        (None, T0 + 1, 12 * HOUR - 1),
        (None, T0 + 12 * HOUR, DAY),
    ] {
        let case = Case { daily_reset, now, ..acme(Oauth) };
        let failure = judged(&case, 429, &[], "daily quota");
        let cooldown = CooldownRule::Exact { ms, level: Level::Keeps, stated: true };
        assert_eq!(failure.cooldown, cooldown, "{daily_reset:?} at {now}");
    }
}

/// Core 3.2.3: "TPD rate limit" needs a configured clock or a reset header.
#[test]
fn tokens_per_day_need_a_clock_or_a_header() {
    let text = "TPD rate limit reached";
    let stated = |ms| CooldownRule::Exact { ms, level: Level::Keeps, stated: true };
    assert_eq!(judged(&acme(Apikey), 429, &[], text).detector, Detector::RateLimitText, "neither");
    let header = judged(&acme(Apikey), 429, &[("retry-after", "90")], text);
    assert_eq!((header.detector, header.cooldown), (Detector::DailyQuota, stated(90_000)));
    let clock = Case { daily_reset: Some(DailyReset { hour: 18, offset_minutes: 0 }), ..acme(Apikey) };
    assert_eq!(judged(&clock, 429, &[], text).cooldown, stated(6 * HOUR));
    assert_eq!(
        judged(&clock, 429, &[("retry-after", "90")], text).cooldown,
        stated(6 * HOUR),
        "a burst's wait"
    );
    assert_eq!(judged(&clock, 429, &[("retry-after", "3600")], text).cooldown, stated(HOUR));
    let body = judged(&acme(Apikey), 429, &[], "TPD rate limit reached, resets in 2 hours");
    assert_eq!(body.detector, Detector::QuotaWithWait, "a body is no header");
}

/// Decision 2: a stated wait takes the place of a window's usual length, unless it is a burst's.
#[test]
fn windows_and_stated_waits() {
    let stated = |ms| CooldownRule::Exact { ms, level: Level::Keeps, stated: true };
    let usual = |ms| CooldownRule::Exact { ms, level: Level::Keeps, stated: false };
    for (text, wait, cooldown) in [
        ("daily quota", "3600", stated(HOUR)),
        ("daily quota", "600", stated(600_000)),
        ("daily quota", "599", stated(12 * HOUR)),
        ("weekly limit reached", "7200", stated(2 * HOUR)),
        ("weekly limit reached", "5", usual(DAY)),
        ("weekly limit reached, resets in 3 days", "5", stated(3 * DAY)),
        // Decision 3: a stated wait is clamped, never thrown away (FC-072).
        ("weekly limit reached, resets in 400 days", "5", stated(30 * DAY)),
        ("session limit reached", "3600", stated(HOUR)),
        ("session limit reached", "5", usual(5 * HOUR)),
        ("usage limit reached", "5", stated(5_000)),
        ("too many concurrent requests", "5", stated(5_000)),
    ] {
        let failure = judged(&acme(Oauth), 429, &[("retry-after", wait)], text);
        assert_eq!(failure.cooldown, cooldown, "{text} {wait}");
        let deaf = Case { use_hints: false, ..acme(Oauth) };
        let unheard = judged(&deaf, 429, &[("retry-after", wait)], text).cooldown;
        let without = judged(&deaf, 429, &[], text).cooldown;
        assert_eq!(unheard, without, "hints off: {text} {wait}");
    }
    let plan = |headers| judged(&acme(Apikey), 432, headers, "").cooldown;
    assert_eq!((plan(&[]), plan(&[("retry-after", "5")])), (usual(HOUR), stated(5_000)), "D23");
}

/// Core 3.9.6: an operator's signals stand beside S1, on any status, for every provider.
#[test]
fn an_operators_ban_signal_joins_s1() {
    let rules =
        RuleBook::new(Default::default(), Default::default(), vec!["Kündigung Wirksam".into()]).unwrap();
    let case = Case { rules: &rules, ..acme(Apikey) };
    for status in [400, 403, 429, 503] {
        let failure = judged(&case, status, &[], "Die KÜNDIGUNG wirksam.");
        assert_eq!(failure.terminal, Some(TerminalRule::Banned), "{status}");
        assert_eq!(judged(&case, status, &[], "Kündigung").terminal, None, "{status}");
    }
    assert_eq!(judged(&case, 403, &[], "account_deactivated").terminal, Some(TerminalRule::Banned), "added");
}
