//! Who is logged in, and how wrong tokens are answered (contract 4: the dashboard's cookie).
//!
//! A session stands for the credential that opened it and for nothing more: whoever asks looks
//! up what that credential may do now, so it ends with its token or key. Session ids come in as
//! digests; who has read this value cannot log in with it.

use std::collections::VecDeque;
use std::fmt;

use crate::time::{HOUR, Millis, SECOND};

/// SHA-256 of a session id, a token or a key.
pub type Digest = [u8; 32];

/// How long a session lasts from its login on, ms.
pub const LIFE_MS: Millis = 12 * HOUR;
/// Sessions at once; the oldest makes room.
pub const MOST: usize = 1_000;
/// How long the answer to a wrong token is held back, ms.
pub const PAUSE_MS: Millis = SECOND / 2;
/// Wrong tokens whose answers are held back at once; one more is refused unheld.
pub const MOST_HELD: usize = 32;
/// Wrong tokens are told so often at most, ms.
pub const TOLD_EVERY_MS: Millis = 10 * SECOND;

#[derive(Clone, Copy)]
struct Session {
    id: Digest,
    credential: Digest,
    ends_at: Millis,
}

/// Who is logged in, the oldest first.
#[derive(Clone, Default)]
pub struct Sessions(VecDeque<Session>);

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sessions", self.0.len())
    }
}

impl Sessions {
    /// Opens one that stands for this credential.
    pub fn open(&mut self, id: Digest, credential: Digest, now: Millis) {
        self.0.retain(|session| now < session.ends_at);
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(Session { id, credential, ends_at: now.saturating_add(LIFE_MS) });
    }

    /// The credential that an open one stands for.
    pub fn credential(&self, id: &Digest, now: Millis) -> Option<Digest> {
        let found = self.0.iter().find(|session| session.id == *id && now < session.ends_at);
        found.map(|session| session.credential)
    }

    /// Ends one.
    pub fn close(&mut self, id: &Digest) {
        self.0.retain(|session| session.id != *id);
    }

    /// Ends all of a credential that opens nothing any more.
    pub fn forget(&mut self, credential: &Digest) {
        self.0.retain(|session| session.credential != *credential);
    }
}

/// What is done about a wrong token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Its answer is held back; else as many are as may be, and it is told to come later.
    pub held: bool,
    /// So many wrong ones came since the last that were told.
    pub told: Option<u64>,
}

/// Wrong tokens. Only they wait: nobody who guesses keeps the operator out.
#[derive(Clone, Debug, Default)]
pub struct Guesses {
    held: usize,
    untold: u64,
    told_at: Option<Millis>,
}

impl Guesses {
    /// One came.
    pub fn wrong(&mut self, now: Millis) -> Wrong {
        let held = self.held < MOST_HELD;
        self.held += usize::from(held);
        self.untold += 1;
        let due = self.told_at.is_none_or(|at| now.saturating_sub(at) >= TOLD_EVERY_MS);
        let told = due.then(|| std::mem::take(&mut self.untold));
        if due {
            self.told_at = Some(now);
        }
        Wrong { held, told }
    }

    /// The answer of one that was held has gone.
    pub fn answered(&mut self) {
        self.held = self.held.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::{Guesses, LIFE_MS, MOST, MOST_HELD, Sessions, TOLD_EVERY_MS, Wrong};

    const NOW: u64 = 1_800_000_000_000;

    fn digest(number: usize) -> [u8; 32] {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&(number as u64).to_be_bytes());
        digest
    }

    #[test]
    fn a_session_stands_for_its_credential_for_twelve_hours() {
        let mut sessions = Sessions::default();
        sessions.open(digest(1), digest(100), NOW);
        assert_eq!(LIFE_MS, 12 * 60 * 60 * 1_000);
        assert_eq!(sessions.credential(&digest(1), NOW), Some(digest(100)));
        assert_eq!(sessions.credential(&digest(1), NOW + LIFE_MS - 1), Some(digest(100)));
        assert_eq!(sessions.credential(&digest(1), NOW + LIFE_MS), None);
        assert_eq!(sessions.credential(&digest(100), NOW), None, "a credential is no session");
    }

    #[test]
    fn a_closed_one_is_gone_and_the_others_stay() {
        let mut sessions = Sessions::default();
        for (id, credential) in [(1, 100), (2, 100), (3, 200), (4, 200)] {
            sessions.open(digest(id), digest(credential), NOW);
        }
        let open = |sessions: &Sessions| {
            (1..=4).filter(|id| sessions.credential(&digest(*id), NOW).is_some()).collect::<Vec<_>>()
        };
        sessions.close(&digest(2));
        assert_eq!(open(&sessions), [1, 3, 4]);
        sessions.forget(&digest(200));
        assert_eq!(open(&sessions), [1]);
    }

    #[test]
    fn the_oldest_makes_room_and_those_that_ended_go_first() {
        let mut sessions = Sessions::default();
        for id in 0..=MOST {
            sessions.open(digest(id), digest(0), NOW + id as u64);
        }
        let at = NOW + MOST as u64;
        let open = |sessions: &Sessions, id: usize, at| sessions.credential(&digest(id), at).is_some();
        assert!(!open(&sessions, 0, at) && open(&sessions, 1, at) && open(&sessions, MOST, at));
        // All but the two newest have ended: nobody else has to go.
        let later = NOW + LIFE_MS + MOST as u64 - 2;
        sessions.open(digest(MOST + 1), digest(0), later);
        assert!(open(&sessions, MOST - 1, later) && open(&sessions, MOST, later));
        assert_eq!(sessions.0.len(), 3);
    }

    #[test]
    fn so_many_wrong_ones_are_held_at_once_and_no_more() {
        let mut guesses = Guesses::default();
        let held = (0..MOST_HELD + 2).filter(|_| guesses.wrong(NOW).held).count();
        assert_eq!(held, MOST_HELD);
        guesses.answered();
        assert!(guesses.wrong(NOW).held);
        assert!(!guesses.wrong(NOW).held);
    }

    #[test]
    fn the_first_is_told_at_once_and_the_rest_as_a_number() {
        let mut guesses = Guesses::default();
        let mut told = |at| {
            let Wrong { told, .. } = guesses.wrong(at);
            guesses.answered();
            told
        };
        assert_eq!(told(NOW), Some(1));
        assert_eq!([told(NOW), told(NOW + 1), told(NOW + TOLD_EVERY_MS - 1)], [None; 3]);
        assert_eq!(told(NOW + TOLD_EVERY_MS), Some(4));
        assert_eq!(told(NOW + TOLD_EVERY_MS), None);
    }
}
