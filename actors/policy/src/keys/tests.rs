//! Routing 10.5 as tables: who stands, what is reached, what is counted, how long it takes.

use super::{
    Asked, Budget, BudgetWindow, Counts, Denial, Fallen, Limits, Over, Rate, Reach, Schedule, Spent, Standing,
};
use crate::time::{DAY, HOUR, MINUTE, Millis, SECOND};
use crate::usage::Day;

/// 2026-11-30, a Monday, at noon.
const NOW: Millis = 20_787 * DAY + DAY / 2;

#[test]
fn a_key_stands_unless_it_is_off_banned_or_over() {
    let on = Standing::default();
    for (standing, now, expected) in [
        (on, NOW, Ok(())),
        (Standing { active: false, ..on }, NOW, Err(Fallen::Inactive)),
        (Standing { banned: true, ..on }, NOW, Err(Fallen::Banned)),
        (Standing { banned: true, active: false, expires_at: Some(1) }, NOW, Err(Fallen::Banned)),
        (Standing { expires_at: Some(NOW), ..on }, NOW - 1, Ok(())),
        (Standing { expires_at: Some(NOW), ..on }, NOW, Err(Fallen::Expired)),
    ] {
        assert_eq!(standing.at(now), expected, "{standing:?} {now}");
    }
}

#[test]
fn a_restricted_key_reaches_what_its_lists_name_or_lead_to() {
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let reach =
        Reach { restricted: true, models: texts(&["a/gpt-*", "bare"]), combos: texts(&["best", "team-*"]) };
    type Row = (&'static str, Option<&'static str>, &'static [&'static str], bool);
    let rows: [Row; 11] = [
        ("a/gpt-5", None, &["a/gpt-5"], true),
        ("gpt-5", None, &["a/gpt-5"], true),
        ("bare", None, &["b/bare"], true),
        ("b/bare", None, &["b/bare"], false),
        ("a/other", None, &["a/other"], false),
        ("best", Some("best"), &["b/x"], true),
        ("combo/best", Some("best"), &["b/x"], true),
        ("team-1", Some("team-1"), &["b/x"], true),
        ("mixed", Some("mixed"), &["a/gpt-5", "b/x"], false),
        ("pure", Some("pure"), &["a/gpt-5", "a/gpt-4"], true),
        ("nobody knows it", None, &[], false),
    ];
    for (name, combo, targets, expected) in rows {
        let targets = texts(targets);
        let asked = Asked { name, combo, targets: &targets };
        assert_eq!(reach.allows(&asked), expected, "{name}");
        assert!(Reach { restricted: false, ..reach.clone() }.allows(&asked), "the lists rest: {name}");
        assert!(!Reach { restricted: true, ..Reach::default() }.allows(&asked), "nothing is listed: {name}");
    }
}

fn over(over: Over, wait_ms: Millis) -> Result<(), Denial> {
    Err(Denial { over, wait_ms })
}

#[test]
fn a_window_slides_and_a_refused_request_is_not_counted() {
    let limits = Limits { rates: vec![Rate { limit: 2, window_ms: MINUTE }], ..Limits::default() };
    let mut counts = Counts::default();
    for (at, expected) in [
        (0, Ok(())),
        (10 * SECOND, Ok(())),
        (20 * SECOND, over(Over::Rate, 40 * SECOND)),
        (59_999, over(Over::Rate, 1)),
        (60_000, Ok(())),
        (60_001, over(Over::Rate, 9_999)),
        (70_000, Ok(())),
        (70_000, over(Over::Rate, 50_000)),
        (500_000, Ok(())),
        // A clock that goes back lets nothing through too early.
        (400_000, Ok(())),
        (400_000, over(Over::Rate, 160_000)),
    ] {
        assert_eq!(counts.admit(&limits, None, None, NOW + at), expected, "{at}");
    }
}

