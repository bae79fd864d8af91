//! From what was typed to what is meant: fills [`Settings`] and checks references.
//!
//! `sections.rs` reads the process's own settings, one file each reads an entity.
//! A check that fails leaves a finding and a harmless value; the caller throws the
//! settings away when there is a finding.

mod combo_config;
mod combo_graph;
mod combos;
mod connections;
mod credentials;
mod key_rules;
mod keys;
mod lines;
mod mappings;
mod numbers;
mod providers;
mod sections;
mod streams;
mod targets;
mod validation;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use policy::ids::Class;
use policy::plan::family;
use policy::quota::QuotaName;

pub(super) use combo_graph::check_one as check_combo_among;
pub(super) use combos::{LISTED as COMBOS, ONLY_STORED as COMBOS_ONLY_STORED, one as combo};
pub(super) use lines::Named;
pub(super) use mappings::{
    LISTED as MAPPINGS, ONLY_STORED as MAPPINGS_ONLY_STORED, lost, nowhere, one as mapping,
};
pub(super) use targets::slug;

use super::finding::{Finding, Findings, Place, Problem};
use super::sheet::Sheet;
use super::{Builtin, Format, Provider, Settings};

/// What the checks need to see and where they write.
pub(super) struct Context<'a> {
    /// The whole file.
    pub root: &'a Sheet,
    /// Looks up an environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The config file's folder.
    pub folder: &'a Path,
    /// Accepted combo strategies.
    pub strategies: &'a [&'a str],
    /// What exists besides the file.
    pub builtin: &'a Builtin,
    /// Where problems go.
    pub findings: &'a mut Findings,
    /// Ids seen so far.
    pub known: Known,
}

/// The ids that references may name.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Provider id: its class, and its models when it lists them.
    pub providers: BTreeMap<String, KnownProvider>,
    /// Connection id: its provider.
    pub connections: BTreeMap<String, String>,
    /// Combos of the file and of the demo.
    pub combos: BTreeSet<String>,
    /// Combos that only the store has: what is stored may refer to them.
    pub stored_combos: BTreeSet<String>,
}

/// What references need to know about a provider.
#[derive(Debug)]
pub(super) struct KnownProvider {
    pub class: Class,
    /// The models it lists.
    pub listed: Vec<String>,
    /// What it speaks; empty: nobody has said.
    pub formats: Vec<Format>,
    /// Models that are not listed pass.
    pub passes: bool,
    /// It has a token endpoint.
    pub renews: bool,
    /// Only the store has it: nothing in the file may name it.
    pub stored: bool,
}

impl KnownProvider {
    /// With or without the suffix that wants a longer context (routing 12.2).
    fn lists(&self, model: &str) -> bool {
        let plain = model.strip_suffix("[1m]").unwrap_or(model);
        self.listed.iter().any(|listed| listed == model || listed == plain)
    }
}

impl Known {
    /// What is in force, for an entity that comes alone.
    pub fn of(providers: &[Provider]) -> Self {
        let known = |provider: &Provider| KnownProvider {
            class: provider.class,
            formats: provider.formats.clone(),
            listed: provider.models.iter().flatten().map(|model| model.id.to_string()).collect(),
            passes: provider.models.is_none() || provider.passthrough_models,
            renews: provider.oauth.is_some(),
            stored: false,
        };
        let providers = providers.iter().map(|provider| (provider.id.to_string(), known(provider)));
        Self { providers: providers.collect(), ..Self::default() }
    }

    /// Starts with what exists besides the file.
    pub fn new(builtin: &Builtin) -> Self {
        let mut known = Self::default();
        for (provider, connections) in &builtin.providers {
            let (class, listed) = (Class::Apikey, Vec::new());
            let formats = Vec::new();
            let entry = KnownProvider { class, listed, formats, passes: true, renews: false, stored: false };
            known.providers.insert(provider.clone(), entry);
            let pairs = connections.iter().map(|id| (id.clone(), provider.clone()));
            known.connections.extend(pairs);
        }
        known.combos.extend(builtin.combos.iter().cloned());
        known
    }

    /// The provider that something written there may name.
    pub fn provider(&self, id: &str, place: &Place) -> Option<&KnownProvider> {
        self.providers.get(id).filter(|known| !known.stored || *place == Place::Stored)
    }

    /// The providers that exist, in words.
    pub fn provider_list(&self) -> String {
        listed(self.providers.keys().map(String::as_str))
    }

