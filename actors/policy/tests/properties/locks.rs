//! Properties of lockouts and of verdicts.

use super::{T0, Turn, check_refusal, class, config, gap};
use policy::ids::Class;
use policy::lockout::{LockKey, LockOrder, LockReason, Lockout, LockoutSettings};
use policy::time::Millis;
use policy::verdict::{Case, End, Signal, Verdict, judge};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

fn turn() -> impl Strategy<Value = Turn> {
    let reason = prop_oneof![
        Just(LockReason::RateLimited),
        Just(LockReason::QuotaExhausted),
        Just(LockReason::ServerError),
        Just(LockReason::RequestRejected),
    ];
    let order = (reason, option::of(any::<u64>()), any::<(bool, bool, bool)>());
    let order = order.prop_map(|(reason, exact_ms, (authoritative, keep_count, by_list))| LockOrder {
        reason,
        exact_ms,
        authoritative,
        keep_count,
        by_list,
        stated: false,
    });
    let fail = (order, gap()).prop_map(|(order, age)| Turn::Fail(order, age));
    prop_oneof![3 => fail, 1 => any::<bool>().prop_map(Turn::Succeed)]
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn lockout_histories(class in class(), start in prop_oneof![Just(T0), any::<u64>()], turns in vec((gap(), turn()), 0..40)) {
        let settings = LockoutSettings::for_class(class);
        let mut lockout = Lockout::new(LockKey::exact(&"m".into()), settings.clone());
        let mut now = start;
        for (gap, turn) in turns {
            now = now.saturating_add(gap);
            let before = lockout.view();
            match turn {
                Turn::Fail(order, age) => {
                    let sent_at = now.saturating_sub(age);
                    // Refusals are a ladder of their own (core 3.8.2).
                    let counted_at = match order.reason {
                        LockReason::RequestRejected => lockout.snapshot().refusals.at,
                        _ => lockout.snapshot().counted_at,
                    };
                    drop(lockout.record(&order, sent_at, now));
                    let after = lockout.view();
                    prop_assert!(after.failures <= before.failures.saturating_add(1));
                    prop_assert!(sent_at > counted_at || after.failures <= before.failures.max(1), "core 8.3");
                }
                Turn::Succeed(direct) => drop(lockout.success(direct, now)),
            }
            let after = lockout.view();
            prop_assert!(after.until >= before.until || after.failures == 0 || !before.is_locked(now), "core 8.4");
            if let Some(refusal) = after.refusal(now).filter(|_| after.until < Millis::MAX) {
                check_refusal(&refusal, now)?;
            }
            let restored = Lockout::restore(lockout.snapshot(), settings.clone(), now);
            prop_assert_eq!(restored.is_none(), lockout.is_dead(now));
            prop_assert!(restored.is_none_or(|restored| restored.view() == after));
            if after.failures > 0 && lockout.dies_at() < Millis::MAX {
                prop_assert!(lockout.is_dead(lockout.dies_at()) && !lockout.is_dead(lockout.dies_at() - 1));
            }
        }
    }

    #[test]
    fn a_burst_costs_at_most_one_step(before in 0_u32..5, turns in vec((0_u64..100_000, turn()), 1..20)) {
        let settings = LockoutSettings::for_class(Class::Apikey);
        let mut lockout = Lockout::new(LockKey::exact(&"m".into()), settings);
        let mut now = T0;
        let failed = LockOrder {
            reason: LockReason::ServerError,
            exact_ms: None,
            authoritative: false,
            keep_count: false,
            by_list: false,
            stated: false,
        };
        for _ in 0..before {
            lockout.record(&failed, now, now);
            now = lockout.view().until + 1;
        }
        let (count, sent_at) = (lockout.view().failures, now);
        for (gap, turn) in turns {
            now += gap;
            if let Turn::Fail(order, _) = turn {
                lockout.record(&LockOrder { reason: LockReason::ServerError, ..order }, sent_at, now + 1);
                prop_assert!(lockout.view().failures <= count + 1, "core 8.3");
            }
        }
    }

    #[test]
    fn an_id_names_its_lock(connection in ".{1,12}", model in ".{0,16}", status in any::<u16>()) {
        let (connection, key) = (connection.as_str().into(), LockKey::for_status(&"codex".into(), status, &model.as_str().into()));
        let id = key.id(&connection);
        prop_assert!(id.bytes().all(|byte| byte.is_ascii_graphic()));
        prop_assert_eq!(LockKey::parse_id(&id), Some((connection, key)));
    }

    #[test]
    fn any_text_may_be_asked_for_as_an_id(id in ".{0,40}") {
        drop(LockKey::parse_id(&id));
    }
}

// === verdict ===

#[test]
fn every_status_has_a_verdict() {
    for status in 0..=u16::MAX {
        // Beyond HTTP's own statuses one class stands for all.
        let classes = if status < 700 { 3 } else { 1 };
        for class in [Class::Apikey, Class::Oauth, Class::Local].into_iter().take(classes) {
            let verdict = judge(&Signal::new(End::Status(status), None), &Case::of(class));
            match verdict {
                Verdict::Success => assert!((200..=299).contains(&status), "{status}"),
                Verdict::Neutral => panic!("{status} is somebody's"),
                Verdict::Failure(failure) => {
                    let own = (400..=599).contains(&status);
                    assert_eq!(failure.status, if own { status } else { 502 });
                }
            }
        }
    }
}
