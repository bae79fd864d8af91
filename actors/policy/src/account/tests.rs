use super::{Account, AccountSettings, AccountStrategy, STRATEGIES, Usage, find, latency_points, names};
use super::{order, penalty};
use crate::cooldown::LastError;
use crate::dice::Scripted;
use crate::latency::{Latency, Summary};
use crate::time::Millis;
use crate::verdict::Reason;

const T0: Millis = 1_768_478_400_000;

/// Known headroom, never used, priority 1: 0 points.
fn fresh() -> Account {
    Account { headroom: Some(100.0), priority: Some(1), ..Account::default() }
}

fn error(reason: Reason, status: u16) -> Option<LastError> {
    Some(LastError { reason, status, at: T0, hint_ms: None })
}

fn used(consecutive: u32, ago_ms: u64) -> Usage {
    Usage { consecutive, last_at: Some(T0 - ago_ms), turn: 0 }
}

fn series(samples: u32, failures: u32, mean_ms: f64) -> Summary {
    Summary { samples, failures, mean_ms: Some(mean_ms) }
}

/// The connection's series only.
fn timed(summary: Summary) -> Account {
    Account { latency: Latency { connection: summary, model: Summary::default() }, ..fresh() }
}

fn p2c(accounts: &[Account], weight: f64, numbers: &[f64]) -> Vec<usize> {
    let settings = AccountSettings {
        strategy: AccountStrategy::P2c,
        latency_weight: weight,
        ..AccountSettings::default()
    };
    order(accounts, settings, T0, &mut Scripted::new(numbers))
}

// === the rows of core 4 ===

#[test]
fn row_s1() {
    let a = Account { headroom: Some(50.0), usage: used(1, 10_000), ..fresh() };
    let b = Account {
        headroom: None,
        error: error(Reason::RateLimitExceeded, 429),
        level: 2,
        priority: Some(2),
        ..fresh()
    };
    assert_eq!((penalty(&a, T0), penalty(&b, T0)), (11.0, 51.0));
    assert_eq!(p2c(&[a, b], 0.0, &[0.0]), [0, 1]);
    assert_eq!(p2c(&[a, b], 0.0, &[1.0]), [0, 1]);
}

/// Routing 16 #89.
#[test]
fn row_89() {
    let third = Account {
        headroom: None,
        error: error(Reason::RateLimitExceeded, 429),
        level: 1,
        usage: used(3, 5_000),
        priority: Some(2),
        ..fresh()
    };
    let accounts =
        [Account { headroom: Some(80.0), ..fresh() }, Account { headroom: Some(20.0), ..fresh() }, third];
    assert_eq!(accounts.map(|account| penalty(&account, T0)), [3.0, 14.0, 52.0]);
    assert_eq!(p2c(&accounts, 0.0, &[0.0, 1.0]), [0, 1, 2]);
}

#[test]
fn row_s2() {
    for (headroom, points) in [(10.0, 21.0), (25.0, 13.0), (26.0, 9.0), (100.0, 0.0)] {
        let account = Account { headroom: Some(headroom), ..fresh() };
        assert_eq!(penalty(&account, T0), points, "{headroom} %");
    }
}

#[test]
fn row_s3() {
    let (a, b) = (timed(series(3, 0, 400.0)), timed(series(4, 1, 800.0)));
    assert_eq!(latency_points([&a, &b], 10.0), [0.0, 6.25]);
    assert_eq!(latency_points([&b, &a], 10.0), [6.25, 0.0]);
}

#[test]
fn row_s4() {
    let (a, b) = (timed(series(3, 0, 400.0)), timed(series(3, 0, 600.0)));
    assert_eq!(latency_points([&a, &b], 10.0), [0.0, 2.5]);
}

#[test]
fn row_s5() {
    let (a, b) = (timed(series(3, 0, 100.0)), timed(series(3, 3, 1000.0)));
    assert_eq!(latency_points([&a, &b], 20.0), [0.0, 20.0]);
    assert_eq!(latency_points([&a, &b], 1_000.0), [0.0, 20.0], "no weight is larger");
}

#[test]
fn row_s6() {
    let (a, b) = (timed(series(20, 0, 400.0)), timed(series(2, 2, 800.0)));
    assert_eq!(latency_points([&a, &b], 10.0), [0.0, 0.0]);
}

