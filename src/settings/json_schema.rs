//! Bodies of the management API as JSON Schema, for `GET /api/openapi.json`.
//!
//! They are made from the table that bodies are read against: names, bounds, defaults and meanings
//! cannot drift from what is accepted.

use serde_json::{Map, Value as Json, json};

use super::connection_fields::{SECRETS, fields};
use super::effective::camel_case;
use super::json_sheet::{NAMES, has_below, segments, shown};
use super::kind::{Data, Items, Kind, Shape};
use super::patch::{Section, children};
use super::table::{self, REQUIRED, Row, SHORTHANDS};

/// Whether a body is a whole entity or a change of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What must be given is.
    Whole,
    /// Everything may be left out, and null clears.
    Change,
}

/// A body of the list at `path`, for example `combos[]`.
pub fn entity_schema(path: &str, extent: Extent) -> Json {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for segment in segments(path) {
        let key = format!("{path}.{segment}");
        // What opens a key is made here, and never given.
        if key == "keys[].key" {
            continue;
        }
        let name = shown(path, segment);
        let others = NAMES.iter().filter(|(of, other, own)| *of == path && *own == segment && *other != name);
        let others: Vec<&str> = others.map(|(_, other, _)| *other).collect();
        let needed = table::find(&key).is_some_and(|row| row.default == REQUIRED);
        let schema = below(&key, extent);
        for other in &others {
            properties.insert((*other).to_owned(), orderly(schema.clone(), &format!("the same as `{name}`")));
        }
        if needed && others.is_empty() && extent == Extent::Whole {
            properties.insert(name.clone(), schema);
            required.push(name);
        } else {
            properties.insert(name, or_null(schema));
        }
    }
    object(properties, required)
}

fn below(key: &str, extent: Extent) -> Json {
    let list = format!("{key}[]");
    match table::find(key) {
        Some(row) => leaf(row, &row.kind, false),
        None if has_below(&format!("{list}.")) => {
            // A list is given whole, also by a change.
            let entry = entity_schema(&list, Extent::Whole);
            let short = SHORTHANDS.iter().any(|(of, _)| *of == list);
            let entry = if short { json!({"anyOf": [{"type": "string"}, entry]}) } else { entry };
            json!({"type": "array", "items": entry})
        }
        None if has_below(&format!("{key}.*.")) => {
            json!({"type": "object", "additionalProperties": entity_schema(&format!("{key}.*"), extent)})
        }
        None => entity_schema(key, extent),
    }
}

/// A body of `/api/providers`.
pub fn connection_schema(extent: Extent) -> Json {
    let mut root = object(Map::new(), Vec::new());
    for (field, row) in fields() {
        let mut place = &mut root;
        let mut names = field.split('.').peekable();
        while let Some(name) = names.next() {
            let properties = place["properties"].as_object_mut().expect("an object has properties");
            let is_last = names.peek().is_none();
            place = properties.entry(name).or_insert_with(|| match is_last {
                true => or_null(leaf(row, &row.kind, false)),
                false => object(Map::new(), Vec::new()),
            });
        }
    }
    let whole = extent == Extent::Whole;
    let text = |doc: &str| json!({"type": ["string", "null"], "description": doc});
    for (field, _) in SECRETS {
        root["properties"][field] = text("a secret; one that comes back with … in it stays");
    }
    root["properties"]["proxy"] = text("http://HOST:PORT or http://USER:PASSWORD@HOST:PORT");
    root["properties"]["authType"] = text("may only repeat the provider's `auth`");
    if whole {
        root["properties"]["id"] = text("absent: made of provider and name");
        root["properties"]["provider"] = leaf_of("connections[].provider");
        root["required"] = json!(["provider"]);
    }
    root
}

/// A PATCH of a section: what it names is set, null takes it back.
pub fn section_schema(section: Section) -> Json {
    let mut schema = branch(section.name());
    if section == Section::Settings {
        schema["properties"]["modelLockout"] = or_null(branch("resilience.model_lockout"));
    }
    schema["minProperties"] = 1.into();
    schema
}

