//! What headers teach (flow 4.5): E70–E72 and the rules around them.

use super::line::{Left, send};
use super::{FREE, T0, free, of, told};
use crate::limiter::{Learnt, Limiter, LimiterSettings, Pace, RateHeaders};

/// Learns from usual headers.
fn taught(headers: super::Headers<'_>) -> Limiter {
    let mut limiter = free();
    limiter.learn(&RateHeaders::read("openai", of(headers), 200, T0).unwrap(), T0);
    limiter
}

#[test]
fn row_e70() {
    let limiter = taught(&[
        ("x-ratelimit-limit-requests", "60"),
        ("x-ratelimit-remaining-requests", "5"),
        ("x-ratelimit-reset-requests", "20s"),
    ]);
    let view = limiter.view(T0);
    assert_eq!((view.min_time_ms, view.reservoir), (990, Some(5)));
    assert_eq!((view.refill, view.refill_every_ms), (Some(60), Some(20_000)));
}

#[test]
fn row_e71() {
    let limit = ("x-ratelimit-limit-requests", "60");
    let view = taught(&[limit, ("x-ratelimit-remaining-requests", "6")]).view(T0);
    assert_eq!((view.min_time_ms, view.reservoir), (990, None));
    let view = taught(&[limit, ("x-ratelimit-remaining-requests", "31")]).view(T0);
    assert_eq!((view.min_time_ms, view.reservoir), (0, None));
}

#[test]
fn row_e72() {
    let view = taught(&[("x-ratelimit-limit-requests", "7000")]).view(T0);
    assert_eq!((view.min_time_ms, view.reservoir), (0, None));
}

/// Flow 4.19: the edges, and what cannot be divided by.
#[test]
fn the_gap_of_a_limit() {
    let rows =
        [(1, 59_990), (60, 990), (59, 1_006), (6_000, 0), (6_001, 0), (5_999, 0), (5_454, 1), (u64::MAX, 0)];
    for (limit, gap) in rows {
        let mut limiter = free();
        limiter.learn(&RateHeaders { limit: Some(limit), ..RateHeaders::default() }, T0);
        assert_eq!(limiter.view(T0).min_time_ms, gap, "{limit}");
    }
    // Exactly half is not more than half.
    let mut limiter = free();
    limiter.learn(&told(60, 30, 1), T0);
    assert_eq!(limiter.view(T0).min_time_ms, 990);
    let mut limiter = free();
    limiter.learn(&told(u64::MAX, u64::MAX, 1), T0);
    assert_eq!(limiter.view(T0).reservoir, None);
    assert!(!limiter.learn(&told(0, 0, 1), T0));
    // Flow 4.16: a reset of 0 is a minute.
    limiter.learn(&told(60, 0, 0), T0);
    assert_eq!(limiter.pace(T0), Pace::Until(T0 + 60_000));
}

/// Flow 4.18: it stops there, whatever the other headers say.
#[test]
fn a_limit_that_is_near_asks_for_a_gap_of_200() {
    let near = |headers| RateHeaders { over_limit: true, ..headers };
    let mut limiter = free();
    assert!(limiter.learn(&near(told(60, 5, 20_000)), T0));
    let view = limiter.view(T0);
    assert_eq!((view.min_time_ms, view.reservoir), (200, None));
    // It makes nobody faster than the limit did that is known already.
    limiter.learn(&told(60, 10, 20_000), T0);
    assert!(!limiter.learn(&near(RateHeaders::default()), T0 + 1));
    assert_eq!(limiter.view(T0 + 1).min_time_ms, 990);
}

/// Flow 4.19, decision 17: at the reset the limit the provider stated, then the operator's.
#[test]
fn a_told_reservoir_is_refilled_once_and_then_gone() {
    let mut limiter = Limiter::new(LimiterSettings { max_wait_ms: 600_000, ..FREE }, T0);
    limiter.learn(&RateHeaders { limit: Some(100_000), ..told(0, 0, 20_000) }, T0);
    assert_eq!(limiter.pace(T0), Pace::Until(T0 + 20_000));
    let view = limiter.view(T0 + 20_000);
    assert_eq!((view.reservoir, view.refill_every_ms), (Some(100_000), Some(20_000)));
    assert_eq!(limiter.view(T0 + 40_000).reservoir, None);
    assert_eq!(limiter.pace(T0 + 20_000), Pace::Go);
    assert_eq!(limiter.pace(T0 + 40_000), Pace::Go);
    assert_eq!(limiter.view(T0 + 40_000).reservoir, None);
}

/// Decision 15a: headers make it slower than the operator's numbers, never faster.
#[test]
fn the_operators_numbers_are_a_ceiling() {
    let settings = LimiterSettings { rpm: 2, min_time_ms: 350, max_wait_ms: 600_000, ..FREE };
    let mut limiter = Limiter::new(settings, T0);
    limiter.learn(&told(1_000, 1_000, 1_000), T0);
    assert_eq!((limiter.view(T0).min_time_ms, limiter.view(T0).reservoir), (350, Some(2)));
    assert_eq!(send(&mut limiter, &[(0, 1); 3]), [0, 350, 60_000].map(Left::Started));
    // A reservoir of 99 does not refill the operator's.
    limiter.learn(&told(1_000, 99, 100), T0 + 60_001);
    assert_eq!(limiter.view(T0 + 60_001).reservoir, Some(1));
    assert_eq!(limiter.view(T0 + 60_500).reservoir, Some(1));
    limiter.learn(&told(60, 10, 1_000), T0 + 60_501);
    assert_eq!(limiter.view(T0 + 60_501).min_time_ms, 990);
}

/// Flow 4.17.
#[test]
fn a_429_forgets_what_was_learnt_and_nothing_else() {
    let settings = LimiterSettings { rpm: 2, min_time_ms: 350, parallel: 2, ..FREE };
    let mut limiter = Limiter::new(settings, T0);
    limiter.start(T0);
    limiter.learn(&told(60, 5, 20_000), T0 + 1);
    let headers = RateHeaders::read("openai", of(&[("x-ratelimit-limit-requests", "60")]), 429, T0).unwrap();
    assert_eq!(headers, RateHeaders { status_429: true, ..RateHeaders::default() });
    assert!(limiter.learn(&headers, T0 + 2), "the line may move");
    let view = limiter.view(T0 + 2);
    assert_eq!((view.min_time_ms, view.reservoir, view.running, view.learnt), (350, Some(1), 1, None));
    assert!(!limiter.learn(&headers, T0 + 3), "there is nothing left to forget");
}

/// The gate looks at its line only if there is a reason.
#[test]
fn an_answer_that_changes_nothing_says_so() {
    let mut limiter = free();
    assert!(!limiter.learn(&told(60, 31, 1), T0));
    assert!(limiter.learn(&told(60, 10, 1), T0));
    assert!(!limiter.learn(&told(60, 10, 1), T0 + 5));
    assert_eq!(limiter.learnt(), Some(Learnt { min_time_ms: 990, at: T0 + 5 }));
    assert!(limiter.learn(&told(60, 31, 1), T0 + 6));
    assert_eq!(limiter.learnt(), Some(Learnt { min_time_ms: 0, at: T0 + 6 }));
}
