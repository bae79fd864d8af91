//! `[[model_combo_mappings]]` and `[aliases]`: what they lead to is there (routing 2.1, 12.3).

use std::collections::BTreeMap;

use policy::catalogue::matches;

use super::{Context, Known};
use crate::settings::combos::{Alias, Mapping};
use crate::settings::data;
use crate::settings::entities::Source;
use crate::settings::finding::{Place, Problem, quoted};
use crate::settings::sheet::Sheet;

pub(in crate::settings) const LISTED: &str = "model_combo_mappings[]";
/// Those that only the store has.
pub(in crate::settings) const ONLY_STORED: &str = "model_combo_mappings[] of the store";
const ID: &str = "model_combo_mappings[].id";
const COMBO: &str = "model_combo_mappings[].combo";
const ALIASES: &str = "aliases";

/// Reads every mapping.
pub(super) fn read(context: &mut Context<'_>) -> Vec<Mapping> {
    let root = context.root;
    let mut mappings: Vec<Mapping> = Vec::new();
    for list in [LISTED, ONLY_STORED] {
        for sheet in root.list(list) {
            let Some(mut mapping) = one(context, sheet) else { continue };
            if mappings.iter().any(|other| other.id == mapping.id) {
                let problem = format!("`{}` is another mapping's id already", mapping.id);
                context.refuse(sheet, ID, &problem, "an id of its own");
            }
            if sheet.place == Place::Stored {
                mapping.source = Source::Stored;
                mapping.replaces = (list == LISTED).then_some(Source::File);
            }
            mappings.push(mapping);
        }
    }
    mappings
}

/// Reads one.
pub(in crate::settings) fn one(context: &mut Context<'_>, sheet: &Sheet) -> Option<Mapping> {
    let combo = sheet.text(COMBO);
    let lost = combo.iter().find(|combo| !context.knows_combo(sheet, combo));
    if let Some(combo) = lost.filter(|_| context.checks_references()) {
        let problem = format!("names the combo {}, which does not exist", quoted(combo));
        let accepted = context.known.combo_list(sheet.place == Place::Stored);
        context.refuse(sheet, COMBO, &problem, &accepted);
    }
    Some(Mapping {
        id: sheet.text(ID)?,
        pattern: sheet.text("model_combo_mappings[].pattern")?,
        combo: combo?,
        priority: sheet.count("model_combo_mappings[].priority"),
        enabled: sheet.flag("model_combo_mappings[].enabled"),
        description: sheet.text("model_combo_mappings[].description"),
        source: Source::File,
        replaces: None,
    })
}

/// Reads the file's aliases.
pub(super) fn aliases(context: &mut Context<'_>) -> BTreeMap<String, Alias> {
    let root = context.root;
    let named = root.data(ALIASES).map(|json| data::alias_map(&json)).unwrap_or_default();
    for (name, to) in &named {
        if context.checks_references() && !context.known.leads_somewhere(to) {
            let Problem { problem, accepted } = nowhere();
            let problem = format!("says that {} {problem}", quoted(name));
            context.refuse(root, ALIASES, &problem, &accepted);
        } else if context.checks_references()
            && let Some(Problem { problem, accepted }) = lost(&context.known, named.keys(), to)
        {
            let problem = format!("says that {} {problem}", quoted(name));
            context.findings.warn(root.place_of(ALIASES), ALIASES, Problem { problem, accepted });
        }
    }
    let alias = |to| Alias { to, source: Source::File, replaces: None };
    named.into_iter().map(|(name, to)| (name, alias(to))).collect()
}

/// Why nobody answers to an alias for now; `None`: somebody does. That is no mistake: what providers
/// list may change.
pub(in crate::settings) fn lost<'a>(
    known: &Known,
    mut names: impl Iterator<Item = &'a String>,
    to: &str,
) -> Option<Problem> {
    if known.answers(to) {
        return None;
    }
    let alias = names.any(|name| matches(name, to));
    let to = quoted(to);
    Some(match alias {
        true => Problem::new(
            format!("leads to {to}, which is an alias, too, and is not followed"),
            "what that one stands for",
        ),
        false => Problem::new(
            format!("leads to {to}, which nobody answers to"),
            "PROVIDER/MODEL, a combo, or a model that a provider lists",
        ),
    })
}

/// An alias that nobody answers.
pub(in crate::settings) fn nowhere() -> Problem {
    Problem::new(
        "is a model of a provider that does not exist",
        "PROVIDER/MODEL, a combo, or a bare model id",
    )
}
