//! So many requests in any window of a length: a sliding one, so that no moment sees twice as many.
//!
//! Requests that come close to each other share a slot, which leaves with its last one: memory is
//! bounded by the window and not by the limit, and nothing is let through too early.

use std::collections::VecDeque;

use crate::time::Millis;

/// Slots of a window: a wait is at most this part of the window too long.
const SLOTS: Millis = 1_000;

/// A limit of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Requests.
    pub limit: u64,
    /// In any span of this length, ms.
    pub window_ms: Millis,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    first: Millis,
    last: Millis,
    count: u64,
}

/// The requests of one window.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    slots: VecDeque<Slot>,
    total: u64,
}

impl Log {
    /// How long until one more fits; `None`: it fits now.
    pub(super) fn wait(&mut self, rate: Rate, now: Millis) -> Option<Millis> {
        while let Some(slot) = self.slots.front().copied()
            && slot.last.saturating_add(rate.window_ms) <= now
        {
            self.total -= slot.count;
            self.slots.pop_front();
        }
        // So many of the oldest must leave first.
        let mut surplus = (self.total + 1).saturating_sub(rate.limit);
        for slot in &self.slots {
            if surplus == 0 {
                break;
            }
            if surplus <= slot.count {
                return Some((slot.last + rate.window_ms).saturating_sub(now).max(1));
            }
            surplus -= slot.count;
        }
        // A limit of nothing is not one of these: it never passes.
        (surplus > 0).then_some(rate.window_ms)
    }

    /// One was let through.
    pub(super) fn count(&mut self, rate: Rate, now: Millis) {
        self.total += 1;
        let width = (rate.window_ms / SLOTS).max(1);
        match self.slots.back_mut().filter(|slot| now < slot.first.saturating_add(width)) {
            Some(slot) => {
                slot.last = slot.last.max(now);
                slot.count += 1;
            }
            None => self.slots.push_back(Slot { first: now, last: now, count: 1 }),
        }
    }
}
