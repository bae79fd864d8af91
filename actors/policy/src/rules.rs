//! What operators declare about a provider's errors, and what is built in for known
//! gateways (rules 2 and 3): data keyed by provider id, never code.
//!
//! Two registries stand one behind the other. `restate` corrects the status of a gateway that
//! misstates it, before anything is classified; `find` looks a classified failure up: the
//! operator's rules in their order, the built-in catalogue in its order, the operator's
//! catch-all default. Adding a gateway adds rows to `restate::REGISTRY` and
//! `catalogue::BUILT_IN`; README says how.

mod book;
mod catalogue;
mod find;
mod restate;
#[cfg(test)]
mod tests;

pub use book::{
    ErrorDefault, ErrorRule, LONGEST_MATCH, LONGEST_MS, MOST_RULES, REASONS, RuleBook, RuleFault,
    SHORTEST_DEFAULT_MS,
};
pub(crate) use find::{Found, Seen};
pub use restate::{Restated, restate};
