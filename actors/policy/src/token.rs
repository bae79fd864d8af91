//! When an OAuth access token is renewed, and what it means when that fails
//! (core 3.9.7, decision 12a, FC-036, FC-038, FC-122).
//!
//! A `Timetable` is the time side of one connection's tokens; the tokens themselves are
//! never here. Age counts from the receipt of a token by our own clock. Nothing depends on
//! a timer: `need` is asked on every use, a sweep only asks earlier.

mod answer;
mod breaker;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::dice::Dice;
use crate::ids::{ConnectionId, ProviderId};
use crate::time::{MINUTE, Millis, SECOND};

pub use answer::{Meaning, Reply, meaning};
pub use breaker::{TokenBreaker, TokenBreakerSettings, TokenScope};

/// First step after failed refreshes (core 3.9.7).
const STEP_MS: Millis = 5 * MINUTE;
/// Longest wait for the next early refresh (core 3.9.7).
const LONGEST_MS: Millis = 240 * MINUTE;
/// Most that a token is renewed before its end.
const MARGIN_MS: Millis = 5 * MINUTE;
/// A token younger than this is not renewed for its age (FC-122).
const FRESH_MS: Millis = MINUTE;
/// Flat wait after a failed refresh that somebody needs (FC-038); jitter is ± a fifth.
const FLAT_MS: Millis = 5 * SECOND;
/// Most that a wait stated by the token endpoint stretches it: an account must not be out for hours.
const LONGEST_FLAT_MS: Millis = MINUTE;

/// What the age of a token asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// A refresh beside the traffic; the token is good meanwhile.
    Early,
    /// A refresh before the next use.
    Now,
}

/// How one refresh ended: what the owner of the connection is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefreshOutcome {
    /// A new token is stored and in use.
    Renewed,
    /// The refresh token is dead: the connection is `expired` (core 3.9.7).
    Expired,
    /// The provider's `oauth` settings are wrong: an alarm for all its connections.
    Misconfigured,
    /// Nothing was learnt about the account; it is tried again.
    Failed,
}

impl RefreshOutcome {
    /// The name in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Renewed => "renewed",
            Self::Expired => "expired",
            Self::Misconfigured => "misconfigured",
            Self::Failed => "failed",
        }
    }
}

/// When the tokens of one connection are renewed. Stored beside them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timetable {
    /// When the current access token came by a refresh.
    pub received_at: Option<Millis>,
    /// When it ends by our clock; `None`: nobody said.
    pub expires_at: Option<Millis>,
    /// Failed refreshes in a row.
    pub failures: u32,
    /// No early refresh before.
    early_from: Millis,
    /// No refresh that is needed before.
    urgent_from: Millis,
    /// The provider answered it with 401.
    refused: bool,
    /// Its refresh token is dead. When that is tried again is the word of the connection's
    /// owner (`cooldown::Terminal`).
    pub dead: bool,
}

/// One connection's tokens as people see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenView {
    /// Whose.
    pub connection: ConnectionId,
    /// Its provider.
    pub provider: ProviderId,
    /// The times.
    pub times: Timetable,
    /// The code of the token endpoint that says our settings are wrong.
    pub alarm: Option<&'static str>,
    /// The newest pair is not on disk yet.
    pub unsaved: bool,
}

// === impl Timetable: what happened ===

impl Timetable {
    /// Of a configured token.
    pub fn configured(expires_at: Option<Millis>) -> Self {
        Self { expires_at, ..Self::default() }
    }

    /// As it was stored. A clock that was set back lengthens no token (FC-121, FC-122).
    pub fn restored(mut self, now: Millis) -> Self {
        if let Some(received) = self.received_at.filter(|at| *at > now) {
            let ahead = received - now;
            self.received_at = Some(now);
            self.expires_at = self.expires_at.map(|at| at.saturating_sub(ahead));
        }
        self.early_from = self.early_from.min(now.saturating_add(LONGEST_MS));
        self.urgent_from = self.urgent_from.min(now.saturating_add(LONGEST_FLAT_MS));
        self
    }

    /// A new token came that lives for `lives_ms`, counted from now (FC-122).
    pub fn received(&mut self, lives_ms: Option<Millis>, now: Millis) {
        let expires_at = lives_ms.map(|lives| now.saturating_add(lives));
        *self = Self { received_at: Some(now), expires_at, ..Self::default() };
    }

