//! Refusals of a request's content (core 3.8; F13, F14): a ladder and a memory of their own.

use super::super::{LockKey, LockOrder, LockReason, Lockout};
use super::{T0, claim_at, listed, status};
use crate::ids::Class::Oauth;
use crate::time::Millis;
use crate::verdict::{CooldownRule, Failure, Reason};

fn rejected() -> (LockKey, LockOrder) {
    let failure =
        Failure { reason: Reason::RequestRejected, cooldown: CooldownRule::Rejected, ..status(403) };
    // Decision 10: it acts with the list off.
    let settings = super::LockoutSettings::for_class(Oauth);
    claim_at("claude", "Opus", &failure, &settings).expect("F13")
}

fn fresh() -> (Lockout, LockOrder) {
    let (key, order) = rejected();
    assert_eq!(key, LockKey::exact(&"opus".into()), "F13: an exact lock");
    (Lockout::new(key, listed(Oauth)), order)
}

fn refuse(lockout: &mut Lockout, order: &LockOrder, at: Millis) -> Option<Millis> {
    lockout.record(order, at, at).map(|_| lockout.view().until - at)
}

#[test]
fn f13_the_ladder_of_refusals() {
    let (mut lockout, order) = fresh();
    let mut now = T0;
    for (n, rest_ms) in [300_000, 900_000, 2_700_000, 3_600_000, 3_600_000].into_iter().enumerate() {
        assert_eq!(refuse(&mut lockout, &order, now), Some(rest_ms), "F13");
        let view = lockout.view();
        assert_eq!((view.reason, view.failures), (LockReason::RequestRejected, n as u32 + 1), "F13");
        now += rest_ms + 1;
    }
    assert!(!LockReason::RequestRejected.is_transient(), "core 5.5.3");
}

#[test]
fn f14_a_refusal_during_the_cooldown_is_not_counted() {
    let (mut lockout, order) = fresh();
    refuse(&mut lockout, &order, T0);
    let before = lockout.snapshot();
    assert_eq!(lockout.record(&order, T0 - 5, T0 + 10), None, "F14");
    assert_eq!(lockout.record(&order, T0 + 5, T0 + 300_000), None, "F14: its end is included");
    assert_eq!(lockout.record(&order, T0, T0 + 300_001), None, "sent before it was written");
    assert_eq!(lockout.snapshot(), before, "F14");
}

#[test]
fn core_3_8_2_a_row_is_remembered_for_a_day() {
    let (mut lockout, order) = fresh();
    refuse(&mut lockout, &order, T0);
    let day = 86_400_000;
    assert!(!lockout.is_locked(T0 + 300_001) && !lockout.is_dead(T0 + day), "it outlives its lock");
    assert_eq!(lockout.dies_at(), T0 + day + 1);
    let restored = Lockout::restore(lockout.snapshot(), listed(Oauth), T0 + day);
    assert_eq!(refuse(&mut restored.expect("it lives"), &order, T0 + day), Some(900_000));
    assert!(Lockout::restore(lockout.snapshot(), listed(Oauth), T0 + day + 1).is_none());
    assert_eq!(refuse(&mut lockout, &order, T0 + day + 1), Some(300_000), "forgotten");
}

#[test]
fn core_3_8_2_any_success_of_the_model_ends_the_row() {
    for direct in [true, false] {
        let (mut lockout, order) = fresh();
        refuse(&mut lockout, &order, T0);
        refuse(&mut lockout, &order, T0 + 300_001);
        assert_eq!(lockout.success(direct, T0 + 2_000_000).expect("ended").to, "free");
        assert!(lockout.is_dead(T0 + 2_000_000));
        assert_eq!(refuse(&mut lockout, &order, T0 + 2_000_001), Some(300_000));
    }
}

#[test]
fn failures_and_refusals_are_counted_apart() {
    let (mut lockout, order) = fresh();
    let (_, failed) = claim_at("claude", "opus", &status(502), &listed(Oauth)).expect("listed");
    for at in [T0, T0 + 1, T0 + 2] {
        lockout.record(&failed, at, at);
    }
    assert_eq!(lockout.view().failures, 3);
    // 480 s run; the first refusal's five minutes do not shorten them.
    lockout.record(&order, T0 + 3, T0 + 3);
    assert_eq!((lockout.view().until, lockout.view().failures), (T0 + 2 + 480_000, 3));
    assert_eq!(refuse(&mut lockout, &order, T0 + 500_000), Some(900_000), "the second in a row");
}
