use super::{Loop, S503, plan};
use crate::attempts::Next;
use crate::verdict::End;

const S402: End = End::Status(402);

/// Targets of which the first is passed for quota alone.
fn protected(targets: &[&str]) -> crate::plan::Plan {
    let mut plan = plan(true, targets);
    let first = plan.targets[0].step;
    for target in plan.targets.iter_mut().filter(|target| target.step == first) {
        target.only_on_quota = true;
    }
    plan
}

/// Routing 16 #3: any other failure than quota ends the request.
#[test]
fn row_3_a_protected_step_is_not_passed_for_a_503() {
    let mut plan = protected(&["a@1", "b@1"]);
    plan.attempts.max_retries = 0;
    assert_eq!(Loop::over(&plan).fails(S503).next, Next::Exhausted);
}

/// Routing 16 #4.
#[test]
fn row_4_a_protected_step_is_passed_for_quota() {
    let mut run = Loop::over(&protected(&["a@1", "b@1"]));
    assert_eq!(run.fails(S402).tries(), (1, 0, false));
}

/// Its other accounts are its own: one of them may fail for quota, the next for something else.
#[test]
fn a_protected_step_is_passed_only_when_all_its_accounts_want_quota() {
    let mut plan = protected(&["a@1", "a@2", "b@1"]);
    plan.attempts.max_retries = 0;
    let mut run = Loop::over(&plan);
    assert_eq!(run.fails(S402).tries(), (1, 0, false));
    assert_eq!(run.fails(S503).next, Next::Exhausted);
    let mut run = Loop::over(&plan);
    assert_eq!(run.fails(S402).tries(), (1, 0, false));
    assert_eq!(run.fails(S402).tries(), (2, 0, false));
}

#[test]
fn nothing_runs_beside_a_protected_step() {
    assert_eq!(Loop::over(&protected(&["a@1", "b@1"])).attempts.hedge(0), None);
    let mut run = Loop::over(&plan(true, &["a@1", "b@1"]));
    run.attempts.dispatch(0);
    assert_eq!(run.attempts.hedge(0), Some(1));
}

/// Routing 7.14: three in a row.
#[test]
fn the_same_fault_of_the_request_three_times_ends_it() {
    let mut run = Loop::over(&plan(true, &["a@1", "b@1", "c@1", "d@1"]));
    let text = "context window exceeded";
    assert_eq!(run.says(text).tries(), (1, 0, false));
    assert_eq!(run.says(text).tries(), (2, 0, false));
    assert!(!run.attempts.is_hopeless());
    assert_eq!(run.says(text).next, Next::Exhausted);
    assert!(run.attempts.is_hopeless());
}

/// Routing 16 #76 by decision 8: the text of a 400 says whether another target may do better.
#[test]
fn row_76_what_a_400_says_decides() {
    for (text, next) in [
        ("malformed json", Err(Next::Stop(0))),
        ("model x is not supported", Ok((1, 0, false))),
        ("context window exceeded", Ok((1, 0, false))),
    ] {
        let mut run = Loop::over(&plan(true, &["a@1", "b@1"]));
        run.says(text);
        match next {
            Ok(tried) => assert_eq!(run.tries(), tried, "{text}"),
            Err(next) => assert_eq!(run.next, next, "{text}"),
        }
    }
}

/// Routing 16 #77, second half: which account was refused is always known here, so another account of
/// an unpinned target is asked, and the refused one is left to its cooldown.
#[test]
fn row_77_an_unpinned_target_asks_its_other_account() {
    let mut run = Loop::over(&plan(true, &["p@1", "p@2", "q@1", "p@1", "p@2"]));
    for target in 0..4 {
        assert_eq!(run.tries(), (target, 0, false));
        run.fails(End::Status(401));
    }
}

/// Another failure between them begins anew.
#[test]
fn a_streak_is_of_one_kind_and_unbroken() {
    let mut run = Loop::over(&plan(true, &["a@1", "b@1", "c@1", "d@1", "e@1"]));
    let text = "context window exceeded";
    run.says(text).says(text).fails(S503).says(text);
    assert_eq!(run.tries(), (4, 0, false));
}
