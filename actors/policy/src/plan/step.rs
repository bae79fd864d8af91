//! What one step of a plan offers: its accounts in the order in which they are asked, or why
//! not (routing 7.2, core 7.2).

use std::sync::Arc;

use super::accounts::Accounts;
use super::benched::is_spared;
use super::entries::Entries;
use super::resort::{self, Forced, Resort};
use super::{Ask, Excluded, Place, Plan, Planned, World};
use crate::attempts::MAX_DISPATCHES;
use crate::breaker::{Admission, Grant};
use crate::catalogue::{ConnectionEntry, ProviderEntry, Step};
use crate::change::{Exclusion, Refusal};
use crate::dice::Dice;
use crate::ids::ConnectionId;
use crate::lockout::LockReason;
use crate::preflight::Check;
use crate::strategy::Pool;
use crate::time::Millis;
use crate::verdict::Reason;

/// A step whose turn it is.
pub(super) struct Turn<'a> {
    /// Its number in the plan.
    pub(super) index: usize,
    /// The step.
    pub(super) step: &'a Step,
    /// Entries that come after it.
    pub(super) left: usize,
    /// The one account that was chosen.
    pub(super) only: Option<&'a ConnectionId>,
    /// Where it stands in its combo.
    pub(super) place: Option<Arc<Place>>,
}

impl Turn<'_> {
    /// How many targets it may add: the most that a request may try, less one for each step that
    /// comes after it. The healthy one may stand there (FC-051).
    fn room(&self, taken: usize) -> usize {
        MAX_DISPATCHES.saturating_sub(taken + self.left).max(1)
    }
}

/// Adds what a step offers, as far as there is room for it.
pub(super) fn add_step(
    plan: &mut Plan,
    turn: Turn<'_>,
    ask: &Ask<'_>,
    world: World<'_>,
    dice: &mut dyn Dice,
) {
    let room = turn.room(plan.targets.len());
    // Who has a target by now has no need of a last resort.
    if plan.attempts.last_resort && plan.targets.is_empty() {
        resort::weigh(plan, &turn, ask, world);
    }
    let Turn { index, step, only, place, .. } = turn;
    let most = plan.targets.len() + room;
    let combo = plan.combo.is_some();
    let provider = world.catalogue.providers.get(&step.provider);
    let (provider, grant) = match gate(step, provider, combo, ask, world) {
        Ok(passed) => passed,
        Err(refusal) => return exclude(plan, step, None, refusal, world),
    };
    let mut accounts = Accounts::new(plan, (step, only), ask, world);
    let mut any = false;
    for entry in accounts.walk(room, dice) {
        any = true;
        let held = exclusion((entry, step), combo, ask, world);
        let leased = || leased(entry, ask, world);
        match held.and_then(|forced| leased().map_or(Ok(forced), Err)) {
            Err(refusal) => exclude(plan, step, Some(&entry.id), refusal, world),
            Ok(forced) => {
                accounts.note(entry, provider.class);
                plan.targets.push(Planned {
                    provider: step.provider.clone(),
                    class: provider.class,
                    connection: entry.id.clone(),
                    model: step.model.clone(),
                    step: index,
                    pinned: step.connection.is_some() || only.is_some(),
                    only_on_quota: step.only_on_quota,
                    place: place.clone(),
                    grant,
                    forced,
                });
            }
        }
        if plan.targets.len() >= most {
            break;
        }
    }
    accounts.arrange(plan, dice);
    if !any {
        exclude(plan, step, None, Refusal { why: Exclusion::Unavailable, retry_at: None }, world);
    }
}

