//! The usage wall of Claude accounts (rules 5): what an account may do when its window is spent.
//!
//! An account at its wall may accept a slower lane until the window resets (`lane`), or spend one
//! of its rare resets of the session limit (`reset`). Both are opt-in, both act only on what the
//! account's own answers say (`signs`). Nothing here waits or dials: a lane says retry, end or
//! pass; whoever sends obeys, and a swallowed 429 is told to nobody.

mod lane;
mod reset;
mod signs;
#[cfg(test)]
mod tests;

use crate::time::{DAY, HOUR, MINUTE, Millis, SECOND};

pub use lane::{Act, Asked, End, Lane, LaneView, Tag, Waits};
pub use reset::{Memo, Outcome, Round, Status, claimed, read_status};
pub use signs::{Offer, Signs, SlowStatus};

/// The request header of the lane and its one value.
pub const SLOW_HEADER: (&str, &str) = ("anthropic-usage-limit", "slow");
/// What an account's access token begins with; API keys have other beginnings.
pub const TOKEN_PREFIX: &str = "sk-ant-oat";

/// Retry wait: built in, least, most (rules 5.2).
const RETRY_WAIT_MS: (Millis, Millis, Millis) = (20 * SECOND, 5 * SECOND, 10 * MINUTE);
/// Longest wait of one request: built in, least, most.
const MAX_WAIT_MS: (Millis, Millis, Millis) = (20 * MINUTE, MINUTE, 6 * HOUR);
/// Half the width of the jitter.
const JITTER: f64 = 0.3;
/// How long after its reset a lane is over whatever it hears.
const RESET_GRACE_MS: Millis = MINUTE;
/// By how much a window must be later to be another one.
const ROLLOVER_MS: Millis = MINUTE;
/// No lane for so long after one that waited in vain.
const COOL_OFF_MS: Millis = 10 * MINUTE;
/// Longest memory of a spent budget.
const BUDGET_MEMORY_MS: Millis = 8 * DAY;
/// What a wait leaves of a request's time.
const MARGIN_MS: Millis = 5 * SECOND;
/// A grant is as good as new for so long.
const RECENT_RESET_MS: Millis = MINUTE;
/// Until a reset is asked for again: a grant or a plain no.
const LONG_MEMO_MS: Millis = 7 * DAY;
/// The same after anything that went wrong.
const SHORT_MEMO_MS: Millis = 15 * MINUTE;

/// What is left for waits: the request's time without what has gone and the margin (5.4.9).
/// `None`: no limit.
pub fn remaining(limit_ms: Option<Millis>, elapsed_ms: Millis) -> Option<Millis> {
    limit_ms.map(|limit| limit.saturating_sub(elapsed_ms).saturating_sub(MARGIN_MS))
}
