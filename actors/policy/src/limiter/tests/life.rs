//! New numbers, restarts, idleness, a stuck line, and how it looks to people.

use super::{FREE, T0, free, told};
use crate::limiter::{Learnt, Limiter, LimiterSettings, MOST_KEPT, Pace, keep_newest, worth_saving};
use crate::time::{DAY, MINUTE};

/// Flow 4.7: those that run count on under every number.
#[test]
fn new_numbers_keep_what_runs() {
    let mut limiter = free();
    limiter.start(T0);
    limiter.start(T0);
    limiter.configure(LimiterSettings { parallel: 2, rpm: 9, ..FREE }, T0);
    assert_eq!((limiter.running(), limiter.pace(T0)), (2, Pace::Busy));
    limiter.configure(LimiterSettings { parallel: 1, ..FREE }, T0);
    limiter.finish(T0);
    assert_eq!(limiter.pace(T0), Pace::Busy, "one above the new number ends nobody");
    limiter.finish(T0);
    assert_eq!(limiter.pace(T0), Pace::Go);
    limiter.finish(T0);
    assert_eq!(limiter.running(), 0, "one finish too many is nobody's credit");
}

#[test]
fn what_was_learnt_stays_unless_the_pace_is_set_anew() {
    let rows = [
        ("nothing", FREE, Some(990), Some(5)),
        (
            "parallel",
            LimiterSettings { parallel: 3, max_depth: 5, max_wait_ms: 1, ..FREE },
            Some(990),
            Some(5),
        ),
        ("gap", LimiterSettings { min_time_ms: 10, ..FREE }, None, Some(5)),
        ("rpm", LimiterSettings { rpm: 7, ..FREE }, None, Some(7)),
    ];
    for (row, settings, gap, reservoir) in rows {
        let mut limiter = free();
        limiter.learn(&told(60, 5, 20_000), T0);
        limiter.configure(settings, T0 + 1);
        let learnt = limiter.learnt().map(|learnt| learnt.min_time_ms);
        assert_eq!((learnt, limiter.view(T0 + 1).reservoir), (gap, reservoir), "{row}");
    }
}

/// Flow 4.7: the count of an unchanged rpm goes on, that of a new one begins now.
#[test]
fn a_new_rpm_starts_its_clock_when_it_is_set() {
    let mut limiter = Limiter::new(LimiterSettings { rpm: 1, ..FREE }, T0);
    limiter.start(T0);
    limiter.configure(LimiterSettings { rpm: 1, min_time_ms: 5, ..FREE }, T0 + 30_000);
    assert_eq!(limiter.pace(T0 + 30_000), Pace::Until(T0 + 60_000));
    limiter.configure(LimiterSettings { rpm: 2, ..FREE }, T0 + 30_000);
    limiter.start(T0 + 30_000);
    limiter.start(T0 + 30_000);
    assert_eq!(limiter.pace(T0 + 60_000), Pace::Until(T0 + 90_000));
}

/// Flow 4.20.
#[test]
fn a_restart_keeps_the_gap_for_a_day() {
    let rows = [(T0, 990), (T0 - DAY, 990), (T0 - DAY - 1, 0), (T0 + DAY, 990)];
    for (at, gap) in rows {
        let limiter = Limiter::restore(FREE, Learnt { min_time_ms: 990, at }, T0);
        assert_eq!((limiter.view(T0).min_time_ms, limiter.view(T0).reservoir), (gap, None), "{at}");
        assert!(limiter.learnt().is_none_or(|learnt| learnt.at <= T0), "{at}");
    }
    // No limit asks for more than a minute, so a record that does is damaged.
    let limiter = Limiter::restore(FREE, Learnt { min_time_ms: u64::MAX, at: T0 }, T0);
    assert_eq!(limiter.view(T0).min_time_ms, 60_000);
}

/// Flow 4.20.
#[test]
fn what_was_learnt_is_saved_once_a_minute_and_200_are_kept() {
    assert!(worth_saving(None, T0));
    assert!(!worth_saving(Some(T0), T0 + 59_999));
    assert!(worth_saving(Some(T0), T0 + 60_000));
    let mut all: Vec<(u64, Learnt)> = (0..250).map(|n| (n, Learnt { min_time_ms: 1, at: T0 + n })).collect();
    keep_newest(&mut all);
    assert_eq!((all.len(), all[0].0, all[199].0), (MOST_KEPT, 249, 50));
}

