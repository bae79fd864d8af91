//! Rows B1–B25 of core 1.8 and the field cases of half-open and accounting. Where a decision
//! changes a row, the row says so.

mod decisions;

use super::{Admission, Breaker, BreakerSettings, BreakerSnapshot, BreakerState, Grant, Outcome};
use crate::change::{Exclusion, Refusal};
use crate::cooldown::{Cooldown, CooldownSettings};
use crate::hint::{Hint, HintSource};
use crate::ids::Class;
use crate::time::Millis;
use crate::verdict::{Case, End, Kind, Signal, Then, Transport, Verdict, judge};

use BreakerState::{Closed, Degraded, HalfOpen, Open};

const T0: Millis = 1_768_478_400_000;
const FAILURE: Outcome = Outcome::Failure(Kind::Transient);

fn outcome(end: End) -> Outcome {
    Outcome::of(&judge(&Signal::new(end, None), &Case::of(Class::Apikey)), true)
}

/// State and failure count.
type Count = (BreakerState, u32);

/// A breaker in a prior state whose last failure was at T0.
fn prior(class: Class, state: BreakerState, failures: u32) -> Breaker {
    let snapshot =
        BreakerSnapshot { state, failures, last_failure_at: Some(T0), ..BreakerSnapshot::default() };
    Breaker::restore(snapshot, BreakerSettings::for_class(class), T0)
}

/// Sends one request that ends with `status` at `at`.
fn send(breaker: &mut Breaker, status: u16, at: Millis) -> Count {
    let grant = breaker.admit(at).expect("admitted");
    breaker.record(grant, outcome(End::Status(status)), at);
    (breaker.state(at), breaker.view().failures)
}

fn half_open(class: Class) -> Breaker {
    prior(class, HalfOpen, 12)
}

fn circuit_open(retry_at: Millis) -> Refusal {
    Refusal { why: Exclusion::CircuitOpen, retry_at: Some(retry_at) }
}

#[test]
fn rows_of_counting() {
    type Row<'a> = (&'a str, Class, Count, &'a [u16], &'a [Count]);
    // (row, class, state and count before, statuses, state and count after each)
    let rows: [Row<'_>; 10] = [
        (
            "B1",
            Class::Apikey,
            (Closed, 0),
            &[503; 6],
            &[(Closed, 1), (Closed, 2), (Closed, 3), (Closed, 4), (Closed, 5), (Closed, 6)],
        ),
        ("B2", Class::Apikey, (Closed, 6), &[503], &[(Degraded, 7)]),
        ("B3", Class::Apikey, (Degraded, 11), &[504], &[(Open, 12)]),
        (
            "B5",
            Class::Oauth,
            (Closed, 0),
            &[500, 500, 500, 500, 401, 403, 429],
            &[(Closed, 1), (Closed, 2), (Closed, 3), (Closed, 4), (Closed, 4), (Closed, 4), (Closed, 4)],
        ),
        ("B6", Class::Oauth, (Closed, 4), &[502, 200, 502], &[(Degraded, 5), (Closed, 4), (Degraded, 5)]),
        ("B7", Class::Oauth, (Degraded, 7), &[200, 200], &[(Degraded, 6), (Closed, 5)]),
        ("B8", Class::Local, (Closed, 0), &[503, 503], &[(Closed, 1), (Open, 2)]),
        // B22's third case, a 503 whose text says "Overloaded", comes with the text rules.
        ("B22", Class::Apikey, (Closed, 11), &[529, 499], &[(Closed, 11), (Closed, 11)]),
        // Decision 7 replaces the time windows of B23: three requests count 1, 2, 3.
        ("B23", Class::Apikey, (Closed, 0), &[503, 503, 503], &[(Closed, 1), (Closed, 2), (Closed, 3)]),
        ("floor", Class::Apikey, (Closed, 1), &[200, 200], &[(Closed, 0), (Closed, 0)]),
    ];
    for (row, class, (state, failures), statuses, want) in rows {
        let mut breaker = prior(class, state, failures);
        let got: Vec<_> = statuses.iter().map(|status| send(&mut breaker, *status, T0)).collect();
        assert_eq!(got, want, "{row}");
    }
}

