//! The end of a connection's use until its credential changes, a test passes or an operator
//! resets it (core 3.9, decision 12a).
//!
//! Not a cooldown: no timer ends it and no cooldown write touches it (core 8.5). Only
//! `expired` may be tried again, by whoever can refresh the credential, on a schedule.

use serde::{Deserialize, Serialize};

use super::{Cooldown, LastError};
use crate::change::{Change, Exclusion};
use crate::time::{MINUTE, Millis};
use crate::verdict::{Failure, Reason, TerminalRule};

/// Refreshes of an expired credential before it is left alone (core 3.9.7).
pub const EXPIRED_RETRY_MAX: u32 = 3;
/// Pause after the first failed refresh, ms; doubles with each (core 3.9.7).
const FIRST_RETRY_PAUSE_MS: Millis = 5 * MINUTE;

/// Why a connection is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalState {
    /// The account is disabled.
    Banned,
    /// The credential is refused.
    Expired,
    /// The account has to be paid.
    CreditsExhausted,
}

impl TerminalState {
    /// The name in JSON, in `/api/actors` and as an exclusion.
    pub fn as_str(self) -> &'static str {
        self.exclusion().as_str()
    }

    /// Why a target on such a connection is not used.
    pub fn exclusion(self) -> Exclusion {
        match self {
            Self::Banned => Exclusion::Banned,
            Self::Expired => Exclusion::Expired,
            Self::CreditsExhausted => Exclusion::CreditsExhausted,
        }
    }
}

/// A terminal state and what was tried against it. Instants are epoch ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    /// Which one.
    pub state: TerminalState,
    /// Since when.
    pub at: Millis,
    /// Of the failure that wrote it.
    #[serde(default)]
    pub reason: Option<Reason>,
    /// Refreshes that failed since then (`expiredRetryCount`).
    #[serde(default)]
    pub retries: u32,
    /// The last of them (`expiredRetryAt`).
    #[serde(default)]
    pub retried_at: Option<Millis>,
}

impl Terminal {
    /// Whether a refresh may be tried at `now` (core 3.9.7, 3.9.8; F20, F21).
    pub fn retry_due(&self, now: Millis) -> bool {
        if self.state != TerminalState::Expired || self.retries >= EXPIRED_RETRY_MAX {
            return false;
        }
        let pause_ms = FIRST_RETRY_PAUSE_MS.saturating_mul(2_u64.saturating_pow(self.retries));
        self.retried_at.is_none_or(|at| now >= at.saturating_add(pause_ms))
    }
}

impl Cooldown {
    /// The token endpoint says that the refresh token is dead: no request has to find out.
    /// `None` when the connection is out already.
    pub fn expire(&mut self, now: Millis) -> Option<Change> {
        if self.state.terminal.is_some() {
            return None;
        }
        let from = self.view().label(now);
        let reason = Reason::AuthError;
        self.state.last_error = Some(LastError { reason, status: 401, at: now, hint_ms: None });
        self.leave(TerminalState::Expired, reason, now);
        Some(self.changed(from, "refresh-token-dead", now))
    }

    /// A background refresh of an expired credential may be tried at `now`.
    pub fn retry_due(&self, now: Millis) -> bool {
        self.state.terminal.is_some_and(|terminal| terminal.retry_due(now))
    }

    /// How that refresh went: a good one brings the connection back (core 3.9.7). `None` when
    /// it is not expired (any more).
    pub fn retried(&mut self, ok: bool, now: Millis) -> Option<Change> {
        let expired = |terminal: &&mut Terminal| terminal.state == TerminalState::Expired;
        let terminal = self.state.terminal.as_mut().filter(expired)?;
        let from = TerminalState::Expired.as_str();
        if ok {
            self.wipe(now);
            return Some(self.changed(from, "refreshed", now));
        }
        terminal.retries = terminal.retries.saturating_add(1);
        terminal.retried_at = Some(now);
        Some(self.changed(from, "refresh-failed", now))
    }

    /// A test of the connection passed: no terminal state and no refused credential can be
    /// true (decision 12a). A cooldown of another kind is another matter (FC-060).
    pub fn test_passed(&mut self, now: Millis) -> Option<Change> {
        let refused = self.blamed(now) == Some(Reason::AuthError);
        let unconfirmed = self.state.streak > 0 || self.state.unconfirmed_until.is_some();
        if self.state.terminal.is_none() && !refused && !unconfirmed {
            return None;
        }
        let from = self.view().label(now);
        match self.state.terminal.is_some() || refused {
            true => self.wipe(now),
            false => self.forget_refusals(),
        }
        Some(self.changed(from, "connection-test", now))
    }

    /// Another credential: what was said about the old one is void (decision 3c).
    pub fn credential_changed(&mut self, now: Millis) -> Option<Change> {
        let about_it = |reason| matches!(reason, Reason::AuthError | Reason::QuotaExhausted);
        let held = self.blamed(now).is_some_and(about_it);
        let streak =
            self.state.streak > 0 || self.state.unconfirmed_until.is_some() || self.state.refusals > 0;
        if self.state.terminal.is_none() && !held && !streak {
            return None;
        }
        let from = self.view().label(now);
        match self.state.terminal.is_some() || held {
            true => self.wipe(now),
            false => {
                self.forget_refusals();
                self.state.refusals = 0;
            }
        }
        Some(self.changed(from, "credential", now))
    }

    /// Why it rests, else what failed last: a failure that was only told moves no rest.
    fn blamed(&self, now: Millis) -> Option<Reason> {
        match self.cooling_until(now) {
            Some(_) => self.state.rest_reason,
            None => self.state.last_error.map(|error| error.reason),
        }
    }

    /// 401s in a row that no second one has confirmed.
    fn forget_refusals(&mut self) {
        self.state.streak = 0;
        self.state.unconfirmed_until = None;
    }

    /// The terminal state that a failure proves now, if any. Immediate ones hold at once, also
    /// during a cooldown and with cooling disabled (core P5; F9, F22); a refused credential only
    /// when a second request in a row, sent after the first one's rest, is refused too.
    pub(super) fn proven(&self, failure: &Failure, sent_at: Millis) -> Option<TerminalState> {
        match failure.terminal? {
            TerminalRule::Banned => Some(TerminalState::Banned),
            TerminalRule::CreditsExhausted => Some(TerminalState::CreditsExhausted),
            TerminalRule::Expired => Some(TerminalState::Expired),
            TerminalRule::ExpiredIfConfirmed => {
                let confirmed = self.state.unconfirmed_until.is_some_and(|until| sent_at >= until);
                confirmed.then_some(TerminalState::Expired)
            }
        }
    }

    /// Puts the connection out of use.
    pub(super) fn end(&mut self, state: TerminalState, failure: &Failure, now: Millis) {
        self.note(failure, now);
        self.leave(state, failure.reason, now);
    }

    fn leave(&mut self, state: TerminalState, reason: Reason, now: Millis) {
        self.state.terminal =
            Some(Terminal { state, at: now, reason: Some(reason), retries: 0, retried_at: None });
        self.state.trial_due = false;
        self.trial = None;
        self.failed(now);
    }

    /// The first refusal of a credential waits for a second one after this rest.
    pub(super) fn await_confirmation(&mut self, failure: &Failure, now: Millis) {
        if failure.terminal == Some(TerminalRule::ExpiredIfConfirmed) {
            // Without a rest, whatever was sent by now is parallel.
            let until = self.cooling_until(now).unwrap_or(now.saturating_add(1));
            self.state.unconfirmed_until.get_or_insert(until);
        }
    }
}
