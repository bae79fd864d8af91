//! The provider's entry: a sliding window of failures, and the cooldown it starts (core 2.3,
//! 2.4). Only the newest failures are kept, as many as start a cooldown: the oldest of them
//! alone says whether all lie within the window.

use std::collections::VecDeque;

use super::{COOLS, ENDED, Mark, WindowSettings, WindowView, later};
use crate::breaker::BreakerState;
use crate::time::Millis;

/// The most failures a window is asked to hold.
const MOST_FAILURES: u32 = 1_000;

/// The failures of one provider.
#[derive(Clone, Debug)]
pub struct WindowGate {
    settings: WindowSettings,
    /// When each failed, epoch ms, newest last; empty while disabled.
    failed_at: VecDeque<Millis>,
    until: Option<Millis>,
}

impl WindowGate {
    /// A gate without history.
    pub fn new(settings: WindowSettings) -> Self {
        Self { settings, failed_at: VecDeque::new(), until: None }
    }

    /// New numbers: what runs keeps its end, unless the gate is switched off. Says
    /// why if the view moved.
    pub fn configure(&mut self, settings: WindowSettings) -> Option<&'static str> {
        self.settings = settings;
        if settings.enabled { None } else { self.clear() }
    }

    /// Takes what an attempt meant, with the provider's breaker as it is at `now`. Says why if
    /// the view moved.
    pub fn record(&mut self, mark: Mark, breaker: BreakerState, now: Millis) -> Option<&'static str> {
        match mark.weighed(self.settings.enabled, breaker) {
            Mark::Failure => self.fail(now),
            Mark::Success => self.clear(),
            Mark::Nothing => None,
        }
    }

    /// Forgets everything. Says why if the view moved.
    pub fn clear(&mut self) -> Option<&'static str> {
        self.failed_at.clear();
        self.until.take().map(|_| ENDED)
    }

    /// Whether a mark of this kind would be news to the gate.
    pub fn minds(&self, mark: Mark) -> bool {
        match mark {
            Mark::Failure => self.settings.enabled,
            Mark::Success => !self.failed_at.is_empty() || self.until.is_some(),
            Mark::Nothing => false,
        }
    }

    /// Failures within the window at `now`, up to the number that starts a cooldown.
    pub fn failures(&self, now: Millis) -> usize {
        self.failed_at.iter().filter(|at| self.is_inside(**at, now)).count()
    }

    /// What the board publishes.
    pub fn view(&self) -> WindowView {
        WindowView { until: self.until }
    }

    fn fail(&mut self, now: Millis) -> Option<&'static str> {
        while self.failed_at.front().is_some_and(|at| !self.is_inside(*at, now)) {
            self.failed_at.pop_front();
        }
        self.failed_at.push_back(now);
        let enough = self.settings.failures.clamp(1, MOST_FAILURES) as usize;
        while self.failed_at.len() > enough {
            self.failed_at.pop_front();
        }
        if self.failed_at.len() < enough {
            return None;
        }
        let until = later(self.until, now.saturating_add(self.settings.cooling_ms));
        let moved = until != self.until;
        self.until = until;
        moved.then_some(COOLS)
    }

    fn is_inside(&self, at: Millis, now: Millis) -> bool {
        now.saturating_sub(at) < self.settings.window_ms
    }
}
