//! What client keys have cost: the usage history by the prices of the models. It is read once, when
//! the first key has a budget; from then on each request adds its own.

use std::sync::Arc;

use actors::blueprint::Blueprint;
use policy::keys::Spent;
use policy::time::Millis;
use policy::usage::{Day, Written};

use crate::settings::Settings;
use crate::storage::{ReadUsage, Store, Unread};

/// Some key has a budget.
pub(super) fn is_limited(settings: &Settings) -> bool {
    settings.keys.iter().any(|key| !key.rules.limits.budgets.is_empty())
}

/// The history of every window that a budget can have, what is not written yet included.
pub(super) async fn read(
    store: Option<Arc<actix::Addr<Store>>>,
    now: Millis,
) -> Result<Vec<Written>, String> {
    let store = store.ok_or("the store is being replaced")?;
    let asked = ReadUsage { from: Spent::horizon(now), to: Day::of(now), by: None, most: usize::MAX };
    let groups = store.send(asked).await.map_err(|error| error.to_string())?;
    let groups = groups.map_err(|error| match error {
        Unread::TooMany => "there is too much of it".to_owned(),
        Unread::Store(error) => error,
    })?;
    Ok(groups.into_sums().filter_map(|((day, who), tally)| Some((day?, who, tally))).collect())
}

/// What the rows of keys have cost.
pub(super) fn costs(rows: Vec<Written>, plan: &Blueprint) -> Vec<(Arc<str>, Day, f64)> {
    let cost = |(day, who, tally): Written| {
        let (key, provider, model) = (who.key?, who.provider?, who.model?);
        let tokens = (tally.tokens.input, tally.tokens.output);
        Some((key, day, plan.catalogue.pools.cost((&provider, &model), tokens)))
    };
    rows.into_iter().filter_map(cost).collect()
}
