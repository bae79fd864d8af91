//! Combos that ask combos: circles, depth, tiers (routing 2.9), told where they are written.
//!
//! A file that was right alone stays right: what only a stored combo brings about is a warning, and
//! is cut when names are resolved. So it is with a stored default (routing 1.4).

use std::collections::BTreeSet;
use std::sync::Arc;

use policy::combo::{self, Flaw, Place as At, Problem as Found, Spec, TargetSpec};

use super::Context;
use super::combo_config::{DEPTH, FALLBACK, FIRST, JUDGE, NESTING, STEP, TIERS};
use super::combos::NAME;
use super::lines::Named;
use super::targets::{self, COMBO, MODEL};
use crate::settings::Settings;
use crate::settings::combos::{Combo, ComboConfig};
use crate::settings::entities::Source;
use crate::settings::finding::{Place, Problem};
use crate::settings::sheet::Sheet;

const DEFAULT_DEPTH: &str = "settings.combo_defaults.max_combo_depth";
const DEFAULT_JUDGE: &str = "settings.combo_defaults.judge_model";

/// Tells what is wrong with combos that were read from these sheets.
pub(super) fn check(context: &mut Context<'_>, combos: &[Combo], sheets: &[&Sheet]) {
    if !context.checks_references() {
        return;
    }
    let specs: Vec<Spec> = combos.iter().map(Combo::spec).collect();
    for found in combo::check(&specs) {
        let at = combos.iter().position(|combo| *combo.name == *found.combo);
        let (combo, sheet) = at.map(|at| (&combos[at], sheets[at])).expect("a problem is of a combo");
        let (place, key) = place(sheet, combo, &found.place);
        let Some(problem) = problem(&found.flaw) else { continue };
        if let Some(key) = stored_default(context.root, &found, combos, sheets) {
            let problem = Problem { problem: breaks(&found, &problem), ..problem };
            context.findings.refuse(context.root.place_of(key), key, problem);
        } else if of_store(&found, combos) {
            context.findings.warn(place.place_of(key), key, problem);
        } else {
            context.findings.refuse(place.place_of(key), key, problem);
        }
    }
}

fn breaks(found: &Found, Problem { problem, .. }: &Problem) -> String {
    format!("breaks the combo `{}`: {problem}", found.combo)
}

/// The stored default that brings it about; `None`: what the combos themselves say does, or the file.
fn stored_default(root: &Sheet, found: &Found, combos: &[Combo], sheets: &[&Sheet]) -> Option<&'static str> {
    let says = |name: &str, key| {
        let at = combos.iter().position(|combo| combo.name == name);
        at.is_some_and(|at| sheets[at].is_given(key))
    };
    let key = match &found.flaw {
        Flaw::TooDeep { .. } if !says(&found.combo, DEPTH) => DEFAULT_DEPTH,
        Flaw::Cycle(way) => {
            let judge = root.text(DEFAULT_JUDGE)?;
            let judge = judge.strip_prefix("combo/").unwrap_or(&judge);
            let leads = |pair: &[Arc<str>]| *pair[1] == *judge && !says(&pair[0], JUDGE);
            way.windows(2).any(leads).then_some(DEFAULT_JUDGE)?
        }
        _ => return None,
    };
    (*root.place_of(key) == Place::Stored).then_some(key)
}

/// Tells what a combo that comes alone would bring about among the others. What was wrong before
/// is not its fault.
pub(in crate::settings) fn check_one(
    context: &mut Context<'_>,
    sheet: &Sheet,
    combo: &Combo,
    settings: &Settings,
) {
    let Settings { combos, combo_base, .. } = settings;
    let mut specs: Vec<Spec> = combos.iter().map(Combo::spec).collect();
    let before = combo::check(&specs);
    specs.retain(|spec| *spec.name != *combo.name);
    specs.push(begun(sheet, combo, combo_base));
    for found in combo::check(&specs) {
        let own = *found.combo == *combo.name;
        let Some(Problem { problem, accepted }) = problem(&found.flaw) else { continue };
        if own {
            let (place, key) = place(sheet, combo, &found.place);
            context.refuse(place, key, &problem, &accepted);
        } else if !before.contains(&found) {
            let problem = breaks(&found, &Problem::new(problem, accepted.clone()));
            context.refuse(sheet, targets::LIST, &problem, &accepted);
        }
    }
    let mut whole = combo.clone();
    whole.config.strategy.fusion.judge = begun(sheet, combo, combo_base).judge;
    let put = |(combos, ..): &mut Named| {
        combos.retain(|other| other.name != whole.name);
        combos.push(whole);
    };
    if let Some(Problem { problem, accepted }) = settings.closes(put) {
        context.refuse(sheet, JUDGE, &problem, &accepted);
    }
}

