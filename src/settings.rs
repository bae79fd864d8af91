//! The configuration: what may be written, what it means, what is wrong with it.
//!
//! Two stages: `config.toml` and the environment are walked against one table of keys
//! ([`table()`]) into checked values, and these become [`Settings`]. [`load`] reports
//! every mistake at once, each with its line; nothing is ignored silently.
//! Secrets are looked up here and hide themselves afterwards.

mod bodies;
mod build;
mod cascade;
mod combos;
mod connection_fields;
mod data;
mod derive;
mod effective;
mod entities;
mod finding;
mod flow;
mod headers;
mod json;
mod json_schema;
mod json_sheet;
mod kind;
mod legacy;
mod overlay;
mod patch;
mod pool;
mod proxy;
mod resilience;
mod schedule;
mod secret;
mod services;
mod sheet;
mod stored;
mod stored_connection;
mod stored_entities;
mod stored_key;
mod stored_provider;
mod stream;
mod table;
mod value;
mod walk;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

pub use combos::{Alias, Combo, ComboConfig, ContextNumbers, HedgingNumbers, Mapping, QueueNumbers};
pub use connection_fields::{Detail, SECRETS, check_fields, fields_of, idle_fields, read_proxy, read_secret};
pub use data::{ErrorDefault, ErrorRule, RuleScope};
pub use effective::{Effective, tree};
pub use entities::{
    AuthHeader, Connection, Format, Key, KeyRules, KeySecret, Model, OauthClient, OauthTokens, Provider,
    Scope, Source, WallOptions,
};
pub use finding::Finding;
pub use flow::{Concurrency, ExecutionLimit, RateLimitOverrides, RequestQueue};
pub use json_schema::{Extent, connection_schema, entity_schema, section_schema};
pub use kind::{Data, Items, Kind, Shape, fits_combo_name, is_id};
pub use legacy::legacy;
pub use overlay::unknown_variables;
pub use patch::{Fault as PatchFault, Patch, Section};
pub use pool::{PoolAllocation, PoolLimit, QuotaPool, QuotaPools, read_pool};
pub use proxy::{ACCEPTED_PROXY, Proxy};
pub use resilience::{
    BreakerNumbers, CooldownNumbers, LockoutNumbers, PerClass, ProviderCooldown, ProviderQuota, Resilience,
    Rotation, RotationNumbers, WindowNumbers,
};
pub use secret::Secret;
pub use services::{
    Admin, AutoDisable, Behaviour, Demo, Formats, Log, Mailbox, Metrics, Server, Store, Upstream,
};
pub use sheet::Origin;
pub use stored::Stored;
pub use stored_connection::{
    Kept, OwnSecrets, StoredConnection, StoredConnections, check_connection, demo_credential,
};
pub use stored_entities::{
    Checked, StoredEntities, StoredEntity, check_aliases, check_combo, check_mapping, combo_fields,
    free_mapping_id, lost_aliases,
};
pub use stored_key::{KeyHash, StoredKey, StoredKeys, check_key, show_key};
pub use stored_provider::{
    ProviderSecrets, StoredProvider, StoredProviders, check_provider, connections_of, read_client_secret,
    read_header, show_provider,
};
pub use stream::{OwnWatchdog, StreamRecovery, StreamSettings, Streaming, ThroughputWatchdog, Timeouts};
pub use table::{REQUIRED, Row, table};

use policy::ids::ConnectionId;

use build::{Context, Known};
use finding::{Findings, Place, Problem};
use sheet::Sheet;

/// Everything that can be configured, checked and with its secrets looked up.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Where clients connect and what they may cost.
    pub server: Server,
    /// The management API.
    pub admin: Admin,
    /// What survives a restart.
    pub store: Store,
    /// How many messages may wait.
    pub mailbox: Mailbox,
    /// How providers are dialled.
    pub upstream: Upstream,
    /// How long streams may take.
    pub stream: StreamSettings,
    /// What answers look like.
    pub formats: Formats,
    /// The scripted upstream.
    pub demo: Demo,
    /// What is logged.
    pub log: Log,
    /// The Prometheus page.
    pub metrics: Metrics,
    /// Numbers of breaker, cooldown and lockout.
    pub resilience: Resilience,
    /// Rules and choices that are no numbers.
    pub behaviour: Behaviour,
    /// Upstream vendors, in file order.
    pub providers: Vec<Provider>,
    /// Credentials, in file order.
    pub connections: Vec<Connection>,
    /// Named lists of targets, in file order.
    pub combos: Vec<Combo>,
    /// What a combo has that says nothing itself (routing 1.4).
    pub combo_base: ComboConfig,
    /// Patterns of models that are a combo's, in file order.
    pub mappings: Vec<Mapping>,
    /// Other names of models.
    pub aliases: BTreeMap<String, Alias>,
    /// Client keys, in file order.
    pub keys: Vec<Key>,
    /// Accounts that keys share; they live in the store alone.
    pub pools: QuotaPools,
    /// Connections that an operator protects, whoever made them (flow 5).
    pub protected: BTreeSet<ConnectionId>,
}

impl Settings {
    /// What watches over streams, as the requests take it with them.
    pub fn streaming(&self) -> Streaming {
        Streaming {
            stream: self.stream.clone(),
            recovery: self.resilience.stream_recovery.clone(),
            stall_cools: self.resilience.stream_stall_cooldown,
        }
    }
}

impl Default for Settings {
    /// The built-in values: an empty file in an empty environment.
    fn default() -> Self {
        let mut findings = Findings::new(String::new());
        let root = Sheet::new(Place::Line(0));
        let context = Context {
            root: &root,
            env: &|_| None,
            folder: Path::new(""),
            strategies: &[],
            builtin: &Builtin::default(),
            findings: &mut findings,
            known: Known::default(),
        };
        context.settings()
    }
}

