//! `[combos.config]`: the numbers of a combo (routing 1.3).

use policy::combo::{Nesting, Tier, Tiers};
use policy::strategy::auto::{AutoRouter, BudgetFallback, Pack, Sla, Taste, Weights};
use policy::strategy::{
    AutoSettings, FusionSettings, QuotaSettings, QuotaWindow, RelaySettings, ResetWindowSettings,
    RotationSettings, StrategySettings,
};

use super::{Context, Known, targets, validation};
use crate::settings::cascade;
use crate::settings::combos::{ComboConfig, ContextNumbers, HedgingNumbers, QueueNumbers};
use crate::settings::finding::Place;
use crate::settings::sheet::Sheet;

pub(super) const NESTING: &str = "combos[].config.nested_combo_mode";
pub(super) const TIERS: &str = "combos[].config.composite_tiers.tiers.*";
pub(super) const FIRST: &str = "combos[].config.composite_tiers.default_tier";
pub(super) const STEP: &str = "combos[].config.composite_tiers.tiers.*.step_id";
pub(super) const FALLBACK: &str = "combos[].config.composite_tiers.tiers.*.fallback_tier";
pub(super) const DEPTH: &str = "combos[].config.max_combo_depth";
pub(super) const JUDGE: &str = "combos[].config.judge_model";
const WEIGHTS: &str = "combos[].config.weights.";
const OF_ALL: &str = "settings.sticky_round_robin_limit";

/// A key of `[combos.config]`.
macro_rules! key {
    ($name:literal) => {
        concat!("combos[].config.", $name)
    };
}

/// Reads the config of a combo, over what all combos begin with (routing 1.4).
pub(super) fn read(context: &mut Context<'_>, own: &Sheet) -> ComboConfig {
    let root = context.root;
    let sheet = cascade::layered(root, own);
    let by_provider = cascade::by_provider(root, own, &sheet);
    let by_provider = by_provider.into_iter().map(|(provider, sheet)| (provider, whole(context, &sheet)));
    let by_provider = by_provider.collect();
    ComboConfig { by_provider, ..whole(context, &sheet) }
}

/// What a sheet says, and nobody else.
fn whole(context: &mut Context<'_>, sheet: &Sheet) -> ComboConfig {
    ComboConfig {
        by_provider: Vec::new(),
        max_retries: sheet.count(key!("max_retries")),
        retry_delay_ms: sheet.millis(key!("retry_delay_ms")),
        fallback_delay_ms: sheet.millis(key!("fallback_delay_ms")),
        max_set_retries: sheet.count(key!("max_set_retries")),
        set_retry_delay_ms: sheet.millis(key!("set_retry_delay_ms")),
        target_timeout_ms: sheet.millis(key!("target_timeout_ms")),
        combo_timeout_ms: sheet.millis(key!("combo_timeout_ms")),
        failover_before_retry: sheet.flag(key!("failover_before_retry")),
        slow_start_ms: sheet.millis(key!("slow_start_ms")),
        combo_cooldown_wait_enabled: sheet.flag(key!("combo_cooldown_wait_enabled")),
        last_resort: sheet.flag(key!("last_resort")),
        max_depth: sheet.count(DEPTH),
        nesting: nesting(sheet),
        tiers: tiers(context, sheet),
        strategy: strategy_settings(context, sheet),
        queue: QueueNumbers {
            concurrency_per_model: sheet.whole(key!("concurrency_per_model")).map(|most| most as u32),
            timeout_ms: sheet.millis(key!("queue_timeout_ms")),
            depth: sheet.count(key!("queue_depth")),
        },
        context: ContextNumbers {
            min_window: sheet.whole(key!("context_requirements.min_context_window")),
            prefer_large: sheet.flag(key!("context_requirements.prefer_large_context")),
            strict: sheet.text(key!("context_requirements.context_filter_mode")).as_deref() == Some("strict"),
        },
        compat_filter_fail_open: sheet.flag(key!("compat_filter_fail_open")),
        hedging: hedging(sheet),
        track_metrics: sheet.flag(key!("track_metrics")),
        response_validation: validation::read(context, sheet),
    }
}

fn nesting(sheet: &Sheet) -> Nesting {
    match sheet.text(NESTING).as_deref() {
        Some("execute") => Nesting::Execute,
        _ => Nesting::Flatten,
    }
}

/// Routing 2.5; whether what they name is there is for `combo_graph.rs`.
fn tiers(context: &mut Context<'_>, sheet: &Sheet) -> Option<Tiers> {
    let named = sheet.named.get(TIERS).map_or(&[][..], Vec::as_slice);
    let first = sheet.text(FIRST);
    if named.is_empty() && first.is_none() {
        return None;
    }
    let Some(first) = first else {
        context.refuse(sheet, FIRST, "is missing", "the name of a tier");
        return None;
    };
    let tier = |(name, entry): &(String, Sheet)| {
        let Some(step) = entry.text(STEP) else {
            if !entry.is_given(STEP) {
                context.refuse(entry, STEP, "is missing", "the id of a target");
            }
            return None;
        };
        Some(Tier { name: name.clone(), step: step.into(), fallback: entry.text(FALLBACK) })
    };
    Some(Tiers { first, tiers: named.iter().filter_map(tier).collect() })
}

