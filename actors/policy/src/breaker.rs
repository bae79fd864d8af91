//! One provider's circuit breaker (core 1, decisions 5, 5b, 6, 7, 35).
//!
//! CLOSED and DEGRADED let traffic flow, OPEN refuses it, HALF_OPEN lets a counted
//! number of probes through. Every admission is a `Grant` with a generation and every
//! outcome brings its grant back: what was admitted before the last turn has no say.
//! The instants at which a state ends by itself are part of the view, so reads are
//! right without a timer; `tick` only makes such an end real and tells about it.
//! Whether a request still counts (decision 7) is the caller's knowledge.

mod orders;
mod settings;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;
mod view;

use crate::change::{Change, Refusal};
use crate::time::Millis;
use crate::verdict::Kind;

pub use settings::BreakerSettings;
pub use snapshot::BreakerSnapshot;
pub use state::{BreakerState, Grant, Operator, Outcome};
pub use view::{Admission, BreakerView};

/// Transitions kept for people (core 1.7.5).
const HISTORY: usize = 20;

/// The breaker of one provider.
#[derive(Clone, Debug)]
pub struct Breaker {
    settings: BreakerSettings,
    /// Everything that is published; `refresh` renews its derived parts after each move.
    view: BreakerView,
    /// While OPEN by an operator's trip: when that ends.
    forced_until: Option<Millis>,
    /// The lease of the last probes ended unjudged. They may still speak until another
    /// probe is admitted, which then starts a new generation (B16, decision 5a).
    lease_over: bool,
    /// The generation before a restore: its ordinary grants still count (decision 12).
    elder: Option<u64>,
}

// === impl Breaker: making, keeping, changing numbers ===

impl Breaker {
    /// A closed breaker without history.
    pub fn new(settings: BreakerSettings) -> Self {
        Self { elder: None, ..Self::restore(BreakerSnapshot::default(), settings, 0) }
    }

    /// The breaker as it was stored, in a new generation: HALF_OPEN gets full permits (B24),
    /// OPEN keeps its hold, operator orders survive (core 1.7.8, decisions 11, 12, 35).
    pub fn restore(snapshot: BreakerSnapshot, settings: BreakerSettings, now: Millis) -> Self {
        // A failure from the future (the clock was set back) must not hold longer than a hold.
        let last_failure_at = snapshot.last_failure_at.map(|at| at.min(now));
        let timeless = last_failure_at.is_none() && snapshot.forced_until.is_none();
        let (state, failures) = match snapshot.state {
            BreakerState::Open if timeless => (BreakerState::HalfOpen, snapshot.failures),
            BreakerState::Degraded if last_failure_at.is_none() => (BreakerState::Closed, 0),
            state => (state, snapshot.failures),
        };
        let flows = matches!(state, BreakerState::Closed | BreakerState::Degraded);
        let mut breaker = Self {
            settings,
            view: BreakerView {
                state,
                operator: snapshot.operator,
                generation: snapshot.generation.wrapping_add(1),
                failures,
                last_failure_at,
                last_kind: snapshot.last_kind,
                open_cycles: snapshot.open_cycles,
                open_until: None,
                quiet_until: None,
                permits_left: 0,
                lease_until: None,
                hold_ms: 0,
                degrade_at: 0,
                reset_ms: 0,
                history: Vec::new(),
            },
            forced_until: None,
            lease_over: false,
            elder: flows.then_some(snapshot.generation),
        };
        breaker.enter(state);
        breaker.forced_until = snapshot.forced_until.filter(|_| state == BreakerState::Open);
        breaker.refresh();
        breaker
    }

    /// What has to survive a restart.
    pub fn snapshot(&self) -> BreakerSnapshot {
        BreakerSnapshot {
            state: self.view.state,
            operator: self.view.operator,
            generation: self.view.generation,
            failures: self.view.failures,
            last_failure_at: self.view.last_failure_at,
            last_kind: self.view.last_kind,
            open_cycles: self.view.open_cycles,
            forced_until: self.forced_until,
        }
    }

    /// New numbers; state and counters stay, running probes keep their permits (core 1.1.6).
    pub fn configure(&mut self, settings: BreakerSettings, now: Millis) -> Option<Change> {
        if settings == self.settings {
            return None;
        }
        if self.view.state == BreakerState::HalfOpen {
            let running = self.settings.permits.saturating_sub(self.view.permits_left);
            let left = settings.permits.saturating_sub(running);
            self.view.permits_left = self.view.permits_left.min(left);
        }
        self.settings = settings;
        Some(self.moved(self.view.state.as_str(), "reconfigured", now))
    }
}

// === impl Breaker: admit, record, tick ===

