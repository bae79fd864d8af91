//! Who writes a failure, and what a terminal state lives through (core 8.5, decisions 3b, 12a):
//! random verdicts, also such as no table gives, recorded on a connection and its lock in any
//! order of sending and reporting. `PROPTEST_CASES=25000` makes it a million steps.

use super::{Checked, T0, config, cooldown_settings, gap};
use policy::cooldown::{Cooldown, CooldownSettings, TerminalState, Trial};
use policy::ids::{Class, ModelId, ProviderId};
use policy::lockout::{LockCase, LockKey, Lockout, LockoutSettings};
use policy::recording::{RecordCase, Recording, recording};
use policy::time::Millis;
use policy::verdict::{
    Case, CooldownRule, End, Failure, Level, Reason, RuleId, RuleMatch, RuleScope, Signal, TerminalRule,
    Verdict, judge,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;

fn failure() -> impl Strategy<Value = Failure> {
    let level = select(vec![Level::Rises, Level::Keeps, Level::Zero]);
    let exact = (gap(), level, any::<bool>());
    let exact = exact.prop_map(|(ms, level, stated)| CooldownRule::Exact { ms, level, stated });
    let plain = select(vec![
        CooldownRule::Nothing,
        CooldownRule::Record,
        CooldownRule::Stall,
        CooldownRule::Scaled,
        CooldownRule::Base,
        CooldownRule::Rejected,
        CooldownRule::Ladder,
    ]);
    let reason = select(vec![
        Reason::RateLimitExceeded,
        Reason::QuotaExhausted,
        Reason::ServerError,
        Reason::AuthError,
        Reason::NotFound,
        Reason::ConcurrencyLimited,
        Reason::RequestRejected,
    ]);
    let terminal = select(vec![
        TerminalRule::Banned,
        TerminalRule::CreditsExhausted,
        TerminalRule::Expired,
        TerminalRule::ExpiredIfConfirmed,
        TerminalRule::ExpiredIfConfirmed,
    ]);
    let scope = select(vec![RuleScope::Model, RuleScope::Provider, RuleScope::Connection]);
    let rule = (scope, any::<bool>());
    let rule = rule.prop_map(|(scope, honoured)| RuleMatch { id: RuleId::CatchAll, scope, honoured });
    let status = select(vec![400_u16, 401, 402, 403, 404, 429, 500, 503, 529]);
    let cooldown = prop_oneof![3 => plain, 1 => exact];
    let rest = (option::weighted(0.2, terminal), option::weighted(0.2, rule));
    (status, cooldown, reason, rest).prop_map(|(status, cooldown, reason, (terminal, rule))| {
        let Verdict::Failure(failure) =
            judge(&Signal::new(End::Status(status), None), &Case::of(Class::Apikey))
        else {
            unreachable!("{status} is no success")
        };
        Failure { cooldown, reason, terminal, rule, ..failure }
    })
}

#[derive(Clone, Debug)]
enum Deed {
    Fail(Failure),
    Succeed,
    Check(Failure),
    Cool(Millis),
    CoolWith(Millis),
    Lift,
    Retried(bool),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        12 => failure().prop_map(Deed::Fail),
        2 => any::<bool>().prop_map(|_| Deed::Succeed),
        1 => failure().prop_map(Deed::Check),
        1 => gap().prop_map(Deed::Cool),
        1 => gap().prop_map(Deed::CoolWith),
        1 => any::<bool>().prop_map(|_| Deed::Lift),
        1 => any::<bool>().prop_map(Deed::Retried),
    ]
}

/// A connection and the lock of its one model.
struct Scene {
    cooldown: Cooldown,
    lock: Lockout,
    numbers: CooldownSettings,
    lockout: LockoutSettings,
    flags: (bool, bool, bool),
    provider: ProviderId,
}

impl Scene {
    fn record(&self, failure: &Failure) -> Recording {
        let (shares_egress, breaker_blocks, locks_full) = self.flags;
        let model = ModelId::from("m");
        let use_hints = self.numbers.use_hints;
        let case = RecordCase {
            target: LockCase { provider: &self.provider, model: &model, use_hints },
            cooldown: &self.numbers,
            lockout: &self.lockout,
            shares_egress,
            breaker_blocks,
            limiter: None,
            locks_full,
        };
        recording(failure, &case)
    }

