//! What is said otherwise of the targets of some providers (routing 1.4). Only what is asked of a
//! target at a time can be: how a combo orders and ends is its own.

use std::collections::HashMap;
use std::sync::Arc;

use super::AttemptSettings;
use crate::ids::ProviderId;
use crate::time::Millis;

/// The numbers of one provider's targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// How an attempt at one of them goes.
    pub attempts: AttemptSettings,
    /// Decision 34, ms.
    pub slow_start_ms: Millis,
}

/// Those of all providers of which something is said; most combos have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owns(Option<Arc<HashMap<ProviderId, Own>>>);

impl FromIterator<(ProviderId, Own)> for Owns {
    fn from_iter<I: IntoIterator<Item = (ProviderId, Own)>>(all: I) -> Self {
        let all: HashMap<ProviderId, Own> = all.into_iter().collect();
        Self((!all.is_empty()).then(|| Arc::new(all)))
    }
}

impl Owns {
    fn find(&self, provider: &ProviderId) -> Option<&Own> {
        self.0.as_ref()?.get(provider)
    }

    /// How an attempt at a provider's target goes; `of_all`: at anybody's else.
    pub fn attempts<'a>(&'a self, provider: &ProviderId, of_all: &'a AttemptSettings) -> &'a AttemptSettings {
        self.find(provider).map_or(of_all, |own| &own.attempts)
    }

    /// How long its connections are spared, ms.
    pub fn slow_start_ms(&self, provider: &ProviderId, of_all: Millis) -> Millis {
        self.find(provider).map_or(of_all, |own| own.slow_start_ms)
    }

    /// Whether a number is said of anybody's targets.
    pub fn any(&self, says: impl Fn(&Own) -> bool) -> bool {
        self.0.as_ref().is_some_and(|all| all.values().any(says))
    }
}
