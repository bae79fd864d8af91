//! Combos that ask step after step (routing 6.2): each is asked in the request's dialect, so steps
//! that have none in common can be asked by no route. That is a warning: what a provider speaks may
//! change, and the rest of the config is right.

use policy::combo::{DEEPEST, TargetSpec};
use policy::strategy::{Pipeline, Strategy};

use super::Context;
use super::combos::STRATEGY;
use crate::settings::Format;
use crate::settings::combos::Combo;
use crate::settings::finding::Problem;
use crate::settings::sheet::Sheet;

/// Tells which of them no request can come through.
pub(super) fn check(context: &mut Context<'_>, combos: &[Combo], sheets: &[&Sheet]) {
    if !context.checks_references() {
        return;
    }
    for (combo, sheet) in combos.iter().zip(sheets).filter(|(combo, _)| combo.strategy == Pipeline.name()) {
        let some = Format::ALL.iter().any(|(format, _)| passes(context, combos, combo, (*format, DEEPEST)));
        if !some {
            let problem = Problem::new(
                "cannot be asked: its steps speak no dialect in common",
                "steps of providers that share a format",
            );
            context.findings.warn(sheet.place_of(STRATEGY), STRATEGY, problem);
        }
    }
}

/// Whether a request comes through: all steps of a line speak its format, one target of others.
fn passes(context: &Context<'_>, combos: &[Combo], combo: &Combo, (format, depth): (Format, u32)) -> bool {
    let ways = combo.targets.iter().map(|step| match &step.target {
        TargetSpec::Model(model) => context
            .known
            .providers
            .get(model.provider.as_str())
            .is_none_or(|known| known.formats.is_empty() || known.formats.contains(&format)),
        TargetSpec::Combo(name) => {
            let inner = combos.iter().find(|other| *other.name == **name).filter(|_| depth > 0);
            inner.is_none_or(|inner| passes(context, combos, inner, (format, depth - 1)))
        }
    });
    let mut ways = ways.peekable();
    let line = combo.strategy == Pipeline.name();
    ways.peek().is_none() || if line { ways.all(|way| way) } else { ways.any(|way| way) }
}
