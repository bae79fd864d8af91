//! From a name to ordered targets, and why each other one is left out
//! (routing 2.1, 3, 7.2, 12; contract 8, "Models").

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::attempts::{AttemptSettings, MAX_DISPATCHES};
use crate::board::Board;
use crate::breaker::{Admission, Grant};
use crate::catalogue::{Catalogue, Combo, ConnectionEntry, Dialect, ProviderEntry, Step};
use crate::change::{Exclusion, Refusal};
use crate::dice::Dice;
use crate::ids::{Class, ConnectionId, ModelId, ProviderId};
use crate::strategy::{self, Candidate, Metrics};
use crate::time::Millis;
use crate::verdict::Reason;

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
}

/// Why there is no plan at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPlan {
    /// The name cannot be a model's (routing 12.2).
    BadName,
    /// Nobody knows the name.
    UnknownModel,
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
        return of_combo(ask, combo, world, dice);
    }
    let (provider, model) = find_model(world.catalogue, ask.model)?;
    if !provider.dialects.contains(&ask.dialect) {
        return Err(NoPlan::FormatNotSupported(provider.dialects.clone()));
    }
    let step = Step { provider: provider.id.clone(), model, connection: None };
    let mut plan = empty(None, "single", AttemptSettings::direct(), 1);
    add_step(&mut plan, &step, 0, ask, world);
    Ok(plan)
}

