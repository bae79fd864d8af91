//! What a combo remembers between requests: cursors, decks, runs, the last good target.
//!
//! The router keeps one per combo and takes the notes of a plan into it when the request is
//! really sent. Only the last good target is stored (routing 4.24): the rest is learnt anew in
//! a few requests.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::auto::Rests;
use crate::ids::{ById, ConnectionId, ModelId, ProviderId};

/// A run of requests that stay with one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sticky {
    /// Its execution key.
    pub key: Arc<str>,
    /// Turns in a row; a turn counts from its pick on, so that a burst does not lengthen the run.
    pub count: u32,
}

/// A shuffled deck: each is drawn once before any repeats (routing 4.14).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deck {
    /// The keys it was made of, in declared order.
    pub of: Arc<[Arc<str>]>,
    /// Those that are still to come, next one last.
    pub left: Vec<Arc<str>>,
    /// The one that was drawn last.
    pub last: Option<Arc<str>>,
}

/// Who served a combo last (routing 4.16).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastGood {
    /// The provider.
    pub provider: ProviderId,
    /// The account.
    pub connection: Option<ConnectionId>,
}

/// What a combo remembers.
#[derive(Clone, Debug, Default)]
pub struct ComboState {
    /// Where the next turn begins.
    pub cursor: u64,
    /// The run that is on.
    pub sticky: Option<Sticky>,
    /// Entries that were asked out of turn: each gives its next turn away.
    pub owing: HashSet<Arc<str>>,
    /// The deck.
    pub deck: Deck,
    /// Who served it last.
    pub last_good: Option<LastGood>,
    /// Providers that `auto` leaves alone.
    pub auto: Rests,
    /// Times it was asked by execution key, whatever came of it; the pick counts the first choice.
    pub uses: ById<Arc<str>, u64>,
}

/// What an order changes once it is taken.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// The next turn begins here.
    Cursor(u64),
    /// The run that is on from now.
    Sticky(Option<Sticky>),
    /// This entry has given its turn away.
    Paid(Arc<str>),
    /// The deck after the draw.
    Deck(Deck),
    /// This card was drawn, and so many of the deck are still to come.
    Card(Arc<str>, usize),
    /// An entry counts as used so often.
    Uses(Arc<str>, u64),
    /// The last good target is gone (routing 4.16).
    ForgetLastGood,
    /// The providers that `auto` leaves alone from now.
    Auto(Rests),
}

impl ComboState {
    /// Takes a note.
    pub fn take(&mut self, note: Note) {
        match note {
            Note::Cursor(cursor) => self.cursor = cursor,
            Note::Sticky(sticky) => self.sticky = sticky,
            Note::Paid(key) => drop(self.owing.remove(&key)),
            Note::Deck(deck) => self.deck = deck,
            Note::Card(card, left) => {
                self.deck.left.truncate(left);
                self.deck.last = Some(card);
            }
            Note::Uses(key, count) => drop(self.uses.insert(key, count)),
            Note::ForgetLastGood => self.last_good = None,
            Note::Auto(rests) => self.auto = rests,
        }
    }

    /// An entry is asked.
    pub fn used(&mut self, key: &Arc<str>) {
        *self.uses.entry(key.clone()).or_default() += 1;
    }
}

/// How an attempt on one of a combo's entries ended.
#[derive(Clone, Copy, Debug)]
pub struct News<'a> {
    /// Its execution key.
    pub key: &'a Arc<str>,
    /// Its index among the entries.
    pub entry: usize,
    /// How many entries there are.
    pub of: usize,
    /// It was the first choice of its plan, or another account of it.
    pub first: bool,
    /// Who was asked.
    pub provider: &'a ProviderId,
    /// On which account.
    pub connection: &'a ConnectionId,
    /// For which model.
    pub model: &'a ModelId,
    /// It served the request.
    pub good: bool,
}
