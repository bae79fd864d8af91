//! Rows M of core 5.8 that need no families, and the ids.

mod families;
mod refusals;

use super::{
    LockCase, LockKey, LockOrder, LockReason, LockScope, Lockout, LockoutSettings, LockoutSnapshot, Refusals,
    is_recorded_only, lock_for,
};
use crate::change::Exclusion;
use crate::hint::{Hint, HintSource};
use crate::ids::{Class, ConnectionId, ModelId};
use crate::time::Millis;
use crate::verdict::{Case, End, Failure, Reason, Signal, TerminalRule, Transport, Verdict, judge};

/// Noon UTC.
const T0: Millis = 1_768_478_400_000;

fn listed(class: Class) -> LockoutSettings {
    LockoutSettings { enabled: true, ..LockoutSettings::for_class(class) }
}

fn failure(end: End, hint: Option<(Millis, HintSource)>) -> Failure {
    let hint = hint.map(|(wait_ms, source)| Hint::new(wait_ms, source));
    match judge(&Signal::new(end, hint), &Case { per_model_quota: true, ..Case::of(Class::Apikey) }) {
        Verdict::Failure(failure) => failure,
        other => panic!("{end:?} is {other:?}"),
    }
}

fn status(status: u16) -> Failure {
    failure(End::Status(status), None)
}

/// The failure of a status that ends no connection's use.
fn mild(code: u16) -> Failure {
    Failure { terminal: None, ..status(code) }
}

fn claim(failure: &Failure, settings: &LockoutSettings) -> Option<(LockKey, LockOrder)> {
    claim_at("p", "GPT-5.6-luna", failure, settings)
}

fn claim_at(
    provider: &str,
    model: &str,
    failure: &Failure,
    settings: &LockoutSettings,
) -> Option<(LockKey, LockOrder)> {
    let case = LockCase { provider: &provider.into(), model: &model.into(), use_hints: true };
    lock_for(failure, &case, settings)
}

/// The lock that a failure writes at `now` onto one with a prior count and end.
fn locked(failure: &Failure, settings: &LockoutSettings, failures: u32, now: Millis) -> Lockout {
    let (key, order) = claim(failure, settings).expect("a lock");
    let snapshot = LockoutSnapshot {
        key: key.clone(),
        until: now,
        failures,
        reason: order.reason,
        locked_at: now,
        last_failure_at: now,
        last_cooldown_ms: 0,
        counted_at: 0,
        refusals: Refusals::default(),
        computed: false,
    };
    let new = || Lockout::new(key, settings.clone());
    let mut lockout = Lockout::restore(snapshot, settings.clone(), now).unwrap_or_else(new);
    lockout.record(&order, now, now);
    lockout
}

fn left(lockout: &Lockout, now: Millis) -> Millis {
    lockout.view().until - now
}

#[test]
fn m1_m2_an_exact_model_for_two_minutes_then_four() {
    let settings = listed(Class::Oauth);
    let (key, order) = claim(&status(502), &settings).expect("M1");
    assert_eq!(key.id(&"c1".into()), "c1:exact:gpt-5.6-luna", "M1");
    let p = "p".into();
    assert!(key.covers(&p, &" GPT-5.6-Luna ".into()) && !key.covers(&p, &"gpt-5.5".into()), "M1");
    let mut lockout = Lockout::new(key, settings);
    let change = lockout.record(&order, T0, T0).expect("M1");
    assert_eq!(
        (change.from.as_str(), change.to.as_str(), change.why.as_str()),
        ("free", "locked", "server_error")
    );
    assert_eq!((left(&lockout, T0), lockout.view().failures), (120_000, 1), "M1");
    lockout.record(&order, T0 + 60_000, T0 + 60_000);
    assert_eq!((left(&lockout, T0 + 60_000), lockout.view().failures), (240_000, 2), "M2");
    assert_eq!(lockout.view().locked_at, T0, "without a gap");
    let refusal = lockout.view().refusal(T0 + 300_000).expect("M2");
    assert_eq!((refusal.why, refusal.retry_at), (Exclusion::ModelLockout, Some(T0 + 300_001)), "M2");
}

#[test]
fn m3_the_count_doubles_up_to_the_maximum() {
    let settings = listed(Class::Oauth);
    for (count, want) in [(2, 480_000), (3, 960_000), (4, 1_800_000), (5, 1_800_000)] {
        assert_eq!(left(&locked(&status(502), &settings, count, T0), T0), want, "M3 count {}", count + 1);
    }
}

