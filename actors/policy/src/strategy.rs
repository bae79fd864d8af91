//! Strategies: rules that order the steps of a combo. One ordered table; listing,
//! validation, documentation and tests are made from it.

mod p2c;
mod priority;

pub use p2c::P2c;
pub use priority::Priority;

use crate::breaker::BreakerState;
use crate::dice::Dice;

/// What is known of a combo's model from its latest attempts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// Share of good answers, 0 to 1.
    pub success_rate: f64,
    /// Mean time to the first byte of good answers, ms; `None` without one.
    pub mean_ms: Option<f64>,
}

/// One step of a combo as a strategy sees it.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Its provider's breaker now.
    pub breaker: BreakerState,
    /// Its record in this combo.
    pub metrics: Option<Metrics>,
    /// Requests in flight on the connections it could use.
    pub in_flight: u32,
    /// Decision 34: the probability with which it keeps a draw it won.
    pub keeps_draw: f64,
}

/// A rule that orders targets.
pub trait Strategy: Sync {
    /// Its name in config.toml.
    fn name(&self) -> &'static str;
    /// Other names that mean it (routing 0.5).
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }
    /// One line for lists.
    fn doc_short(&self) -> &'static str;
    /// A paragraph for the reference.
    fn doc_long(&self) -> &'static str;
    /// Orders `count` steps: indices, best first, each once. `candidate` is asked
    /// only for the steps that the rule really compares.
    fn rank(&self, count: usize, candidate: &dyn Fn(usize) -> Candidate, dice: &mut dyn Dice) -> Vec<usize>;
}

/// Every strategy that is built, in the order of the documentation.
pub static STRATEGIES: &[&dyn Strategy] = &[&Priority, &P2c];

/// The strategy of that name or alias, whatever its case (routing 0.5).
pub fn find(name: &str) -> Option<&'static dyn Strategy> {
    let name = name.trim().to_ascii_lowercase();
    STRATEGIES
        .iter()
        .copied()
        .find(|strategy| strategy.name() == name || strategy.aliases().contains(&name.as_str()))
}

/// The accepted names, for findings.
pub fn names() -> Vec<&'static str> {
    STRATEGIES.iter().map(|strategy| strategy.name()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{STRATEGIES, find};

    #[test]
    fn every_strategy_is_documented_and_named_once() {
        let mut seen = HashSet::new();
        for strategy in STRATEGIES {
            assert!(!strategy.doc_short().is_empty() && !strategy.doc_long().is_empty());
            assert!(seen.insert(strategy.name()), "{} twice", strategy.name());
            for alias in strategy.aliases() {
                assert!(seen.insert(alias), "{alias} twice");
            }
            assert_eq!(find(strategy.name()).map(|found| found.name()), Some(strategy.name()));
        }
    }

    #[test]
    fn a_name_is_found_whatever_its_case() {
        assert_eq!(find(" P2C ").map(|found| found.name()), Some("p2c"));
        assert!(find("fastest").is_none());
    }
}