#[test]
fn b3_b4_opens_and_becomes_half_open_to_the_millisecond() {
    let mut breaker = prior(Class::Apikey, Degraded, 11);
    send(&mut breaker, 504, T0);
    assert_eq!(breaker.retry_after_ms(T0), 30_000, "B3");
    assert_eq!((breaker.state(T0 + 29_999), breaker.retry_after_ms(T0 + 29_999)), (Open, 1), "B4");
    assert_eq!((breaker.state(T0 + 30_000), breaker.retry_after_ms(T0 + 30_000)), (HalfOpen, 0), "B4");
    assert_eq!(breaker.admit(T0 + 29_999), Err(circuit_open(T0 + 30_000)));
}

#[test]
fn rows_of_the_quiet_window() {
    // (row, class, count, kind, W); B12 and the table of core 1.3.6.
    let rows = [
        ("B9", Class::Apikey, 9, Some(Kind::Transient), 120_000),
        ("B11", Class::Oauth, 6, None, 480_000),
        ("rate limit", Class::Apikey, 9, Some(Kind::RateLimit), 240_000),
        ("B12", Class::Apikey, 9, Some(Kind::QuotaExhausted), 14_400_000),
    ];
    for (row, class, failures, last_kind, window) in rows {
        let snapshot = BreakerSnapshot {
            state: Degraded,
            failures,
            last_failure_at: Some(T0),
            last_kind,
            ..BreakerSnapshot::default()
        };
        let mut breaker = Breaker::restore(snapshot, BreakerSettings::for_class(class), T0);
        let end = T0 + window;
        assert_eq!((breaker.state(end - 1), breaker.state(end)), (Degraded, Closed), "{row}");
        assert_eq!(breaker.next_tick_at(), Some(end), "{row}");
        assert_eq!(breaker.tick(end - 1), None, "{row}");
        let change = breaker.tick(end + 7).expect("the window is over");
        assert_eq!((change.why.as_str(), change.at), ("quiet-window", end), "{row}");
        let view = breaker.view();
        assert_eq!((view.failures, view.last_kind, view.last_failure_at), (0, None, Some(T0)), "{row}");
    }
}

#[test]
fn a_multiplier_of_zero_leaves_the_base() {
    let settings = BreakerSettings { max_multiplier: 0, ..BreakerSettings::for_class(Class::Apikey) };
    let snapshot = BreakerSnapshot {
        state: Degraded,
        failures: 9,
        last_failure_at: Some(T0),
        open_cycles: 9,
        ..BreakerSnapshot::default()
    };
    let view = Breaker::restore(snapshot, settings, T0).view();
    assert_eq!((view.quiet_until, view.hold_ms), (Some(T0 + 30_000), 30_000));
}

#[test]
fn b10_a_failure_after_the_window_is_the_first() {
    let mut breaker = prior(Class::Apikey, Degraded, 9);
    let grant = breaker.admit(T0).expect("degraded admits");
    let change = breaker.record(grant, FAILURE, T0 + 120_000).expect("counted");
    assert_eq!((change.from.as_str(), change.to.as_str()), ("degraded", "closed"));
    assert_eq!(change.why, "quiet-window, failure 1/12");
    assert_eq!(breaker.view().failures, 1);
}

#[test]
fn b13_b14_a_connection_test_ends_degraded_only() {
    let mut breaker = prior(Class::Apikey, Degraded, 8);
    assert_eq!(breaker.connection_test_passed(T0).expect("B13").why, "connection-test");
    assert_eq!((breaker.state(T0), breaker.view().failures), (Closed, 0), "B13");
    for state in [Closed, Open, HalfOpen] {
        let mut breaker = prior(Class::Apikey, state, 6);
        let before = breaker.snapshot();
        assert_eq!(breaker.connection_test_passed(T0), None, "B14");
        assert_eq!(breaker.snapshot(), before, "B14");
    }
}

#[test]
fn b15_b16_one_probe_and_its_lease() {
    let mut breaker = half_open(Class::Apikey);
    let first = breaker.admit(T0).expect("B15: the probe");
    assert!(first.probe);
    assert_eq!(breaker.admit(T0), Err(circuit_open(T0 + 30_000)), "B15");
    assert_eq!(breaker.retry_after_ms(T0), 30_000, "B15");
    let view = breaker.view();
    assert_eq!(view.admission(T0 + 29_999), Admission::Refused(circuit_open(T0 + 30_000)), "B16");
    assert_eq!(view.admission(T0 + 30_000), Admission::Ask, "B16");
    let third = breaker.admit(T0 + 30_000).expect("B16: admitted");
    assert_ne!(third.generation, first.generation, "B16");
    assert_eq!(breaker.record(first, Outcome::Success, T0 + 31_000), None, "B16");
    assert_eq!(breaker.state(T0 + 31_000), HalfOpen, "B16");
    assert!(breaker.record(third, Outcome::Success, T0 + 31_000).is_some());
}

