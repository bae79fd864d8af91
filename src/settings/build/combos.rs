//! `[[combos]]`: names are unique, strategies are known; `targets.rs` reads where they lead.

use policy::combo::TargetSpec;
use policy::strategy::{Fusion, Strategy};
use serde_json::Value as Json;

use super::{Context, combo_config, combo_graph, targets};
use crate::formats::reshape::ToolFilter;
use crate::settings::bodies;
use crate::settings::combos::Combo;
use crate::settings::entities::Source;
use crate::settings::finding::{Place, Problem};
use crate::settings::sheet::Sheet;

pub(in crate::settings) const LISTED: &str = "combos[]";
/// Those that only the store has: nothing in the file may refer to them.
pub(in crate::settings) const ONLY_STORED: &str = "combos[] of the store";
pub(super) const NAME: &str = "combos[].name";
pub(super) const STRATEGY: &str = "combos[].strategy";
const TOOLS: &str = "combos[].tool_filter_regex";
const ALLOWED: &str = "combos[].allowed_providers";
/// What only `fusion` reads, or begins with.
const PANEL: [&str; 2] = ["combos[].config.judge_model", "combos[].config.fusion_tuning"];

/// Reads every combo; their names are known before any of them is read.
pub(super) fn read(context: &mut Context<'_>) -> Vec<Combo> {
    let root = context.root;
    let names = |list: &str| root.list(list).iter().filter_map(|sheet| sheet.text(NAME)).collect::<Vec<_>>();
    context.known.combos.extend(names(LISTED));
    context.known.stored_combos.extend(names(ONLY_STORED));
    let (mut combos, mut sheets): (Vec<Combo>, Vec<&Sheet>) = (Vec::new(), Vec::new());
    for (list, sheet) in
        [LISTED, ONLY_STORED].iter().flat_map(|list| root.list(list).iter().map(move |it| (*list, it)))
    {
        let Some(mut combo) = one(context, sheet) else { continue };
        check_name(context, sheet, &combo.name, &combos);
        if sheet.place == Place::Stored {
            combo.source = Source::Stored;
            combo.replaces = match list {
                LISTED => Some(Source::File),
                _ => context.builtin.combos.contains(&combo.name).then_some(Source::Demo),
            };
        }
        combos.push(combo);
        sheets.push(sheet);
    }
    combo_graph::check(context, &combos, &sheets);
    combos
}

/// Reads one; whether its name is its own is for who has the others.
pub(in crate::settings) fn one(context: &mut Context<'_>, sheet: &Sheet) -> Option<Combo> {
    let strategy = strategy(context, sheet);
    warn_of_panel(context, sheet, &strategy);
    let name = sheet.text(NAME);
    let called = name.clone().unwrap_or_default();
    let targets = targets::read(context, sheet, &called);
    let config = combo_config::read(context, sheet);
    let allowed_providers = targets::providers(context, sheet, ALLOWED);
    let mut given = bodies::write(sheet, LISTED);
    given.remove("name");
    let shown = given.get_mut("targets").and_then(Json::as_array_mut);
    for (shown, step) in shown.into_iter().flatten().zip(&targets) {
        if let Some(step) = step {
            shown["id"] = (*step.id).into();
            // It stays one when that combo is gone.
            if matches!(step.target, TargetSpec::Combo(_)) {
                shown["kind"] = "combo-ref".into();
            }
        }
    }
    let targets = targets.into_iter().flatten().collect();
    let (source, replaces) = (Source::File, None);
    let context_cache_protection = sheet.flag("combos[].context_cache_protection");
    let context_length = sheet.whole("combos[].context_length");
    let system_message = sheet.text("combos[].system_message");
    let tool_filter = tool_filter(context, sheet);
    let name = name?;
    Some(Combo {
        name,
        strategy,
        targets,
        allowed_providers,
        context_cache_protection,
        context_length,
        system_message,
        tool_filter,
        config,
        given,
        source,
        replaces,
    })
}

/// Routing 6.1h: what only a panel has does nothing elsewhere, and says so.
fn warn_of_panel(context: &mut Context<'_>, sheet: &Sheet, strategy: &str) {
    if strategy == Fusion.name() {
        return;
    }
    let is_panels = |key: &&&str| PANEL.iter().any(|own| key.starts_with(own));
    for key in sheet.cells.keys().filter(is_panels) {
        let problem = Problem::new(format!("does nothing under `{strategy}`"), "strategy = \"fusion\"");
        context.findings.warn(sheet.place_of(key), key, problem);
    }
}

/// One that the store has may stand in the place of the demo's.
fn check_name(context: &mut Context<'_>, sheet: &Sheet, name: &str, combos: &[Combo]) {
    if sheet.place != Place::Stored && context.builtin.combos.iter().any(|other| other == name) {
        let problem = format!("`{name}` is a combo of [demo]");
        context.refuse(sheet, NAME, &problem, "another name, or demo.enabled = false");
    } else if combos.iter().any(|other| other.name == name) {
        let problem = format!("`{name}` is another combo's name already");
        context.refuse(sheet, NAME, &problem, "a name of its own");
    }
}

fn tool_filter(context: &mut Context<'_>, sheet: &Sheet) -> Option<String> {
    let expression = sheet.text(TOOLS)?;
    if let Err(wrong) = ToolFilter::new(&expression) {
        let problem = format!("cannot be read: {wrong}");
        context.refuse(sheet, TOOLS, &problem, "a regular expression such as \"^(read|list)_\"");
    }
    Some(expression)
}

fn strategy(context: &mut Context<'_>, sheet: &Sheet) -> String {
    let strategy = sheet.text(STRATEGY).unwrap_or_default().trim().to_ascii_lowercase();
    if !context.strategies.contains(&strategy.as_str()) {
        let accepted = context.strategies.join(", ");
        context.refuse(sheet, STRATEGY, "is no strategy that is built", &accepted);
    }
    strategy
}