#[test]
fn the_longest_of_several_windows_is_told_and_a_changed_limit_keeps_its_counts() {
    let rate = |limit, window_ms| Rate { limit, window_ms };
    let mut limits = Limits { rates: vec![rate(1, SECOND), rate(2, HOUR)], ..Limits::default() };
    let mut counts = Counts::default();
    assert_eq!(counts.admit(&limits, None, None, NOW), Ok(()));
    assert_eq!(counts.admit(&limits, None, None, NOW), over(Over::Rate, SECOND));
    assert_eq!(counts.admit(&limits, None, None, NOW + SECOND), Ok(()));
    // The two share a slot of 3.6 s, which leaves with its last one.
    assert_eq!(counts.admit(&limits, None, None, NOW + 2 * SECOND), over(Over::Rate, HOUR - SECOND));
    limits.rates[1].limit = 3;
    assert_eq!(counts.admit(&limits, None, None, NOW + 2 * SECOND), Ok(()));
    limits.rates = vec![rate(1, HOUR)];
    assert_eq!(counts.admit(&limits, None, None, NOW + 10 * SECOND), over(Over::Rate, HOUR - 8 * SECOND));
}

/// Never more than the limit in any window, however they come; what is told is what it takes.
#[test]
fn no_window_holds_more_than_its_limit_and_the_wait_that_is_told_is_enough() {
    let limits = Limits { rates: vec![Rate { limit: 5, window_ms: MINUTE }], ..Limits::default() };
    let (mut counts, mut now, mut seed) = (Counts::default(), NOW, 7_u64);
    let mut admitted: Vec<Millis> = Vec::new();
    for _ in 0..5_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        now += seed >> 50;
        match counts.admit(&limits, None, None, now) {
            Ok(()) => admitted.push(now),
            Err(denial) => {
                assert!(denial.wait_ms <= MINUTE, "{denial:?}");
                let mut later = counts.clone();
                assert!(later.admit(&limits, None, None, now + denial.wait_ms - 1).is_err());
                assert!(later.admit(&limits, None, None, now + denial.wait_ms).is_ok());
            }
        }
    }
    assert!(admitted.windows(6).all(|six| six[5] - six[0] >= MINUTE));
    assert!(admitted.len() > 100);
}

#[test]
fn sessions_end_a_quarter_of_an_hour_after_their_latest_request() {
    let limits = Limits { max_sessions: 2, ..Limits::default() };
    let mut counts = Counts::default();
    for (minute, session, expected) in [
        (0, Some("a"), Ok(())),
        (5, None, Ok(())),
        (6, Some("b"), over(Over::Sessions, 9 * MINUTE)),
        (10, Some("a"), Ok(())),
        (11, None, Ok(())),
        (12, Some("b"), over(Over::Sessions, 13 * MINUTE)),
        (25, Some("b"), Ok(())),
        (25, Some("a"), over(Over::Sessions, MINUTE)),
    ] {
        let admitted = counts.admit(&limits, None, session, NOW + minute * MINUTE);
        assert_eq!(admitted, expected, "{minute} {session:?}");
    }
    let fewer = Limits { max_sessions: 1, ..Limits::default() };
    let admitted = counts.admit(&fewer, None, Some("c"), NOW + 25 * MINUTE);
    assert_eq!(admitted, over(Over::Sessions, 15 * MINUTE), "the later of the two must end");
}

