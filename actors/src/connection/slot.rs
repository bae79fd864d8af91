//! A slot of a connection, and a place in its line.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use policy::change::Refusal;
use policy::cooldown::Trial;
use policy::gate::{Stumble, Ticket};
use tokio::sync::oneshot;

use super::admission::{Forget, Look};
use super::{Abandon, ConnectionShared};
use crate::ceiling::Place;
use crate::clock::Clock;
use crate::provider::Leave;
use crate::watch::End;

/// One taken slot; dropped, whatever ended the request, it returns.
pub struct Slot {
    /// What the outcome is reported with.
    pub trial: Trial,
    pub(super) ticket: Ticket,
    pub(super) connection: Arc<ConnectionShared>,
    pub(super) clock: Clock,
    /// Places in the ceilings above: they return with the slot.
    pub(super) _places: [Place; 2],
    pub(super) spoken: bool,
    pub(super) stumbled: Option<Stumble>,
}

impl Slot {
    /// The request failed and will come back; nothing is reported of that (decision 9c).
    pub(crate) fn stumble(&mut self, stumble: Stumble) {
        self.stumbled = Some(stumble);
    }

    /// From now on the holder reports the outcome; dropping only gives the slot back.
    pub(crate) fn speak(&mut self) {
        self.spoken = true;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let now = self.clock.now();
        let mut gate = self.connection.gate();
        let somebody_waits = gate.leave(self.ticket, now);
        if let Some(stumble) = self.stumbled {
            gate.stumbled(stumble, now);
        }
        drop(gate);
        self.connection.in_flight.fetch_sub(1, Ordering::SeqCst);
        if !self.spoken && self.trial.lone {
            self.connection.mailbox.post(Abandon { trial: self.trial });
        }
        if somebody_waits {
            self.connection.mailbox.post(Look);
        }
        if self.connection.leaving.load(Ordering::SeqCst) {
            self.connection.mailbox.post(Leave(End::Retired));
        }
    }
}

/// What a connection answers to a request that it does not refuse.
pub enum Admitted {
    /// A slot.
    In(Slot),
    /// A place in the line.
    Waits(Waiting),
}

/// A place in a connection's line; dropped, it is given up.
pub struct Waiting {
    pub(super) ticket: Ticket,
    pub(super) connection: Arc<ConnectionShared>,
    pub(super) turn: oneshot::Receiver<Result<Slot, Refusal>>,
    pub(super) over: bool,
}

impl Waiting {
    /// Awaits the slot, or the end of the owner's patience; `None`: the owner died.
    pub async fn turn(&mut self) -> Option<Result<Slot, Refusal>> {
        let turn = (&mut self.turn).await.ok();
        self.over = true;
        turn
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.over {
            self.connection.mailbox.post(Forget { ticket: self.ticket });
        }
    }
}