    fn fail(&mut self, failure: &Failure, trial: Trial, sent_at: Millis, now: Millis) -> Checked {
        let before = self.cooldown.snapshot();
        let Recording { connection, lock, siblings, .. } = self.record(failure);
        if let Some((_, order)) = lock {
            prop_assert_eq!(connection.cooldown, CooldownRule::Record, "decision 3b: never both");
            prop_assert!(!siblings && failure.terminal.is_none());
            let end = self.lock.view();
            self.lock.record(&order, sent_at, now);
            let after = self.lock.view();
            prop_assert!(!end.is_locked(now) || after.until >= end.until, "core 8.4");
        }
        self.cooldown.record(trial, &Verdict::Failure(connection), sent_at, now);
        let after = self.cooldown.snapshot();
        if before.terminal.is_some() {
            prop_assert_eq!(after.terminal, before.terminal, "core 8.5");
            prop_assert_eq!(
                (after.until, after.level, after.last_error),
                (before.until, before.level, before.last_error)
            );
            return Ok(());
        }
        match (failure.terminal, after.terminal.map(|terminal| terminal.state)) {
            (Some(TerminalRule::Banned), state) => prop_assert_eq!(state, Some(TerminalState::Banned), "P5"),
            (Some(TerminalRule::CreditsExhausted), state) => {
                prop_assert_eq!(state, Some(TerminalState::CreditsExhausted), "P5");
            }
            (Some(TerminalRule::Expired), state) => {
                prop_assert_eq!(state, Some(TerminalState::Expired), "P5")
            }
            (Some(TerminalRule::ExpiredIfConfirmed), state) => {
                let confirms = before.unconfirmed_until.is_some_and(|until| sent_at >= until);
                prop_assert_eq!(state.is_some(), confirms, "decision 12a");
            }
            (None, state) => prop_assert_eq!(state, None),
        }
        Ok(())
    }

    fn act(&mut self, deed: &Deed, trial: Trial, sent_at: Millis, now: Millis) -> Checked {
        let before = self.cooldown.snapshot();
        let told = match deed {
            Deed::Fail(failure) => return self.fail(failure, trial, sent_at, now),
            Deed::Succeed => {
                self.cooldown.record(trial, &Verdict::Success, sent_at, now);
                let ended = before.terminal.map(|terminal| terminal.at);
                let newer = ended.is_none_or(|at| sent_at > at);
                prop_assert!(newer || self.cooldown.snapshot().terminal == before.terminal, "core 3.7.2");
                return Ok(());
            }
            Deed::Check(failure) => self.cooldown.record_check(failure, now),
            Deed::Cool(ms) => self.cooldown.cool(*ms, now),
            Deed::CoolWith(ms) => self.cooldown.cool_with(Reason::RateLimitExceeded, *ms, now),
            Deed::Lift => self.cooldown.lift(now),
            Deed::Retried(ok) => {
                self.cooldown.retried(*ok, now);
                return Ok(());
            }
        };
        if before.terminal.is_some() {
            prop_assert_eq!(told, None, "core 8.5");
            prop_assert_eq!(self.cooldown.snapshot(), before, "core 8.5");
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn a_terminal_state_is_never_overwritten(
        numbers in cooldown_settings(),
        disable_cooling in any::<bool>(),
        (per_model_quota, enabled) in any::<(bool, bool)>(),
        flags in any::<(bool, bool, bool)>(),
        provider in select(vec!["p", "codex", "antigravity"]),
        deeds in vec((gap(), gap(), deed()), 0..40),
    ) {
        let numbers = CooldownSettings { disable_cooling, ..numbers };
        let lockout = LockoutSettings { per_model_quota, enabled, ..LockoutSettings::for_class(Class::Apikey) };
        let (cooldown, lock) = (Cooldown::new(numbers), Lockout::new(LockKey::exact(&"m".into()), lockout.clone()));
        let provider = provider.into();
        let mut scene = Scene { cooldown, lock, numbers, lockout, flags, provider };
        let mut now = T0;
        for (pause, age, deed) in deeds {
            now = now.saturating_add(pause);
            // Admitted some time ago, or just now.
            let generation = scene.cooldown.snapshot().generation;
            let trial = match scene.cooldown.admit(false, now) {
                Ok(trial) if age % 2 == 0 => trial,
                _ => Trial { generation: generation.wrapping_sub(1), lone: false },
            };
            let sent_at = if trial.generation == scene.cooldown.snapshot().generation { now } else { now.saturating_sub(age) };
            scene.act(&deed, trial, sent_at, now)?;
            let view = scene.cooldown.view();
            let due = scene.cooldown.retry_due(now);
            prop_assert!(!due || view.terminal.is_some_and(|terminal| terminal.state == TerminalState::Expired && terminal.retries < 3));
            prop_assert_eq!(view.terminal.is_some(), view.refusal(false, now).is_some_and(|refusal| refusal.retry_at.is_none()));
            let restored = Cooldown::restore(scene.cooldown.snapshot(), numbers, now).view();
            prop_assert_eq!(restored.terminal, view.terminal, "decision 11");
        }
    }
}