fn branch(path: &str) -> Json {
    let mut properties = Map::new();
    let mut schema = object(Map::new(), Vec::new());
    for segment in children(path) {
        let key = format!("{path}.{segment}");
        let inner = match table::find(&key) {
            Some(row) if row.fixed => continue,
            Some(row) => leaf(row, row.patch.as_ref().unwrap_or(&row.kind), true),
            None => branch(&key),
        };
        match segment {
            "*" => schema["additionalProperties"] = or_null(inner),
            segment => drop(properties.insert(camel_case(segment), or_null(inner))),
        }
    }
    schema["properties"] = properties.into();
    schema
}

fn object(properties: Map<String, Json>, required: Vec<String>) -> Json {
    let mut object = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        object["required"] = required.into();
    }
    object
}

fn leaf_of(key: &str) -> Json {
    table::find(key).map_or(Json::Null, |row| leaf(row, &row.kind, false))
}

/// `patch`: waits are numbers there, elsewhere durations are accepted as well.
fn leaf(row: &Row, kind: &Kind, patch: bool) -> Json {
    let mut schema = of_kind(kind, patch);
    let unit = if row.unit.is_empty() { String::new() } else { format!(" ({})", row.unit) };
    let idle = if row.acts { "" } else { "; not acted on yet" };
    schema["description"] = format!("{}{unit}{idle}", row.doc).into();
    schema
}

fn of_kind(kind: &Kind, patch: bool) -> Json {
    let words = || json!({"type": "string", "x-accepted": kind.accepted()});
    match kind {
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Whole(low, high) => json!({"type": "integer", "minimum": low, "maximum": high}),
        Kind::Number(low, high) => json!({"type": "number", "minimum": low, "maximum": high}),
        // A duration is a text, which these bounds are not about.
        Kind::Millis(low, high) => {
            let kinds = if patch { json!("integer") } else { json!(["integer", "string"]) };
            json!({"type": kinds, "minimum": low, "maximum": high, "x-accepted": kind.accepted()})
        }
        Kind::Span(..) | Kind::Size(..) => words(),
        Kind::Text(Shape::Instant) => json!({"type": "string", "format": "date-time"}),
        Kind::Text(Shape::Id) => json!({"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"}),
        Kind::Text(_) => words(),
        Kind::Choice(texts) => json!({"enum": texts}),
        Kind::List(Items::Of(texts)) if !patch => {
            let item = json!({"enum": texts});
            json!({"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]})
        }
        Kind::List(Items::Of(texts)) => json!({"type": "array", "items": {"enum": texts}, "minItems": 1}),
        Kind::List(Items::Among(texts)) => json!({"type": "array", "items": {"enum": texts}}),
        Kind::List(items) => {
            json!({"type": "array", "items": {"type": "string"}, "x-accepted": items.accepted()})
        }
        Kind::Codes => json!({"type": "array", "items": {"type": "integer", "minimum": 100, "maximum": 599}}),
        Kind::Secret => json!({"type": "string"}),
        Kind::Headers => json!({"type": "object", "additionalProperties": {"type": ["string", "null"]}}),
        Kind::Counts(low, high) => {
            let count = json!({"type": "integer", "minimum": low, "maximum": high});
            json!({"type": "object", "additionalProperties": count})
        }
        Kind::Data(Data::Scalar) => json!({"type": ["string", "number", "boolean"]}),
        Kind::Data(Data::Aliases) => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        Kind::Data(_) => json!({"type": "object", "x-accepted": kind.accepted()}),
    }
}

/// The schema, or null.
fn or_null(mut schema: Json) -> Json {
    match schema.get("type") {
        Some(Json::String(kind)) => schema["type"] = json!([kind, "null"]),
        Some(Json::Array(kinds)) => {
            let kinds = kinds.iter().cloned().chain(["null".into()]);
            schema["type"] = kinds.collect();
        }
        _ if schema["enum"].is_array() => {
            let texts = schema["enum"].as_array().into_iter().flatten().cloned();
            schema["enum"] = texts.chain([Json::Null]).collect();
        }
        _ => {
            if let Some(Json::Array(choices)) = schema.get_mut("anyOf") {
                choices.push(json!({"type": "null"}));
            }
        }
    }
    schema
}

fn orderly(schema: Json, doc: &str) -> Json {
    let mut schema = or_null(schema);
    schema["description"] = doc.into();
    schema
}

#[cfg(test)]
mod tests;
