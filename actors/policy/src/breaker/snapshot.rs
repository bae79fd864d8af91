//! What survives a restart of a breaker (core 1.2, 1.7.8, decision 11).
//!
//! Reading is lenient: a missing field has its default, an unknown state text is
//! CLOSED and an unknown kind is none, so an old or damaged record never blocks a start.

use serde::{Deserialize, Deserializer, Serialize};

use super::{BreakerState, Operator};
use crate::time::Millis;
use crate::verdict::Kind;

/// The stored part of a breaker. Instants are epoch ms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BreakerSnapshot {
    /// State as last written.
    #[serde(deserialize_with = "known_state")]
    pub state: BreakerState,
    /// What an operator ordered (decision 35).
    pub operator: Operator,
    /// Generation when it was stored; a restored breaker has the next one.
    pub generation: u64,
    /// Failures that count.
    pub failures: u32,
    /// When the last counted failure was reported.
    pub last_failure_at: Option<Millis>,
    /// Its kind.
    #[serde(deserialize_with = "known_kind")]
    pub last_kind: Option<Kind>,
    /// Failed probe cycles since it was last closed.
    pub open_cycles: u32,
    /// While tripped by an operator: when that ends.
    pub forced_until: Option<Millis>,
}

fn known_state<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BreakerState, D::Error> {
    let text = String::deserialize(deserializer)?;
    let known = BreakerState::ALL.into_iter().find(|state| state.as_str() == text);
    Ok(known.unwrap_or_default())
}

fn known_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Kind>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.and_then(|text| Kind::ALL.into_iter().find(|kind| kind.as_str() == text)))
}
