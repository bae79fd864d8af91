//! What a connection starts from: its last snapshot, unless its credential was replaced.
//!
//! The actor and the board read the same code, so that the first pick already knows who rests.

use policy::board::ConnectionView;
use policy::cooldown::Cooldown;
use policy::time::Millis;
use policy::window::WindowView;

use crate::blueprint::ConnectionNumbers;
use crate::messages::ConnectionSnapshot;

/// The rest it begins with (decision 3c).
pub(super) fn cooldown(
    numbers: &ConnectionNumbers,
    stored: Option<&ConnectionSnapshot>,
    now: Millis,
) -> Cooldown {
    let Some(stored) = stored else { return Cooldown::new(numbers.cooldown) };
    let mut cooldown = Cooldown::restore(stored.cooldown.clone(), numbers.cooldown, now);
    if is_other_credential(&stored.fingerprint, &numbers.fingerprint) {
        cooldown.credential_changed(now);
    }
    cooldown
}

/// What it will publish first.
pub(crate) fn view(
    numbers: &ConnectionNumbers,
    stored: Option<&ConnectionSnapshot>,
    now: Millis,
) -> ConnectionView {
    ConnectionView {
        cooldown: cooldown(numbers, stored, now).view(),
        retry: WindowView::default(),
        draining: stored.is_some_and(|stored| stored.draining),
        usable: numbers.usable,
        egress: stored.and_then(|stored| stored.egress.clone()),
        // The router adds it: it is in the book, not here.
        lease: None,
    }
}

/// Decision 3c; an empty fingerprint is an unknown one.
pub(super) fn is_other_credential(before: &str, after: &str) -> bool {
    !before.is_empty() && before != after
}
