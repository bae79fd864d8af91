//! What an answer's headers say of the wall (rules 5.1).

use crate::time::{Millis, SECOND};

/// Whether a slower lane is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It is.
    Treatment,
    /// The account is one of those that are not asked.
    Control,
}

/// How the lane stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStatus {
    /// The answer came by it.
    Active,
    /// There was room without it.
    NotNeeded,
    /// All its places are taken.
    SlotBusy,
    /// The week's limit is reached, too.
    WeeklyLimit,
    /// The lane's own budget is spent.
    BudgetExhausted,
    /// Not for this account.
    Ineligible,
    /// There is none any more.
    Off,
    /// A word we do not know.
    Unrecognised,
}

/// The headers of one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signs {
    /// `unified-status: rejected`: this is a wall (decision 30).
    pub rejected: bool,
    /// What is offered; another word is no offer.
    pub offer: Option<Offer>,
    /// When the window resets: unified, else that of five hours, epoch ms.
    pub reset_at: Option<Millis>,
    /// When the window of five hours resets, epoch ms.
    pub five_hour_reset_at: Option<Millis>,
    /// When that of seven days does, epoch ms.
    pub seven_day_reset_at: Option<Millis>,
    /// How the lane stands.
    pub slow_status: Option<SlowStatus>,
    /// Wait before the next try, ms, as it was said.
    pub retry_after_ms: Option<Millis>,
    /// Longest wait, ms, as it was said.
    pub max_wait_ms: Option<Millis>,
    /// How much of the lane's budget is used, 0 to 1.
    pub utilisation: Option<f64>,
    /// When that budget resets, epoch ms.
    pub budget_reset_at: Option<Millis>,
    /// A limit is named as the one that counts; whether it is that of five hours.
    pub claim_is_five_hours: Option<bool>,
    /// Something is said of paid overage.
    pub tells_overage: bool,
    /// Paid overage is being used.
    pub overage_in_use: bool,
}

impl Signs {
    /// Reads them; `find` gives the value of a header by its lower-case name.
    pub fn read<'a>(find: impl Fn(&str) -> Option<&'a [u8]>) -> Self {
        let text = |name: &str| {
            let value = find(&format!("anthropic-ratelimit-unified-{name}"))?;
            Some(std::str::from_utf8(value).unwrap_or_default().trim())
        };
        let number = |name: &str| text(name)?.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0);
        // A float that is too large for an instant becomes the largest one.
        let ms = |name: &str| number(name).map(|seconds| (seconds * SECOND as f64) as Millis);
        Self {
            rejected: text("status") == Some("rejected"),
            offer: text("slow-offer").and_then(|word| match word {
                "treatment" => Some(Offer::Treatment),
                "control" => Some(Offer::Control),
                _ => None,
            }),
            reset_at: ms("reset").or_else(|| ms("5h-reset")),
            five_hour_reset_at: ms("5h-reset"),
            seven_day_reset_at: ms("7d-reset"),
            slow_status: text("slow-status").map(SlowStatus::of),
            retry_after_ms: ms("slow-retry-after"),
            max_wait_ms: ms("slow-max-wait"),
            utilisation: number("slow-budget-utilization").map(|used| used.min(1.0)),
            budget_reset_at: ms("slow-budget-reset"),
            claim_is_five_hours: text("representative-claim").map(|claim| claim == "five_hour"),
            tells_overage: text("overage-status").is_some(),
            overage_in_use: text("overage-in-use") == Some("true"),
        }
    }

    /// A 429 that is a wall; any other is an ordinary limit (5.4.1, decision 30).
    pub fn is_wall(&self, status: u16) -> bool {
        status == 429 && self.rejected
    }

    /// A reset of the session limit may help: it is that limit that counts (5.4.3).
    pub fn may_reset(&self) -> bool {
        self.claim_is_five_hours != Some(false)
    }
}

impl SlowStatus {
    fn of(word: &str) -> Self {
        match word {
            "active" => Self::Active,
            "not_needed" => Self::NotNeeded,
            "slot_busy" => Self::SlotBusy,
            "weekly_limit" => Self::WeeklyLimit,
            "budget_exhausted" => Self::BudgetExhausted,
            "ineligible" => Self::Ineligible,
            "off" => Self::Off,
            _ => Self::Unrecognised,
        }
    }
}
