//! What a failure writes: the start of an episode, or at most a later end of the running
//! one (decision 3, core P5, P17, 3.4).

use super::{Cooldown, LastError};
use crate::backoff;
use crate::time::{MINUTE, Millis, SECOND};
use crate::verdict::{CooldownRule, Failure, Level, Reason};

/// Cap of the 401 ladder, ms (core P13).
const LADDER_CAP_MS: Millis = 2 * MINUTE;
/// How long after its cooldown's end a 401 streak is remembered, ms (core P13).
const STREAK_MEMORY_MS: Millis = 2 * MINUTE;

/// Rest of an account that is healthy but busy and does not say for how long, ms
/// (core 3.2.1, `CONCURRENCY_LIMIT_COOLDOWN_MS`).
const BUSY_MS: Millis = SECOND;

/// How long a failure cools, and from when (decision 3).
enum Wait {
    /// From its receipt.
    Stated(Millis),
    /// From the start of the episode.
    Computed(Millis),
}

impl Cooldown {
    /// Says why if anything was written. `newer`: sent after the last cooling failure.
    pub(super) fn fail(
        &mut self,
        failure: &Failure,
        newer: bool,
        sent_at: Millis,
        now: Millis,
    ) -> Option<&'static str> {
        if self.state.terminal.is_some() {
            return None;
        }
        if let Some(state) = self.proven(failure, sent_at) {
            self.end(state, failure, now);
            return Some(failure.reason.as_str());
        }
        let ladder = match failure.cooldown {
            CooldownRule::Nothing => return None,
            CooldownRule::Record => {
                self.note(failure, now);
                return Some(failure.reason.as_str());
            }
            CooldownRule::Stall if !self.settings.stall_cools => {
                self.note(failure, now);
                return Some(failure.reason.as_str());
            }
            CooldownRule::Ladder => true,
            _ => false,
        };
        let streak = self.state.streak;
        if ladder {
            self.lengthen_streak(sent_at, now);
        }
        let moved = if self.cooling_until(now).is_some() {
            self.join_episode(failure, now)
        } else {
            self.start_episode(failure, newer, now);
            true
        };
        if ladder {
            self.state.streak_until = self.cooling_until(now).unwrap_or(now);
        }
        self.await_confirmation(failure, now);
        self.failed(now);
        (moved || streak != self.state.streak).then(|| failure.reason.as_str())
    }

    /// A failure outside a cooldown: level, reason and end are written (core P17). What was
    /// sent before the last failure belongs to its burst and repeats its step (core 8.3).
    fn start_episode(&mut self, failure: &Failure, newer: bool, now: Millis) {
        let step = if newer { self.state.level } else { self.state.episode_step };
        if failure.cooldown == CooldownRule::Rejected && (newer || self.state.refusals == 0) {
            self.count_refusal(now);
        }
        let (wait, level) = self.wait_of(failure, step);
        self.note(failure, now);
        self.state.level = match level {
            Level::Rises => step.saturating_add(1).min(self.settings.max_steps),
            Level::Keeps => self.state.level,
            Level::Zero => 0,
        };
        let base = if level == Level::Zero { 0 } else { step };
        if self.settings.disable_cooling {
            self.state.episode_step = base;
            return;
        }
        self.begin_episode(base, now);
        self.state.computed = is_computed(failure);
        let (Wait::Stated(ms) | Wait::Computed(ms)) = wait;
        self.extend(now.saturating_add(ms), Some(failure.reason), now);
    }

    /// A failure inside a cooldown: only a later end is written (core P5, decision 3).
    fn join_episode(&mut self, failure: &Failure, now: Millis) -> bool {
        // Whose stated wait ends sooner has stated it all the same.
        let stated = self.state.computed && !is_computed(failure);
        self.state.computed &= !stated;
        let start = self.state.episode_at.unwrap_or(now);
        let end = match self.wait_of(failure, self.state.episode_step).0 {
            Wait::Stated(ms) => now.saturating_add(ms),
            Wait::Computed(ms) => start.saturating_add(ms),
        };
        let moved = !self.settings.disable_cooling && self.extend(end, Some(failure.reason), now);
        moved || stated
    }

    /// Precedence of core 3.4; the ladder of P13; the base of D27.
    fn wait_of(&self, failure: &Failure, step: u32) -> (Wait, Level) {
        let numbers = &self.settings;
        let scaled = |step| backoff::scaled(numbers.base_ms, step, numbers.max_steps, numbers.ceiling_ms);
        let limited = failure.reason == Reason::RateLimitExceeded;
        match failure.cooldown {
            CooldownRule::Exact { ms, level, stated: true } => return (Wait::Stated(ms), level),
            CooldownRule::Exact { ms, level, stated: false } => return (Wait::Computed(ms), level),
            CooldownRule::Rejected => {
                return (Wait::Computed(backoff::refusal(self.state.refusals)), Level::Keeps);
            }
            _ => {}
        }
        let busy = failure.reason == Reason::ConcurrencyLimited;
        let keeps = busy || failure.cooldown == CooldownRule::Base;
        if let Some(hint) = failure.hint.filter(|_| numbers.use_hints) {
            let level = if keeps { Level::Keeps } else { Level::Zero };
            return (Wait::Stated(hint.wait_ms), level);
        }
        if busy {
            return (Wait::Computed(BUSY_MS), Level::Keeps);
        }
        match (failure.cooldown, numbers.rate_limit_delay_ms) {
            (CooldownRule::Base, _) => (Wait::Computed(scaled(0)), Level::Keeps),
            (CooldownRule::Ladder, _) => {
                let ms = backoff::ladder(numbers.base_ms, self.state.streak, LADDER_CAP_MS);
                (Wait::Computed(ms), Level::Rises)
            }
            (_, Some(delay)) if limited => (Wait::Computed(delay), Level::Zero),
            _ => (Wait::Computed(scaled(step)), Level::Rises),
        }
    }

    /// In a row: sent after the last one's cooldown had ended and soon after it; those that
    /// were sent before that are the same one (decision 12a, core P13).
    fn lengthen_streak(&mut self, sent_at: Millis, now: Millis) {
        let (count, until) = (self.state.streak, self.state.streak_until);
        self.state.streak = if count == 0 || now > until.saturating_add(STREAK_MEMORY_MS) {
            1
        } else if sent_at >= until {
            count.saturating_add(1)
        } else {
            count
        };
    }

    /// One more refusal in a row, unless the last one is forgotten (core 3.8.2). Those that come
    /// during a rest are the same one.
    fn count_refusal(&mut self, now: Millis) {
        let alive = now.saturating_sub(self.state.refused_at) <= backoff::REFUSAL_MEMORY_MS;
        self.state.refusals = if alive { self.state.refusals.saturating_add(1) } else { 1 };
        self.state.refused_at = now;
    }

    pub(super) fn begin_episode(&mut self, step: u32, now: Millis) {
        self.state.episode_at = Some(now);
        self.state.episode_step = step;
        self.state.trial_due = true;
        self.state.computed = false;
        self.trial = None;
    }

    /// Moves the end of the running episode, never to an earlier instant; whoever moves it is why.
    pub(super) fn extend(&mut self, end: Millis, why: Option<Reason>, now: Millis) -> bool {
        if self.state.until.is_some_and(|until| until >= end) {
            return false;
        }
        self.state.until = Some(end);
        self.state.ended_at = Some(end);
        self.state.rest_reason = why;
        self.state.cooled_for_ms = end.saturating_sub(self.state.episode_at.unwrap_or(now));
        true
    }

    /// From here on only what is sent later is news.
    pub(super) fn failed(&mut self, now: Millis) {
        self.state.failed_at = Some(now);
        self.advance();
    }

    pub(super) fn note(&mut self, failure: &Failure, now: Millis) {
        self.state.last_error = Some(LastError {
            reason: failure.reason,
            status: failure.status,
            at: now,
            hint_ms: failure.hint.map(|hint| hint.wait_ms),
        });
    }
}

/// Nothing in it says how long to wait, whether that is obeyed or not.
fn is_computed(failure: &Failure) -> bool {
    failure.hint.is_none() && !matches!(failure.cooldown, CooldownRule::Exact { stated: true, .. })
}
