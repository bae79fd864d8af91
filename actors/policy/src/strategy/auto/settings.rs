//! How a combo wants `auto` to choose (routing 1.3, 5.7, 5.9, 5.10).

use super::weights::{Pack, Weights};
use crate::ids::ProviderId;

/// How `auto` chooses.
#[derive(Clone, Debug, PartialEq)]
pub struct AutoSettings {
    /// Providers it chooses from first; empty: all.
    pub candidate_pool: Vec<ProviderId>,
    /// Weights of the factors; `None`: as they are built in.
    pub weights: Option<Weights>,
    /// A map of weights with a name, instead of `weights`.
    pub mode_pack: Option<&'static Pack>,
    /// The most that a request may cost, USD, by estimate; `None`: anything.
    pub budget_cap_usd: Option<f64>,
    /// What is done when nothing is that cheap.
    pub budget_fallback: BudgetFallback,
    /// Probability of a choice without regard to the scores, 0 to 1.
    pub exploration_rate: f64,
    /// Who chooses.
    pub router: AutoRouter,
    /// What `sla-aware` holds candidates to.
    pub sla: Sla,
    /// How willing it is to take less than the best among candidates that are nearly alike.
    pub taste: Taste,
}

impl AutoSettings {
    /// What a variant says for itself, laid over what all combos begin with (routing 1.4).
    pub fn over(&self, base: &Self) -> Self {
        let router = if self.router == AutoRouter::Rules { base.router } else { self.router };
        Self { mode_pack: self.mode_pack.or(base.mode_pack), router, taste: self.taste, ..base.clone() }
    }
}

impl Default for AutoSettings {
    fn default() -> Self {
        Self {
            candidate_pool: Vec::new(),
            weights: None,
            mode_pack: None,
            budget_cap_usd: None,
            budget_fallback: BudgetFallback::Cheapest,
            exploration_rate: 0.05,
            router: AutoRouter::Rules,
            sla: Sla::default(),
            taste: Taste::Usual,
        }
    }
}

/// When nothing is below the ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetFallback {
    /// The cheapest is taken.
    Cheapest,
    /// Nothing is.
    Strict,
}

impl BudgetFallback {
    /// The one of a name, as headers and settings write it.
    pub fn find(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "cheapest" | "cheapest-viable" | "soft" => Some(Self::Cheapest),
            "strict" | "block" | "hard" => Some(Self::Strict),
            _ => None,
        }
    }
}

/// Who chooses among candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoRouter {
    /// Tiers of scores, turns, and now and then curiosity (routing 5.8).
    Rules,
    /// The best score.
    Score,
    /// The lowest price.
    Cost,
    /// The fastest, failures counted as time.
    Latency,
    /// The provider that served last, else the rules.
    Lkgp,
    /// The one that keeps the promises best.
    Sla,
}

impl AutoRouter {
    /// Names that are accepted, each with what it means.
    pub const NAMES: [(&'static str, Self); 9] = [
        ("rules", Self::Rules),
        ("score", Self::Score),
        ("cost", Self::Cost),
        ("eco", Self::Cost),
        ("latency", Self::Latency),
        ("fast", Self::Latency),
        ("lkgp", Self::Lkgp),
        ("sla-aware", Self::Sla),
        ("sla", Self::Sla),
    ];

    /// The one of a name, whatever its case.
    pub fn find(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, router)| *router)
    }
}

/// What `sla-aware` holds candidates to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sla {
    /// 95th percentile of the first-byte time, ms.
    pub p95_ms: f64,
    /// Share of attempts that fail, 0 to 1.
    pub error_rate: f64,
    /// Price, USD per million tokens, six parts of input on four of output.
    pub cost: f64,
    /// Those that break none of them come first, whatever the rest says.
    pub hard: bool,
}

impl Default for Sla {
    fn default() -> Self {
        Self { p95_ms: 2_000.0, error_rate: 0.05, cost: 10.0, hard: false }
    }
}

/// How often each tier of scores is drawn when the best are nearly alike (routing 5.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taste {
    /// .45, .35, .2
    Usual,
    /// .5, .3, .2
    Smart,
    /// .3, .5, .2
    Fast,
    /// .2, .3, .5
    Cheap,
    /// .6, .25, .15
    Coding,
}

impl Taste {
    /// The taste that a combo's name asks for; `auto/fast` and `fast` alike.
    pub fn of_name(name: &str) -> Self {
        match name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase().as_str() {
            "smart" => Self::Smart,
            "fast" => Self::Fast,
            "cheap" => Self::Cheap,
            "coding" => Self::Coding,
            _ => Self::Usual,
        }
    }

    /// Parts of the top, the middle and the rest.
    pub(super) fn parts(self) -> [f64; 3] {
        match self {
            Self::Usual => [0.45, 0.35, 0.2],
            Self::Smart => [0.5, 0.3, 0.2],
            Self::Fast => [0.3, 0.5, 0.2],
            Self::Cheap => [0.2, 0.3, 0.5],
            Self::Coding => [0.6, 0.25, 0.15],
        }
    }
}

impl AutoSettings {
    /// The weights of a request: its header, else the pack, else the stated ones (routing 5.7).
    pub(super) fn weights(&self, mode: Option<&str>) -> Weights {
        let pack = match mode.map(|mode| mode.trim().to_ascii_lowercase()).as_deref() {
            Some("balanced" | "default") => None,
            Some("fast") => Pack::find("ship-fast"),
            Some("cheap") => Pack::find("cost-saver"),
            Some("quality") => Pack::find("quality-first"),
            Some("reliable") => Pack::find("reliability-first"),
            Some("offline") => Pack::find("offline-friendly"),
            Some(other) => Pack::find(other).or(self.mode_pack),
            None => self.mode_pack,
        };
        pack.map(Pack::weights).or(self.weights).unwrap_or_default()
    }
}
