//! The attempt loop of one request as a state machine without a socket
//! (routing 7.1, 7.3, 7.6, 7.8; decisions 7, 9b, 9c, 12c, 26a).
//!
//! It is told how each attempt ended and says what to do next; `relay` only obeys.
//! A failure at provider level defers the target's other connections behind the
//! other targets: asking them first would cost time and prove nothing new.

mod guard;
mod kept;
mod last;
mod own;
mod settings;

use crate::change::Refusal;
use crate::dice::Dice;
use crate::ids::{ConnectionId, ModelId, ProviderId};
use crate::lockout::is_rule_of_a_model;
use crate::plan::{Plan, Planned};
use crate::time::Millis;
use crate::verdict::{BreakerMark, Failure, Then};

use guard::{is_quota, is_streak, open_rows};
use kept::Kept;
pub use last::LastAnswer;
use last::last_answer;
pub use own::{Own, Owns};
pub use settings::AttemptSettings;

/// Dispatches of one request over all targets and retries (routing 7.8).
pub const MAX_DISPATCHES: usize = 30;

/// A stated wait up to this long takes the place of the retry delay (decision 26a), ms.
pub const LONGEST_STATED_WAIT_MS: Millis = 10_000;

/// What the request does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Try this target (an index of the plan) after a pause of so many ms. When `retry` is set, the
    /// failed attempt is not settled: only its retry is (decision 9c).
    Try {
        /// Index of the plan's target.
        target: usize,
        /// Pause before it, ms.
        wait_ms: Millis,
        /// The same target again.
        retry: bool,
    },
    /// Every target that is left has no room now: join the lines of these (indices of the plan) and
    /// go where a place comes free first (flow 1.17).
    Queue(Vec<usize>),
    /// Give the client this attempt's own answer (an index of `failures`).
    Stop(usize),
    /// Nothing is left to try.
    Exhausted,
    /// The 31st dispatch (routing 7.8).
    TooMany,
}

/// One failed attempt, as the last answer is made from it.
#[derive(Clone, Debug)]
pub struct Failed {
    /// Index of the plan's target.
    pub target: usize,
    /// What was concluded.
    pub failure: Failure,
    /// The upstream gave a status and body of its own.
    pub answered: bool,
}

/// A target whose owner said no after the plan was made.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    /// Index of the plan's target.
    pub target: usize,
    /// The owner's words.
    pub refusal: Refusal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Fresh,
    Deferred,
    /// It had no room when it was asked.
    Full,
    Spent,
}

#[derive(Clone, Debug)]
struct Key {
    step: usize,
    provider: ProviderId,
    connection: ConnectionId,
    model: ModelId,
    pinned: bool,
    only_on_quota: bool,
}

/// The loop.
#[derive(Clone, Debug)]
pub struct Attempts {
    settings: AttemptSettings,
    own: Owns,
    combo: bool,
    /// It is the last resort: one try, whatever comes of it (decision 33).
    once: bool,
    keys: Vec<Key>,
    rows: Vec<Row>,
    /// It failed for want of quota alone.
    passed: Vec<bool>,
    /// One target after the other found the same fault with the request (routing 7.14).
    hopeless: bool,
    /// The call of the session's own model (routing 3.9).
    kept: Kept,
    dispatched: usize,
    retries: u32,
    counted: Vec<ProviderId>,
    failures: Vec<Failed>,
    refusals: Vec<Refused>,
}

impl Attempts {
    /// The loop over a plan's targets.
    pub fn new(plan: &Plan) -> Self {
        Self {
            settings: plan.attempts,
            own: plan.own.clone(),
            combo: plan.combo.is_some(),
            once: plan.is_last_resort(),
            keys: plan.targets.iter().map(Key::of).collect(),
            rows: vec![Row::Fresh; plan.targets.len()],
            passed: vec![false; plan.targets.len()],
            hopeless: false,
            kept: Kept::of(plan),
            dispatched: 0,
            retries: 0,
            counted: Vec::new(),
            failures: Vec::new(),
            refusals: Vec::new(),
        }
    }

    /// Another pass (routing 7.13): what was sent and whom it was counted against stays.
    pub fn anew(&mut self, plan: &Plan) {
        let counted = std::mem::take(&mut self.counted);
        *self = Self { dispatched: self.dispatched, counted, ..Self::new(plan) };
    }

