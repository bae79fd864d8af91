//! What must hold for every input (core 8.1–8.5, 8.7 and style.md 2): random histories of
//! the three state machines, random headers, every status. Numbers at the edges of u64 are
//! among the inputs, so arithmetic that could overflow shows here.

#[path = "properties/gate.rs"]
mod gate;
#[path = "properties/hints.rs"]
mod hints;
#[path = "properties/leases.rs"]
mod leases;
#[path = "properties/limiter.rs"]
mod limiter;
#[path = "properties/locks.rs"]
mod locks;
#[path = "properties/quota.rs"]
mod quota;
#[path = "properties/recording.rs"]
mod recording;
#[path = "properties/seam.rs"]
mod seam;
#[path = "properties/window.rs"]
mod window;

use policy::breaker::{
    Admission, Breaker, BreakerSettings, BreakerSnapshot, BreakerState, Grant, Operator, Outcome,
};
use policy::change::{Exclusion, Refusal};
use policy::cooldown::{Cooldown, CooldownSettings, Trial};
use policy::hint::{Hint, HintSource};
use policy::ids::Class;
use policy::lockout::LockOrder;
use policy::time::{DAY, Millis};
use policy::verdict::{Case, End, Kind, Signal, Verdict, judge};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use proptest::test_runner::TestCaseError;

const T0: Millis = 1_768_478_400_000;

type Checked = Result<(), TestCaseError>;

/// `PROPTEST_CASES` asks for more than the few that every run has time for.
fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(cases), failure_persistence: None, ..ProptestConfig::default() }
}

fn gap() -> impl Strategy<Value = Millis> {
    prop_oneof![
        8 => 0_u64..5_000,
        4 => 5_000_u64..200_000,
        1 => Just(DAY),
        1 => any::<u64>(),
    ]
}

fn class() -> impl Strategy<Value = Class> {
    prop_oneof![Just(Class::Oauth), Just(Class::Apikey), Just(Class::Local)]
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Transient), Just(Kind::RateLimit), Just(Kind::QuotaExhausted)]
}

/// A refusal always says when to come back, except when only an operator can help.
fn check_refusal(refusal: &Refusal, now: Millis) -> Checked {
    let for_ever = matches!(
        refusal.why,
        Exclusion::Isolated | Exclusion::Banned | Exclusion::Expired | Exclusion::CreditsExhausted
    );
    prop_assert_eq!(refusal.retry_at.is_none(), for_ever);
    prop_assert!(refusal.retry_at.is_none_or(|at| at > now));
    Ok(())
}

// === breaker ===

#[derive(Clone, Copy, Debug)]
enum Step {
    Admit,
    /// Settles one of the outstanding grants.
    Record(usize, Outcome),
    Tick,
    Trip(Option<Millis>),
    Order(Operator),
    TestPassed,
}

fn step() -> impl Strategy<Value = Step> {
    let outcome = prop_oneof![
        6 => kind().prop_map(Outcome::Failure),
        2 => Just(Outcome::Success),
        1 => Just(Outcome::Reachable),
        1 => Just(Outcome::Neutral),
    ];
    let order = prop_oneof![Just(Operator::None), Just(Operator::Isolated), Just(Operator::Observe)];
    prop_oneof![
        12 => Just(Step::Admit),
        12 => (any::<usize>(), outcome).prop_map(|(index, outcome)| Step::Record(index, outcome)),
        4 => Just(Step::Tick),
        1 => option::of(any::<u64>()).prop_map(Step::Trip),
        1 => order.prop_map(Step::Order),
        1 => Just(Step::TestPassed),
    ]
}

fn breaker_settings() -> impl Strategy<Value = BreakerSettings> {
    (class(), 1_u32..4, any::<bool>()).prop_map(|(class, permits, low)| {
        let settings = BreakerSettings { permits, ..BreakerSettings::for_class(class) };
        let low_numbers = BreakerSettings { degrade_at: 1, open_at: 2, ..settings };
        if low { low_numbers } else { settings }
    })
}

fn record(breaker: &mut Breaker, grant: Grant, outcome: Outcome, now: Millis) -> Checked {
    let before = breaker.view();
    let change = breaker.record(grant, outcome, now);
    if grant.generation != before.generation {
        prop_assert_eq!(&change, &None, "an old generation has no say");
        prop_assert_eq!(breaker.view(), before.clone());
    }
    if before.state_at(now) == BreakerState::Open {
        prop_assert_eq!(breaker.view().open_until, before.open_until, "core 8.1");
    }
    prop_assert_eq!(change.is_some(), breaker.view() != before, "told if and only if changed");
    Ok(())
}

