//! The status of one connection: its cooldown, its backoff level, its trial
//! (core 3, decisions 2, 3, 3a, 3b, 9, 9a, 12a, 12c).
//!
//! A cooldown that runs is an episode. Its first failure writes level and reason; the
//! others can only move its end later, so a burst of parallel failures costs one step.
//! After it one lone trial goes ahead, and only a success wipes the slate. News from
//! before the last failure clears nothing: a `Trial` carries the generation it was
//! admitted in, and the caller says when the request was sent.

mod episode;
mod settings;
mod snapshot;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

use crate::change::{Change, Refusal};
use crate::time::Millis;
use crate::verdict::{BreakerMark, Failure, Reason, Verdict};

pub use settings::{CooldownSettings, resolve_delay};
pub use snapshot::CooldownSnapshot;
pub use terminal::{EXPIRED_RETRY_MAX, Terminal, TerminalState};
pub use view::{CooldownView, LastError};

/// What an admitted request carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trial {
    /// Generation it was admitted in.
    pub generation: u64,
    /// The lone request after a cooldown (decision 3a); its verdict frees the others.
    pub lone: bool,
}

/// The status of one connection.
#[derive(Clone, Debug)]
pub struct Cooldown {
    settings: CooldownSettings,
    /// Its generation moves on with every cooling failure, order to cool, trial and restart.
    state: CooldownSnapshot,
    /// The lone trial that runs (decision 3a).
    trial: Option<Running>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    generation: u64,
    until: Millis,
}

// === impl Cooldown: making, keeping, changing numbers ===

impl Cooldown {
    /// A connection without history.
    pub fn new(settings: CooldownSettings) -> Self {
        Self { settings, state: CooldownSnapshot::default(), trial: None }
    }

    /// The status as it was stored (decision 11). A trial that was running is due again.
    pub fn restore(snapshot: CooldownSnapshot, settings: CooldownSettings, now: Millis) -> Self {
        let mut state = snapshot;
        if state.episode_at.is_some_and(|at| at > now) {
            // The clock was set back: no wait may exceed its own length (FC-121).
            let longest = now.saturating_add(state.cooled_for_ms);
            state.until = state.until.map(|until| until.min(longest));
            state.episode_at = Some(now);
        }
        state.failed_at = state.failed_at.map(|at| at.min(now));
        if let Some(terminal) = &mut state.terminal {
            terminal.at = terminal.at.min(now);
            terminal.retried_at = terminal.retried_at.map(|at| at.min(now));
        }
        state.generation = state.generation.wrapping_add(1);
        Self { settings, state, trial: None }
    }

    /// What has to survive a restart.
    pub fn snapshot(&self) -> CooldownSnapshot {
        CooldownSnapshot { trial_due: self.state.trial_due || self.trial.is_some(), ..self.state.clone() }
    }

    /// New numbers; what is running keeps its end.
    pub fn configure(&mut self, settings: CooldownSettings) {
        self.settings = settings;
    }

    /// What the board publishes.
    pub fn view(&self) -> CooldownView {
        CooldownView {
            until: self.state.until,
            level: self.state.level,
            episode_at: self.state.episode_at,
            trial_until: self.trial.map(|trial| trial.until),
            trial_due: self.state.trial_due,
            cooled_for_ms: self.state.cooled_for_ms,
            ended_at: self.state.ended_at,
            last_error: self.state.last_error,
            rest_reason: self.state.rest_reason,
            computed: self.state.computed,
            terminal: self.state.terminal,
        }
    }

    /// End of the cooldown if it runs at `now`.
    pub fn cooling_until(&self, now: Millis) -> Option<Millis> {
        self.view().cooling_until(now)
    }
}

// === impl Cooldown: admit, record ===

impl Cooldown {
    /// Asks to send one request; `others`: its plan holds another target. The first after a
    /// cooldown is the lone trial; while it runs only requests without another target join
    /// it (decision 3a). A lone trial changes the view: publish it.
    pub fn admit(&mut self, others: bool, now: Millis) -> Result<Trial, Refusal> {
        let view = self.view();
        if let Some(refusal) = view.refusal(others, now) {
            return Err(refusal);
        }
        let lone = view.wants_trial(now);
        if lone {
            self.advance();
            self.state.trial_due = false;
            self.trial = Some(Running {
                generation: self.state.generation,
                until: now.saturating_add(self.settings.trial_ms),
            });
        }
        Ok(Trial { generation: self.state.generation, lone })
    }

    /// Lets a request pass a rest (decision 33); a terminal connection lets nobody. Outside a rest it is
    /// admitted as any other.
    pub fn admit_forced(&mut self, others: bool, now: Millis) -> Result<Trial, Refusal> {
        match self.cooling_until(now) {
            Some(_) if self.state.terminal.is_none() => {
                Ok(Trial { generation: self.state.generation, lone: false })
            }
            _ => self.admit(others, now),
        }
    }