    /// The provider answered the current token with 401: the next use renews it first.
    pub fn refused(&mut self) {
        self.refused = true;
    }

    /// A refresh failed and said nothing about the account. `stated_ms`: the wait it asked for.
    /// A token that is still good is renewed later and later, one that is needed after a short
    /// flat wait (core 3.9.7, FC-038).
    pub fn failed(&mut self, stated_ms: Option<Millis>, dice: &mut dyn Dice, now: Millis) {
        self.failures = self.failures.saturating_add(1);
        let doublings = (self.failures - 1).min(16);
        self.early_from = now.saturating_add((STEP_MS << doublings).min(LONGEST_MS));
        let jitter = 0.8 + 0.4 * dice.unit();
        let flat = (FLAT_MS as f64 * jitter) as Millis;
        let stated = stated_ms.unwrap_or(0).min(LONGEST_FLAT_MS);
        self.urgent_from = now.saturating_add(flat.max(stated));
    }

    /// The token endpoint said that the refresh token is dead.
    pub fn died(&mut self) {
        self.dead = true;
    }

    /// An operator says that it is worth another try.
    pub fn revive(&mut self) {
        (self.dead, self.early_from, self.urgent_from) = (false, 0, 0);
    }
}

// === impl Timetable: what follows ===

impl Timetable {
    /// What the token's age, or a 401, asks for. Nothing when the refresh token is dead: its
    /// retries are the sweep's (`sweep_due`).
    pub fn need(&self, now: Millis) -> Need {
        if self.dead {
            return Need::Nothing;
        }
        let may = now >= self.urgent_from;
        match (self.refused || !self.is_good(now), self.renews_at()) {
            (true, _) if may => Need::Now,
            (true, _) => Need::Nothing,
            (false, Some(at)) if now >= at => Need::Early,
            (false, _) => Need::Nothing,
        }
    }

    /// The token may be sent. One that looks expired as soon as it came is taken to be good for
    /// a minute: it is the clock that is wrong, or the lifetime (FC-122).
    pub fn is_good(&self, now: Millis) -> bool {
        self.expires_at.is_none_or(|at| now < at) || self.is_fresh(now)
    }

    /// Until when `need` says nothing and the token stays good: what a fast path may rely on.
    pub fn quiet_until(&self, now: Millis) -> Millis {
        if self.dead || self.refused || !self.is_good(now) {
            return now;
        }
        let ends = self.expires_at.map(|at| at.max(self.fresh_until()));
        let renews = self.renews_at();
        renews.into_iter().chain(ends).min().unwrap_or(Millis::MAX)
    }

    /// Whether a sweep refreshes now: because the token's age asks for it, or because a retry of
    /// the expired connection is due (`retry`). A blip delays both and uses up no retry.
    pub fn sweep_due(&self, retry: bool, now: Millis) -> bool {
        // What is needed is renewed on use; nobody waits for an idle connection.
        now >= self.early_from && (retry || self.need(now) != Need::Nothing)
    }

    /// When it would be renewed next; `None`: not by its age.
    pub fn next_at(&self) -> Option<Millis> {
        match (self.dead, self.refused) {
            (true, _) => None,
            (false, true) => Some(self.urgent_from),
            (false, false) => self.renews_at(),
        }
    }

    /// At min(5 min, a tenth of its life) before its end, later after failures, never within its
    /// first minute.
    fn renews_at(&self) -> Option<Millis> {
        let ends = self.expires_at?;
        let life = self.received_at.map(|at| ends.saturating_sub(at));
        let margin = life.map_or(MARGIN_MS, |life| (life / 10).min(MARGIN_MS));
        let early = ends.saturating_sub(margin).max(self.early_from).max(self.fresh_until());
        // Past its end it is needed, and the long schedule no longer holds.
        let needed = ends.max(self.fresh_until()).max(self.urgent_from);
        Some(early.min(needed))
    }

    fn is_fresh(&self, now: Millis) -> bool {
        now < self.fresh_until()
    }

    fn fresh_until(&self) -> Millis {
        self.received_at.map_or(0, |at| at.saturating_add(FRESH_MS))
    }
}
