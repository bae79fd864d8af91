//! How many of a provider's accounts may rest at once (decision 33): rests beyond that share are
//! written down and not acted on.
//!
//! Those that rest longest rest; the others are asked as if they were well, and their owners let
//! them. Who rests longer than somebody does not depend on the time, so the choice stands until
//! somebody's rest changes. Accounts that are out of use, or that an operator drains, are not
//! counted: they could not serve anyway.

use super::World;
use crate::catalogue::ConnectionEntry;
use crate::time::Millis;

/// An account rests, and too many rest longer. `combo`: the cooldown for combos is a rest, too.
pub(super) fn is_spared(entry: &ConnectionEntry, combo: bool, world: World<'_>) -> bool {
    let Some(percent) = world.catalogue.most_benched.get(&entry.provider) else { return false };
    let (Some(own), Some(provider)) =
        (rests_until(entry, combo, world), world.catalogue.providers.get(&entry.provider))
    else {
        return false;
    };
    let (mut able, mut longer, mut behind) = (0, 0, false);
    for other in provider.connections.iter().filter(|other| is_able(other, world)) {
        able += 1;
        if other.id == entry.id {
            behind = true;
        } else if let Some(until) = rests_until(other, combo, world) {
            // Of equal ones the better one is spared.
            longer += usize::from(until > own || (until == own && behind));
        }
    }
    is_able(entry, world) && longer >= able * *percent as usize / 100
}

fn is_able(entry: &ConnectionEntry, world: World<'_>) -> bool {
    let view = world.board.connections.get(&entry.id);
    entry.usable && view.is_none_or(|view| view.cooldown.terminal.is_none() && !view.draining)
}

fn rests_until(entry: &ConnectionEntry, combo: bool, world: World<'_>) -> Option<Millis> {
    let view = world.board.connections.get(&entry.id)?;
    let retry = view.retry.until.filter(|until| combo && world.now < *until);
    view.cooldown.cooling_until(world.now).max(retry)
}

#[cfg(test)]
mod tests;
