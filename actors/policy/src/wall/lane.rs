//! The slower lane of one account: accepted at a wall, left for a stated reason (rules 5.4).

use super::signs::{Offer, Signs, SlowStatus};
use super::{BUDGET_MEMORY_MS, COOL_OFF_MS, JITTER, MAX_WAIT_MS, RESET_GRACE_MS, RETRY_WAIT_MS, ROLLOVER_MS};
use crate::dice::Dice;
use crate::time::Millis;

/// Whether the lane is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    Active {
        /// When the window that was spent resets, epoch ms.
        reset_at: Millis,
        /// Epoch ms.
        accepted_at: Millis,
    },
}

/// The lane of one account. Memory only: a restart forgets it (5.3).
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    phase: Phase,
    retry_wait_ms: Millis,
    max_wait_ms: Millis,
    served_slow: u64,
    served_standard: u64,
    utilisation: Option<f64>,
    budget_spent_until: Option<Millis>,
    cooling_off_until: Option<Millis>,
}

/// Why a lane has ended (5.4.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The window has been reset.
    Reset,
    /// The week's limit is reached.
    Weekly,
    /// The lane's budget is spent.
    Budget,
    /// There is no lane any more.
    Off,
    /// Not for this account.
    Ineligible,
    /// A wall stands in the lane, too.
    Wall,
    /// It was waited in vain.
    MaxWait,
    /// Paid overage serves instead.
    ExtraUsage,
    /// An operator has switched it off.
    Operator,
}

/// What a retry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// The lane has been accepted.
    Accepted,
    /// It was accepted while this request was under way.
    Raced,
    /// All places were taken.
    SlotBusy,
    /// The upstream had no room at all.
    CapacityBusy,
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// It is the answer: a failure goes the ordinary way.
    Pass,
    /// The same account once more, after a wait in ms.
    Retry(Millis, Tag),
    /// The lane is left; the answer is the answer.
    Ended(End),
}

/// The waits of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// When the first of them began, epoch ms.
    pub since: Option<Millis>,
    /// How many there were.
    pub attempts: u32,
}

/// One answer, and the request that got it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The request carried the lane's header.
    pub slow: bool,
    /// The answer's status.
    pub status: u16,
    /// The answer's headers.
    pub signs: &'a Signs,
    /// Time left for waits, ms; `None`: no limit.
    pub remaining_ms: Option<Millis>,
    /// Epoch ms.
    pub now: Millis,
}

/// What people see of a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaneView {
    /// When it ends at the latest, epoch ms; `None`: it is not in use.
    pub active_until: Option<Millis>,
    /// Answers that came by it, and that did not need it.
    pub served: (u64, u64),
    /// How much of its budget is used, 0 to 1.
    pub utilisation: Option<f64>,
    /// No lane before, epoch ms.
    pub refused_until: Option<Millis>,
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            phase: Phase::Idle,
            retry_wait_ms: RETRY_WAIT_MS.0,
            max_wait_ms: MAX_WAIT_MS.0,
            served_slow: 0,
            served_standard: 0,
            utilisation: None,
            budget_spent_until: None,
            cooling_off_until: None,
        }
    }
}

// === impl Lane ===

impl Lane {
    /// Whether requests go by it now; one whose window has long been reset ends here (5.4.6).
    pub fn is_active(&mut self, now: Millis) -> bool {
        if let Phase::Active { reset_at, .. } = self.phase
            && now >= reset_at.saturating_add(RESET_GRACE_MS)
        {
            self.phase = Phase::Idle;
        }
        self.phase != Phase::Idle
    }

    /// Accepts the lane that a wall offers, if it may (5.4.4).
    pub fn accept(&mut self, signs: &Signs, now: Millis) -> bool {
        let ahead = |until: Option<Millis>| until.is_some_and(|until| now < until);
        let refused = ahead(self.budget_spent_until) || ahead(self.cooling_off_until);
        let Some(reset_at) = signs.reset_at.filter(|at| *at > now && !refused) else { return false };
        if signs.offer != Some(Offer::Treatment) {
            return false;
        }
        *self = Self { phase: Phase::Active { reset_at, accepted_at: now }, ..Self::default() };
        self.hear(signs);
        self.utilisation = None;
        true
    }