#[test]
fn budgets_are_of_the_calendar_and_tell_their_end() {
    let today = Day::of(NOW);
    let mut spent = Spent::default();
    // Sunday belongs to the week before, 29 days earlier to the month (1 November).
    for (back, usd) in [(0, 1.0), (1, 2.0), (29, 4.0), (30, 8.0), (40, 16.0)] {
        spent.add(today.back(back), usd);
    }
    let windows = BudgetWindow::ALL.map(|(_, window)| spent.of(window, NOW));
    assert_eq!(windows, [1.0, 1.0, 7.0]);
    for (window, limit, expected) in [
        (BudgetWindow::Day, 1.0, over(Over::Budget, 12 * HOUR)),
        (BudgetWindow::Day, 1.01, Ok(())),
        (BudgetWindow::Week, 1.0, over(Over::Budget, 6 * DAY + 12 * HOUR)),
        (BudgetWindow::Month, 7.0, over(Over::Budget, 12 * HOUR)),
        (BudgetWindow::Month, 7.5, Ok(())),
    ] {
        let limits = Limits { budgets: vec![Budget { limit_usd: limit, window }], ..Limits::default() };
        let admitted = Counts::default().admit(&limits, Some(&spent), None, NOW);
        assert_eq!(admitted, expected, "{window:?} {limit}");
    }
    spent.add(today, f64::NAN);
    assert_eq!(spent.of(BudgetWindow::Day, NOW), 1.0);
    assert_eq!(spent.of(BudgetWindow::Day, NOW + DAY), 0.0, "a new day");
}

#[test]
fn windows_of_the_calendar_begin_and_end_where_it_says() {
    for (now, since, ends) in [
        (
            "2026-11-30",
            ["2026-11-30", "2026-11-30", "2026-11-01"],
            ["2026-12-01", "2026-12-07", "2026-12-01"],
        ),
        (
            "2026-12-31",
            ["2026-12-31", "2026-12-28", "2026-12-01"],
            ["2027-01-01", "2027-01-04", "2027-01-01"],
        ),
        (
            "2028-02-29",
            ["2028-02-29", "2028-02-28", "2028-02-01"],
            ["2028-03-01", "2028-03-06", "2028-03-01"],
        ),
        (
            "2026-02-01",
            ["2026-02-01", "2026-01-26", "2026-02-01"],
            ["2026-02-02", "2026-02-02", "2026-03-01"],
        ),
    ] {
        let at = now.parse::<Day>().unwrap().begins() + DAY - 1;
        for ((name, window), (since, ends)) in BudgetWindow::ALL.into_iter().zip(since.into_iter().zip(ends))
        {
            assert_eq!(window.since(at).to_string(), since, "{now} {name}");
            assert_eq!(window.ends(at), ends.parse::<Day>().unwrap().begins(), "{now} {name}");
        }
    }
}

#[test]
fn what_is_denied_is_not_counted_anywhere() {
    let limits =
        Limits { rates: vec![Rate { limit: 1, window_ms: MINUTE }], max_sessions: 1, ..Limits::default() };
    let mut counts = Counts::default();
    assert_eq!(counts.admit(&limits, None, Some("a"), NOW), Ok(()));
    assert_eq!(counts.admit(&limits, None, Some("b"), NOW), over(Over::Sessions, 15 * MINUTE));
    assert_eq!(counts.admit(&limits, None, Some("a"), NOW + 5 * SECOND), over(Over::Rate, 55 * SECOND));
    let later = NOW + 15 * MINUTE;
    assert_eq!(counts.admit(&limits, None, Some("b"), later), Ok(()), "the latest one of `a` was its first");
}

/// Days are told from Sunday; `at`: hours and minutes of 2026-11-30, a Monday, UTC.
/// Each limit speaks as it would to a request, and asking uses none of it up.
#[test]
fn what_would_be_admitted_is_counted_nowhere() {
    let rate = Rate { limit: 1, window_ms: HOUR };
    let budget = Budget { limit_usd: 3.0, window: BudgetWindow::Day };
    let limits = Limits { rates: vec![rate], budgets: vec![budget], max_sessions: 1 };
    let (mut counts, mut spent) = (Counts::default(), Spent::default());
    for session in [Some("a"), Some("b"), None] {
        assert_eq!(counts.would_admit(&limits, Some(&spent), session, NOW), Ok(()), "{session:?}");
    }
    assert_eq!(counts.admit(&limits, Some(&spent), Some("b"), NOW), Ok(()));
    let no_rate = Limits { rates: Vec::new(), ..limits.clone() };
    for (limits, session, expected) in [
        (&limits, Some("b"), over(Over::Rate, HOUR)),
        (&no_rate, Some("b"), Ok(())),
        (&no_rate, Some("a"), over(Over::Sessions, 15 * MINUTE)),
    ] {
        assert_eq!(counts.would_admit(limits, Some(&spent), session, NOW), expected, "{session:?}");
    }
    spent.add(Day::of(NOW), 3.0);
    assert_eq!(counts.would_admit(&limits, Some(&spent), Some("b"), NOW), over(Over::Budget, DAY / 2));
    assert_eq!(counts.would_admit(&limits, Some(&spent), Some("b"), NOW + DAY), Ok(()));
}

