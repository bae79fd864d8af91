//! Rows E of core 3.10 and F of 3.11 through `judge`, `from_headers` and `Cooldown`, and
//! the decisions that change them.

mod recording;
mod terminal;

use super::{Cooldown, CooldownSettings, CooldownSnapshot, resolve_delay};
use crate::change::{Change, Exclusion, Refusal};
use crate::hint::from_headers;
use crate::ids::{Class, ModelId, ProviderId};
use crate::lockout::{LockCase, LockReason, LockoutSettings, lock_for};
use crate::time::Millis;
use crate::verdict::{Case, CooldownRule, End, Failure, Level, Reason, Signal, Verdict, judge};

use Class::{Apikey, Oauth};

const T0: Millis = 1_768_478_400_000;

fn verdict(class: Class, status: u16, headers: &[(&str, &str)], now: Millis) -> Verdict {
    let get = |name: &str| {
        let found = headers.iter().find(|(header, _)| *header == name);
        found.map(|(_, value)| value.as_bytes())
    };
    let hint = from_headers(get, status, now);
    judge(&Signal::new(End::Status(status), hint), &Case::of(class))
}

fn plain(status: u16) -> Verdict {
    verdict(Apikey, status, &[], T0)
}

fn hinted(status: u16, seconds: &str) -> Verdict {
    verdict(Apikey, status, &[("retry-after", seconds)], T0)
}

/// The failure of a status, changed.
fn failing(status: u16, change: impl FnOnce(&mut Failure)) -> Verdict {
    let Verdict::Failure(mut failure) = plain(status) else { panic!("{status} is no failure") };
    change(&mut failure);
    Verdict::Failure(failure)
}

fn clean(class: Class) -> Cooldown {
    Cooldown::new(CooldownSettings::for_class(class))
}

fn at_level(settings: CooldownSettings, level: u32) -> Cooldown {
    Cooldown::restore(CooldownSnapshot { level, ..CooldownSnapshot::default() }, settings, T0)
}

/// Admits and judges one request at `at`.
fn send(cooldown: &mut Cooldown, verdict: &Verdict, at: Millis) -> Option<Change> {
    let trial = cooldown.admit(false, at).expect("admitted");
    cooldown.record(trial, verdict, at, at)
}

fn left(cooldown: &Cooldown, now: Millis) -> Option<Millis> {
    cooldown.cooling_until(now).map(|until| until - now)
}

#[test]
fn rows_of_the_decision_function() {
    use Reason::{AuthError, RateLimitExceeded, ServerError, Unknown};
    type Row<'a> = (&'a str, Class, u16, &'a [(&'a str, &'a str)], u32, Millis, Reason, u32);
    // (row, class, status, headers, level before, cooldown, reason, level after)
    let rows: [Row<'_>; 18] = [
        ("E1", Apikey, 429, &[], 0, 3_000, RateLimitExceeded, 1),
        ("E2", Apikey, 429, &[], 3, 24_000, RateLimitExceeded, 4),
        ("E3", Apikey, 429, &[], 5, 96_000, RateLimitExceeded, 5),
        ("E4", Oauth, 429, &[], 0, 5_000, RateLimitExceeded, 1),
        ("E5", Oauth, 429, &[], 8, 1_280_000, RateLimitExceeded, 8),
        ("E7", Apikey, 429, &[("retry-after", "45")], 4, 45_000, RateLimitExceeded, 0),
        (
            "E8",
            Apikey,
            429,
            &[("retry-after", "Thu, 15 Jan 2026 12:02:00 GMT")],
            0,
            120_000,
            RateLimitExceeded,
            0,
        ),
        ("E9", Apikey, 429, &[("x-ratelimit-reset", "1768478490")], 0, 90_000, RateLimitExceeded, 0),
        ("E10", Apikey, 429, &[("x-ratelimit-reset", "1768478700000")], 0, 300_000, RateLimitExceeded, 0),
        // Decision 2: OAuth obeys stated waits.
        ("E11", Oauth, 429, &[("retry-after", "45")], 0, 45_000, RateLimitExceeded, 0),
        ("E12", Oauth, 429, &[("retry-after", "45")], 2, 45_000, RateLimitExceeded, 0),
        // Decision 12a: the first 401 cools by the ladder.
        ("E34", Apikey, 401, &[], 0, 3_000, AuthError, 1),
        ("E36", Apikey, 403, &[], 0, 3_000, AuthError, 1),
        // Decision 1: an OAuth 403 is a cooldown, not a ban.
        ("E37", Oauth, 403, &[], 0, 5_000, AuthError, 1),
        ("E43", Apikey, 500, &[], 2, 12_000, ServerError, 3),
        ("E44", Apikey, 503, &[("retry-after", "20")], 2, 20_000, ServerError, 0),
        // Decision 4: a Retry-After of the past is skipped.
        (
            "E64",
            Apikey,
            429,
            &[("retry-after", "Thu, 15 Jan 2026 11:59:00 GMT"), ("x-ratelimit-reset", "1768478490")],
            0,
            90_000,
            RateLimitExceeded,
            0,
        ),
        ("D27", Apikey, 409, &[], 3, 3_000, Unknown, 3),
    ];
    for (row, class, status, headers, level, cooldown_ms, reason, level_after) in rows {
        let mut cooldown = at_level(CooldownSettings::for_class(class), level);
        send(&mut cooldown, &verdict(class, status, headers, T0), T0);
        let view = cooldown.view();
        assert_eq!(left(&cooldown, T0), Some(cooldown_ms), "{row}");
        let last = view.last_error.expect("recorded");
        assert_eq!((last.reason, last.status, view.level), (reason, status, level_after), "{row}");
    }
}