#[test]
fn b17_b21_the_probe_decides() {
    let mut breaker = half_open(Class::Apikey);
    let probe = breaker.admit(T0).expect("the probe");
    let change = breaker.record(probe, FAILURE, T0 + 500).expect("B17");
    assert_eq!((change.to.as_str(), change.why.as_str()), ("open", "probe-failed (cycle 1)"), "B17");
    assert_eq!(breaker.retry_after_ms(T0 + 500), 30_000, "B17");

    let cycled = BreakerSnapshot { open_cycles: 5, ..half_open(Class::Apikey).snapshot() };
    let mut breaker = Breaker::restore(cycled, BreakerSettings::for_class(Class::Apikey), T0);
    let probe = breaker.admit(T0).expect("the probe");
    let change = breaker.record(probe, Outcome::Success, T0).expect("B21");
    assert_eq!((change.to.as_str(), change.why.as_str()), ("closed", "probe-success"), "B21");
    let view = breaker.view();
    assert_eq!((view.failures, view.open_cycles, view.last_kind), (0, 0, None), "B21");
}

#[test]
fn b18_b19_the_hold_doubles_after_some_cycles() {
    type Row<'a> = (&'a str, Class, &'a [(u32, Millis)]);
    let rows: [Row<'_>; 2] = [
        ("B18", Class::Apikey, &[(3, 30_000), (4, 60_000), (5, 120_000), (6, 120_000)]),
        ("B19", Class::Oauth, &[(2, 60_000), (3, 120_000), (4, 240_000), (5, 480_000), (6, 480_000)]),
    ];
    for (row, class, holds) in rows {
        for (open_cycles, hold) in holds {
            let snapshot = BreakerSnapshot {
                state: Open,
                last_failure_at: Some(T0),
                open_cycles: *open_cycles,
                ..BreakerSnapshot::default()
            };
            let breaker = Breaker::restore(snapshot, BreakerSettings::for_class(class), T0);
            assert_eq!(breaker.retry_after_ms(T0), *hold, "{row} cycle {open_cycles}");
        }
    }
}

#[test]
fn b20_stragglers_do_not_stretch_the_hold_and_late_successes_do_not_close() {
    let mut breaker = prior(Class::Apikey, Closed, 10);
    let grants = [(); 4].map(|()| breaker.admit(T0).expect("closed"));
    breaker.record(grants[0], FAILURE, T0);
    breaker.record(grants[1], FAILURE, T0);
    assert_eq!(breaker.state(T0), Open);
    assert_eq!(breaker.record(grants[2], FAILURE, T0 + 10_000), None, "B20");
    // Decision 6.
    assert_eq!(breaker.record(grants[3], Outcome::Success, T0 + 10_000), None);
    assert_eq!(breaker.state(T0 + 29_999), Open, "B20");
    let probe = breaker.admit(T0 + 30_000).expect("B20: half-open");
    breaker.record(probe, Outcome::Success, T0 + 30_000);
    assert_eq!(breaker.record(grants[2], FAILURE, T0 + 31_000), None, "after it closed again");
}

#[test]
fn b24_a_restored_half_open_has_full_permits() {
    let mut running = half_open(Class::Apikey);
    let probe = running.admit(T0).expect("the probe");
    let mut restored = Breaker::restore(running.snapshot(), BreakerSettings::for_class(Class::Apikey), T0);
    assert!(restored.admit(T0).expect("B24").probe);
    assert_eq!(restored.record(probe, Outcome::Success, T0), None, "its generation moved on");
}

#[test]
fn b25_retry_after_is_told_in_ms_and_rounded_by_the_edge() {
    let breaker = prior(Class::Apikey, Open, 12);
    assert_eq!(breaker.retry_after_ms(T0 + 29_600), 400, "B25");
}

