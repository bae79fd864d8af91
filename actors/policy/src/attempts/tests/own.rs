//! What is said of one provider's targets alone (routing 1.4).

use super::super::{AttemptSettings, Attempts, Failed, Next, Own};
use super::{failure_of, plan};
use crate::dice::Scripted;
use crate::verdict::End;

fn own(attempts: AttemptSettings) -> Own {
    Own { attempts, slow_start_ms: 0 }
}

/// What follows when each of these targets has failed in turn.
fn after(settings: AttemptSettings, of_b: AttemptSettings, targets: &[usize]) -> Next {
    let mut plan = plan(true, &["a@a-1", "b@b-1"]);
    plan.attempts = settings;
    plan.own = [("b".into(), own(of_b))].into_iter().collect();
    let mut attempts = Attempts::new(&plan);
    let mut next = attempts.first();
    for target in targets {
        attempts.dispatch(*target);
        let failed = Failed { target: *target, failure: failure_of(End::Status(503), None), answered: true };
        next = attempts.failed(failed, false, &mut Scripted::default());
    }
    next
}

#[test]
fn routing_1_4_a_target_is_tried_as_often_as_its_provider_says() {
    let all = AttemptSettings { max_retries: 1, retry_delay_ms: 10, ..AttemptSettings::default() };
    let never = AttemptSettings { max_retries: 0, ..all };
    let often = AttemptSettings { max_retries: 2, retry_delay_ms: 70, ..all };
    assert_eq!(after(all, all, &[0, 1]), Next::Try { target: 1, wait_ms: 10, retry: true });
    assert_eq!(after(all, never, &[0, 1]), Next::Exhausted);
    assert_eq!(after(all, often, &[0, 1, 1]), Next::Try { target: 1, wait_ms: 70, retry: true });
    assert_eq!(after(never, often, &[1, 0]), Next::Exhausted, "the other provider's is the combo's");
}

#[test]
fn routing_1_4_pause_and_order_are_those_of_who_failed() {
    let all = AttemptSettings { fallback_delay_ms: 5, ..AttemptSettings::default() };
    let of_b = AttemptSettings { fallback_delay_ms: 9, ..all };
    assert_eq!(after(all, of_b, &[0]), Next::Try { target: 1, wait_ms: 5, retry: false });
    assert_eq!(after(all, of_b, &[1]), Next::Try { target: 0, wait_ms: 9, retry: false });
    let stays = AttemptSettings { failover_before_retry: false, retry_delay_ms: 3, ..all };
    assert_eq!(after(all, stays, &[1]), Next::Try { target: 1, wait_ms: 3, retry: true });
    assert_eq!(after(all, stays, &[0]), Next::Try { target: 1, wait_ms: 5, retry: false });
}
