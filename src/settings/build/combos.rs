//! `[[combos]]`: names are unique, strategies are known, targets lead somewhere.

use policy::ids::ConnectionId;

use super::{Context, validation};
use crate::settings::entities::{Combo, ComboConfig, ComboTarget, Source};
use crate::settings::finding::quoted;
use crate::settings::sheet::Sheet;

const NAME: &str = "combos[].name";
const STRATEGY: &str = "combos[].strategy";
const TARGETS: &str = "combos[].targets[]";
const MODEL: &str = "combos[].targets[].model";
const CONNECTION: &str = "combos[].targets[].connection";

/// Reads every combo.
pub(super) fn read(context: &mut Context<'_>) -> Vec<Combo> {
    let mut combos: Vec<Combo> = Vec::new();
    for sheet in context.root.list("combos[]") {
        let (strategy, targets) = (strategy(context, sheet), targets(context, sheet));
        let Some(name) = sheet.text(NAME) else {
            continue;
        };
        check_name(context, sheet, &name, &combos);
        let config = config(context, sheet);
        combos.push(Combo { name, strategy, targets, config, source: Source::File });
    }
    combos
}

fn check_name(context: &mut Context<'_>, sheet: &Sheet, name: &str, combos: &[Combo]) {
    if context.builtin.combos.iter().any(|other| other == name) {
        let problem = format!("`{name}` is a combo of [demo]");
        context.refuse(sheet, NAME, &problem, "another name, or demo.enabled = false");
    } else if combos.iter().any(|other| other.name == name) {
        let problem = format!("`{name}` is another combo's name already");
        context.refuse(sheet, NAME, &problem, "a name of its own");
    }
}

fn strategy(context: &mut Context<'_>, sheet: &Sheet) -> String {
    let strategy = sheet.text(STRATEGY).unwrap_or_default().trim().to_ascii_lowercase();
    if !context.strategies.contains(&strategy.as_str()) {
        let accepted = context.strategies.join(", ");
        context.refuse(sheet, STRATEGY, "is no strategy that is built", &accepted);
    }
    strategy
}

fn targets(context: &mut Context<'_>, sheet: &Sheet) -> Vec<ComboTarget> {
    let sheets = sheet.list(TARGETS);
    let nothing_else_wrong = context.checks_references();
    if sheets.is_empty() && nothing_else_wrong {
        let accepted = "at least one { model = \"provider/model\" }";
        context.refuse(sheet, "combos[].targets", "has no target", accepted);
    }
    sheets.iter().filter_map(|sheet| target(context, sheet)).collect()
}

fn target(context: &mut Context<'_>, sheet: &Sheet) -> Option<ComboTarget> {
    let text = sheet.text(MODEL)?;
    let halves = text.split_once('/').map(|(provider, model)| (provider.trim(), model.trim()));
    let Some((provider, model)) =
        halves.filter(|(provider, model)| !provider.is_empty() && !model.is_empty())
    else {
        context.refuse(sheet, MODEL, "is not provider/model", "for example \"openai/gpt-5\"");
        return None;
    };
    let connection = sheet.text(CONNECTION);
    if context.checks_references() {
        check_model(context, sheet, provider, model);
        if let Some(connection) = &connection {
            check_connection(context, sheet, provider, connection);
        }
    }
    Some(ComboTarget {
        model: format!("{provider}/{model}"),
        weight: sheet.number("combos[].targets[].weight").unwrap_or_default(),
        connection: connection.map(ConnectionId::from),
    })
}

fn check_model(context: &mut Context<'_>, sheet: &Sheet, provider: &str, model: &str) {
    let Some(known) = context.known.provider(provider, &sheet.place) else {
        let accepted = context.known.provider_list();
        let problem = format!("names the provider {}, which does not exist", quoted(provider));
        context.refuse(sheet, MODEL, &problem, &accepted);
        return;
    };
    // routing 12.2: the suffix asks for a longer context of the same model
    let model = model.strip_suffix("[1m]").unwrap_or(model);
    if let Some(models) = known.models.as_ref().filter(|models| !models.iter().any(|other| other == model)) {
        let accepted = models.join(", ");
        let problem = format!("names a model that `{provider}` does not list");
        context.refuse(sheet, MODEL, &problem, &accepted);
    }
}

fn check_connection(context: &mut Context<'_>, sheet: &Sheet, provider: &str, id: &str) {
    let problem = match context.known.connections.get(id) {
        Some(other) if other == provider => return,
        Some(other) => format!("pins the connection `{id}`, which belongs to `{other}`"),
        None => format!("pins the connection {}, which does not exist", quoted(id)),
    };
    let accepted = context.known.connection_list(Some(provider));
    context.refuse(sheet, CONNECTION, &problem, &accepted);
}

fn config(context: &mut Context<'_>, sheet: &Sheet) -> ComboConfig {
    ComboConfig {
        max_retries: sheet.count("combos[].config.max_retries"),
        retry_delay_ms: sheet.millis("combos[].config.retry_delay_ms"),
        fallback_delay_ms: sheet.millis("combos[].config.fallback_delay_ms"),
        target_timeout_ms: sheet.millis("combos[].config.target_timeout_ms"),
        failover_before_retry: sheet.flag("combos[].config.failover_before_retry"),
        slow_start_ms: sheet.millis("combos[].config.slow_start_ms"),
        combo_cooldown_wait_enabled: sheet.flag("combos[].config.combo_cooldown_wait_enabled"),
        response_validation: validation::read(context, sheet),
    }
}
