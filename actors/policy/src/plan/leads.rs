//! Where a name leads, without a board: what a key may reach is judged before anything is picked.

use std::sync::Arc;

use super::names::{Named, find};
use crate::catalogue::{Catalogue, Combo};
use crate::combo::DEEPEST;

/// Where a name leads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leads {
    /// The combo that it names.
    pub combo: Option<Arc<str>>,
    /// `provider/model` of each target, as the combo lists them; none: nobody knows the name.
    pub targets: Vec<String>,
}

/// Follows a name as a plan would.
pub fn leads(catalogue: &Catalogue, name: &str) -> Leads {
    let of_combo = |combo: &Combo| {
        let mut targets = Vec::new();
        follow(catalogue, combo, DEEPEST, &mut targets);
        Leads { combo: Some(combo.name.clone()), targets }
    };
    match find(catalogue, name) {
        Ok(Named::Combo(combo)) => of_combo(combo),
        Ok(Named::Made(combo)) => of_combo(&combo),
        Ok(Named::Model(provider, model)) => {
            Leads { combo: None, targets: vec![format!("{}/{model}", provider.id)] }
        }
        Err(_) => Leads::default(),
    }
}

/// The targets of a combo, those of the combos that it asks as a whole too.
fn follow(catalogue: &Catalogue, combo: &Combo, depth: u32, targets: &mut Vec<String>) {
    targets.extend(combo.steps.iter().map(|step| format!("{}/{}", step.provider, step.model)));
    let nested = combo.units.iter().filter_map(|unit| unit.nested.as_ref());
    for nested in nested.filter_map(|name| catalogue.combos.get(name)).filter(|_| depth > 0) {
        follow(catalogue, nested, depth - 1, targets);
    }
}
