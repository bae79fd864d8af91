use super::{Loop, plan};
use crate::attempts::Next;
use crate::plan::Plan;
use crate::verdict::End;

/// The session stays with the model of `a`, which goes first.
fn kept(targets: &[&str]) -> Plan {
    let mut plan = plan(true, targets);
    plan.attempts.max_retries = 0;
    plan.kept = Some(("a".into(), "m".into()));
    plan
}

/// Routing 3.9; 529 by decision 12c.
#[test]
fn routing_3_9_the_ordinary_order_follows_what_may_be_anothers_turn() {
    let on = [408, 429, 500, 502, 503, 504, 529].map(End::Status);
    for end in on.into_iter().chain([End::Empty, End::NoFirstByte]) {
        assert_eq!(Loop::over(&kept(&["a@1", "b@1"])).fails(end).tries(), (1, 0, false), "{end:?}");
    }
}

/// Routing 3.9: no set retry and no wait would change it.
#[test]
fn routing_3_9_any_other_failure_is_returned() {
    for status in [401, 402, 403, 404, 409, 524] {
        let mut run = Loop::over(&kept(&["a@1", "b@1"]));
        assert_eq!(run.fails(End::Status(status)).next, Next::Exhausted, "{status}");
        assert!(run.attempts.is_hopeless(), "{status}");
        let mut free = Loop::over(&plan(true, &["a@1", "b@1"]));
        assert_eq!(free.fails(End::Status(status)).tries(), (1, 0, false), "{status}");
        assert!(!free.attempts.is_hopeless());
    }
    assert_eq!(Loop::over(&kept(&["a@1", "b@1"])).says("prompt is too long").next, Next::Exhausted);
}

/// The model is what is kept, not the account; wherever its accounts stand.
#[test]
fn the_accounts_of_the_kept_model_stand_in_for_each_other() {
    let mut run = Loop::over(&kept(&["a@1", "b@1", "!a@2", "!a@3"]));
    assert_eq!(run.fails(End::Status(401)).tries(), (2, 0, false));
    assert!(run.attempts.others_left(2));
    assert_eq!(run.fails(End::Status(503)).tries(), (1, 0, false), "its call is over");
    assert_eq!(run.fails(End::Status(401)).tries(), (3, 0, false), "and stays over");
    let mut run = Loop::over(&kept(&["a@1", "b@1", "!a@2"]));
    run.fails(End::Status(401)).fails(End::Status(401));
    assert_eq!((run.next, run.attempts.others_left(2)), (Next::Exhausted, false));
}

/// The talk is cached there, and nobody else is to read it meanwhile.
#[test]
fn nobody_runs_beside_the_kept_model() {
    let mut run = Loop::over(&kept(&["a@1", "b@1", "c@1"]));
    run.attempts.dispatch(0);
    assert_eq!(run.attempts.hedge(0), None);
    let mut run = Loop::over(&kept(&["a@1", "b@1", "c@1"]));
    run.fails(End::Status(503));
    run.attempts.dispatch(1);
    assert_eq!(run.attempts.hedge(1), Some(2), "the ordinary order has");
}

/// Its accounts were full or at rest when the plan was made: nobody makes its call.
#[test]
fn without_a_call_of_its_own_nothing_is_held_back() {
    let mut run = Loop::over(&kept(&["b@1", "a@1", "c@1"]));
    assert_eq!(run.fails(End::Status(401)).tries(), (1, 0, false));
    assert_eq!(run.fails(End::Status(401)).tries(), (2, 0, false));
}
