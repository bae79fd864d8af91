//! The latest reading of each account. Memory of the router, not stored: the next answer tells
//! it anew.

use super::AccountReading;
use crate::ids::{ById, ConnectionId};

/// Accounts that are remembered at most.
pub const MOST: usize = 10_000;

/// Readings by account.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    latest: ById<ConnectionId, AccountReading>,
}

impl Readings {
    /// Takes a reading. Answers may come out of order: an older one than the known is dropped.
    pub fn read(&mut self, connection: &ConnectionId, reading: AccountReading) {
        if let Some(known) = self.latest.get_mut(connection) {
            if reading.seen_at >= known.seen_at {
                known.join(reading);
            }
            return;
        }
        if self.latest.len() >= MOST {
            let oldest = self.latest.iter().min_by_key(|(_, reading)| reading.seen_at);
            if let Some(oldest) = oldest.map(|(connection, _)| connection.clone()) {
                self.latest.remove(&oldest);
            }
        }
        self.latest.insert(connection.clone(), reading);
    }

    /// The latest of an account.
    pub fn get(&self, connection: &ConnectionId) -> Option<&AccountReading> {
        self.latest.get(connection)
    }

    /// A connection that is gone.
    pub fn forget(&mut self, connection: &ConnectionId) {
        self.latest.remove(connection);
    }
}
