//! The numbers of a connection's gate.

use std::collections::BTreeMap;

use crate::ids::ModelId;
use crate::limiter::LimiterSettings;
use crate::time::{Millis, SECOND};

/// The numbers of one gate.
#[derive(Clone, Debug, PartialEq)]
pub struct GateSettings {
    /// Requests at once; 0: no cap. Already the smaller of both places that set it (flow 1.5).
    pub account_cap: u32,
    /// Requests at once by model, as it is sent upstream; exact (flow 1.3).
    pub model_caps: BTreeMap<ModelId, u32>,
    /// Requests that may wait for a cap; 0: any number (flow 1.16).
    pub queue_size: u32,
    /// How long they may, ms (flow 1.17).
    pub timeout_ms: Millis,
    /// The local limiter; `None`: the connection is not protected (flow 4.6, 5).
    pub limiter: Option<LimiterSettings>,
}

impl Default for GateSettings {
    fn default() -> Self {
        Self {
            account_cap: 0,
            model_caps: BTreeMap::new(),
            queue_size: 20,
            timeout_ms: 30 * SECOND,
            limiter: None,
        }
    }
}

/// A cap as it was given: nothing, not a number, zero, negative or a fraction below one is none;
/// other fractions are cut (flow 1.4).
pub fn cap(given: Option<f64>) -> u32 {
    match given {
        Some(number) if number.is_finite() && number >= 1.0 => number.min(f64::from(u32::MAX)) as u32,
        _ => 0,
    }
}
