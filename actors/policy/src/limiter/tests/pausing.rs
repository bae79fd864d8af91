//! Waits stated in the body of a 429 (flow 4.6).

use super::line::{Left, send};
use super::{FREE, T0, told};
use crate::limiter::{
    Limiter, LimiterScope, LimiterSettings, Pace, RateHeaders, Stated, pause_refuses, stated,
};
use crate::time::Millis;

const MINUTE: LimiterSettings = LimiterSettings { max_wait_ms: 600_000, ..FREE };

fn paused(settings: LimiterSettings, wait_ms: Millis) -> Limiter {
    let mut limiter = Limiter::new(settings, T0);
    limiter.pause(wait_ms, T0);
    limiter
}

#[test]
fn what_is_done_with_a_stated_wait() {
    let narrowed = |provider: &str| LimiterScope::of(provider).is_narrowed();
    let rows = [
        ("E74", "gemini", 20_000, true, 30_000, Stated::Pace),
        ("E75", "gemini", 30_000, true, 30_000, Stated::Pace),
        ("E75 + 1", "gemini", 30_001, true, 30_000, Stated::Lock(30_001)),
        ("E76", "gemini", 34_000, true, 30_000, Stated::Lock(34_000)),
        ("E77", "gemini", 86_399_000, true, 30_000, Stated::Lock(86_399_000)),
        ("E77", "gemini", 100_000_000, true, 30_000, Stated::Lock(86_400_000)),
        ("E78", "gemini", 34_000, true, 60_000, Stated::Pace),
        ("E79", "openai", 45_000, false, 30_000, Stated::Pause),
        ("E81", "gemini", 45_000, false, 30_000, Stated::Pause),
        ("4.24", "antigravity", 34_000, true, 30_000, Stated::Lock(34_000)),
        ("4.25", "openai", 34_000, true, 30_000, Stated::Pause),
        ("4.29", "codex", 34_000, true, 30_000, Stated::Pause),
    ];
    for (row, provider, wait_ms, typed, max_wait_ms, want) in rows {
        assert_eq!(stated(wait_ms, typed, narrowed(provider), max_wait_ms), want, "{row}");
    }
}

#[test]
fn row_e74() {
    let settings = LimiterSettings { rpm: 60, min_time_ms: 350, parallel: 6, ..FREE };
    for settings in [FREE, settings] {
        assert_eq!(send(&mut paused(settings, 20_000), &[(5_000, 1)]), [Left::Started(20_000)]);
    }
}

#[test]
fn row_e79() {
    assert_eq!(send(&mut paused(FREE, 45_000), &[(0, 1)]), [Left::Paused(0)]);
}

#[test]
fn row_e80() {
    assert_eq!(send(&mut paused(FREE, 45_000), &[(20_000, 1)]), [Left::Started(45_000)]);
}

#[test]
fn row_e81() {
    let mut limiter = paused(FREE, 45_000);
    assert_eq!(limiter.paused_until(T0 + 44_999), Some(T0 + 45_000));
    assert_eq!(limiter.pace(T0 + 44_999), Pace::Until(T0 + 45_000));
    assert_eq!((limiter.paused_until(T0 + 45_000), limiter.pace(T0 + 45_000)), (None, Pace::Go));
}

/// Flow 4.26.
#[test]
fn a_pause_that_ends_with_the_callers_time_may_be_waited_for() {
    assert!(pause_refuses(Some(T0 + 30_001), T0 + 30_000));
    assert!(!pause_refuses(Some(T0 + 30_000), T0 + 30_000));
    assert!(!pause_refuses(None, T0));
    assert_eq!(send(&mut paused(FREE, 30_000), &[(0, 1)]), [Left::Started(30_000)]);
    assert_eq!(send(&mut paused(FREE, 30_001), &[(0, 1)]), [Left::Paused(0)]);
}

