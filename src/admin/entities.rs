//! What combos and mappings have in common when operators change them: how a body becomes a
//! stored entity, and how it goes again.

use policy::time::Millis;
use serde_json::{Map, Value, json};

use super::errors::Refusal;
use crate::http::errors::rfc3339;
use crate::settings::{Source, StoredEntities, StoredEntity};

/// Whether a body is the whole entity or a change of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Replace,
    Patch,
}

/// The fields of a change: those that only describe are not read, so that what a GET showed can be
/// sent back. `of`: what it is called, under either of `names`.
pub(super) fn fields(
    mut body: Map<String, Value>,
    names: &[&str],
    of: &str,
) -> Result<Map<String, Value>, Refusal> {
    for field in READ_ONLY {
        body.remove(field);
    }
    for name in names {
        match body.remove(*name) {
            None | Some(Value::Null) => {}
            Some(Value::String(given)) if given == of => {}
            Some(_) => {
                return Err(Refusal::invalid(name, "cannot change; delete this one and make another one"));
            }
        }
    }
    Ok(body)
}

/// Fields that only describe.
const READ_ONLY: [&str; 6] = ["source", "overrides", "createdAt", "updatedAt", "warning", "warnings"];

/// RFC 7386: objects merge, null clears, everything else takes the place of what was there.
pub(super) fn merge(base: &mut Map<String, Value>, change: Map<String, Value>) {
    for (field, value) in change {
        match (base.get_mut(&field), value) {
            (_, Value::Null) => drop(base.remove(&field)),
            (Some(Value::Object(inner)), Value::Object(change)) => merge(inner, change),
            (_, value) => drop(base.insert(field, value)),
        }
    }
}

/// Stores it; the day it was first stored stays.
pub(super) fn put(entities: &mut StoredEntities, name: &str, fields: Map<String, Value>, now: Millis) {
    let created_at = entities.get(name).map_or(now, |known| known.created_at);
    entities.insert(name.to_owned(), StoredEntity { fields, created_at, updated_at: now });
}

/// Who made an entity, what is below it, and when it was changed.
pub(super) fn describe(
    shown: &mut Value,
    (source, replaces): (Source, Option<Source>),
    stored: Option<&StoredEntity>,
) {
    shown["source"] = source_name(source).into();
    if let Some(below) = replaces {
        shown["overrides"] = source_name(below).into();
    }
    if let Some(stored) = stored {
        shown["createdAt"] = rfc3339(stored.created_at).into();
        shown["updatedAt"] = rfc3339(stored.updated_at).into();
    }
}

/// The word for who made something.
pub(super) fn source_name(source: Source) -> &'static str {
    match source {
        Source::File => "file",
        Source::Stored => "stored",
        Source::Demo => "demo",
    }
}

/// Fields that do nothing yet: nothing is ignored silently.
pub(super) fn warn_of_idle(shown: &mut Value, idle: &[String]) {
    if !idle.is_empty() {
        let warning = |field: &String| json!({"field": field, "message": "is kept, but not acted on yet"});
        shown["warnings"] = idle.iter().map(warning).collect();
    }
}
