//! Dialects: bytes in, values out. Knows what a vendor's fields, headers and frames are
//! called; holds no socket and no state.

pub mod body;
pub mod brackets;
pub mod edit;
pub mod error;
pub mod fan;
pub mod quality;
pub mod redact;
pub mod renaming;
pub mod reshape;
pub mod response;
pub mod sight;
pub mod sse;
pub mod thread;
pub mod traits;
pub mod usage;
mod walk;
