//! Properties of the limiter: under any history of calls, waits, headers and new numbers nobody
//! starts who may not, and whoever is told an instant may start exactly then.

use super::{T0, config, gap};
use policy::limiter::{Limiter, LimiterScope, LimiterSettings, Pace, RateHeaders};
use policy::time::{MINUTE, Millis};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::test_runner::TestCaseError;

#[derive(Clone, Copy, Debug)]
enum Turn {
    Start,
    Finish,
    Pause(Millis),
    Learn(RateHeaders),
    Forget,
    Configure(LimiterSettings),
}

fn settings() -> impl Strategy<Value = LimiterSettings> {
    let min_time_ms = prop_oneof![2 => Just(0), 4 => 0_u64..3_000, 1 => any::<u64>()];
    (0_u32..4, min_time_ms, 0_u32..4).prop_map(|(rpm, min_time_ms, parallel)| LimiterSettings {
        rpm,
        min_time_ms,
        parallel,
        max_wait_ms: 30_000,
        max_depth: 0,
        scope: LimiterScope::Connection,
    })
}

fn headers() -> impl Strategy<Value = RateHeaders> {
    let count = || option::of(prop_oneof![6 => 0_u64..100, 1 => any::<u64>()]);
    let reset = option::of(prop_oneof![1 => Just(0), 6 => 0_u64..90_000, 1 => any::<u64>()]);
    (count(), count(), reset, 0_u32..10).prop_map(|(limit, remaining, reset_ms, odd)| RateHeaders {
        limit,
        remaining,
        reset_ms,
        over_limit: odd == 0,
        status_429: odd == 1,
    })
}

/// Calls, and headers, which may only make the limiter slower.
fn call() -> impl Strategy<Value = Turn> {
    prop_oneof![
        9 => Just(Turn::Start),
        5 => Just(Turn::Finish),
        1 => Just(Turn::Forget),
        3 => headers().prop_map(Turn::Learn),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        12 => call(),
        2 => prop_oneof![6 => 0_u64..90_000, 1 => any::<u64>()].prop_map(Turn::Pause),
        1 => settings().prop_map(Turn::Configure),
    ]
}

/// What is known of the history: counted here once more, in the simplest way.
struct History {
    settings: LimiterSettings,
    running: u32,
    started_at: Option<Millis>,
    paused_until: Millis,
}

impl History {
    /// Lets one start if the limiter says so; true if it did.
    fn start(&mut self, limiter: &mut Limiter, now: Millis) -> Result<bool, TestCaseError> {
        match limiter.pace(now) {
            Pace::Busy => {
                prop_assert!(self.settings.parallel > 0 && self.running >= self.settings.parallel);
                return Ok(false);
            }
            Pace::Until(at) => {
                prop_assert!(at > now);
                prop_assert!(at >= self.paused_until);
                let mut then = *limiter;
                prop_assert_eq!(
                    then.pace(at - 1),
                    if at - 1 < now { then.pace(now) } else { Pace::Until(at) }
                );
                prop_assert_eq!(then.pace(at), Pace::Go);
                return Ok(false);
            }
            Pace::Go => {}
        }
        prop_assert!(now >= self.paused_until);
        prop_assert!(self.settings.parallel == 0 || self.running < self.settings.parallel);
        if let Some(at) = self.started_at {
            prop_assert!(now == Millis::MAX || now - at >= self.settings.min_time_ms);
        }
        limiter.start(now);
        (self.running, self.started_at) = (self.running + 1, Some(now));
        Ok(true)
    }

    /// True if one started.
    fn follow(&mut self, limiter: &mut Limiter, turn: Turn, now: Millis) -> Result<bool, TestCaseError> {
        match turn {
            Turn::Start => return self.start(limiter, now),
            Turn::Finish => {
                limiter.finish(now);
                self.running = self.running.saturating_sub(1);
            }
            Turn::Pause(wait_ms) => {
                limiter.pause(wait_ms, now);
                self.paused_until = self.paused_until.max(now.saturating_add(wait_ms));
            }
            Turn::Learn(headers) => {
                let before = limiter.view(now);
                let changed = limiter.learn(&headers, now);
                let mut after = limiter.view(now);
                after.learnt = before.learnt;
                prop_assert!(changed || after == before);
                if limiter.paused_until(now).is_none() {
                    self.paused_until = 0;
                }
            }
            Turn::Forget => limiter.forget(),
            Turn::Configure(settings) => {
                if settings.rpm != self.settings.rpm {
                    self.paused_until = 0;
                }
                self.settings = settings;
                limiter.configure(settings, now);
            }
        }
        Ok(false)
    }
}

proptest! {
    #![proptest_config(config(96))]

    /// Flow 4.8, 4.23: gap, parallel calls and pauses.
    #[test]
    fn nobody_starts_who_may_not(
        numbers in settings(),
        turns in vec((gap(), turn()), 1..60),
    ) {
        let mut limiter = Limiter::new(numbers, T0);
        let mut history = History { settings: numbers, running: 0, started_at: None, paused_until: 0 };
        let mut now = T0;
        for (gap, turn) in turns {
            now = now.saturating_add(gap);
            history.follow(&mut limiter, turn, now)?;
            prop_assert_eq!(limiter.running(), history.running);
            prop_assert!(!limiter.is_stuck(0, now));
            prop_assert!(!limiter.is_idle(now) || history.running == 0);
        }
    }

    /// Flow 4.9: whatever headers say, a minute of the limiter's clock holds no more starts.
    #[test]
    fn a_minute_holds_no_more_starts_than_the_operator_said(
        numbers in settings(),
        turns in vec((0_u64..9_000, call()), 1..120),
    ) {
        let mut limiter = Limiter::new(numbers, T0);
        let mut history = History { settings: numbers, running: 0, started_at: None, paused_until: 0 };
        let (mut now, mut minute, mut starts) = (T0, 0, 0);
        for (gap, turn) in turns {
            now += gap;
            if (now - T0) / MINUTE != minute {
                (minute, starts) = ((now - T0) / MINUTE, 0);
            }
            starts += u32::from(history.follow(&mut limiter, turn, now)?);
            prop_assert!(numbers.rpm == 0 || starts <= numbers.rpm);
        }
    }

    /// Flow 4.19: until the reset no more start than a provider said are left.
    #[test]
    fn a_told_reservoir_holds_until_its_reset(
        left in 0_u64..10,
        reset_ms in 1_u64..90_000,
        gaps in vec(0_u64..2_000, 1..120),
    ) {
        let free = LimiterSettings { rpm: 0, min_time_ms: 0, parallel: 0, max_wait_ms: 1, max_depth: 0, scope: LimiterScope::Connection };
        let mut limiter = Limiter::new(free, T0);
        let told = RateHeaders { limit: Some(101), remaining: Some(left), reset_ms: Some(reset_ms), ..RateHeaders::default() };
        limiter.learn(&told, T0);
        let (mut now, mut starts) = (T0, 0);
        for gap in gaps {
            now += gap;
            if limiter.pace(now) == Pace::Go {
                limiter.start(now);
                starts += u64::from(now < T0 + reset_ms);
            }
        }
        prop_assert!(starts <= left);
    }
}