fn exclude(
    plan: &mut Plan,
    step: &Step,
    connection: Option<&ConnectionId>,
    refusal: Refusal,
    world: World<'_>,
) {
    let Refusal { why: reason, retry_at: until } = refusal;
    let holds = |test: fn(&ConnectionId, &Step, Exclusion, World<'_>) -> bool| {
        reason.is_timer() && connection.is_none_or(|id| test(id, step, reason, world))
    };
    let (transient, waitable) = (holds(passes_by_itself), holds(is_waitable));
    plan.excluded.push(Excluded {
        provider: step.provider.clone(),
        model: step.model.clone(),
        connection: connection.cloned(),
        reason,
        until,
        transient,
        waitable,
    });
}

/// What holds for all accounts of the provider alike.
pub(super) fn gate<'a>(
    step: &Step,
    provider: Option<&'a ProviderEntry>,
    combo: bool,
    ask: &Ask<'_>,
    world: World<'_>,
) -> Result<(&'a ProviderEntry, Option<Grant>), Refusal> {
    let forever = |why| Err(Refusal { why, retry_at: None });
    let Some(provider) = provider else { return forever(Exclusion::Unavailable) };
    if !provider.dialects.contains(&ask.dialect) {
        return forever(Exclusion::FormatNotSupported);
    }
    if !provider.serves(step.model.as_str()) {
        return forever(Exclusion::ModelNotInCatalog);
    }
    let view = world.board.providers.get(&step.provider);
    let grant = match view.map(|view| (view, view.admission(world.now))) {
        Some((_, Admission::Refused(refusal))) => return Err(refusal),
        Some((_, Admission::Ask)) => None,
        Some((view, Admission::Free)) => Some(view.grant()),
        // The owner has not spoken yet: nothing is held against it.
        None => Some(Grant { generation: 0, probe: false }),
    };
    // Only combos have somewhere else to go (core 2.1).
    match world.board.provider_cooldown(&step.provider, world.now).filter(|_| combo) {
        Some(refusal) => Err(refusal),
        None => Ok((provider, grant)),
    }
}

/// What holds an account back, else the rests of ours that it passes; `combo`: one asks.
pub(super) fn exclusion(
    (entry, step): (&ConnectionEntry, &Step),
    combo: bool,
    ask: &Ask<'_>,
    world: World<'_>,
) -> Result<Forced, Refusal> {
    let forever = |why| Err(Refusal { why, retry_at: None });
    if ask.allowed.is_some_and(|allowed| !allowed.contains(&entry.id)) {
        return forever(Exclusion::KeyNotAllowed);
    }
    if !entry.usable || !entry.serves(step.model.as_str()) {
        return forever(Exclusion::Unavailable);
    }
    let spared = is_spared(entry, combo, world);
    let minded = |refusal: &Refusal| {
        !spared || !matches!(refusal.why, Exclusion::ConnectionCooldown | Exclusion::ProviderCooldown)
    };
    let view = world.board.connections.get(&entry.id);
    let refusal = view.and_then(|view| view.refusal(false, world.now)).filter(minded);
    let held = refusal.or_else(|| {
        let lock = world.board.lock(&entry.id, (&step.provider, &step.model), world.now)?;
        Some(Refusal { why: Exclusion::ModelLockout, retry_at: Some(lock.until) })
    });
    let retry = view.filter(|_| combo).and_then(|view| view.retry.refusal(world.now)).filter(minded);
    match longer(retry, longer(held, cut_off(entry, world))) {
        Some(refusal) => Err(refusal),
        None => Ok(if spared { Forced::Rest } else { Forced::Not }),
    }
}

/// Rules 8.4: next to nothing is left of its quota.
pub(super) fn cut_off(entry: &ConnectionEntry, world: World<'_>) -> Option<Refusal> {
    let preflight = &world.catalogue.preflight;
    if !world.catalogue.reads_quota || !preflight.minds(&entry.provider, &entry.id) {
        return None;
    }
    match preflight.check(&entry.provider, &entry.id, world.memory.reading(&entry.id), world.now) {
        Check::Blocked(low) => Some(Refusal { why: Exclusion::QuotaCutoff, retry_at: Some(low.until) }),
        Check::Proceed | Check::Warn(_) => None,
    }
}

