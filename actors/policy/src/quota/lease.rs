//! Requests that were given an account and do not hold its slot yet (flow 2.23, 2.24).
//!
//! One lease for each dispatch: traffic cannot keep a lost one alive, and a late release takes
//! nobody else's down.

use std::collections::HashMap;

use crate::ids::ConnectionId;
use crate::time::{MINUTE, Millis};

/// How long a lease lasts that nobody gives back.
pub const LEASE_MS: Millis = 2 * MINUTE;

/// Names a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseId(u64);

/// Leases by account.
#[derive(Clone, Debug, Default)]
pub struct Leases {
    live: HashMap<ConnectionId, Vec<(LeaseId, Millis)>>,
    last: u64,
}

impl Leases {
    /// Counts a request on the account from now on.
    pub fn take(&mut self, connection: &ConnectionId, now: Millis) -> LeaseId {
        self.last += 1;
        let id = LeaseId(self.last);
        let of = self.live.entry(connection.clone()).or_default();
        of.retain(|(_, until)| now < *until);
        of.push((id, now.saturating_add(LEASE_MS)));
        id
    }

    /// Gives a lease back; a second time, or after its end, changes nothing.
    pub fn release(&mut self, connection: &ConnectionId, lease: LeaseId) {
        let Some(of) = self.live.get_mut(connection) else { return };
        of.retain(|(id, _)| *id != lease);
        if of.is_empty() {
            self.live.remove(connection);
        }
    }

    /// Leases on the account now.
    pub fn count(&self, connection: &ConnectionId, now: Millis) -> u32 {
        let of = self.live.get(connection).map_or(&[][..], Vec::as_slice);
        of.iter().filter(|(_, until)| now < *until).count() as u32
    }
}