impl Breaker {
    /// Asks to send one request. In HALF_OPEN this takes a probe permit; an OPEN past its
    /// hold becomes HALF_OPEN first (core 1.5.1; call `tick` before to get that `Change`).
    /// A granted probe changes the view: publish it.
    pub fn admit(&mut self, now: Millis) -> Result<Grant, Refusal> {
        match self.view.admission(now) {
            Admission::Free => Ok(self.view.grant()),
            Admission::Refused(refusal) => Err(refusal),
            Admission::Ask => {
                self.tick(now);
                Ok(self.claim_probe(now))
            }
        }
    }

    /// Takes the outcome of one admitted request; `None` when it changed nothing.
    pub fn record(&mut self, grant: Grant, outcome: Outcome, now: Millis) -> Option<Change> {
        if !self.speaks(grant) {
            return None;
        }
        let settled = match self.view.state {
            // An OPEN that is only observed: nobody else may ask when its hold is over.
            BreakerState::Open => return self.tick(now),
            BreakerState::Degraded => self.tick(now),
            BreakerState::Closed | BreakerState::HalfOpen => None,
        };
        let from = self.view.state;
        let why = match from {
            BreakerState::HalfOpen => self.record_probe(grant, outcome, now),
            _ => self.record_flow(outcome, now),
        };
        let change = why.map(|why| self.moved(from.as_str(), why, now));
        match (settled, change) {
            (Some(first), Some(second)) => {
                Some(Change { from: first.from, why: format!("{}, {}", first.why, second.why), ..second })
            }
            (first, second) => second.or(first),
        }
    }

    /// Makes real what time alone has changed: the end of a hold, of a quiet window, or of a
    /// probe's lease. The `Change` carries the instant at which it became true (decision 5b).
    pub fn tick(&mut self, now: Millis) -> Option<Change> {
        let due = self.next_tick_at().filter(|due| now >= *due)?;
        let from = self.view.state;
        let why = match from {
            BreakerState::Closed => return None,
            BreakerState::Degraded => {
                self.close();
                "quiet-window"
            }
            BreakerState::Open => {
                self.enter(BreakerState::HalfOpen);
                self.advance();
                "timeout-elapsed"
            }
            BreakerState::HalfOpen => {
                self.enter(BreakerState::HalfOpen);
                self.lease_over = true;
                "probe-lease-ended"
            }
        };
        Some(self.moved(from.as_str(), why, due))
    }

    /// When `tick` would next change something.
    pub fn next_tick_at(&self) -> Option<Millis> {
        match self.view.state {
            BreakerState::Open => self.view.open_until,
            BreakerState::Degraded => self.view.quiet_until,
            BreakerState::HalfOpen if self.view.permits_left == 0 => self.view.lease_until,
            BreakerState::Closed | BreakerState::HalfOpen => None,
        }
    }

    /// The state at `now`, never the raw field (core 1.4.5).
    pub fn state(&self, now: Millis) -> BreakerState {
        self.view.state_at(now)
    }

    /// Ms until asking again may help (core 1.4.6).
    pub fn retry_after_ms(&self, now: Millis) -> Millis {
        self.view.retry_after_ms(now)
    }

    /// What the board publishes.
    pub fn view(&self) -> BreakerView {
        self.view.clone()
    }
}

// === impl Breaker: the machine ===

impl Breaker {
    fn speaks(&self, grant: Grant) -> bool {
        let current = grant.generation == self.view.generation;
        let elder = !grant.probe && Some(grant.generation) == self.elder;
        // Everybody is let through while it is observed, so everybody is a probe.
        let trusted = self.view.state != BreakerState::HalfOpen
            || grant.probe
            || self.view.operator == Operator::Observe;
        (current || elder) && trusted
    }

    /// CLOSED and DEGRADED (core 1.2.2, 1.2.5).
    fn record_flow(&mut self, outcome: Outcome, now: Millis) -> Option<String> {
        let open_at = self.settings.open_at;
        match outcome {
            Outcome::Failure(kind) => {
                let n = self.fail(kind, now);
                let warns = self.view.state == BreakerState::Closed;
                if n >= open_at {
                    self.enter(BreakerState::Open);
                    self.advance();
                } else if warns && n >= self.settings.degrade_at {
                    self.enter(BreakerState::Degraded);
                } else {
                    return Some(format!("failure {n}/{open_at}"));
                }
                Some(format!("elevated-failures ({n}/{open_at})"))
            }
            Outcome::Success if self.view.failures > 0 => {
                self.view.failures -= 1;
                let n = self.view.failures;
                if self.view.state == BreakerState::Degraded && n <= self.settings.degrade_at {
                    self.enter(BreakerState::Closed);
                    return Some("recovery".into());
                }
                Some(format!("success {n}/{open_at}"))
            }
            Outcome::Success | Outcome::Reachable | Outcome::Neutral => None,
        }
    }