    /// The connections that exist (of one provider), in words.
    pub fn connection_list(&self, provider: Option<&str>) -> String {
        let fits = |of: &String| provider.is_none_or(|provider| provider == of);
        listed(self.connections.iter().filter(|(_, of)| fits(of)).map(|(id, _)| id.as_str()))
    }
}

impl Known {
    /// Whether something of that name can be asked for, as far as it can be known: a combo, a model of
    /// a provider, or a bare id that one may list.
    pub fn leads_somewhere(&self, name: &str) -> bool {
        let Some((provider, _)) = name.split_once('/') else { return true };
        self.providers.contains_key(provider.trim()) || self.answers(name)
    }

    /// Whether somebody answers to the target of an alias now; where that cannot be known, yes.
    pub fn answers(&self, name: &str) -> bool {
        let plain = name.strip_prefix("combo/").unwrap_or(name);
        let combo = |name: &str| self.combos.contains(name) || self.stored_combos.contains(name);
        // Names of pools and of `auto` hang on more than is read here.
        let made = name == "auto" || name.starts_with("auto/") || QuotaName::parse(name).is_some();
        if made || combo(name) || combo(plain) {
            return true;
        }
        let serves = |provider: &str, model: &str| {
            self.providers.get(provider).is_some_and(|known| known.passes || known.lists(model))
        };
        let qualified = name.split_once('/');
        qualified.is_some_and(|(provider, model)| serves(provider.trim(), model.trim()))
            || self.providers.values().any(|known| known.lists(name))
            || family(name).is_some_and(|provider| serves(provider, name))
    }

    /// The combos that exist for the file, or for what is stored, in words.
    pub fn combo_list(&self, stored: bool) -> String {
        let more = self.stored_combos.iter().filter(|_| stored);
        listed(self.combos.iter().chain(more).map(String::as_str))
    }
}

/// `a, b, c`, not endless.
fn listed<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    const MOST: usize = 20;
    let texts: Vec<&str> = texts.collect();
    match texts.len() {
        0 => "none exists yet".to_owned(),
        count if count > MOST => {
            format!("{} and {} more", texts[..MOST].join(", "), count - MOST)
        }
        _ => texts.join(", "),
    }
}

impl Context<'_> {
    /// Something in an entry that refuses the config.
    pub fn refuse(&mut self, sheet: &Sheet, key: &str, problem: &str, accepted: &str) {
        self.findings.refuse(sheet.place_of(key), key, Problem::new(problem, accepted));
    }

    /// Whether an entry may name that combo: the file cannot rely on what only the store has.
    pub fn knows_combo(&self, sheet: &Sheet, name: &str) -> bool {
        let stored = sheet.place == Place::Stored && self.known.stored_combos.contains(name);
        stored || self.known.combos.contains(name)
    }

    /// Reads something without a file around it, and what is wrong with it.
    pub fn alone<T>(
        known: Known,
        strategies: &[&str],
        read: impl FnOnce(&mut Context<'_>) -> T,
    ) -> (T, Vec<Finding>) {
        let mut findings = Findings::new(String::new());
        let root = Sheet::new(Place::Line(0));
        let read = read(&mut Context {
            root: &root,
            env: &|_| None,
            folder: Path::new(""),
            strategies,
            builtin: &Builtin::default(),
            findings: &mut findings,
            known,
        });
        (read, findings.finish().err().unwrap_or_default())
    }

    /// References are only checked in a file that could be read whole.
    pub fn checks_references(&self) -> bool {
        !self.findings.is_broken()
    }

    /// Checks a connection that comes alone.
    pub fn check_connection(&mut self, sheet: &Sheet) {
        connections::check(self, sheet);
    }

    /// Checks a provider that comes alone.
    pub fn check_provider(&mut self, sheet: &Sheet) {
        providers::check(self, sheet);
    }

    /// Checks a client key that comes alone.
    pub fn check_key(&mut self, sheet: &Sheet) {
        keys::check(self, sheet);
    }

    /// All settings, sections first, then what refers to what came before.
    pub fn settings(mut self) -> Settings {
        let sections = sections::Sections::read(&mut self);
        let providers = providers::read(&mut self);
        let connections = connections::read(&mut self);
        let combos = combos::read(&mut self);
        let combo_base = combo_config::read(&mut self, &Sheet::new(Place::Line(0)));
        let mappings = mappings::read(&mut self);
        let aliases = mappings::aliases(&mut self);
        lines::check(&mut self, &combos, &mappings, &aliases);
        let keys = keys::read(&mut self);
        sections::check_overrides(&mut self);
        let settings = sections.with(providers, connections, combos, keys);
        Settings { combo_base, mappings, aliases, ..settings }
    }
}
