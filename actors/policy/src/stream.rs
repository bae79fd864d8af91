//! What a stream owes: progress within its limits, and the truth about its end
//! (flow 6; decisions 18-22).
//!
//! The wire formats turn frames into [`Sight`]s; here is decided what they mean: hold, let go,
//! fail, complete or cut. Nothing of it knows a wire format, a socket or a clock.

mod budget;
pub mod continuation;
mod pace;
mod progress;
mod recovery;
mod sight;
mod watch;

pub use budget::{CEILING_MS, Readiness, Served, Shape, budget_ms};
pub use pace::{Pace, PaceSettings, Speed};
pub use progress::{Fate, HELD_MOST, Progress};
pub use recovery::{HOLD_BYTES, HOLD_MS, MAX_REOPENS, Recovery, Step, Stop};
pub use sight::{Ending, Finish, Kind, Sight};
pub use watch::{Limit, StreamLimits, Watch};
