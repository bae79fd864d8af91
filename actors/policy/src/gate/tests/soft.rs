//! Entries that go on without a slot rather than fail (flow 2.26 to 2.32, E31 to E34).

use super::{Entered, Patience, Stage, settings};
use crate::change::Exclusion;

const SOFT: Patience = Patience::Soft { wait_ms: 30_000, queue: Some(20) };

fn waits(stage: &mut Stage, patience: Patience) -> u64 {
    match stage.asks("m", patience) {
        Ok(Entered::Waits(ticket)) => ticket,
        other => panic!("{other:?}"),
    }
}

#[test]
fn e31_the_next_goes_when_the_one_before_has_ended() {
    let mut stage = Stage::new(settings(1, &[]));
    let first = stage.goes_in("m");
    let second = waits(stage.until(10), SOFT);
    stage.until(2_000).leaves(first);
    assert_eq!(stage.started, [(second, 2_000)]);
    assert!(!stage.gate.is_without_slot(second));
}

#[test]
fn e32_after_the_wait_it_goes_on_without_a_slot() {
    let mut stage = Stage::new(settings(1, &[]));
    let first = stage.goes_in("m");
    let second = waits(stage.until(10), SOFT);
    stage.until(60_000);
    assert_eq!((&stage.started[..], &stage.refused[..]), (&[(second, 30_010)][..], &[][..]));
    assert!(stage.gate.is_without_slot(second));
    // What holds no slot gives none back (flow 2.31).
    stage.leaves(second);
    assert_eq!((stage.account(), stage.gate.in_flight()), (1, 1));
    stage.leaves(first);
    assert_eq!((stage.account(), stage.gate.in_flight()), (0, 0));
}

#[test]
fn e33_a_queue_of_none_never_waits_and_no_bound_is_none() {
    let mut stage = Stage::new(settings(1, &[]));
    stage.goes_in("m");
    stage.until(10);
    let now = stage.asks("m", Patience::Soft { wait_ms: 30_000, queue: Some(0) });
    let Ok(Entered::In(ticket)) = now else { panic!("{now:?}") };
    assert!(stage.gate.is_without_slot(ticket));
    for _ in 0..50 {
        waits(&mut stage, Patience::Soft { wait_ms: 30_000, queue: None });
    }
}

#[test]
fn a_full_line_of_the_patient_goes_on_too() {
    let mut stage = Stage::new(settings(1, &[]));
    stage.goes_in("m");
    for _ in 0..20 {
        waits(&mut stage, SOFT);
    }
    assert!(matches!(stage.asks("m", SOFT), Ok(Entered::In(_))));
}

/// Only the account's slot may be gone without: a cap on the model is the operator's word.
#[test]
fn a_model_cap_stays_a_cap() {
    let mut stage = Stage::new(settings(1, &[("m", 1)]));
    stage.goes_in("m");
    let second = waits(&mut stage, SOFT);
    stage.until(30_000);
    assert_eq!(stage.refused, [(second, Exclusion::SemaphoreTimeout, 30_000)]);
    assert_eq!(
        stage.refuses("m", Patience::Soft { wait_ms: 1, queue: Some(0) }),
        Exclusion::SemaphoreQueueFull
    );
}

#[test]
fn e34_without_a_cap_nothing_is_waited_for() {
    let mut stage = Stage::new(settings(0, &[]));
    for _ in 0..100 {
        assert!(matches!(stage.asks("m", SOFT), Ok(Entered::In(_))));
    }
}

/// What the provider's pace holds does not go on for want of a slot.
#[test]
fn a_pause_stays_a_pause() {
    let limiter = crate::limiter::LimiterSettings::FREE;
    let mut stage = Stage::new(crate::gate::GateSettings { limiter: Some(limiter), ..settings(1, &[]) });
    stage.goes_in("m");
    stage.gate.pause(&"m".into(), 20_000, 0);
    let soft = waits(&mut stage, Patience::Soft { wait_ms: 5_000, queue: Some(20) });
    stage.until(19_999);
    assert_eq!((stage.started.len(), stage.refused.len()), (0, 0));
    stage.until(20_000);
    assert_eq!(stage.started, [(soft, 20_000)], "without a slot, which it has waited for long enough");
    assert!(stage.gate.is_without_slot(soft));
}
