//! What is configured, as routing needs it: providers, connections and combos by
//! name, without secrets and without addresses. Built once per configuration.

mod names;
mod needs;
mod offers;
mod patterns;
mod roll;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::account::AccountSettings;
use crate::attempts::{AttemptSettings, Owns};
use crate::cooldown_wait::WaitSettings;
use crate::ids::{ById, Class, ConnectionId, ModelId, ProviderId};
use crate::lease::Managed;
use crate::plan::{Berths, Filters};
use crate::preflight::Preflight;
use crate::quota::Pools;
use crate::strategy::{self, StrategySettings};
use crate::validation::Validation;

pub use names::{Aliases, Mapping};
pub use offers::Offers;
pub use patterns::matches;
pub use roll::{Candidate, Roll};

/// The wire format a client speaks or a provider understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Chat completions and embeddings.
    Openai,
    /// Messages and count_tokens.
    Anthropic,
    /// Responses.
    Responses,
    /// generateContent.
    Gemini,
}

impl Dialect {
    /// The name in config.toml.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Responses => "responses",
            Self::Gemini => "gemini",
        }
    }
}

/// A listed model; what is not known of it is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelEntry {
    /// Its context window, tokens.
    pub context_window: Option<u64>,
    /// The most it says, tokens.
    pub max_output: Option<u64>,
    /// Price of input, USD per million tokens.
    pub input_price: Option<f64>,
    /// Price of output, USD per million tokens.
    pub output_price: Option<f64>,
    /// What it can do; `None`: unknown, and then nothing is held against it.
    pub abilities: Option<Abilities>,
}

/// What a model can do (routing 3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// It calls tools.
    pub tools: bool,
    /// It sees pictures.
    pub vision: bool,
    /// It answers after a schema.
    pub structured: bool,
}

/// The models of a provider, in declared order and by name.
#[derive(Clone, Debug, Default)]
pub struct Models {
    listed: Vec<(ModelId, Arc<ModelEntry>)>,
    places: ById<ModelId, usize>,
}

impl Models {
    /// The facts of one.
    pub fn get(&self, model: &str) -> Option<&ModelEntry> {
        self.shared(model).map(Arc::as_ref)
    }

    /// The same, to be kept.
    pub fn shared(&self, model: &str) -> Option<&Arc<ModelEntry>> {
        self.places.get(model).map(|place| &self.listed[*place].1)
    }

    /// Each in declared order.
    pub fn iter(&self) -> impl Iterator<Item = (&ModelId, &ModelEntry)> {
        self.listed.iter().map(|(id, entry)| (id, entry.as_ref()))
    }
}

impl FromIterator<(ModelId, ModelEntry)> for Models {
    fn from_iter<I: IntoIterator<Item = (ModelId, ModelEntry)>>(listed: I) -> Self {
        let listed: Vec<_> = listed.into_iter().map(|(id, entry)| (id, Arc::new(entry))).collect();
        let places = listed.iter().enumerate().map(|(place, (id, _))| (id.clone(), place)).collect();
        Self { listed, places }
    }
}

/// A provider as routing sees it.
#[derive(Clone, Debug)]
pub struct ProviderEntry {
    /// Its id.
    pub id: ProviderId,
    /// Its resilience profile.
    pub class: Class,
    /// The dialects it understands.
    pub dialects: Vec<Dialect>,
    /// The models it lists; `None`: any id passes.
    pub models: Option<Models>,
    /// Unlisted models pass too.
    pub passthrough_models: bool,
    /// Its connections, best priority first.
    pub connections: Vec<Arc<ConnectionEntry>>,
}

impl ProviderEntry {
    /// Whether the model may be asked for here (contract 8, "Models").
    pub fn serves(&self, model: &str) -> bool {
        self.passthrough_models || self.lists(model).unwrap_or(true)
    }

    /// Whether the model is in the list; `None` without a list.
    pub fn lists(&self, model: &str) -> Option<bool> {
        self.models.as_ref().map(|models| models.get(model).is_some())
    }