#[test]
fn m6_a_404_bars_the_base_model_with_or_without_the_list() {
    let model = ModelId::from("x");
    for (settings, want) in
        [(listed(Class::Apikey), 120_000), (LockoutSettings::for_class(Class::Apikey), 3_000)]
    {
        let (key, order) = claim_at("p", "x", &status(404), &settings).expect("M6");
        assert_eq!(key, LockKey { scope: LockScope::Family, model: model.clone() }, "M6");
        assert!(key.covers(&"p".into(), &model) && !key.covers(&"p".into(), &"y".into()), "M6");
        assert_eq!(order.reason, LockReason::NotFound, "M6");
        let mut lockout = Lockout::new(key, settings);
        lockout.record(&order, T0, T0);
        // Core 5.3.3: the list's numbers, else the class's (F18).
        assert_eq!(left(&lockout, T0), want, "M6");
    }
}

#[test]
fn m7_the_count_outlives_the_lock_by_the_reset_time() {
    for (gap, count, alive) in [(150_000, 2, true), (150_001, 1, false)] {
        let settings = listed(Class::Apikey);
        let mut lockout = locked(&status(502), &settings, 0, T0);
        assert_eq!(lockout.is_dead(T0 + gap), !alive, "M7");
        assert_eq!(lockout.dies_at(), T0 + 150_001, "M7");
        let restored = Lockout::restore(lockout.snapshot(), settings.clone(), T0 + gap);
        assert_eq!(restored.is_some(), alive, "decision 11");
        let (_, order) = claim(&status(502), &settings).expect("a lock");
        lockout.record(&order, T0 + gap, T0 + gap);
        assert_eq!(lockout.view().failures, count, "M7 after {gap}");
    }
}

#[test]
fn rows_of_stated_waits() {
    let settings = listed(Class::Apikey);
    let flat = LockoutSettings { exponential: false, ..settings.clone() };
    let (header, body) = (HintSource::Header, HintSource::Body);
    let rows = [
        ("M8", &settings, 0, (7_200_000, header), 7_200_000),
        ("M9", &settings, 0, (7_200_000, body), 1_800_000),
        ("M11", &flat, 3, (1_000, body), 120_000),
        ("M12", &settings, 0, (200_000, body), 200_000),
        ("5.3.5", &settings, 1, (45_000, header), 240_000),
        ("5.3.5", &settings, 1, (120_000, header), 240_000),
    ];
    for (row, settings, count, hint, want) in rows {
        let lockout = locked(&failure(End::Status(429), Some(hint)), settings, count, T0);
        assert_eq!(left(&lockout, T0), want, "{row}");
    }
}

#[test]
fn m10_a_quota_without_a_hint_lasts_till_midnight_within_the_maximum() {
    let exhausted = Failure { reason: Reason::QuotaExhausted, ..status(429) };
    let lockout = locked(&exhausted, &listed(Class::Apikey), 0, T0);
    assert_eq!((left(&lockout, T0), lockout.view().reason), (1_800_000, LockReason::QuotaExhausted), "M10");
    let wide = LockoutSettings { max_ms: Millis::MAX, ..listed(Class::Apikey) };
    assert_eq!(left(&locked(&exhausted, &wide, 0, T0), T0), 43_200_000, "M10 before the clamp");
}

#[test]
fn m13_writing_never_shortens() {
    let settings = listed(Class::Apikey);
    let (key, order) = claim(&status(502), &settings).expect("a lock");
    let mut lockout = Lockout::new(key, settings);
    lockout.record(&LockOrder { exact_ms: Some(900_000), reason: LockReason::Credits, ..order }, T0, T0);
    lockout.record(&order, T0 + 1, T0 + 1);
    assert_eq!(lockout.view().until, T0 + 900_000);
    lockout.record(&LockOrder { exact_ms: Some(120_000), ..order }, T0 + 2, T0 + 2);
    let view = lockout.view();
    assert_eq!((view.until, view.failures), (T0 + 900_000, 3), "M13");
    assert_eq!((view.reason, view.last_failure_at), (LockReason::Credits, T0 + 2), "M13");
}