#[test]
fn row_s7() {
    let account = Account { level: 9, usage: Usage { consecutive: 9, last_at: None, turn: 0 }, ..fresh() };
    assert_eq!(penalty(&account, T0), 40.0 + 12.0);
    let endless = Usage { consecutive: u32::MAX, last_at: None, turn: 0 };
    let account = Account { level: u32::MAX, usage: endless, ..fresh() };
    assert_eq!(penalty(&account, T0), 40.0 + 12.0);
}

/// Headroom 40 costs 8 points, unknown 4: use makes them equal, so that only the tie decides.
#[test]
fn row_s8() {
    let known = Account { headroom: Some(40.0), ..fresh() };
    let unknown =
        Account { headroom: None, usage: Usage { consecutive: 2, last_at: None, turn: 0 }, ..fresh() };
    assert_eq!((penalty(&known, T0), penalty(&unknown, T0)), (8.0, 8.0));
    for first in [0.0, 1.0] {
        assert_eq!(p2c(&[unknown, known], 0.0, &[first]), [1, 0]);
    }
}

// === the terms of core 4.2 ===

#[test]
fn every_error_has_its_points() {
    for (reason, status, points) in [
        (Reason::RateLimitExceeded, 429, 30.0),
        (Reason::QuotaExhausted, 402, 30.0),
        (Reason::Unknown, 429, 30.0),
        (Reason::AuthError, 401, 24.0),
        (Reason::AuthError, 403, 24.0),
        (Reason::ServerError, 500, 16.0),
        (Reason::ServerError, 504, 16.0),
        (Reason::NotFound, 404, 6.0),
    ] {
        let account = Account { error: error(reason, status), ..fresh() };
        assert_eq!(penalty(&account, T0), points, "{status}");
    }
}

#[test]
fn quota_use_and_priority_have_their_points() {
    let unknown = Account { headroom: None, ..fresh() };
    let rows = [
        ("unknown headroom", unknown, 4.0),
        ("exhausted", Account { quota_exhausted: true, ..unknown }, 200.0),
        ("blocked", Account { quota_blocked: true, ..unknown }, 80.0),
        ("blocked at 0 %", Account { quota_blocked: true, headroom: Some(0.0), ..fresh() }, 103.0),
        ("used now", Account { usage: used(1, 0), ..fresh() }, 5.0),
        ("used 14.999 s ago", Account { usage: used(0, 14_999), ..fresh() }, 3.0),
        ("used 15 s ago", Account { usage: used(0, 15_000), ..fresh() }, 2.0),
        ("used 60 s ago", Account { usage: used(0, 60_000), ..fresh() }, 1.0),
        ("used 5 min ago", Account { usage: used(0, 300_000), ..fresh() }, 0.0),
        ("no priority", Account { priority: None, ..fresh() }, -1.0),
        ("priority 0", Account { priority: Some(0), ..fresh() }, -1.0),
        ("priority 7", Account { priority: Some(7), ..fresh() }, 6.0),
        ("priority 900", Account { priority: Some(900), ..fresh() }, 6.0),
    ];
    for (row, account, points) in rows {
        assert_eq!(penalty(&account, T0), points, "{row}");
    }
}

/// Core 4.7: the model's series when both have enough of it, else the connection's, else none.
#[test]
fn the_most_exact_series_that_both_have_speaks() {
    let both = |model, connection| Account { latency: Latency { connection, model }, ..fresh() };
    let a = both(series(3, 0, 100.0), series(9, 0, 900.0));
    let b = both(series(3, 0, 200.0), series(9, 0, 100.0));
    assert_eq!(latency_points([&a, &b], 10.0), [0.0, 5.0]);
    let b = both(series(2, 0, 200.0), series(9, 0, 100.0));
    assert_eq!(latency_points([&a, &b], 10.0), [5.0, 0.0]);
}

/// Core 4.7: no first byte at one of them, no points for speed; a mean below 1 ms counts as 1.
#[test]
fn odd_means_are_weighed_with_care() {
    let silent = timed(Summary { samples: 4, failures: 4, mean_ms: None });
    let a = timed(series(4, 0, 900.0));
    assert_eq!(latency_points([&a, &silent], 10.0), [0.0, 5.0]);
    let (zero, two) = (timed(series(3, 0, 0.0)), timed(series(3, 0, 1.5)));
    assert_eq!(latency_points([&zero, &two], 10.0), [0.0, 2.5]);
}

// === the draw ===

