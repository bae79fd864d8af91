//! Decisions on the breaker, its numbers, its snapshot and its history.

use super::super::{Admission, Breaker, BreakerSettings, BreakerSnapshot, Grant, Operator, Outcome};
use super::{FAILURE, T0, half_open, outcome, prior, send};
use crate::breaker::BreakerState::{Closed, Degraded, HalfOpen, Open};
use crate::change::{Exclusion, Refusal};
use crate::ids::Class;
use crate::time::Millis;
use crate::verdict::{Case, End, Kind, Signal, Transport, judge};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as TextError, MapDeserializer};

#[test]
fn decision_7_what_was_counted_is_neutral() {
    let failed = judge(&Signal::new(End::Status(503), None), &Case::of(Class::Apikey));
    assert_eq!(Outcome::of(&failed, true), FAILURE);
    assert_eq!(Outcome::of(&failed, false), Outcome::Neutral);
    assert_eq!(outcome(End::Transport(Transport::ProxyUnreachable)), Outcome::Neutral);
    assert_eq!(outcome(End::SendInterrupted), Outcome::Neutral);
    assert_eq!(outcome(End::StallAfterCommit), Outcome::Neutral, "core 1.6.3");
}

#[test]
fn decision_12_after_a_restore_only_probes_are_fenced() {
    let settings = BreakerSettings::for_class(Class::Apikey);
    let mut before = Breaker::new(settings);
    let grant = before.admit(T0).expect("closed");
    let mut after = Breaker::restore(before.snapshot(), settings, T0);
    assert_eq!(after.record(grant, FAILURE, T0).expect("still counts").why, "failure 1/12");
    after.trip(None, T0);
    after.reset(T0);
    assert_eq!(after.record(grant, FAILURE, T0), None, "not after a turn");
    let stale = Grant { probe: true, ..grant };
    let mut again = Breaker::restore(before.snapshot(), settings, T0);
    assert_eq!(again.record(stale, FAILURE, T0), None, "a probe of before");
}

#[test]
fn decision_5b_half_open_begins_when_the_hold_ends() {
    let mut breaker = prior(Class::Apikey, Open, 12);
    assert_eq!(breaker.next_tick_at(), Some(T0 + 30_000));
    assert_eq!(breaker.tick(T0 + 29_999), None);
    let change = breaker.tick(T0 + 99_000).expect("the hold is over");
    assert_eq!((change.why.as_str(), change.at), ("timeout-elapsed", T0 + 30_000));
    assert_eq!(breaker.tick(T0 + 99_000), None);
}

#[test]
fn core_1_7_7_a_reset_forgets_every_count() {
    for snapshot in [
        BreakerSnapshot { failures: 3, last_failure_at: Some(T0), ..BreakerSnapshot::default() },
        BreakerSnapshot { open_cycles: 3, ..BreakerSnapshot::default() },
        BreakerSnapshot { operator: Operator::Observe, ..BreakerSnapshot::default() },
        prior(Class::Apikey, Open, 12).snapshot(),
    ] {
        let mut breaker = Breaker::restore(snapshot, BreakerSettings::for_class(Class::Apikey), T0);
        assert_eq!(breaker.reset(T0).expect("something to forget").why, "manual-reset");
        let generation = breaker.snapshot().generation;
        assert_eq!(breaker.snapshot(), BreakerSnapshot { generation, ..BreakerSnapshot::default() });
        assert_eq!(breaker.reset(T0), None, "clean");
    }
}