#[test]
fn m14_m15_combo_successes_halve_and_a_direct_one_removes() {
    let settings = listed(Class::Apikey);
    let mut lockout = locked(&status(502), &settings, 4, T0);
    let end = lockout.view().until;
    for (count, is_locked) in [(2, true), (1, true), (0, false)] {
        assert!(lockout.success(false, T0).is_some());
        assert_eq!((lockout.view().failures, lockout.is_locked(T0)), (count, is_locked), "M14");
        assert_eq!(lockout.view().until, if is_locked { end } else { 0 }, "M14");
    }
    assert_eq!(lockout.success(false, T0), None, "gone");
    assert!(lockout.is_dead(T0) && Lockout::restore(lockout.snapshot(), settings.clone(), T0).is_none());

    let mut lockout = locked(&status(502), &settings, 0, T0);
    assert_eq!(lockout.success(false, T0 + 20_000).expect("M15").to, "free", "M15");
    let mut lockout = locked(&status(502), &settings, 9, T0);
    assert_eq!(lockout.success(true, T0).expect("direct").to, "free", "core 5.6.2");
    let mut lockout = locked(&status(502), &settings, 9, T0);
    assert_eq!((lockout.remove(T0).to.as_str(), lockout.is_dead(T0)), ("free", true));
}

#[test]
fn m16_what_cools_the_connection_or_nobody_locks_nothing() {
    let (off, on) = (LockoutSettings::for_class(Class::Apikey), listed(Class::Apikey));
    for code in [403, 429, 502, 503, 504] {
        assert_eq!(claim(&status(code), &off), None, "M16 {code}");
        assert!(claim(&status(code), &on).is_some(), "{code}");
    }
    assert_eq!(claim(&status(500), &on), None, "not on the list");
    // 502 and 504 by their number, but decisions 7, 9, 9a and 9c blame no model.
    let blameless = [
        End::NoFirstByte,
        End::SendInterrupted,
        End::StallAfterCommit,
        End::Transport(Transport::ProxyUnreachable),
        End::Status(302),
    ];
    for end in blameless {
        assert_eq!(claim(&failure(end, None), &on), None, "{end:?}");
    }
    let greedy = LockoutSettings { error_codes: vec![400, 529], ..on };
    assert_eq!(claim(&status(400), &greedy), None, "decision 8");
}

#[test]
fn m17_m20_f16_a_quota_per_model_locks_the_model() {
    let gateway = LockoutSettings { per_model_quota: true, ..LockoutSettings::for_class(Class::Apikey) };
    for (row, code, reason) in [
        ("M17", 429, LockReason::RateLimited),
        ("F16", 402, LockReason::Credits),
        ("P14", 403, LockReason::Forbidden),
        ("P12", 503, LockReason::ServerError),
    ] {
        let (key, order) = claim(&mild(code), &gateway).expect(row);
        assert_eq!(order.reason, reason, "{row}");
        let mut lockout = Lockout::new(key, gateway.clone());
        lockout.record(&order, T0, T0);
        assert_eq!(left(&lockout, T0), 3_000, "{row}");
    }
    assert_eq!(claim(&status(500), &gateway), None, "M20");
    assert!(is_recorded_only(&status(500), &gateway), "M20");
    assert!(!is_recorded_only(&status(503), &gateway));
    assert_eq!(claim(&mild(401), &gateway), None, "a refused key is the account's affair");
    let refused = Failure { terminal: Some(TerminalRule::ExpiredIfConfirmed), ..status(401) };
    let greedy = LockoutSettings { error_codes: vec![401], enabled: true, ..gateway };
    assert_eq!(claim(&refused, &greedy), None, "also where the list has it");
}

#[test]
fn m19_the_end_is_included() {
    let lockout = locked(&status(502), &listed(Class::Apikey), 0, T0 - 120_000);
    assert_eq!((lockout.is_locked(T0), lockout.is_locked(T0 + 1)), (true, false), "M19");
}

#[test]
fn decision_12c_a_529_bars_ten_seconds_and_keeps_the_count() {
    let settings = LockoutSettings::for_class(Class::Apikey);
    let mut lockout = locked(&status(529), &settings, 0, T0);
    let (_, order) = claim(&status(529), &settings).expect("a lock");
    lockout.record(&order, T0 + 4_000, T0 + 4_000);
    assert_eq!((left(&lockout, T0 + 4_000), lockout.view().failures), (10_000, 1));
    lockout.success(true, T0 + 5_000);
    lockout.record(&order, T0 + 5_000, T0 + 5_000);
    assert!(lockout.is_locked(T0 + 15_000), "also after a success");
    // Decision 2: a longer stated wait is obeyed.
    let stated = failure(End::Status(529), Some((30_000, HintSource::Header)));
    assert_eq!(left(&locked(&stated, &settings, 0, T0), T0), 30_000);
}

