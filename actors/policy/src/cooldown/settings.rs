//! The numbers of a connection's cooldown. The class gives them, an operator overrides them;
//! the owner is handed the result and knows neither.

use serde::{Deserialize, Serialize};

use crate::breaker::BreakerSettings;
use crate::ids::Class;
use crate::time::{MINUTE, Millis, SECOND};

/// Numbers of one connection's cooldown (core 3.1, 3.4, decisions 2, 3a).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CooldownSettings {
    /// First step of the backoff, ms; 0 is read as one second.
    pub base_ms: Millis,
    /// Stated waits are obeyed (decision 2: for every class).
    pub use_hints: bool,
    /// Limit of the backoff level.
    pub max_steps: u32,
    /// Limit of a computed cooldown, ms; a stated wait has none.
    pub ceiling_ms: Millis,
    /// Lease of the lone trial after a cooldown, ms (decision 3a: the class's reset timeout).
    pub trial_ms: Millis,
    /// The operator's wait after a 429 without a stated one, ms (see `resolve_delay`).
    pub rate_limit_delay_ms: Option<Millis>,
    /// Failures are recorded but cool nothing (core 3.7.1).
    pub disable_cooling: bool,
    /// A content stall cools like any other failure (`streamStallCooldown.enabled`, core P4).
    pub stall_cools: bool,
}

impl CooldownSettings {
    /// The built-in numbers of a class (core 3.1 table, 1.1.3; hints by decision 2).
    pub fn for_class(class: Class) -> Self {
        let (base_ms, max_steps) = match class {
            Class::Oauth => (5 * SECOND, 8),
            Class::Apikey | Class::Local => (3 * SECOND, 5),
        };
        Self {
            base_ms,
            use_hints: true,
            max_steps,
            ceiling_ms: 30 * MINUTE,
            trial_ms: BreakerSettings::for_class(class).reset_ms,
            rate_limit_delay_ms: None,
            disable_cooling: false,
            stall_cools: false,
        }
    }
}

/// The strongest of the operator's rate-limit delays, ms; 0 inherits the next
/// (core 3.4 steps 2–4, 3.4.3; E55–E57).
pub fn resolve_delay(
    connection: Option<Millis>,
    provider: Option<Millis>,
    env: Option<Millis>,
) -> Option<Millis> {
    let given = |delay: Option<Millis>| delay.filter(|ms| *ms > 0);
    given(connection).or(given(provider)).or(given(env))
}
