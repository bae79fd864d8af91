//! The numbers of the provider cooldown: those of a provider by its class, those of a
//! connection the same for all. Both are off until an operator turns them on (core 2.1).

use serde::{Deserialize, Serialize};

use crate::ids::Class;
use crate::time::{MINUTE, Millis, SECOND};

/// When a provider cools (core 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSettings {
    /// The operator wants it.
    pub enabled: bool,
    /// Failures within the window that start a cooldown; at least 1 and at most 1000.
    pub failures: u32,
    /// Length of the window, ms.
    pub window_ms: Millis,
    /// Length of the cooldown, ms.
    pub cooling_ms: Millis,
}

impl WindowSettings {
    /// The built-in numbers of a class (core 2.3 table).
    pub fn for_class(class: Class) -> Self {
        let (failures, window_ms, cooling_ms) = match class {
            Class::Oauth => (10, 15 * MINUTE, 5 * MINUTE),
            Class::Apikey => (15, 30 * MINUTE, 10 * MINUTE),
            Class::Local => (2, 5 * MINUTE, MINUTE),
        };
        Self { enabled: false, failures, window_ms, cooling_ms }
    }
}

/// How long a connection that failed is left out of combos (core 2.5, 2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryCooldown {
    /// The operator wants it.
    pub enabled: bool,
    /// After the first failure, ms; 0: not at all.
    pub min_ms: Millis,
    /// The longest, ms.
    pub max_ms: Millis,
}

impl Default for RetryCooldown {
    fn default() -> Self {
        Self { enabled: false, min_ms: 5 * SECOND, max_ms: 5 * MINUTE }
    }
}
