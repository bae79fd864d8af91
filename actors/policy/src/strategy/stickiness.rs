//! Which connection served a session last: so that the next request of it goes there too
//! (routing 3.2-3.4). A plain map; whoever owns it decides whether it is asked at all.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ids::ConnectionId;
use crate::time::{MINUTE, Millis};

/// Ties that are kept; beyond them the one that was used least lately goes.
const MOST: usize = 500;
/// A tie ends so long after its last use.
const LIFETIME: Millis = 15 * MINUTE;

/// A combo and the key of a session in it.
type Session = (Arc<str>, Arc<str>);

#[derive(Clone, Debug)]
struct Tie {
    connection: ConnectionId,
    used_at: Millis,
    /// Grows with each use: two of one millisecond have an order too.
    turn: u64,
}

/// Ties of sessions to connections, each within one combo.
#[derive(Clone, Debug, Default)]
pub struct Stickiness {
    ties: HashMap<Session, Tie>,
    turns: u64,
}

impl Stickiness {
    /// The connection that a session is tied to.
    pub fn bound(&self, combo: &Arc<str>, session: &Arc<str>, now: Millis) -> Option<&ConnectionId> {
        let tie = self.ties.get(&(combo.clone(), session.clone()))?;
        (now < tie.used_at.saturating_add(LIFETIME)).then_some(&tie.connection)
    }

    /// The connection has served the session.
    pub fn tie(&mut self, combo: &Arc<str>, session: &Arc<str>, connection: &ConnectionId, now: Millis) {
        let session = (combo.clone(), session.clone());
        if self.ties.len() >= MOST && !self.ties.contains_key(&session) {
            self.drop_oldest();
        }
        self.turns += 1;
        let tie = Tie { connection: connection.clone(), used_at: now, turn: self.turns };
        self.ties.insert(session, tie);
    }

    /// The connection has failed the session, or answered badly; a tie to another one stays.
    pub fn untie(&mut self, combo: &Arc<str>, session: &Arc<str>, connection: &ConnectionId) {
        let session = (combo.clone(), session.clone());
        if self.ties.get(&session).is_some_and(|tie| tie.connection == *connection) {
            self.ties.remove(&session);
        }
    }

    /// Stickiness of the combo was turned off.
    pub fn forget(&mut self, combo: &str) {
        self.ties.retain(|(of, _), _| **of != *combo);
    }

    fn drop_oldest(&mut self) {
        let oldest = self.ties.iter().min_by_key(|(_, tie)| tie.turn);
        if let Some(session) = oldest.map(|(session, _)| session.clone()) {
            self.ties.remove(&session);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{LIFETIME, MOST, Stickiness};

    fn text(text: &str) -> Arc<str> {
        text.into()
    }

    fn bound(ties: &Stickiness, combo: &str, session: &str, now: u64) -> Option<String> {
        ties.bound(&text(combo), &text(session), now).map(ToString::to_string)
    }

    #[test]
    fn a_tie_lasts_fifteen_minutes_from_its_last_use() {
        let mut ties = Stickiness::default();
        ties.tie(&text("x"), &text("s"), &"c1".into(), 0);
        assert_eq!(bound(&ties, "x", "s", 899_999).as_deref(), Some("c1"));
        assert_eq!(bound(&ties, "x", "s", 900_000), None);
        ties.tie(&text("x"), &text("s"), &"c1".into(), 899_999);
        assert_eq!(bound(&ties, "x", "s", 899_998 + LIFETIME).as_deref(), Some("c1"));
    }

    #[test]
    fn a_tie_is_of_one_combo() {
        let mut ties = Stickiness::default();
        ties.tie(&text("x"), &text("s"), &"c1".into(), 0);
        ties.tie(&text("y"), &text("s"), &"c2".into(), 0);
        assert_eq!(bound(&ties, "y", "s", 1).as_deref(), Some("c2"));
        ties.forget("y");
        assert_eq!((bound(&ties, "y", "s", 1), bound(&ties, "x", "s", 1).as_deref()), (None, Some("c1")));
    }

    /// Routing 3.3: a tie ends with a failure of its own connection, not of another one.
    #[test]
    fn only_its_own_connection_ends_a_tie() {
        let mut ties = Stickiness::default();
        ties.tie(&text("x"), &text("s"), &"c1".into(), 0);
        ties.untie(&text("x"), &text("s"), &"c2".into());
        assert!(bound(&ties, "x", "s", 1).is_some());
        ties.untie(&text("x"), &text("s"), &"c1".into());
        assert_eq!(bound(&ties, "x", "s", 1), None);
    }

    #[test]
    fn five_hundred_are_kept_and_the_longest_unused_goes() {
        let mut ties = Stickiness::default();
        for session in 0..MOST {
            ties.tie(&text("x"), &text(&session.to_string()), &"c".into(), 0);
        }
        ties.tie(&text("x"), &text("0"), &"c".into(), 0);
        ties.tie(&text("x"), &text("new"), &"c".into(), 0);
        assert_eq!(ties.ties.len(), 500);
        assert_eq!(bound(&ties, "x", "1", 1), None);
        assert!(["0", "2", "new"].iter().all(|session| bound(&ties, "x", session, 1).is_some()));
    }
}
