//! What is told of a change: of which kind it is, and until when it lasts.
//!
//! A change of numbers only (a count, a claimed probe) is no news, unless its owner is held until
//! an instant then: a rest that grew is one. What ends by the clock alone (a rest, a lock) is told
//! with that instant and not again.

use policy::breaker::{BreakerState, BreakerView, Operator};
use policy::change::Change;
use policy::ids::ConnectionId;
use policy::lease::Row;
use policy::time::Millis;
use policy::window::{COOLS, ENDED};

use super::Events;
use crate::connection::DRAINING;
use crate::lease::{ACQUIRED, FREE, LEASED};
use crate::messages::{Owner, View};
use crate::watch::End;

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A provider's breaker.
    Breaker,
    /// A connection's rest or terminal state; a provider or connection that combos leave out (core 2).
    Cooldown,
    /// An operator lets a connection run dry, or takes that back.
    Drain,
    /// A barred model of a connection.
    Lockout,
    /// Whether a connection is leased (rules 7).
    Lease,
    /// An actor ended and is replaced.
    Restart,
}

impl What {
    /// The event's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Breaker => "breaker",
            Self::Cooldown => "cooldown",
            Self::Drain => "drain",
            Self::Lockout => "lockout",
            Self::Lease => "lease",
            Self::Restart => "restart",
        }
    }
}

/// One change of a state. Nothing in it is secret: whose lease it is stays untold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Rises by one with each.
    pub id: u64,
    /// What has changed.
    pub what: What,
    /// Kind of the actor, as in `/api/actors`.
    pub kind: &'static str,
    /// Its id there.
    pub of: String,
    /// State before.
    pub from: String,
    /// State after; equal to `from` when only its end moved.
    pub to: String,
    /// Why.
    pub reason: String,
    /// When, epoch ms.
    pub at: Millis,
    /// When it ends by itself, epoch ms; `None`: not, or nobody knows.
    pub until: Option<Millis>,
}

impl Events {
    /// An owner has changed and looks like this now.
    pub(crate) fn changed(&self, owner: &Owner, change: &Change, view: &View) {
        if !self.is_heard() {
            return;
        }
        if let Some((what, until)) = sort(change, view) {
            let (from, to) = (change.from.as_str(), change.to.as_str());
            self.tell(event(what, owner, (from, to, &change.why), (change.at, until)));
        }
    }

    /// Somebody leases it now.
    pub(crate) fn leased(&self, connection: &ConnectionId, at: Millis, until: Millis) {
        if self.is_heard() {
            let owner = Owner::Connection(connection.clone());
            self.tell(event(What::Lease, &owner, (FREE, LEASED, ACQUIRED), (at, Some(until))));
        }
    }

    /// Its lease has ended.
    pub(crate) fn freed(&self, row: &Row) {
        if let Some((why, at)) = row.end_reason.zip(row.ended_at).filter(|_| self.is_heard()) {
            let owner = Owner::Connection(row.connection.clone());
            self.tell(event(What::Lease, &owner, (LEASED, FREE, why.as_str()), (at, None)));
        }
    }

    /// An actor ended and is replaced, after a pause of so many ms.
    pub fn restarted(&self, owner: &Owner, end: End, (at, pause): (Millis, Millis)) {
        let why = match end {
            End::Panicked => "panicked",
            End::Restarted => "operator",
            End::Retired => return,
        };
        if self.is_heard() {
            let until = (pause > 0).then(|| at.saturating_add(pause));
            self.tell(event(What::Restart, owner, ("running", "restarting", why), (at, until)));
        }
    }
}

fn event(
    what: What,
    owner: &Owner,
    (from, to, reason): (&str, &str, &str),
    (at, until): (Millis, Option<Millis>),
) -> Event {
    Event {
        id: 0,
        what,
        kind: owner.kind(),
        of: owner.id(),
        from: from.to_owned(),
        to: to.to_owned(),
        reason: reason.to_owned(),
        at,
        until,
    }
}

/// Of which kind a change is, and until when; `None`: it is no news, or told elsewhere.
fn sort(change: &Change, view: &View) -> Option<(What, Option<Millis>)> {
    let of_combos = [COOLS, ENDED].contains(&change.why.as_str());
    let (what, until) = match view {
        View::Breaker(_, window) if of_combos => (What::Cooldown, window.until),
        View::Connection(view) if of_combos => (What::Cooldown, view.retry.until),
        View::Breaker(view, _) => (What::Breaker, end_of(view, change)),
        // The book tells of leases itself: here they are heard in no sure order.
        View::Connection(_) if [FREE, LEASED].contains(&change.from.as_str()) => return None,
        View::Connection(_) if [&change.from, &change.to].iter().any(|state| *state == DRAINING) => {
            (What::Drain, None)
        }
        View::Connection(view) if view.cooldown.terminal.is_some() => (What::Cooldown, None),
        View::Connection(view) => (What::Cooldown, view.cooldown.cooling_until(change.at)),
        View::Lockout(view) => (What::Lockout, view.is_locked(change.at).then_some(view.until)),
    };
    (change.from != change.to || of_combos || until.is_some()).then_some((what, until))
}

/// When the state that a breaker changed to ends without anybody's doing. Of several changes at once
/// the view has the last.
fn end_of(view: &BreakerView, change: &Change) -> Option<Millis> {
    match (view.operator, view.state) {
        _ if view.label(change.at) != change.to => None,
        (Operator::None, BreakerState::Open) => view.open_until,
        (Operator::None, BreakerState::Degraded) => view.quiet_until,
        _ => None,
    }
}
