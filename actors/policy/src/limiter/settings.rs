//! The numbers of a limiter, and how narrow it is.

use crate::time::{Millis, SECOND};

/// A limiter's numbers; 0 is unlimited for all but the longest wait (flow 4.1, decisions 14, 15a).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimiterSettings {
    /// Starts per minute.
    pub rpm: u32,
    /// From one start to the next, ms.
    pub min_time_ms: Millis,
    /// Running at once.
    pub parallel: u32,
    /// Longest time in the line, ms; the gate's.
    pub max_wait_ms: Millis,
    /// Most in the line; the gate's.
    pub max_depth: u32,
    /// What shares one limiter.
    pub scope: LimiterScope,
}

impl LimiterSettings {
    /// No limit but the longest wait (decision 15a, flow 4.1).
    pub const FREE: Self = Self {
        rpm: 0,
        min_time_ms: 0,
        parallel: 0,
        max_wait_ms: 30 * SECOND,
        max_depth: 0,
        scope: LimiterScope::Connection,
    };

    /// Starts per minute and nothing else: the static window of a provider (flow 4.4).
    pub fn of_window(rpm: u32) -> Self {
        Self { rpm, ..Self::FREE }
    }
}

/// What shares one limiter on a connection (flow 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimiterScope {
    /// All its models. Codex too: its scope key is not narrowed to a model (flow 4.29).
    Connection,
    /// One model.
    Model,
    /// The models of one quota family; a model of no family stands alone.
    Family,
}

impl LimiterScope {
    /// The scope of a provider, by its id.
    pub fn of(provider: &str) -> Self {
        match provider {
            "gemini" | "github" => Self::Model,
            "antigravity" | "agy" => Self::Family,
            _ => Self::Connection,
        }
    }

    /// A wait stated to one of its requests says nothing about the whole connection (flow 4.24).
    pub fn is_narrowed(self) -> bool {
        self != Self::Connection
    }
}
