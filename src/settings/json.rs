//! Reads one value of a JSON body, and writes one back.
//!
//! Stricter than the file: a number is no text and a flag is no number. Secrets are taken as
//! they are; `env:` and `file:` belong to the file, because a client of the management API
//! must not make the process read this machine's files.

use serde_json::{Map, Value as Json};

use super::data;
use super::finding::Problem;
use super::kind::{Items, Kind, Shape};
use super::secret::{Reference, Secret};
use super::value::{Value, from_text, item_problem, out_of_bounds, whole_list, within};

/// What a JSON value is, in words.
pub(super) fn type_name(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(number) if number.is_f64() => "a number with a fraction",
        Json::Number(_) => "a whole number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

/// The value, if it is of its kind and in bounds.
pub(super) fn read(kind: &Kind, json: &Json) -> Result<Value, Problem> {
    match (kind, json) {
        (Kind::Flag, Json::Bool(flag)) => Ok(Value::Flag(*flag)),
        (Kind::Whole(low, high) | Kind::Millis(low, high), Json::Number(number)) if !number.is_f64() => {
            let number = number.as_u64().ok_or_else(|| out_of_bounds(kind))?;
            within(kind, number, *low, *high)
        }
        (Kind::Number(..), Json::Number(number)) => from_text(kind, &number.to_string()),
        (Kind::Secret, Json::String(text)) => secret(kind, text),
        (
            Kind::Millis(..) | Kind::Span(..) | Kind::Size(..) | Kind::Text(_) | Kind::Choice(_),
            Json::String(text),
        ) => from_text(kind, text),
        (Kind::List(Items::Of(_)), Json::String(text)) => from_text(kind, text),
        (Kind::List(items), Json::Array(entries)) => list(kind, *items, entries),
        (Kind::Counts(low, high), Json::Object(entries)) => counts(kind, *low, *high, entries),
        (Kind::Data(data), _) => data::check(*data, json).map(Value::Data).map_err(|faults| {
            let first = faults.into_iter().next().expect("a refusal names a fault");
            first.problem(data::Spelling::Json)
        }),
        _ => Err(wrong_type(kind, json)),
    }
}

fn wrong_type(kind: &Kind, json: &Json) -> Problem {
    Problem::new(format!("is {}", type_name(json)), accepted(kind))
}

/// What is accepted here: a secret is only itself.
fn accepted(kind: &Kind) -> String {
    match kind {
        Kind::Secret => "the secret itself".into(),
        kind => kind.accepted(),
    }
}

fn secret(kind: &Kind, text: &str) -> Result<Value, Problem> {
    if let Value::Secret(Reference::Env(_) | Reference::File(_)) = from_text(kind, text)? {
        let problem = "begins with `env:` or `file:`, which only config.toml may say";
        return Err(Problem::new(problem, accepted(kind)));
    }
    Ok(Value::Secret(Reference::Literal(Secret::from(text.trim()))))
}

fn list(kind: &Kind, items: Items, entries: &[Json]) -> Result<Value, Problem> {
    let text = |entry: &Json| match entry.as_str() {
        Some(text) => item_problem(items, text).map_or(Ok(text.to_owned()), Err),
        None => Err(Problem::new(format!("holds {}", type_name(entry)), kind.accepted())),
    };
    whole_list(items, entries.iter().map(text).collect::<Result<_, _>>()?)
}

fn counts(kind: &Kind, low: u64, high: u64, entries: &Map<String, Json>) -> Result<Value, Problem> {
    let count = |(name, entry): (&String, &Json)| match entry.as_u64() {
        Some(number) if (low..=high).contains(&number) && Shape::Plain.fits(name) => {
            Ok((name.clone(), number))
        }
        Some(_) => Err(Problem::new("holds an entry that is not accepted", kind.accepted())),
        None => Err(Problem::new(format!("holds {}", type_name(entry)), kind.accepted())),
    };
    Ok(Value::Counts(entries.iter().map(count).collect::<Result<_, _>>()?))
}

/// The value as JSON; what hides itself is null.
pub(super) fn write(value: &Value) -> Json {
    match value {
        Value::Flag(flag) => (*flag).into(),
        Value::Whole(number) | Value::Size(number) => (*number).into(),
        Value::Number(number) => (*number).into(),
        Value::Span(span) => humantime::format_duration(*span).to_string().into(),
        Value::Text(text) => text.as_str().into(),
        Value::Texts(texts) => texts.clone().into(),
        Value::Codes(codes) => codes.clone().into(),
        Value::Counts(counts) => counts
            .iter()
            .map(|(name, count)| (name.clone(), Json::from(*count)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Data(json) => json.clone(),
        Value::Secret(_) | Value::Headers(_) => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Kind, Shape, read};

    #[test]
    fn a_body_is_read_strictly() {
        let millis = Kind::Millis(0, 60_000);
        for (kind, json, fits) in [
            (Kind::Flag, json!(true), true),
            (Kind::Flag, json!("true"), false),
            (Kind::Flag, json!(1), false),
            (Kind::Whole(0, 9), json!(9), true),
            (Kind::Whole(0, 9), json!(10), false),
            (Kind::Whole(0, 9), json!(-1), false),
            (Kind::Whole(0, 9), json!(1.0), false),
            (Kind::Whole(0, 9), json!("1"), false),
            (millis, json!("30s"), true),
            (millis, json!("61s"), false),
            (Kind::Text(Shape::Name), json!("é".repeat(200)), true),
            (Kind::Text(Shape::Name), json!("é".repeat(201)), false),
            (Kind::Counts(1, 5), json!({"m": 5}), true),
            (Kind::Counts(1, 5), json!({"m": 6}), false),
            (Kind::Counts(1, 5), json!({" ": 1}), false),
            (Kind::Counts(1, 5), json!([1]), false),
            (Kind::Secret, json!(" sk-x "), true),
            (Kind::Secret, json!("env:HOME"), false),
            (Kind::Secret, json!("file:/etc/passwd"), false),
            (Kind::Secret, json!("a\nb"), false),
            (Kind::Secret, json!(""), false),
        ] {
            assert_eq!(read(&kind, &json).is_ok(), fits, "{json}");
        }
    }
}