/// Tells why a strategy left entries out.
pub(super) fn leave_out(
    plan: &mut Plan,
    entries: &Entries<'_>,
    left_out: Vec<(usize, Refusal)>,
    world: World<'_>,
) {
    if !left_out.is_empty() {
        plan.resort = Resort::Barred;
    }
    for (entry, refusal) in left_out {
        entries.each(entry, &mut |step| exclude(plan, step, entries.connection(entry), refusal, world));
    }
}

/// Rules 7.4.6, for an account that could serve otherwise: others' leases, and the accounts of managed
/// keys for whoever has no lease.
pub(super) fn leased(entry: &ConnectionEntry, ask: &Ask<'_>, world: World<'_>) -> Option<Refusal> {
    let lease = world.board.connections.get(&entry.id).and_then(|view| view.lease.as_ref());
    let why = Exclusion::Leased;
    match lease.filter(|lease| lease.bars(ask.lease, world.now)) {
        Some(lease) => Some(Refusal { why, retry_at: lease.until }),
        None if ask.lease.is_none() && world.catalogue.managed.reserves(&entry.id) => {
            Some(Refusal { why, retry_at: None })
        }
        None => None,
    }
}

/// Of two that hold a target back the one that holds it longer, so that the wait which is told
/// is true (decision 26b); `None` never ends by itself.
fn longer(first: Option<Refusal>, second: Option<Refusal>) -> Option<Refusal> {
    let (Some(one), Some(other)) = (first, second) else { return first.or(second) };
    let end = |refusal: &Refusal| refusal.retry_at.unwrap_or(Millis::MAX);
    Some(if end(&one) >= end(&other) { one } else { other })
}

/// Routing 7.17: a wait for quota, a credential or a missing model is nobody's to sit out.
fn passes_by_itself(connection: &ConnectionId, step: &Step, reason: Exclusion, world: World<'_>) -> bool {
    match reason {
        Exclusion::ModelLockout => {
            let lock = world.board.lock(connection, (&step.provider, &step.model), world.now);
            lock.is_none_or(|lock| lock.reason.is_transient())
        }
        Exclusion::ConnectionCooldown => {
            let view = world.board.connections.get(connection);
            let reason = view.and_then(|view| view.cooldown.rest_reason);
            !matches!(reason, Some(Reason::AuthError | Reason::QuotaExhausted | Reason::NotFound))
        }
        Exclusion::QuotaCutoff | Exclusion::QuotaExhausted => false,
        _ => true,
    }
}

/// Flow 3.3, a list of what is waited for; an operator's order names no reason, but its end.
fn is_waitable(connection: &ConnectionId, step: &Step, reason: Exclusion, world: World<'_>) -> bool {
    match reason {
        Exclusion::ConnectionCooldown => {
            let view = world.board.connections.get(connection);
            view.and_then(|view| view.cooldown.rest_reason).is_none_or(Reason::is_transient)
        }
        _ => passes_by_itself(connection, step, reason, world),
    }
}

/// What holds the target back is exhausted quota and nothing else (routing 4.1).
pub(super) fn may_be_passed(excluded: &Excluded, world: World<'_>) -> bool {
    let Some(connection) = &excluded.connection else { return false };
    match excluded.reason {
        Exclusion::CreditsExhausted | Exclusion::QuotaCutoff | Exclusion::QuotaExhausted => true,
        Exclusion::ModelLockout => {
            let lock = world.board.lock(connection, (&excluded.provider, &excluded.model), world.now);
            lock.is_some_and(|lock| lock.reason == LockReason::QuotaExhausted)
        }
        Exclusion::ConnectionCooldown => {
            let view = world.board.connections.get(connection);
            view.and_then(|view| view.cooldown.rest_reason) == Some(Reason::QuotaExhausted)
        }
        _ => false,
    }
}