#[test]
fn decision_35_an_isolated_breaker_refuses_until_it_is_told_otherwise() {
    let mut breaker = Breaker::new(BreakerSettings::for_class(Class::Apikey));
    assert_eq!(breaker.isolate(T0).to, "isolated");
    let mut breaker = Breaker::restore(breaker.snapshot(), BreakerSettings::for_class(Class::Apikey), T0);
    let refusal = Refusal { why: Exclusion::Isolated, retry_at: None };
    assert_eq!(breaker.admit(u64::MAX), Err(refusal));
    assert_eq!((breaker.view().label(T0), breaker.retry_after_ms(T0)), ("isolated", 0));
    let change = breaker.reset(T0).expect("something to forget");
    assert_eq!((change.from.as_str(), change.to.as_str()), ("isolated", "closed"));
    assert_eq!(breaker.reset(T0), None, "clean");
}

#[test]
fn decision_35_an_observed_breaker_reports_and_never_refuses() {
    let mut breaker = prior(Class::Local, Closed, 1);
    assert_eq!(breaker.observe(T0).to, "observe");
    let grant = breaker.view().grant();
    assert_eq!(breaker.record(grant, FAILURE, T0).expect("reported").to, "open");
    assert_eq!(breaker.view().admission(T0), Admission::Free);
    let ignored = breaker.admit(T0).expect("never refuses");
    assert_eq!(breaker.record(ignored, FAILURE, T0 + 1), None, "inner state open");
    // Nobody asks, so a report after the hold is what moves it on; the next one decides.
    let late = T0 + 15_000;
    assert_eq!(breaker.record(ignored, Outcome::Success, late).expect("moves on").to, "half_open");
    let decides = breaker.admit(late).expect("never refuses");
    assert!(!decides.probe);
    assert_eq!(breaker.record(decides, Outcome::Success, late).expect("decides").to, "closed");
    assert_eq!((breaker.view().operator, breaker.view().label(late)), (Operator::Observe, "observe"));
}

#[test]
fn a_trip_holds_as_long_as_it_was_told_to() {
    let mut breaker = Breaker::new(BreakerSettings::for_class(Class::Apikey));
    let grant = breaker.admit(T0).expect("closed");
    breaker.observe(T0);
    let change = breaker.trip(Some(60_000), T0);
    assert_eq!(
        (change.from.as_str(), change.to.as_str(), change.why.as_str()),
        ("observe", "open", "manual-trip")
    );
    assert_eq!(breaker.view().label(T0), "open", "the last order wins");
    assert_eq!(breaker.record(grant, FAILURE, T0), None, "admitted before");
    assert_eq!(breaker.snapshot().forced_until, Some(T0 + 60_000));
    let restored = Breaker::restore(breaker.snapshot(), BreakerSettings::for_class(Class::Apikey), T0 + 1);
    assert_eq!((restored.state(T0 + 59_999), restored.state(T0 + 60_000)), (Open, HalfOpen));
    breaker.trip(None, T0);
    assert_eq!(breaker.retry_after_ms(T0), 30_000, "by default its hold");
    breaker.trip(Some(Millis::MAX), T0);
    assert_eq!(breaker.state(Millis::MAX - 1), Open, "saturates");
}

#[test]
fn what_turns_the_generation() {
    let settings = BreakerSettings { degrade_at: 1, open_at: 2, ..BreakerSettings::for_class(Class::Apikey) };
    let mut breaker = Breaker::new(settings);
    let mut seen = vec![breaker.view().generation];
    let mut turn = |breaker: &Breaker, turns: u64, what: &str| {
        let now = breaker.view().generation;
        assert_eq!(now - seen.last().expect("the first"), turns, "{what}");
        seen.push(now);
    };
    send(&mut breaker, 503, T0);
    turn(&breaker, 0, "closed to degraded");
    send(&mut breaker, 200, T0);
    turn(&breaker, 0, "degraded to closed");
    send(&mut breaker, 503, T0);
    send(&mut breaker, 503, T0);
    turn(&breaker, 1, "opens");
    assert_eq!(breaker.view().last_kind, Some(Kind::Transient));
    breaker.tick(T0 + 30_000);
    turn(&breaker, 1, "half-open");
    let probe = breaker.admit(T0 + 30_000).expect("the probe");
    turn(&breaker, 0, "a probe");
    breaker.record(probe, FAILURE, T0 + 30_000);
    turn(&breaker, 1, "opens again");
    let probe = breaker.admit(T0 + 60_000).expect("the probe");
    turn(&breaker, 1, "half-open by being asked");
    breaker.record(probe, Outcome::Success, T0 + 60_000);
    turn(&breaker, 1, "a probe closes");
    breaker.trip(None, T0 + 60_000);
    turn(&breaker, 1, "trip");
    breaker.reset(T0 + 60_000);
    turn(&breaker, 1, "reset");
    turn(&Breaker::restore(breaker.snapshot(), settings, T0), 1, "restore");
}