    /// The first target.
    pub fn first(&self) -> Next {
        self.next(0).unwrap_or(Next::Exhausted)
    }

    /// A request is about to leave for a target.
    pub fn dispatch(&mut self, target: usize) {
        self.dispatched += 1;
        self.rows[target] = Row::Spent;
    }

    /// Whether another target could still be tried (decisions 3a, 5a).
    pub fn others_left(&self, target: usize) -> bool {
        let other = |index: &usize| *index != target && self.rows[*index] != Row::Spent;
        (0..self.rows.len()).filter(other).any(|index| !self.kept.bars(&self.keys[index]))
    }

    /// An owner refused the target: the next one. A target that is merely full is asked again when
    /// nothing else is left.
    pub fn refused(&mut self, target: usize, refusal: Refusal) -> Next {
        self.rows[target] = match refusal.why.is_worth_queueing() && self.rows[target] != Row::Full {
            true => Row::Full,
            false => Row::Spent,
        };
        self.refusals.push(Refused { target, refusal });
        self.next(0).unwrap_or(Next::Exhausted)
    }

    /// An attempt failed. `settled`: it is, whatever follows, so it is not retried in place: it held a
    /// probe of a half-open breaker, or another attempt ran beside it.
    pub fn failed(&mut self, failed: Failed, settled: bool, dice: &mut dyn Dice) -> Next {
        let (target, failure) = (failed.target, failed.failure.clone());
        self.failures.push(failed);
        if failure.then == Then::Stop {
            return Next::Stop(self.failures.len() - 1);
        }
        self.passed[target] = is_quota(&failure);
        self.exhaust(target, &failure);
        self.kept.failed(&self.keys[target], failure.status);
        self.hopeless = self.combo && is_streak(&self.failures);
        if self.hopeless {
            return Next::Exhausted;
        }
        let own = *self.settings_of(target);
        let retry = self.retry_wait(&own, &failure, settled, dice);
        if !own.failover_before_retry
            && let Some(wait_ms) = retry
        {
            return self.again(target, wait_ms);
        }
        match (self.next(pause(&own, &failure)), retry) {
            (Some(next), _) => next,
            (None, Some(wait_ms)) => self.again(target, wait_ms),
            (None, None) => Next::Exhausted,
        }
    }

    /// Whether this attempt's outcome counts on its provider's breaker: the first of the request
    /// does, a probe always does (decision 7).
    pub fn counts(&mut self, target: usize, probe: bool) -> bool {
        let provider = &self.keys[target].provider;
        let first = !self.counted.contains(provider);
        if first {
            self.counted.push(provider.clone());
        }
        first || probe
    }

    /// Whether a request was sent to a target in this pass.
    pub fn was_tried(&self, target: usize) -> bool {
        self.rows[target] == Row::Spent
    }

    /// Another pass would hear the same again (routing 7.14), or what was heard is the answer (3.9).
    pub fn is_hopeless(&self) -> bool {
        self.hopeless || self.kept.is_answer()
    }

    /// The target that may run beside `target` when that is slow (routing 7.11): the next one, if
    /// nothing forbids to pass this one.
    pub fn hedge(&self, target: usize) -> Option<usize> {
        let key = &self.keys[target];
        let free = !key.only_on_quota && !self.kept.is_of(key) && self.may_dispatch();
        self.open(Row::Fresh).next().filter(|_| free)
    }

    /// Requests sent so far.
    pub fn dispatched(&self) -> usize {
        self.dispatched
    }

    /// Whether another request may be sent (routing 7.8).
    pub fn may_dispatch(&self) -> bool {
        self.dispatched < MAX_DISPATCHES
    }

    /// Failed attempts of this pass, oldest first.
    pub fn failures(&self) -> &[Failed] {
        &self.failures
    }

    /// Refusals after the plan was made.
    pub fn refusals(&self) -> &[Refused] {
        &self.refusals
    }

    /// What the client gets when all attempts failed (decision 9b).
    pub fn last_answer(&self) -> LastAnswer {
        last_answer(&self.failures, self.combo)
    }

