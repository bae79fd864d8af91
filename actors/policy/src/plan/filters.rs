//! Which targets of a combo could serve the request at all (routing 3.1, 3.5, 3.6).
//!
//! What is not known of a model is not held against it. The input is an estimate, so only the input
//! is compared with windows: how much the model will say nobody knows.

use super::entries::Entries;
use super::{Excluded, NoPlan, World, excluded};
use crate::catalogue::{Abilities, Combo, ModelEntry, Step};
use crate::change::Exclusion;
use crate::request::Traits;
use crate::strategy::Ranked;

/// What keeps targets out of a combo's plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// Where nobody can do what the request needs, all are asked (routing 3.5).
    pub fail_open: bool,
    /// The smallest window that is asked, tokens (routing 3.6).
    pub min_window: Option<u64>,
    /// A window that nobody knows counts as too small.
    pub strict: bool,
    /// The larger window goes first, whatever the strategy says.
    pub prefer_large: bool,
}

impl Filters {
    /// Why a window is not the one that the combo asks for (routing 3.6); `None`: it is.
    pub(super) fn too_small(&self, facts: Option<&ModelEntry>) -> Option<Exclusion> {
        let smallest = self.min_window?;
        match facts.and_then(|facts| facts.context_window) {
            Some(window) => (window < smallest).then_some(Exclusion::WindowTooSmall),
            None => self.strict.then_some(Exclusion::WindowUnknown),
        }
    }
}

/// What a model cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// It calls no tools.
    Tools,
    /// It sees no pictures.
    Vision,
    /// It answers after no schema.
    Structured,
    /// Its window is smaller than the input.
    Window,
}

impl Lack {
    /// The name in diagnostics.
    pub fn as_str(self) -> &'static str {
        self.why().as_str()
    }

    /// Why such a model is left out where another one is not.
    pub(super) fn why(self) -> Exclusion {
        match self {
            Self::Tools => Exclusion::ToolsNotSupported,
            Self::Vision => Exclusion::VisionNotSupported,
            Self::Structured => Exclusion::StructuredNotSupported,
            Self::Window => Exclusion::WindowTooSmall,
        }
    }
}

/// What a model lacks for a request; `None`: nothing that is known.
pub(super) fn lack(facts: Option<&ModelEntry>, traits: &Traits) -> Option<Lack> {
    let facts = facts?;
    let window = facts.context_window.zip(traits.input_tokens);
    let all = Abilities { tools: true, vision: true, structured: true };
    let able = facts.abilities.unwrap_or(all);
    let lacks = [
        (Lack::Tools, traits.tools && !able.tools),
        (Lack::Vision, traits.vision && !able.vision),
        (Lack::Structured, traits.structured && !able.structured),
        (Lack::Window, window.is_some_and(|(window, input)| window < input)),
    ];
    lacks.into_iter().find(|(_, lacks)| *lacks).map(|(lack, _)| lack)
}

/// Whether a model could lack anything for it.
fn needs(traits: &Traits) -> bool {
    traits.tools || traits.vision || traits.structured || traits.input_tokens.is_some()
}

/// What the steps of a combo have to offer.
struct Looks {
    /// Routing 3.1: the largest window, where every one is known; `None`: nobody asked, or one is not.
    largest: Option<u64>,
    /// What those lack that lack something.
    lacks: Vec<Lack>,
    /// Somebody lacks nothing.
    fits: bool,
}

/// The filters of one combo, for one request.
#[derive(Clone, Copy)]
pub(super) struct Sieve<'a> {
    filters: Filters,
    traits: &'a Traits,
    world: World<'a>,
    /// Nobody can do what is needed, and all are asked.
    open: bool,
    /// Nobody could lack anything.
    idle: bool,
}

impl<'a> Sieve<'a> {
    /// Takes from the entries what could not serve the request, and tells of it.
    pub(super) fn through(
        combo: &Combo,
        entries: &mut Entries<'a>,
        traits: &'a Traits,
        world: World<'a>,
        unfit: &mut Vec<Excluded>,
    ) -> Result<Self, NoPlan> {
        let offers = || world.catalogue.offers.get(&combo.name);
        let idle = !needs(traits) || offers().is_some_and(|offers| offers.suffice(traits));
        let mut sieve = Self { filters: combo.filters, traits, world, open: false, idle };
        let pool_size = combo.units.len();
        if entries.is_empty() {
            return Ok(sieve);
        }
        let Looks { largest, mut lacks, fits } = sieve.look(entries);
        let input = traits.input_tokens.unwrap_or_default();
        if let Some(largest) = largest.filter(|largest| *largest < input) {
            entries.tell(&mut |step| sieve.tell(step, unfit));
            return Err(NoPlan::ContextTooLong { pool_size, largest, input });
        }
        match (lacks.is_empty(), fits) {
            (true, _) => {}
            (false, true) => {
                entries.retain(|step| sieve.lack(step).is_none(), &mut |step| sieve.tell(step, unfit));
            }
            // All of them lack something.
            (false, false) if sieve.filters.fail_open => sieve.open = true,
            (false, false) => {
                entries.tell(&mut |step| sieve.tell(step, unfit));
                lacks.sort();
                lacks.dedup();
                return Err(NoPlan::CapabilityMismatch { pool_size, lacks });
            }
        }
        if sieve.filters.min_window.is_some() {
            entries.retain(|step| sieve.too_small(step).is_none(), &mut |step| sieve.tell(step, unfit));
            if entries.is_empty() {
                return Err(NoPlan::ContextRequirements { pool_size });
            }
        }
        Ok(sieve)
    }

    /// Why a step of an entry may not be asked: the others of its unit may be the ones that fit.
    pub(super) fn why_not(&self, step: &Step) -> Option<Exclusion> {
        let lack = if self.open { None } else { self.lack(step) };
        lack.map(Lack::why).or_else(|| self.too_small(step))
    }

    fn tell(&self, step: &Step, unfit: &mut Vec<Excluded>) {
        if let Some(why) = self.why_not(step) {
            excluded::tell(unfit, step, why);
        }
    }

    /// Routing 3.6: the larger window first; what nobody knows comes last.
    pub(super) fn arrange(&self, ranked: &mut Ranked, entries: &Entries<'_>) {
        if self.filters.prefer_large {
            ranked.settle();
            ranked.order.sort_by_key(|index| std::cmp::Reverse(entries.window(*index)));
        }
    }

    fn facts(&self, step: &Step) -> Option<&'a ModelEntry> {
        self.world.catalogue.providers.get(&step.provider)?.facts(step.model.as_str())
    }

    fn lack(&self, step: &Step) -> Option<Lack> {
        if self.idle { None } else { lack(self.facts(step), self.traits) }
    }

    /// Routing 3.6.
    fn too_small(&self, step: &Step) -> Option<Exclusion> {
        self.filters.too_small(self.facts(step))
    }

    /// Looks at every step once; at none where nobody could lack anything.
    fn look(&self, entries: &Entries<'a>) -> Looks {
        let input = self.traits.input_tokens.filter(|_| !self.idle);
        let mut looks = Looks { largest: input.map(|_| 0), lacks: Vec::new(), fits: false };
        if !self.idle {
            entries.tell(&mut |step| {
                let facts = self.facts(step);
                let window = facts.and_then(|facts| facts.context_window);
                looks.largest = looks.largest.zip(window).map(|(largest, window)| largest.max(window));
                match lack(facts, self.traits) {
                    Some(lack) => looks.lacks.push(lack),
                    None => looks.fits = true,
                }
            });
        }
        looks
    }
}

#[cfg(test)]
mod tests;
