//! How an answer goes on, and how it ended.

use bytes::Bytes;
use policy::stream::Limit;

use crate::formats::sight::StreamError;

/// What comes next.
pub(super) enum Read {
    /// Whole events, or a comment of ours.
    Bytes(Bytes),
    /// There is no more.
    End(Close),
}

/// How an answer ended.
pub(super) enum Close {
    /// As it should.
    Complete,
    /// The upstream says that it failed.
    Failed {
        /// The event, as it came.
        frame: Bytes,
        /// Its data.
        data: Bytes,
        /// What it says.
        error: StreamError,
    },
    /// With nothing in it. `ended`: it says itself that it is over.
    Empty {
        /// There was an end marker or a finish reason.
        ended: bool,
    },
    /// Before it was complete.
    Truncated,
    /// A limit was reached.
    Limit(Limit),
    /// Chunks came, and too little of the model's text in them (flow 6.7).
    TooSlow,
    /// One event is larger than allowed.
    TooLong,
}
