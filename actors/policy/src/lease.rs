//! Exclusive leases of connections (rules 7): who holds which, under which generation, until when.
//!
//! A client with a managed key keeps one account to itself. The book is the whole truth: each
//! owner has one row, its newest, and each connection at most one holder, so that neither can be
//! bound twice. A row outlives its lease, because generations never go back.

mod book;
mod managed;
mod offer;
mod row;
#[cfg(test)]
mod tests;

use crate::ids::ConnectionId;
use crate::time::Millis;

pub use book::{Claim, Fence, LeaseBook, News};
pub use managed::Managed;
pub use offer::{Contention, Lack, lack, move_reason, retry_after_s, unsupported};
pub use row::{EndReason, LeaseState, LeaseView, OwnerHash, Row, is_owner};

/// How long a lease lasts that nobody renews (rules 7.1.4), ms.
pub const TTL_MS: Millis = 120_000;
/// The shortest and the longest lease, ms.
pub const TTL_BOUNDS_MS: (Millis, Millis) = (1_000, 1_800_000);
/// The last generation that JSON numbers can tell from the next (rules 7.3.0).
pub const LAST_GENERATION: u64 = (1 << 53) - 1;

/// Why a lease cannot be had, kept or used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The owner has no active lease.
    Required,
    /// Another generation, another key, or a lease that has ended.
    Stale,
    /// The lease belongs to another key.
    AuthorizationMismatch,
    /// The lease is of another connection.
    ConnectionMismatch,
    /// Another owner holds the connection; until when, unless one of its requests runs.
    Taken(Option<Millis>),
    /// This owner holds another connection already.
    Elsewhere(ConnectionId),
    /// The connection takes nobody any more.
    Gone,
}