    /// Takes the verdict of one admitted request that was dispatched at `sent_at`; `None`
    /// when nothing changed. In the order of core 3.7: a terminal connection takes no write
    /// (P3, F5), a verdict that proves a terminal state is written even during a cooldown (P5).
    pub fn record(
        &mut self,
        trial: Trial,
        verdict: &Verdict,
        sent_at: Millis,
        now: Millis,
    ) -> Option<Change> {
        let from = self.view().label(now);
        let newer = self.is_news(trial, sent_at);
        let judged = self.end_trial(trial, verdict);
        let why = match verdict {
            Verdict::Success if newer && !self.view().is_clean() => {
                self.wipe(now);
                Some("recovery")
            }
            Verdict::Success | Verdict::Neutral => None,
            Verdict::Failure(failure) => self.fail(failure, newer, sent_at, now),
        };
        let why = why.or(judged)?;
        Some(self.changed(from, why, now))
    }

    /// Takes the failure of a check, not of a request: it is told, nobody rests (core P8). `None`
    /// on a terminal connection (P3).
    pub fn record_check(&mut self, failure: &Failure, now: Millis) -> Option<Change> {
        if self.state.terminal.is_some() {
            return None;
        }
        self.note(failure, now);
        Some(self.changed(self.view().label(now), "check-failed", now))
    }

    /// Admitted or sent after the last cooling failure, so it knows better.
    fn is_news(&self, trial: Trial, sent_at: Millis) -> bool {
        let failed_at = self.state.failed_at;
        trial.generation == self.state.generation || failed_at.is_none_or(|at| sent_at > at)
    }

    /// Ends the lone trial if this is it. Unless it was answered, another one is due.
    fn end_trial(&mut self, trial: Trial, verdict: &Verdict) -> Option<&'static str> {
        self.trial.take_if(|running| trial.lone && trial.generation == running.generation)?;
        let answered = match verdict {
            Verdict::Success => true,
            Verdict::Neutral => false,
            Verdict::Failure(failure) => failure.breaker == BreakerMark::Reachable,
        };
        self.state.trial_due = !answered;
        Some(if answered { "trial-answered" } else { "trial-returned" })
    }
}

// === impl Cooldown: orders ===

impl Cooldown {
    /// An operator's cooldown: like any other it never shortens one (decision 3), and the
    /// level stays. `None` on a terminal connection (core 8.5).
    pub fn cool(&mut self, for_ms: Millis, now: Millis) -> Option<Change> {
        if self.state.terminal.is_some() {
            return None;
        }
        let from = self.view().label(now);
        if self.cooling_until(now).is_none() {
            self.begin_episode(self.state.level, now);
        }
        self.extend(now.saturating_add(for_ms), None, now);
        self.state.computed = false;
        self.failed(now);
        Some(self.changed(from, "manual-cool", now))
    }

    /// Rests as long as a connection that shares its egress, whose quota belongs to the address
    /// (rules 4.8, 4.9). Terminal, resting or never resting ones are left alone; the level stays.
    pub fn cool_with(&mut self, reason: Reason, for_ms: Millis, now: Millis) -> Option<Change> {
        let busy = self.state.terminal.is_some() || self.cooling_until(now).is_some();
        if busy || self.settings.disable_cooling {
            return None;
        }
        let from = self.view().label(now);
        self.begin_episode(self.state.level, now);
        self.extend(now.saturating_add(for_ms), Some(reason), now);
        self.state.last_error = Some(LastError { reason, status: 429, at: now, hint_ms: None });
        self.failed(now);
        Some(self.changed(from, "shared-egress", now))
    }

    /// The cooldown manager's order: what a success clears, on a connection that is not terminal
    /// (core 5.7.4); `None` if there is nothing.
    pub fn lift(&mut self, now: Millis) -> Option<Change> {
        if self.state.terminal.is_some() {
            return None;
        }
        self.clear(now)
    }

    /// An operator's reset: what a success clears, and a terminal state (contract 4); `None` if
    /// there is nothing.
    pub fn clear(&mut self, now: Millis) -> Option<Change> {
        if self.view().is_clean() {
            return None;
        }
        let from = self.view().label(now);
        self.wipe(now);
        Some(self.changed(from, "manual-reset", now))
    }

    /// Core 3.7.2. What the slow start needs stays.
    fn wipe(&mut self, now: Millis) {
        self.state = CooldownSnapshot {
            generation: self.state.generation,
            cooled_for_ms: self.state.cooled_for_ms,
            ended_at: self.state.ended_at.map(|at| at.min(now)),
            ..CooldownSnapshot::default()
        };
        self.trial = None;
    }

    fn advance(&mut self) {
        self.state.generation = self.state.generation.wrapping_add(1);
    }

    fn changed(&self, from: &str, why: &str, at: Millis) -> Change {
        Change { from: from.into(), to: self.view().label(at).into(), why: why.into(), at }
    }
}
