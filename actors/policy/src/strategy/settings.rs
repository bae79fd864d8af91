//! The numbers of a combo that its strategy reads (routing 1.3), in one place so that every
//! default stands once.

mod fan;

pub use fan::{FusionSettings, RelaySettings};

use super::auto::AutoSettings;
use crate::time::{DAY, MINUTE, Millis};

/// Everything a strategy may be told.
#[derive(Clone, Debug, PartialEq)]
pub struct StrategySettings {
    /// A session that is known goes to the account that served it (routing 3.2-3.4).
    pub sessions: bool,
    /// Of `weighted` and `round-robin`.
    pub rotation: RotationSettings,
    /// Of `reset-aware` and `quota-weighted`.
    pub quota: QuotaSettings,
    /// Of `reset-window`.
    pub reset_window: ResetWindowSettings,
    /// Of `auto`.
    pub auto: AutoSettings,
    /// Of `fusion`.
    pub fusion: FusionSettings,
    /// Of `context-relay`.
    pub relay: RelaySettings,
}

impl Default for StrategySettings {
    fn default() -> Self {
        Self {
            sessions: true,
            rotation: RotationSettings::default(),
            quota: QuotaSettings::default(),
            reset_window: ResetWindowSettings::default(),
            auto: AutoSettings::default(),
            fusion: FusionSettings::default(),
            relay: RelaySettings::default(),
        }
    }
}

/// How long a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RotationSettings {
    /// `round-robin`: turns in a row of one entry (routing 8.2), 1 to 1000.
    pub sticky_round_robin_limit: u32,
    /// `weighted`: the same after a draw (routing 4.2d), 1 to 1000; 1: off.
    pub sticky_weighted_limit: u32,
    /// `weighted`: after the draw the others keep their declared order, because they stand in
    /// tiers (routing 4.2c).
    pub declared_fallbacks: bool,
}

impl Default for RotationSettings {
    fn default() -> Self {
        Self { sticky_round_robin_limit: 1, sticky_weighted_limit: 1, declared_fallbacks: false }
    }
}

/// How quotas are weighed (routing 4.13, 4.22).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuotaSettings {
    /// Part of the five-hour window in the score.
    pub session_weight: f64,
    /// Part of the weekly window.
    pub weekly_weight: f64,
    /// Scores this close to the best take turns, percent points.
    pub tie_band_percent: f64,
    /// Below this share of the session left the score falls, percent.
    pub guard_percent: f64,
    /// `quota-weighted`: accounts with less left are drawn only when no other is there, percent.
    pub floor_percent: f64,
    /// A reading is too old to be trusted after this, ms.
    pub stale_after_ms: Millis,
}

impl Default for QuotaSettings {
    fn default() -> Self {
        Self {
            session_weight: 0.35,
            weekly_weight: 0.65,
            tie_band_percent: 5.0,
            guard_percent: 10.0,
            floor_percent: 1.0,
            stale_after_ms: 15 * MINUTE,
        }
    }
}

/// A window of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuotaWindow {
    /// Five hours.
    Session,
    /// Seven days.
    Weekly,
    /// Thirty days.
    Monthly,
}

impl QuotaWindow {
    /// All of them, shortest first.
    pub const ALL: [Self; 3] = [Self::Session, Self::Weekly, Self::Monthly];

    /// The window of a name, as providers and operators write it.
    pub fn find(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "session" | "5h" => Some(Self::Session),
            "weekly" | "week" | "7d" => Some(Self::Weekly),
            "monthly" | "month" | "30d" => Some(Self::Monthly),
            _ => None,
        }
    }

    /// Its name in config.toml.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
        }
    }

    /// How long it is, ms.
    pub fn length_ms(self) -> Millis {
        match self {
            Self::Session => 5 * 60 * MINUTE,
            Self::Weekly => 7 * DAY,
            Self::Monthly => 30 * DAY,
        }
    }
}

/// Which resets count (routing 4.11, 4.23).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResetWindowSettings {
    /// The windows whose reset is waited for.
    pub windows: Vec<QuotaWindow>,
    /// Resets this close to the soonest take turns, ms; 0: no turns.
    pub tie_band_ms: Millis,
}

impl Default for ResetWindowSettings {
    fn default() -> Self {
        Self { windows: vec![QuotaWindow::Weekly], tie_band_ms: MINUTE }
    }
}
