//! Who of a fan could be asked for a request at all (routing 3.1, 3.5, 3.6). The dialect was looked at
//! before: here whoever speaks another one is merely left out.

use std::sync::Arc;

use super::super::filters::{Filters, Lack, lack};
use super::super::names::{Named, find};
use super::super::{Excluded, NoPlan, excluded};
use super::{Fan, FanKind, Member, Share, Who, declared, in_one_dialect, kind, no_circle};
use crate::catalogue::{Catalogue, Combo, Dialect, Step};
use crate::change::Exclusion;
use crate::combo::DEEPEST;
use crate::request::Traits;

/// Why somebody could not be asked.
#[derive(Clone, Debug)]
enum Misfit {
    /// It speaks another dialect.
    Foreign,
    /// It cannot do what is needed; its window, tokens.
    Lacks(Lack, Option<u64>),
    /// Its window is not the one that the combo asks for.
    Window(Exclusion),
    /// Its name leads nowhere, or to nobody who could.
    Nobody(Box<NoPlan>),
}

/// A request, as far as it is about who could be asked.
#[derive(Clone, Copy)]
struct Fitting<'a> {
    catalogue: &'a Catalogue,
    dialect: Dialect,
    /// What all of it is like.
    traits: &'a Traits,
    depth: u32,
}

/// The fan of a combo for a request; `None`: its targets stand in for each other. `unfit`: who is left
/// out is told there.
pub(in crate::plan) fn assemble(
    combo: &Combo,
    (dialect, traits): (Dialect, &Traits),
    catalogue: &Catalogue,
    unfit: &mut Vec<Excluded>,
) -> Result<Option<Fan>, NoPlan> {
    if kind(combo).is_none() {
        return Ok(None);
    }
    no_circle(combo, catalogue)?;
    in_one_dialect(combo, dialect, catalogue)?;
    let traits = traits.with_more(combo.added_tokens);
    Fitting { catalogue, dialect, traits: &traits, depth: DEEPEST }.fan(combo, unfit)
}

