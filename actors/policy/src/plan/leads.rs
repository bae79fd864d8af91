//! Where a name leads, without a board: what a key may reach is judged before anything is picked.

use std::sync::Arc;

use super::{find_combo, find_model};
use crate::catalogue::Catalogue;

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
    if let Some(combo) = find_combo(catalogue, name) {
        let targets = combo.steps.iter().map(|step| format!("{}/{}", step.provider, step.model));
        return Leads { combo: Some(combo.name.clone()), targets: targets.collect() };
    }
    let found = find_model(catalogue, name).ok();
    let targets = found.map(|(provider, model)| format!("{}/{model}", provider.id));
    Leads { combo: None, targets: targets.into_iter().collect() }
}
