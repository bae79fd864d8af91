//! What a wait stated in the body of a 429 means for the line (flow 4.23–4.26).

use crate::time::{DAY, Millis};

/// The longest lock of a model, ms (flow 4.24).
const LONGEST_LOCK_MS: Millis = DAY;

/// What is done with a stated wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stated {
    /// Short enough to wait in line: pause the limiter, bar nothing.
    Pace,
    /// Lock the exact model on that connection for so long, ms, and leave the limiter alone.
    Lock(Millis),
    /// Pause the limiter, longer than anybody may wait in line.
    Pause,
}

/// What to do with a wait. `typed`: it stood in a `google.rpc.RetryInfo`; `narrowed`: the
/// limiter is not the whole connection's (flow 4.23–4.25).
pub fn stated(wait_ms: Millis, typed: bool, narrowed: bool, max_wait_ms: Millis) -> Stated {
    match (wait_ms <= max_wait_ms, typed && narrowed) {
        (true, _) => Stated::Pace,
        (false, true) => Stated::Lock(wait_ms.min(LONGEST_LOCK_MS)),
        (false, false) => Stated::Pause,
    }
}

/// A caller whose time in line ends before the pause does is refused at once; one whose time
/// ends with it may wait (flow 4.26).
pub fn pause_refuses(paused_until: Option<Millis>, deadline: Millis) -> bool {
    paused_until.is_some_and(|until| until > deadline)
}
