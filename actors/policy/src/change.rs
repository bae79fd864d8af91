//! The only product of a transition.

use serde::{Deserialize, Serialize};

use crate::time::Millis;

/// One transition of one owner. Log line, metric, history, event, published view
/// and snapshot are its readers; nothing else tells that something changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// State before, as `/api/actors` names it.
    pub from: String,
    /// State after. May equal `from` when only numbers moved (a count, a deadline).
    pub to: String,
    /// Why, in the words of core 1.7.10 where it has one.
    pub why: String,
    /// When, epoch ms.
    pub at: Millis,
}

/// An owner's expected no. Not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What holds the target back.
    pub why: Exclusion,
    /// When asking again may help, epoch ms; `None` when only an operator or new credentials help.
    pub retry_at: Option<Millis>,
}

/// Why a target is not used, as explained to people and counted in metrics
/// (routing 7.2, 9.3; decision 3a).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exclusion {
    /// The provider's breaker is open, or its probe is taken.
    CircuitOpen,
    /// An operator holds the breaker open.
    Isolated,
    /// The provider or the connection failed too often lately; only combos mind (core 2).
    ProviderCooldown,
    /// The connection rests until an instant.
    ConnectionCooldown,
    /// Its lone trial after a cooldown is running and the plan holds another target.
    Recovering,
    /// The model is barred on this connection.
    ModelLockout,
    /// Every slot of the connection is taken.
    ConcurrencyCap,
    /// The connection's mailbox is full.
    MailboxFull,
    /// The connection is being drained by an operator.
    Draining,
    /// The connection's account is disabled (core 3.9).
    Banned,
    /// The connection's credential is refused.
    Expired,
    /// The connection's account has to be paid.
    CreditsExhausted,
    /// No usable connection: none configured, inactive, or without a credential.
    Unavailable,
    /// The provider does not list the model.
    ModelNotInCatalog,
    /// The client's dialect is not the provider's.
    FormatNotSupported,
    /// The client's key may not use this connection.
    KeyNotAllowed,
}

impl Exclusion {
    /// The name in JSON, headers and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CircuitOpen => "circuit_open",
            Self::Isolated => "isolated",
            Self::ProviderCooldown => "provider_cooldown",
            Self::ConnectionCooldown => "connection_cooldown",
            Self::Recovering => "recovering",
            Self::ModelLockout => "model_lockout",
            Self::ConcurrencyCap => "concurrency_cap",
            Self::MailboxFull => "mailbox_full",
            Self::Draining => "draining",
            Self::Banned => "banned",
            Self::Expired => "expired",
            Self::CreditsExhausted => "credits_exhausted",
            Self::Unavailable => "unavailable",
            Self::ModelNotInCatalog => "model_not_in_catalog",
            Self::FormatNotSupported => "format_not_supported",
            Self::KeyNotAllowed => "key_not_allowed",
        }
    }

    /// Held only by a resilience timer, so waiting helps (routing 9.3).
    pub fn is_timer(self) -> bool {
        matches!(
            self,
            Self::CircuitOpen
                | Self::ProviderCooldown
                | Self::ConnectionCooldown
                | Self::Recovering
                | Self::ModelLockout
        )
    }
}
