//! A fan that asks for itself would be asked until the budget of the request is spent, so it is found
//! before anybody is asked: whatever way leads back, a ref, an alias or a mapping (routing 2.6).

use std::sync::Arc;

use super::super::NoPlan;
use super::super::names::{Named, find};
use super::{FanKind, Who, declared, kind};
use crate::catalogue::{Catalogue, Combo};

/// The combo, or a fan that it asks, does not ask for itself.
pub(super) fn no_circle(combo: &Combo, catalogue: &Catalogue) -> Result<(), NoPlan> {
    walk(combo, catalogue, &mut Vec::new(), &mut Vec::new())
}

/// `way`: the fans that lead here; `seen`: those that lead to no circle.
fn walk(
    combo: &Combo,
    catalogue: &Catalogue,
    way: &mut Vec<Arc<str>>,
    seen: &mut Vec<Arc<str>>,
) -> Result<(), NoPlan> {
    // The targets of any other combo stand in for each other: it asks no judge.
    let Some(kind) = kind(combo).filter(|_| !seen.contains(&combo.name)) else { return Ok(()) };
    if let Some(at) = way.iter().position(|name| *name == combo.name) {
        let mut circle = way.split_off(at);
        circle.push(combo.name.clone());
        return Err(NoPlan::Circle(circle));
    }
    way.push(combo.name.clone());
    for member in declared(combo, catalogue) {
        if let Who::Named(name) = &member.who
            && let Some(nested) = catalogue.combos.get(name)
        {
            walk(nested, catalogue, way, seen)?;
        }
    }
    if let FanKind::Fusion(settings) = kind
        && let Some(judge) = &settings.judge
        && let Ok(Named::Combo(judge)) = find(catalogue, judge)
    {
        walk(judge, catalogue, way, seen)?;
    }
    way.pop();
    seen.push(combo.name.clone());
    Ok(())
}