/// Flow 4.28, decision 17: "retry after 5 s" is not 60 every 5 s.
#[test]
fn after_a_pause_the_operators_numbers_hold_from_its_end() {
    let settings = LimiterSettings { rpm: 2, ..MINUTE };
    let starts = [5_000, 5_000, 65_000, 65_000, 125_000].map(Left::Started);
    assert_eq!(send(&mut paused(settings, 5_000), &[(0, 1); 5]), starts);
    // Looked at later, it was refilled at the same instants.
    let left = send(&mut paused(settings, 5_000), &[(64_000, 1); 3]);
    assert_eq!(left, [64_000, 64_000, 65_000].map(Left::Started));
}

/// Flow 4.23: the queued go out at the refill, and that is the end of the wait.
#[test]
fn a_pause_is_not_followed_by_the_rest_of_an_empty_minute() {
    let mut limiter = Limiter::new(LimiterSettings { rpm: 1, ..MINUTE }, T0);
    limiter.start(T0);
    limiter.pause(5_000, T0);
    assert_eq!(send(&mut limiter, &[(0, 1); 2]), [5_000, 65_000].map(Left::Started));
}

/// Flow 4.28: what a header said before the wait was stated is not added to it.
#[test]
fn a_stated_wait_takes_the_place_of_a_told_reservoir() {
    let mut limiter = Limiter::new(MINUTE, T0);
    limiter.learn(&told(100_000, 0, 90_000), T0);
    limiter.pause(5_000, T0);
    assert_eq!(send(&mut limiter, &[(0, 1)]), [Left::Started(5_000)]);
}

/// Decision 3.
#[test]
fn a_shorter_wait_never_ends_a_pause_sooner() {
    let mut limiter = paused(FREE, 45_000);
    limiter.pause(1_000, T0 + 10_000);
    assert_eq!(limiter.paused_until(T0 + 10_000), Some(T0 + 45_000));
    limiter.pause(45_000, T0 + 10_000);
    assert_eq!(limiter.paused_until(T0 + 10_000), Some(T0 + 55_000));
    limiter.pause(0, T0 + 10_000);
    assert_eq!(limiter.paused_until(T0 + 10_000), Some(T0 + 55_000));
}

/// Flow 4.27: headers or settings that change the reservoir end the pause, others do not.
#[test]
fn only_a_change_of_the_reservoir_ends_a_pause() {
    let near = RateHeaders { over_limit: true, ..RateHeaders::default() };
    let rows = [
        ("a tenth or more", told(60, 6, 20_000), true),
        ("less than a tenth", told(60, 5, 20_000), false),
        ("more than half", told(60, 31, 20_000), false),
        ("near the limit", near, true),
        ("nothing but a 429", RateHeaders { status_429: true, ..RateHeaders::default() }, true),
    ];
    for (row, headers, stays) in rows {
        let mut limiter = paused(FREE, 45_000);
        limiter.learn(&headers, T0 + 1);
        assert_eq!(limiter.paused_until(T0 + 1).is_some(), stays, "{row}");
    }
    let mut limiter = paused(FREE, 45_000);
    limiter.configure(LimiterSettings { min_time_ms: 9, parallel: 3, ..FREE }, T0 + 1);
    assert_eq!(limiter.paused_until(T0 + 1), Some(T0 + 45_000));
    limiter.configure(LimiterSettings { rpm: 9, ..FREE }, T0 + 1);
    assert_eq!((limiter.paused_until(T0 + 1), limiter.pace(T0 + 1)), (None, Pace::Go));
}

/// Flow 4.27: what a header left in the reservoir is what may start at once.
#[test]
fn a_reservoir_told_during_a_pause_takes_its_place() {
    let mut limiter = paused(MINUTE, 45_000);
    limiter.learn(&RateHeaders { limit: Some(100_000), remaining: Some(2), ..told(0, 0, 20_000) }, T0);
    let starts = [0, 0, 20_000].map(Left::Started);
    assert_eq!(send(&mut limiter, &[(0, 1); 3]), starts);
}
