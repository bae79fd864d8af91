//! The reset of an account's session limit: what was asked, what it came to, and until when
//! nobody asks again (rules 5.6).

use serde_json::Value;

use super::{LONG_MEMO_MS, RECENT_RESET_MS, SHORT_MEMO_MS};
use crate::hint::date;
use crate::time::Millis;

/// The programme that resets belong to.
const PROGRAM: &str = "juniper_tide";

/// What the status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A reset may be claimed.
    Offered,
    /// None may; when the next one can be had, epoch ms.
    NotOffered(Option<Millis>),
    /// It says nothing usable.
    Unusable,
}

/// What a claim came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    Reset,
    NotLimited,
    AlreadyUsed,
    Cooldown,
    Ineligible,
    Unavailable,
    Unknown,
}

/// How a round of status and claim ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Nobody knows the organisation.
    NoOrganization,
    /// The status could not be had.
    NoStatus,
    /// It offers none; when the next one can be had, epoch ms.
    NotOffered(Option<Millis>),
    /// The claim failed; `None`: below HTTP.
    Failed(Option<u16>),
    /// The claim was answered.
    Claimed(Answer),
}

/// The answer to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    claim: Claim,
    next_at: Option<Millis>,
}

/// What an attempt came to (5.6.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The limit was reset.
    Reset,
    /// It did not stand any more.
    NotLimited,
    /// The week's reset is spent.
    AlreadyUsed,
    /// None is offered.
    NotOffered,
    /// Nobody knows.
    NoStatus,
    /// The organisation is unknown.
    NoOrganization,
    /// Too soon.
    Cooldown,
    /// Not for this account.
    Ineligible,
    /// Not now.
    Unavailable,
    /// A word that we do not know.
    Unknown,
    /// Too many claims.
    RateLimited,
    /// Our token may not.
    AuthError,
    /// Anything else.
    Error,
    /// It is too early to ask again.
    MemoSkip,
    /// One was granted a moment ago.
    RecentReset,
}

impl Outcome {
    /// The request is sent again, at full speed.
    pub fn retries(self) -> bool {
        matches!(self, Self::Reset | Self::NotLimited | Self::RecentReset)
    }

    /// As it is logged.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::NotLimited => "not_limited",
            Self::AlreadyUsed => "already_used",
            Self::NotOffered => "not_offered",
            Self::NoStatus => "no_status",
            Self::NoOrganization => "no_organization",
            Self::Cooldown => "cooldown",
            Self::Ineligible => "ineligible",
            Self::Unavailable => "unavailable",
            Self::Unknown => "unknown",
            Self::RateLimited => "rate_limited",
            Self::AuthError => "auth_error",
            Self::Error => "error",
            Self::MemoSkip => "memo_skip",
            Self::RecentReset => "recent_reset",
        }
    }
}

/// What one account remembers of its resets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memo {
    not_before: Option<Millis>,
    recent_until: Option<Millis>,
}

impl Memo {
    /// What is known without asking; a recent grant comes first (5.6.6).
    pub fn known(&self, now: Millis) -> Option<Outcome> {
        let ahead = |until: Option<Millis>| until.is_some_and(|until| now < until);
        if ahead(self.recent_until) {
            return Some(Outcome::RecentReset);
        }
        ahead(self.not_before).then_some(Outcome::MemoSkip)
    }

    /// Until when nobody asks, epoch ms.
    pub fn not_before(&self) -> Option<Millis> {
        self.not_before
    }

    /// Remembers how a round ended (5.6.5).
    pub fn record(&mut self, round: Round, now: Millis) -> Outcome {
        let (outcome, next_at, otherwise_ms) = match round {
            Round::NoOrganization => (Outcome::NoOrganization, None, SHORT_MEMO_MS),
            Round::NoStatus => (Outcome::NoStatus, None, SHORT_MEMO_MS),
            Round::NotOffered(next_at) => (Outcome::NotOffered, next_at, LONG_MEMO_MS),
            Round::Failed(Some(429)) => (Outcome::RateLimited, None, SHORT_MEMO_MS),
            Round::Failed(Some(401 | 403)) => (Outcome::AuthError, None, SHORT_MEMO_MS),
            Round::Failed(_) => (Outcome::Error, None, SHORT_MEMO_MS),
            Round::Claimed(Answer { claim, next_at }) => {
                let (outcome, otherwise_ms) = claim.outcome();
                (outcome, next_at, otherwise_ms)
            }
        };
        let next_at = next_at.filter(|at| *at > now);
        self.not_before = Some(next_at.unwrap_or(now.saturating_add(otherwise_ms)));
        if outcome.retries() {
            self.recent_until = Some(now.saturating_add(RECENT_RESET_MS));
        }
        outcome
    }
}

impl Claim {
    fn outcome(self) -> (Outcome, Millis) {
        match self {
            Self::Reset => (Outcome::Reset, LONG_MEMO_MS),
            Self::NotLimited => (Outcome::NotLimited, LONG_MEMO_MS),
            Self::AlreadyUsed => (Outcome::AlreadyUsed, LONG_MEMO_MS),
            Self::Cooldown => (Outcome::Cooldown, SHORT_MEMO_MS),
            Self::Ineligible => (Outcome::Ineligible, SHORT_MEMO_MS),
            Self::Unavailable => (Outcome::Unavailable, SHORT_MEMO_MS),
            Self::Unknown => (Outcome::Unknown, SHORT_MEMO_MS),
        }
    }
}

/// Reads the answer to the question for the status (5.6.2, 5.6.3).
pub fn read_status(body: &[u8]) -> Status {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let block = &body[PROGRAM];
    let Some(eligible) = block["eligible"].as_bool() else { return Status::Unusable };
    match eligible && block["arm"] == "reset" && block["available"] == true {
        true => Status::Offered,
        false => Status::NotOffered(instant(block, "next_available_at")),
    }
}

/// Reads the answer to a claim.
pub fn claimed(status: u16, body: &[u8]) -> Round {
    if !(200..300).contains(&status) {
        return Round::Failed(Some(status));
    }
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let claim = match body["result"].as_str().or_else(|| body["status"].as_str()).unwrap_or_default() {
        "reset" => Claim::Reset,
        "not_limited" => Claim::NotLimited,
        "already_used" => Claim::AlreadyUsed,
        "cooldown" => Claim::Cooldown,
        "ineligible" => Claim::Ineligible,
        "unavailable" => Claim::Unavailable,
        _ => Claim::Unknown,
    };
    let until = || instant(&body, "cooldown_until").filter(|_| claim == Claim::Cooldown);
    let next_at = instant(&body, "next_available_at").or_else(until);
    Round::Claimed(Answer { claim, next_at })
}

fn instant(block: &Value, name: &str) -> Option<Millis> {
    date(block[name].as_str()?)
}