#[test]
fn e6_the_ceiling() {
    let settings = CooldownSettings { max_steps: 12, ..CooldownSettings::for_class(Oauth) };
    let mut cooldown = at_level(settings, 10);
    send(&mut cooldown, &plain(429), T0);
    assert_eq!((left(&cooldown, T0), cooldown.view().level), (Some(1_800_000), 11), "E6");
}

#[test]
fn e47_a_529_locks_its_model_and_cools_nothing() {
    // Decision 12c.
    let mut cooldown = at_level(CooldownSettings::for_class(Apikey), 3);
    let before = cooldown.view();
    assert_eq!(send(&mut cooldown, &plain(529), T0), None);
    assert_eq!(cooldown.view(), before);
    let Verdict::Failure(failure) = plain(529) else { panic!("a failure") };
    let (provider, model) = (ProviderId::from("p"), ModelId::from("m"));
    let case = LockCase { provider: &provider, model: &model, use_hints: true };
    let (key, order) = lock_for(&failure, &case, &LockoutSettings::for_class(Apikey)).expect("a lock");
    assert_eq!(key.id(&"c1".into()), "c1:exact:m");
    assert_eq!((order.exact_ms, order.reason), (Some(10_000), LockReason::ModelCapacity));
    assert!(order.keep_count);
}

#[test]
fn e55_to_e59_the_operators_delay() {
    let sources = |connection, provider, env| resolve_delay(connection, provider, env);
    let full = sources(Some(30_000), Some(60_000), Some(300_000));
    // (row, delay, status, hint, level before, cooldown, level after)
    let rows = [
        ("E55", full, 429, None, 3, 30_000, 0),
        ("E56", sources(None, Some(60_000), Some(300_000)), 429, None, 3, 60_000, 0),
        ("E57", sources(Some(0), Some(0), Some(300_000)), 429, None, 3, 300_000, 0),
        ("E58", sources(None, Some(60_000), None), 429, Some("5"), 3, 5_000, 0),
        ("E59", sources(None, Some(60_000), None), 503, None, 0, 3_000, 1),
        ("3.4.3", sources(Some(0), None, Some(0)), 429, None, 0, 3_000, 1),
        ("3.4.1", full, 403, None, 0, 3_000, 1),
    ];
    for (row, rate_limit_delay_ms, status, hint, level, cooldown_ms, level_after) in rows {
        let settings = CooldownSettings { rate_limit_delay_ms, ..CooldownSettings::for_class(Apikey) };
        let mut cooldown = at_level(settings, level);
        let verdict = hint.map_or(plain(status), |seconds| hinted(status, seconds));
        send(&mut cooldown, &verdict, T0);
        assert_eq!((left(&cooldown, T0), cooldown.view().level), (Some(cooldown_ms), level_after), "{row}");
    }
}

