//! The targets of a combo: models of providers, or other combos (routing 1.2).

use policy::combo::{ModelSpec, StepSpec, TargetSpec};
use policy::ids::{ConnectionId, ProviderId};

use super::Context;
use crate::settings::finding::{Place, quoted};
use crate::settings::sheet::Sheet;

pub(super) const TARGETS: &str = "combos[].targets[]";
pub(super) const MODEL: &str = "combos[].targets[].model";
pub(super) const COMBO: &str = "combos[].targets[].combo";
const KIND: &str = "combos[].targets[].kind";
const PROVIDER: &str = "combos[].targets[].provider";
const CONNECTION: &str = "combos[].targets[].connection";
const ALLOWED: &str = "combos[].targets[].allowed_connections";
const ID: &str = "combos[].targets[].id";
/// The list as it is told when all of it is wrong.
pub(super) const LIST: &str = "combos[].targets";
/// Longest id that is made (routing 1.2f).
const LONGEST_ID: usize = 200;

/// Reads the targets of the combo that is called `name`, in order; `None`: it leads nowhere.
pub(super) fn read(context: &mut Context<'_>, sheet: &Sheet, name: &str) -> Vec<Option<StepSpec>> {
    let sheets = sheet.list(TARGETS);
    if sheets.is_empty() && context.checks_references() {
        let accepted = "at least one { model = \"provider/model\" }";
        context.refuse(sheet, LIST, "has no target", accepted);
    }
    let mut steps = Vec::new();
    for (index, sheet) in sheets.iter().enumerate() {
        let step = target(context, sheet).map(|target| {
            let id = sheet.text(ID).unwrap_or_else(|| made_id(name, index, &target));
            StepSpec {
                id: id.into(),
                weight: sheet.number("combos[].targets[].weight").unwrap_or_default(),
                target,
            }
        });
        steps.push(step);
    }
    steps
}

/// Routing 1.2f.
fn made_id(combo: &str, index: usize, target: &TargetSpec) -> String {
    let (kind, to) = match target {
        TargetSpec::Combo(name) => ("ref", slug(name)),
        TargetSpec::Model(model) => {
            let connection = model.connection.as_ref().map(|id| format!(":{id}")).unwrap_or_default();
            ("model", slug(&format!("{}/{}{connection}", model.provider, model.model)))
        }
    };
    let mut id = format!("{}-{kind}-{}-{to}", slug(combo), index + 1);
    id.truncate(LONGEST_ID);
    id
}