/// A combo that was read alone, with what all combos begin with (routing 1.4).
fn begun(sheet: &Sheet, combo: &Combo, base: &ComboConfig) -> Spec {
    let mut spec = combo.spec();
    if !sheet.is_given(DEPTH) {
        spec.max_depth = base.max_depth;
    }
    if !sheet.is_given(JUDGE) {
        spec.judge = base.strategy.fusion.judge.clone();
    }
    spec
}

/// The words for it; `None`: it was told when the combo was read.
fn problem(flaw: &Flaw) -> Option<Problem> {
    let accepted = match flaw {
        Flaw::UnknownCombo(_) | Flaw::NameTaken => return None,
        Flaw::Cycle(_) => "combos that lead to models",
        Flaw::TooDeep { .. } => "fewer combos in combos, or a larger max_combo_depth",
        Flaw::TooManySteps(_) => "fewer targets",
        Flaw::IdTaken(_) => "an id of its own, or none",
        Flaw::CannotExecute(_) => "flatten, or one of these strategies",
        Flaw::UnknownStep(_) => "the id of a target of this combo",
        Flaw::UnknownTier(_) | Flaw::TierTaken(_) => "the name of one tier of this combo",
    };
    Some(Problem::new(format!("is wrong: {flaw}"), accepted))
}

/// The sheet and the key where it is written.
fn place<'s>(sheet: &'s Sheet, combo: &Combo, at: &At) -> (&'s Sheet, &'static str) {
    let tier = |index: usize, key: &'static str| {
        let tiers = sheet.named.get(TIERS).map_or(&[][..], Vec::as_slice);
        tiers.get(index).map_or((sheet, FIRST), |(_, tier)| (tier, key))
    };
    let sheets = sheet.list(targets::TARGETS);
    match at {
        At::Combo => (sheet, NAME),
        At::Nesting => (sheet, NESTING),
        At::Judge => (sheet, JUDGE),
        At::FirstTier => (sheet, FIRST),
        At::TierStep(index) => tier(*index, STEP),
        At::TierFallback(index) => tier(*index, FALLBACK),
        // A target that leads nowhere is no step: then places do not match, and it was told.
        At::Step(index) if sheets.len() == combo.targets.len() => {
            let target = &sheets[*index];
            (target, if target.is_given(COMBO) { COMBO } else { MODEL })
        }
        At::Step(_) => (sheet, targets::LIST),
    }
}

/// Whether a stored combo has to do with it.
fn of_store(found: &Found, combos: &[Combo]) -> bool {
    let find = |name: &str| combos.iter().find(|combo| combo.name == name);
    let (mut seen, mut waiting) = (BTreeSet::new(), vec![found.combo.to_string()]);
    while let Some(name) = waiting.pop() {
        let Some(combo) = find(&name) else { continue };
        if combo.source == Source::Stored {
            return true;
        }
        let nested = combo.targets.iter().filter_map(|step| match &step.target {
            TargetSpec::Combo(name) => Some(&**name),
            TargetSpec::Model(_) => None,
        });
        let judge = combo.config.strategy.fusion.judge.as_deref();
        for name in nested.chain(judge.map(|judge| judge.strip_prefix("combo/").unwrap_or(judge))) {
            if seen.insert(name.to_owned()) {
                waiting.push(name.to_owned());
            }
        }
    }
    false
}
