//! Where a session is placed (rules 6.7 to 6.10): first on the account that it is tied to, else
//! on the one that was used longest ago.
//!
//! A pin beats whatever a strategy says of this request, as long as its account may be asked. Only
//! `priority` keeps the order of its steps: there a pin chooses among the accounts of one step
//! (routing 3.4). A session without a pin is placed by the combo's strategy (FC-100); among the
//! accounts of the step that comes first, by rules 6.9.

use std::cmp::Reverse;

use super::entries::Entries;
use super::{Ask, Planned, World};
use crate::affinity::Pinned;
use crate::catalogue::{ConnectionEntry, Step};
use crate::ids::{Class, ConnectionId};
use crate::reading::AccountReading;
use crate::strategy::{QuotaWindow, Ranked};
use crate::time::Millis;

/// With less of its quota left an account is no longer worth its cache, 0 to 1 (routing 3.3).
const SCARCE: f64 = 0.15;

/// A session while one step is planned.
#[derive(Clone, Copy)]
pub(super) struct Session<'a> {
    key: &'a str,
    world: World<'a>,
}

impl<'a> Session<'a> {
    /// The session of a request, where sessions count.
    pub(super) fn of(ask: &Ask<'a>, world: World<'a>) -> Option<Self> {
        let counts = world.catalogue.accounts.affinity_ttl_ms > 0;
        let key = ask.traits.session.as_deref().filter(|_| counts)?;
        Some(Self { key, world })
    }

    fn pins(self) -> impl Iterator<Item = &'a Pinned> {
        let now = self.world.now;
        self.world.memory.pins(self.key).iter().filter(move |pinned| pinned.holds(now))
    }

    /// The account that it is tied to at the step's provider.
    pub(super) fn account(self, step: &Step) -> Option<&'a ConnectionId> {
        let pinned = self.pins().find(|pinned| pinned.provider == step.provider)?;
        Some(&pinned.pin.connection)
    }

    /// Brings the entry of the account that it used last to the front; whether one stands there now.
    pub(super) fn lift(self, ranked: &mut Ranked, entries: &Entries<'_>) -> bool {
        let mut pins: Vec<&Pinned> = self.pins().collect();
        pins.sort_by_key(|pinned| Reverse(pinned.pin.last_at));
        let now = self.world.now;
        let is_scarce = |pinned: &&Pinned| is_scarce(self.world.memory.reading(&pinned.pin.connection), now);
        pins.retain(|pinned| !is_scarce(pinned));
        if pins.is_empty() {
            return false;
        }
        ranked.settle();
        let order = &mut ranked.order;
        let place = pins.into_iter().find_map(|pinned| {
            let leads = |index: &usize| entries.leads_to(*index, &pinned.provider, &pinned.pin.connection);
            order.iter().position(leads)
        });
        if let Some(place) = place {
            order[..=place].rotate_right(1);
        }
        place.is_some()
    }
}

/// Routing 3.3; nobody is held to a limit that nobody knows.
fn is_scarce(reading: Option<&AccountReading>, now: Millis) -> bool {
    let Some(reading) = reading else { return false };
    let left = reading.left(&[QuotaWindow::Session, QuotaWindow::Weekly], now);
    reading.is_limited(now) || left.is_some_and(|left| left <= SCARCE)
}

/// What the placing of a session compares (rules 6.9, decision 27a).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seat {
    sessions: u32,
    last_at: Option<Millis>,
    turn: u64,
    consecutive: u32,
    priority: u32,
}

impl Seat {
    /// Sessions weigh where accounts are subscriptions.
    pub(super) fn of(entry: &ConnectionEntry, class: Class, world: World<'_>) -> Self {
        let usage = world.memory.usage(&entry.id);
        Self {
            sessions: match class {
                Class::Oauth => world.memory.sessions(&entry.id, world.now),
                _ => 0,
            },
            last_at: usage.last_at,
            turn: usage.turn,
            consecutive: usage.consecutive,
            priority: entry.priority,
        }
    }
}

/// The target that goes first for the session.
pub(super) fn first(own: &[Planned], seats: &[Seat], pinned: Option<&ConnectionId>) -> usize {
    let tied = |pin: &ConnectionId| own.iter().position(|target| target.connection == *pin);
    let placed = || (0..seats.len()).min_by_key(|index| seats[*index]);
    pinned.and_then(tied).or_else(placed).unwrap_or(0)
}

#[cfg(test)]
mod tests;
