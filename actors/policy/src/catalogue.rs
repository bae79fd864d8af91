//! What is configured, as routing needs it: providers, connections and combos by
//! name, without secrets and without addresses. Built once per configuration.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::account::AccountSettings;
use crate::attempts::AttemptSettings;
use crate::cooldown_wait::WaitSettings;
use crate::ids::{Class, ConnectionId, ModelId, ProviderId};
use crate::quota::Pools;
use crate::validation::Validation;

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
    pub models: Option<Vec<ModelId>>,
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
        self.models.as_ref().map(|models| models.iter().any(|listed| listed.as_str() == model))
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

/// One entry of a combo: a provider's model, perhaps tied to one account.
#[derive(Clone, Debug)]
pub struct Step {
    /// The provider.
    pub provider: ProviderId,
    /// The model as the provider names it.
    pub model: ModelId,
    /// The one account it is tied to.
    pub connection: Option<ConnectionId>,
}

/// A stored, named list of targets with a strategy.
#[derive(Clone, Debug)]
pub struct Combo {
    /// Its name.
    pub name: Arc<str>,
    /// Name of its strategy, one of `STRATEGIES`.
    pub strategy: &'static str,
    /// Its entries in declared order.
    pub steps: Vec<Step>,
    /// How its attempt loop behaves.
    pub attempts: AttemptSettings,
    /// Decision 34: how long a connection that comes back is spared, ms; 0 = off.
    pub slow_start_ms: u64,
    /// What its answers must be like; `None`: anything.
    pub validation: Option<Arc<Validation>>,
}

/// Everything that can be asked for.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// Providers by id.
    pub providers: HashMap<ProviderId, ProviderEntry>,
    /// Combos by name.
    pub combos: HashMap<Arc<str>, Combo>,
    /// How a provider's accounts are chosen.
    pub accounts: AccountSettings,
    /// What a request without a combo may wait for its accounts (decision 15b).
    pub direct_waits: WaitSettings,
    /// Accounts that client keys share.
    pub pools: Pools,
}

/// Whether `text` fits `pattern`, in which `*` stands for any run of characters.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_run() {
        for (pattern, text, expected) in [
            ("*", "anything", true),
            ("gpt-5", "gpt-5", true),
            ("gpt-5", "gpt-5-mini", false),
            ("gpt-*", "gpt-5-mini", true),
            ("*-mini", "gpt-5-mini", true),
            ("g*5*i", "gpt-5-mini", true),
            ("a*a", "a", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
