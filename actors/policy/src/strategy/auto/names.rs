//! Combos that nobody has to write: `auto`, `auto/<variant>`, `auto/<category>[:<tier>]`
//! (routing 5.1). Each usable account is a candidate with one model.
//!
//! They are made when they are asked for, so that accounts which come and go count at once. The
//! names are few and fixed: what is remembered of them is bounded.

use super::settings::{AutoRouter, AutoSettings, Taste};
use super::weights::Pack;
use crate::catalogue::{Catalogue, Combo, ConnectionEntry, ModelEntry, ProviderEntry, Step};
use crate::ids::ModelId;

/// Which models of a provider are meant.
type Filter = fn(&ModelEntry) -> bool;

/// What a name asks for.
struct Wanted {
    settings: AutoSettings,
    filter: Option<Filter>,
}

const VARIANTS: [&str; 7] = ["coding", "fast", "cheap", "offline", "smart", "lkgp", "chaos"];
const CATEGORIES: [&str; 5] = ["coding", "reasoning", "vision", "chat", "multimodal"];
const TIERS: [&str; 6] = ["fast", "cheap", "floor", "reliable", "free", "pro"];

/// Every name that is understood.
pub fn names() -> impl Iterator<Item = String> {
    let variants = VARIANTS.iter().map(|variant| format!("auto/{variant}"));
    // `coding` is a variant already.
    let categories = CATEGORIES.iter().skip(1).map(|category| format!("auto/{category}"));
    let tiers = CATEGORIES
        .iter()
        .flat_map(|category| TIERS.iter().map(move |tier| format!("auto/{category}:{tier}")));
    std::iter::once("auto".to_owned()).chain(variants).chain(categories).chain(tiers)
}

/// Whether it is one of these names.
pub fn is_name(name: &str) -> bool {
    name.starts_with("auto") && wanted(name).is_some()
}

/// How the combo of a name chooses; `None`: it is none of these names.
pub fn settings(name: &str) -> Option<AutoSettings> {
    wanted(name).map(|wanted| wanted.settings)
}

/// The combo of a name. One that an operator has written, or a provider called `auto`, goes first.
pub fn combo(name: &str, catalogue: &Catalogue) -> Option<Combo> {
    let Wanted { settings, filter } = wanted(name)?;
    if catalogue.providers.contains_key("auto") {
        return None;
    }
    let mut steps = candidates(catalogue, filter);
    if steps.is_empty() && filter.is_some() {
        steps = candidates(catalogue, None);
    }
    let mut combo = Combo::new(name, "auto", steps);
    combo.settings.auto = settings;
    Some(combo)
}

fn wanted(name: &str) -> Option<Wanted> {
    let usual = |pack: Option<&str>| AutoSettings {
        mode_pack: pack.and_then(Pack::find),
        taste: Taste::of_name(name),
        ..AutoSettings::default()
    };
    let Some(form) = name.strip_prefix("auto/") else {
        return (name == "auto").then(|| Wanted { settings: usual(None), filter: None });
    };
    if VARIANTS.contains(&form) {
        return Some(Wanted { settings: variant(form, usual), filter: None });
    }
    let (category, tier) = form.split_once(':').map_or((form, None), |(form, tier)| (form, Some(tier)));
    if !CATEGORIES.contains(&category) || tier.is_some_and(|tier| !TIERS.contains(&tier)) {
        return None;
    }
    let sees: Option<Filter> = matches!(category, "vision" | "multimodal").then_some(can_see);
    let (pack, filter): (_, Option<Filter>) = match tier {
        Some("fast") => (Some("ship-fast"), sees),
        Some("cheap" | "floor") => (Some("cost-saver"), sees),
        Some("reliable") => (Some("reliability-first"), sees),
        Some("free") if sees.is_some() => {
            (Some("cost-saver"), Some(|facts| can_see(facts) && is_free(facts)))
        }
        Some("free") => (Some("cost-saver"), Some(is_free)),
        Some("pro") => (Some("quality-first"), sees),
        _ => (None, sees),
    };
    Some(Wanted { settings: usual(pack), filter })
}

fn variant(form: &str, usual: impl Fn(Option<&str>) -> AutoSettings) -> AutoSettings {
    match form {
        "coding" | "smart" => usual(Some("quality-first")),
        "fast" => usual(Some("ship-fast")),
        "cheap" => usual(Some("cost-saver")),
        "offline" => usual(Some("offline-friendly")),
        "chaos" => usual(Some("chaos-mode")),
        _ => AutoSettings { router: AutoRouter::Lkgp, ..usual(None) },
    }
}

fn can_see(facts: &ModelEntry) -> bool {
    facts.abilities.is_some_and(|abilities| abilities.vision)
}

fn is_free(facts: &ModelEntry) -> bool {
    facts.input_price == Some(0.0) && facts.output_price.is_none_or(|price| price == 0.0)
}

/// One candidate for each usable account, providers by name.
fn candidates(catalogue: &Catalogue, filter: Option<Filter>) -> Vec<Step> {
    let mut providers: Vec<&ProviderEntry> = catalogue.providers.values().collect();
    providers.sort_by(|a, b| a.id.cmp(&b.id));
    let of = |provider: &ProviderEntry| {
        let step = |connection: &ConnectionEntry| {
            let model = model(provider, connection, filter)?;
            Some(Step::pinned(provider.id.clone(), model, connection.id.clone()))
        };
        let usable = provider.connections.iter().filter(|connection| connection.usable);
        usable.filter_map(|connection| step(connection)).collect::<Vec<_>>()
    };
    providers.into_iter().flat_map(of).collect()
}

/// The first listed model that the account may serve; without a list one that it names outright.
fn model(provider: &ProviderEntry, connection: &ConnectionEntry, filter: Option<Filter>) -> Option<ModelId> {
    let fits = |facts: &ModelEntry| filter.is_none_or(|filter| filter(facts));
    match &provider.models {
        Some(models) => {
            let mut listed = models.iter();
            let found = listed.find(|(model, facts)| connection.serves(model.as_str()) && fits(facts));
            found.map(|(model, _)| model.clone())
        }
        None if filter.is_some() => None,
        None => {
            let outright = connection.models.iter().find(|pattern| !pattern.contains('*'));
            outright.map(|model| model.as_str().into())
        }
    }
}

#[cfg(test)]
mod tests;
