//! `[[combos]]` and `[[model_combo_mappings]]`, as they are meant (routing 1).
//!
//! What a strategy reads is in the words of `policy`; the rest waits here for whoever obeys it.

use policy::catalogue::Abilities;
use policy::combo::{Nesting, Spec, StepSpec, Tiers};
use policy::ids::ProviderId;
use policy::strategy::{self, StrategySettings};
use policy::time::Millis;
use policy::validation::Validation;
use serde_json::{Map, Value as Json, json};

use super::build::{self, COMBOS, Context, Known};
use super::entities::Source;
use super::json_sheet;

/// `[[combos]]`: a named list of targets with a strategy.
#[derive(Clone, Debug, PartialEq)]
pub struct Combo {
    /// What clients ask for.
    pub name: String,
    /// One of the accepted names, in lower case.
    pub strategy: String,
    /// At least one.
    pub targets: Vec<StepSpec>,
    /// The only providers it may ask; empty: all.
    pub allowed_providers: Vec<ProviderId>,
    /// A session stays with the model that served it last (routing 3.9).
    pub context_cache_protection: bool,
    /// What clients are told that fits in, tokens (routing 1.1).
    pub context_length: Option<u64>,
    /// What is said before what the client says (routing 1.1).
    pub system_message: Option<String>,
    /// Only tools whose names it fits are passed on; it can be read.
    pub tool_filter: Option<String>,
    /// How its attempts run.
    pub config: ComboConfig,
    /// What was given, as the management API spells it, without the name; each target has its id.
    pub given: Map<String, Json>,
    /// Who made it.
    pub source: Source,
    /// Who made the one that a stored one stands in the place of.
    pub replaces: Option<Source>,
}

impl Combo {
    /// What is resolved to steps and units.
    pub fn spec(&self) -> Spec {
        Spec {
            name: self.name.as_str().into(),
            strategy: strategy::find(&self.strategy).map_or("priority", |found| found.name()),
            steps: self.targets.clone(),
            nesting: self.config.nesting,
            max_depth: self.config.max_depth,
            tiers: self.config.tiers.clone(),
            judge: self.config.strategy.fusion.judge.clone(),
        }
    }

    /// A combo of models, `provider/model` each, with every number as it is built in.
    pub fn of_models(name: &str, strategy: &str, models: &[&str], source: Source) -> Self {
        let fields = json!({"name": name, "strategy": strategy, "targets": models});
        let fields = fields.as_object().expect("an object is one");
        let sheet = json_sheet::read(COMBOS, fields, false).sheet;
        let (combo, _) = Context::alone(Known::default(), &[], |context| build::combo(context, &sheet));
        let combo = combo.expect("it has a name");
        Self { source, ..combo }
    }
}

/// How the attempts of a combo run (routing 1.3).
#[derive(Clone, Debug, PartialEq)]
pub struct ComboConfig {
    /// The same for the targets of providers of which something else is said (routing 1.4). Only what
    /// is asked of one target at a time differs.
    pub by_provider: Vec<(ProviderId, ComboConfig)>,
    /// Retries of the same target.
    pub max_retries: u32,
    /// Pause before such a retry.
    pub retry_delay_ms: Millis,
    /// Pause before the next target.
    pub fallback_delay_ms: Millis,
    /// How often all targets are tried once more.
    pub max_set_retries: u32,
    /// Pause before that.
    pub set_retry_delay_ms: Millis,
    /// Limit of one target; 0 = unset.
    pub target_timeout_ms: Millis,
    /// Limit of the whole combo; 0 = ten minutes.
    pub combo_timeout_ms: Millis,
    /// Whether other targets come before a retry.
    pub failover_before_retry: bool,
    /// How long a recovered connection is spared; 0 = off.
    pub slow_start_ms: Millis,
    /// Whether it waits for a target that rests, if combos do at all.
    pub combo_cooldown_wait_enabled: bool,
    /// Decision 33: the one that returns first is tried when all rest by our own timers.
    pub last_resort: bool,
    /// How deep combos may be nested below it, 1 to 10.
    pub max_depth: u32,
    /// How nested combos are run.
    pub nesting: Nesting,
    /// The order of tiers.
    pub tiers: Option<Tiers>,
    /// What its strategy reads.
    pub strategy: StrategySettings,
    /// The line of `round-robin` (routing 8.7).
    pub queue: QueueNumbers,
    /// Which contexts its targets must have (routing 3.6).
    pub context: ContextNumbers,
    /// When no target can do what is asked, all are tried (routing 3.5).
    pub compat_filter_fail_open: bool,
    /// Asking a second target before the first has answered (routing 7.11).
    pub hedging: HedgingNumbers,
    /// How it fares is counted.
    pub track_metrics: bool,
    /// What its answers must be like besides not being empty.
    pub response_validation: Validation,
}

/// The line of `round-robin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueNumbers {
    /// Requests at once on one target whose connection has no cap, 1 to 20; `None`: as many as come.
    pub concurrency_per_model: Option<u32>,
    /// How long one waits for a full target, ms.
    pub timeout_ms: Millis,
    /// How many may wait for it; 0: none.
    pub depth: u32,
}

/// Which contexts targets must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextNumbers {
    /// Targets with less are left out, tokens.
    pub min_window: Option<u64>,
    /// The largest comes first.
    pub prefer_large: bool,
    /// An unknown one is left out as well.
    pub strict: bool,
}

/// Asking a second target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HedgingNumbers {
    /// What the next two need; each of them turns it on (routing 1.5).
    pub gate: bool,
    /// A second target is asked when the first is slow.
    pub enabled: bool,
    /// How slow, ms.
    pub delay_ms: Millis,
    /// Targets whose answers began later on average go last, ms; 0: off.
    pub predictive_ttft_ms: Millis,
}

/// `[[model_combo_mappings]]`: models whose names fit a pattern are a combo's (routing 2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its id.
    pub id: String,
    /// What is asked for; `*` stands for any text.
    pub pattern: String,
    /// Who answers.
    pub combo: String,
    /// Smaller is looked at first.
    pub priority: u32,
    /// Whether it counts.
    pub enabled: bool,
    /// What people read.
    pub description: Option<String>,
    /// Who made it.
    pub source: Source,
    /// Who made the one that a stored one stands in the place of.
    pub replaces: Option<Source>,
}

/// What an alias stands for (routing 12.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// `provider/model`, or another name that can be asked for.
    pub to: String,
    /// Who made it.
    pub source: Source,
    /// Who made the one that a stored one stands in the place of.
    pub replaces: Option<Source>,
}

/// What a model can do, by its names in config.toml.
pub(super) fn abilities(names: &[String]) -> Abilities {
    let has = |name: &str| names.iter().any(|known| known == name);
    Abilities { tools: has("tools"), vision: has("vision"), structured: has("structured") }
}
