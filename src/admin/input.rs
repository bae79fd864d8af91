//! Bodies and queries of operators, read strictly: what is not known is refused by name.

use serde_json::{Map, Value};

use super::errors::Refusal;

/// The fields of a JSON object; anything but `accepted` is refused. An empty body has none.
pub(super) fn fields(body: &[u8], accepted: &[&str]) -> Result<Map<String, Value>, Refusal> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    let fields: Map<String, Value> = serde_json::from_slice(body)
        .map_err(|error| Refusal::invalid("body", format!("must be a JSON object: {error}")))?;
    match fields.keys().find(|field| !accepted.contains(&field.as_str())) {
        Some(unknown) => {
            Err(Refusal::invalid(unknown, format!("unknown field; accepted: {}", accepted.join(", "))))
        }
        None => Ok(fields),
    }
}

/// A text that may be left out.
pub(super) fn text(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, Refusal> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.trim().to_owned())),
        Some(_) => Err(Refusal::invalid(name, "must be a text that is not empty")),
    }
}

/// A switch that may be left out.
pub(super) fn flag(fields: &Map<String, Value>, name: &str) -> Result<bool, Refusal> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(on)) => Ok(*on),
        Some(_) => Err(Refusal::invalid(name, "must be true or false")),
    }
}

/// A body with at least one field.
pub(super) fn object(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) if !fields.is_empty() => Ok(fields),
        Ok(_) => Err(Refusal::invalid("body", "must be a JSON object with at least one field")),
        // The parser's own words may quote what it read.
        Err(error) => {
            let place = format!("is not JSON (line {}, column {})", error.line(), error.column());
            Err(Refusal::invalid("body", place))
        }
    }
}
