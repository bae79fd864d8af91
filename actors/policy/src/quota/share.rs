//! Whether a key may still use an account of its pool (flow 2.7-2.15).
//!
//! Each limit of the pool is a dimension: a unit and a window. For counted units utilisation is
//! what all keys have used against the limit (decision 16); for percent it is what the upstream
//! itself says. A dimension that cannot be read is passed over.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{ConnectionId, ProviderId};
use crate::time::{DAY, HOUR, Millis};

/// A limit of exactly this stands for "not known yet" and is passed over (flow 2.11).
pub const PLACEHOLDER: f64 = f64::EPSILON;
/// From this utilisation on shares are kept strictly.
pub const THRESHOLD: f64 = 0.5;
/// Overrides it.
pub const THRESHOLD_ENV: &str = "QUOTA_SATURATION_THRESHOLD";

/// The threshold that the environment asks for; what is no share of 1 is ignored.
pub fn threshold(env: Option<&str>) -> f64 {
    let asked = env.and_then(|text| text.trim().parse().ok());
    asked.filter(|share| (0.0..=1.0).contains(share)).unwrap_or(THRESHOLD)
}

/// What happens to a key that has used its share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// It is refused.
    #[default]
    Hard,
    /// Its requests go to other accounts first.
    Soft,
    /// Nothing, while the pool has some left.
    Burst,
}

impl Rule {
    /// Every rule with its name.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Hard, "hard"), (Self::Soft, "soft"), (Self::Burst, "burst")];

    /// The rule of that name; an unknown one in a stored record counts as hard (flow 2.7).
    pub fn stored(name: &str) -> Self {
        let row = Self::ALL.into_iter().find(|(_, known)| *known == name);
        row.map_or(Self::Hard, |(rule, _)| rule)
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Requests that were answered.
    Requests,
    /// Tokens, in and out.
    Tokens,
    /// US dollars by the configured prices.
    Usd,
    /// What the upstream says is used.
    Percent,
}

impl Unit {
    /// Every unit with its name.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Requests, "requests"),
        (Self::Tokens, "tokens"),
        (Self::Usd, "usd"),
        (Self::Percent, "percent"),
    ];
}

/// The window in which it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UsageWindow {
    /// Five hours.
    #[serde(rename = "5h")]
    Session,
    /// A day.
    #[serde(rename = "24h")]
    Day,
    /// Seven days.
    #[serde(rename = "7d")]
    Week,
}

impl UsageWindow {
    /// Every window with its name.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Session, "5h"), (Self::Day, "24h"), (Self::Week, "7d")];

    /// Its length.
    pub fn length_ms(self) -> Millis {
        match self {
            Self::Session => 5 * HOUR,
            Self::Day => DAY,
            Self::Week => 7 * DAY,
        }
    }
}

/// The most that a key may use of one unit, whatever the others left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cap {
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: Unit,
}

/// A key's part of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// The key.
    pub key: Arc<str>,
    /// Percent of the pool.
    pub weight: f64,
    /// What happens when it is used up.
    pub rule: Rule,
    /// An end of its own.
    pub cap: Option<Cap>,
}

/// What one account offers in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DimensionLimit {
    /// What is counted.
    pub unit: Unit,
    /// In which window.
    pub window: UsageWindow,
    /// How much one account has.
    pub limit: f64,
}

/// Accounts of one provider that keys share.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Its id.
    pub id: Arc<str>,
    /// Its group in shared names.
    pub slug: Arc<str>,
    /// The provider of all its accounts.
    pub provider: ProviderId,
    /// Its accounts.
    pub members: Vec<ConnectionId>,
    /// Who gets which part.
    pub allocations: Vec<Allocation>,
    /// What there is to share.
    pub limits: Vec<DimensionLimit>,
}

impl Pool {
    /// A key's part.
    pub fn allocation(&self, key: &str) -> Option<&Allocation> {
        self.allocations.iter().find(|allocation| &*allocation.key == key)
    }

    /// A key's share of what the pool has, 0 to 1: without any weight all are equal (flow 2.12).
    fn share(&self, allocation: &Allocation) -> f64 {
        match self.allocations.iter().all(|other| other.weight == 0.0) {
            true => 1.0 / self.allocations.len() as f64,
            false => allocation.weight / 100.0,
        }
    }
}

/// What is known of one dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// What all keys have used; for percent the upstream's utilisation, 0 to 1.
    pub total: f64,
    /// What the key has used.
    pub own: f64,
}

/// What a block is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The key's own cap.
    CapAbsolute,
    /// The pool is empty.
    GlobalSaturated,
    /// The key's share.
    FairShare,
}

impl Cause {
    /// The name in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CapAbsolute => "cap-absolute",
            Self::GlobalSaturated => "global-saturated",
            Self::FairShare => "fair-share",
        }
    }
}

/// Whether a key may use an account of its pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// It may.
    Allow,
    /// It may, after all others.
    Last,
    /// It may not.
    Block {
        /// Why.
        cause: Cause,
        /// The dimension that is used up.
        limit: DimensionLimit,
        /// It may again when the key (the pool, when that is empty) has used less than this.
        below: f64,
    },
}

/// Decides for one key. `read`: what has been used; `None`: unknown, which allows.
pub fn decide(
    pool: &Pool,
    key: &str,
    read: &dyn Fn(&DimensionLimit) -> Option<Reading>,
    threshold: f64,
) -> Decision {
    let Some(allocation) = pool.allocation(key) else { return Decision::Allow };
    let mut decision = Decision::Allow;
    for limit in &pool.limits {
        match dimension(pool, allocation, limit, (read(limit), threshold)) {
            Decision::Allow => {}
            Decision::Last => decision = Decision::Last,
            block @ Decision::Block { .. } => return block,
        }
    }
    decision
}

fn dimension(
    pool: &Pool,
    allocation: &Allocation,
    limit: &DimensionLimit,
    (reading, threshold): (Option<Reading>, f64),
) -> Decision {
    if limit.limit == PLACEHOLDER || !limit.limit.is_finite() {
        return Decision::Allow;
    }
    let Some(Reading { total, own }) = reading else { return Decision::Allow };
    let block = |cause, below| Decision::Block { cause, limit: *limit, below };
    let whole = limit.limit * pool.members.len() as f64;
    let total = if limit.unit == Unit::Percent { total * whole } else { total };
    let share = pool.share(allocation) * whole;
    if let Some(cap) = allocation.cap.filter(|cap| cap.unit == limit.unit && own >= cap.value) {
        return block(Cause::CapAbsolute, cap.value);
    }
    // Also a limit of 0, and one below it: nothing is there to share.
    if total >= whole {
        return block(Cause::GlobalSaturated, whole);
    }
    let strict = total / whole >= threshold;
    match allocation.rule {
        Rule::Hard if strict && own >= share => block(Cause::FairShare, share),
        Rule::Hard if own >= whole => block(Cause::FairShare, whole),
        Rule::Soft if own >= share => Decision::Last,
        Rule::Hard | Rule::Soft | Rule::Burst => Decision::Allow,
    }
}
