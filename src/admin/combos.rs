//! `/api/combos`: combos as they are in force (routing 1, 14). What is made or changed here is
//! stored, wins over the file's combo of the same name, and applies at once; requests that
//! run keep what they began with.

use policy::combo::TargetSpec;
use policy::strategy;
use serde_json::{Map, Value, json};

use super::entities::{self, Edit, Entity, Made, Mode, Seen, keep_name, merge_unchecked};
use super::errors::Refusal;
use crate::settings::{Checked, Combo, Settings, Stored, check_combo, combo_fields, fits_combo_name};

/// Combos.
pub(super) struct Combos;

impl Entity for Combos {
    const KIND: &'static str = "combo";
    const LIST: &'static str = "combos";
    const SEGMENT: &'static str = "{id:.+}";
    const READ_ONLY: &'static [&'static str] =
        &["source", "overrides", "createdAt", "updatedAt", "warning", "warnings"];

    fn rows(seen: &Seen<'_>) -> Vec<Value> {
        let mut combos: Vec<&Combo> = seen.loaded.settings.combos.iter().collect();
        combos.sort_by(|a, b| a.name.cmp(&b.name));
        combos.into_iter().map(|combo| show(combo, &seen.stored)).collect()
    }

    fn show(seen: &Seen<'_>, name: &str) -> Result<Value, Refusal> {
        Ok(show(find(&seen.loaded.settings, name)?, &seen.stored))
    }

    fn warning(seen: &Seen<'_>, name: &str) -> Option<Value> {
        let (provider, model) = shadowed(&seen.loaded.settings, name)?;
        Some(json!({
            "code": "COMBO_NAME_SHADOWS_MODEL",
            "modelId": model,
            "providerId": provider,
            "message": "a model has this name, too; who asks for it gets the combo",
        }))
    }

    fn create(edit: &Edit, stored: &mut Stored, mut body: Map<String, Value>) -> Result<Made, Refusal> {
        let name = match body.get("name") {
            Some(Value::String(name)) if fits_combo_name(name) => name.clone(),
            given => return Err(Refusal::invalid("name", bad_name(given))),
        };
        body.retain(|field, _| !Self::READ_ONLY.contains(&field.as_str()));
        keep_name(&mut body, &["name", "id"], &name)?;
        let settings = &edit.live.current().settings;
        if find(settings, &name).is_ok() {
            let message = "is another combo's name already, accepted: a name of its own";
            return Err(Refusal::invalid("name", message));
        }
        let idle = keep(edit, (stored, settings), &name, &body)?;
        Ok(Made { idle, ..Made::plain(name) })
    }

    fn update(
        edit: &Edit,
        stored: &mut Stored,
        name: &str,
        (mut change, mode): (Map<String, Value>, Mode),
    ) -> Result<Vec<String>, Refusal> {
        let settings = &edit.live.current().settings;
        let current = find(settings, name)?;
        keep_name(&mut change, &["name", "id"], name)?;
        let mut fields = Map::new();
        if mode == Mode::Patch {
            fields = current.given.clone();
            change = combo_fields(change);
        }
        merge_unchecked(&mut fields, change);
        keep(edit, (stored, settings), name, &fields)
    }

    /// Combos that name it lose what it stood for (routing 14.4).
    fn remove(edit: &Edit, stored: &mut Stored, name: String) -> Result<(), Refusal> {
        match stored.combos.remove(&name) {
            Some(_) => Ok(()),
            None => find(&edit.live.current().settings, &name).and(Err(Refusal::Fixed(name.clone()))),
        }
    }
}

fn bad_name(given: Option<&Value>) -> String {
    let problem = match given {
        None | Some(Value::Null) => "is missing",
        Some(_) => "is not accepted",
    };
    format!("{problem}, accepted: 1 to 100 characters of A-Z a-z 0-9 _ / . - [ ] and blank")
}

/// Checks a combo and stores it; its fields that do nothing yet.
fn keep(
    edit: &Edit,
    (stored, settings): (&mut Stored, &Settings),
    name: &str,
    fields: &Map<String, Value>,
) -> Result<Vec<String>, Refusal> {
    let checked = check_combo(settings, &strategy::names(), name, fields).map_err(Refusal::of)?;
    let Checked { entity, idle } = checked;
    entities::put(&mut stored.combos, name, entity.given, edit.now);
    Ok(idle)
}

fn find<'a>(settings: &'a Settings, name: &str) -> Result<&'a Combo, Refusal> {
    let found = settings.combos.iter().find(|combo| combo.name == name);
    found.ok_or_else(|| Refusal::NotFound("combo".into(), name.into()))
}

/// The model that cannot be asked for under this name any more (routing 14.4).
fn shadowed(settings: &Settings, name: &str) -> Option<(String, String)> {
    let halves = name.split_once('/').map(|(provider, model)| (provider.trim(), model.trim()));
    settings.providers.iter().find_map(|provider| {
        let lists = |model: &str| provider.models.iter().flatten().any(|known| known.id.as_str() == model);
        let passes = provider.models.is_none() || provider.passthrough_models;
        let of = halves.filter(|(of, model)| *of == provider.id.as_str() && !model.is_empty());
        let model = match of {
            Some((_, model)) if passes || lists(model) => model,
            _ if lists(name) => name,
            _ => return None,
        };
        Some((provider.id.to_string(), model.to_owned()))
    })
}

/// A combo as it was given, with what was left out that everybody asks for.
fn show(combo: &Combo, stored: &Stored) -> Value {
    let mut shown = Value::Object(combo.given.clone());
    shown["id"] = combo.name.as_str().into();
    shown["name"] = combo.name.as_str().into();
    shown["strategy"] = combo.strategy.as_str().into();
    for target in shown["targets"].as_array_mut().into_iter().flatten() {
        complete(target, combo);
    }
    entities::describe(&mut shown, (combo.source, combo.replaces), stored.combos.get(&combo.name));
    shown
}

fn complete(target: &mut Value, combo: &Combo) {
    let Some(step) = combo.targets.iter().find(|step| target["id"] == *step.id) else { return };
    let Some(fields) = target.as_object_mut() else { return };
    fields.insert("weight".into(), step.weight.into());
    match &step.target {
        TargetSpec::Model(model) => {
            fields.remove("provider");
            fields.insert("kind".into(), "model".into());
            fields.insert("model".into(), format!("{}/{}", model.provider, model.model).into());
            fields.entry("connection").or_insert(Value::Null);
        }
        TargetSpec::Combo(name) => {
            fields.remove("model");
            fields.insert("kind".into(), "combo-ref".into());
            fields.insert("comboName".into(), (**name).into());
        }
    }
}
