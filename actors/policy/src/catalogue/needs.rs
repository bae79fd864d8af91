//! What has to be known of requests, as far as what is configured depends on it.

use super::{Catalogue, Combo, ModelEntry};
use crate::strategy;

impl Catalogue {
    /// Some plan depends on what a request needs: else nobody has to look for it in its body.
    /// Requests that name `auto` themselves depend on it whatever is configured.
    pub fn wants_needs(&self) -> bool {
        let weighs = |combo: &Combo| {
            !matches!(combo.strategy, "priority" | "p2c" | "weighted" | "fill-first" | "lkgp")
        };
        let knows = |entry: &ModelEntry| entry.abilities.is_some() || entry.context_window.is_some();
        let models = || self.providers.values().filter_map(|provider| provider.models.as_ref());
        let by_combo = !self.combos.is_empty()
            && (self.combos.values().any(weighs)
                || models().any(|all| all.iter().any(|(_, entry)| knows(entry))));
        by_combo || self.aliases.targets().any(strategy::auto::is_name)
    }

    /// Some combo sends a prompt to where it is likely to be cached: else nobody has to tell prompts
    /// apart (routing 3.7).
    pub fn wants_prompts(&self) -> bool {
        let follows = |combo: &Combo| {
            strategy::find(combo.strategy).is_some_and(|rule| {
                let yields = self.prompt_cache_affinity && rule.yields_to_cache() && !rule.keeps_first();
                yields || rule.follows_prompts(&combo.settings)
            })
        };
        self.combos.values().any(follows)
    }
}
