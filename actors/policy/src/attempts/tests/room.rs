//! Targets without room (flow 1.15, 1.26), and those that were sent to already.

use super::{Loop, S503, plan};
use crate::attempts::Next;
use crate::change::{Exclusion, Refusal};

/// Flow 1.15, 1.26; routing 16 #17, #21: what is merely full is waited for when nothing else is left.
#[test]
fn full_targets_are_waited_for_last_and_together() {
    let mut run = Loop::over(&plan(true, &["a@1", "b@1", "c@1"]));
    let full = |why| Refusal { why, retry_at: Some(1_000) };
    run.next = run.attempts.refused(0, full(Exclusion::ConcurrencyCap));
    assert_eq!(run.tries(), (1, 0, false), "another target goes first");
    assert!(run.attempts.others_left(1), "a full target is still one");
    // Decision 3a: it was refused for the sake of another target only.
    run.next = run.attempts.refused(1, full(Exclusion::Recovering));
    assert_eq!(run.fails(S503).next, Next::Queue(vec![0, 1]), "before a retry of what has failed");
    assert_eq!(run.attempts.refused(1, full(Exclusion::QueueTimeout)), Next::Queue(vec![0]));
    run.attempts.dispatch(0);
    assert!(!run.attempts.others_left(0));
}

#[test]
fn a_target_that_is_full_twice_is_over() {
    let mut run = Loop::over(&plan(true, &["a@1"]));
    let full = Refusal { why: Exclusion::ConcurrencyCap, retry_at: None };
    assert_eq!(run.attempts.refused(0, full), Next::Queue(vec![0]));
    assert_eq!(run.attempts.refused(0, full), Next::Exhausted);
}

/// Who comes back to a target is known: it follows others there (FC-108).
#[test]
fn a_target_that_was_sent_to_is_remembered() {
    let mut run = Loop::over(&plan(true, &["a@1", "b@1"]));
    run.attempts.dispatch(0);
    assert_eq!([0, 1].map(|target| run.attempts.was_tried(target)), [true, false]);
}
