//! What an account says of its own quota, whatever the format it said it in.
//!
//! Readings come with the headers of answers; nothing is asked for them. What is unknown stays
//! unknown: a strategy takes its neutral value for it, never a guess.

use crate::strategy::QuotaWindow;
use crate::time::Millis;

/// One window of a quota.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowReading {
    /// Used, 0 to 1.
    pub used: f64,
    /// When it starts anew, epoch ms.
    pub resets_at: Option<Millis>,
}

/// The latest that is known of an account.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccountReading {
    /// Five hours.
    pub session: Option<WindowReading>,
    /// Seven days.
    pub weekly: Option<WindowReading>,
    /// Thirty days.
    pub monthly: Option<WindowReading>,
    /// A use without a window, 0 to 1.
    pub overall: Option<WindowReading>,
    /// The provider said that the limit is reached.
    pub limit_reached: bool,
    /// When it was read, epoch ms.
    pub seen_at: Millis,
}

impl AccountReading {
    /// The reading of one window.
    pub fn window(&self, window: QuotaWindow) -> Option<WindowReading> {
        match window {
            QuotaWindow::Session => self.session,
            QuotaWindow::Weekly => self.weekly,
            QuotaWindow::Monthly => self.monthly,
        }
    }
}
