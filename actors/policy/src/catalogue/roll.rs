//! What each target of a combo is, found when a configuration is taken: a pick among a thousand has
//! no time to look every one up by its names (design "Budgets").
//!
//! Nothing here changes with time, and nothing depends on who asks. A combo that is made when it is
//! asked for has its roll made with it.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::{Catalogue, Combo, ConnectionEntry, Dialect, ModelEntry, ProviderEntry, Step};
use crate::strategy::{self, Grain};

/// One account of a step, or a step that has none.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The step, an index of the combo's steps.
    pub step: usize,
    /// The account; `None`: the step has none that could ever serve it.
    pub account: Option<Arc<ConnectionEntry>>,
    /// The accounts of its provider that are in use.
    pub peers: usize,
    /// A bit for each dialect in which its provider serves the model; none where it does not.
    spoken: u8,
    /// Its execution key, made when it is asked for: most never are.
    key: OnceLock<Arc<str>>,
}

impl Candidate {
    /// Whether its provider serves the model in the dialect.
    pub fn speaks(&self, dialect: Dialect) -> bool {
        self.spoken & bit(dialect) != 0
    }

    /// Its execution key, by the step that it is of (routing 4.21).
    pub fn key<'a>(&'a self, step: &'a Step) -> &'a Arc<str> {
        match &self.account {
            Some(account) if step.connection.is_none() => {
                self.key.get_or_init(|| format!("{}@{}", step.key, account.id).into())
            }
            _ => &step.key,
        }
    }
}

fn bit(dialect: Dialect) -> u8 {
    1 << dialect as u8
}

/// The targets of one combo.
#[derive(Clone, Debug, Default)]
pub struct Roll {
    facts: Vec<Option<Arc<ModelEntry>>>,
    /// In declared order; empty unless its strategy orders accounts.
    pub candidates: Vec<Candidate>,
}

impl Roll {
    /// Of a combo in a catalogue.
    pub fn of(combo: &Combo, catalogue: &Catalogue) -> Self {
        let provider = |step: &Step| catalogue.providers.get(&step.provider);
        let facts = |step: &Step| provider(step)?.models.as_ref()?.shared(step.model.as_str()).cloned();
        let grain = strategy::find(combo.strategy).map(|rule| rule.grain());
        let candidates = match grain {
            Some(Grain::Accounts) if !combo.nests => candidates(combo, catalogue),
            _ => Vec::new(),
        };
        Self { facts: combo.steps.iter().map(facts).collect(), candidates }
    }

    /// What is known of a step's model.
    pub fn facts(&self, step: usize) -> Option<&ModelEntry> {
        self.facts.get(step)?.as_deref()
    }
}

impl Catalogue {
    /// The roll of a combo.
    pub fn roll(&self, combo: &Combo) -> Cow<'_, Roll> {
        match self.rolls.get(&combo.name) {
            Some(roll) => Cow::Borrowed(roll),
            None => Cow::Owned(Roll::of(combo, self)),
        }
    }
}

/// Routing 4.21; a step without an account stays one entry, and is told why it is left out.
fn candidates(combo: &Combo, catalogue: &Catalogue) -> Vec<Candidate> {
    let mut all = Vec::with_capacity(combo.steps.len());
    for (index, step) in combo.steps.iter().enumerate() {
        let before = all.len();
        let provider = catalogue.providers.get(&step.provider);
        if let Some(provider) = provider {
            let able = |entry: &&Arc<ConnectionEntry>| {
                entry.usable && step.admits(&entry.id) && entry.serves(step.model.as_str())
            };
            let able = provider.connections.iter().filter(able);
            all.extend(able.map(|entry| candidate((index, step), Some(provider), Some(entry))));
        }
        if all.len() == before {
            all.push(candidate((index, step), provider, None));
        }
    }
    all
}

fn candidate(
    (index, step): (usize, &Step),
    provider: Option<&ProviderEntry>,
    account: Option<&Arc<ConnectionEntry>>,
) -> Candidate {
    let serves = |provider: &&ProviderEntry| provider.serves(step.model.as_str());
    let in_use = |provider: &ProviderEntry| provider.connections.iter().filter(|entry| entry.usable).count();
    let dialects = provider.filter(serves).map_or(&[][..], |provider| &provider.dialects);
    Candidate {
        step: index,
        account: account.cloned(),
        peers: provider.map_or(0, in_use),
        spoken: dialects.iter().fold(0, |spoken, dialect| spoken | bit(*dialect)),
        key: OnceLock::new(),
    }
}