    /// The name by which a model is asked for here: the suffix that wants a longer context is not
    /// a part of it, unless the provider lists it so (routing 12.2).
    pub fn callable<'m>(&self, model: &'m str) -> &'m str {
        match model.strip_suffix("[1m]") {
            Some(plain) if self.lists(model) != Some(true) => plain,
            _ => model,
        }
    }

    /// What is known of a model; `None` where it is not listed.
    pub fn facts(&self, model: &str) -> Option<&ModelEntry> {
        self.models.as_ref()?.get(model)
    }
}

/// A connection as routing sees it.
#[derive(Clone, Debug)]
pub struct ConnectionEntry {
    /// Its id.
    pub id: ConnectionId,
    /// Its provider.
    pub provider: ProviderId,
    /// Lower is tried first.
    pub priority: u32,
    /// Active and with a credential.
    pub usable: bool,
    /// Patterns of the models this account may serve.
    pub models: Vec<String>,
}

impl ConnectionEntry {
    /// Whether one of the patterns covers the model.
    pub fn serves(&self, model: &str) -> bool {
        self.models.iter().any(|pattern| matches(pattern, model))
    }
}

/// One step of a combo when names are resolved: a provider's model, perhaps tied to accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its execution key, unique in the combo (routing 0.4).
    pub key: Arc<str>,
    /// The unit it came from, an index of the combo's units.
    pub unit: usize,
    /// The provider.
    pub provider: ProviderId,
    /// The model as the provider names it.
    pub model: ModelId,
    /// The one account it is tied to.
    pub connection: Option<ConnectionId>,
    /// The accounts it may use; empty: all.
    pub allowed: Arc<[ConnectionId]>,
    /// It may be passed only when all its failures were exhausted quota (routing 4.1).
    pub only_on_quota: bool,
    /// What a pipeline says before it (routing 6.2b).
    pub prompt: Option<Arc<str>>,
}

impl Step {
    /// A step that may use any account.
    pub fn new(provider: ProviderId, model: ModelId) -> Self {
        Self {
            key: format!("{provider}/{model}").into(),
            unit: 0,
            provider,
            model,
            connection: None,
            allowed: Arc::default(),
            only_on_quota: false,
            prompt: None,
        }
    }

    /// A step that is tied to one account.
    pub fn pinned(provider: ProviderId, model: ModelId, connection: ConnectionId) -> Self {
        let key = format!("{provider}/{model}@{connection}").into();
        Self { key, connection: Some(connection), ..Self::new(provider, model) }
    }

    /// Whether it may use the account.
    pub fn admits(&self, connection: &ConnectionId) -> bool {
        match &self.connection {
            Some(pin) => pin == connection,
            None => self.allowed.is_empty() || self.allowed.contains(connection),
        }
    }
}

/// A step as it is written: one choice of a strategy that orders units.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Its id in the combo.
    pub key: Arc<str>,
    /// Its part of a draw, 0 to 100.
    pub weight: f64,
    /// The combo that it asks as a whole (routing 2.6); its steps then are not here.
    pub nested: Option<Arc<str>>,
}

/// A stored, named list of targets with a strategy.
#[derive(Clone, Debug)]
pub struct Combo {
    /// Its name.
    pub name: Arc<str>,
    /// Name of its strategy, one of `STRATEGIES`.
    pub strategy: &'static str,
    /// Its steps in declared order, by their units.
    pub steps: Vec<Step>,
    /// Its steps as they are written.
    pub units: Vec<Unit>,
    /// Some unit is a combo that is asked as a whole.
    pub nests: bool,
    /// How its attempt loop behaves.
    pub attempts: AttemptSettings,
    /// What is said otherwise of some providers' targets (routing 1.4).
    pub own: Owns,
    /// What its strategy reads.
    pub settings: StrategySettings,
    /// A session stays with the model that served it last (routing 3.9).
    pub keeps_model: bool,
    /// Decision 34: how long a connection that comes back is spared, ms; 0 = off.
    pub slow_start_ms: u64,
    /// What its answers must be like; `None`: anything.
    pub validation: Option<Arc<Validation>>,
    /// How it fares is counted (routing 1.3, `trackMetrics`).
    pub counted: bool,
    /// What it adds to each request, about, tokens (routing 1.1).
    pub added_tokens: u64,
    /// Which of its targets could serve a request at all.
    pub filters: Filters,
    /// `round-robin`: requests at once on each of its targets; `None`: as many as come (routing 8.7).
    pub berths: Option<Berths>,
}

