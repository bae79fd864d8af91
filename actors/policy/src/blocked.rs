//! What to tell a client whose request was sent to nobody (decision 9b; routing 9.2
//! rows B, F, G, N, 9.3, 9.7; core 1.7.1).

use crate::change::{Exclusion, Refusal};
use crate::plan::Excluded;
use crate::time::Millis;

/// Why nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// A mailbox was full and nothing else was left.
    MailboxFull,
    /// A limit of ours was reached and nothing else was left: which, and the wait, ms, if one is known.
    OwnLimit(Exclusion, Option<Millis>),
    /// The client's key may use none of the connections.
    KeyNotAllowed,
    /// The client's key has used its share of every account; the wait, ms, if one is known.
    QuotaShareExceeded(Option<Millis>),
    /// All that could serve cost more than the request may (routing 5.9).
    OverBudget,
    /// The breaker of the only provider is open; the wait, ms, if one is known.
    CircuitOpen(Option<Millis>),
    /// Every account of the only target rests, or bars the model; the wait, ms.
    ModelCooldown(Millis),
    /// The only target has no account that could ever answer as things stand.
    NoUsableConnection,
    /// A combo without a target.
    NoExecutableTargets,
    /// Every target of the combo is behind an open breaker (row N), or out of a draw and one of them
    /// for a while (row A).
    AllCoolingDown(Option<Millis>),
    /// Every target was skipped and the earliest passes by itself (row G).
    SkippedUntil(Millis),
    /// Every target was skipped and no wait is known (row F).
    Skipped,
}

impl Blocked {
    /// The wait that is told, ms.
    pub fn wait_ms(self) -> Option<Millis> {
        match self {
            Self::CircuitOpen(wait)
            | Self::AllCoolingDown(wait)
            | Self::OwnLimit(_, wait)
            | Self::QuotaShareExceeded(wait) => wait,
            Self::ModelCooldown(wait) | Self::SkippedUntil(wait) => Some(wait),
            _ => None,
        }
    }
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A provider's model.
    Direct,
    /// A combo.
    Combo,
    /// A combo that draws among those that could be asked: who rests was not in the draw (row A).
    Draw,
}

impl Asked {
    /// What a plan is of, by the name of its strategy.
    pub fn of(combo: bool, strategy: &str) -> Self {
        match (combo, strategy) {
            (false, _) => Self::Direct,
            (true, "weighted") => Self::Draw,
            (true, _) => Self::Combo,
        }
    }
}

/// Judges a request that was sent to nobody.
pub fn blocked(asked: Asked, excluded: &[Excluded], now: Millis) -> Blocked {
    let combo = asked != Asked::Direct;
    let any = |why: Exclusion| excluded.iter().any(|target| target.reason == why);
    let all = |test: &dyn Fn(&Excluded) -> bool| !excluded.is_empty() && excluded.iter().all(test);
    let circuit = |target: &Excluded| matches!(target.reason, Exclusion::CircuitOpen | Exclusion::Isolated);
    let cutoff = |target: &Excluded| target.reason == Exclusion::QuotaCutoff;
    let spent =
        |target: &Excluded| matches!(target.reason, Exclusion::QuotaExhausted | Exclusion::CreditsExhausted);
    if any(Exclusion::MailboxFull) {
        return Blocked::MailboxFull;
    }
    if let Some(blocked) = own_limit(excluded, now) {
        return blocked;
    }
    if all(&|target| target.reason == Exclusion::KeyNotAllowed) {
        return Blocked::KeyNotAllowed;
    }
    let wait = |test: &dyn Fn(&Excluded) -> bool| earliest(excluded, test, now);
    let share = |target: &Excluded| target.reason == Exclusion::QuotaShareExceeded;
    // An account that only rests comes back sooner than a share.
    if excluded.iter().any(share) && !excluded.iter().any(|target| target.reason.is_timer()) {
        return Blocked::QuotaShareExceeded(wait(&share));
    }
    // So does one that is cheap enough.
    if any(Exclusion::OverBudget) && !excluded.iter().any(|target| target.reason.is_timer()) {
        return Blocked::OverBudget;
    }
    if excluded.is_empty() {
        return if combo { Blocked::NoExecutableTargets } else { Blocked::NoUsableConnection };
    }
    if asked == Asked::Draw {
        // Row A; routing 16 #80, #81.
        return match excluded.iter().any(|target| target.reason.is_timer()) {
            true => Blocked::AllCoolingDown(wait(&|target| target.reason.is_timer())),
            false => Blocked::NoExecutableTargets,
        };
    }
    match combo {
        // Routing 16 #46: who has nothing left was not in the combo's draw.
        true if any(Exclusion::QuotaExhausted) && all(&spent) => Blocked::NoExecutableTargets,
        true if all(&cutoff) => wait(&cutoff).map_or(Blocked::Skipped, Blocked::SkippedUntil),
        true if all(&circuit) => Blocked::AllCoolingDown(wait(&circuit)),
        true => wait(&|target| target.transient && !circuit(target))
            .map_or(Blocked::Skipped, Blocked::SkippedUntil),
        false if any(Exclusion::CircuitOpen) || any(Exclusion::Isolated) => {
            Blocked::CircuitOpen(wait(&circuit))
        }
        false => wait(&|target| target.reason.is_timer())
            .map_or(Blocked::NoUsableConnection, Blocked::ModelCooldown),
    }
}

