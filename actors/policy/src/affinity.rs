//! Session affinity: a client's session stays with one account of each provider, softly
//! (rules 6, decisions 23, 27).
//!
//! What a session is called comes from headers, then from the body; nothing of it is kept in a
//! form that could be read. A pin is looked up when a plan is made, written when the plan is
//! taken, and deleted when its account fails. It never refuses anybody.

/// How the keys of responses begin; those of sessions never do (FC-101).
pub const OF_RESPONSE: &str = "response-";

mod key;
mod occupancy;
mod pins;

pub use key::{HEADERS, Told, key};
pub use occupancy::Occupancy;
pub use pins::{Pin, PinKey, PinNews, Pinned, Pins};