impl Combo {
    /// A combo of plain steps with every number as it is built in; each step is a unit.
    pub fn new(name: impl Into<Arc<str>>, strategy: &'static str, mut steps: Vec<Step>) -> Self {
        for (index, step) in steps.iter_mut().enumerate() {
            step.unit = index;
        }
        let units = steps.iter().map(|step| Unit { key: step.key.clone(), weight: 0.0, nested: None });
        Self {
            name: name.into(),
            strategy,
            units: units.collect(),
            steps,
            nests: false,
            attempts: AttemptSettings::default(),
            own: Owns::default(),
            settings: StrategySettings::default(),
            keeps_model: false,
            slow_start_ms: 0,
            validation: None,
            counted: true,
            added_tokens: 0,
            filters: Filters::default(),
            berths: None,
        }
    }

    /// The indices of a unit's steps; none where it is a combo. Units are numbered as steps stand.
    pub fn steps_of(&self, unit: usize) -> Range<usize> {
        let all = &self.steps;
        // As long as each unit before it is one step, the unit stands at its own number.
        let starts_here = |at: usize| all[at].unit == unit && (at == 0 || all[at - 1].unit < unit);
        let start = match unit < all.len() && starts_here(unit) {
            true => unit,
            false => all.partition_point(|step| step.unit < unit),
        };
        let count = all[start..].iter().take_while(|step| step.unit == unit).count();
        start..start + count
    }
}

/// Everything that can be asked for.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// Providers by id.
    pub providers: ById<ProviderId, ProviderEntry>,
    /// Combos by name.
    pub combos: HashMap<Arc<str>, Combo>,
    /// What combos that nobody has written begin with (routing 1.4); `None`: what is built in.
    pub base: Option<Arc<Combo>>,
    /// Other names of models and combos.
    pub aliases: Aliases,
    /// Patterns that lead to combos.
    pub mappings: Vec<Mapping>,
    /// How a provider's accounts are chosen.
    pub accounts: AccountSettings,
    /// Prompts go where they are likely to be cached, where a strategy leaves room for that
    /// (routing 3.8, decision 23).
    pub prompt_cache_affinity: bool,
    /// What a request without a combo may wait for its accounts (decision 15b).
    pub direct_waits: WaitSettings,
    /// Accounts that client keys share.
    pub pools: Pools,
    /// Keys that lease accounts.
    pub managed: Managed,
    /// Most of a provider's connections that may rest at once, percent; no entry: all (decision 33).
    pub most_benched: HashMap<ProviderId, u32>,
    /// From where on accounts are left out for their quota (rules 8.4).
    pub preflight: Preflight,
    /// What each target of a combo can do; no entry: each has to be looked at.
    pub offers: HashMap<Arc<str>, Offers>,
    /// What each target of a combo is; no entry: it is found when the combo is asked for.
    pub rolls: HashMap<Arc<str>, Roll>,
    /// Some combo, the cutoff or the choice of accounts minds what accounts say of their quota.
    pub reads_quota: bool,
}

impl Catalogue {
    /// The same, knowing what all targets of a combo can do, and whether what accounts say of their
    /// quota matters to anybody.
    pub fn ready(mut self) -> Self {
        let rule = |combo: &Combo| strategy::find(combo.strategy).is_some_and(|rule| rule.reads_quota());
        let combos = self.combos.values().any(rule);
        let of = |(name, combo): (&Arc<str>, &Combo)| (name.clone(), Offers::of(combo, &self));
        self.offers = self.combos.iter().map(of).collect();
        let of = |(name, combo): (&Arc<str>, &Combo)| (name.clone(), Roll::of(combo, &self));
        self.rolls = self.combos.iter().map(of).collect();
        self.reads_quota = combos || self.preflight.is_on() || self.accounts.reads_quota();
        self
    }
}
