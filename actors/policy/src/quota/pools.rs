//! The pools of a configuration, and the models they offer (flow 2.3-2.6, 2.8).
//!
//! A shared model is no stored combo: it is made when somebody asks for it, from the members
//! as they are configured then. So nothing has to be pruned, a second look changes nothing, a
//! member that is gone contributes nothing, and a pool that is deleted takes its models along
//! (flow 2.4, 2.5).

use std::collections::HashMap;
use std::sync::Arc;

use super::gauge::Gauges;
use super::ledger::{Counts, Ledger};
use super::name::QuotaName;
use super::share::{Cause, Decision, DimensionLimit, Pool, Reading, Unit, decide};
use super::{STRATEGY, THRESHOLD};
use crate::catalogue::{Catalogue, Combo, Step};
use crate::ids::{ConnectionId, ModelId, ProviderId};
use crate::time::Millis;

/// US dollars per million tokens, in and out.
pub type Price = (f64, f64);

/// Every pool, and what decisions about them need.
#[derive(Clone, Debug)]
pub struct Pools {
    /// The pools; the first that holds a key and an account decides.
    pub pools: Vec<Pool>,
    /// From this utilisation on shares are kept strictly.
    pub threshold: f64,
    /// Prices of models that have one.
    pub prices: HashMap<ProviderId, HashMap<ModelId, Price>>,
    /// Accounts with a cap are asked in turn, and softly (flow 2.26).
    pub serialise: bool,
}

impl Default for Pools {
    fn default() -> Self {
        Self { pools: Vec::new(), threshold: THRESHOLD, prices: HashMap::new(), serialise: true }
    }
}

/// What is known of consumption.
#[derive(Clone, Debug, Default)]
pub struct Books {
    /// What keys have used.
    pub ledger: Ledger,
    /// What accounts say.
    pub gauges: Gauges,
}

impl Pools {
    /// No account is shared.
    pub fn is_empty(&self) -> bool {
        self.pools.is_empty()
    }

    /// The combo that a shared name stands for; `None` when no pool of that group offers the model.
    pub fn combo(&self, name: &str, catalogue: &Catalogue) -> Option<Combo> {
        let asked = QuotaName::parse(name)?;
        let provider = catalogue.providers.get(asked.provider).filter(|found| found.serves(asked.model))?;
        let mut steps: Vec<Step> = Vec::new();
        let pools = self.pools.iter().filter(|pool| pool.is_called(&asked));
        for member in pools.flat_map(|pool| &pool.members) {
            let entry = provider.connections.iter().find(|entry| entry.id == *member);
            let offers = entry.is_some_and(|entry| entry.serves(asked.model));
            if offers && !steps.iter().any(|step| step.connection.as_ref() == Some(member)) {
                let (provider, model) = (provider.id.clone(), asked.model.into());
                steps.push(Step::pinned(provider, model, member.clone()));
            }
        }
        (!steps.is_empty()).then(|| Combo::new(name, STRATEGY, steps))
    }

    /// The pool that lists both the key and the account (flow 2.8).
    pub fn holding(&self, key: &str, connection: &ConnectionId) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.allocation(key).is_some() && pool.members.contains(connection))
    }

    /// Some pool has the account.
    pub fn has(&self, connection: &ConnectionId) -> bool {
        self.pools.iter().any(|pool| pool.members.contains(connection))
    }

    /// Whether a key that is limited to its pools may ask for this name; without a pool of its
    /// own it may ask for nothing (flow 2.6).
    pub fn admits(&self, key: &str, name: &str) -> bool {
        QuotaName::parse(name).is_some_and(|asked| {
            self.pools.iter().any(|pool| pool.is_called(&asked) && pool.allocation(key).is_some())
        })
    }

    /// Whether the key may use the account now, and when it may again.
    pub fn decide(
        &self,
        key: &Arc<str>,
        connection: &ConnectionId,
        books: &Books,
        now: Millis,
    ) -> (Decision, Option<Millis>) {
        let Some(pool) = self.holding(key, connection) else { return (Decision::Allow, None) };
        let read = |limit: &DimensionLimit| books.read(pool, key, limit, now);
        let decision = decide(pool, key, &read, self.threshold);
        let until = match decision {
            Decision::Allow | Decision::Last => None,
            Decision::Block { cause, limit, below } => books.until(pool, key, (cause, limit, below), now),
        };
        (decision, until)
    }

    /// What a request has cost.
    pub fn cost(&self, (provider, model): (&ProviderId, &ModelId), (input, output): (u64, u64)) -> f64 {
        let price = self.prices.get(provider).and_then(|models| models.get(model));
        price.map_or(0.0, |price| (input as f64 * price.0 + output as f64 * price.1) / 1e6)
    }

    /// Adds what a key has used of an account, if both are in a pool.
    pub fn record(
        &self,
        (key, connection): (&Arc<str>, &ConnectionId),
        counts: Counts,
        books: &mut Books,
        now: Millis,
    ) -> Option<super::ledger::Recorded> {
        let pool = self.holding(key, connection)?;
        Some(books.ledger.record(&pool.id, key, counts, now))
    }
}

impl Pool {
    fn is_called(&self, name: &QuotaName<'_>) -> bool {
        &*self.slug == name.group && self.provider.as_str() == name.provider
    }
}

impl Books {
    fn read(&self, pool: &Pool, key: &Arc<str>, limit: &DimensionLimit, now: Millis) -> Option<Reading> {
        let counted = |unit| {
            let what = (unit, limit.window);
            let own = self.ledger.used(&pool.id, key, what, now);
            Reading { total: self.ledger.used_by_all(&pool.id, what, now), own }
        };
        match limit.unit {
            Unit::Percent => {
                let used = pool.members.iter().filter_map(|id| self.gauges.used(id, limit.window, now));
                let known: Vec<f64> = used.collect();
                if known.is_empty() {
                    return None;
                }
                let total = known.iter().sum::<f64>() / pool.members.len() as f64;
                // The upstream does not know keys: each is taken to have used what it used of the tokens.
                let tokens = counted(Unit::Tokens);
                let part = if tokens.total > 0.0 { tokens } else { counted(Unit::Requests) };
                let whole = limit.limit * pool.members.len() as f64;
                let own = if part.total > 0.0 { part.own / part.total * total * whole } else { 0.0 };
                Some(Reading { total, own })
            }
            unit => Some(counted(unit)),
        }
    }

    fn until(
        &self,
        pool: &Pool,
        key: &Arc<str>,
        (cause, limit, below): (Cause, DimensionLimit, f64),
        now: Millis,
    ) -> Option<Millis> {
        if limit.unit == Unit::Percent {
            return self.gauges.resets_at(&pool.members, limit.window, now);
        }
        let key = (cause != Cause::GlobalSaturated).then_some(key);
        self.ledger.falls_below(below, (&pool.id, key), (limit.unit, limit.window), now)
    }
}
