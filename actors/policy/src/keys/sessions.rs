//! How many sessions a key has at once. A session is over when nothing was asked in it for a while
//! (decision 27a's quarter of an hour); requests that name none share one.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::time::{MINUTE, Millis};

/// A session without a request for so long is over, ms.
pub const SESSION_MS: Millis = 15 * MINUTE;

/// Sessions and their latest request. Clients choose the names: only their hashes are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions(HashMap<u64, Millis>);

fn id(session: Option<&str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    session.hash(&mut hasher);
    hasher.finish()
}

impl Sessions {
    /// How long until there is room for it; `None`: there is, or it is one of them.
    pub(super) fn wait(&mut self, session: Option<&str>, most: u32, now: Millis) -> Option<Millis> {
        if most == 0 {
            return None;
        }
        self.0.retain(|_, latest| latest.saturating_add(SESSION_MS) > now);
        if self.0.contains_key(&id(session)) || self.0.len() < most as usize {
            return None;
        }
        let mut ends: Vec<Millis> = self.0.values().map(|latest| latest + SESSION_MS).collect();
        ends.sort_unstable();
        // A limit that was lowered: so many must end first.
        Some(ends[ends.len() - most as usize] - now)
    }

    /// It is asked in.
    pub(super) fn note(&mut self, session: Option<&str>, now: Millis) {
        self.0.insert(id(session), now);
    }
}
