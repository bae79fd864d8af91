//! From what was typed to what is meant: fills [`Settings`] and checks references.
//!
//! `sections.rs` reads the process's own settings, one file each reads an entity.
//! A check that fails leaves a finding and a harmless value; the caller throws the
//! settings away when there is a finding.

mod combos;
mod connections;
mod credentials;
mod key_rules;
mod keys;
mod numbers;
mod providers;
mod sections;
mod streams;
mod validation;

use std::collections::BTreeMap;
use std::path::Path;

use policy::ids::Class;

use super::finding::{Findings, Place, Problem};
use super::sheet::Sheet;
use super::{Builtin, Provider, Settings};

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
}

/// What references need to know about a provider.
#[derive(Debug)]
pub(super) struct KnownProvider {
    pub class: Class,
    /// `None`: any model passes.
    pub models: Option<Vec<String>>,
    /// It has a token endpoint.
    pub renews: bool,
    /// Only the store has it: nothing in the file may name it.
    pub stored: bool,
}

impl Known {
    /// What is in force, for an entity that comes alone.
    pub fn of(providers: &[Provider]) -> Self {
        let known = |provider: &Provider| KnownProvider {
            class: provider.class,
            models: None,
            renews: provider.oauth.is_some(),
            stored: false,
        };
        let providers = providers.iter().map(|provider| (provider.id.to_string(), known(provider)));
        Self { providers: providers.collect(), connections: BTreeMap::new() }
    }

    /// Starts with what exists besides the file.
    pub fn new(builtin: &Builtin) -> Self {
        let mut known = Self::default();
        for (provider, connections) in &builtin.providers {
            let entry = KnownProvider { class: Class::Apikey, models: None, renews: false, stored: false };
            known.providers.insert(provider.clone(), entry);
            let pairs = connections.iter().map(|id| (id.clone(), provider.clone()));
            known.connections.extend(pairs);
        }
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
        let keys = keys::read(&mut self);
        sections::check_overrides(&mut self);
        sections.with(providers, connections, combos, keys)
    }
}
