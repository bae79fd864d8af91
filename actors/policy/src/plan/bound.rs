//! Whose answer a request goes on from (FC-101): only the account that made a response knows it, so
//! a request that names one goes there or nowhere.
//!
//! While that account is out the request is told so, and for how long: any other would say that it
//! knows no such response, and the conversation would be lost. What nobody remembers goes the usual
//! way, and so does what the account could not serve at all.

use std::cmp::Reverse;

use super::{Ask, Excluded, NoPlan, Plan, World, free};
use crate::affinity::Pinned;
use crate::change::Exclusion;
use crate::dice::Dice;

/// Makes the plan of one request.
pub fn plan(ask: &Ask<'_>, world: World<'_>, dice: &mut dyn Dice) -> Result<Plan, NoPlan> {
    let Some(response) = ask.traits.response.as_deref() else { return free(ask, None, world, dice) };
    let made = world.memory.made(response).iter().filter(|pinned| pinned.holds(world.now));
    let mut made: Vec<&Pinned> = made.collect();
    made.sort_by_key(|pinned| Reverse(pinned.pin.last_at));
    let home = made.into_iter().find_map(|home| at_home(ask, home, world, dice));
    home.map_or_else(|| free(ask, None, world, dice), Ok)
}

/// The plan as far as it is about that account; `None`: it has no part in it.
fn at_home(ask: &Ask<'_>, home: &Pinned, world: World<'_>, dice: &mut dyn Dice) -> Option<Plan> {
    let own = [home.pin.connection.clone()];
    if ask.allowed.is_some_and(|allowed| !allowed.contains(&own[0])) {
        return None;
    }
    let mut plan = free(&Ask { allowed: Some(&own), ..*ask }, Some(home), world, dice).ok()?;
    plan.excluded.retain(|excluded| is_held(excluded, home));
    plan.unfit.retain(|unfit| is_own(unfit, home));
    (!plan.targets.is_empty() || !plan.excluded.is_empty()).then_some(plan)
}

/// The account is held back, by itself or with its whole provider; else it was never meant.
fn is_held(excluded: &Excluded, home: &Pinned) -> bool {
    is_own(excluded, home)
        && !matches!(
            excluded.reason,
            Exclusion::Unavailable
                | Exclusion::ModelNotInCatalog
                | Exclusion::FormatNotSupported
                | Exclusion::KeyNotAllowed
        )
}

/// It tells of the account, alone or as one of its provider's.
pub(super) fn is_own(excluded: &Excluded, home: &Pinned) -> bool {
    match &excluded.connection {
        Some(connection) => *connection == home.pin.connection,
        None => excluded.provider == home.provider,
    }
}

#[cfg(test)]
mod tests;
