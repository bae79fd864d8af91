//! Whom an attempt was made at, as far as a verdict asks. Nothing here is state of an owner:
//! the same signal in the same case is the same verdict for ever.

use serde::{Deserialize, Serialize};

use crate::ids::Class;
use crate::rules::RuleBook;
use crate::time::Millis;

/// What is known of the target of an attempt.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The provider's id.
    pub provider: &'a str,
    /// The model asked for, as the provider names it.
    pub model: Option<&'a str>,
    /// The request as the client wrote it. An answer may repeat it, so words that stand in it
    /// prove nothing.
    pub request: Option<&'a [u8]>,
    /// How the provider is paid for.
    pub class: Class,
    /// Its quota belongs to one model, not to the account (core 5.2.3).
    pub per_model_quota: bool,
    /// A gateway in front of many vendors: a vendor's credits are not the account's (core D10).
    pub passthrough: bool,
    /// Stated waits are obeyed (`useUpstreamRetryHints`, decision 2).
    pub use_hints: bool,
    /// When the credential is known to expire, epoch ms (core 3.9.3).
    pub token_expires_at: Option<Millis>,
    /// What the rotation gate says of this failure (core 3.5).
    pub rotation: Rotation,
    /// When daily quotas come back (core 3.2.3).
    pub daily_reset: Option<DailyReset>,
    /// The rules of operators and the signals they added.
    pub rules: &'a RuleBook,
    /// Now, epoch ms.
    pub now: Millis,
}

impl Case<'static> {
    /// A provider of a class without a name, without rules, at the epoch.
    pub fn of(class: Class) -> Self {
        Self {
            provider: "",
            model: None,
            request: None,
            class,
            per_model_quota: false,
            passthrough: false,
            use_hints: true,
            token_expires_at: None,
            rotation: Rotation::Rotates,
            daily_reset: None,
            rules: RuleBook::empty(),
            now: 0,
        }
    }
}

/// What the rotation gate says of one failure (core 3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rotation {
    /// The usual: the table decides.
    #[default]
    Rotates,
    /// Switched off, or its threshold is not reached: no fallback, nothing cools.
    Holds,
    /// A 400 that the operator wants to rotate on: fallback with this wait, ms.
    Forces(Millis),
}

/// When daily quotas come back: the operator's hour of a day (core 3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DailyReset {
    /// Hour of the day, 0 to 23.
    pub hour: u8,
    /// Offset from UTC, minutes.
    pub offset_minutes: i32,
}
