//! How many sessions an account has seen lately (decision 27a): process-local and soft, never
//! stored, never a reason to refuse.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ids::{ById, ConnectionId};
use crate::time::{MINUTE, Millis};

/// How long a session counts after its last request, ms.
const REMEMBERED_MS: Millis = 15 * MINUTE;
/// Sessions of one account that are told apart; beyond it they all count alike.
const MOST: usize = 512;

/// Sessions by account, with their last request.
#[derive(Clone, Debug, Default)]
pub struct Occupancy {
    seen: ById<ConnectionId, HashMap<Arc<str>, Millis>>,
}

impl Occupancy {
    /// The account serves the session.
    pub fn saw(&mut self, connection: &ConnectionId, session: &Arc<str>, now: Millis) {
        let sessions = self.seen.entry(connection.clone()).or_default();
        if sessions.len() >= MOST && !sessions.contains_key(session) {
            sessions.retain(|_, at| is_recent(*at, now));
        }
        if sessions.len() < MOST || sessions.contains_key(session) {
            sessions.insert(session.clone(), now);
        }
    }

    /// Sessions of the last quarter of an hour.
    pub fn count(&self, connection: &ConnectionId, now: Millis) -> u32 {
        let sessions = self.seen.get(connection);
        sessions.map_or(0, |sessions| sessions.values().filter(|at| is_recent(**at, now)).count() as u32)
    }

    /// An account that is gone.
    pub fn forget(&mut self, connection: &ConnectionId) {
        self.seen.remove(connection);
    }
}

fn is_recent(at: Millis, now: Millis) -> bool {
    now.saturating_sub(at) < REMEMBERED_MS
}

#[cfg(test)]
mod tests {
    use super::{MOST, Occupancy, REMEMBERED_MS};
    use crate::ids::ConnectionId;

    /// Decision 27a.
    #[test]
    fn a_session_counts_for_a_quarter_of_an_hour() {
        let (mut seen, c1) = (Occupancy::default(), ConnectionId::from("c1"));
        seen.saw(&c1, &"s1".into(), 0);
        seen.saw(&c1, &"s1".into(), 1_000);
        seen.saw(&c1, &"s2".into(), 2_000);
        assert_eq!(seen.count(&c1, 2_000), 2);
        assert_eq!(seen.count(&c1, REMEMBERED_MS + 999), 2);
        assert_eq!(seen.count(&c1, REMEMBERED_MS + 1_000), 1);
        assert_eq!(seen.count(&"c2".into(), 2_000), 0);
        seen.forget(&c1);
        assert_eq!(seen.count(&c1, 2_000), 0);
    }

    #[test]
    fn old_sessions_make_room_and_their_number_is_bounded() {
        let (mut seen, c1) = (Occupancy::default(), ConnectionId::from("c1"));
        for session in 0..MOST + 10 {
            seen.saw(&c1, &format!("{session}").into(), 0);
        }
        assert_eq!(seen.count(&c1, 0), MOST as u32);
        seen.saw(&c1, &"new".into(), REMEMBERED_MS);
        assert_eq!(seen.count(&c1, REMEMBERED_MS), 1);
    }
}
