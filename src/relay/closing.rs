//! The word that a shutdown has begun. What flows may end in its grace; who only waits, for a slot
//! or for a rest to pass, is sent away at once (FC-062).

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Said once, heard by all who wait then and later.
#[derive(Debug, Default)]
pub struct Closing {
    begun: AtomicBool,
    told: Notify,
}

impl Closing {
    /// The shutdown begins.
    pub fn begin(&self) {
        self.begun.store(true, Ordering::SeqCst);
        self.told.notify_waiters();
    }

    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        self.begun.load(Ordering::SeqCst)
    }

    /// Resolves when it has begun.
    pub async fn begun(&self) {
        let told = self.told.notified();
        tokio::pin!(told);
        // Listening starts before the look, so that a word between them is not missed.
        told.as_mut().enable();
        if !self.has_begun() {
            told.await;
        }
    }
}
