//! Which keys lease, and what they may lease (rules 7.1.1, 7.4.6, 7.6.9).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::EndReason;
use crate::ids::ConnectionId;

/// The known keys as leases see them.
#[derive(Clone, Debug, Default)]
pub struct Managed {
    /// The connections of each managed key; `None`: a key without the scope.
    keys: HashMap<Arc<str>, Option<Arc<[ConnectionId]>>>,
    /// All of them together: nobody else uses them.
    reserved: HashSet<ConnectionId>,
}

impl Managed {
    /// From every known key; `None` for those without the scope.
    pub fn new(keys: impl IntoIterator<Item = (Arc<str>, Option<Arc<[ConnectionId]>>)>) -> Self {
        let keys: HashMap<_, _> = keys.into_iter().collect();
        let reserved = keys.values().flatten().flat_map(|list| list.iter().cloned()).collect();
        Self { keys, reserved }
    }

    /// A managed key names this connection: a request without a lease never uses it.
    pub fn reserves(&self, connection: &ConnectionId) -> bool {
        self.reserved.contains(connection)
    }

    /// Why a key's lease of a connection may not go on; `None`: it may.
    pub fn revokes(&self, key: &str, connection: &ConnectionId) -> Option<EndReason> {
        match self.keys.get(key) {
            None => Some(EndReason::ManagedKeyRevoked),
            Some(Some(list)) if list.contains(connection) => None,
            Some(_) => Some(EndReason::AuthorizationChanged),
        }
    }
}
