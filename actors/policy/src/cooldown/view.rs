//! What the board publishes of a connection's status; every reader derives the truth
//! for its own `now`, and the owner answers from the same code.

use serde::{Deserialize, Serialize};

use super::Terminal;
use crate::change::{Exclusion, Refusal};
use crate::time::Millis;
use crate::verdict::Reason;

/// The last failure written to a connection (core 3.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastError {
    /// `lastErrorType`.
    pub reason: Reason,
    /// `errorCode`: the status it stands for.
    pub status: u16,
    /// When it was reported, epoch ms.
    pub at: Millis,
    /// The wait that it stated, ms (FC-120).
    pub hint_ms: Option<Millis>,
}

/// A connection's status as published. Instants are epoch ms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CooldownView {
    /// End of the cooldown; may lie in the past until a success clears it (core 3.1.3).
    pub until: Option<Millis>,
    /// Backoff level; only a success or an operator clears it (core 3.1.4).
    pub level: u32,
    /// Start of the last episode that no success has cleared (decision 3).
    pub episode_at: Option<Millis>,
    /// A lone trial is running until then (decision 3a).
    pub trial_until: Option<Millis>,
    /// The next admitted request will be the lone trial.
    pub trial_due: bool,
    /// Length of the last cooldown, ms, for the slow start (decision 34).
    pub cooled_for_ms: Millis,
    /// When the last cooldown ended, or will end.
    pub ended_at: Option<Millis>,
    /// The last failure since the last success.
    pub last_error: Option<LastError>,
    /// Why the rest ends when it does; `None` for an operator's.
    pub rest_reason: Option<Reason>,
    /// Its length is ours alone: no provider stated it, and nobody ordered it.
    pub computed: bool,
    /// It is out of use until its credential changes (core 3.9).
    pub terminal: Option<Terminal>,
}

impl CooldownView {
    /// Why a request is not admitted at `now`; `others`: its plan holds another target
    /// (core 3.1.3, 3.9.1, decision 3a).
    pub fn refusal(&self, others: bool, now: Millis) -> Option<Refusal> {
        if let Some(terminal) = self.terminal {
            return Some(Refusal { why: terminal.state.exclusion(), retry_at: None });
        }
        let (why, retry_at) = match self.cooling_until(now) {
            Some(until) => (Exclusion::ConnectionCooldown, until),
            None if others && !self.wants_trial(now) => (Exclusion::Recovering, self.trial_until?),
            None => return None,
        };
        Some(Refusal { why, retry_at: Some(retry_at) })
    }

    /// The same for a request that passes a rest (decision 33).
    pub fn refusal_of(&self, forced: bool, others: bool, now: Millis) -> Option<Refusal> {
        self.refusal(others, now).filter(|refusal| !(forced && refusal.why == Exclusion::ConnectionCooldown))
    }

    /// Nothing is left that a success would clear: it need not be reported (core 3.7.2).
    /// Until a success there is no trial without an `until`.
    pub fn is_clean(&self) -> bool {
        self.until.is_none() && self.level == 0 && self.last_error.is_none() && self.terminal.is_none()
    }

    /// End of the cooldown if it runs at `now`.
    pub fn cooling_until(&self, now: Millis) -> Option<Millis> {
        self.until.filter(|until| now < *until)
    }

    /// `banned`, `expired`, `credits_exhausted`, `cooling` or `ready`, as in `/api/actors`.
    pub fn label(&self, now: Millis) -> &'static str {
        match (self.terminal, self.cooling_until(now)) {
            (Some(terminal), _) => terminal.state.as_str(),
            (None, Some(_)) => "cooling",
            (None, None) => "ready",
        }
    }

    /// The next admitted request is a lone trial: none has been, or its lease is over.
    pub(super) fn wants_trial(&self, now: Millis) -> bool {
        self.trial_due || self.trial_until.is_some_and(|until| now >= until)
    }
}