/// Flow 4.21: ten minutes unused; what runs, waits or is known of the provider keeps it.
#[test]
fn an_unused_limiter_is_idle_after_ten_minutes() {
    assert!(!free().is_idle(T0 + 10 * MINUTE - 1) && free().is_idle(T0 + 10 * MINUTE));
    let mut limiter = free();
    limiter.start(T0);
    assert!(!limiter.is_idle(T0 + DAY), "it runs");
    limiter.finish(T0 + DAY);
    assert!(!limiter.is_idle(T0 + DAY + 10 * MINUTE - 1) && limiter.is_idle(T0 + DAY + 10 * MINUTE));
    limiter.pause(DAY, T0);
    assert!(!limiter.is_idle(T0 + DAY - 1), "a pause that is dropped would be left early");
    let mut limiter = free();
    limiter.learn(&told(60, 0, 20 * MINUTE), T0);
    assert!(!limiter.is_idle(T0 + 20 * MINUTE), "so would an empty reservoir");
    assert!(limiter.is_idle(T0 + 40 * MINUTE));
}

/// Flow 4.21.
#[test]
fn a_line_that_could_move_and_does_not_is_stuck_after_ten_seconds() {
    let mut limiter = free();
    assert!(!limiter.is_stuck(1, T0 + 9_999) && limiter.is_stuck(1, T0 + 10_000));
    assert!(!limiter.is_stuck(0, T0 + 10_000), "nobody waits");
    limiter.start(T0 + 5_000);
    assert!(!limiter.is_stuck(1, T0 + DAY), "the line moves when it finishes");
    limiter.finish(T0 + DAY);
    assert!(!limiter.is_stuck(1, T0 + DAY + 9_999) && limiter.is_stuck(1, T0 + DAY + 10_000));
}

/// Flow 4.21: the ten seconds begin when it would let one start.
#[test]
fn a_line_that_may_not_move_is_not_stuck() {
    let mut paused = free();
    paused.pause(45_000, T0);
    let mut dry = Limiter::new(LimiterSettings { rpm: 1, ..FREE }, T0);
    dry.start(T0);
    dry.finish(T0);
    let mut spaced = Limiter::new(LimiterSettings { min_time_ms: 45_000, ..FREE }, T0);
    spaced.start(T0);
    spaced.finish(T0);
    let mut told_dry = free();
    told_dry.learn(&told(60, 0, 45_000), T0);
    for (limiter, able_ms) in [(paused, 45_000), (dry, 60_000), (spaced, 45_000), (told_dry, 45_000)] {
        for after in [0, 10_000, able_ms, able_ms + 9_999] {
            assert!(!limiter.is_stuck(3, T0 + after), "{able_ms} {after}");
        }
        assert!(limiter.is_stuck(3, T0 + able_ms + 10_000), "{able_ms}");
    }
}

#[test]
fn people_see_its_numbers() {
    let mut limiter = Limiter::new(LimiterSettings { rpm: 60, parallel: 6, ..FREE }, T0);
    limiter.start(T0);
    limiter.learn(&told(30, 10, 1_000), T0);
    let seen = serde_json::to_value(limiter.view(T0)).unwrap();
    let want = serde_json::json!({
        "reservoir": 59, "refill": 60, "refillEveryMs": 60_000, "minTimeMs": 1_990, "running": 1,
        "parallel": 6, "pausedUntil": null, "learnt": {"minTimeMs": 1_990, "at": T0},
    });
    assert_eq!(seen, want);
    limiter.pause(5_000, T0);
    let view = limiter.view(T0);
    assert_eq!((view.reservoir, view.paused_until), (Some(0), Some(T0 + 5_000)));
    assert_eq!(limiter.view(T0 + 5_000).reservoir, Some(60));
    let free = free().view(T0);
    assert_eq!((free.reservoir, free.refill, free.parallel, free.min_time_ms), (None, None, None, 0));
}
