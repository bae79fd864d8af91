//! A session that stays with its model (routing 3.9).

use super::entries::Entries;
use super::{Ask, World};
use crate::board::ConnectionView;
use crate::breaker::BreakerState;
use crate::strategy::Pool;
use crate::time::SECOND;

/// A rest longer than this, ms, is not sat out for a model.
const LONG_MS: u64 = 20 * SECOND;
/// From this backoff level on an account is down for good.
const DEEP: u32 = 2;

/// Brings the entry of the model that served the session last to the front; whether one stands
/// there now.
pub(super) fn lift(order: &mut [usize], entries: &Entries<'_>, ask: &Ask<'_>, world: World<'_>) -> bool {
    let Some(session) = ask.traits.session.as_deref() else { return false };
    let Some((provider, model)) = world.memory.session_model(&entries.combo.name, session, world.now) else {
        return false;
    };
    let is_it = |index: &usize| {
        entries.provider(*index) == provider && entries.model(*index) == model && !is_down(entries, *index)
    };
    let Some(place) = order.iter().position(is_it) else { return false };
    order[..=place].rotate_right(1);
    true
}

/// Its breaker is open, or none of its accounts will be back soon.
fn is_down(entries: &Entries<'_>, index: usize) -> bool {
    if entries.breaker(index) == BreakerState::Open {
        return true;
    }
    let mut any = false;
    entries.each_account(index, &mut |_, entry| {
        let view = entries.world.board.connections.get(&entry.id);
        any = any || view.is_none_or(|view| !is_lost(view, entries.world.now));
    });
    !any
}

fn is_lost(view: &ConnectionView, now: u64) -> bool {
    let cooldown = &view.cooldown;
    let left = cooldown.until.map_or(0, |until| until.saturating_sub(now));
    !view.usable || cooldown.terminal.is_some() || left > LONG_MS || left > 0 && cooldown.level >= DEEP
}