#[test]
fn reasons_by_status() {
    let settings =
        LockoutSettings { error_codes: vec![401, 402, 403, 404, 429, 503], ..listed(Class::Apikey) };
    let rows = [
        (401, LockReason::Forbidden),
        (402, LockReason::Credits),
        (403, LockReason::Forbidden),
        (404, LockReason::NotFound),
        (429, LockReason::RateLimited),
        (503, LockReason::ServerError),
    ];
    for (code, reason) in rows {
        assert_eq!(claim(&mild(code), &settings).expect("listed").1.reason, reason, "{code}");
    }
    let waits = [LockReason::RateLimited, LockReason::ServerError, LockReason::ModelCapacity];
    let never =
        [LockReason::QuotaExhausted, LockReason::NotFound, LockReason::Forbidden, LockReason::Credits];
    assert!(waits.iter().all(|reason| reason.is_transient()), "core 5.5.3");
    assert!(!never.iter().any(|reason| reason.is_transient()), "core 5.5.3");
}

#[test]
fn ids_are_percent_encoded() {
    let (connection, model) = (ConnectionId::from("c:1 ä"), ModelId::from("Org/Model:Free%"));
    let key = LockKey::for_status(&"p".into(), 429, &model);
    let id = key.id(&connection);
    assert_eq!(id, "c%3A1%20%C3%A4:family:Org%2FModel%3AFree%25");
    assert_eq!(LockKey::parse_id(&id), Some((connection.clone(), key)));
    let exact = LockKey::for_status(&"p".into(), 503, &model);
    assert_eq!(exact.model.as_str(), "org/model:free%");
    assert_eq!(LockKey::parse_id(&exact.id(&connection)), Some((connection, exact)));
    for odd in [
        "",
        "c1",
        "c1:exact",
        "c1:exact:m:x",
        "c1:base:m",
        ":exact:m",
        "c1:exact:%",
        "c1:exact:%zz",
        "c:exact:%ff",
    ] {
        assert_eq!(LockKey::parse_id(odd), None, "{odd}");
    }
}

#[test]
fn core_5_2_settings_are_clamped() {
    let base = LockoutSettings::for_class(Class::Apikey);
    assert_eq!((base.enabled, base.base_ms, base.max_ms, base.max_steps), (false, 120_000, 1_800_000, 10));
    assert_eq!((base.class_base_ms, base.class_max_steps, base.reset_after_ms), (3_000, 5, 30_000));
    let stored = LockoutSettings { base_ms: 600_000, max_ms: 5_000, ..base.clone() };
    assert_eq!(stored.normalised().max_ms, 600_000, "G11");
    let wild = LockoutSettings {
        error_codes: vec![99, 600],
        base_ms: 0,
        max_ms: Millis::MAX,
        max_steps: 99,
        class_base_ms: Millis::MAX,
        class_max_steps: 99,
        ..base.clone()
    };
    let meant = wild.normalised();
    assert_eq!(meant.error_codes, base.error_codes);
    assert_eq!((meant.base_ms, meant.max_ms, meant.max_steps), (5_000, 3_600_000, 20));
    assert_eq!((meant.class_base_ms, meant.class_max_steps), (86_400_000, 32));
}

#[test]
fn core_5_3_3_without_a_class_base() {
    let settings = LockoutSettings { class_base_ms: 0, ..LockoutSettings::for_class(Class::Apikey) };
    let (key, order) = claim(&status(404), &settings).expect("a lock");
    let waits = [LockReason::NotFound, LockReason::RateLimited].map(|reason| {
        let mut lockout = Lockout::new(key.clone(), settings.clone());
        lockout.record(&LockOrder { reason, ..order }, T0, T0);
        left(&lockout, T0)
    });
    assert_eq!(waits, [5_000, 1_000]);
    // Core 5.3.2: a given length is > 0. New numbers hold from the next failure on.
    let mut lockout = Lockout::new(key, settings);
    lockout.configure(LockoutSettings { class_base_ms: 7_000, ..LockoutSettings::for_class(Class::Apikey) });
    lockout.record(&LockOrder { exact_ms: Some(0), authoritative: true, ..order }, T0, T0);
    assert_eq!(left(&lockout, T0), 7_000);
}