fn strategy_settings(context: &mut Context<'_>, sheet: &Sheet) -> StrategySettings {
    let number = |key: &str| sheet.number(key).unwrap_or_default();
    let of_all = context.root.is_given(OF_ALL).then(|| context.root.whole(OF_ALL)).flatten();
    let in_a_row = sheet.whole(key!("sticky_round_robin_limit")).or(of_all).unwrap_or(1);
    StrategySettings {
        sessions: !sheet.flag(key!("disable_session_stickiness")),
        rotation: RotationSettings {
            sticky_round_robin_limit: u32::try_from(in_a_row).unwrap_or(u32::MAX).max(1),
            sticky_weighted_limit: sheet.count(key!("sticky_weighted_limit")).max(1),
            declared_fallbacks: sheet.is_given(FIRST),
        },
        quota: QuotaSettings {
            session_weight: number(key!("reset_aware_session_weight")),
            weekly_weight: number(key!("reset_aware_weekly_weight")),
            tie_band_percent: number(key!("reset_aware_tie_band_percent")),
            guard_percent: number(key!("reset_aware_exhaustion_guard_percent")),
            floor_percent: number(key!("quota_weighted_floor_percent")),
            stale_after_ms: sheet.millis(key!("reset_aware_quota_cache_max_stale_ms")),
        },
        reset_window: ResetWindowSettings {
            windows: windows(sheet),
            tie_band_ms: sheet.millis(key!("reset_window_tie_band_ms")),
        },
        auto: auto(context, sheet),
        fusion: fusion(sheet),
        relay: relay(context, sheet),
    }
}

fn windows(sheet: &Sheet) -> Vec<QuotaWindow> {
    const ALL: [QuotaWindow; 3] = [QuotaWindow::Session, QuotaWindow::Weekly, QuotaWindow::Monthly];
    let named = sheet.texts(key!("reset_window_windows"));
    let mut windows: Vec<QuotaWindow> = Vec::new();
    windows.extend(named.iter().filter_map(|name| ALL.into_iter().find(|window| window.as_str() == name)));
    if sheet.flag(key!("reset_window_include_session")) && !windows.contains(&QuotaWindow::Session) {
        windows.push(QuotaWindow::Session);
    }
    windows
}

fn auto(context: &mut Context<'_>, sheet: &Sheet) -> AutoSettings {
    let weight = |key: &&'static str| Some((key.strip_prefix(WEIGHTS)?, sheet.number(key)?));
    let weights: Vec<(&str, f64)> = sheet.cells.keys().filter_map(weight).collect();
    let text = |key: &str| sheet.text(key).unwrap_or_default();
    let sla = Sla::default();
    AutoSettings {
        candidate_pool: targets::providers(context, sheet, key!("candidate_pool")),
        weights: (!weights.is_empty()).then(|| Weights::of(weights)),
        mode_pack: Pack::find(&text(key!("mode_pack"))),
        budget_cap_usd: sheet.number(key!("budget_cap")),
        budget_fallback: BudgetFallback::find(&text(key!("budget_fallback")))
            .unwrap_or(BudgetFallback::Cheapest),
        exploration_rate: sheet.number(key!("exploration_rate")).unwrap_or_default(),
        router: AutoRouter::find(&text(key!("router_strategy"))).unwrap_or(AutoRouter::Rules),
        sla: Sla {
            p95_ms: sheet.whole(key!("sla_target_p95_ms")).map_or(sla.p95_ms, |ms| ms as f64),
            error_rate: sheet.number(key!("sla_max_error_rate")).unwrap_or(sla.error_rate),
            cost: sheet.number(key!("sla_max_cost_per_1m_tokens")).unwrap_or(sla.cost),
            hard: sheet.flag(key!("sla_hard_constraints")),
        },
        taste: Taste::of_name(&text("combos[].name")),
    }
}

fn fusion(sheet: &Sheet) -> FusionSettings {
    FusionSettings {
        judge: sheet.text(JUDGE).map(Into::into),
        min_panel: sheet.count(key!("fusion_tuning.min_panel")) as usize,
        straggler_grace_ms: sheet.millis(key!("fusion_tuning.straggler_grace_ms")),
        panel_hard_timeout_ms: sheet.millis(key!("fusion_tuning.panel_hard_timeout_ms")),
        max_panel: sheet.whole(key!("fusion_tuning.max_panel")).and_then(|most| most.try_into().ok()),
    }
}

fn relay(context: &mut Context<'_>, sheet: &Sheet) -> RelaySettings {
    RelaySettings {
        threshold: sheet.number(key!("handoff_threshold")).unwrap_or_default(),
        model: sheet.text(key!("handoff_model")).map(Into::into),
        providers: targets::providers(context, sheet, key!("handoff_providers")),
        max_messages: sheet.count(key!("max_messages_for_summary")) as usize,
    }
}

/// Routing 1.5: what needs the gate opens it.
fn hedging(sheet: &Sheet) -> HedgingNumbers {
    let enabled = sheet.flag(key!("hedging"));
    let predictive_ttft_ms = sheet.millis(key!("predictive_ttft_ms"));
    let gate = sheet.flag(key!("zero_latency_optimizations_enabled"));
    HedgingNumbers {
        gate: gate || enabled || predictive_ttft_ms > 0,
        enabled,
        delay_ms: sheet.millis(key!("hedge_delay_ms")),
        predictive_ttft_ms,
    }
}

impl Default for ComboConfig {
    /// The built-in values.
    fn default() -> Self {
        let nothing = Sheet::new(Place::Line(0));
        Context::alone(Known::default(), &[], |context| read(context, &nothing)).0
    }
}