    /// What becomes of an answer to a request of this account while the lane is in use.
    pub fn judge(&mut self, asked: &Asked<'_>, waits: &mut Waits, dice: &mut dyn Dice) -> Act {
        let Asked { slow, status, signs, now, .. } = *asked;
        let Phase::Active { reset_at, accepted_at } = self.phase else { return Act::Pass };
        if !slow {
            // A sibling that left before the lane was accepted is no verdict on it (5.4.11).
            return if signs.is_wall(status) { Act::Retry(0, Tag::Raced) } else { Act::Pass };
        }
        self.hear(signs);
        if waits.since.is_some_and(|since| since < accepted_at) {
            *waits = Waits::default();
        }
        let word = signs.slow_status;
        if word == Some(SlowStatus::Ineligible) && signs.overage_in_use {
            return self.end(End::ExtraUsage);
        }
        match (status, word) {
            (429, Some(SlowStatus::SlotBusy)) => self.wait(asked, waits, Tag::SlotBusy, dice),
            (429, _) => self.refused(signs, now),
            (529, word) if !ends(word) => self.wait(asked, waits, Tag::CapacityBusy, dice),
            _ if is_another(signs.five_hour_reset_at, reset_at) => self.end(End::Reset),
            (_, Some(SlowStatus::Active)) => {
                self.served_slow += 1;
                *waits = Waits::default();
                Act::Pass
            }
            (_, Some(SlowStatus::NotNeeded)) => {
                self.served_standard += 1;
                *waits = Waits::default();
                Act::Pass
            }
            _ => Act::Pass,
        }
    }

    /// Leaves the lane.
    pub fn end(&mut self, why: End) -> Act {
        self.phase = Phase::Idle;
        Act::Ended(why)
    }

    /// What people see of it.
    pub fn view(&mut self, now: Millis) -> LaneView {
        let active = self.is_active(now);
        let active_until = match self.phase {
            Phase::Active { reset_at, .. } if active => Some(reset_at.saturating_add(RESET_GRACE_MS)),
            _ => None,
        };
        LaneView {
            active_until,
            served: (self.served_slow, self.served_standard),
            utilisation: self.utilisation,
            refused_until: self.budget_spent_until.max(self.cooling_off_until).filter(|until| now < *until),
        }
    }

    /// Takes over what an answer says of waits and budget.
    fn hear(&mut self, signs: &Signs) {
        let within = |said: Option<Millis>, (_, least, most): (Millis, Millis, Millis), own: Millis| {
            said.map_or(own, |said| said.clamp(least, most))
        };
        self.retry_wait_ms = within(signs.retry_after_ms, RETRY_WAIT_MS, self.retry_wait_ms);
        self.max_wait_ms = within(signs.max_wait_ms, MAX_WAIT_MS, self.max_wait_ms);
        self.utilisation = signs.utilisation.or(self.utilisation);
    }

    /// A 429 in the lane that is no matter of waiting.
    fn refused(&mut self, signs: &Signs, now: Millis) -> Act {
        match signs.slow_status {
            Some(SlowStatus::WeeklyLimit) => self.end(End::Weekly),
            Some(SlowStatus::BudgetExhausted) => {
                let until = signs.budget_reset_at.or(signs.seven_day_reset_at);
                self.budget_spent_until = until.map(|at| at.min(now.saturating_add(BUDGET_MEMORY_MS)));
                self.end(End::Budget)
            }
            Some(SlowStatus::Off) => self.end(End::Off),
            Some(SlowStatus::Ineligible) => self.end(End::Ineligible),
            _ if signs.claim_is_five_hours.is_some() || signs.tells_overage => self.end(End::Wall),
            _ => Act::Pass,
        }
    }

    /// Waits, or gives up (5.4.8).
    fn wait(&mut self, asked: &Asked<'_>, waits: &mut Waits, tag: Tag, dice: &mut dyn Dice) -> Act {
        let now = asked.now;
        let waited = now.saturating_sub(*waits.since.get_or_insert(now));
        if waited >= self.max_wait_ms || asked.remaining_ms == Some(0) {
            *waits = Waits::default();
            self.cooling_off_until = Some(now.saturating_add(COOL_OFF_MS));
            return self.end(End::MaxWait);
        }
        waits.attempts += 1;
        let factor = 1.0 + (2.0 * dice.unit() - 1.0) * JITTER;
        let delay = (self.retry_wait_ms as f64 * factor).round() as Millis;
        let most = (self.max_wait_ms - waited).min(asked.remaining_ms.unwrap_or(Millis::MAX));
        Act::Retry(delay.min(most), tag)
    }
}

/// These say that waiting is no use, even where there is no room (decision 30).
fn ends(word: Option<SlowStatus>) -> bool {
    matches!(
        word,
        Some(
            SlowStatus::WeeklyLimit | SlowStatus::BudgetExhausted | SlowStatus::Off | SlowStatus::Ineligible
        )
    )
}

/// Whether a window is not the one that was spent.
fn is_another(window: Option<Millis>, reset_at: Millis) -> bool {
    window.is_some_and(|at| at >= reset_at.saturating_add(ROLLOVER_MS))
}

impl End {
    /// As it is logged.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::Weekly => "weekly",
            Self::Budget => "budget",
            Self::Off => "off",
            Self::Ineligible => "ineligible",
            Self::Wall => "wall",
            Self::MaxWait => "max_wait",
            Self::ExtraUsage => "extra_usage",
            Self::Operator => "operator",
        }
    }
}

impl Tag {
    /// As it is logged.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "low-priority-accepted",
            Self::Raced => "low-priority-raced",
            Self::SlotBusy => "slot-busy",
            Self::CapacityBusy => "capacity-busy",
        }
    }
}
