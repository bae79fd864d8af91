//! What a verdict needs to know of a target, swapped as a whole when the configuration
//! changes. It is looked up after a failure only, so a request that goes well pays nothing.

use std::collections::HashMap;

use policy::ids::ConnectionId;
use policy::plan::Planned;
use policy::rules::RuleBook;
use policy::time::Millis;
use policy::verdict::{Case, DailyReset, Rotation};

/// What is configured about judging.
#[derive(Debug, Default)]
pub struct Judging {
    /// By connection.
    pub connections: HashMap<ConnectionId, Traits>,
    /// The operator's rules.
    pub rules: RuleBook,
    /// When daily quotas come back; `None`: at midnight UTC.
    pub daily_reset: Option<DailyReset>,
}

/// What a verdict asks of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// A quota belongs to one model (core 5.2.3).
    pub per_model_quota: bool,
    /// Stated waits are obeyed (decision 2).
    pub use_hints: bool,
}

impl Judging {
    /// The case of an attempt at a target.
    pub fn case<'a>(&'a self, target: &'a Planned, now: Millis) -> Case<'a> {
        let traits = self.connections.get(&target.connection);
        Case {
            provider: target.provider.as_str(),
            model: Some(target.model.as_str()),
            class: target.class,
            per_model_quota: traits.is_some_and(|traits| traits.per_model_quota),
            // Whose quota is per model resells the models of others: a vendor's credits are not
            // the account's.
            passthrough: traits.is_some_and(|traits| traits.per_model_quota),
            use_hints: traits.is_none_or(|traits| traits.use_hints),
            token_expires_at: None,
            rotation: Rotation::default(),
            daily_reset: self.daily_reset,
            rules: &self.rules,
            now,
        }
    }
}
