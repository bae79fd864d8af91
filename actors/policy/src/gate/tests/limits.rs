//! The gate with a local limiter: flow 8.4 as far as it needs a line.

use super::{Entered, Patience, Stage, settings};
use crate::change::Exclusion;
use crate::gate::GateSettings;
use crate::limiter::{LimiterScope, LimiterSettings};
use crate::time::Millis;

const FREE: LimiterSettings = LimiterSettings::FREE;

fn limited(limiter: LimiterSettings) -> GateSettings {
    GateSettings { limiter: Some(limiter), ..settings(0, &[]) }
}

#[test]
fn an_unlimited_limiter_holds_nobody() {
    let mut stage = Stage::new(limited(FREE));
    for _ in 0..1_000 {
        stage.goes_in("m");
    }
}

#[test]
fn e59_starts_are_spaced_and_bounded() {
    let mut stage = Stage::new(limited(LimiterSettings { rpm: 60, min_time_ms: 350, parallel: 6, ..FREE }));
    let first = stage.goes_in("m");
    let line: Vec<u64> = (0..6).map(|_| stage.waits("m")).collect();
    stage.until(10_000).leaves(first);
    let starts: Vec<Millis> = stage.started.iter().map(|(_, at)| *at).collect();
    assert_eq!(starts, [350, 700, 1_050, 1_400, 1_750, 10_000]);
    assert_eq!(stage.started.iter().map(|(ticket, _)| *ticket).collect::<Vec<_>>(), line, "in order");
}

#[test]
fn e60_a_wait_that_is_too_long_is_never_dispatched() {
    let mut stage = Stage::new(limited(LimiterSettings { rpm: 2, ..FREE }));
    let _two = (stage.goes_in("m"), stage.goes_in("m"));
    let third = stage.waits("m");
    stage.until(90_000);
    assert_eq!(stage.refused, [(third, Exclusion::QueueTimeout, 30_000)]);
    assert_eq!(stage.started, []);
}

#[test]
fn e61_a_longer_patience_sees_the_refill() {
    let mut stage = Stage::new(limited(LimiterSettings { rpm: 2, max_wait_ms: 90_000, ..FREE }));
    let _two = (stage.goes_in("m"), stage.goes_in("m"));
    let third = stage.waits("m");
    stage.until(90_000);
    assert_eq!(stage.started, [(third, 60_000)]);
}

#[test]
fn e62_waiting_is_bounded_running_is_not() {
    let mut stage = Stage::new(limited(LimiterSettings { parallel: 1, ..FREE }));
    let first = stage.goes_in("m");
    let second = stage.waits("m");
    stage.until(45_000);
    assert_eq!(stage.refused, [(second, Exclusion::QueueTimeout, 30_000)]);
    assert_eq!(stage.gate.in_flight(), 1, "the first is undisturbed");
    stage.leaves(first);
    assert_eq!(stage.gate.in_flight(), 0);
}

#[test]
fn e63_e64_the_depth_refuses_before_anything_is_done() {
    let limiter = LimiterSettings { parallel: 1, max_depth: 2, ..FREE };
    let mut stage = Stage::new(limited(limiter));
    stage.goes_in("m");
    let _two = (stage.waits("m"), stage.waits("m"));
    assert_eq!(stage.refuses("m", Patience::Queue), Exclusion::QueueFull);
    stage.gate.configure(limited(LimiterSettings { max_depth: 0, ..limiter }), 0);
    stage.waits("m");
}

/// FC-048 and E67: the clock of the wait stops at the start.
#[test]
fn e67_a_start_in_time_may_run_as_long_as_it_likes() {
    let mut stage = Stage::new(limited(LimiterSettings { parallel: 1, ..FREE }));
    let first = stage.goes_in("m");
    let second = stage.waits("m");
    stage.until(29_999).leaves(first);
    assert_eq!(stage.started, [(second, 29_999)]);
    stage.until(150_000);
    assert_eq!((stage.refused.len(), stage.gate.in_flight()), (0, 1));
}

#[test]
fn e74_e75_a_pause_is_waited_out_if_there_is_time() {
    for (wait, asked_at, starts_at) in [(20_000, 5_000, 20_000), (30_000, 0, 30_000)] {
        let mut stage = Stage::new(limited(FREE));
        stage.gate.pause(&"m".into(), wait, 0);
        let waiting = stage.until(asked_at).waits("m");
        stage.until(100_000);
        assert_eq!(stage.started, [(waiting, starts_at)], "{wait}");
    }
}

#[test]
fn e79_e80_a_pause_that_outlasts_the_wait_refuses_at_once() {
    let mut stage = Stage::new(limited(FREE));
    stage.gate.pause(&"m".into(), 45_000, 0);
    assert_eq!(stage.refuses("m", Patience::Queue), Exclusion::QueueTimeout);
    let waiting = stage.until(20_000).waits("m");
    stage.until(100_000);
    assert_eq!(stage.started, [(waiting, 45_000)]);
}

/// Those who were in line already when the pause began hear it at once, too (flow 4.26).
#[test]
fn a_pause_is_told_to_those_who_wait() {
    let mut stage = Stage::new(limited(LimiterSettings { parallel: 1, ..FREE }));
    let first = stage.goes_in("m");
    let second = stage.waits("m");
    stage.until(10_000).gate.pause(&"m".into(), 45_000, 10_000);
    stage.leaves(first);
    assert_eq!(stage.refused, [(second, Exclusion::QueueTimeout, 10_000)]);
}

