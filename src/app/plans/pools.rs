//! Quota pools: what the router decides by, and the models that a limited key sees (flow 2).

use std::collections::HashMap;

use policy::catalogue::matches;
use policy::ids::{ConnectionId, ProviderId};
use policy::quota::{
    Allocation, Cap, DimensionLimit, Pool, Pools, Price, QuotaName, THRESHOLD_ENV, threshold,
};

use crate::http::state::ListedModel;
use crate::settings::{Connection, PoolAllocation, Provider, QuotaPool, Settings};

/// Every pool as it is configured now.
pub(super) fn pools(settings: &Settings) -> Pools {
    Pools {
        pools: settings.pools.iter().map(|(id, pool)| of(id, pool, settings)).collect(),
        threshold: threshold(std::env::var(THRESHOLD_ENV).ok().as_deref()),
        prices: settings.providers.iter().map(|provider| (provider.id.clone(), prices(provider))).collect(),
        serialise: settings.resilience.quota_share_concurrency_limit,
    }
}

fn of(id: &str, pool: &QuotaPool, settings: &Settings) -> Pool {
    let provider = pool.provider(settings).unwrap_or_else(|| ProviderId::from(""));
    let limit = |limit: &crate::settings::PoolLimit| DimensionLimit {
        unit: limit.unit,
        window: limit.window,
        limit: limit.limit,
    };
    Pool {
        id: id.into(),
        slug: pool.slug().into(),
        members: members(pool, &provider, settings).map(|member| member.id.clone()).collect(),
        provider,
        allocations: pool.allocations.iter().map(allocation).collect(),
        limits: pool.limits.iter().map(limit).collect(),
    }
}

/// Those of its accounts that are there; one that moved to another provider is none (flow 2.4).
fn members<'a>(
    pool: &'a QuotaPool,
    provider: &'a ProviderId,
    settings: &'a Settings,
) -> impl Iterator<Item = &'a Connection> {
    let find = |id: &ConnectionId| settings.connections.iter().find(|known| known.id == *id);
    pool.connections.iter().filter_map(find).filter(move |known| known.provider == *provider)
}

fn allocation(typed: &PoolAllocation) -> Allocation {
    Allocation {
        key: typed.key_id.as_str().into(),
        weight: typed.weight,
        rule: typed.policy,
        cap: typed.cap_value.zip(typed.cap_unit).map(|(value, unit)| Cap { value, unit }),
    }
}

fn prices(provider: &Provider) -> HashMap<policy::ids::ModelId, Price> {
    let models = provider.models.iter().flatten();
    let priced = models.filter(|model| model.input_price.is_some() || model.output_price.is_some());
    priced
        .map(|model| {
            let price = (model.input_price.unwrap_or_default(), model.output_price.unwrap_or_default());
            (model.id.clone(), price)
        })
        .collect()
}

/// What a key that is limited to its pools sees; without a pool nothing (flow 2.6).
pub(super) fn models(settings: &Settings, key: &str) -> Vec<ListedModel> {
    let mut listed: Vec<ListedModel> = Vec::new();
    let of_key = |pool: &&QuotaPool| pool.allocations.iter().any(|allocation| allocation.key_id == key);
    for pool in settings.pools.values().filter(of_key) {
        for name in offered(pool, settings) {
            if !listed.iter().any(|other| other.id == name) {
                listed.push(ListedModel { id: name, owner: "quota-pool".into(), context_length: None });
            }
        }
    }
    listed
}

/// The names of the models that a pool offers: those that its provider lists, or that an account
/// names itself.
pub fn offered(pool: &QuotaPool, settings: &Settings) -> Vec<String> {
    let Some(provider) = pool.provider(settings) else { return Vec::new() };
    let typed = settings.providers.iter().find(|known| known.id == provider);
    let listed = typed.into_iter().flat_map(|typed| typed.models.iter().flatten());
    let mut models: Vec<&str> = listed.map(|model| model.id.as_str()).collect();
    let members: Vec<&Connection> = members(pool, &provider, settings).collect();
    if typed.is_some_and(|typed| typed.models.is_none() || typed.passthrough_models) {
        let named = members.iter().flat_map(|member| &member.models);
        models.extend(named.filter(|pattern| !pattern.contains('*')).map(String::as_str));
    }
    let slug = pool.slug();
    let serves = |model: &&str| {
        members.iter().any(|member| member.models.iter().any(|pattern| matches(pattern, model)))
    };
    let mut names: Vec<String> = models
        .iter()
        .copied()
        .filter(serves)
        .map(|model| QuotaName { group: &slug, provider: provider.as_str(), model }.to_string())
        .collect();
    names.sort();
    names.dedup();
    names
}
