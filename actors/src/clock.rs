//! The one clock: epoch ms on top of tokio's pausable instant, so that saved
//! deadlines, live ones and paused tests all speak the same number.

use std::time::{SystemTime, UNIX_EPOCH};

use policy::time::Millis;
use tokio::time::Instant;

/// Tells epoch ms. Read once at the top of a handler.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: Millis,
    start: Instant,
}

impl Clock {
    /// A clock that agrees with the wall now.
    pub fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::at(wall.as_millis() as Millis)
    }

    /// A clock that says `wall` now: for tests and replays.
    pub fn at(wall: Millis) -> Self {
        Self { wall, start: Instant::now() }
    }

    /// Epoch ms.
    pub fn now(&self) -> Millis {
        self.wall + self.start.elapsed().as_millis() as Millis
    }
}
