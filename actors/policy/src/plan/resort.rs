//! The last resort of a combo (decision 33): where timers of ours hold all of its targets, the one
//! that returns first is tried once, if the operator wants that.
//!
//! Whatever else holds one of them is in the way: a wait that its provider stated, an account that
//! is out of use, an operator's order, a lease, a quota. Targets that this request could never have
//! are none. In doubt nothing is forced.

use super::accounts::connections;
use super::step::{Turn, leased};
use super::{Ask, Plan, Planned, World};
use crate::breaker::{Admission, Grant};
use crate::catalogue::{ConnectionEntry, ProviderEntry, Step};
use crate::change::{Exclusion, Refusal};
use crate::time::Millis;
use crate::verdict::Reason;

/// Which rests of ours a planned target passes. Caps, leases, orders and terminal states none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Forced {
    /// None.
    #[default]
    Not,
    /// Its connection's.
    Rest,
    /// Its connection's and its provider's breaker's, for one try.
    LastResort,
}

/// What a combo may still try when all its targets are left out.
#[derive(Clone, Debug, Default)]
pub enum Resort {
    /// Nobody has been looked at.
    #[default]
    Unknown,
    /// Something else than a timer of ours holds one of them.
    Barred,
    /// This one returns first, at an instant.
    Target(Millis, Box<Planned>),
}

/// What holds a target.
enum Held {
    /// It is none for this request.
    Never,
    /// Something that is not a timer of ours.
    Barred,
    /// Timers of ours until an instant.
    Until(Millis),
}

impl Plan {
    /// Takes the last resort if nothing else is left.
    pub fn take_resort(&mut self) {
        if !self.targets.is_empty() {
            return;
        }
        if let Resort::Target(_, target) = std::mem::take(&mut self.resort) {
            self.targets.push(*target);
        }
    }

    /// Its one target is the last resort.
    pub fn is_last_resort(&self) -> bool {
        self.targets.iter().any(|target| target.forced == Forced::LastResort)
    }
}

/// Looks at the accounts of a step that were all left out.
pub(super) fn weigh(plan: &mut Plan, turn: &Turn<'_>, ask: &Ask<'_>, world: World<'_>) {
    let Some(provider) = world.catalogue.providers.get(&turn.step.provider) else { return };
    for entry in connections(turn.step, world.catalogue) {
        if turn.only.is_some_and(|only| *only != entry.id) {
            continue;
        }
        match (held(entry, turn.step, ask, world), &plan.resort) {
            (Held::Never, _) | (_, Resort::Barred) => {}
            (Held::Barred, _) => plan.resort = Resort::Barred,
            (Held::Until(until), Resort::Target(earlier, _)) if *earlier <= until => {}
            (Held::Until(until), _) => {
                plan.resort = Resort::Target(until, Box::new(forced(turn, provider, entry, world)));
            }
        }
    }
}

fn forced(turn: &Turn<'_>, provider: &ProviderEntry, entry: &ConnectionEntry, world: World<'_>) -> Planned {
    let view = world.board.providers.get(&provider.id);
    Planned {
        provider: provider.id.clone(),
        class: provider.class,
        connection: entry.id.clone(),
        model: turn.step.model.clone(),
        step: turn.index,
        pinned: turn.step.connection.is_some() || turn.only.is_some(),
        only_on_quota: turn.step.only_on_quota,
        place: turn.place.clone(),
        // No probe: what comes of it is heard with the generation that stands.
        grant: Some(view.map_or(Grant { generation: 0, probe: false }, |view| view.grant())),
        forced: Forced::LastResort,
    }
}

fn held(entry: &ConnectionEntry, step: &Step, ask: &Ask<'_>, world: World<'_>) -> Held {
    let World { catalogue, board, now, .. } = world;
    let serves = |provider: &ProviderEntry| {
        provider.dialects.contains(&ask.dialect) && provider.serves(step.model.as_str())
    };
    let allowed = ask.allowed.is_none_or(|allowed| allowed.contains(&entry.id));
    let usable = entry.usable && entry.serves(step.model.as_str());
    if !(allowed && usable && catalogue.providers.get(&step.provider).is_some_and(serves)) {
        return Held::Never;
    }
    let timers = [
        breaker(step, world),
        board.provider_cooldown(&step.provider, now),
        board.connection_refusal(&entry.id, now),
        board.retry_cooldown(&entry.id, now),
        board.lock(&entry.id, (&step.provider, &step.model), now).and_then(|lock| lock.refusal(now)),
        super::step::cut_off(entry, world),
        leased(entry, ask, world),
    ];
    let mut until = None;
    for refusal in timers.into_iter().flatten() {
        match refusal.retry_at.filter(|_| is_ours(entry, step, refusal.why, world)) {
            Some(end) => until = until.max(Some(end)),
            None => return Held::Barred,
        }
    }
    // What nothing holds was left out for something else.
    until.map_or(Held::Barred, Held::Until)
}

fn breaker(step: &Step, world: World<'_>) -> Option<Refusal> {
    match world.board.providers.get(&step.provider)?.admission(world.now) {
        Admission::Refused(refusal) => Some(refusal),
        Admission::Free | Admission::Ask => None,
    }
}

/// A timer whose length is ours alone, and that passes by itself.
fn is_ours(entry: &ConnectionEntry, step: &Step, why: Exclusion, world: World<'_>) -> bool {
    match why {
        Exclusion::CircuitOpen | Exclusion::ProviderCooldown => true,
        Exclusion::ConnectionCooldown => {
            let view = world.board.connections.get(&entry.id).map(|view| &view.cooldown);
            view.is_some_and(|view| view.computed && view.rest_reason.is_some_and(Reason::is_transient))
        }
        Exclusion::ModelLockout => {
            let all = world.board.lockouts.get(&entry.id).into_iter().flatten();
            all.filter(|lock| lock.is_locked(world.now) && lock.key.covers(&step.provider, &step.model))
                .all(|lock| lock.computed && lock.reason.is_transient())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