#[test]
fn the_end_of_a_lease_is_one_new_generation_for_all_its_permits() {
    let settings = BreakerSettings { permits: 2, ..BreakerSettings::for_class(Class::Apikey) };
    let mut breaker = Breaker::restore(half_open(Class::Apikey).snapshot(), settings, T0);
    let old = [(); 2].map(|()| breaker.admit(T0).expect("a probe"));
    assert_eq!(breaker.next_tick_at(), Some(T0 + 30_000));
    breaker.tick(T0 + 30_000).expect("lease over");
    let view = breaker.view();
    assert_eq!((view.permits_left, view.lease_until, breaker.next_tick_at()), (2, None, None));
    let new = [(); 2].map(|()| breaker.admit(T0 + 30_000).expect("a probe"));
    assert_eq!(new[0].generation, new[1].generation);
    assert_eq!(new[0].generation, old[0].generation + 1);
    breaker.record(new[0], Outcome::Success, T0 + 30_001);
    assert_eq!(breaker.view().lease_until, None);
}

#[test]
fn after_a_trip_the_hold_is_its_own_again() {
    let mut breaker = Breaker::new(BreakerSettings::for_class(Class::Apikey));
    breaker.trip(Some(1_000), T0);
    let probe = breaker.admit(T0 + 1_000).expect("the probe");
    breaker.record(probe, FAILURE, T0 + 1_500);
    assert_eq!(breaker.retry_after_ms(T0 + 1_500), 30_000);
}

#[test]
fn a_neutral_probe_gives_its_permit_back_and_an_ignored_request_nothing() {
    let settings = BreakerSettings { permits: 2, ..BreakerSettings::for_class(Class::Apikey) };
    let mut breaker = Breaker::restore(half_open(Class::Apikey).snapshot(), settings, T0);
    let first = breaker.admit(T0).expect("first probe");
    breaker.admit(T0).expect("second probe");
    assert!(breaker.admit(T0).is_err());
    assert_eq!(breaker.record(first, Outcome::Neutral, T0).expect("told").why, "probe-returned");
    assert_eq!((breaker.view().permits_left, breaker.view().lease_until), (1, Some(T0 + 30_000)));
    let outsider = Grant { probe: false, ..first };
    assert_eq!(breaker.record(outsider, Outcome::Success, T0), None, "core 1.5.4");
    breaker.observe(T0);
    assert_eq!(breaker.record(outsider, Outcome::Neutral, T0), None, "holds no permit");
    breaker.record(first, Outcome::Neutral, T0);
    assert_eq!((breaker.view().permits_left, breaker.view().lease_until), (2, None), "all are back");
}

#[test]
fn core_1_1_6_new_numbers_keep_state_and_running_probes() {
    let settings = BreakerSettings { permits: 3, ..BreakerSettings::for_class(Class::Apikey) };
    let mut breaker = Breaker::restore(half_open(Class::Apikey).snapshot(), settings, T0);
    breaker.admit(T0).expect("a probe");
    assert_eq!(breaker.configure(settings, T0), None, "the same numbers");
    let lower = BreakerSettings { permits: 1, degrade_at: 6, reset_ms: 9_000, ..settings };
    let change = breaker.configure(lower, T0).expect("published");
    assert_eq!((change.from.as_str(), change.to.as_str()), ("half_open", "half_open"));
    let view = breaker.view();
    assert_eq!((view.state, view.failures, view.permits_left), (HalfOpen, 12, 0));
    assert_eq!((view.degrade_at, view.reset_ms, view.hold_ms), (6, 9_000, 9_000));
}

