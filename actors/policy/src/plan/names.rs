//! What a name stands for (routing 2.1, 12; contract 8, "Models").
//!
//! In this order: a combo, `combo/<name>`, a model of a pool (flow 2.4), the patterns that lead to
//! combos, `auto` and its variants, an alias, `provider/model`, an alias by pattern, a bare model.
//! An alias is an order that somebody wrote for this very name, so it goes before
//! `provider/model`; a pattern of aliases never takes a name away from a provider that is
//! configured. An alias may stand for a combo.
//! Bare models: what providers list decides; where several do, the client has to say which
//! (contract 8, where routing 12.5 would prefer one). Families of names count only where nobody
//! lists the model.

use super::NoPlan;
use crate::catalogue::{Catalogue, Combo, Mapping, ProviderEntry, matches};
use crate::ids::ModelId;
use crate::strategy::{StrategySettings, auto};

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Named<'a> {
    /// A combo.
    Combo(&'a Combo),
    /// A combo that nobody wrote: it is made when it is asked for.
    Made(Box<Combo>),
    /// A provider's model.
    Model(&'a ProviderEntry, ModelId),
}

/// Bytes of the longest name: it becomes a header, an id of a lockout, a key of the store.
const LONGEST_NAME: usize = 512;

/// Beginnings of names, and the provider that they belong to (routing 12.5).
const FAMILIES: [(&str, &str); 6] = [
    ("gpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("claude-", "anthropic"),
    ("gemini-", "gemini"),
    ("gemma-", "gemini"),
];

/// Finds what the name stands for.
pub(super) fn find<'a>(catalogue: &'a Catalogue, name: &str) -> Result<Named<'a>, NoPlan> {
    if !is_name(name) {
        return Err(NoPlan::BadName);
    }
    if let Some(combo) = combo(catalogue, name) {
        return Ok(combo);
    }
    if let Some(combo) = mapped(catalogue, name) {
        return Ok(Named::Combo(combo));
    }
    // A stored combo of that name wins (routing 2.1).
    if let Some(combo) = auto::combo(name, catalogue) {
        return Ok(made(catalogue, combo));
    }
    if let Some(target) = catalogue.aliases.exact(name) {
        return meant(catalogue, target);
    }
    if let Some(found) = qualified(catalogue, name) {
        return found;
    }
    match catalogue.aliases.by_pattern(name) {
        Some(target) => meant(catalogue, target),
        None => bare(catalogue, name),
    }
}

/// The target of an alias; it is never an alias again.
fn meant<'a>(catalogue: &'a Catalogue, target: &str) -> Result<Named<'a>, NoPlan> {
    let auto = || auto::combo(target, catalogue).map(|combo| made(catalogue, combo));
    match combo(catalogue, target).or_else(auto) {
        Some(combo) => Ok(combo),
        None => qualified(catalogue, target).unwrap_or_else(|| bare(catalogue, target)),
    }
}

/// Routing 12.2: no path tricks and no control characters.
fn is_name(model: &str) -> bool {
    !model.is_empty()
        && model.len() <= LONGEST_NAME
        && !model.contains("../")
        && !model.contains("..\\")
        && !model.chars().any(char::is_control)
}

/// Routing 2.1: the exact name, then `combo/<name>`; then the models of pools (flow 2.4).
fn combo<'a>(catalogue: &'a Catalogue, name: &str) -> Option<Named<'a>> {
    let typed = catalogue.combos.get(name);
    let typed = typed.or_else(|| catalogue.combos.get(name.strip_prefix("combo/")?));
    let shared = || catalogue.pools.combo(name, catalogue).map(|combo| made(catalogue, combo));
    typed.map(Named::Combo).or_else(shared)
}

/// A combo that nobody has written, with the numbers that all combos begin with (routing 1.4).
fn made(catalogue: &Catalogue, combo: Combo) -> Named<'static> {
    let Some(base) = &catalogue.base else { return Named::Made(Box::new(combo)) };
    let auto = combo.settings.auto.over(&base.settings.auto);
    Named::Made(Box::new(Combo {
        attempts: base.attempts,
        own: base.own.clone(),
        settings: StrategySettings { auto, ..base.settings.clone() },
        slow_start_ms: base.slow_start_ms,
        counted: base.counted,
        validation: base.validation.clone(),
        filters: base.filters,
        ..combo
    }))
}

/// A mapping whose combo is gone is passed over.
fn mapped<'a>(catalogue: &'a Catalogue, name: &str) -> Option<&'a Combo> {
    let fits =
        |mapping: &&Mapping| matches(&mapping.pattern, name) && catalogue.combos.contains_key(&mapping.combo);
    let first = catalogue.mappings.iter().filter(fits).min_by_key(|mapping| mapping.priority)?;
    catalogue.combos.get(&first.combo)
}

/// Routing 12.1: `provider/model`; `None`: the name has no such form, or it is the full name of a
/// model that another provider lists while this one does not (routing 12.4).
fn qualified<'a>(catalogue: &'a Catalogue, name: &str) -> Option<Result<Named<'a>, NoPlan>> {
    let (provider, model) = name.split_once('/')?;
    let provider = catalogue.providers.get(provider.trim())?;
    let model = provider.callable(model.trim());
    if provider.lists(model) == Some(false) && listing(catalogue, name).next().is_some() {
        return None;
    }
    Some(match !model.is_empty() && provider.serves(model) {
        true => Ok(Named::Model(provider, model.into())),
        false => Err(NoPlan::UnknownModel),
    })
}

fn listing<'a>(catalogue: &'a Catalogue, model: &str) -> impl Iterator<Item = &'a ProviderEntry> {
    let lists = move |provider: &&ProviderEntry| provider.lists(provider.callable(model)) == Some(true);
    catalogue.providers.values().filter(lists)
}

/// Routing 12.5 and contract 8: the one provider that lists it, or whose family it is of.
fn bare<'a>(catalogue: &'a Catalogue, name: &str) -> Result<Named<'a>, NoPlan> {
    let mut listing: Vec<&ProviderEntry> = listing(catalogue, name).collect();
    let one = match listing.len() {
        0 => of_family(catalogue, name).ok_or(NoPlan::UnknownModel)?,
        1 => listing[0],
        _ => {
            listing.sort_by(|a, b| a.id.cmp(&b.id));
            let forms = listing.iter().map(|provider| format!("{}/{name}", provider.id));
            return Err(NoPlan::Ambiguous(forms.collect()));
        }
    };
    Ok(Named::Model(one, one.callable(name).into()))
}

/// The provider whose family of models the name is of (routing 12.5).
pub fn family(name: &str) -> Option<&'static str> {
    FAMILIES.iter().find(|(start, _)| name.starts_with(start)).map(|(_, provider)| *provider)
}

fn of_family<'a>(catalogue: &'a Catalogue, name: &str) -> Option<&'a ProviderEntry> {
    let provider = catalogue.providers.get(family(name)?)?;
    provider.serves(provider.callable(name)).then_some(provider)
}

#[cfg(test)]
mod tests;
