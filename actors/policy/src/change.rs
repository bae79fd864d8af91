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
    /// A cap is used up: the global one, the provider's, the connection's or the model's.
    ConcurrencyCap,
    /// The connection's local limiter holds it back for now.
    LocalLimit,
    /// As many wait for a slot as may (flow 1.16).
    SemaphoreQueueFull,
    /// No slot became free in time (flow 1.20).
    SemaphoreTimeout,
    /// As many wait for the local limiter as may (flow 4.13).
    QueueFull,
    /// The local limiter did not let it go in time (flow 4.11).
    QueueTimeout,
    /// The local limiter stood still and was replaced (flow 4.21).
    QueueWedged,
    /// It ran longer than a limited connection's requests may (flow 4.12).
    ExecutionTimeout,
    /// As many wait in all lines together as may (decision 14).
    QueuedTotal,
    /// It stood in line when a shutdown began.
    ShuttingDown,
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
    /// The client's key has used its share of the connection's pool (flow 2.13).
    QuotaShareExceeded,
    /// Another owner leases the connection, or a managed key names it and the request has no
    /// lease (rules 7.4.6).
    Leased,
    /// So little is left of the account's quota that it is left out (rules 8.4).
    QuotaCutoff,
    /// Nothing is left of the account's quota, and its strategy draws none such (routing 4.13).
    QuotaExhausted,
    /// It would cost more than the request may (routing 5.9).
    OverBudget,
    /// The request brings tools, and it calls none (routing 3.5).
    ToolsNotSupported,
    /// The request brings pictures, and it sees none.
    VisionNotSupported,
    /// The request wants an answer after a schema, and it knows none.
    StructuredNotSupported,
    /// Its window is smaller than the input, or than its combo wants (routing 3.1, 3.6).
    WindowTooSmall,
    /// Nobody knows its window, and its combo wants one that is known (routing 3.6).
    WindowUnknown,
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
            Self::LocalLimit => "local_limit",
            Self::SemaphoreQueueFull => "semaphore_queue_full",
            Self::SemaphoreTimeout => "semaphore_timeout",
            Self::QueueFull => "rate_limit_queue_full",
            Self::QueueTimeout => "rate_limit_queue_timeout",
            Self::QueueWedged => "rate_limit_queue_wedged",
            Self::ExecutionTimeout => "rate_limit_execution_timeout",
            Self::QueuedTotal => "max_queued_total",
            Self::ShuttingDown => "shutting_down",
            Self::MailboxFull => "mailbox_full",
            Self::Draining => "draining",
            Self::Banned => "banned",
            Self::Expired => "expired",
            Self::CreditsExhausted => "credits_exhausted",
            Self::Unavailable => "unavailable",
            Self::ModelNotInCatalog => "model_not_in_catalog",
            Self::FormatNotSupported => "format_not_supported",
            Self::KeyNotAllowed => "key_not_allowed",
            Self::QuotaShareExceeded => "quota_share_exceeded",
            Self::Leased => "leased",
            Self::QuotaCutoff => "quota_cutoff",
            Self::QuotaExhausted => "quota_exhausted",
            Self::OverBudget => "over_budget",
            Self::ToolsNotSupported => "tools_not_supported",
            Self::VisionNotSupported => "vision_not_supported",
            Self::StructuredNotSupported => "structured_output_not_supported",
            Self::WindowTooSmall => "context_window_too_small",
            Self::WindowUnknown => "context_window_unknown",
        }
    }

    /// A place in line would help: nothing is wrong with the target, it only has no room now, or
    /// others go first while there is another target (decision 3a).
    pub fn is_worth_queueing(self) -> bool {
        matches!(self, Self::ConcurrencyCap | Self::LocalLimit | Self::Recovering)
    }

    /// A limit of ours was reached. It says nothing of the connection (decision 9, flow 1.26, 4.30).
    pub fn is_own_limit(self) -> bool {
        matches!(
            self,
            Self::ConcurrencyCap
                | Self::LocalLimit
                | Self::SemaphoreQueueFull
                | Self::SemaphoreTimeout
                | Self::QueueFull
                | Self::QueueTimeout
                | Self::QueueWedged
                | Self::ExecutionTimeout
                | Self::QueuedTotal
                | Self::ShuttingDown
        )
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
                | Self::QuotaCutoff
                | Self::QuotaExhausted
        )
    }
}
