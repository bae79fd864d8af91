//! Whether a failure may move a request on (core 3.5): an operator can switch rotation off per
//! kind of status, or ask for several failures in a window before it acts.
//!
//! Its owner keeps one `Gate` per connection and asks it once per failure; the answer goes into
//! `verdict::Case`. As built in, the gate is open: every failure rotates.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::time::{MINUTE, Millis, SECOND};
use crate::verdict::Rotation;

/// How long a forced 400 rests without a delay of the operator, ms (core 3.5.2).
const FORCED_MS: Millis = 2 * MINUTE;

/// The kinds of status that have a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    On429,
    /// Every 5xx but 502.
    On500,
    On502,
    On400,
}

/// The switch of one kind of status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Switch {
    /// It rotates at all.
    pub rotates: bool,
    /// At the how manieth failure in the window; 0 is read as 1.
    pub threshold: u32,
    /// The window, ms; at least one second.
    pub window_ms: Millis,
}

/// What a connection sets otherwise (`rotationOverrides`); `None`: as it is for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SwitchOverride {
    /// It rotates at all.
    pub rotates: Option<bool>,
    /// At the how manieth failure.
    pub threshold: Option<u32>,
    /// The window, ms.
    pub window_ms: Option<Millis>,
}

/// One value per kind of status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PerKind<T> {
    /// 429.
    pub on_429: T,
    /// Every 5xx but 502.
    pub on_500: T,
    /// 502.
    pub on_502: T,
    /// 400, which is never blocked, only forced.
    pub on_400: T,
}

/// The numbers of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RotationSettings {
    /// The master switch (`OMNIROUTE_ROTATION_ENABLED`).
    pub enabled: bool,
    /// The switches.
    pub switches: PerKind<Switch>,
    /// How long a forced 400 rests, ms: the operator's rate-limit delay (core 3.4 steps 2–4);
    /// `None`: two minutes.
    pub forced_ms: Option<Millis>,
}

/// The gate of one connection. What it has seen is not stored: after a restart it counts anew.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    settings: RotationSettings,
    seen: PerKind<Vec<Millis>>,
}

// === impl RotationSettings ===

impl Default for RotationSettings {
    fn default() -> Self {
        let on = Switch { rotates: true, threshold: 1, window_ms: 120 * SECOND };
        let off = Switch { rotates: false, ..on };
        let switches = PerKind { on_429: on, on_500: on, on_502: on, on_400: off };
        Self { enabled: true, switches, forced_ms: None }
    }
}

impl RotationSettings {
    /// These numbers as one connection overrides them.
    pub fn with(&self, overrides: &PerKind<SwitchOverride>) -> Self {
        let (all, own) = (&self.switches, overrides);
        let switches = PerKind {
            on_429: all.on_429.with(own.on_429),
            on_500: all.on_500.with(own.on_500),
            on_502: all.on_502.with(own.on_502),
            on_400: all.on_400.with(own.on_400),
        };
        Self { switches, ..*self }
    }
}

impl Switch {
    fn with(self, own: SwitchOverride) -> Self {
        Self {
            rotates: own.rotates.unwrap_or(self.rotates),
            threshold: own.threshold.unwrap_or(self.threshold),
            window_ms: own.window_ms.unwrap_or(self.window_ms),
        }
    }
}

// === impl Gate ===

impl Gate {
    /// A gate that has seen nothing.
    pub fn new(settings: RotationSettings) -> Self {
        Self { settings, seen: PerKind::default() }
    }

    /// New numbers; what was seen stays.
    pub fn configure(&mut self, settings: RotationSettings) {
        self.settings = settings;
    }

    /// Takes one failure and says what it may do. A 400 is never blocked: below its threshold
    /// the table decides (core 3.5.2, 3.5.3).
    pub fn note(&mut self, status: u16, now: Millis) -> Rotation {
        let Some(kind) = Kind::of(status) else { return Rotation::Rotates };
        let switch = *self.settings.switches.of(kind);
        let on = self.settings.enabled && switch.rotates;
        let reached = on && self.seen.of_mut(kind).reach(&switch, now);
        match (kind, reached) {
            (Kind::On400, true) => Rotation::Forces(self.settings.forced_ms.unwrap_or(FORCED_MS)),
            (Kind::On400, false) | (_, true) => Rotation::Rotates,
            (_, false) => Rotation::Holds,
        }
    }
}

trait Window {
    /// Adds one failure; at the threshold the window is emptied.
    fn reach(&mut self, switch: &Switch, now: Millis) -> bool;
}

impl Window for Vec<Millis> {
    fn reach(&mut self, switch: &Switch, now: Millis) -> bool {
        let window = switch.window_ms.max(SECOND);
        self.retain(|at| now.saturating_sub(*at) < window);
        self.push(now);
        let reached = self.len() >= switch.threshold.max(1) as usize;
        if reached {
            self.clear();
        }
        reached
    }
}

impl Kind {
    fn of(status: u16) -> Option<Self> {
        match status {
            429 => Some(Self::On429),
            502 => Some(Self::On502),
            500..=599 => Some(Self::On500),
            400 => Some(Self::On400),
            _ => None,
        }
    }
}

impl<T> PerKind<T> {
    fn of(&self, kind: Kind) -> &T {
        match kind {
            Kind::On429 => &self.on_429,
            Kind::On500 => &self.on_500,
            Kind::On502 => &self.on_502,
            Kind::On400 => &self.on_400,
        }
    }

    fn of_mut(&mut self, kind: Kind) -> &mut T {
        match kind {
            Kind::On429 => &mut self.on_429,
            Kind::On500 => &mut self.on_500,
            Kind::On502 => &mut self.on_502,
            Kind::On400 => &mut self.on_400,
        }
    }
}