/// Lower case letters and digits, everything else one `-`.
pub(in crate::settings) fn slug(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

fn target(context: &mut Context<'_>, sheet: &Sheet) -> Option<TargetSpec> {
    let is_ref = sheet.text(KIND).map(|kind| kind == "combo-ref");
    match (sheet.text(COMBO), sheet.text(MODEL)) {
        (Some(_), Some(_)) => {
            context.refuse(sheet, COMBO, "stands beside `model`", "one of the two");
            None
        }
        (Some(_), None) if is_ref == Some(false) => {
            context.refuse(sheet, COMBO, "is no model", "`model`, or no `kind`");
            None
        }
        (Some(name), None) => combo(context, sheet, COMBO, name),
        (None, Some(text)) if is_ref == Some(true) => combo(context, sheet, MODEL, text),
        (None, Some(text)) => {
            let bare = !text.contains('/') && !sheet.is_given(PROVIDER) && is_ref.is_none();
            match bare && context.knows_combo(sheet, &text) {
                true => combo(context, sheet, MODEL, text),
                false => model(context, sheet, &text),
            }
        }
        (None, None) => {
            let told = sheet.is_given(MODEL) || sheet.is_given(COMBO) || !context.checks_references();
            if !told {
                context.refuse(sheet, MODEL, "is missing", "model = \"provider/model\" or combo = \"NAME\"");
            }
            None
        }
    }
}

fn combo(context: &mut Context<'_>, sheet: &Sheet, key: &str, name: String) -> Option<TargetSpec> {
    for other in [PROVIDER, CONNECTION, ALLOWED] {
        if sheet.is_given(other) {
            context.refuse(sheet, other, "is not looked at for a combo", "a model, or no such key");
        }
    }
    if context.checks_references() && !context.knows_combo(sheet, &name) {
        let problem = format!("names the combo {}, which does not exist", quoted(&name));
        let accepted = context.known.combo_list(sheet.place == Place::Stored);
        context.refuse(sheet, key, &problem, &accepted);
    }
    Some(TargetSpec::Combo(name.into()))
}

/// Routing 1.2e: a provider of its own goes before a model that is named without it.
fn model(context: &mut Context<'_>, sheet: &Sheet, text: &str) -> Option<TargetSpec> {
    let named = sheet.text(PROVIDER);
    let halves = match text.split_once('/') {
        Some((first, rest)) if named.as_deref().is_none_or(|named| named == first.trim()) => {
            Some((first.trim().to_owned(), rest.trim()))
        }
        _ => named.map(|provider| (provider, text.trim())),
    };
    let halves = halves.filter(|(provider, model)| !provider.is_empty() && !model.is_empty());
    let Some((provider, model)) = halves else {
        context.refuse(
            sheet,
            MODEL,
            "is not provider/model",
            "for example \"openai/gpt-5\", or the name of a combo",
        );
        return None;
    };
    let connection = sheet.text(CONNECTION);
    let allowed = sheet.texts(ALLOWED);
    if context.checks_references() {
        check_model(context, sheet, &provider, model);
        let named =
            connection.iter().map(|id| (CONNECTION, id)).chain(allowed.iter().map(|id| (ALLOWED, id)));
        named.for_each(|(key, id)| check_connection(context, sheet, key, &provider, id));
    }
    Some(TargetSpec::Model(ModelSpec {
        provider: provider.into(),
        model: model.into(),
        connection: connection.map(ConnectionId::from),
        allowed: allowed.into_iter().map(ConnectionId::from).collect(),
        prompt: sheet.text("combos[].targets[].prompt").map(Into::into),
        only_on_quota: sheet.flag("combos[].targets[].fallback_only_on_quota_exhaustion"),
    }))
}

fn check_model(context: &mut Context<'_>, sheet: &Sheet, provider: &str, model: &str) {
    let Some(known) = context.known.provider(provider, &sheet.place) else {
        let accepted = context.known.provider_list();
        let problem = format!("names the provider {}, which does not exist", quoted(provider));
        context.refuse(sheet, MODEL, &problem, &accepted);
        return;
    };
    let listed = |model: &str| match model.strip_suffix('*') {
        Some(start) => known.listed.iter().any(|other| other.starts_with(start)),
        None => known.passes || known.listed.iter().any(|other| other == model),
    };
    // routing 12.2: the suffix asks for a longer context of the same model
    if !listed(model.strip_suffix("[1m]").unwrap_or(model)) {
        let accepted = super::listed(known.listed.iter().map(String::as_str));
        let problem = match model.ends_with('*') {
            true => format!("stands for no model that `{provider}` lists"),
            false => format!("names a model that `{provider}` does not list"),
        };
        context.refuse(sheet, MODEL, &problem, &accepted);
    }
}

fn check_connection(context: &mut Context<'_>, sheet: &Sheet, key: &str, provider: &str, id: &str) {
    let verb = if key == CONNECTION { "pins" } else { "allows" };
    let problem = match context.known.connections.get(id) {
        Some(other) if other == provider => return,
        Some(other) => format!("{verb} the connection `{id}`, which belongs to `{other}`"),
        None => format!("{verb} the connection {}, which does not exist", quoted(id)),
    };
    let accepted = context.known.connection_list(Some(provider));
    context.refuse(sheet, key, &problem, &accepted);
}

/// A list of providers that exist.
pub(super) fn providers(context: &mut Context<'_>, sheet: &Sheet, key: &str) -> Vec<ProviderId> {
    let ids = sheet.texts(key);
    for id in ids.iter().filter(|_| sheet.is_given(key)) {
        if context.checks_references() && context.known.provider(id, sheet.place_of(key)).is_none() {
            let problem = format!("names the provider {}, which does not exist", quoted(id));
            let accepted = context.known.provider_list();
            context.refuse(sheet, key, &problem, &accepted);
        }
    }
    ids.into_iter().map(ProviderId::from).collect()
}
