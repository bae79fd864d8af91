//! What an account says of its own quota, whatever the format it said it in.
//!
//! Readings come with the headers of answers; nothing is asked for them. What is unknown stays
//! unknown: a strategy takes its neutral value for it, never a guess. And what was read ends by
//! itself: a use counts until its window starts anew. An account that is left out gets no answers
//! and so no new reading; without an end it would be left out for good.

mod anthropic;
mod book;
mod openai;
#[cfg(test)]
mod tests;

use crate::strategy::QuotaWindow;
use crate::time::{MINUTE, Millis};

pub use anthropic::Anthropic;
pub use book::{MOST, Readings};
pub use openai::Openai;

/// How long a use counts whose window does not say when it starts anew, ms (rules 8.4.6).
pub const UNTIMED_MS: Millis = 5 * MINUTE;

/// One window of a quota.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowReading {
    /// Used, 0 to 1; above 1 when the account is overdrawn.
    pub used: f64,
    /// When it starts anew, epoch ms.
    pub resets_at: Option<Millis>,
}

impl WindowReading {
    /// When this no longer holds, epoch ms.
    pub fn ends_at(&self, seen_at: Millis) -> Millis {
        let stated = self.resets_at.filter(|at| *at > seen_at);
        stated.unwrap_or(seen_at.saturating_add(UNTIMED_MS))
    }
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
    /// The provider said that the limit is reached; it ends with the window of `overall`.
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

    /// The windows it names.
    pub fn windows(&self) -> impl Iterator<Item = (QuotaWindow, WindowReading)> + '_ {
        QuotaWindow::ALL.into_iter().filter_map(|window| Some((window, self.window(window)?)))
    }

    /// Whether the limit is reached now.
    pub fn is_limited(&self, now: Millis) -> bool {
        self.limit_reached && now < self.limit_ends_at()
    }

    /// When the limit that was reached ends, epoch ms.
    pub fn limit_ends_at(&self) -> Millis {
        let whole = self.overall.map(|read| read.ends_at(self.seen_at));
        whole.unwrap_or(self.seen_at.saturating_add(UNTIMED_MS))
    }

    /// What is left by the fullest of these windows, 0 to 1; `None`: none of them says it. One
    /// that has started anew says nothing. The overall use counts where no window is named.
    pub fn left(&self, windows: &[QuotaWindow], now: Millis) -> Option<f64> {
        let live = |read: &WindowReading| now < read.ends_at(self.seen_at) && read.used.is_finite();
        let named = windows.iter().filter_map(|window| self.window(*window)).filter(live);
        let fullest = named.map(|read| read.used).reduce(f64::max);
        let whole = || self.overall.filter(|_| self.windows().next().is_none()).filter(live);
        fullest.or_else(|| whole().map(|read| read.used)).map(|used| 1.0 - used.clamp(0.0, 1.0))
    }

    /// Takes a later reading; a window that it does not name stays as it was.
    fn join(&mut self, later: Self) {
        let Self { session, weekly, monthly, overall, limit_reached, seen_at } = later;
        self.session = session.or(self.session);
        self.weekly = weekly.or(self.weekly);
        self.monthly = monthly.or(self.monthly);
        self.overall = overall.or(self.overall);
        (self.limit_reached, self.seen_at) = (limit_reached, seen_at);
    }
}

/// How a header of an answer is found by its lower-case name.
pub type Find<'a> = dyn Fn(&str) -> Option<&'a [u8]> + 'a;

/// A format that reports quota.
pub trait Reader: Sync {
    /// Its name.
    fn name(&self) -> &'static str;
    /// What the headers of an answer say; `None`: nothing.
    fn read(&self, find: &Find<'_>, now: Millis) -> Option<AccountReading>;
}

/// Every format that is read. A compatible provider may speak either, so the headers decide and
/// not its id.
pub static READERS: &[&dyn Reader] = &[&Anthropic, &Openai];

/// What the headers of an answer say of the quota of its account, in the first format that they
/// speak. `find` takes a lower-case name.
pub fn read(find: &Find<'_>, now: Millis) -> Option<AccountReading> {
    READERS.iter().find_map(|reader| reader.read(find, now))
}
