//! In which order the accounts of a shared model are asked (flow 2.16-2.23).
//!
//! Saturation, caps, deficit round robin, then the better of the first two by requests in
//! flight. Nothing is refused: who should not be asked is asked last (fail open, twice).

use std::cmp::Ordering;
use std::sync::Arc;

use super::credit::Credits;
use crate::ids::ConnectionId;

/// One account that may be asked.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// Its connection.
    pub connection: ConnectionId,
    /// Its part; what is not a number above 0 counts as 1.
    pub weight: f64,
    /// A window of its quota is used up.
    pub saturated: bool,
    /// Requests in flight.
    pub in_flight: u32,
    /// The most it may have; 0: no cap.
    pub cap: u32,
}

impl Entrant {
    fn weight(&self) -> f64 {
        if self.weight.is_finite() && self.weight > 0.0 { self.weight } else { 1.0 }
    }

    fn has_room(&self) -> bool {
        self.cap == 0 || self.in_flight < self.cap
    }
}

/// An order, and who paid for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Every entrant once, by index; the first one is to be asked first.
    pub order: Vec<usize>,
    /// The first one was charged. One that had no rival was not (flow 2.20).
    pub charged: bool,
}

/// Orders the accounts and charges the first one.
pub fn select(entrants: &[Entrant], combo: &Arc<str>, credits: &mut Credits) -> Selection {
    let all: Vec<usize> = (0..entrants.len()).collect();
    let (eligible, saturated) = split(&all, |index| !entrants[index].saturated);
    let (mut order, at_cap) = split(&eligible, |index| entrants[index].has_room());
    let charged = order.len() > 1;
    if charged {
        draw(entrants, combo, credits, &mut order);
    }
    order.extend(at_cap);
    order.extend(saturated);
    Selection { order, charged }
}

/// Those that pass and those that do not; if none does, all do.
fn split(indices: &[usize], passes: impl Fn(usize) -> bool) -> (Vec<usize>, Vec<usize>) {
    let (passing, others): (Vec<usize>, Vec<usize>) = indices.iter().partition(|index| passes(**index));
    if passing.is_empty() { (others, passing) } else { (passing, others) }
}

/// Everybody gains its part, the one that is owed most goes first and pays; if the second one
/// has fewer in flight it goes first and pays instead (decision 16).
fn draw(entrants: &[Entrant], combo: &Arc<str>, credits: &mut Credits, order: &mut [usize]) {
    let sum: f64 = order.iter().map(|index| entrants[*index].weight()).sum();
    for index in order.iter() {
        let entrant = &entrants[*index];
        credits.add(combo, &entrant.connection, entrant.weight() / sum);
    }
    let owed = |index: &usize| credits.of(combo, &entrants[*index].connection);
    // A stable sort: ties keep the declared order.
    order.sort_by(|a, b| owed(b).partial_cmp(&owed(a)).unwrap_or(Ordering::Equal));
    if entrants[order[1]].in_flight < entrants[order[0]].in_flight {
        order.swap(0, 1);
    }
    credits.add(combo, &entrants[order[0]].connection, -1.0);
}