    /// HALF_OPEN: the first judged probe decides (core 1.2.6, 1.5.4, decision 5).
    fn record_probe(&mut self, grant: Grant, outcome: Outcome, now: Millis) -> Option<String> {
        match outcome {
            Outcome::Success | Outcome::Reachable => {
                self.close();
                self.advance();
                let reachable = outcome == Outcome::Reachable;
                let why = if reachable { "probe-reachable" } else { "probe-success" };
                Some(why.into())
            }
            Outcome::Failure(kind) => {
                self.fail(kind, now);
                self.view.open_cycles = self.view.open_cycles.saturating_add(1);
                self.enter(BreakerState::Open);
                self.advance();
                Some(format!("probe-failed (cycle {})", self.view.open_cycles))
            }
            // At the end of a lease its permits have come back already.
            Outcome::Neutral if grant.probe && !self.lease_over => {
                let left = self.view.permits_left.saturating_add(1);
                self.view.permits_left = left.min(self.settings.permits);
                if self.view.permits_left == self.settings.permits {
                    self.view.lease_until = None;
                }
                Some("probe-returned".into())
            }
            Outcome::Neutral => None,
        }
    }

    fn claim_probe(&mut self, now: Millis) -> Grant {
        if self.lease_over {
            self.lease_over = false;
            self.advance();
        }
        self.view.permits_left = self.view.permits_left.saturating_sub(1);
        self.view.lease_until = Some(now.saturating_add(self.settings.reset_ms));
        Grant { generation: self.view.generation, probe: true }
    }

    fn fail(&mut self, kind: Kind, now: Millis) -> u32 {
        self.view.failures = self.view.failures.saturating_add(1);
        self.view.last_failure_at = Some(now);
        self.view.last_kind = Some(kind);
        self.view.failures
    }

    fn enter(&mut self, state: BreakerState) {
        let probes = state == BreakerState::HalfOpen;
        self.view.state = state;
        self.view.permits_left = if probes { self.settings.permits } else { 0 };
        self.view.lease_until = None;
        self.lease_over = false;
        self.forced_until = None;
    }

    fn close(&mut self) {
        self.enter(BreakerState::Closed);
        self.view.failures = 0;
        self.view.last_kind = None;
        self.view.open_cycles = 0;
    }

    fn advance(&mut self) {
        self.view.generation = self.view.generation.wrapping_add(1);
        self.elder = None;
    }

    /// Base of hold and quiet window: by the last kind, else the reset timeout (core 1.4.4).
    fn base_ms(&self) -> Millis {
        let by_kind = match self.view.last_kind {
            Some(Kind::RateLimit) => self.settings.rate_limit_hold_ms,
            Some(Kind::QuotaExhausted) => self.settings.quota_hold_ms,
            Some(Kind::Transient) | None => None,
        };
        by_kind.unwrap_or(self.settings.reset_ms)
    }

    /// The longest hold for the last kind, and the quiet window (core 1.3.2): a multiplier
    /// of 0 leaves the base.
    fn longest_ms(&self) -> Millis {
        let times = Millis::from(self.settings.max_multiplier.max(1));
        self.base_ms().saturating_mul(times)
    }

    /// Core 1.4.4.
    fn hold_ms(&self) -> Millis {
        let beyond = self.view.open_cycles.saturating_sub(self.settings.escalate_after);
        let grown = self.base_ms().saturating_mul(2_u64.saturating_pow(beyond));
        grown.min(self.longest_ms())
    }

    fn refresh(&mut self) {
        let after_failure = |ms: Millis| self.view.last_failure_at.map(|at| at.saturating_add(ms));
        let open_until = self.forced_until.or(after_failure(self.hold_ms()));
        let quiet_until = after_failure(self.longest_ms());
        self.view.open_until = open_until.filter(|_| self.view.state == BreakerState::Open);
        self.view.quiet_until = quiet_until.filter(|_| self.view.state == BreakerState::Degraded);
        self.view.hold_ms = self.hold_ms();
        self.view.degrade_at = self.settings.degrade_at;
        self.view.reset_ms = self.settings.reset_ms;
    }

    fn moved(&mut self, from: &'static str, why: impl Into<String>, at: Millis) -> Change {
        self.note(from, self.view.state.as_str(), why, at)
    }

    fn note(&mut self, from: &str, to: &str, why: impl Into<String>, at: Millis) -> Change {
        self.refresh();
        let change = Change { from: from.into(), to: to.into(), why: why.into(), at };
        if from != to {
            self.view.history.push(change.clone());
            let excess = self.view.history.len().saturating_sub(HISTORY);
            self.view.history.drain(..excess);
        }
        change
    }
}
