//! Rows of `[[combos]]`, `[[model_combo_mappings]]` and `[aliases]` (routing 1, 2.1, 12.3).

use policy::time::{DAY, HOUR, MINUTE};

use super::{FLAG, REQUIRED, Row, row};
use crate::settings::kind::{Data, Items, Kind, Shape};

const KINDS: &[&str] = &["model", "combo-ref"];
const NESTINGS: &[&str] = &["flatten", "execute"];
const WINDOWS: &[&str] = &["weekly", "session", "monthly"];
const FILTERS: &[&str] = &["lenient", "strict"];
const PACKS: &[&str] =
    &["ship-fast", "cost-saver", "quality-first", "offline-friendly", "reliability-first", "chaos-mode"];
const ROUTERS: &[&str] = &["rules", "score", "cost", "eco", "latency", "fast", "lkgp", "sla-aware", "sla"];
const ID: Kind = Kind::Text(Shape::Id);
const PERCENT: Kind = Kind::Number(0.0, 100.0);
/// A part of a sum: what counts is its share of all parts.
const PART: Kind = Kind::Number(0.0, 1_000_000.0);
/// The longest wait that a timer takes (routing 1.3).
const LONGEST: u64 = 2_147_483_647;

#[rustfmt::skip] // one row, one line
pub(super) const ROWS: &[Row] = &[
    // [[combos]]
    row("combos[].name", Kind::Text(Shape::ComboName), REQUIRED, "", "what clients ask for"),
    row("combos[].description", Kind::Text(Shape::Note), "", "", "what people read"),
    row("combos[].strategy", Kind::Text(Shape::Plain), "priority", "", "how targets are ordered"),
    row("combos[].context_cache_protection", FLAG, "false", "", "a session stays with the model that served it last, whatever the strategy says: another one is asked only for 408, 429, 500, 502 to 504, 529 and bad quality; three failed requests in a row end that"),
    row("combos[].context_length", Kind::Whole(1_000, 2_000_000), "", "tokens", "what /v1/models tells clients that fits in; absent: the smallest window that is known of its targets; no target is asked for more than its own"),
    row("combos[].system_message", Kind::Text(Shape::Message), "", "", "what is said before everything else in each request that it sends on: before the client's own system message, which stays"),
    row("combos[].tool_filter_regex", Kind::Text(Shape::Expression), "", "", "a regular expression: only tools in whose name it is found are passed on; a tool_choice that names another one goes as well"),
    row("combos[].allowed_providers", Kind::List(Items::Ids), "", "", "the only providers it may ask, where nested combos' targets take their place, too; empty: all"),
    row("combos[].targets[].model", Kind::Text(Shape::Model), "", "", "provider/model; * at its end: every listed model that begins so; a name without a provider: the combo of that name"),
    row("combos[].targets[].combo", Kind::Text(Shape::ComboName), "", "", "instead of model: another combo"),
    row("combos[].targets[].kind", Kind::Choice(KINDS), "", "", "model | combo-ref: what a name without a provider is; absent: a combo, if there is one"),
    row("combos[].targets[].provider", ID, "", "", "the provider of a model that is named without it"),
    row("combos[].targets[].weight", PERCENT, "0", "", "share of the draw"),
    row("combos[].targets[].connection", ID, "", "", "the one connection it is pinned to"),
    row("combos[].targets[].allowed_connections", Kind::List(Items::Ids), "", "", "the only connections it may use; empty: all"),
    row("combos[].targets[].id", Kind::Text(Shape::Name), "", "", "its name within the combo; absent: made of its place and model"),
    row("combos[].targets[].label", Kind::Text(Shape::Name), "", "", "what people call it"),
    row("combos[].targets[].tags", Kind::List(Items::Tags), "", "", "words of people about it; at most 20"),
    row("combos[].targets[].prompt", Kind::Text(Shape::Prompt), "", "", "pipeline: what is said before this step"),
    row("combos[].targets[].fallback_only_on_quota_exhaustion", FLAG, "false", "", "priority: the next target is only tried when this one is out of quota"),
    row("combos[].config.max_retries", Kind::Whole(0, 10), "1", "retries", "retries of the same target"),
    row("combos[].config.retry_delay_ms", Kind::Millis(0, MINUTE), "2000", "ms", "pause before such a retry"),
    row("combos[].config.fallback_delay_ms", Kind::Millis(0, MINUTE), "0", "ms", "pause before the next target"),
    row("combos[].config.max_set_retries", Kind::Whole(0, 10), "0", "retries", "how often all targets are tried once more"),
    row("combos[].config.set_retry_delay_ms", Kind::Millis(0, MINUTE), "2000", "ms", "pause before that"),
    row("combos[].config.target_timeout_ms", Kind::Millis(0, LONGEST), "0", "ms", "limit of one target; 0 = unset"),
    row("combos[].config.combo_timeout_ms", Kind::Millis(0, LONGEST), "0", "ms", "limit of the whole combo until its answer begins, its waits not counted; 0 = ten minutes"),
    row("combos[].config.failover_before_retry", FLAG, "true", "", "other targets come before a retry"),
    row("combos[].config.slow_start_ms", Kind::Millis(0, HOUR), "0", "ms", "how long a recovered connection is spared; 0 = off"),
    row("combos[].config.combo_cooldown_wait_enabled", FLAG, "true", "", "false: never waits for a target that rests; true cannot turn on what resilience.combo_cooldown_wait forbids"),
    row("combos[].config.last_resort", FLAG, "false", "", "when all rest by our own timers and no wait is allowed, the one that returns first is tried once"),
    row("combos[].config.max_combo_depth", Kind::Whole(1, 10), "3", "combos", "how deep combos may be nested below this one"),
    row("combos[].config.nested_combo_mode", Kind::Choice(NESTINGS), "flatten", "", "flatten: its targets take a nested combo's place; execute: it is one choice and orders its own"),
    row("combos[].config.disable_session_stickiness", FLAG, "false", "", "sessions are not kept on one account here"),
    row("combos[].config.sticky_round_robin_limit", Kind::Whole(0, 1_000), "", "requests", "round-robin: successes in a row on one target; 0 and 1: one; absent: settings.sticky_round_robin_limit where that is set, else 1"),
    row("combos[].config.sticky_weighted_limit", Kind::Whole(0, 1_000), "1", "requests", "weighted: successes in a row after a draw; 0 and 1: one"),
    row("combos[].config.concurrency_per_model", Kind::Whole(1, 20), "", "requests", "round-robin: requests at once on one target whose connection has no cap; absent: as many as come"),
    row("combos[].config.queue_timeout_ms", Kind::Millis(1_000, 2 * MINUTE), "30000", "ms", "round-robin: how long one waits for a full target before the next one is asked"),
    row("combos[].config.queue_depth", Kind::Whole(0, 100), "20", "requests", "round-robin: how many may wait for it; 0 = none"),
    row("combos[].config.reset_aware_session_weight", PERCENT, "0.35", "", "reset-aware, quota-weighted: part of the five-hour window in the score"),
    row("combos[].config.reset_aware_weekly_weight", PERCENT, "0.65", "", "part of the weekly window"),
    row("combos[].config.reset_aware_tie_band_percent", PERCENT, "5", "% points", "scores this close to the best take turns"),
    row("combos[].config.reset_aware_exhaustion_guard_percent", PERCENT, "10", "% left", "below it the score falls"),
    row("combos[].config.reset_aware_quota_cache_max_stale_ms", Kind::Millis(0, HOUR), "900000", "ms", "a reading that is older is not trusted"),
    row("combos[].config.reset_window_windows", Kind::List(Items::Of(WINDOWS)), "weekly", "", "reset-window: weekly | session | monthly, the windows whose reset is waited for"),
    row("combos[].config.reset_window_include_session", FLAG, "false", "", "the five-hour window counts as well"),
    row("combos[].config.reset_window_tie_band_ms", Kind::Millis(0, DAY), "60000", "ms", "resets this close to the soonest take turns"),
    row("combos[].config.quota_weighted_floor_percent", PERCENT, "1", "% left", "quota-weighted: accounts with less left come last"),
    row("combos[].config.candidate_pool", Kind::List(Items::Ids), "", "", "auto: the providers that are chosen from; empty: all"),
    row("combos[].config.weights.quota", PART, "", "", "auto: weight of the quota that is left; as soon as one weight is given, the others are 0"),
    row("combos[].config.weights.health", PART, "", "", "of the provider's breaker"),
    row("combos[].config.weights.cost_inv", PART, "", "", "of a low price"),
    row("combos[].config.weights.latency_inv", PART, "", "", "of a low latency"),
    row("combos[].config.weights.task_fit", PART, "", "", "of how well the model fits the task"),
    row("combos[].config.weights.stability", PART, "", "", "of an even latency"),
    row("combos[].config.weights.tier_priority", PART, "", "", "of the account's tier"),
    row("combos[].config.weights.tier_affinity", PART, "", "", "of the tier that is asked for"),
    row("combos[].config.weights.specificity_match", PART, "", "", "of how well the tier fits the request"),
    row("combos[].config.weights.context_affinity", PART, "", "", "of the session's account"),
    row("combos[].config.weights.session_availability", PART, "", "", "of free sessions"),
    row("combos[].config.weights.connection_density", PART, "", "", "of many accounts"),
    row("combos[].config.weights.cache_affinity", PART, "", "", "of the account that has the prompt cached"),
    row("combos[].config.weights.reset_window_affinity", PART, "", "", "of a quota that soon returns"),
    row("combos[].config.weights.quality", PART, "", "", "of observed quality"),
    row("combos[].config.weights.reliability", PART, "", "", "of few errors"),
    row("combos[].config.mode_pack", Kind::Choice(PACKS), "", "", "auto: ship-fast | cost-saver | quality-first | offline-friendly | reliability-first | chaos-mode, instead of weights"),
    row("combos[].config.budget_cap", Kind::Number(0.0, 1_000_000.0), "", "USD", "auto: most that a request may be estimated to cost; absent: no cap"),
    row("combos[].config.budget_fallback", Kind::Choice(&["cheapest", "strict"]), "cheapest", "", "cheapest | strict: what happens when all cost more"),
    row("combos[].config.exploration_rate", Kind::Number(0.0, 1.0), "0.05", "", "auto: how often any candidate is tried"),
    row("combos[].config.router_strategy", Kind::Choice(ROUTERS), "rules", "", "auto: rules | score | cost | eco | latency | fast | lkgp | sla-aware | sla, how one is chosen"),
    row("combos[].config.sla_target_p95_ms", Kind::Millis(1, DAY), "2000", "ms", "sla-aware: latency that 95 of 100 answers should keep"),
    row("combos[].config.sla_max_error_rate", Kind::Number(0.0, 1.0), "0.05", "", "sla-aware: share of errors"),
    row("combos[].config.sla_max_cost_per_1m_tokens", Kind::Number(0.0, 1_000_000.0), "10", "USD", "sla-aware: price of a million tokens"),
    row("combos[].config.sla_hard_constraints", FLAG, "false", "", "sla-aware: whoever breaks these least comes first"),
    row("combos[].config.judge_model", Kind::Text(Shape::Model), "", "", "fusion: who makes one answer of all; absent: the first target"),
    row("combos[].config.fusion_tuning.min_panel", Kind::Whole(1, 100), "2", "answers", "from how many on stragglers are waited for only a while"),
    row("combos[].config.fusion_tuning.straggler_grace_ms", Kind::Millis(0, HOUR), "8000", "ms", "that while"),
    row("combos[].config.fusion_tuning.panel_hard_timeout_ms", Kind::Millis(1, HOUR), "90000", "ms", "how long an answer may take at most"),
    row("combos[].config.fusion_tuning.max_panel", Kind::Whole(1, 100), "", "targets", "how many are asked; absent: all"),
    row("combos[].config.handoff_threshold", Kind::Number(0.5, 0.94), "0.85", "share used", "context-relay: from what use of its quota on an account hands over"),
    row("combos[].config.handoff_model", Kind::Text(Shape::Model), "", "", "who writes the summary; absent: the model that is asked"),
    row("combos[].config.handoff_providers", Kind::List(Items::Ids), "", "", "providers whose accounts hand over; empty: all that tell what of their quota is used"),
    row("combos[].config.max_messages_for_summary", Kind::Whole(5, 100), "30", "messages", "how many are summed up"),
    row("combos[].config.context_requirements.min_context_window", Kind::Whole(0, 1_000_000_000), "", "tokens", "targets with less context are left out"),
    row("combos[].config.context_requirements.prefer_large_context", FLAG, "false", "", "the largest context comes first"),
    row("combos[].config.context_requirements.context_filter_mode", Kind::Choice(FILTERS), "lenient", "", "strict | lenient: whether an unknown context is left out as well"),
    row("combos[].config.compat_filter_fail_open", FLAG, "false", "", "when no target can do what is asked, all are tried"),
    row("combos[].config.composite_tiers.default_tier", Kind::Text(Shape::Name), "", "", "the tier that comes first"),
    row("combos[].config.composite_tiers.tiers.*.step_id", Kind::Text(Shape::Name), "", "", "id of the target that the tier holds"),
    row("combos[].config.composite_tiers.tiers.*.fallback_tier", Kind::Text(Shape::Name), "", "", "the tier after it"),
    row("combos[].config.zero_latency_optimizations_enabled", FLAG, "false", "", "what hedging and predictive_ttft_ms need; setting one of them turns it on"),
    row("combos[].config.hedging", FLAG, "false", "", "a second target is asked when the first is slow"),
    row("combos[].config.hedge_delay_ms", Kind::Millis(0, MINUTE), "500", "ms", "how slow"),
    row("combos[].config.predictive_ttft_ms", Kind::Millis(0, HOUR), "0", "ms", "targets whose answers began later than this on average are asked behind all quicker ones; 0 = off"),
    row("combos[].config.track_metrics", FLAG, "true", "", "how it fares is counted: GET /api/combos/metrics"),
    row("combos[].config.response_validation.forbidden_substrings", Kind::List(Items::Substrings), "", "", "an answer with one of these texts in it counts as failed"),
    row("combos[].config.response_validation.required_substrings", Kind::List(Items::Substrings), "", "", "so does one without each of these"),
    row("combos[].config.response_validation.min_content_length", Kind::Whole(0, 1_000_000), "0", "characters", "so does one whose text is shorter"),
    row("combos[].config.response_validation.json_path_predicates[].path", Kind::Text(Shape::Plain), REQUIRED, "", "a place in the answer's JSON, such as $.choices[0].message.content; so does one where the predicate does not hold; at most 20, streams are not looked at"),
    row("combos[].config.response_validation.json_path_predicates[].op", Kind::Choice(&["exists", "nonEmpty", "equals", "notEquals"]), REQUIRED, "", "exists | nonEmpty | equals | notEquals: what must be there"),
    row("combos[].config.response_validation.json_path_predicates[].value", Kind::Data(Data::Scalar), "", "", "the value of equals and notEquals"),
    // [[model_combo_mappings]]
    row("model_combo_mappings[].id", ID, "", "", "its name; absent: made of the pattern"),
    row("model_combo_mappings[].pattern", Kind::Text(Shape::Model), REQUIRED, "", "models that are asked for; * stands for any text"),
    row("model_combo_mappings[].combo", Kind::Text(Shape::ComboName), REQUIRED, "", "the combo that answers"),
    row("model_combo_mappings[].priority", Kind::Whole(0, 1_000_000), "100", "", "smaller is looked at first"),
    row("model_combo_mappings[].enabled", FLAG, "true", "", "whether it counts"),
    row("model_combo_mappings[].description", Kind::Text(Shape::Note), "", "", "what people read"),
    // [aliases]
    row("aliases", Kind::Data(Data::Aliases), "", "", "other names: NAME = \"provider/model\", a combo or a bare id, never another alias; * in a name stands for any text"),
];
