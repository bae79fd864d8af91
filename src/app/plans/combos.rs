//! Combos and other names, as the router has them.

use std::collections::HashMap;
use std::sync::Arc;

use policy::attempts::{AttemptSettings, Own};
use policy::catalogue::{Aliases, Catalogue, Combo, Mapping, Step};
use policy::combo::{Providers, Resolved, Spec, resolve};
use policy::cooldown_wait::WaitSettings;
use policy::ids::ProviderId;
use policy::plan::{Berths, Filters};
use policy::request::tokens_of;

use crate::settings::{self, Settings};

/// Every combo by its name, as far as these providers go.
pub(super) fn combos(settings: &Settings, providers: &Providers) -> HashMap<Arc<str>, Combo> {
    let specs: Vec<Spec> = settings.combos.iter().map(settings::Combo::spec).collect();
    let mut resolved = resolve(&specs, providers);
    let waits = settings.resilience.combo_cooldown_wait;
    let combos = settings.combos.iter().zip(specs).map(|(typed, spec)| {
        let resolved = resolved.remove(&spec.name).unwrap_or_default();
        (spec.name.clone(), combo(typed, spec, resolved, waits))
    });
    combos.collect()
}

fn combo(typed: &settings::Combo, spec: Spec, resolved: Resolved, waits: WaitSettings) -> Combo {
    let Resolved { mut steps, units, nests } = resolved;
    if !typed.allowed_providers.is_empty() {
        steps.retain(|step| typed.allowed_providers.contains(&step.provider));
    }
    Combo {
        steps,
        units,
        nests,
        keeps_model: typed.context_cache_protection,
        added_tokens: tokens_of(typed.system_message.as_ref().map_or(0, String::len)),
        berths: berths(&typed.config.queue).filter(|_| spec.strategy == "round-robin"),
        ..with_config(Combo::new(spec.name, spec.strategy, Vec::new()), &typed.config, waits)
    }
}

/// What a combo has that says nothing itself (routing 1.4).
pub(super) fn base(settings: &Settings) -> Combo {
    let waits = settings.resilience.combo_cooldown_wait;
    with_config(Combo::new("", "auto", Vec::new()), &settings.combo_base, waits)
}

fn with_config(combo: Combo, config: &settings::ComboConfig, waits: WaitSettings) -> Combo {
    let own = |(provider, config): &(ProviderId, settings::ComboConfig)| {
        let own = Own { attempts: attempts(config, waits), slow_start_ms: config.slow_start_ms };
        (provider.clone(), own)
    };
    Combo {
        attempts: attempts(config, waits),
        own: config.by_provider.iter().map(own).collect(),
        settings: config.strategy.clone(),
        slow_start_ms: config.slow_start_ms,
        counted: config.track_metrics,
        validation: Some(&config.response_validation)
            .filter(|rules| !rules.is_empty())
            .map(|rules| Arc::new(rules.clone())),
        filters: Filters {
            fail_open: config.compat_filter_fail_open,
            min_window: config.context.min_window,
            strict: config.context.strict,
            prefer_large: config.context.prefer_large,
        },
        ..combo
    }
}

/// The smallest window that is known of a combo's targets, also of the combos that it asks as a
/// whole: whoever serves has to hold what clients are told that fits in.
pub(super) fn window(name: &str, catalogue: &Catalogue, depth: u32) -> Option<u64> {
    let combo = catalogue.combos.get(name)?;
    let of_step =
        |step: &Step| catalogue.providers.get(&step.provider)?.facts(step.model.as_str())?.context_window;
    let nested = combo.units.iter().filter_map(|unit| unit.nested.as_ref()).filter(|_| depth > 0);
    let inner = nested.filter_map(|name| window(name, catalogue, depth - 1));
    combo.steps.iter().filter_map(of_step).chain(inner).min()
}

/// Routing 8.7; who says nothing of it throttles nobody.
fn berths(queue: &settings::QueueNumbers) -> Option<Berths> {
    let most = queue.concurrency_per_model?;
    Some(Berths { most, wait_ms: queue.timeout_ms, depth: queue.depth })
}

fn attempts(config: &settings::ComboConfig, waits: WaitSettings) -> AttemptSettings {
    AttemptSettings {
        max_retries: config.max_retries,
        retry_delay_ms: config.retry_delay_ms,
        fallback_delay_ms: config.fallback_delay_ms,
        target_timeout_ms: config.target_timeout_ms,
        failover_before_retry: config.failover_before_retry,
        waits: waits.unless(!config.combo_cooldown_wait_enabled),
        max_set_retries: config.max_set_retries,
        set_retry_delay_ms: config.set_retry_delay_ms,
        combo_timeout_ms: config.combo_timeout_ms,
        hedge_delay_ms: config.hedging.enabled.then_some(config.hedging.delay_ms),
        predictive_ttft_ms: config.hedging.predictive_ttft_ms,
        last_resort: config.last_resort,
    }
}

/// Other names of models and combos.
pub(super) fn aliases(settings: &Settings) -> Aliases {
    let aliases = settings.aliases.iter();
    aliases.map(|(name, alias)| (name.as_str().into(), alias.to.as_str().into())).collect()
}

/// Patterns that lead to combos, those that count.
pub(super) fn mappings(settings: &Settings) -> Vec<Mapping> {
    let mappings = settings.mappings.iter().filter(|mapping| mapping.enabled);
    let mapping = |mapping: &settings::Mapping| Mapping {
        pattern: mapping.pattern.as_str().into(),
        combo: mapping.combo.as_str().into(),
        priority: i64::from(mapping.priority),
    };
    mappings.map(mapping).collect()
}
