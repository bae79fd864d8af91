//! A session that stays with its model (routing 3.9).

use super::entries::Entries;
use super::{Ask, World};
use crate::board::ConnectionView;
use crate::breaker::BreakerState;
use crate::session_model::Target;
use crate::strategy::{Pool, Ranked};
use crate::time::SECOND;

/// A rest longer than this, ms, is not sat out for a model.
const LONG_MS: u64 = 20 * SECOND;
/// From this backoff level on an account is down for good.
const DEEP: u32 = 2;

/// Brings the entry of the model that served the session last to the front; the model, if one stands
/// there now.
pub(super) fn lift<'a>(
    ranked: &mut Ranked,
    entries: &Entries<'_>,
    ask: &Ask<'_>,
    world: World<'a>,
) -> Option<&'a Target> {
    let session = ask.traits.session.as_deref()?;
    let kept @ (provider, model) = world.memory.session_model(&entries.combo.name, session, world.now)?;
    let is_it = |index: &usize| {
        entries.provider(*index) == provider && entries.model(*index) == model && !is_down(entries, *index)
    };
    ranked.settle();
    let order = &mut ranked.order;
    let place = order.iter().position(is_it)?;
    order[..=place].rotate_right(1);
    Some(kept)
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

#[cfg(test)]
mod tests {
    use super::is_lost;
    use crate::board::ConnectionView;
    use crate::cooldown::{Cooldown, CooldownSettings, CooldownView, Terminal, TerminalState};
    use crate::ids::Class;
    use crate::window::WindowView;

    const NOW: u64 = 1_768_478_400_000;

    fn view(cooldown: CooldownView, usable: bool) -> ConnectionView {
        let retry = WindowView::default();
        ConnectionView { cooldown, retry, draining: false, usable, egress: None, lease: None }
    }

    /// Routing 3.9, row by row; a level whose rest is over counts for nothing (11.3).
    #[test]
    fn routing_3_9_who_is_durably_down() {
        let fresh = Cooldown::new(CooldownSettings::for_class(Class::Apikey)).view();
        let rests = |left: u64, level| CooldownView { until: Some(NOW + left), level, ..fresh.clone() };
        let state = TerminalState::Banned;
        let banned = Terminal { state, at: NOW, reason: None, retries: 0, retried_at: None };
        for (cooldown, usable, lost) in [
            (fresh.clone(), true, false),
            (fresh.clone(), false, true),
            (CooldownView { terminal: Some(banned), ..fresh.clone() }, true, true),
            (rests(20_000, 1), true, false),
            (rests(20_001, 0), true, true),
            (rests(1, 2), true, true),
            (rests(0, 9), true, false),
        ] {
            assert_eq!(is_lost(&view(cooldown.clone(), usable), NOW), lost, "{cooldown:?} {usable}");
        }
    }
}
