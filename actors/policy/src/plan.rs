//! From a name to ordered targets, and why each other one is left out
//! (routing 2.1, 3, 7.2, 12; contract 8, "Models").

mod accounts;
mod step;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::account::{AccountStrategy, Usage};
use crate::attempts::{AttemptSettings, MAX_DISPATCHES};
use crate::board::Board;
use crate::breaker::Grant;
use crate::catalogue::{Catalogue, Combo, ConnectionEntry, Dialect, ProviderEntry, Step};
use crate::change::Exclusion;
use crate::dice::Dice;
use crate::gate::Patience;
use crate::ids::{Class, ConnectionId, ModelId, ProviderId};
use crate::latency::Latency;
use crate::strategy::{self, Candidate, Metrics};
use crate::time::Millis;
use crate::validation::Validation;

use step::{Turn, add_step};

/// A request, free of its dialect's details.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The model as the client wrote it.
    pub model: &'a str,
    /// The dialect the client speaks.
    pub dialect: Dialect,
    /// The connections the client's key may use; `None`: all.
    pub allowed: Option<&'a [ConnectionId]>,
}

/// What the router remembers beside the board: its own counts, never an owner's state.
pub trait Memory {
    /// Requests in flight on a connection.
    fn in_flight(&self, connection: &ConnectionId) -> u32;
    /// The record of a model in a combo.
    fn metrics(&self, combo: &str, provider: &ProviderId, model: &ModelId) -> Option<Metrics>;
    /// How an account was picked lately.
    fn usage(&self, connection: &ConnectionId) -> Usage;
    /// How fast and how well an account answered lately.
    fn latency(&self, connection: &ConnectionId, model: &ModelId, now: Millis) -> Latency;
}

/// One target a request may be sent to.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Its provider.
    pub provider: ProviderId,
    /// Its resilience profile.
    pub class: Class,
    /// Its connection.
    pub connection: ConnectionId,
    /// The model as the provider names it.
    pub model: ModelId,
    /// Index of the combo's step; 0 without a combo.
    pub step: usize,
    /// The step names this connection.
    pub pinned: bool,
    /// The right to speak about the provider; `None`: its breaker is half-open and must grant a probe.
    pub grant: Option<Grant>,
}

/// A target that is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excluded {
    /// Its provider.
    pub provider: ProviderId,
    /// The model as the provider names it.
    pub model: ModelId,
    /// Its connection; `None` when the whole provider is out.
    pub connection: Option<ConnectionId>,
    /// Why.
    pub reason: Exclusion,
    /// When it may come back, epoch ms.
    pub until: Option<Millis>,
    /// It comes back by itself soon: no quota, credential or missing model holds it (routing 7.17).
    pub transient: bool,
    /// A combo may sit it out: what holds it is known to pass (flow 3.3).
    pub waitable: bool,
}

/// Ordered targets.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The combo asked for.
    pub combo: Option<Arc<str>>,
    /// Name of its strategy; `single` without a combo.
    pub strategy: &'static str,
    /// How the attempt loop behaves.
    pub attempts: AttemptSettings,
    /// Targets in the order in which they are tried; at most 30 (routing 7.8).
    pub targets: Vec<Planned>,
    /// Targets left out.
    pub excluded: Vec<Excluded>,
    /// Steps the combo has; 1 without a combo.
    pub pool_size: usize,
    /// The router wants to hear how each attempt went (a combo's it always does).
    pub timed: bool,
    /// An account of it is shared: the router wants to hear what answers say of its quota.
    pub shared: bool,
    /// The account that was charged for going first (flow 2.20).
    pub charged: Option<ConnectionId>,
    /// How it waits for a target that is merely full.
    pub patience: Patience,
    /// What an answer must be like (routing 7.9); `None`: anything.
    pub validation: Option<Arc<Validation>>,
}

/// Why there is no plan at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPlan {
    /// The name cannot be a model's (routing 12.2).
    BadName,
    /// Nobody knows the name.
    UnknownModel,
    /// The key may only ask for the models of its pools, and this is none of them (flow 2.6).
    NotForKey,
    /// Several providers list the bare name; the ways to write it.
    Ambiguous(Vec<String>),
    /// Every target speaks another dialect than the client.
    FormatNotSupported(Vec<Dialect>),
}

/// Everything a plan is made from.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// What is configured.
    pub catalogue: &'a Catalogue,
    /// What the owners published.
    pub board: &'a Board,
    /// What the router remembers.
    pub memory: &'a dyn Memory,
    /// Epoch ms.
    pub now: Millis,
}

/// Makes the plan of one request.
pub fn plan(ask: &Ask<'_>, world: World<'_>, dice: &mut dyn Dice) -> Result<Plan, NoPlan> {
    if !is_name(ask.model) {
        return Err(NoPlan::BadName);
    }
    if let Some(combo) = find_combo(world.catalogue, ask.model) {
        return of_combo(ask, &combo, world, dice);
    }
    let (provider, model) = find_model(world.catalogue, ask.model)?;
    if !provider.dialects.contains(&ask.dialect) {
        return Err(NoPlan::FormatNotSupported(provider.dialects.clone()));
    }
    let step = Step { provider: provider.id.clone(), model, connection: None };
    let attempts = AttemptSettings { waits: world.catalogue.direct_waits, ..AttemptSettings::direct() };
    let mut plan = empty(None, "single", attempts, 1);
    plan.timed = world.catalogue.accounts.records_latency();
    add_step(&mut plan, Turn { index: 0, step: &step, left: 0 }, ask, world, dice);
    Ok(plan)
}

