//! What accounts say of their own quota: percent limits are read here (flow 2.10), and full
//! windows come from the same readings (2.18).

use std::collections::HashMap;

use super::bucket::{Buckets, Window};
use super::share::UsageWindow;
use crate::ids::{ConnectionId, ModelId};
use crate::reading::{AccountReading, WindowReading};
use crate::time::Millis;

/// One reading of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utilisation {
    /// The window.
    pub window: UsageWindow,
    /// Used, 0 to 1; above 1 when an account is overdrawn.
    pub used: f64,
    /// When it starts anew, epoch ms.
    pub reset_at: Option<Millis>,
}

/// What a reading says of the windows that pools count.
pub fn utilisation(reading: &AccountReading) -> Vec<Utilisation> {
    let of = |window, read: WindowReading| Utilisation { window, used: read.used, reset_at: read.resets_at };
    let session = reading.session.map(|read| of(UsageWindow::Session, read));
    session.into_iter().chain(reading.weekly.map(|read| of(UsageWindow::Week, read))).collect()
}

/// The latest readings by account.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    latest: HashMap<(ConnectionId, UsageWindow), Utilisation>,
    buckets: Buckets,
}

impl Gauges {
    /// Takes a reading.
    pub fn read(&mut self, connection: &ConnectionId, reading: Utilisation, now: Millis) {
        let window = match reading.window {
            UsageWindow::Session => Some(Window::Session),
            UsageWindow::Week => Some(Window::Week),
            UsageWindow::Day => None,
        };
        if let Some(window) = window {
            self.buckets.read(connection, window, (reading.used * 100.0, reading.reset_at), now);
        }
        self.latest.insert((connection.clone(), reading.window), reading);
    }

    /// The part of a window that is used; `None`: unknown, or it has started anew.
    pub fn used(&self, connection: &ConnectionId, window: UsageWindow, now: Millis) -> Option<f64> {
        let reading = self.latest.get(&(connection.clone(), window))?;
        reading.reset_at.is_none_or(|at| now < at).then_some(reading.used)
    }

    /// When the window of these accounts starts anew that is first to do so.
    pub fn resets_at(
        &self,
        connections: &[ConnectionId],
        window: UsageWindow,
        now: Millis,
    ) -> Option<Millis> {
        let resets = connections.iter().filter_map(|id| self.latest.get(&(id.clone(), window))?.reset_at);
        resets.filter(|at| *at > now).min()
    }

    /// Whether a window is full that counts for this model.
    pub fn is_saturated(&mut self, connection: &ConnectionId, model: &ModelId, now: Millis) -> bool {
        self.buckets.is_saturated(connection, model, now)
    }

    /// A connection that is gone.
    pub fn forget(&mut self, connection: &ConnectionId) {
        self.latest.retain(|(of, _), _| of != connection);
        self.buckets.forget(connection);
    }
}
