use super::SetEnd::{Skipped, Tried};
use super::{SetEnd, WaitSettings, Waits};
use crate::change::Exclusion;
use crate::plan::Excluded;
use crate::time::Millis;

const NOW: Millis = 1_768_478_400_000;
const MINUTE: Millis = 60_000;

/// Decision 15.
fn built_in() -> WaitSettings {
    WaitSettings { enabled: true, max_wait_ms: 90_000, max_attempts: 5, budget_ms: 300_000 }
}

fn waits() -> Waits {
    Waits::new(built_in(), true)
}

fn held(reason: Exclusion, left_ms: Option<Millis>, waitable: bool) -> Excluded {
    let until = left_ms.map(|left| NOW + left);
    let (provider, model) = ("p".into(), "m".into());
    Excluded { provider, model, connection: None, reason, until, transient: waitable, waitable }
}

/// A lock of the names that pass.
fn rate_limit(left_ms: Millis) -> Excluded {
    held(Exclusion::ModelLockout, Some(left_ms), true)
}

/// A lock of any other name.
fn quota(left_ms: Millis) -> Excluded {
    held(Exclusion::ModelLockout, Some(left_ms), false)
}

fn circuit(left_ms: Millis) -> Excluded {
    held(Exclusion::CircuitOpen, Some(left_ms), true)
}

/// `heard`: the upstream's hint, ms.
fn once(end: SetEnd, heard: Option<Millis>, excluded: &[Excluded]) -> Option<Millis> {
    let mut waits = waits();
    if let Some(hint) = heard {
        waits.heard(hint, NOW);
    }
    waits.next(end, excluded, NOW)
}

#[test]
fn rows_e42_to_e44_and_82_the_wait_is_the_longer_of_rest_and_hint_and_a_margin() {
    assert_eq!(once(Tried, None, &[rate_limit(4_000)]), Some(4_050), "E42");
    assert_eq!(once(Tried, Some(60_000), &[rate_limit(58_000)]), Some(60_050), "E43");
    assert_eq!(once(Tried, None, &[rate_limit(89_950)]), Some(90_000), "E44");
    assert_eq!(once(Tried, None, &[rate_limit(89_951)]), None, "E44, the ceiling applies to the sum");
    assert_eq!(once(Tried, Some(2_000), &[rate_limit(3_000)]), Some(3_050), "82");
    assert_eq!(once(Tried, Some(100_000), &[rate_limit(3_000)]), None, "a hint may be too long as well");
}

#[test]
fn row_e45_the_budget_is_shared_by_all_waits() {
    let mut waits = waits();
    for n in 1..=4 {
        let now = NOW + n * MINUTE;
        let lock = Excluded { until: Some(now + 60_000), ..rate_limit(0) };
        // Before and after dispatch they draw on the same counters (flow 3.9).
        let end = if n % 2 == 0 { Skipped } else { Tried };
        assert_eq!(waits.next(end, &[lock], now), Some(60_050), "{n}");
    }
    assert_eq!(waits.left_ms, 59_800);
    let mut exact = waits;
    assert_eq!(waits.next(Tried, &[rate_limit(60_000)], NOW), None);
    assert_eq!(exact.next(Tried, &[rate_limit(59_750)], NOW), Some(59_800), "the last of it");
    assert!(!exact.may_wait(), "nothing is left");
}

#[test]
fn row_e46_the_sixth_wait_is_refused() {
    let mut waits = waits();
    for n in 1..=5 {
        assert_eq!(waits.next(Tried, &[rate_limit(1_000)], NOW), Some(1_050), "{n}");
    }
    assert_eq!((waits.left_ms, waits.may_wait()), (300_000 - 5 * 1_050, false));
    assert_eq!(waits.next(Tried, &[rate_limit(1_000)], NOW), None);
}

#[test]
fn row_83_each_limit_refuses_alone() {
    let few = WaitSettings { max_attempts: 2, ..built_in() };
    let mut waits = Waits::new(few, true);
    assert_eq!(waits.next(Tried, &[quota(3_000)], NOW), None);
    for _ in 0..2 {
        assert!(waits.next(Tried, &[rate_limit(3_000)], NOW).is_some());
    }
    assert_eq!(waits.next(Tried, &[rate_limit(3_000)], NOW), None, "attempt 2 of 2");
    let short = WaitSettings { max_wait_ms: 65_000, ..built_in() };
    let mut waits = Waits::new(short, true);
    waits.heard(70_000, NOW);
    assert_eq!(waits.next(Tried, &[rate_limit(3_000)], NOW), None, "hint 70000");
}

