//! Sharing accounts between client keys (flow 2).
//!
//! A pool joins accounts of one provider and says which key gets which part of them. Its models
//! are asked for as `qtSd/GROUP/PROVIDER/MODEL`. Two questions are answered here, both without
//! a refusal of an account's own: in which order the accounts are asked (`select`), and whether
//! a key may still ask at all (`share`).
//!
//! Selection only orders: saturated accounts and those at their cap go last, never away, so
//! a wrong reading costs a worse order and no request. A share may refuse, but only on what is
//! known: what cannot be read allows (flow 2.15).

mod bucket;
mod credit;
mod gauge;
mod lease;
mod ledger;
mod name;
mod pools;
mod select;
mod share;
#[cfg(test)]
mod tests;

pub use bucket::{Buckets, Window};
pub use credit::Credits;
pub use gauge::{Gauges, Utilisation, utilisation};
pub use lease::{LEASE_MS, LeaseId, Leases};
pub use ledger::{Counts, Ledger, Recorded, SLOT_MS, SlotKey};
pub use name::{PREFIX, QuotaName, slug};
pub use pools::{Books, Pools, Price};
pub use select::{Entrant, Selection, select};
pub use share::{
    Allocation, Cap, Cause, Decision, DimensionLimit, PLACEHOLDER, Pool, Reading, Rule, THRESHOLD,
    THRESHOLD_ENV, Unit, UsageWindow, decide, threshold,
};

use crate::gate::Patience;
use crate::time::SECOND;

/// The strategy of a pool's models; nobody else can ask for it (routing 0.5).
pub const STRATEGY: &str = "quota-share";
/// How long a request waits for a slot of a shared account before it goes on without one
/// (flow 2.27, 2.28), and how many may wait so.
pub const SOFT: Patience = Patience::Soft { wait_ms: 30 * SECOND, queue: Some(20) };
