//! What all targets of a combo have in common, found when a configuration is taken: a request that
//! any of them could serve need not be compared with each (routing 3.1, 3.5).

use super::{Abilities, Catalogue, Combo, Step};
use crate::combo::DEEPEST;
use crate::request::Traits;

/// What each target of a combo can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offers {
    /// The smallest window that is known, tokens; `None`: none is.
    least_window: Option<u64>,
    /// What every one can do; what is not known of one is not held against it.
    abilities: Abilities,
}

impl Offers {
    /// Of a combo, those of the combos that it asks as a whole included.
    pub(super) fn of(combo: &Combo, catalogue: &Catalogue) -> Self {
        let abilities = Abilities { tools: true, vision: true, structured: true };
        let mut offers = Self { least_window: None, abilities };
        offers.follow(combo, catalogue, DEEPEST);
        offers
    }

    fn follow(&mut self, combo: &Combo, catalogue: &Catalogue, depth: u32) {
        combo.steps.iter().for_each(|step| self.join(step, catalogue));
        let nested = combo.units.iter().filter_map(|unit| unit.nested.as_ref());
        for nested in nested.filter_map(|name| catalogue.combos.get(name)).filter(|_| depth > 0) {
            self.follow(nested, catalogue, depth - 1);
        }
    }

    fn join(&mut self, step: &Step, catalogue: &Catalogue) {
        let provider = catalogue.providers.get(&step.provider);
        let Some(facts) = provider.and_then(|provider| provider.facts(step.model.as_str())) else { return };
        let window = facts.context_window.into_iter().chain(self.least_window).min();
        self.least_window = window;
        if let Some(able) = facts.abilities {
            self.abilities.tools &= able.tools;
            self.abilities.vision &= able.vision;
            self.abilities.structured &= able.structured;
        }
    }

    /// No target lacks anything for the request.
    pub fn suffice(&self, traits: &Traits) -> bool {
        let Self { least_window, abilities } = self;
        let fits = traits.input_tokens.zip(*least_window).is_none_or(|(input, window)| input <= window);
        let tools = abilities.tools || !traits.tools;
        let vision = abilities.vision || !traits.vision;
        fits && tools && vision && (abilities.structured || !traits.structured)
    }
}
