//! What a matching rule makes of a verdict (rules 3.9): its reason, its cooldown, and, where
//! its scope is acted on, whom it hits.

use super::look::Look;
use super::{BreakerMark, CooldownRule, Failure, Kind, Level, LockRule, Reason, RuleId, RuleScope, Then};
use crate::rules::Found;
use crate::time::Millis;

/// The rule over a row of the shared table: the level moves as the row would have moved it.
pub(super) fn apply(look: &Look<'_>, row: Failure, found: Found) -> Failure {
    let level = match row.cooldown {
        CooldownRule::Scaled | CooldownRule::Ladder => Level::Rises,
        CooldownRule::Exact { level, .. } => level,
        _ => Level::Keeps,
    };
    apply_with(look, row, found, level)
}

/// The same with a level of one's own. A rule speaks of a failure that passes, so what the
/// status alone would have ended stays in use; the operator wanted a wait, not an end.
pub(super) fn apply_with(look: &Look<'_>, row: Failure, found: Found, level: Level) -> Failure {
    let weighed = weigh(look, found, level);
    let failure = Failure {
        reason: found.reason,
        // As far as the status and the new reason let it (core 1.6).
        breaker: BreakerMark::Counts(Kind::Transient),
        cooldown: weighed,
        lock: None,
        of_account: false,
        terminal: None,
        rule: Some(found.rule),
        // A quota that is gone is not asked again in place (routing 7.3).
        then: match (row.then, found.reason) {
            (Then::NextOrRetry, Reason::QuotaExhausted) => Then::Next,
            (then, _) => then,
        },
        ..row
    };
    match found.rule.honoured && found.rule.scope == RuleScope::Model {
        true => on_model(failure),
        false => failure,
    }
}

/// Rules 3.6.4, 3.6.5, 3.6.9: a rule's own cooldown is exact, a default is at least.
fn weigh(look: &Look<'_>, found: Found, level: Level) -> CooldownRule {
    let Some(ms) = found.cooldown_ms else { return CooldownRule::Scaled };
    let longer = |stated: &Millis| found.rule.id == RuleId::CatchAll && *stated > ms;
    match look.stated().filter(longer) {
        Some(stated) => CooldownRule::Exact { ms: stated, level: Level::Zero, stated: true },
        None => CooldownRule::Exact { ms, level, stated: false },
    }
}

/// Rules 3.10.9: that model, for that long; siblings on the connection are unaffected (C5).
fn on_model(failure: Failure) -> Failure {
    let exact_ms = match failure.cooldown {
        CooldownRule::Exact { ms, .. } => Some(ms),
        _ => None,
    };
    let lock = LockRule { exact_key: false, exact_ms, authoritative: false, keep_count: false };
    Failure { cooldown: CooldownRule::Nothing, lock: Some(lock), ..failure }
}