#[test]
fn core_1_1_5_stored_profiles_are_clamped() {
    let base = BreakerSettings::for_class(Class::Apikey);
    // (open_at, degrade_at, reset_ms, permits) as stored and as meant; G6 is the first.
    let rows = [
        ((5, 9, 30_000, 1), (5, 4, 30_000, 1)),
        ((1, 7, 999, 0), (1, 1, 1_000, 1)),
        ((0, 0, 0, 2), (1, 1, 1_000, 2)),
        ((2_000, 5_000, Millis::MAX, 1), (1_000, 999, 86_400_000, 1)),
    ];
    for ((open_at, degrade_at, reset_ms, permits), want) in rows {
        let is = BreakerSettings { open_at, degrade_at, reset_ms, permits, ..base }.normalised();
        assert_eq!((is.open_at, is.degrade_at, is.reset_ms, is.permits), want);
    }
}

#[test]
fn core_1_1_numbers_of_the_classes() {
    let numbers = |class| {
        let s = BreakerSettings::for_class(class);
        (s.degrade_at, s.open_at, s.reset_ms, s.max_multiplier, s.escalate_after, s.permits)
    };
    assert_eq!(numbers(Class::Oauth), (5, 8, 60_000, 8, 2, 1));
    assert_eq!(numbers(Class::Apikey), (7, 12, 30_000, 4, 3, 1));
    assert_eq!(numbers(Class::Local), (2, 2, 15_000, 16, 3, 1));
}

#[test]
fn a_stored_record_of_any_age_can_be_read() {
    let read = |fields: &[(&'static str, &'static str)]| {
        let entries = fields.iter().map(|(name, text)| (*name, (*text).into_deserializer()));
        BreakerSnapshot::deserialize(MapDeserializer::<_, TextError>::new(entries)).expect("readable")
    };
    assert_eq!(read(&[]), BreakerSnapshot::default());
    assert_eq!(read(&[("state", "half_open"), ("operator", "observe")]).state, HalfOpen);
    // Core 1.7.8: an unknown state is CLOSED.
    assert_eq!(read(&[("state", "MELTED")]).state, Closed);
    let settings = BreakerSettings::for_class(Class::Apikey);
    let timeless = BreakerSnapshot { state: Open, ..BreakerSnapshot::default() };
    assert_eq!(Breaker::restore(timeless, settings, T0).state(T0), HalfOpen, "core 1.4.5");
    let future =
        BreakerSnapshot { state: Open, last_failure_at: Some(Millis::MAX), ..BreakerSnapshot::default() };
    assert_eq!(Breaker::restore(future, settings, T0).retry_after_ms(T0), 30_000);
}

#[test]
fn the_history_keeps_twenty_transitions_and_no_counts() {
    let mut breaker = Breaker::new(BreakerSettings::for_class(Class::Apikey));
    send(&mut breaker, 503, T0);
    assert!(breaker.view().history.is_empty());
    for at in 0..30 {
        breaker.trip(None, at);
        breaker.reset(at);
    }
    let history = breaker.view().history;
    assert_eq!((history.len(), history[19].at, history[0].at), (20, 29, 20));
}

#[test]
fn only_a_clean_breaker_need_not_hear_of_a_success() {
    assert!(Breaker::new(BreakerSettings::for_class(Class::Apikey)).view().is_clean());
    for state in [Closed, Degraded, Open, HalfOpen] {
        assert!(!prior(Class::Apikey, state, 1).view().is_clean(), "{state:?}");
    }
}
