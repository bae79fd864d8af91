//! Properties of the provider cooldown: nothing ever cools while it is off, and only a
//! success, or switching it off, ends one sooner than was said.

use super::{T0, class, config, gap};
use policy::breaker::BreakerState;
use policy::change::Exclusion;
use policy::time::Millis;
use policy::window::{Mark, RetryCooldown, RetryEntry, WindowGate, WindowSettings, WindowView};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::test_runner::TestCaseError;

#[derive(Clone, Copy, Debug)]
enum Turn {
    Record(Mark, BreakerState),
    Configure(WindowSettings, RetryCooldown),
}

fn state() -> impl Strategy<Value = BreakerState> {
    prop_oneof![
        Just(BreakerState::Closed),
        Just(BreakerState::Degraded),
        Just(BreakerState::Open),
        Just(BreakerState::HalfOpen),
    ]
}

fn numbers(enabled: bool) -> impl Strategy<Value = (WindowSettings, RetryCooldown)> {
    let length = || prop_oneof![4 => 0_u64..600_000, 1 => any::<u64>()];
    (class(), 0_u32..6, length(), length(), length()).prop_map(
        move |(class, failures, cooling_ms, min_ms, max_ms)| {
            let window = WindowSettings { enabled, failures, cooling_ms, ..WindowSettings::for_class(class) };
            (window, RetryCooldown { enabled, min_ms, max_ms })
        },
    )
}

fn turn(enabled: bool) -> impl Strategy<Value = Turn> {
    let mark = prop_oneof![8 => Just(Mark::Failure), 1 => Just(Mark::Success), 1 => Just(Mark::Nothing)];
    prop_oneof![
        9 => (mark, state()).prop_map(|(mark, state)| Turn::Record(mark, state)),
        1 => numbers(enabled).prop_map(|(window, retry)| Turn::Configure(window, retry)),
    ]
}

/// The end never moves to an earlier instant, unless a success may clear it.
fn check(before: WindowView, after: WindowView, turn: Turn, now: Millis) -> Result<(), TestCaseError> {
    let cleared = matches!(turn, Turn::Record(Mark::Success, state) if state != BreakerState::Open);
    prop_assert!(cleared || after.until >= before.until, "{:?} became {:?}", before, after);
    if let Some(refusal) = after.refusal(now) {
        prop_assert_eq!(refusal.why, Exclusion::ProviderCooldown);
        prop_assert!(refusal.retry_at.is_some_and(|at| at > now));
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn no_failure_ends_a_provider_cooldown_sooner(
        numbers in numbers(true),
        start in prop_oneof![Just(T0), any::<u64>()],
        turns in vec((gap(), turn(true)), 0..60),
    ) {
        let (mut gate, mut entry) = (WindowGate::new(numbers.0), RetryEntry::new(numbers.1));
        let mut now = start;
        for (gap, turn) in turns {
            now = now.saturating_add(gap);
            let before = (gate.view(), entry.view());
            let told = match turn {
                Turn::Record(mark, state) => {
                    (gate.record(mark, state, now), entry.record(mark, state, now))
                }
                Turn::Configure(window, retry) => {
                    gate.configure(window);
                    entry.configure(retry);
                    (None, None)
                }
            };
            check(before.0, gate.view(), turn, now)?;
            check(before.1, entry.view(), turn, now)?;
            prop_assert_eq!(told.0.is_some(), before.0 != gate.view(), "told if and only if moved");
            prop_assert_eq!(told.1.is_some(), before.1 != entry.view(), "told if and only if moved");
        }
    }

    #[test]
    fn nothing_cools_while_it_is_off(
        numbers in numbers(false),
        turns in vec((gap(), turn(false)), 0..60),
    ) {
        let (mut gate, mut entry) = (WindowGate::new(numbers.0), RetryEntry::new(numbers.1));
        let mut now = T0;
        for (gap, turn) in turns {
            now = now.saturating_add(gap);
            match turn {
                Turn::Record(mark, state) => {
                    gate.record(mark, state, now);
                    entry.record(mark, state, now);
                }
                Turn::Configure(window, retry) => {
                    gate.configure(window);
                    entry.configure(retry);
                }
            }
            prop_assert_eq!((gate.view().until, entry.view().until), (None, None));
        }
    }
}
