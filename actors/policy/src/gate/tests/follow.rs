//! How a line follows a connection that has come back (FC-108, decision 3a).

use super::{Entry, GateSettings, Open, Patience, Stage, Stumble, Ticket, settings};
use crate::change::Exclusion;
use crate::ids::ModelId;
use crate::time::Millis;

/// FC-108: after a rest those in line follow the trial, one more for each success; and twice as many
/// each second, whatever became of it (decision 3a).
#[test]
fn a_line_that_follows_widens_with_successes_and_with_time() {
    let mut stage = Stage::new(GateSettings { queue_size: 0, ..settings(1, &[]) });
    let old = stage.goes_in("m");
    let line: Vec<Ticket> = (0..20).map(|_| stage.waits("m")).collect();
    stage.now = 1;
    stage.gate.comes_back(1);
    stage.gate.configure(settings(0, &[]), 1);
    let mut goes = |at: Millis, good: usize, inside: usize| {
        (0..good).for_each(|_| stage.gate.succeeded(at));
        stage.until(at);
        let turns = stage.gate.tick(&mut Open, at);
        stage.take(turns);
        assert_eq!(stage.gate.in_flight() - 1, inside, "at {at}; the first does not count");
    };
    goes(1, 0, 1);
    goes(1, 2, 3);
    goes(1_000, 0, 3);
    goes(1_001, 0, 6);
    goes(3_001, 0, 20);
    line.into_iter().chain([old]).for_each(|ticket| stage.leaves(ticket));
    assert_eq!(stage.gate.in_flight(), 0);
}

/// One that fails and comes back starts the line anew, with one more only for as many successes as may
/// be in.
#[test]
fn a_line_that_stumbles_goes_on_with_care() {
    let mut stage = Stage::new(settings(0, &[]));
    stage.gate.comes_back(0);
    let model = ModelId::from("m");
    let behind = Entry { model: &model, patience: Patience::None, behind: true };
    let room = |stage: &mut Stage| {
        let mut gate = stage.gate.clone();
        (0..9).take_while(|_| gate.enter(&behind, &mut Open, stage.now).is_ok()).count()
    };
    (0..3).for_each(|_| stage.gate.succeeded(0));
    assert_eq!(room(&mut stage), 4);
    stage.gate.stumbled(Stumble::Failed, 0);
    for (good, expected) in [(0, 1), (1, 2), (1, 2), (1, 3), (2, 3), (1, 4)] {
        (0..good).for_each(|_| stage.gate.succeeded(0));
        assert_eq!(room(&mut stage), expected, "after {good} more");
    }
}

/// Who has sat out a rest follows also where no line is; who comes fresh does not (decision 3a). It is
/// over when nobody has had to follow for a while.
#[test]
fn only_those_who_have_waited_follow() {
    let mut stage = Stage::new(settings(0, &[]));
    stage.gate.comes_back(0);
    let trial = stage.goes_in("m");
    let model = ModelId::from("m");
    let behind = Entry { model: &model, patience: Patience::None, behind: true };
    let refused = stage.gate.enter(&behind, &mut Open, 0).unwrap_err();
    assert_eq!(refused.why, Exclusion::ConcurrencyCap);
    let fresh = stage.goes_in("m");
    stage.leaves(trial);
    stage.leaves(fresh);
    stage.gate.succeeded(4_999);
    assert!(stage.gate.ramp.is_some());
    stage.gate.succeeded(5_000);
    assert!(stage.gate.ramp.is_none());
}

/// Whoever is in goes on counting.
fn who_is_in_counts_over(what: fn(&mut super::Gate)) {
    let mut stage = Stage::new(settings(0, &[]));
    stage.gate.comes_back(0);
    let running = stage.goes_in("m");
    what(&mut stage.until(10).gate);
    let model = ModelId::from("m");
    let behind = Entry { model: &model, patience: Patience::None, behind: true };
    assert!(stage.gate.enter(&behind, &mut Open, 10).is_err());
    stage.leaves(running);
    assert!(stage.gate.enter(&behind, &mut Open, 10).is_ok());
}

/// A trial that came to nothing gives way to another one, not to a second one beside those who are in.
#[test]
fn who_is_in_counts_over_a_second_trial() {
    who_is_in_counts_over(|gate| gate.comes_back(10));
}

/// What fails at once must not let the next one in at once.
#[test]
fn who_is_in_counts_over_a_stumble() {
    who_is_in_counts_over(|gate| gate.stumbled(Stumble::Failed, 10));
}

/// An account that never rested and says "too many at once" bears as many as are in besides the one it
/// refused (core 3.2.1): those who come back are held to that, and one more is tried after four times as
/// many successes. Another kind of failure holds nobody there, and who comes fresh is let in as ever.
#[test]
fn a_crowded_account_shows_how_many_it_bears() {
    let mut stage = Stage::new(settings(0, &[]));
    let model = ModelId::from("m");
    let behind = Entry { model: &model, patience: Patience::None, behind: true };
    let room = |stage: &Stage| {
        let mut gate = stage.gate.clone();
        (0..9).take_while(|_| gate.enter(&behind, &mut Open, stage.now).is_ok()).count()
    };
    let inside: Vec<Ticket> = (0..5).map(|_| stage.goes_in("m")).collect();
    stage.until(10).leaves(inside[4]);
    stage.gate.stumbled(Stumble::Failed, 10);
    assert_eq!(room(&stage), 9, "it may have been anything");
    for refused in [inside[3], inside[2]] {
        stage.leaves(refused);
        stage.gate.stumbled(Stumble::Crowded, 10);
    }
    assert_eq!(room(&stage), 0, "two are in: no more were borne");
    stage.leaves(inside[1]);
    for (good, expected) in [(0, 1), (7, 1), (1, 2), (11, 2), (1, 3)] {
        (0..good).for_each(|_| stage.gate.succeeded(10));
        assert_eq!(room(&stage), expected, "one is in; after {good} more");
    }
    stage.goes_in("m");
    stage.leaves(inside[0]);
    stage.gate.stumbled(Stumble::Crowded, 10);
    assert_eq!(room(&stage), 0, "the measure is taken anew");
    stage.until(10_009);
    assert_eq!(room(&stage), 0);
    stage.until(10_010);
    assert_eq!(room(&stage), 1, "time widens it, too");
}

/// Who is alone and refused all the same: one may be in, never none.
#[test]
fn an_account_that_bears_nobody_is_still_asked() {
    let mut stage = Stage::new(settings(0, &[]));
    stage.gate.stumbled(Stumble::Crowded, 0);
    let model = ModelId::from("m");
    let behind = Entry { model: &model, patience: Patience::None, behind: true };
    assert!(stage.gate.enter(&behind, &mut Open, 0).is_ok());
}