#[test]
fn fc_012_fifty_claims_win_one_probe() {
    let mut breaker = prior(Class::Apikey, Open, 12);
    let now = T0 + 30_000;
    let answers: Vec<_> = (0..50).map(|_| breaker.admit(now)).collect();
    let won: Vec<Grant> = answers.iter().flatten().copied().collect();
    assert_eq!(won.len(), 1);
    for refusal in answers.iter().filter_map(|answer| answer.as_ref().err()) {
        assert_eq!(*refusal, circuit_open(now + 30_000));
    }
    assert_eq!(breaker.view().history.last().map(|change| change.at), Some(now));
    let mut twin = breaker.clone();
    assert_eq!(breaker.record(won[0], Outcome::Success, now + 5_000).expect("closes").to, "closed");
    for cycle in 1..=4 {
        let at = now + cycle * 1_000_000;
        let probe = if cycle == 1 { won[0] } else { twin.admit(at).expect("half-open again") };
        twin.record(probe, FAILURE, at);
    }
    assert_eq!(twin.view().hold_ms, 60_000, "failures re-open, at length for longer");
}

#[test]
fn fc_013_every_end_of_a_probe() {
    let probing = || {
        let mut breaker = half_open(Class::Apikey);
        let probe = breaker.admit(T0).expect("the probe");
        (breaker, probe)
    };
    // (i) It hangs past its lease: its limit's 504 re-opens, whether the timer was first or not.
    for timer in [false, true] {
        let (mut breaker, probe) = probing();
        let late = T0 + 30_004;
        if timer {
            assert_eq!(breaker.tick(late).expect("lease over").why, "probe-lease-ended");
        }
        assert_eq!(breaker.record(probe, outcome(End::NoFirstByte), late).expect("(i)").to, "open");
    }
    // (ii) Its client leaves: neither, and the next request may probe.
    let (mut breaker, probe) = probing();
    breaker.record(probe, outcome(End::ClientGone), T0 + 10);
    assert_eq!((breaker.state(T0 + 10), breaker.view().failures), (HalfOpen, 12), "(ii)");
    assert!(breaker.admit(T0 + 10).expect("(ii)").probe);
    // (iii), (iv) A 429 or a 400 proves that it is reachable.
    for status in [429, 400, 401, 403, 404] {
        let (mut breaker, probe) = probing();
        let change = breaker.record(probe, outcome(End::Status(status)), T0 + 10).expect("(iii), (iv)");
        assert_eq!((change.to.as_str(), change.why.as_str()), ("closed", "probe-reachable"), "{status}");
    }
    // (iii) The 429 cools its connection; (iv) the 400 goes to the client and cools nobody.
    for (status, until, then) in [(429, Some(T0 + 30_010), Then::NextOrRetry), (400, None, Then::Stop)] {
        let hint = Some(Hint::new(30_000, HintSource::Header));
        let verdict = judge(&Signal::new(End::Status(status), hint), &Case::of(Class::Apikey));
        let mut connection = Cooldown::new(CooldownSettings::for_class(Class::Apikey));
        let trial = connection.admit(false, T0).expect("clean");
        connection.record(trial, &verdict, T0, T0 + 10);
        assert_eq!(connection.cooling_until(T0 + 10), until, "{status}");
        assert!(matches!(verdict, Verdict::Failure(failure) if failure.then == then), "{status}");
    }
    // (v) It succeeds after another probe re-opened.
    let (mut breaker, probe) = probing();
    let second = breaker.admit(T0 + 30_000).expect("takes over");
    breaker.record(second, FAILURE, T0 + 30_100);
    let before = breaker.view();
    assert_eq!(breaker.record(probe, Outcome::Success, T0 + 30_200), None, "(v)");
    assert_eq!(breaker.view(), before, "(v)");
}

#[test]
fn fc_015_every_path_counts_one() {
    let settings = BreakerSettings { degrade_at: 2, open_at: 3, ..BreakerSettings::for_class(Class::Apikey) };
    let paths = [
        End::Status(500),
        End::Transport(Transport::Reset),
        End::Transport(Transport::Truncated),
        End::NoFirstByte,
        End::CutAfterCommit,
    ];
    for path in paths {
        let mut breaker = Breaker::new(settings);
        let counts = [1, 2, 3].map(|at| {
            let grant = breaker.admit(T0 + at).expect("flows");
            breaker.record(grant, outcome(path), T0 + at);
            breaker.view().failures
        });
        assert_eq!((counts, breaker.state(T0 + 3)), ([1, 2, 3], Open), "{path:?}");
    }
}
