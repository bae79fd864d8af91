//! Settings as JSON: from the store, from a PATCH, and for readers.
//!
//! What is stored was checked when it came in, but bounds move: it is clamped. What an
//! operator sends now is refused instead, so that nobody is surprised by another number.

use serde_json::Value as Json;

use super::data;
use super::json;
use super::kind::Kind;
use super::value::{self, Value};

/// Reads what the store has: numbers are truncated and clamped, also from text; what has another
/// type is not used (core 6.2).
pub(super) fn from_stored(kind: &Kind, json: &Json) -> Option<Value> {
    match (kind, json) {
        (Kind::Flag, Json::Bool(flag)) => Some(Value::Flag(*flag)),
        (Kind::Whole(low, high) | Kind::Millis(low, high), _) => {
            number(json).map(|number| Value::Whole((number as u64).clamp(*low, *high)))
        }
        (Kind::Number(low, high), _) => number(json).map(|number| Value::Number(number.clamp(*low, *high))),
        (Kind::Codes, Json::Array(items)) => {
            let codes = items.iter().filter_map(number).map(|number| number as u16);
            Some(Value::Codes(codes.filter(|code| (100..600).contains(code)).collect()))
        }
        (Kind::List(items), Json::Array(texts)) => {
            let texts = texts.iter().filter_map(Json::as_str);
            let texts = texts.filter(|text| value::item_problem(*items, text).is_none()).map(str::to_owned);
            value::whole_list(*items, texts.collect()).ok()
        }
        (Kind::Span(..) | Kind::Size(..) | Kind::Text(_) | Kind::Choice(_), Json::String(text)) => {
            value::from_text(kind, text).ok()
        }
        (Kind::Data(data), json) => data::check(*data, json).ok().map(Value::Data),
        _ => None,
    }
}

/// A finite number, or the text of one. Casts of it saturate, which is the clamp that is wanted.
fn number(json: &Json) -> Option<f64> {
    let number = match json {
        Json::String(text) => text.trim().parse().ok()?,
        other => other.as_f64()?,
    };
    number.is_finite().then_some(number)
}

/// What is wrong with a value that an operator sent: where in it, and what it must be.
pub(super) type Fault = (String, String);

/// Reads what an operator sends. The text of a whole number is one (core 6.2), nothing else is bent.
pub(super) fn from_patch(kind: &Kind, json: &Json) -> Result<Value, Vec<Fault>> {
    let accepted = || match kind {
        // Waits in JSON are numbers; the file alone knows durations.
        Kind::Millis(low, high) => format!("whole milliseconds from {low} to {high}"),
        kind => kind.accepted(),
    };
    let wrong = || vec![(String::new(), format!("must be {}", accepted()))];
    match (kind, json) {
        (Kind::Flag, Json::Bool(flag)) => Ok(Value::Flag(*flag)),
        (Kind::Whole(low, high) | Kind::Millis(low, high), _) => {
            let whole = whole(json).filter(|whole| (*low..=*high).contains(whole));
            whole.map(Value::Whole).ok_or_else(wrong)
        }
        (Kind::Number(low, high), _) => {
            let number = json.as_f64().filter(|number| (*low..=*high).contains(number));
            number.map(Value::Number).ok_or_else(wrong)
        }
        (Kind::Codes, Json::Array(items)) => {
            let codes: Option<Vec<u64>> =
                items.iter().map(|item| whole(item).filter(|code| (100..600).contains(code))).collect();
            let codes = codes.map(|codes| codes.into_iter().map(|code| code as u16).collect());
            codes.map(Value::Codes).ok_or_else(wrong)
        }
        (Kind::List(items), Json::Array(list)) => {
            let texts: Option<Vec<String>> =
                list.iter().map(|item| item.as_str().map(str::to_owned)).collect();
            let texts =
                texts.filter(|texts| texts.iter().all(|text| value::item_problem(*items, text).is_none()));
            texts.and_then(|texts| value::whole_list(*items, texts).ok()).ok_or_else(wrong)
        }
        (Kind::Text(_) | Kind::Choice(_), Json::String(text)) => {
            value::from_text(kind, text).map_err(|_| wrong())
        }
        (Kind::Data(data), _) => data::check(*data, json).map(Value::Data).map_err(|faults| {
            faults.into_iter().map(|fault| (fault.path, format!("must be {}", fault.accepted))).collect()
        }),
        _ => Err(wrong()),
    }
}

/// A whole number that is not negative, or the text of one.
fn whole(json: &Json) -> Option<u64> {
    match json {
        Json::String(text) => text.trim().parse().ok(),
        other => other.as_u64().or_else(|| {
            let number = other.as_f64()?;
            // 5.0 is 5 to whoever sends it.
            (number.fract() == 0.0 && (0.0..1e15).contains(&number)).then_some(number as u64)
        }),
    }
}

/// The value for readers and for the store; a secret stays hidden.
pub(super) fn show(value: &Value) -> Json {
    match value {
        Value::Secret(_) | Value::Headers(_) => value.to_string().into(),
        other => json::write(other),
    }
}
