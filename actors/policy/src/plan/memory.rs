//! What the router remembers, as plans ask for it.

use crate::account::Usage;
use crate::affinity::Pinned;
use crate::ids::{ConnectionId, ModelId, ProviderId};
use crate::latency::Latency;
use crate::reading::AccountReading;
use crate::strategy::{ComboState, Metrics, Spread};
use crate::time::Millis;

/// What the router remembers beside the board: its own counts, never an owner's state. What is not said
/// is not known.
pub trait Memory {
    /// Requests in flight on a connection.
    fn in_flight(&self, _connection: &ConnectionId) -> u32 {
        0
    }
    /// The record of a model in a combo.
    fn metrics(&self, _combo: &str, _provider: &ProviderId, _model: &ModelId) -> Option<Metrics> {
        None
    }
    /// Some model has a record in a combo.
    fn has_records(&self, _combo: &str) -> bool {
        true
    }
    /// How an account was picked lately.
    fn usage(&self, _connection: &ConnectionId) -> Usage {
        Usage::default()
    }
    /// How fast and how well an account answered lately.
    fn latency(&self, _connection: &ConnectionId, _model: &ModelId, _now: Millis) -> Latency {
        Latency::default()
    }
    /// Share of good answers among the last 20 of a model in a combo (decision 25).
    fn reliability(&self, _combo: &str, _provider: &ProviderId, _model: &ModelId) -> Option<f64> {
        None
    }
    /// How the first-byte times of a model in a combo are spread.
    fn spread(&self, _combo: &str, _provider: &ProviderId, _model: &ModelId) -> Option<Spread> {
        None
    }
    /// What a combo remembers.
    fn combo(&self, _combo: &str) -> Option<&ComboState> {
        None
    }
    /// What an account said of its quota.
    fn reading(&self, _connection: &ConnectionId) -> Option<&AccountReading> {
        None
    }
    /// The pins of a session, also those that have expired (rules 6).
    fn pins(&self, _session: &str) -> &[Pinned] {
        &[]
    }
    /// Who made a response, also those that are known no longer (FC-101).
    fn made(&self, _response: &str) -> &[Pinned] {
        &[]
    }
    /// The model of a combo that served a session last (routing 3.9).
    fn session_model(&self, _combo: &str, _session: &str, _now: Millis) -> Option<&(ProviderId, ModelId)> {
        None
    }
    /// Sessions seen on an account lately (decision 27a).
    fn sessions(&self, _connection: &ConnectionId, _now: Millis) -> u32 {
        0
    }
}
