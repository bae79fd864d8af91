//! Every change of a state, told once and in order to whoever listens (contract 4, `GET /api/events`).
//!
//! The latest lie in one ring that each listener reads at its own pace: who tells never waits, and
//! who reads too slowly hears how many it missed. The ring stays when a listener leaves, so that it
//! can go on where it was. Until somebody has listened for the first time, to tell costs one look.

mod told;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use policy::time::Millis;
use tokio::sync::Notify;

pub use told::{Event, What};

/// Events that are kept: a reset of a thousand connections fits.
pub const KEPT: usize = 1024;
/// Who may listen at once.
pub const MOST_LISTENERS: usize = 64;
/// Most events that a listener is given at once.
const AT_ONCE: usize = 64;

/// Why somebody may not listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deaf {
    /// As many listen as may.
    TooMany,
    /// The process ends.
    Closed,
}

/// What a listener is given.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// The next events.
    Told(Vec<Arc<Event>>),
    /// Some are not kept any more.
    Missed {
        /// How many; `None`: nobody knows, they are of an earlier process.
        count: Option<u64>,
        /// The id of the last one that is missed.
        last: u64,
    },
}

#[derive(Debug, Default)]
struct Ring {
    /// The id of the first event that this process could tell; 0: nobody has listened yet.
    begun: u64,
    /// The id of the next one.
    next: u64,
    kept: VecDeque<Arc<Event>>,
}

impl Ring {
    fn oldest(&self) -> u64 {
        self.next - self.kept.len() as u64
    }
}

/// The ring and who reads it.
#[derive(Debug, Default)]
pub struct Events {
    heard: AtomicBool,
    closed: AtomicBool,
    listeners: AtomicUsize,
    ring: Mutex<Ring>,
    news: Notify,
}

impl Events {
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody has listened once: what happens is kept from then on.
    fn is_heard(&self) -> bool {
        self.heard.load(Ordering::Acquire)
    }

    /// Keeps it and wakes who listens.
    fn tell(&self, mut event: Event) {
        let mut ring = self.ring();
        event.id = ring.next;
        ring.next += 1;
        if ring.kept.len() == KEPT {
            ring.kept.pop_front();
        }
        ring.kept.push_back(Arc::new(event));
        drop(ring);
        self.news.notify_waiters();
    }

    /// Listens from now on, or from behind the event with this id. Ids rise over restarts of the
    /// process, so one of an earlier life is known as such.
    pub fn listen(self: &Arc<Self>, after: Option<u64>, now: Millis) -> Result<Listener, Deaf> {
        let enter = |count: usize| (count < MOST_LISTENERS).then_some(count + 1);
        if self.closed.load(Ordering::SeqCst) {
            return Err(Deaf::Closed);
        }
        if self.listeners.fetch_update(Ordering::SeqCst, Ordering::SeqCst, enter).is_err() {
            return Err(Deaf::TooMany);
        }
        let mut ring = self.ring();
        if ring.begun == 0 {
            // Room for a thousand events in each ms, and JSON numbers can still tell them apart.
            ring.begun = now.max(1) * 1_000;
            ring.next = ring.begun;
            self.heard.store(true, Ordering::Release);
        }
        let next = after.map_or(ring.next, |after| after.saturating_add(1));
        let is_known = (ring.begun..=ring.next).contains(&next);
        let next = if is_known { next } else { ring.next };
        Ok(Listener { events: self.clone(), next, lost: !is_known })
    }

    /// Everybody who listens is told that it ends, and nobody may any more.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.news.notify_waiters();
    }
}

/// One who listens; it makes room when it is dropped.
#[derive(Debug)]
pub struct Listener {
    events: Arc<Events>,
    next: u64,
    lost: bool,
}

impl Listener {
    /// The id of the event before those that are still to come.
    pub fn last(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    /// What is next; `None`: nothing will be.
    pub async fn next(&mut self) -> Option<News> {
        loop {
            let events = self.events.clone();
            let told = events.news.notified();
            tokio::pin!(told);
            // Listening starts before the look, so that news between them is not missed.
            told.as_mut().enable();
            if self.events.closed.load(Ordering::SeqCst) {
                return None;
            }
            match self.take() {
                Some(news) => return Some(news),
                None => told.await,
            }
        }
    }

    fn take(&mut self) -> Option<News> {
        let ring = self.events.ring();
        if std::mem::take(&mut self.lost) {
            return Some(News::Missed { count: None, last: self.next.saturating_sub(1) });
        }
        let oldest = ring.oldest();
        if self.next < oldest {
            let count = Some(oldest - self.next);
            self.next = oldest;
            return Some(News::Missed { count, last: oldest - 1 });
        }
        let from = (self.next - oldest) as usize;
        let events: Vec<_> = ring.kept.iter().skip(from).take(AT_ONCE).cloned().collect();
        self.next += events.len() as u64;
        (!events.is_empty()).then_some(News::Told(events))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.events.listeners.fetch_sub(1, Ordering::SeqCst);
    }
}