/// A config that was accepted.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What it means.
    pub settings: Settings,
    /// What is doubtful in it.
    pub warnings: Vec<Finding>,
    /// Every key with its value and who gave it, in the table's order; entities are not listed.
    pub effective: Vec<Effective>,
    /// The file it was made from.
    pub text: FileText,
}

impl Loaded {
    /// What stored defaults break here and did not before. A start goes on with it, for what is stored
    /// must not hinder that; a change is refused for it.
    pub(crate) fn broken_by_defaults(&self, before: &Self) -> Vec<Finding> {
        let new = |finding: &&Finding| {
            finding.key.starts_with("settings.combo_defaults.") && !before.warnings.contains(finding)
        };
        let told = |finding: &Finding| Finding { warning: false, ..finding.clone() };
        self.warnings.iter().filter(new).map(told).collect()
    }
}

/// What exists besides the file when `demo.enabled` is true: references to it pass, its
/// ids and names are taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Builtin {
    /// Provider ids, each with its connection ids.
    pub providers: Vec<(String, Vec<String>)>,
    /// Combo names.
    pub combos: Vec<String>,
}

impl Builtin {
    /// Whether it has a connection of that id.
    pub(crate) fn has_connection(&self, id: &str) -> bool {
        self.providers.iter().any(|(_, ids)| ids.iter().any(|known| known == id))
    }
}

/// A config file and its text as it was accepted. It may hold literal secrets and hides them.
#[derive(Clone, PartialEq, Eq)]
pub struct FileText {
    path: PathBuf,
    text: String,
}

impl fmt::Debug for FileText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[the text of {}]", self.path.display())
    }
}

/// Reads, checks and resolves a config file; `env` looks up an environment variable,
/// `strategies` are the accepted names of combo strategies.
pub fn load(
    path: &Path,
    env: &dyn Fn(&str) -> Option<String>,
    strategies: &[&str],
) -> Result<Loaded, Vec<Finding>> {
    load_with(path, env, strategies, &Builtin::default(), &Stored::default())
}

/// [`load`] with what the scripted upstream adds and what the management API has set.
pub fn load_with(
    path: &Path,
    env: &dyn Fn(&str) -> Option<String>,
    strategies: &[&str],
    builtin: &Builtin,
    stored: &Stored,
) -> Result<Loaded, Vec<Finding>> {
    let mut findings = Findings::new(path.display().to_string());
    let text = FileText { path: path.to_owned(), text: read(path, &mut findings) };
    resolve(Input { env, strategies, builtin, stored }, text, findings)
}

/// [`load_with`] on a text that was read before.
pub fn load_again(
    text: &FileText,
    env: &dyn Fn(&str) -> Option<String>,
    strategies: &[&str],
    builtin: &Builtin,
    stored: &Stored,
) -> Result<Loaded, Vec<Finding>> {
    let findings = Findings::new(text.path.display().to_string());
    resolve(Input { env, strategies, builtin, stored }, text.clone(), findings)
}

/// What a config is made of besides the file's text.
struct Input<'a> {
    env: &'a dyn Fn(&str) -> Option<String>,
    strategies: &'a [&'a str],
    builtin: &'a Builtin,
    stored: &'a Stored,
}

/// Weakest first: each layer is laid over the one before (contract 5).
fn resolve(input: Input<'_>, text: FileText, mut findings: Findings) -> Result<Loaded, Vec<Finding>> {
    let Input { env, strategies, builtin, stored } = input;
    let mut root = walk::walk(&text.text, &mut findings);
    overlay::overlay(&mut root, env, &mut findings);
    stored::lay(&mut root, stored, &mut findings);
    effective::warn_of_idle(&root, &mut findings);
    derive::derive(&mut root, &mut findings);
    let nothing = Builtin::default();
    let builtin = if root.flag("demo.enabled") { builtin } else { &nothing };
    stored_provider::lay(&mut root, &stored.providers, builtin, &mut findings);
    stored_connection::lay(&mut root, &stored.connections, builtin, &mut findings);
    stored_key::lay(&mut root, &stored.keys, &mut findings);
    stored_entities::lay(&mut root, stored, &mut findings);
    let folder = text.path.parent().unwrap_or(Path::new(""));
    let (known, collected) = (Known::new(builtin), &mut findings);
    let context = Context { root: &root, env, folder, strategies, builtin, findings: collected, known };
    let mut settings = context.settings();
    stored_key::open(&mut settings.keys, &stored.keys);
    for (name, to) in &stored.aliases {
        let replaces = settings.aliases.contains_key(name).then_some(Source::File);
        settings.aliases.insert(name.clone(), Alias { to: to.clone(), source: Source::Stored, replaces });
    }
    settings.pools = stored.pools.clone();
    settings.protected = stored.protected.iter().map(|id| id.as_str().into()).collect();
    let effective = effective::list(&root);
    findings.finish().map(|warnings| Loaded { settings, warnings, effective, text })
}

/// The file's text; a file that cannot be read is a finding and reads as empty.
fn read(path: &Path, findings: &mut Findings) -> String {
    let problem = match std::fs::read(path).map(String::from_utf8) {
        Ok(Ok(text)) => return text,
        Ok(Err(_)) => "is not UTF-8 text".to_owned(),
        Err(error) => format!("cannot be read ({})", error.kind()),
    };
    let problem = Problem::new(problem, "a readable TOML file");
    findings.refuse(&Place::Line(0), "file", problem);
    String::new()
}
