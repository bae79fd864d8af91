//! Which of a provider's accounts a request asks first (core 4, routing 11.8, 11.9).
//!
//! A combo's strategy orders targets; where a target names no account, this orders the accounts
//! that could serve it. One ordered table; listing, validation and documentation are made
//! from it. What is excluded never comes here: a score only weighs those that may be asked.

mod p2c;
mod score;
#[cfg(test)]
mod tests;
mod turns;

use crate::cooldown::LastError;
use crate::dice::Dice;
use crate::latency::Latency;
use crate::time::Millis;

pub use score::{latency_points, penalty};
pub use turns::draw;

/// How accounts are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccountStrategy {
    /// By priority.
    #[default]
    FillFirst,
    /// In turn, each for a run of requests.
    RoundRobin,
    /// The better of two drawn at random.
    P2c,
    /// Any.
    Random,
    /// Who was used longest ago.
    LeastUsed,
    /// Each once before any is again.
    StrictRandom,
}

/// A strategy as people see it.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What it does.
    pub strategy: AccountStrategy,
    /// Its name in config.toml.
    pub name: &'static str,
    /// Other names that mean it.
    pub aliases: &'static [&'static str],
    /// One line for lists.
    pub doc_short: &'static str,
    /// A paragraph for the reference.
    pub doc_long: &'static str,
}

/// Every account strategy that is built, in the order of the documentation.
pub static STRATEGIES: &[Row] = &[
    Row {
        strategy: AccountStrategy::FillFirst,
        name: "fill-first",
        aliases: &["priority"],
        doc_short: "by priority, the next one when the one before is excluded or has failed",
        doc_long: "Accounts are asked in the order of their `priority`. The next one is asked when \
                   the one before is excluded or has failed.",
    },
    Row {
        strategy: AccountStrategy::RoundRobin,
        name: "round-robin",
        aliases: &[],
        doc_short: "in turn, each for `settings.sticky_round_robin_limit` requests",
        doc_long: "The account that was asked last is asked again until it has had \
                   `settings.sticky_round_robin_limit` requests in a row; then the one that was asked \
                   longest ago, of those with the lowest backoff. An account that is left out loses \
                   its run.",
    },
    Row {
        strategy: AccountStrategy::P2c,
        name: "p2c",
        aliases: &[],
        doc_short: "the better of two drawn at random",
        doc_long: "Two accounts are drawn; the one with fewer penalty points goes first. Points are \
                   given for errors, backoff, little quota left, recent and repeated use and a low \
                   priority, and for slow or failing answers when `resilience.p2c_latency.weight` \
                   is set. A full tie is the dice's. The others follow by their points.",
    },
    Row {
        strategy: AccountStrategy::Random,
        name: "random",
        aliases: &[],
        doc_short: "any, each as likely as the others",
        doc_long: "Accounts are shuffled for each request.",
    },
    Row {
        strategy: AccountStrategy::LeastUsed,
        name: "least-used",
        aliases: &["usage"],
        doc_short: "the one that was asked longest ago",
        doc_long: "The account that was asked longest ago goes first, one that never was before it, \
                   by priority. After a restart nobody has been asked.",
    },
    Row {
        strategy: AccountStrategy::FillFirst,
        name: "cost-optimized",
        aliases: &[],
        doc_short: "the lowest `priority` first, as `fill-first`: accounts have no price",
        doc_long: "Accounts of one provider have no price of their own; their `priority` says which \
                   one is to be used up first.",
    },
    Row {
        strategy: AccountStrategy::StrictRandom,
        name: "strict-random",
        aliases: &[],
        doc_short: "a shuffled deck: each once before any again",
        doc_long: "Accounts are drawn like cards: each is asked first once before any is again, and \
                   none twice in a row. One that rests is passed over and keeps its card.",
    },
    Row {
        strategy: AccountStrategy::FillFirst,
        name: "weighted",
        aliases: &[],
        doc_short: "as `fill-first`: accounts have no weight",
        doc_long: "Accepted for settings that come from elsewhere; accounts have no weight.",
    },
];

/// The strategy of that name or alias, whatever its case.
pub fn find(name: &str) -> Option<AccountStrategy> {
    let name = name.trim().to_ascii_lowercase();
    let row = STRATEGIES.iter().find(|row| row.name == name || row.aliases.contains(&name.as_str()))?;
    Some(row.strategy)
}

/// The accepted names, for findings.
pub fn names() -> Vec<&'static str> {
    STRATEGIES.iter().map(|row| row.name).collect()
}

/// How a provider's accounts are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AccountSettings {
    /// The order.
    pub strategy: AccountStrategy,
    /// Most points that `p2c` gives for slow or failing answers, 0 to 20; 0: none, and nothing
    /// is recorded (core 4.5).
    pub latency_weight: f64,
    /// How long a session stays with its account after its last request, ms; 0: not at all
    /// (rules 6.5).
    pub affinity_ttl_ms: Millis,
    /// `round-robin`: requests in a row for one account; 0 counts as 1.
    pub sticky_limit: u32,
}

impl AccountSettings {
    /// Uses of accounts must be counted.
    pub fn counts_use(&self) -> bool {
        self.strategy != AccountStrategy::FillFirst || self.affinity_ttl_ms > 0
    }

    /// Little quota left gives points.
    pub fn reads_quota(&self) -> bool {
        self.strategy == AccountStrategy::P2c
    }

    /// Answers of direct requests must be recorded too.
    pub fn records_latency(&self) -> bool {
        self.latency_weight > 0.0
    }
}

/// How an account was picked lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Picks in a row; 0 when another account of the provider was picked since.
    pub consecutive: u32,
    /// When it was picked last, epoch ms.
    pub last_at: Option<Millis>,
    /// The number of that pick among all; tells picks of one millisecond apart.
    pub turn: u64,
}

/// One account that may be asked.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// Its quota is gone for this request.
    pub quota_exhausted: bool,
    /// A policy for its quota holds it back.
    pub quota_blocked: bool,
    /// Percent of quota left; `None`: unknown.
    pub headroom: Option<f64>,
    /// Its last failure since its last success.
    pub error: Option<LastError>,
    /// Its backoff level.
    pub level: u32,
    /// How it was picked lately.
    pub usage: Usage,
    /// Lower is better; `None`: not given.
    pub priority: Option<u32>,
    /// How fast and how well it answered lately.
    pub latency: Latency,
    /// Requests in flight.
    pub in_flight: u32,
    /// Decision 34: the probability with which it keeps a draw it won.
    pub keeps_draw: f64,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            quota_exhausted: false,
            quota_blocked: false,
            headroom: None,
            error: None,
            level: 0,
            usage: Usage::default(),
            priority: None,
            latency: Latency::default(),
            in_flight: 0,
            keeps_draw: 1.0,
        }
    }
}

/// Orders accounts that stand in order of priority: indices, first choice first, each once.
pub fn order(
    accounts: &[Account],
    settings: AccountSettings,
    now: Millis,
    dice: &mut dyn Dice,
) -> Vec<usize> {
    match settings.strategy {
        // The cards of a deck are drawn by `draw`, which knows the accounts' names.
        AccountStrategy::FillFirst | AccountStrategy::StrictRandom => (0..accounts.len()).collect(),
        AccountStrategy::RoundRobin => turns::round_robin(accounts, settings.sticky_limit),
        AccountStrategy::Random => turns::shuffled(accounts.len(), dice),
        AccountStrategy::LeastUsed => turns::least_used(accounts),
        AccountStrategy::P2c => p2c::order(accounts, settings.latency_weight, now, dice),
    }
}
