//! `/api/model-combo-mappings`: other ways to a combo (routing 2.1, 14.1). Stored ones win over the
//! file's and apply at once.

use serde_json::{Map, Value};

use super::entities::{self, Edit, Entity, Made, Mode, Seen, keep_name, merge_unchecked};
use super::errors::Refusal;
use super::input;
use crate::settings::{Checked, Mapping, Settings, Stored, check_mapping, free_mapping_id};

/// Mappings, in the order they are looked at.
pub(super) struct Mappings;

impl Entity for Mappings {
    const KIND: &'static str = "mapping";
    const LIST: &'static str = "mappings";
    const READ_ONLY: &'static [&'static str] =
        &["source", "overrides", "createdAt", "updatedAt", "warning", "warnings"];

    fn rows(seen: &Seen<'_>) -> Vec<Value> {
        let mut mappings: Vec<&Mapping> = seen.loaded.settings.mappings.iter().collect();
        mappings.sort_by_key(|mapping| mapping.priority);
        mappings.into_iter().map(|mapping| show(mapping, &seen.stored)).collect()
    }

    fn show(seen: &Seen<'_>, id: &str) -> Result<Value, Refusal> {
        Ok(show(find(&seen.loaded.settings, id)?, &seen.stored))
    }

    fn create(edit: &Edit, stored: &mut Stored, mut body: Map<String, Value>) -> Result<Made, Refusal> {
        let settings = &edit.live.current().settings;
        let pattern = body.get("pattern").and_then(Value::as_str).unwrap_or_default().to_owned();
        let id = match input::id(&mut body)? {
            Some(id) if find(settings, &id).is_ok() => return Err(Refusal::Exists("mapping".into(), id)),
            Some(id) => id,
            None => free_mapping_id(&pattern, &|id| find(settings, id).is_ok()),
        };
        keep(edit, (stored, settings), &id, &body)?;
        Ok(Made::plain(id))
    }

    fn update(
        edit: &Edit,
        stored: &mut Stored,
        id: &str,
        (mut change, mode): (Map<String, Value>, Mode),
    ) -> Result<Vec<String>, Refusal> {
        let settings = &edit.live.current().settings;
        let current = find(settings, id)?;
        keep_name(&mut change, &["id"], id)?;
        let mut whole = match mode {
            Mode::Replace => Map::new(),
            Mode::Patch => fields(current),
        };
        merge_unchecked(&mut whole, change);
        keep(edit, (stored, settings), id, &whole)
    }

    fn remove(edit: &Edit, stored: &mut Stored, id: String) -> Result<(), Refusal> {
        match stored.mappings.remove(&id) {
            Some(_) => Ok(()),
            None => find(&edit.live.current().settings, &id).and(Err(Refusal::Fixed(id.clone()))),
        }
    }
}

fn keep(
    edit: &Edit,
    (stored, settings): (&mut Stored, &Settings),
    id: &str,
    body: &Map<String, Value>,
) -> Result<Vec<String>, Refusal> {
    let Checked { entity, idle } = check_mapping(settings, id, body).map_err(Refusal::of)?;
    entities::put(&mut stored.mappings, id, fields(&entity), edit.now);
    Ok(idle)
}

fn find<'a>(settings: &'a Settings, id: &str) -> Result<&'a Mapping, Refusal> {
    let found = settings.mappings.iter().find(|mapping| mapping.id == id);
    found.ok_or_else(|| Refusal::NotFound("mapping".into(), id.into()))
}

fn show(mapping: &Mapping, stored: &Stored) -> Value {
    let mut shown = Value::Object(fields(mapping));
    shown["id"] = mapping.id.as_str().into();
    entities::describe(&mut shown, (mapping.source, mapping.replaces), stored.mappings.get(&mapping.id));
    shown
}

/// A mapping as a body says it.
fn fields(mapping: &Mapping) -> Map<String, Value> {
    let mut fields = Map::from_iter([
        ("pattern".to_owned(), Value::from(mapping.pattern.as_str())),
        ("comboId".to_owned(), mapping.combo.as_str().into()),
        ("priority".to_owned(), mapping.priority.into()),
        ("enabled".to_owned(), mapping.enabled.into()),
    ]);
    if let Some(description) = &mapping.description {
        fields.insert("description".to_owned(), description.as_str().into());
    }
    fields
}