/// A limit of ours, if it had the last word on a target: what a request waited for in vain says
/// more than that a cap was full before it, and a rest that began meanwhile more than either.
fn own_limit(excluded: &[Excluded], now: Millis) -> Option<Blocked> {
    let same = |a: &Excluded, b: &Excluded| (&a.connection, &a.model) == (&b.connection, &b.model);
    let is_last = |at: usize| !excluded[at + 1..].iter().any(|later| same(later, &excluded[at]));
    let limits = || {
        let all = excluded.iter().enumerate();
        all.filter(|(at, target)| target.reason.is_own_limit() && is_last(*at)).map(|(_, target)| target)
    };
    let last = limits().rfind(|target| !target.reason.is_worth_queueing()).or(limits().next_back())?;
    let wait = limits().filter_map(|target| target.until).min().map(|at| at.saturating_sub(now).max(1));
    Some(Blocked::OwnLimit(last.reason, wait))
}

fn earliest(excluded: &[Excluded], test: &dyn Fn(&Excluded) -> bool, now: Millis) -> Option<Millis> {
    let ends = excluded.iter().filter(|target| test(target)).filter_map(|target| target.until);
    ends.min().map(|end| end.saturating_sub(now).max(1))
}

impl Excluded {
    /// A target whose owner said no after the plan was made.
    pub fn refused(target: &crate::plan::Planned, refusal: Refusal) -> Self {
        Self {
            provider: target.provider.clone(),
            model: target.model.clone(),
            connection: Some(target.connection.clone()),
            reason: refusal.why,
            until: refusal.retry_at,
            transient: refusal.why.is_timer(),
            waitable: refusal.why.is_timer(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, Blocked, blocked};
    use crate::change::Exclusion;
    use crate::plan::Excluded;

    fn excluded(reason: Exclusion, until: Option<u64>, transient: bool) -> Excluded {
        let (provider, model) = ("p".into(), "m".into());
        Excluded { provider, model, connection: None, reason, until, transient, waitable: transient }
    }

    #[test]
    fn rows_of_routing_9() {
        let open = excluded(Exclusion::CircuitOpen, Some(112_400), true);
        let later = excluded(Exclusion::CircuitOpen, Some(157_000), true);
        let lock = excluded(Exclusion::ModelLockout, Some(140_000), true);
        let window = excluded(Exclusion::ProviderCooldown, Some(700_000), true);
        let quota = excluded(Exclusion::ModelLockout, Some(101_000), false);
        let gone = excluded(Exclusion::Unavailable, None, false);
        let banned = excluded(Exclusion::Banned, None, false);
        let unpaid = excluded(Exclusion::CreditsExhausted, None, false);
        let isolated = excluded(Exclusion::Isolated, None, false);
        let full = excluded(Exclusion::MailboxFull, None, false);
        let cap = excluded(Exclusion::ConcurrencyCap, Some(101_000), false);
        let waited = excluded(Exclusion::SemaphoreTimeout, Some(100_500), false);
        let key = excluded(Exclusion::KeyNotAllowed, None, false);
        let share = excluded(Exclusion::QuotaShareExceeded, Some(101_000), false);
        let endless = excluded(Exclusion::QuotaShareExceeded, None, false);
        let rows: [(&str, bool, Vec<&Excluded>, Blocked); 25] = [
            ("N", true, vec![&open, &later], Blocked::AllCoolingDown(Some(12_400))),
            ("N, held by an operator", true, vec![&isolated], Blocked::AllCoolingDown(None)),
            ("G", true, vec![&open, &lock], Blocked::SkippedUntil(40_000)),
            ("G, provider cooldown", true, vec![&window, &lock], Blocked::SkippedUntil(40_000)),
            ("G, quota gives no hint", true, vec![&quota, &lock], Blocked::SkippedUntil(40_000)),
            ("F", true, vec![&quota, &gone], Blocked::Skipped),
            ("B", true, vec![], Blocked::NoExecutableTargets),
            ("9.7 circuit", false, vec![&open], Blocked::CircuitOpen(Some(12_400))),
            ("9.7 isolated", false, vec![&isolated], Blocked::CircuitOpen(None)),
            ("9.7 cooldown", false, vec![&gone, &lock], Blocked::ModelCooldown(40_000)),
            ("9.7 quota lock", false, vec![&quota], Blocked::ModelCooldown(1_000)),
            ("9b terminal", false, vec![&gone], Blocked::NoUsableConnection),
            ("9b all banned", false, vec![&banned, &unpaid], Blocked::NoUsableConnection),
            ("9b one rests", false, vec![&banned, &lock], Blocked::ModelCooldown(40_000)),
            ("F, out of credit", true, vec![&unpaid], Blocked::Skipped),
            ("no account", false, vec![], Blocked::NoUsableConnection),
            ("mailbox", true, vec![&open, &full], Blocked::MailboxFull),
            ("gate", false, vec![&lock, &cap], Blocked::OwnLimit(Exclusion::ConcurrencyCap, Some(1_000))),
            (
                "gate, waited",
                true,
                vec![&cap, &waited],
                Blocked::OwnLimit(Exclusion::SemaphoreTimeout, Some(500)),
            ),
            ("gate, then a rest", false, vec![&cap, &lock], Blocked::ModelCooldown(40_000)),
            ("key", false, vec![&key], Blocked::KeyNotAllowed),
            ("flow 2.15", false, vec![&share, &gone], Blocked::QuotaShareExceeded(Some(1_000))),
            ("flow 2.15, a combo", true, vec![&endless, &unpaid], Blocked::QuotaShareExceeded(None)),
            ("share, one rests", false, vec![&share, &lock], Blocked::ModelCooldown(40_000)),
            ("share, one rests, a combo", true, vec![&share, &lock], Blocked::SkippedUntil(40_000)),
        ];
        for (row, combo, targets, expected) in rows {
            let targets: Vec<Excluded> = targets.into_iter().cloned().collect();
            assert_eq!(
                blocked(if combo { Asked::Combo } else { Asked::Direct }, &targets, 100_000),
                expected,
                "{row}"
            );
        }
    }

    /// Routing 5.3, 5.9, 11.6 and 16 #46: what quota and budget leave out.
    #[test]
    fn rows_of_quota_and_budget() {
        let lock = excluded(Exclusion::ModelLockout, Some(140_000), true);
        let gone = excluded(Exclusion::Unavailable, None, false);
        let unpaid = excluded(Exclusion::CreditsExhausted, None, false);
        let cut = excluded(Exclusion::QuotaCutoff, Some(130_000), false);
        let spent = excluded(Exclusion::QuotaExhausted, Some(101_000), false);
        let dear = excluded(Exclusion::OverBudget, None, false);
        let rows: [(&str, bool, Vec<&Excluded>, Blocked); 7] = [
            ("11.6", false, vec![&cut, &gone], Blocked::ModelCooldown(30_000)),
            ("5.3, all cut off", true, vec![&cut], Blocked::SkippedUntil(30_000)),
            ("F, one cut off", true, vec![&cut, &gone], Blocked::Skipped),
            ("16 #46", true, vec![&spent, &unpaid], Blocked::NoExecutableTargets),
            ("16 #46, one rests", true, vec![&spent, &lock], Blocked::SkippedUntil(40_000)),
            ("5.9", true, vec![&dear, &gone], Blocked::OverBudget),
            ("5.9, a cheap one rests", true, vec![&dear, &lock], Blocked::SkippedUntil(40_000)),
        ];
        for (row, combo, targets, expected) in rows {
            let targets: Vec<Excluded> = targets.into_iter().cloned().collect();
            assert_eq!(
                blocked(if combo { Asked::Combo } else { Asked::Direct }, &targets, 100_000),
                expected,
                "{row}"
            );
        }
    }

    /// Routing 16 #80, #81.
    #[test]
    fn rows_80_and_81_of_a_draw() {
        let lock = excluded(Exclusion::ModelLockout, Some(157_000), true);
        let open = excluded(Exclusion::CircuitOpen, Some(112_400), true);
        let endless = excluded(Exclusion::ModelLockout, None, true);
        let gone = excluded(Exclusion::Unavailable, None, false);
        let rows: [(&str, &[&Excluded], Blocked); 4] = [
            ("80", &[&lock, &open], Blocked::AllCoolingDown(Some(12_400))),
            ("81 only unavailable", &[&gone], Blocked::NoExecutableTargets),
            ("81 no time known", &[&endless, &gone], Blocked::AllCoolingDown(None)),
            ("nothing at all", &[], Blocked::NoExecutableTargets),
        ];
        for (row, targets, expected) in rows {
            let targets: Vec<Excluded> = targets.iter().map(|target| (*target).clone()).collect();
            assert_eq!(blocked(Asked::Draw, &targets, 100_000), expected, "{row}");
        }
    }
}