/// Core 4.1: of more than two only the drawn pair is compared; the rest follows by points.
#[test]
fn only_the_drawn_pair_is_compared() {
    let points = |level| Account { level, ..fresh() };
    let four = [points(3), points(0), points(2), points(1)];
    assert_eq!(p2c(&four, 0.0, &[0.0, 1.0]), [2, 1, 3, 0]);
    assert_eq!(p2c(&four, 0.0, &[2.0, 2.0]), [3, 1, 2, 0]);
    assert_eq!(p2c(&four, 0.0, &[3.0, 1.0]), [1, 3, 2, 0]);
}

#[test]
fn an_account_without_quota_is_drawn_only_when_none_has_any() {
    let gone = Account { quota_exhausted: true, ..fresh() };
    let tired = Account { level: 5, ..fresh() };
    assert_eq!(p2c(&[gone, tired, gone], 0.0, &[]), [1, 0, 2]);
    assert_eq!(p2c(&[gone, gone], 0.0, &[1.0]), [1, 0]);
}

#[test]
fn latency_decides_between_equals_and_never_against_a_quota() {
    let (fast, slow) = (timed(series(3, 0, 100.0)), timed(series(3, 0, 200.0)));
    for first in [0.0, 1.0] {
        assert_eq!(p2c(&[slow, fast], 1.0, &[first]), [1, 0]);
        let blocked = Account { quota_blocked: true, ..fast };
        let failing = timed(series(3, 3, 900.0));
        assert_eq!(p2c(&[blocked, failing], 20.0, &[first]), [1, 0], "core 4.6");
    }
}

/// Core 4.4 by decision 26: after headroom and priority not the smaller id, but fewer in flight,
/// then the dice.
#[test]
fn a_full_tie_is_the_dices() {
    let two = [fresh(), fresh()];
    assert_eq!(p2c(&two, 0.0, &[0.0]), [0, 1]);
    assert_eq!(p2c(&two, 0.0, &[1.0]), [1, 0]);
    let busy = [Account { in_flight: 1, ..fresh() }, fresh()];
    assert_eq!(p2c(&busy, 0.0, &[0.0]), [1, 0]);
    // Priorities 8 and 9 cost the same, so that only the tie decides.
    let priorities =
        [8, 9].map(|priority| Account { priority: Some(priority), in_flight: 9 - priority, ..fresh() });
    assert_eq!(p2c(&priorities, 0.0, &[1.0]), [0, 1]);
}

#[test]
fn equals_behind_the_first_take_turns() {
    let four = [fresh(); 4];
    assert_eq!(p2c(&four, 0.0, &[0.0, 0.0, 0.0]), [0, 1, 2, 3]);
    assert_eq!(p2c(&four, 0.0, &[0.0, 0.0, 2.0]), [0, 3, 1, 2]);
}

/// Decision 34: a throw below the probability keeps the draw.
#[test]
fn an_account_in_slow_start_gives_draws_away() {
    let two = [Account { keeps_draw: 0.1, ..fresh() }, Account { level: 1, ..fresh() }];
    assert_eq!(p2c(&two, 0.0, &[0.0, 0.0, 0.09]), [0, 1]);
    assert_eq!(p2c(&two, 0.0, &[0.0, 0.0, 0.1]), [1, 0]);
}

#[test]
fn fill_first_keeps_the_order_of_priority_and_throws_no_dice() {
    let tired = Account { level: 5, ..fresh() };
    let order = order(&[tired, fresh()], AccountSettings::default(), T0, &mut Scripted::new(&[1.0]));
    assert_eq!(order, [0, 1]);
}

#[test]
fn one_or_none_is_left_alone() {
    assert_eq!(p2c(&[], 0.0, &[]), Vec::<usize>::new());
    assert_eq!(p2c(&[fresh()], 0.0, &[]), [0]);
}

// === the table ===

#[test]
fn every_account_strategy_is_documented_and_named_once() {
    let mut seen = std::collections::HashSet::new();
    for row in STRATEGIES {
        assert!(!row.doc_short.is_empty() && !row.doc_long.is_empty());
        for name in std::iter::once(&row.name).chain(row.aliases) {
            assert!(seen.insert(*name), "{name} twice");
            assert_eq!(find(name), Some(row.strategy));
        }
    }
    let all = [
        "fill-first",
        "round-robin",
        "p2c",
        "random",
        "least-used",
        "cost-optimized",
        "strict-random",
        "weighted",
    ];
    assert_eq!(names(), all);
    assert_eq!(find(" P2C "), Some(AccountStrategy::P2c));
    assert_eq!(find("weighted"), Some(AccountStrategy::FillFirst), "routing 17.9");
    assert_eq!(find("fastest"), None, "a finding lists the names");
}
