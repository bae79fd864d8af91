//! A cap that spans several connections: of the process, or of a provider (flow 1.9).
//!
//! Its places are tried, never waited for: a connection takes them first, gives them back if
//! anything below holds the request, and only then lets it wait. So no request ever holds a place
//! here while it waits elsewhere. The count lives outside every actor, so that taking all levels
//! is one step of the connection's actor although the levels have several owners. A place that
//! comes back wakes one waiting connection; one that has no use for it passes the word on.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use policy::limiter::{Limiter, LimiterSettings, Pace};
use policy::time::Millis;

use crate::connection::{ConnectionShared, Look};

/// The numbers of a ceiling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CeilingSettings {
    /// Requests at once; 0: no cap.
    pub cap: u32,
    /// Requests in a minute; 0: no limit (flow 4.4).
    pub rpm: u32,
}

/// The cap.
#[derive(Default)]
pub struct Ceiling {
    taken: AtomicU32,
    cap: AtomicU32,
    /// Requests in a minute; 0: the window is not asked.
    rpm: AtomicU32,
    window: Mutex<Option<Limiter>>,
    /// Connections with somebody in line for a place here.
    line: Mutex<VecDeque<Arc<ConnectionShared>>>,
    waiting: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ceiling {
    /// Changes the numbers; nobody is dropped, and who waits is woken.
    pub fn configure(&self, settings: CeilingSettings, now: Millis) {
        let mut window = lock(&self.window);
        let numbers = LimiterSettings::of_window(settings.rpm);
        match (&mut *window, settings.rpm) {
            (window, 0) => *window = None,
            (Some(window), _) => window.configure(numbers, now),
            (window, _) => *window = Some(Limiter::new(numbers, now)),
        }
        drop(window);
        self.rpm.store(settings.rpm, Ordering::SeqCst);
        self.cap.store(settings.cap, Ordering::SeqCst);
        for connection in std::mem::take(&mut *lock(&self.line)) {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            connection.mailbox.post(Look);
        }
    }

    /// Takes a place. Without one: when asking again may help, if time alone will (the window), else
    /// `None`: a place must come back.
    pub fn try_take(self: &Arc<Self>, now: Millis) -> Result<Place, Option<Millis>> {
        if self.rpm.load(Ordering::SeqCst) == 0 {
            return self.take_place().ok_or(None);
        }
        let mut window = lock(&self.window);
        let Some(window) = &mut *window else { return self.take_place().ok_or(None) };
        if let Pace::Until(at) = window.pace(now) {
            return Err(Some(at));
        }
        let place = self.take_place().ok_or(None)?;
        window.start(now);
        window.finish(now);
        Ok(place)
    }

    fn take_place(self: &Arc<Self>) -> Option<Place> {
        let cap = self.cap();
        let one_more = |taken| (cap == 0 || taken < cap).then_some(taken + 1);
        let taken = self.taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more);
        taken.is_ok().then(|| Place(self.clone()))
    }

    /// Requests that hold a place.
    pub fn taken(&self) -> u32 {
        self.taken.load(Ordering::SeqCst)
    }

    /// The cap; 0: none.
    pub fn cap(&self) -> u32 {
        self.cap.load(Ordering::SeqCst)
    }

    /// Connections that wait for a place.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    pub(crate) fn has_room(&self) -> bool {
        let cap = self.cap();
        cap == 0 || self.taken() < cap
    }

    /// The connection wants to hear of the next place.
    pub(crate) fn enlist(&self, connection: &Arc<ConnectionShared>) {
        let mut line = lock(&self.line);
        if !line.iter().any(|waiting| Arc::ptr_eq(waiting, connection)) {
            line.push_back(connection.clone());
            self.waiting.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Wakes the connection that has waited longest, if there is room.
    pub(crate) fn wake(&self) {
        if self.waiting() == 0 || !self.has_room() {
            return;
        }
        let next = lock(&self.line).pop_front();
        if let Some(connection) = next {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            connection.mailbox.post(Look);
        }
    }
}

/// One taken place; dropped, whatever ended the request, it returns.
pub struct Place(Arc<Ceiling>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::SeqCst);
        self.0.wake();
    }
}