#[test]
fn e29_to_e31_f23_a_busy_account_rests_a_second_and_keeps_its_level() {
    use CooldownRule::{Base, Exact, Scaled};
    let exact = Exact { ms: 1_000, level: Level::Keeps, stated: false };
    // (row, class, hint, level, cooldown): however the verdict words it.
    let rows = [
        ("E29", Apikey, None, 4, 1_000),
        ("E30", Oauth, None, 2, 1_000),
        ("E31", Apikey, Some("7"), 1, 7_000),
    ];
    for (row, class, hint, level, cooldown_ms) in rows {
        for cooldown_rule in [Scaled, Base, exact] {
            if hint.is_some() && cooldown_rule == exact {
                continue;
            }
            let Verdict::Failure(mut failure) = hint.map_or(plain(429), |wait| hinted(429, wait)) else {
                panic!("{row}");
            };
            failure.reason = Reason::ConcurrencyLimited;
            failure.cooldown = cooldown_rule;
            let mut cooldown = at_level(CooldownSettings::for_class(class), level);
            send(&mut cooldown, &Verdict::Failure(failure), T0);
            assert_eq!((left(&cooldown, T0), cooldown.view().level), (Some(cooldown_ms), level), "{row}");
        }
    }
}

#[test]
fn hints_can_be_switched_off() {
    let settings = CooldownSettings { use_hints: false, ..CooldownSettings::for_class(Apikey) };
    let mut cooldown = at_level(settings, 0);
    send(&mut cooldown, &hinted(429, "45"), T0);
    assert_eq!((left(&cooldown, T0), cooldown.view().level), (Some(3_000), 1));
    assert_eq!(cooldown.view().last_error.and_then(|last| last.hint_ms), Some(45_000), "but is told");
}

#[test]
fn what_cools_nobody() {
    let mut cooldown = at_level(CooldownSettings::for_class(Apikey), 3);
    let before = cooldown.view();
    for end in [
        End::Status(400),
        End::Status(413),
        End::Status(422),
        End::NoFirstByte,
        End::SendInterrupted,
        End::ClientGone,
    ] {
        let verdict = judge(&Signal::new(end, None), &Case::of(Apikey));
        assert_eq!(send(&mut cooldown, &verdict, T0), None, "{end:?}");
    }
    assert_eq!(cooldown.view(), before);
    // F6, decision 9a: a stall is recorded.
    let stall = judge(&Signal::new(End::StallAfterCommit, None), &Case::of(Apikey));
    let change = send(&mut cooldown, &stall, T0).expect("F6");
    assert_eq!((change.from.as_str(), change.to.as_str()), ("ready", "ready"), "F6");
    let view = cooldown.view();
    assert_eq!((view.until, view.level), (None, 3), "F6");
    assert_eq!(
        view.last_error.map(|last| (last.reason, last.status)),
        Some((Reason::ServerError, 504)),
        "F6"
    );
}

#[test]
fn f1_a_stated_wait_is_written() {
    let mut cooldown = clean(Apikey);
    let change = send(&mut cooldown, &hinted(429, "45"), T0).expect("F1");
    assert_eq!((change.from.as_str(), change.to.as_str()), ("ready", "cooling"), "F1");
    let view = cooldown.view();
    assert_eq!((view.until, view.level), (Some(T0 + 45_000), 0), "F1");
    let last = view.last_error.expect("F1");
    assert_eq!((last.status, last.at, last.hint_ms), (429, T0, Some(45_000)), "F1");
    let refusal = Refusal { why: Exclusion::ConnectionCooldown, retry_at: Some(T0 + 45_000) };
    assert_eq!(cooldown.admit(false, T0 + 44_999), Err(refusal));
    assert!(cooldown.admit(false, T0 + 45_000).is_ok());
}
