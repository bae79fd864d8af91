//! Quota preflight cutoff: an account that is nearly out of quota is left out before it is asked
//! (rules 8.4, routing 7.2 #6, 11.6).
//!
//! Rules 8.4.6 cools such a connection. Here nothing is written: each plan reads the account's
//! latest reading anew and tells the same end of it. So a cutoff that an operator changes, or a
//! reading that comes later, acts at once, and no rest outlives its cause. A window without a
//! stated reset holds for five minutes from its reading. No reading, no cutoff (8.4.5).

use std::collections::HashMap;

use crate::ids::{ConnectionId, ProviderId};
use crate::reading::{AccountReading, WindowReading};
use crate::strategy::QuotaWindow;
use crate::time::Millis;

/// Percent left from where on an account is left out, unless it is set (8.4.3).
pub const CUTOFF_PERCENT: f64 = 2.0;
/// Percent left from where on it is told.
pub const WARN_PERCENT: f64 = 20.0;
/// What a remainder may differ from the cutoff by arithmetic alone.
const EXACT: f64 = 1e-9;

/// Percent left by window.
pub type Cutoffs = Vec<(QuotaWindow, f64)>;

/// What one account says of the cutoff.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccountCutoff {
    /// Its own numbers.
    pub windows: Cutoffs,
    /// Its own switch; a no stands whatever else is set (8.4.2).
    pub enabled: Option<bool>,
}

/// The numbers of the cutoff.
#[derive(Clone, Debug, PartialEq)]
pub struct Preflight {
    /// It is on for every account.
    pub enabled: bool,
    /// Percent left from where on an account is left out, 0 to 99.
    pub cutoff_percent: f64,
    /// Percent left from where on it is told.
    pub warn_percent: f64,
    /// The same as `cutoff_percent` by provider and window.
    pub providers: HashMap<ProviderId, Cutoffs>,
    /// What accounts say; those that say nothing are not here.
    pub accounts: HashMap<ConnectionId, AccountCutoff>,
}

impl Default for Preflight {
    fn default() -> Self {
        Self {
            enabled: false,
            cutoff_percent: CUTOFF_PERCENT,
            warn_percent: WARN_PERCENT,
            providers: HashMap::new(),
            accounts: HashMap::new(),
        }
    }
}

/// A window that is nearly used up, or is; `window`: `None` where the reading names none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Low {
    /// The one with the least left.
    pub window: Option<QuotaWindow>,
    /// Percent left of it.
    pub left_percent: f64,
    /// When the account may be asked again, epoch ms.
    pub until: Millis,
}

/// What the cutoff says of an account.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Check {
    /// Ask it.
    Proceed,
    /// Ask it, and tell that little is left.
    Warn(Low),
    /// Leave it out.
    Blocked(Low),
}

impl Preflight {
    /// Whether any account is looked at: only then readings are wanted.
    pub fn is_on(&self) -> bool {
        self.is_global() || !self.providers.is_empty() || self.accounts.values().any(AccountCutoff::asks)
    }

    /// 8.4.2: on, or stricter than it is built in.
    fn is_global(&self) -> bool {
        self.enabled || self.cutoff_percent > CUTOFF_PERCENT
    }

    /// Whether this account is looked at (8.4.2).
    pub fn minds(&self, provider: &ProviderId, connection: &ConnectionId) -> bool {
        let own = self.accounts.get(connection);
        own.and_then(|own| own.enabled).unwrap_or_else(|| {
            let asks = own.is_some_and(AccountCutoff::asks);
            asks || self.is_global() || self.providers.contains_key(provider)
        })
    }

    /// Judges an account by its latest reading.
    pub fn check(
        &self,
        provider: &ProviderId,
        connection: &ConnectionId,
        reading: Option<&AccountReading>,
        now: Millis,
    ) -> Check {
        let Some(reading) = reading.filter(|_| self.minds(provider, connection)) else {
            return Check::Proceed;
        };
        let (own, defaults) = (self.accounts.get(connection), self.providers.get(provider));
        let of = |window: QuotaWindow, list: Option<&Cutoffs>| {
            list?.iter().find(|(other, _)| *other == window).map(|(_, cutoff)| *cutoff)
        };
        let own = own.map(|own| &own.windows);
        let cutoff = |window: Option<QuotaWindow>| {
            let stated = window.and_then(|window| of(window, own).or_else(|| of(window, defaults)));
            stated.unwrap_or(self.cutoff_percent).clamp(0.0, 99.0)
        };
        judge(reading, &cutoff, self.warn_percent, now)
    }
}

impl AccountCutoff {
    /// It asks for the check by itself.
    fn asks(&self) -> bool {
        self.enabled.unwrap_or(!self.windows.is_empty())
    }
}

fn judge(
    reading: &AccountReading,
    cutoff: &dyn Fn(Option<QuotaWindow>) -> f64,
    warn: f64,
    now: Millis,
) -> Check {
    let mut blocked: Option<Low> = None;
    let mut low: Option<Low> = None;
    for (window, read) in live(reading, now) {
        let left_percent = ((1.0 - read.used) * 100.0).max(0.0);
        let until = read.ends_at(reading.seen_at);
        let found = Low { window, left_percent, until };
        let cutoff = cutoff(window);
        if left_percent <= cutoff + EXACT {
            blocked = Some(fuller(blocked, found));
        } else if left_percent <= warn.max(cutoff + 1.0) + EXACT {
            low = Some(fuller(low, found));
        }
    }
    if reading.is_limited(now) {
        let limit = Low { window: None, left_percent: 0.0, until: reading.limit_ends_at() };
        blocked = Some(blocked.map_or(limit, |found| fuller(Some(found), limit)));
    }
    blocked.map(Check::Blocked).or(low.map(Check::Warn)).unwrap_or(Check::Proceed)
}

/// Windows that still hold; the overall use where none is named.
fn live(
    reading: &AccountReading,
    now: Millis,
) -> impl Iterator<Item = (Option<QuotaWindow>, WindowReading)> + '_ {
    let named = reading.windows().map(|(window, read)| (Some(window), read));
    let whole = reading.overall.filter(|_| reading.windows().next().is_none()).map(|read| (None, read));
    named.chain(whole).filter(move |(_, read)| read.used.is_finite() && now < read.ends_at(reading.seen_at))
}

/// The one with less left is named; the account comes back when both let it.
fn fuller(known: Option<Low>, found: Low) -> Low {
    let Some(known) = known else { return found };
    let until = known.until.max(found.until);
    let named = if found.left_percent < known.left_percent { found } else { known };
    Low { until, ..named }
}

#[cfg(test)]
mod tests;