fn apply(breaker: &mut Breaker, out: &mut Vec<Grant>, step: Step, now: Millis) -> Checked {
    match step {
        Step::Admit => {
            let seen = breaker.view().admission(now);
            match breaker.admit(now) {
                Ok(grant) => {
                    prop_assert_eq!(grant.probe, seen == Admission::Ask);
                    out.push(grant);
                }
                Err(refusal) => {
                    prop_assert_eq!(seen, Admission::Refused(refusal));
                    check_refusal(&refusal, now)?;
                }
            }
        }
        Step::Record(index, outcome) if !out.is_empty() => {
            let grant = out.swap_remove(index % out.len());
            record(breaker, grant, outcome, now)?;
        }
        Step::Record(..) => {}
        Step::Tick => {
            let (due, state) = (breaker.next_tick_at(), breaker.state(now));
            let change = breaker.tick(now);
            prop_assert_eq!(change.is_some(), due.is_some_and(|due| now >= due));
            prop_assert_eq!(breaker.state(now), state, "no timer changes an answer");
        }
        Step::Trip(for_ms) => drop(breaker.trip(for_ms, now)),
        Step::Order(Operator::None) => drop(breaker.reset(now)),
        Step::Order(Operator::Isolated) => drop(breaker.isolate(now)),
        Step::Order(Operator::Observe) => drop(breaker.observe(now)),
        Step::TestPassed => drop(breaker.connection_test_passed(now)),
    }
    Ok(())
}

