//! What operators declare about a provider's errors, and what is built in for known
//! gateways (rules 2 and 3): data keyed by provider id, never code.

use std::sync::LazyLock;

/// The rules in force: swapped whole when an operator changes one (rules 3.6.6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleBook {}

impl RuleBook {
    /// No operator rule.
    pub fn empty() -> &'static Self {
        static EMPTY: LazyLock<RuleBook> = LazyLock::new(RuleBook::default);
        &EMPTY
    }
}
