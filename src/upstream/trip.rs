//! What one request saw of its connection while it was being sent.
//!
//! The client's errors do not tell a pooled connection that had died from one that was
//! opened for the request, nor whether a byte of an answer had come. The layers below it
//! run in the request's own task, so they note it here. Behind a request nobody listens:
//! a body that is still being read notes nothing.

use std::cell::Cell;
use std::net::IpAddr;

use policy::verdict::Transport;

/// The notes of one request.
#[derive(Clone, Default)]
pub(super) struct Trip {
    /// It opened a connection of its own, or tried to.
    pub(super) dialled: Cell<bool>,
    /// From which address.
    pub(super) from: Cell<Option<IpAddr>>,
    /// Why that failed.
    pub(super) failed: Cell<Option<Transport>>,
    /// A byte came after the last one that was written.
    pub(super) heard: Cell<bool>,
}

tokio::task_local! {
    static TRIP: Trip;
}

impl Trip {
    /// It went out on a connection that had been open before, and nothing came back.
    pub(super) fn was_stale(&self) -> bool {
        !self.dialled.get() && !self.heard.get()
    }
}

/// Runs `sending`; what it came to, and the notes.
pub(super) async fn tracked<F: Future>(sending: F) -> (F::Output, Trip) {
    TRIP.scope(Trip::default(), async {
        let sent = sending.await;
        (sent, TRIP.with(Trip::clone))
    })
    .await
}

/// Notes something, if a request is being sent.
pub(super) fn note(write: impl FnOnce(&Trip)) {
    let _ = TRIP.try_with(write);
}