/// Both budgets run from the start; what holds at the end of one decides (flow 1.20, 4.11).
#[test]
fn the_cap_and_the_limiter_each_have_their_own_end() {
    let numbers = |timeout_ms, max_wait_ms| GateSettings {
        timeout_ms,
        account_cap: 1,
        limiter: Some(LimiterSettings { max_wait_ms, ..FREE }),
        ..settings(1, &[])
    };
    for (timeout_ms, max_wait_ms, expected) in [
        (5_000, 9_000, (Exclusion::SemaphoreTimeout, 5_000)),
        (9_000, 5_000, (Exclusion::SemaphoreTimeout, 9_000)),
    ] {
        let mut stage = Stage::new(numbers(timeout_ms, max_wait_ms));
        stage.goes_in("m");
        let second = stage.waits("m");
        stage.until(60_000);
        assert_eq!(stage.refused, [(second, expected.0, expected.1)]);
    }
    let mut stage = Stage::new(numbers(5_000, 9_000));
    let first = stage.goes_in("m");
    let second = stage.waits("m");
    stage.until(1_000).gate.pause(&"m".into(), 8_500, 1_000);
    stage.leaves(first);
    assert_eq!(stage.refused, [(second, Exclusion::QueueTimeout, 1_000)]);
}

/// A model with a limiter of its own waits alone (flow 4.5, decision 13).
#[test]
fn a_paused_model_holds_back_no_other() {
    let mut stage = Stage::new(limited(LimiterSettings { scope: LimiterScope::Model, ..FREE }));
    stage.gate.pause(&"m".into(), 10_000, 0);
    let waiting = stage.waits("m");
    stage.goes_in("n");
    stage.until(10_000);
    assert_eq!(stage.started, [(waiting, 10_000)]);
}

/// Flow 4.21: it has work, room and nothing running, and nobody looked at it.
#[test]
fn a_limiter_that_stands_still_sends_its_line_away() {
    let mut stage = Stage::new(limited(LimiterSettings { parallel: 1, ..FREE }));
    let first = stage.goes_in("m");
    let second = stage.waits("m");
    // No tick follows: the fault that the sweep is there for.
    stage.gate.leave(first, 1_000);
    assert!(stage.gate.replace_stuck(10_999).is_empty());
    assert_eq!(stage.gate.replace_stuck(11_000), [second]);
    stage.now = 11_000;
    stage.goes_in("m");
}

/// Flow 4.21: whom a cap holds does not wait for the limiter of its model, however idle that is.
#[test]
fn a_limiter_does_not_stand_still_because_the_account_is_full() {
    let limiter = LimiterSettings { scope: LimiterScope::Model, ..FREE };
    let mut stage = Stage::new(GateSettings { limiter: Some(limiter), ..settings(1, &[]) });
    let earlier = stage.goes_in("m");
    stage.leaves(earlier);
    let other = stage.goes_in("n");
    let waiting = stage.until(10_000).waits("m");
    assert!(stage.gate.replace_stuck(10_000).is_empty());
    stage.leaves(other);
    assert_eq!(stage.started, [(waiting, 10_000)]);
}

#[test]
fn protection_may_come_and_go_while_requests_run() {
    let mut stage = Stage::new(settings(0, &[]));
    let first = stage.goes_in("m");
    stage.gate.configure(limited(LimiterSettings { parallel: 1, ..FREE }), 0);
    let second = stage.goes_in("m");
    stage.leaves(first);
    stage.waits("m");
    stage.gate.configure(settings(0, &[]), 0);
    stage.until(0);
    assert_eq!(stage.started.len(), 1);
    stage.leaves(second);
    assert!(matches!(stage.asks("m", Patience::None), Ok(Entered::In(_))));
}

/// Names that are never asked for again leave nothing behind (flow 4.21).
#[test]
fn limiters_of_forgotten_models_are_dropped() {
    let mut stage = Stage::new(limited(LimiterSettings { scope: LimiterScope::Model, ..FREE }));
    for model in 0..100 {
        let ticket = stage.goes_in(&format!("m{model}"));
        stage.leaves(ticket);
    }
    assert_eq!(stage.gate.view(0).limiters.len(), 100);
    stage.until(600_000).goes_in("m0");
    assert_eq!(stage.gate.view(600_000).limiters.len(), 1);
}

#[test]
fn an_operator_ends_a_pause() {
    let mut stage = Stage::new(limited(FREE));
    stage.gate.pause(&"m".into(), 20_000, 0);
    let waiting = stage.waits("m");
    stage.gate.unpause();
    let turns = stage.gate.tick(&mut super::Open, 0);
    assert_eq!(turns.admitted, [waiting]);
}

/// A provider's window keeps those waiting whom the limiter would let go: it is not stuck (flow 4.10 (c)).
#[test]
fn who_waits_for_the_providers_window_is_not_stuck() {
    struct Shut(Millis);
    impl super::Door for Shut {
        fn pass(&mut self, _: super::Ticket, now: Millis) -> Result<(), super::Hold> {
            if now < self.0 { Err(super::Hold::Window(self.0)) } else { Ok(()) }
        }
    }
    let mut gate = super::Gate::new(limited(FREE));
    let entry = super::Entry { model: &"m".into(), patience: Patience::Queue, behind: false };
    let Ok(Entered::Waits(ticket)) = gate.enter(&entry, &mut Shut(25_000), 0) else { panic!("it waits") };
    assert!(gate.tick(&mut Shut(25_000), 0).admitted.is_empty());
    for at in [10_000, 20_000, 24_999] {
        assert!(gate.replace_stuck(at).is_empty(), "{at}");
    }
    assert_eq!(gate.next_tick_at(), Some(25_000));
    assert_eq!(gate.tick(&mut Shut(25_000), 25_000).admitted, [ticket]);
}