fn of_combo(ask: &Ask<'_>, combo: &Combo, world: World<'_>, dice: &mut dyn Dice) -> Result<Plan, NoPlan> {
    let mut plan = empty(Some(combo.name.clone()), combo.strategy, combo.attempts, combo.steps.len());
    let candidate = |index: usize| candidate(combo, &combo.steps[index], world);
    let order = match strategy::find(combo.strategy) {
        Some(rule) => rule.rank(combo.steps.len(), &candidate, dice),
        None => (0..combo.steps.len()).collect(),
    };
    for index in order {
        if plan.targets.len() >= MAX_DISPATCHES {
            break;
        }
        add_step(&mut plan, &combo.steps[index], index, ask, world);
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
    Plan { combo, strategy, attempts, targets: Vec::new(), excluded: Vec::new(), pool_size }
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

/// Routing 2.1: the exact name, then `combo/<name>`.
fn find_combo<'a>(catalogue: &'a Catalogue, model: &str) -> Option<&'a Combo> {
    catalogue.combos.get(model).or_else(|| catalogue.combos.get(model.strip_prefix("combo/")?))
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

/// Decision 34, for the connection that would be asked first.
fn keeps_draw(combo: &Combo, step: &Step, world: World<'_>) -> f64 {
    let first = usable(step, world.catalogue)
        .filter_map(|entry| world.board.connections.get(&entry.id))
        .find(|view| view.cooldown.refusal(false, world.now).is_none());
    match first.and_then(|view| view.cooldown.ended_at.map(|ended| (ended, view.cooldown.cooled_for_ms))) {
        Some((ended, cooled)) if combo.slow_start_ms > 0 && cooled > crate::time::MINUTE => {
            (world.now.saturating_sub(ended) as f64 / combo.slow_start_ms as f64).clamp(0.1, 1.0)
        }
        _ => 1.0,
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

/// Adds what a step offers: its connections in order of priority, or why not (routing 7.2).
fn add_step(plan: &mut Plan, step: &Step, index: usize, ask: &Ask<'_>, world: World<'_>) {
    let combo = plan.combo.is_some();
    let mut exclude = |connection: Option<&ConnectionId>, reason: Exclusion, until: Option<Millis>| {
        let transient =
            reason.is_timer() && connection.is_none_or(|id| passes_by_itself(id, step, reason, world));
        plan.excluded.push(Excluded {
            provider: step.provider.clone(),
            model: step.model.clone(),
            connection: connection.cloned(),
            reason,
            until,
            transient,
        });
    };
    let Some(provider) = world.catalogue.providers.get(&step.provider) else {
        return exclude(None, Exclusion::Unavailable, None);
    };
    if !provider.dialects.contains(&ask.dialect) {
        return exclude(None, Exclusion::FormatNotSupported, None);
    }
    if !provider.serves(step.model.as_str()) {
        return exclude(None, Exclusion::ModelNotInCatalog, None);
    }
    let grant = match world.board.providers.get(&step.provider).map(|view| (view, view.admission(world.now)))
    {
        Some((_, Admission::Refused(refusal))) => {
            return exclude(None, refusal.why, refusal.retry_at);
        }
        Some((_, Admission::Ask)) => None,
        Some((view, Admission::Free)) => Some(view.grant()),
        // The owner has not spoken yet: nothing is held against it.
        None => Some(Grant { generation: 0, probe: false }),
    };
    // Only combos have somewhere else to go (core 2.1, 7.2).
    if let Some(refusal) = world.board.provider_cooldown(&step.provider, world.now).filter(|_| combo) {
        return exclude(None, refusal.why, refusal.retry_at);
    }
    let mut any = false;
    for entry in connections(step, world.catalogue) {
        any = true;
        let held = exclusion(entry, step, ask, world);
        let retry = world.board.retry_cooldown(&entry.id, world.now).filter(|_| combo);
        match longer(retry, held) {
            Some(refusal) => exclude(Some(&entry.id), refusal.why, refusal.retry_at),
            None => plan.targets.push(Planned {
                provider: step.provider.clone(),
                class: provider.class,
                connection: entry.id.clone(),
                model: step.model.clone(),
                step: index,
                pinned: step.connection.is_some(),
                grant,
            }),
        }
        if plan.targets.len() >= MAX_DISPATCHES {
            return;
        }
    }
    if !any {
        exclude(None, Exclusion::Unavailable, None);
    }
}

fn exclusion(entry: &ConnectionEntry, step: &Step, ask: &Ask<'_>, world: World<'_>) -> Option<Refusal> {
    let forever = |why| Some(Refusal { why, retry_at: None });
    if ask.allowed.is_some_and(|allowed| !allowed.contains(&entry.id)) {
        return forever(Exclusion::KeyNotAllowed);
    }
    if !entry.usable || !entry.serves(step.model.as_str()) {
        return forever(Exclusion::Unavailable);
    }
    let refusal = world.board.connection_refusal(&entry.id, world.now);
    refusal.or_else(|| {
        let lock = world.board.lock(&entry.id, &step.model, world.now)?;
        Some(Refusal { why: Exclusion::ModelLockout, retry_at: Some(lock.until) })
    })
}

/// Of two that hold a target back the one that holds it longer, so that the wait which is told
/// is true (decision 26b); `None` never ends by itself.
fn longer(first: Option<Refusal>, second: Option<Refusal>) -> Option<Refusal> {
    let (Some(one), Some(other)) = (first, second) else { return first.or(second) };
    let end = |refusal: &Refusal| refusal.retry_at.unwrap_or(Millis::MAX);
    Some(if end(&one) >= end(&other) { one } else { other })
}

/// Routing 7.17: a wait for quota, a credential or a missing model is nobody's to sit out.
fn passes_by_itself(connection: &ConnectionId, step: &Step, reason: Exclusion, world: World<'_>) -> bool {
    match reason {
        Exclusion::ModelLockout => {
            let lock = world.board.lock(connection, &step.model, world.now);
            lock.is_none_or(|lock| lock.reason.is_transient())
        }
        Exclusion::ConnectionCooldown => {
            let view = world.board.connections.get(connection);
            let reason = view.and_then(|view| view.cooldown.last_error.as_ref()).map(|error| error.reason);
            !matches!(reason, Some(Reason::AuthError | Reason::QuotaExhausted))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests;
