//! How many requests one target of a `round-robin` combo takes at once, where the operator says so
//! and its connection has no cap of its own (routing 8.7).
//!
//! A request takes its berth before it asks for the connection and keeps it to the end of its
//! answer; who waits for one holds nothing. Those who wait stand in one line for each target, first
//! come, first served, and have left it when they are dropped. The counts live beside the router,
//! so that no owner's death loses any, and are no owner's: they say nothing of a connection.
//!
//! A target needs no pause of its own after a 429 or a 5xx: its account rests, so its line empties at
//! once and no plan leads there until the rest is over, however that ends.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use policy::plan::{self, Place};
use tokio::sync::oneshot;

/// A combo, and the key of a target in it.
type Name = (Arc<str>, Arc<str>);

/// The berths of all targets; those that nobody uses have no entry.
#[derive(Debug, Default)]
pub struct Berths {
    piers: Mutex<HashMap<Name, Pier>>,
}

/// The berths of one target.
#[derive(Debug, Default)]
struct Pier {
    most: u32,
    taken: u32,
    line: VecDeque<(u64, oneshot::Sender<Berth>)>,
    last_ticket: u64,
}

/// One berth; dropped, whatever ended the request, it returns.
#[derive(Debug)]
pub struct Berth {
    /// `None`: it was handed to somebody who had gone, and is counted back already.
    of: Option<(Arc<Berths>, Name)>,
}

/// A place in line; dropped, it is given up.
#[derive(Debug)]
pub struct InLine {
    berths: Arc<Berths>,
    name: Name,
    ticket: u64,
    turn: oneshot::Receiver<Berth>,
}

/// What became of a request that asked for a berth.
#[derive(Debug)]
pub enum Moored {
    /// It has one.
    In(Berth),
    /// It stands in line.
    Waits(InLine),
    /// As many wait as may.
    Full,
}

impl Berths {
    /// Asks for a berth at a place, with the numbers as they are now.
    pub fn take(self: &Arc<Self>, place: &Place, numbers: plan::Berths) -> Moored {
        let name = (place.combo.clone(), place.key.clone());
        let mut piers = self.piers();
        let pier = piers.entry(name.clone()).or_default();
        pier.most = numbers.most;
        // There may be more room than there was.
        self.hand_out(pier, &name);
        if pier.has_room() {
            pier.taken += 1;
            return Moored::In(Berth { of: Some((self.clone(), name)) });
        }
        if pier.line.len() >= numbers.depth as usize {
            return Moored::Full;
        }
        let (tell, turn) = oneshot::channel();
        pier.last_ticket += 1;
        let ticket = pier.last_ticket;
        pier.line.push_back((ticket, tell));
        Moored::Waits(InLine { berths: self.clone(), name, ticket, turn })
    }

    /// Berths that are taken and requests that wait, over all targets.
    pub fn counts(&self) -> (usize, usize) {
        let piers = self.piers();
        let taken = piers.values().map(|pier| pier.taken as usize).sum();
        (taken, piers.values().map(|pier| pier.line.len()).sum())
    }

    /// Targets that somebody uses.
    pub fn in_use(&self) -> usize {
        self.piers().len()
    }

    fn piers(&self) -> MutexGuard<'_, HashMap<Name, Pier>> {
        self.piers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives what is free to those who wait.
    fn hand_out(self: &Arc<Self>, pier: &mut Pier, name: &Name) {
        while pier.has_room_for_line() {
            let Some((_, tell)) = pier.line.pop_front() else { return };
            let berth = Berth { of: Some((self.clone(), name.clone())) };
            match tell.send(berth) {
                Ok(()) => pier.taken += 1,
                // He has gone. The berth was not counted, and must not come back through the lock.
                Err(mut berth) => berth.of = None,
            }
        }
    }

    fn change(self: &Arc<Self>, name: &Name, change: impl FnOnce(&mut Pier)) {
        let mut piers = self.piers();
        let Some(pier) = piers.get_mut(name) else { return };
        change(pier);
        self.hand_out(pier, name);
        if pier.taken == 0 && pier.line.is_empty() {
            piers.remove(name);
        }
    }
}

impl Pier {
    fn has_room(&self) -> bool {
        self.taken < self.most && self.line.is_empty()
    }

    fn has_room_for_line(&self) -> bool {
        self.taken < self.most && !self.line.is_empty()
    }
}

impl InLine {
    /// Waits for its turn.
    pub async fn turn(mut self) -> Option<Berth> {
        // The sender stays in line as long as this does.
        (&mut self.turn).await.ok()
    }
}

impl Drop for InLine {
    fn drop(&mut self) {
        let ticket = self.ticket;
        self.berths.change(&self.name, |pier| pier.line.retain(|(other, _)| *other != ticket));
    }
}

impl Drop for Berth {
    fn drop(&mut self) {
        if let Some((berths, name)) = self.of.take() {
            berths.change(&name, |pier| pier.taken -= 1);
        }
    }
}