#[test]
fn rows_e47_e48_and_84_after_attempts_the_first_rest_to_end_decides() {
    assert_eq!(once(Tried, None, &[rate_limit(5_000), quota(1_000)]), None, "E47, 84");
    assert_eq!(once(Tried, None, &[quota(5_000), rate_limit(1_000)]), Some(1_050));
    assert_eq!(once(Tried, None, &[quota(1_000)]), None, "E48, an unknown reason");
    let past = Excluded { until: Some(NOW), ..quota(0) };
    assert_eq!(once(Tried, None, &[past, rate_limit(1_000)]), Some(1_050), "what is over does not count");
}

#[test]
fn row_e49_before_any_attempt_the_first_that_passes_is_waited_for() {
    assert_eq!(once(Skipped, None, &[rate_limit(7_000), rate_limit(2_000)]), Some(2_050), "E49");
    assert_eq!(once(Skipped, None, &[quota(1_000), rate_limit(5_000)]), Some(5_050), "flow 3.11");
    assert_eq!(once(Skipped, None, &[quota(1_000)]), None, "E51");
    assert_eq!(once(Skipped, None, &[circuit(30_000), circuit(12_400)]), Some(12_450), "flow 3.9");
    assert_eq!(once(Skipped, None, &[circuit(30_000), rate_limit(40_000)]), Some(30_050), "routing 7.18");
    assert_eq!(once(Skipped, None, &[rate_limit(89_951)]), None);
    assert_eq!(once(Skipped, None, &[held(Exclusion::Banned, None, false)]), None);
    assert_eq!(once(Skipped, None, &[]), None);
}

#[test]
fn who_was_turned_away_for_want_of_room_does_not_wait_again() {
    for full in [Exclusion::MailboxFull, Exclusion::SemaphoreTimeout, Exclusion::QueueFull] {
        let full = held(full, None, false);
        assert_eq!(once(Skipped, None, &[full.clone(), rate_limit(1_000)]), None);
        // What was sent has had its turn.
        assert_eq!(once(Tried, None, &[full, rate_limit(1_000)]), Some(1_050));
    }
    // It was sent into the line, and there the account began to rest.
    let sent = held(Exclusion::ConcurrencyCap, None, false);
    assert_eq!(once(Skipped, None, &[sent, rate_limit(1_000)]), Some(1_050));
}

#[test]
fn rows_e50_and_e52_a_combo_can_forbid_and_never_allow() {
    assert_eq!(Waits::new(built_in().unless(true), true).next(Skipped, &[rate_limit(2_000)], NOW), None);
    let off = WaitSettings { enabled: false, ..built_in() };
    assert_eq!(Waits::new(off.unless(false), true).next(Tried, &[rate_limit(2_000)], NOW), None, "E52, 86");
    assert_eq!(built_in().unless(false), built_in(), "E53");
    assert!(!Waits::new(WaitSettings::default(), true).may_wait());
}

#[test]
fn a_hint_that_is_over_is_forgotten_and_the_earliest_is_kept() {
    let mut waits = waits();
    waits.heard(5_000, NOW);
    waits.heard(60_000, NOW);
    assert_eq!(waits.next(Tried, &[rate_limit(3_000)], NOW), Some(5_050), "routing 7.16");
    let later = NOW + 5_050;
    let lock = Excluded { until: Some(later + 3_000), ..rate_limit(0) };
    assert_eq!(waits.next(Tried, std::slice::from_ref(&lock), later), Some(3_050));
    waits.heard(4_000, later);
    assert_eq!(waits.next(Tried, &[lock], later), Some(4_050));
}

#[test]
fn without_a_combo_an_open_breaker_is_not_waited_for() {
    let mut waits = Waits::new(built_in(), false);
    for end in [Skipped, Tried] {
        assert_eq!(waits.next(end, &[circuit(1_000)], NOW), None);
        assert_eq!(waits.next(end, &[rate_limit(1_000)], NOW), Some(1_050));
    }
}

#[test]
fn rows_e55_to_e57_numbers_are_brought_within_their_bounds() {
    let with = |max_wait_ms, max_attempts, budget_ms| {
        WaitSettings { enabled: true, max_wait_ms, max_attempts, budget_ms }.normalised()
    };
    assert_eq!(with(5_000, 5, 100).budget_ms, 5_000, "E55");
    let high = with(999_999, 99, 999_999);
    assert_eq!((high.max_wait_ms, high.max_attempts, high.budget_ms), (300_000, 10, 300_000), "E56");
    assert!(!with(90_000, 0, 300_000).enabled, "E57");
    assert!(!with(0, 5, 300_000).enabled);
    assert!(!WaitSettings { enabled: false, ..built_in() }.normalised().enabled);
    assert_eq!(built_in().normalised(), built_in(), "E58, nothing was asked for");
}