impl Fitting<'_> {
    fn fan(&self, combo: &Combo, unfit: &mut Vec<Excluded>) -> Result<Option<Fan>, NoPlan> {
        let Some(kind) = kind(combo) else { return Ok(None) };
        let members = declared(combo, self.catalogue);
        if members.is_empty() {
            return Ok(Some(Fan { kind, members, judge: None }));
        }
        match &kind {
            FanKind::Pipeline => self.line(combo, members, unfit).map(|members| (members, None)),
            FanKind::Fusion(settings) => {
                let asked = settings.judge.as_ref().filter(|_| members.len() > 1).cloned();
                let (mut panel, judge) = self.panel(combo, members, asked, unfit)?;
                panel.truncate(settings.max_panel.map_or(usize::MAX, |most| most.max(1)));
                Ok((panel, judge))
            }
        }
        .map(|(members, judge)| Some(Fan { kind, members, judge }))
    }

    /// Nothing goes on after a step that fails (routing 6.2d), so each of them has to fit.
    fn line(
        &self,
        combo: &Combo,
        mut members: Vec<Member>,
        unfit: &mut Vec<Excluded>,
    ) -> Result<Vec<Member>, NoPlan> {
        let last = members.len() - 1;
        let mut misfits = Vec::new();
        for (index, member) in members.iter_mut().enumerate() {
            member.share = match index {
                0 if last == 0 => Share::Whole,
                0 => Share::Words,
                index if index == last => Share::TextAndTools,
                _ => Share::Text,
            };
            let misfit = self.fit(&member.who, member.share, combo.filters).err();
            if let Some(misfit) = misfit.filter(|misfit| !misfit.is_passed(combo.filters)) {
                tell(unfit, &member.who, &misfit);
                misfits.push(misfit);
            }
        }
        if misfits.is_empty() { Ok(members) } else { Err(self.refusal(combo, misfits)) }
    }

    /// Who of a panel is asked for words, and who is the judge; `asked`: the one that is named.
    fn panel(
        &self,
        combo: &Combo,
        members: Vec<Member>,
        asked: Option<Arc<str>>,
        unfit: &mut Vec<Excluded>,
    ) -> Result<(Vec<Member>, Option<Who>), NoPlan> {
        let judge = match asked {
            None => self.first(combo, &members),
            Some(name) => match self.fit(&Who::Named(name.clone()), Share::Whole, combo.filters) {
                Err(misfit) if !misfit.is_passed(combo.filters) => {
                    let why = self.refusal(combo, vec![misfit]);
                    Err(NoPlan::Judge(name, Box::new(why)))
                }
                _ => Ok(Who::Named(name)),
            },
        };
        let (panel, misfits) = self.sift(combo, members, unfit);
        match judge {
            // Tools are no panel's business (6.1b), and a panel of several needs a judge.
            Err(why) if self.traits.tools || panel.len() > 1 => Err(why),
            judge if panel.is_empty() && !self.traits.tools => Err(judge
                .err()
                .filter(|_| misfits.is_empty())
                .unwrap_or_else(|| self.refusal(combo, misfits))),
            judge => Ok((panel, judge.ok())),
        }
    }

    /// The first member that could be asked with all of the request.
    fn first(&self, combo: &Combo, members: &[Member]) -> Result<Who, NoPlan> {
        let mut misfits = Vec::new();
        for member in members {
            match self.fit(&member.who, Share::Whole, combo.filters) {
                Ok(()) => return Ok(member.who.clone()),
                Err(misfit) => misfits.push((member, misfit)),
            }
        }
        let open = misfits.iter().find(|(_, misfit)| misfit.is_passed(combo.filters));
        match open {
            Some((member, _)) => Ok(member.who.clone()),
            None => Err(self.refusal(combo, misfits.into_iter().map(|(_, misfit)| misfit).collect())),
        }
    }

    /// Parts those who could say something from those who could not.
    fn sift(
        &self,
        combo: &Combo,
        members: Vec<Member>,
        unfit: &mut Vec<Excluded>,
    ) -> (Vec<Member>, Vec<Misfit>) {
        let (mut panel, mut out) = (Vec::new(), Vec::new());
        for member in members {
            match self.fit(&member.who, Share::Words, combo.filters) {
                Ok(()) => panel.push(member),
                Err(misfit) => out.push((member, misfit)),
            }
        }
        if panel.is_empty() && out.iter().any(|(_, misfit)| misfit.is_passed(combo.filters)) {
            let (open, shut) = out.into_iter().partition(|(_, misfit)| misfit.is_passed(combo.filters));
            let open: Vec<(Member, Misfit)> = open;
            (panel, out) = (open.into_iter().map(|(member, _)| member).collect(), shut);
        }
        for (member, misfit) in &out {
            tell(unfit, &member.who, misfit);
        }
        (panel, out.into_iter().map(|(_, misfit)| misfit).collect())
    }

    fn fit(&self, who: &Who, share: Share, filters: Filters) -> Result<(), Misfit> {
        let traits = share.of(self.traits);
        let of = Fitting { traits: &traits, ..*self };
        match who {
            Who::Step(step) => of.step(step, Some(filters)),
            Who::Named(name) => match find(self.catalogue, name) {
                Ok(Named::Combo(combo)) => of.combo(combo),
                Ok(Named::Made(combo)) => of.combo(&combo),
                Ok(Named::Model(provider, model)) => of.step(&Step::new(provider.id.clone(), model), None),
                Err(no_plan) => Err(Misfit::Nobody(Box::new(no_plan))),
            },
        }
    }

    /// `filters`: of the combo whose target it is.
    fn step(&self, step: &Step, filters: Option<Filters>) -> Result<(), Misfit> {
        // What is not configured is told when its turn comes.
        let Some(provider) = self.catalogue.providers.get(&step.provider) else { return Ok(()) };
        if !provider.dialects.contains(&self.dialect) {
            return Err(Misfit::Foreign);
        }
        let facts = provider.facts(step.model.as_str());
        if let Some(lack) = lack(facts, self.traits) {
            return Err(Misfit::Lacks(lack, facts.and_then(|facts| facts.context_window)));
        }
        filters.and_then(|filters| filters.too_small(facts)).map_or(Ok(()), |why| Err(Misfit::Window(why)))
    }

    /// A combo is one voice: a fan as a whole, else one of its targets.
    fn combo(&self, combo: &Combo) -> Result<(), Misfit> {
        if self.depth == 0 {
            return Ok(());
        }
        let traits = self.traits.with_more(combo.added_tokens);
        let inner = Fitting { traits: &traits, depth: self.depth - 1, ..*self };
        if kind(combo).is_some() {
            let fan = inner.fan(combo, &mut Vec::new());
            return fan.map(drop).map_err(|no_plan| Misfit::Nobody(Box::new(no_plan)));
        }
        let nested = combo.units.iter().filter_map(|unit| self.catalogue.combos.get(unit.nested.as_ref()?));
        let steps = combo.steps.iter().map(|step| inner.step(step, Some(combo.filters)));
        let mut first = None;
        for fits in steps.chain(nested.map(|nested| inner.combo(nested))) {
            match fits {
                Err(misfit) if !misfit.is_passed(combo.filters) => drop(first.get_or_insert(misfit)),
                _ => return Ok(()),
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// Why there is no plan, of what keeps everybody out.
    fn refusal(&self, combo: &Combo, misfits: Vec<Misfit>) -> NoPlan {
        let (pool_size, mut lacks, mut largest) = (combo.units.len(), Vec::new(), Some(0));
        for misfit in &misfits {
            match misfit {
                Misfit::Nobody(why) => return (**why).clone(),
                Misfit::Lacks(lack, window) => {
                    lacks.push(*lack);
                    let window = window.filter(|_| *lack == Lack::Window);
                    largest = largest.zip(window).map(|(largest, window)| largest.max(window));
                }
                Misfit::Foreign | Misfit::Window(_) => {}
            }
        }
        lacks.sort();
        lacks.dedup();
        match (lacks.is_empty(), largest) {
            (false, Some(largest)) => {
                let input = self.traits.input_tokens.unwrap_or_default();
                NoPlan::ContextTooLong { pool_size, largest, input }
            }
            (false, None) => NoPlan::CapabilityMismatch { pool_size, lacks },
            (true, _) if misfits.iter().any(|misfit| matches!(misfit, Misfit::Window(_))) => {
                NoPlan::ContextRequirements { pool_size }
            }
            (true, _) => NoPlan::FormatNotSupported(Vec::new()),
        }
    }
}

impl Misfit {
    /// Where nobody can do what is needed, the combo asks all (routing 3.5); no window becomes larger
    /// by that.
    fn is_passed(&self, filters: Filters) -> bool {
        filters.fail_open && matches!(self, Self::Lacks(lack, _) if *lack != Lack::Window)
    }
}

fn tell(unfit: &mut Vec<Excluded>, who: &Who, misfit: &Misfit) {
    let why = match misfit {
        Misfit::Foreign => Exclusion::FormatNotSupported,
        Misfit::Lacks(lack, _) => lack.why(),
        Misfit::Window(why) => *why,
        // It has told who of it is left out.
        Misfit::Nobody(_) => return,
    };
    if let Who::Step(step) = who {
        excluded::tell(unfit, step, why);
    }
}