#[test]
fn routing_10_5_a_key_is_open_in_its_window_and_tells_when_it_opens() {
    const MONDAY: Millis = 20_787 * DAY;
    let schedule = |from: u16, until: u16, days: &[usize], offset_min: i16| {
        let mut on = [false; 7];
        days.iter().for_each(|day| on[*day] = true);
        Schedule { from_min: from * 60, until_min: until * 60, days: on, offset_min }
    };
    let office = schedule(8, 18, &[1, 2, 3, 4, 5], 0);
    let night = schedule(22, 6, &[0], 0);
    let berlin = schedule(8, 18, &[1], 120);
    let whole_monday = schedule(9, 9, &[1], 0);
    let at = |day: u64, hour: u64, minute: u64| MONDAY + day * DAY + hour * HOUR + minute * MINUTE;
    for (schedule, now, expected) in [
        (office, at(0, 8, 0) - 1, Err(at(0, 8, 0))),
        (office, at(0, 8, 0), Ok(())),
        (office, at(0, 18, 0) - 1, Ok(())),
        (office, at(0, 18, 0), Err(at(1, 8, 0))),
        (office, at(4, 18, 0), Err(at(7, 8, 0))),
        (office, at(5, 12, 0), Err(at(7, 8, 0))),
        // Sunday's night reaches into Monday, and Monday has none of its own.
        (night, at(0, 5, 59), Ok(())),
        (night, at(0, 6, 0), Err(at(6, 22, 0))),
        (night, at(0, 23, 0), Err(at(6, 22, 0))),
        (night, at(6, 22, 0), Ok(())),
        (schedule(22, 6, &[], 0), at(2, 12, 0), Err(at(2, 22, 0))),
        (schedule(22, 6, &[], 0), at(2, 5, 0), Ok(())),
        (berlin, at(0, 6, 0) - 1, Err(at(0, 6, 0))),
        (berlin, at(0, 6, 0), Ok(())),
        (berlin, at(0, 16, 0), Err(at(7, 6, 0))),
        // It is Monday there while it is Sunday in Greenwich, and the other way round.
        (schedule(1, 3, &[1], 120), at(0, 0, 0) - HOUR, Ok(())),
        (schedule(20, 23, &[0], -300), at(0, 3, 0), Ok(())),
        (schedule(20, 23, &[0], -300), at(0, 4, 0), Err(at(7, 1, 0))),
        (whole_monday, at(0, 9, 0), Ok(())),
        (whole_monday, at(1, 9, 0) - 1, Ok(())),
        (whole_monday, at(1, 9, 0), Err(at(7, 9, 0))),
        (schedule(0, 0, &[], 0), at(3, 7, 7), Ok(())),
    ] {
        assert_eq!(schedule.at(now), expected, "{schedule:?} {now}");
    }
    let minutes = Schedule { from_min: 8 * 60 + 30, until_min: 8 * 60 + 31, ..schedule(0, 0, &[], 0) };
    assert_eq!([minutes.at(at(0, 8, 30)), minutes.at(at(0, 8, 31))], [Ok(()), Err(at(1, 8, 30))]);
    // Neither end of time is a fault.
    assert_eq!(schedule(1, 2, &[], 600).at(0), Err(15 * HOUR));
    let _ = office.at(Millis::MAX);
}
