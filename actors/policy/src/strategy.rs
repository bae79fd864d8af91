//! Strategies: rules that order the entries of a combo. One ordered table; listing,
//! validation, documentation and tests are made from it.
//!
//! A rule is a pure function: it reads the entries through [`Pool`], what the combo remembers
//! through [`ComboState`], and says an order together with [`Note`]s. Notes are what a real
//! request changes; an explanation throws them away, so asking why changes nothing.

mod affinity;
pub mod auto;
mod cache_optimized;
mod context_optimized;
mod cost_optimized;
mod fan;
mod fill_first;
mod headroom;
mod least_used;
mod lkgp;
mod p2c;
mod pool;
mod priority;
mod quota;
mod quota_weighted;
mod random;
mod reset_aware;
mod reset_window;
mod round_robin;
mod run;
mod settings;
mod sort;
pub mod stage;
mod state;
mod strict_random;
#[cfg(test)]
pub(crate) mod table;
mod weighted;

pub use auto::{Auto, AutoSettings};
pub use cache_optimized::CacheOptimized;
pub use context_optimized::ContextOptimized;
pub use cost_optimized::CostOptimized;
pub use fan::{ContextRelay, Fusion, Pipeline};
pub use fill_first::FillFirst;
pub use headroom::Headroom;
pub use least_used::LeastUsed;
pub use lkgp::Lkgp;
pub use p2c::P2c;
pub use pool::{Metrics, Pool, Seen, Spread};
pub use priority::Priority;
pub use quota_weighted::QuotaWeighted;
pub use random::Random;
pub use reset_aware::ResetAware;
pub use reset_window::ResetWindow;
pub use round_robin::RoundRobin;
pub use settings::{
    FusionSettings, QuotaSettings, QuotaWindow, RelaySettings, ResetWindowSettings, RotationSettings,
    StrategySettings,
};
pub use sort::Tail;
pub use state::{ComboState, Deck, LastGood, News, Note, Sticky};
pub use strict_random::StrictRandom;
pub use weighted::Weighted;

use crate::change::Refusal;
use crate::dice::Dice;
use crate::plan::FanKind;
use crate::request::Traits;
use crate::time::Millis;

/// What a combo's entries are for a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Each step that is left when nested combos are resolved.
    Steps,
    /// Each step as it is written; a nested combo is one (routing 4.2c).
    Units,
    /// Each account of each step (routing 4.21).
    Accounts,
}

/// Everything a strategy may look at.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    /// The entries.
    pub pool: &'a dyn Pool,
    /// What the combo remembers.
    pub state: &'a ComboState,
    /// The combo's numbers.
    pub settings: &'a StrategySettings,
    /// What the request is like.
    pub request: &'a Traits,
    /// Epoch ms.
    pub now: Millis,
}

/// An order, and what it costs to take it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranked {
    /// Indices of entries, best first, each at most once; what is missing is not tried.
    pub order: Vec<usize>,
    /// What a request that is really sent changes in the combo's memory.
    pub notes: Vec<Note>,
    /// The score of each entry by its index, for explanations; empty: nothing was scored.
    pub scores: Vec<f64>,
    /// Entries that are not in the order, and why not.
    pub left_out: Vec<(usize, Refusal)>,
    /// From where on the order is not sorted yet; `None`: it is.
    pub tail: Option<Tail>,
}

impl Ranked {
    /// An order that changes nothing.
    pub fn of(order: Vec<usize>) -> Self {
        Self { order, ..Self::default() }
    }

    /// The entry of a place; whoever asks goes through the order from its beginning.
    pub(crate) fn at(&mut self, place: usize) -> usize {
        if self.tail.as_ref().is_some_and(|tail| tail.start() <= place) {
            self.settle();
        }
        self.order[place]
    }

    /// Sorts the rest of the order.
    pub(crate) fn settle(&mut self) {
        if let Some(tail) = self.tail.take() {
            tail.settle(&mut self.order);
        }
    }
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
    /// A combo of config.toml that uses it.
    fn example(&self) -> &'static str;
    /// What it orders.
    fn grain(&self) -> Grain {
        Grain::Steps
    }
    /// Orders the entries. The pool is asked only for what the rule really compares.
    fn rank(&self, field: &Field<'_>, dice: &mut dyn Dice) -> Ranked;
    /// It asks several entries for one answer, and so (routing 6); `None`: they stand in for each other.
    fn fan(&self, _settings: &StrategySettings) -> Option<FanKind> {
        None
    }
    /// An attempt was judged: what the combo remembers of it for the next order.
    fn heard(&self, _state: &mut ComboState, _news: &News<'_>, _settings: &StrategySettings) {}
    /// A burst of picks must see each other before anybody has answered: the first target counts as
    /// in flight from the pick on (routing 4.13e).
    fn reserves(&self) -> bool {
        false
    }
    /// It reads what accounts say of their quota: answers are read for it.
    fn reads_quota(&self) -> bool {
        false
    }
    /// Its first choice stays first in the prompt-cache stage (routing 3.8, decision 23).
    fn keeps_first(&self) -> bool {
        true
    }
    /// The prompt-cache stage may reorder what it ordered (decision 23).
    fn yields_to_cache(&self) -> bool {
        false
    }
    /// It looks for the prompt's cache itself (routing 3.7).
    fn follows_prompts(&self, _settings: &StrategySettings) -> bool {
        false
    }
    /// The entry that serves the request's session already goes first (routing 3.4, 4.18).
    fn yields_to_session(&self, _request: &Traits) -> bool {
        true
    }
}

/// Every strategy that is built, in the order of the documentation.
pub static STRATEGIES: &[&dyn Strategy] = &[
    &Priority,
    &Weighted,
    &RoundRobin,
    &ContextRelay,
    &FillFirst,
    &P2c,
    &Random,
    &LeastUsed,
    &CostOptimized,
    &ResetAware,
    &ResetWindow,
    &Headroom,
    &QuotaWeighted,
    &StrictRandom,
    &Auto,
    &Lkgp,
    &ContextOptimized,
    &CacheOptimized,
    &Fusion,
    &Pipeline,
];

/// The strategy of that name or alias, whatever its case (routing 0.5).
pub fn find(name: &str) -> Option<&'static dyn Strategy> {
    // Combos have it as it stands in the table.
    if let Some(exact) = STRATEGIES.iter().copied().find(|strategy| strategy.name() == name) {
        return Some(exact);
    }
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
            let named = format!("strategy = \"{}\"", strategy.name());
            assert!(strategy.example().contains(&named), "{} has no example", strategy.name());
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