fn same_answers(breaker: &Breaker, settings: BreakerSettings, now: Millis) -> Checked {
    let (kept, restored) = (breaker.view(), Breaker::restore(breaker.snapshot(), settings, now).view());
    prop_assert_eq!(restored.generation, kept.generation.wrapping_add(1));
    for later in [0, 29_999, 30_000, DAY] {
        let at = now.saturating_add(later);
        prop_assert_eq!(restored.label(at), kept.label(at));
        // A restored half-open has all its permits, so only there may it say more (B24).
        if kept.state_at(at) != BreakerState::HalfOpen {
            prop_assert_eq!(restored.admission(at), kept.admission(at));
            prop_assert_eq!(restored.retry_after_ms(at), kept.retry_after_ms(at));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn breaker_histories(settings in breaker_settings(), steps in vec((gap(), step()), 0..40)) {
        let (mut breaker, mut now) = (Breaker::new(settings), T0);
        let mut outstanding = Vec::new();
        for (gap, step) in steps {
            now = now.saturating_add(gap);
            apply(&mut breaker, &mut outstanding, step, now)?;
            let view = breaker.view();
            let probes = outstanding.iter().filter(|grant| grant.probe && grant.generation == view.generation);
            prop_assert!(probes.count() <= settings.permits as usize, "core 8.2");
            prop_assert!(view.permits_left <= settings.permits);
            prop_assert!(view.history.len() <= 20);
            same_answers(&breaker, settings, now)?;
        }
    }

    #[test]
    fn the_quiet_window_covers_every_hold(
        settings in (breaker_settings(), any::<u64>(), any::<u32>(), any::<u32>()),
        last_kind in option::of(kind()),
        open_cycles in prop_oneof![0_u32..12, any::<u32>()],
    ) {
        let (base, reset_ms, max_multiplier, escalate_after) = settings;
        let settings = BreakerSettings { reset_ms, max_multiplier, escalate_after, ..base };
        let snapshot = BreakerSnapshot {
            state: BreakerState::Degraded,
            last_failure_at: Some(0),
            failures: 1,
            last_kind,
            open_cycles,
            ..BreakerSnapshot::default()
        };
        let view = Breaker::restore(snapshot, settings, 0).view();
        prop_assert!(view.quiet_until >= Some(view.hold_ms), "core 8.7");
    }
}

// === cooldown ===

#[derive(Clone, Copy, Debug)]
enum Move {
    Admit(bool),
    /// Settles one of the outstanding trials, sent when it was admitted.
    Record(usize, Answer),
    Cool(Millis),
    Clear,
}

type Answer = (End, Option<Millis>);

fn answer() -> impl Strategy<Value = Answer> {
    let status = prop_oneof![
        Just(200_u16),
        Just(400),
        Just(401),
        Just(402),
        Just(403),
        Just(409),
        Just(429),
        Just(503),
    ];
    let end = prop_oneof![
        8 => status.prop_map(End::Status),
        1 => Just(End::StallAfterCommit),
        1 => Just(End::ClientGone),
    ];
    (end, option::of(prop_oneof![0_u64..60_000, any::<u64>()]))
}

fn judged((end, wait_ms): Answer) -> Verdict {
    let hint = wait_ms.map(|wait_ms| Hint::new(wait_ms, HintSource::Header));
    judge(&Signal::new(end, hint), &Case::of(Class::Apikey))
}

fn movement() -> impl Strategy<Value = Move> {
    prop_oneof![
        8 => any::<bool>().prop_map(Move::Admit),
        8 => (any::<usize>(), answer()).prop_map(|(index, answer)| Move::Record(index, answer)),
        1 => any::<u64>().prop_map(Move::Cool),
        1 => Just(Move::Clear),
    ]
}

fn cooldown_settings() -> impl Strategy<Value = CooldownSettings> {
    (class(), option::of(0_u64..100_000), any::<bool>()).prop_map(|(class, delay, use_hints)| {
        let base = CooldownSettings::for_class(class);
        CooldownSettings { rate_limit_delay_ms: delay, use_hints, ..base }
    })
}

/// Admits or refuses as the view says.
fn admit(cooldown: &mut Cooldown, others: bool, now: Millis) -> Result<Option<Trial>, TestCaseError> {
    let seen = cooldown.view().refusal(others, now);
    match cooldown.admit(others, now) {
        Ok(trial) => {
            prop_assert_eq!(seen, None);
            Ok(Some(trial))
        }
        Err(refusal) => {
            prop_assert_eq!(seen, Some(refusal));
            check_refusal(&refusal, now)?;
            Ok(None)
        }
    }
}

/// A write moves the end of an episode only to a later instant (core 8.5 as decision 3 has it).
fn settle(
    cooldown: &mut Cooldown,
    (trial, sent_at): (Trial, Millis),
    answer: Answer,
    now: Millis,
) -> Checked {
    let (before, verdict) = (cooldown.view(), judged(answer));
    let change = cooldown.record(trial, &verdict, sent_at, now);
    let after = cooldown.view();
    prop_assert!(change.is_some() || after == before, "nothing changes untold");
    if before.cooling_until(now).is_some() {
        prop_assert!(after.until >= before.until || verdict == Verdict::Success);
        prop_assert!(after.level == before.level || verdict == Verdict::Success, "core P5");
    }
    prop_assert!(after.level <= before.level.saturating_add(1));
    Ok(())
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn cooldown_histories(settings in cooldown_settings(), moves in vec((gap(), movement()), 0..40)) {
        let (mut cooldown, mut now) = (Cooldown::new(settings), T0);
        let mut outstanding = Vec::new();
        for (gap, movement) in moves {
            now = now.saturating_add(gap);
            match movement {
                Move::Admit(others) => {
                    outstanding.extend(admit(&mut cooldown, others, now)?.map(|trial| (trial, now)));
                }
                Move::Record(index, answer) if !outstanding.is_empty() => {
                    let sent = outstanding.swap_remove(index % outstanding.len());
                    settle(&mut cooldown, sent, answer, now)?;
                }
                Move::Record(..) => {}
                Move::Cool(for_ms) => drop(cooldown.cool(for_ms, now)),
                Move::Clear => drop(cooldown.clear(now)),
            }
            let (kept, restored) = (cooldown.view(), Cooldown::restore(cooldown.snapshot(), settings, now).view());
            prop_assert_eq!(restored.until, kept.until);
            prop_assert_eq!((restored.level, restored.episode_at), (kept.level, kept.episode_at));
            prop_assert_eq!(restored.is_clean(), kept.is_clean());
            prop_assert!(!(kept.trial_due && kept.trial_until.is_some()), "due or running");
        }
    }

    #[test]
    fn a_burst_costs_at_most_one_step(
        settings in cooldown_settings(),
        before in 0_u32..9,
        ends in vec((gap(), answer()), 1..20),
    ) {
        let mut cooldown = Cooldown::new(settings);
        let mut now = T0;
        for _ in 0..before {
            let trial = cooldown.admit(false, now).expect("no cooldown runs");
            cooldown.record(trial, &judged((End::Status(503), None)), now, now);
            now = cooldown.cooling_until(now).expect("it cools");
        }
        let level = cooldown.view().level;
        let burst: Vec<Trial> = ends.iter().map(|_| cooldown.admit(false, now).expect("no cooldown")).collect();
        let sent_at = now;
        let failures = burst.into_iter().zip(ends).filter(|(_, (_, answer))| judged(*answer) != Verdict::Success);
        for (trial, (gap, answer)) in failures {
            now = now.saturating_add(gap);
            cooldown.record(trial, &judged(answer), sent_at, now);
            prop_assert!(cooldown.view().level <= level + 1, "core 8.3");
        }
    }

    #[test]
    fn at_most_one_lone_trial_until_its_lease_ends(
        calls in vec((0_u64..2_000, any::<bool>()), 1..10),
    ) {
        let mut cooldown = Cooldown::new(CooldownSettings::for_class(Class::Apikey));
        cooldown.cool(1_000, T0);
        let mut now = T0 + 1_000;
        let mut lone = 0;
        for (gap, others) in calls {
            lone += u32::from(cooldown.admit(others, now).is_ok_and(|trial| trial.lone));
            now += gap;
        }
        prop_assert_eq!(lone, 1);
    }
}

// === lockout ===

#[derive(Clone, Copy, Debug)]
enum Turn {
    /// Of a request that was sent so long ago.
    Fail(LockOrder, Millis),
    Succeed(bool),
}
