//! What a combo's config begins with (routing 1.4): built in, then `settings.combo_defaults`, then
//! `settings.provider_overrides` of a target's provider, then what the combo itself says.
//!
//! A combo that says anything of `weights` or another table says all of it: tables are not mixed.

use policy::combo::EXECUTING;
use policy::ids::ProviderId;

use super::effective::camel_case;
use super::sheet::Sheet;
use super::table;
pub(super) use super::table::{CONFIG, DEFAULTS, OVERRIDES};

/// Keys of old that are dropped without a word (routing 1.4).
const LEGACY: [&str; 3] = ["timeout_ms", "health_check_enabled", "health_check_timeout_ms"];

/// Whether a name of a table or body is one of the dropped ones, in either spelling.
pub(super) fn is_dropped(path: &str, name: &str) -> bool {
    let configs = [CONFIG, DEFAULTS].iter().any(|config| config.trim_end_matches('.') == path);
    (configs || path == OVERRIDES)
        && LEGACY.iter().any(|legacy| *legacy == name || camel_case(legacy) == name)
}

/// Why a provider cannot have a key that combos have; `None`: no combo has it either.
pub(super) fn is_of_all_targets(path: &str, name: &str) -> Option<&'static str> {
    let is = |segment: &str| segment == name || camel_case(segment) == name;
    let known = |row: &&table::Row| {
        row.key.strip_prefix(CONFIG).and_then(|key| key.split(['.', '[']).next()).is_some_and(is)
    };
    let known = path == OVERRIDES && table::table().iter().any(|row| known(&row));
    known.then_some("is about a combo as a whole, and cannot be said of one provider's targets")
}

/// The sheet of a combo with what all combos begin with.
pub(super) fn layered(root: &Sheet, own: &Sheet) -> Sheet {
    let mut whole = own.clone();
    for (key, cell) in &root.cells {
        let Some(name) = key.strip_prefix(DEFAULTS).filter(|name| !says(own, name)) else { continue };
        // Not all strategies can ask a combo as a whole: who cannot goes on as it would without this.
        if name == "nested_combo_mode" && !executes(own) {
            continue;
        }
        if let Some(row) = table::find(&format!("{CONFIG}{name}")) {
            whole.cells.insert(row.key, cell.clone());
        }
    }
    whole
}

/// The same for the targets of each provider of which something else is said than of all.
pub(super) fn by_provider(root: &Sheet, own: &Sheet, layered: &Sheet) -> Vec<(ProviderId, Sheet)> {
    let mut all = Vec::new();
    for (provider, given) in root.named.get(OVERRIDES).into_iter().flatten() {
        let mut whole = layered.clone();
        let mut any = false;
        for (key, cell) in &given.cells {
            let name = key.strip_prefix(OVERRIDES).and_then(|name| name.strip_prefix('.'));
            let row = name.and_then(|name| table::find(&format!("{CONFIG}{name}")));
            if let Some(row) = row.filter(|row| !own.is_given(row.key)) {
                whole.cells.insert(row.key, cell.clone());
                any = true;
            }
        }
        if any {
            all.push((provider.as_str().into(), whole));
        }
    }
    all
}

/// Whether a combo says anything of the table or key that this is of.
fn says(own: &Sheet, name: &str) -> bool {
    let first = name.split('.').next().unwrap_or(name);
    let is_of = |key: &str| {
        let rest = key.strip_prefix(CONFIG).and_then(|key| key.strip_prefix(first));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let tables = own.lists.keys().chain(own.named.keys()).map(String::as_str);
    own.cells.keys().copied().chain(tables).any(is_of)
}

fn executes(own: &Sheet) -> bool {
    let strategy = own.text("combos[].strategy").unwrap_or_default();
    EXECUTING.contains(&strategy.trim().to_ascii_lowercase().as_str())
}