    /// The next target, after a pause of so many ms; those without room come last, all at once.
    fn next(&self, wait_ms: Millis) -> Option<Next> {
        if let Some(target) = self.open(Row::Fresh).chain(self.open(Row::Deferred)).next() {
            return Some(self.go(target, wait_ms, false));
        }
        let full: Vec<usize> = self.open(Row::Full).collect();
        match (full.is_empty(), self.dispatched < MAX_DISPATCHES) {
            (true, _) => None,
            (false, true) => Some(Next::Queue(full)),
            (false, false) => Some(Next::TooMany),
        }
    }

    /// The targets in this state that may be tried now.
    fn open(&self, state: Row) -> impl Iterator<Item = usize> {
        let rows = self.rows[..open_rows(&self.keys, &self.rows, &self.passed)].iter().enumerate();
        let rows = rows.filter(move |(index, row)| **row == state && !self.kept.bars(&self.keys[*index]));
        rows.map(|(index, _)| index)
    }

    fn go(&self, target: usize, wait_ms: Millis, retry: bool) -> Next {
        match self.may_dispatch() {
            true => Next::Try { target, wait_ms, retry },
            false => Next::TooMany,
        }
    }

    fn again(&mut self, target: usize, wait_ms: Millis) -> Next {
        self.retries += 1;
        self.go(target, wait_ms, true)
    }

    /// Routing 7.3, 7.5: what else of the plan this failure rules out or puts last.
    fn exhaust(&mut self, target: usize, failure: &Failure) {
        let failed = self.keys[target].clone();
        let account = !is_of_a_model(failure) && matches!(failure.status, 401..=403 | 408 | 500..=504 | 524);
        let provider_level = matches!(failure.breaker, BreakerMark::Counts(_));
        // The provider does not serve the model, whichever account asks (core 3.2.6).
        let served_nowhere = failure.then == Then::NextProvider;
        for (key, row) in self.keys.iter().zip(&mut self.rows) {
            if *row == Row::Spent {
                continue;
            }
            let same_model = key.provider == failed.provider && key.model == failed.model;
            if served_nowhere && same_model || account && key.pinned && key.connection == failed.connection {
                *row = Row::Spent;
            } else if provider_level && key.step == failed.step {
                *row = Row::Deferred;
            }
        }
    }

    /// The pause before a same-target retry, if one is allowed now (routing 7.6, decisions 12c, 26a).
    fn retry_wait(
        &self,
        own: &AttemptSettings,
        failure: &Failure,
        settled: bool,
        dice: &mut dyn Dice,
    ) -> Option<Millis> {
        if settled || self.once {
            return None;
        }
        match failure.then {
            Then::NextOrRetry if self.combo && self.retries < own.max_retries => {
                match failure.hint.map(|hint| hint.wait_ms) {
                    Some(wait) => (wait <= LONGEST_STATED_WAIT_MS).then_some(wait),
                    None => Some(jittered(own.retry_delay_ms, dice)),
                }
            }
            Then::NextOrOnce if self.retries == 0 => Some(500 + (dice.unit() * 500.0) as Millis),
            _ => None,
        }
    }

    /// What is said of a target's provider, else of all (routing 1.4).
    fn settings_of(&self, target: usize) -> &AttemptSettings {
        self.own.attempts(&self.keys[target].provider, &self.settings)
    }
}

/// Routing 7.12: the pause before the next target.
fn pause(own: &AttemptSettings, failure: &Failure) -> Millis {
    match failure.status {
        502..=504 => own.fallback_delay_ms,
        _ => 0,
    }
}

impl Key {
    fn of(target: &Planned) -> Self {
        Self {
            step: target.step,
            provider: target.provider.clone(),
            connection: target.connection.clone(),
            model: target.model.clone(),
            pinned: target.pinned,
            only_on_quota: target.only_on_quota,
        }
    }
}

/// It bars one model on the account, so the account's other models are worth asking (rules 3.11.4).
fn is_of_a_model(failure: &Failure) -> bool {
    failure.lock.is_some() || is_rule_of_a_model(failure)
}

/// Up to a quarter longer, never shorter.
fn jittered(delay_ms: Millis, dice: &mut dyn Dice) -> Millis {
    delay_ms + (delay_ms as f64 * 0.25 * dice.unit()) as Millis
}

#[cfg(test)]
mod tests;
