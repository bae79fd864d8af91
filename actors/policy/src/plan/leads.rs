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

/// The combo that a name stands for, if how it fares is counted (routing 14), and its strategy.
pub fn tracked(catalogue: &Catalogue, name: &str) -> Option<(Arc<str>, &'static str)> {
    let of_combo = |combo: &Combo| combo.counted.then(|| (combo.name.clone(), combo.strategy));
    match find(catalogue, name).ok()? {
        Named::Combo(combo) => of_combo(combo),
        Named::Made(combo) => of_combo(&combo),
        Named::Model(..) => None,
    }
}

/// The targets of a combo, those of the combos that it asks as a whole too, and whom else it lets work
/// on what a client sends: who judges, who sums up.
fn follow(catalogue: &Catalogue, combo: &Combo, depth: u32, targets: &mut Vec<String>) {
    targets.extend(combo.steps.iter().map(|step| format!("{}/{}", step.provider, step.model)));
    if depth == 0 {
        return;
    }
    let nested = combo.units.iter().filter_map(|unit| unit.nested.as_ref());
    for nested in nested.filter_map(|name| catalogue.combos.get(name)) {
        follow(catalogue, nested, depth - 1, targets);
    }
    match whom_else(combo).and_then(|name| find(catalogue, name).ok()) {
        Some(Named::Combo(other)) => follow(catalogue, other, depth - 1, targets),
        Some(Named::Made(other)) => follow(catalogue, &other, depth - 1, targets),
        Some(Named::Model(provider, model)) => targets.push(format!("{}/{model}", provider.id)),
        None => {}
    }
}

/// The model that a combo asks besides its targets, as it is named (routing 4.4a, 6.1g).
fn whom_else(combo: &Combo) -> Option<&str> {
    match combo.strategy {
        "fusion" => combo.settings.fusion.judge.as_deref(),
        "context-relay" => combo.settings.relay.model.as_deref(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::leads;
    use crate::catalogue::{Combo, Step};
    use crate::plan::tests::catalogue;

    /// Routing 10.5: a key that may ask `a` alone would else hear `c` through its judge.
    #[test]
    fn who_judges_and_who_sums_up_is_a_target_too() {
        let mut catalogue = catalogue();
        let mut add = |name: &str, strategy, other: &str| {
            let steps = vec![Step::new("a".into(), "m".into())];
            let mut combo = Combo::new(name, strategy, steps);
            combo.settings.fusion.judge = Some(other.into());
            combo.settings.relay.model = Some(other.into());
            catalogue.combos.insert(combo.name.clone(), combo);
        };
        add("panel", "fusion", "c/m");
        add("talk", "context-relay", "combo/panel");
        add("plain", "priority", "c/m");
        add("gone", "fusion", "nobody");
        add("round", "fusion", "round");
        let targets = |name: &str| {
            let mut targets = leads(&catalogue, name).targets;
            targets.dedup();
            targets
        };
        assert_eq!(targets("panel"), ["a/m", "c/m"]);
        assert_eq!(targets("talk"), ["a/m", "c/m"]);
        assert_eq!(targets("plain"), ["a/m"]);
        assert_eq!(targets("gone"), ["a/m"]);
        assert_eq!(targets("round"), ["a/m"]);
    }
}