fn of_combo(ask: &Ask<'_>, combo: &Combo, world: World<'_>, dice: &mut dyn Dice) -> Result<Plan, NoPlan> {
    let mut plan = empty(Some(combo.name.clone()), combo.strategy, combo.attempts, combo.steps.len());
    plan.timed = true;
    plan.validation = combo.validation.clone();
    let candidate = |index: usize| candidate(combo, &combo.steps[index], world);
    let order = match strategy::find(combo.strategy) {
        Some(rule) => rule.rank(combo.steps.len(), &candidate, dice),
        None => (0..combo.steps.len()).collect(),
    };
    for (turn, index) in order.into_iter().enumerate() {
        if plan.targets.len() >= MAX_DISPATCHES {
            break;
        }
        let left = combo.steps.len() - turn - 1;
        add_step(&mut plan, Turn { index, step: &combo.steps[index], left }, ask, world, dice);
    }
    let foreign = |excluded: &Excluded| excluded.reason == Exclusion::FormatNotSupported;
    if plan.targets.is_empty() && !plan.excluded.is_empty() && plan.excluded.iter().all(foreign) {
        let dialects = combo.steps.iter().filter_map(|step| world.catalogue.providers.get(&step.provider));
        return Err(NoPlan::FormatNotSupported(
            dialects.flat_map(|provider| provider.dialects.clone()).collect(),
        ));
    }
    Ok(plan)
}

fn empty(
    combo: Option<Arc<str>>,
    strategy: &'static str,
    attempts: AttemptSettings,
    pool_size: usize,
) -> Plan {
    Plan {
        combo,
        strategy,
        attempts,
        targets: Vec::new(),
        excluded: Vec::new(),
        pool_size,
        timed: false,
        shared: false,
        charged: None,
        patience: Patience::Queue,
        validation: None,
    }
}

/// Bytes of the longest name: it becomes a header, an id of a lockout, a key of the store.
const LONGEST_NAME: usize = 512;

/// Routing 12.2: no path tricks and no control characters.
fn is_name(model: &str) -> bool {
    !model.is_empty()
        && model.len() <= LONGEST_NAME
        && !model.contains("../")
        && !model.contains("..\\")
        && !model.chars().any(char::is_control)
}

/// Routing 2.1: the exact name, then `combo/<name>`; then the models of pools (flow 2.4).
fn find_combo<'a>(catalogue: &'a Catalogue, model: &str) -> Option<Cow<'a, Combo>> {
    let typed = catalogue.combos.get(model);
    let typed = typed.or_else(|| catalogue.combos.get(model.strip_prefix("combo/")?));
    typed.map(Cow::Borrowed).or_else(|| catalogue.pools.combo(model, catalogue).map(Cow::Owned))
}

/// Routing 12.1 and contract 8: `provider/model`, or a bare id that one provider lists.
fn find_model<'a>(catalogue: &'a Catalogue, name: &str) -> Result<(&'a ProviderEntry, ModelId), NoPlan> {
    if let Some((provider, model)) = name.split_once('/') {
        let (provider, model) = (provider.trim(), model.trim());
        if let Some(provider) = catalogue.providers.get(provider) {
            return match !model.is_empty() && provider.serves(model) {
                true => Ok((provider, model.into())),
                false => Err(NoPlan::UnknownModel),
            };
        }
    }
    let mut listing: Vec<&ProviderEntry> =
        catalogue.providers.values().filter(|provider| provider.lists(name) == Some(true)).collect();
    match listing.len() {
        0 => Err(NoPlan::UnknownModel),
        1 => Ok((listing[0], name.into())),
        _ => {
            listing.sort_by(|a, b| a.id.cmp(&b.id));
            Err(NoPlan::Ambiguous(listing.iter().map(|provider| format!("{}/{name}", provider.id)).collect()))
        }
    }
}

fn candidate(combo: &Combo, step: &Step, world: World<'_>) -> Candidate {
    let breaker = world.board.providers.get(&step.provider);
    let connections = usable(step, world.catalogue);
    Candidate {
        breaker: breaker.map_or(crate::breaker::BreakerState::Closed, |view| view.state_at(world.now)),
        metrics: world.memory.metrics(&combo.name, &step.provider, &step.model),
        in_flight: connections.map(|entry| world.memory.in_flight(&entry.id)).sum(),
        keeps_draw: keeps_draw(combo, step, world),
    }
}

/// Decision 34, for the connection that would be asked first. Where the accounts are drawn too,
/// any may be: the one that is spared least speaks.
fn keeps_draw(combo: &Combo, step: &Step, world: World<'_>) -> f64 {
    let rested = usable(step, world.catalogue)
        .filter_map(|entry| world.board.connections.get(&entry.id))
        .filter(|view| view.cooldown.refusal(false, world.now).is_none())
        .map(|view| accounts::keeps_draw(view, combo.slow_start_ms, world.now));
    match world.catalogue.accounts.strategy {
        _ if combo.slow_start_ms == 0 => 1.0,
        AccountStrategy::FillFirst => rested.into_iter().next().unwrap_or(1.0),
        AccountStrategy::P2c => rested.reduce(f64::max).unwrap_or(1.0),
    }
}

fn usable<'a>(step: &'a Step, catalogue: &'a Catalogue) -> impl Iterator<Item = &'a Arc<ConnectionEntry>> {
    connections(step, catalogue).filter(|entry| entry.usable && entry.serves(step.model.as_str()))
}

fn connections<'a>(
    step: &'a Step,
    catalogue: &'a Catalogue,
) -> impl Iterator<Item = &'a Arc<ConnectionEntry>> {
    let all = catalogue.providers.get(&step.provider).map_or(&[][..], |provider| &provider.connections);
    all.iter().filter(|entry| step.connection.as_ref().is_none_or(|pin| *pin == entry.id))
}
