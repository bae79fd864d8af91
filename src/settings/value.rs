//! Reads one value: from TOML or from text, checked against its kind.
//!
//! Problems never quote the value, because any of them could be a secret in the
//! wrong place.

use std::fmt;
use std::time::Duration;

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::data;
use super::finding::Problem;
use super::headers;
use super::kind::{Items, Kind, MOST_SUBSTRINGS, MOST_TAGS, SIZE_UNITS, Shape, show_size};
use super::secret::{Missing, Reference, fits_header};

/// A value that fits its kind; it is shown in canonical units, without secrets.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Flag(bool),
    /// Also milliseconds.
    Whole(u64),
    Number(f64),
    Span(Duration),
    /// Bytes.
    Size(u64),
    Text(String),
    Texts(Vec<String>),
    Codes(Vec<u16>),
    Secret(Reference),
    Headers(Vec<(String, String)>),
    Counts(Vec<(String, u64)>),
    /// Structured and checked, in the form of the management API.
    Data(Json),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Span(span) => write!(f, "{}", humantime::format_duration(*span)),
            Self::Size(bytes) => f.write_str(&show_size(*bytes)),
            Self::Text(text) => f.write_str(text),
            Self::Texts(texts) => f.write_str(&texts.join(", ")),
            Self::Codes(codes) => {
                let codes: Vec<String> = codes.iter().map(u16::to_string).collect();
                f.write_str(&codes.join(", "))
            }
            Self::Secret(reference) => write!(f, "{reference}"),
            Self::Headers(headers) => {
                let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
                f.write_str(&names.join(", "))
            }
            Self::Counts(counts) => {
                let counts: Vec<String> =
                    counts.iter().map(|(name, count)| format!("{name} = {count}")).collect();
                f.write_str(&counts.join(", "))
            }
            Self::Data(json) => write!(f, "{json}"),
        }
    }
}

/// A problem and the byte of the file where it is.
pub(super) type Located = (usize, Problem);

/// Reads a TOML value; every problem goes to `problems`.
pub(super) fn from_toml(
    kind: &Kind,
    value: &Spanned<DeValue<'_>>,
    problems: &mut Vec<Located>,
) -> Option<Value> {
    let here = value.span().start;
    let before = problems.len();
    let read = match (kind, value.get_ref()) {
        (Kind::Headers, DeValue::Table(table)) => {
            return Some(Value::Headers(headers::read(table, problems)));
        }
        (Kind::Counts(low, high), DeValue::Table(table)) => {
            return Some(Value::Counts(counts(*low, *high, table, problems)));
        }
        (Kind::List(items), DeValue::Array(array)) => {
            let texts: Vec<String> =
                array.iter().filter_map(|item| list_item(*items, item, problems)).collect();
            if problems.len() > before {
                return None;
            }
            whole_list(*items, texts)
        }
        (Kind::Codes, DeValue::Array(array)) => {
            let codes = array.iter().filter_map(|item| code(item, problems)).collect();
            return Some(Value::Codes(codes));
        }
        (Kind::Data(data), _) => {
            let (json, read) = (data::from_toml(value.get_ref()), data::Spelling::File);
            match data::check(*data, &json) {
                Ok(json) => return Some(Value::Data(json)),
                Err(faults) => {
                    let faults = faults.into_iter();
                    problems.extend(faults.map(|fault| (here, fault.problem(read))));
                    return None;
                }
            }
        }
        (kind, value) => single(kind, value),
    };
    read.map_err(|problem| problems.push((here, problem))).ok()
}

fn single(kind: &Kind, value: &DeValue<'_>) -> Result<Value, Problem> {
    let wrong_type = || Problem::new(format!("is {}", type_name(value)), kind.accepted());
    match (kind, value) {
        (Kind::Flag, DeValue::Boolean(flag)) => Ok(Value::Flag(*flag)),
        (Kind::Whole(..) | Kind::Millis(..), DeValue::Integer(number)) => whole(kind, number),
        (Kind::Number(..), DeValue::Integer(number)) => number_of(kind, number.as_str()),
        (Kind::Number(..), DeValue::Float(number)) => number_of(kind, number.as_str()),
        (Kind::Flag | Kind::Whole(..) | Kind::Number(..) | Kind::Codes, _) => Err(wrong_type()),
        (Kind::List(items), _) if !matches!(items, Items::Of(_) | Items::Substrings) => Err(wrong_type()),
        (Kind::Headers | Kind::Counts(..) | Kind::Data(_), _) => Err(wrong_type()),
        (kind, DeValue::String(text)) => from_text(kind, text),
        (Kind::Text(Shape::Instant), DeValue::Datetime(at)) => from_text(kind, &at.to_string()),
        _ => Err(wrong_type()),
    }
}

/// Reads a text: of TOML, of an environment variable, or a default of the table.
pub(super) fn from_text(kind: &Kind, text: &str) -> Result<Value, Problem> {
    match kind {
        Kind::Flag => flag(kind, text),
        Kind::Whole(low, high) => text
            .trim()
            .parse()
            .map_err(|_| Problem::new("is not a whole number", kind.accepted()))
            .and_then(|number| within(kind, number, *low, *high)),
        Kind::Number(..) => number_of(kind, text.trim()),
        Kind::Span(low, high) => {
            let span = span(kind, text)?;
            bounded(kind, span.as_millis(), *low, *high)?;
            Ok(Value::Span(span))
        }
        Kind::Millis(low, high) => millis(kind, text, *low, *high),
        Kind::Size(low, high) => {
            let bytes = size(text).ok_or_else(|| Problem::new("is not a size", kind.accepted()))?;
            bounded(kind, u128::from(bytes), *low, *high)?;
            Ok(Value::Size(bytes))
        }
        Kind::Text(shape) if shape.fits(text) => Ok(Value::Text(text.to_owned())),
        Kind::Choice(texts) if texts.contains(&text) => Ok(Value::Text(text.to_owned())),
        Kind::Text(_) | Kind::Choice(_) => Err(unfit(text, kind.accepted())),
        Kind::List(items) => list_from_text(*items, text),
        Kind::Codes => codes_from_text(kind, text),
        Kind::Secret if text.trim().is_empty() => Err(Problem::new("is empty", kind.accepted())),
        Kind::Secret if text.trim().chars().any(char::is_control) => {
            Err(Problem::new(Missing::Control.to_string(), kind.accepted()))
        }
        Kind::Secret => match Reference::parse(text) {
            Reference::Literal(secret) if !fits_header(secret.expose().trim()) => {
                Err(Problem::new(Missing::Control.to_string(), kind.accepted()))
            }
            reference => Ok(Value::Secret(reference)),
        },
        Kind::Headers => Ok(Value::Headers(Vec::new())),
        Kind::Counts(..) => Ok(Value::Counts(Vec::new())),
        Kind::Data(data) => data_from_text(kind, *data, text),
    }
}

/// A structured value stands in an environment variable as JSON.
fn data_from_text(kind: &Kind, data: super::kind::Data, text: &str) -> Result<Value, Problem> {
    let json = serde_json::from_str(text).map_err(|_| Problem::new("is not JSON", kind.accepted()))?;
    data::check(data, &json).map(Value::Data).map_err(|faults| {
        let first = faults.into_iter().next().expect("a refusal names a fault");
        first.problem(data::Spelling::Json)
    })
}

fn unfit(text: &str, accepted: String) -> Problem {
    let problem = if text.is_empty() { "is empty" } else { "is not accepted" };
    Problem::new(problem, accepted)
}

fn flag(kind: &Kind, text: &str) -> Result<Value, Problem> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(Value::Flag(true)),
        "false" | "0" | "no" | "off" => Ok(Value::Flag(false)),
        _ => Err(Problem::new("is not a flag", kind.accepted())),
    }
}

fn whole(kind: &Kind, number: &DeInteger<'_>) -> Result<Value, Problem> {
    let (Kind::Whole(low, high) | Kind::Millis(low, high)) = kind else {
        return Err(Problem::new("is a whole number", kind.accepted()));
    };
    let number = i128::from_str_radix(number.as_str(), number.radix())
        .map_err(|_| Problem::new("is not a whole number", kind.accepted()))?;
    let number = u64::try_from(number).map_err(|_| out_of_bounds(kind))?;
    within(kind, number, *low, *high)
}

pub(super) fn within(kind: &Kind, number: u64, low: u64, high: u64) -> Result<Value, Problem> {
    bounded(kind, u128::from(number), low, high)?;
    Ok(Value::Whole(number))
}

fn bounded(kind: &Kind, number: u128, low: u64, high: u64) -> Result<(), Problem> {
    let inside = (u128::from(low)..=u128::from(high)).contains(&number);
    if inside { Ok(()) } else { Err(out_of_bounds(kind)) }
}

pub(super) fn out_of_bounds(kind: &Kind) -> Problem {
    Problem::new("is out of bounds", kind.accepted())
}

fn number_of(kind: &Kind, text: &str) -> Result<Value, Problem> {
    let Kind::Number(low, high) = kind else {
        return Err(Problem::new("is a number", kind.accepted()));
    };
    let number: f64 = text.parse().map_err(|_| Problem::new("is not a number", kind.accepted()))?;
    if (*low..=*high).contains(&number) { Ok(Value::Number(number)) } else { Err(out_of_bounds(kind)) }
}

fn span(kind: &Kind, text: &str) -> Result<Duration, Problem> {
    humantime::parse_duration(text.trim()).map_err(|_| Problem::new("is not a duration", kind.accepted()))
}

fn millis(kind: &Kind, text: &str, low: u64, high: u64) -> Result<Value, Problem> {
    let number = match text.trim().parse::<u64>() {
        Ok(number) => u128::from(number),
        Err(_) => span(kind, text)?.as_millis(),
    };
    bounded(kind, number, low, high)?;
    u64::try_from(number).map(Value::Whole).map_err(|_| out_of_bounds(kind))
}

fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = SIZE_UNITS.iter().find_map(|(name, unit)| {
        let start = text.len().checked_sub(name.len())?;
        let tail = text.get(start..)?;
        tail.eq_ignore_ascii_case(name).then(|| (&text[..start], *unit))
    })?;
    number.trim_end().parse::<u64>().ok()?.checked_mul(unit)
}

fn list_item(items: Items, item: &Spanned<DeValue<'_>>, problems: &mut Vec<Located>) -> Option<String> {
    let problem = match item.get_ref() {
        DeValue::String(text) => match item_problem(items, text) {
            None => return Some(text.to_string()),
            Some(problem) => problem,
        },
        other => Problem::new(format!("holds {}", type_name(other)), items.accepted()),
    };
    problems.push((item.span().start, problem));
    None
}

pub(super) fn item_problem(items: Items, text: &str) -> Option<Problem> {
    let fits = match items {
        Items::Of(texts) => texts.contains(&text),
        Items::Patterns => Shape::Plain.fits(text),
        Items::Ids => Shape::Id.fits(text),
        Items::Globs => Shape::Plain.fits(text),
        Items::Among(texts) => texts.contains(&text),
        Items::Scopes => Shape::Plain.fits(text) && !text.contains(char::is_whitespace),
        Items::Signals => {
            (1..=200).contains(&text.trim().chars().count()) && !text.contains(char::is_control)
        }
        Items::Tags => Shape::Name.fits(text),
        Items::Substrings => (1..=1_000).contains(&text.chars().count()),
    };
    (!fits).then(|| Problem::new("holds a text that is not accepted", items.accepted()))
}

pub(super) fn whole_list(items: Items, texts: Vec<String>) -> Result<Value, Problem> {
    let most = match items {
        Items::Substrings => MOST_SUBSTRINGS,
        Items::Tags => MOST_TAGS,
        _ => usize::MAX,
    };
    if texts.len() > most {
        return Err(Problem::new(format!("holds {} texts", texts.len()), items.accepted()));
    }
    if texts.is_empty() && matches!(items, Items::Of(_) | Items::Patterns) {
        return Err(Problem::new("is an empty list", items.accepted()));
    }
    let repeated = texts.iter().enumerate().any(|(index, text)| texts[..index].contains(text));
    if repeated {
        return Err(Problem::new("holds the same text twice", items.accepted()));
    }
    Ok(Value::Texts(texts))
}

fn list_from_text(items: Items, text: &str) -> Result<Value, Problem> {
    let texts = text.split(',').map(str::trim).filter(|text| !text.is_empty());
    let texts: Vec<String> = texts.map(str::to_owned).collect();
    match texts.iter().find_map(|text| item_problem(items, text)) {
        Some(problem) => Err(problem),
        None => whole_list(items, texts),
    }
}

fn code(item: &Spanned<DeValue<'_>>, problems: &mut Vec<Located>) -> Option<u16> {
    let number = match item.get_ref() {
        DeValue::Integer(number) => whole(&Kind::Whole(100, 599), number),
        other => Err(Problem::new(format!("holds {}", type_name(other)), Kind::Codes.accepted())),
    };
    match number {
        Ok(Value::Whole(number)) => u16::try_from(number).ok(),
        Ok(_) => None,
        Err(Problem { problem, .. }) => {
            let problem = Problem::new(problem, Kind::Codes.accepted());
            problems.push((item.span().start, problem));
            None
        }
    }
}

fn counts(low: u64, high: u64, table: &DeTable<'_>, problems: &mut Vec<Located>) -> Vec<(String, u64)> {
    let kind = Kind::Whole(low, high);
    let accepted = || Kind::Counts(low, high).accepted();
    let mut found = Vec::new();
    for (name, value) in table {
        let here = name.span().start;
        let read = match value.get_ref() {
            _ if !Shape::Plain.fits(name.get_ref()) => {
                Err(Problem::new("holds a name that is none", accepted()))
            }
            DeValue::Integer(number) => whole(&kind, number),
            other => Err(Problem::new(format!("holds {}", type_name(other)), accepted())),
        };
        match read {
            Ok(Value::Whole(number)) => found.push((here, name.get_ref().to_string(), number)),
            Ok(_) => {}
            Err(problem) => problems.push((here, problem)),
        }
    }
    found.sort_by_key(|(place, ..)| *place);
    found.into_iter().map(|(_, name, count)| (name, count)).collect()
}

fn codes_from_text(kind: &Kind, text: &str) -> Result<Value, Problem> {
    let read = |text: &str| text.trim().parse::<u16>().ok().filter(|code| (100..600).contains(code));
    let codes: Option<Vec<u16>> = text.split(',').map(read).collect();
    codes.map(Value::Codes).ok_or_else(|| Problem::new("is not a list of codes", kind.accepted()))
}

/// What a TOML value is, in words.
pub(super) fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        assert_eq!(size("32MiB"), Some(32 << 20));
        assert_eq!(size("2 kb"), Some(2_000));
        assert_eq!(size("7B"), Some(7));
        assert_eq!(size("7"), None);
        assert_eq!(size("99999999999GiB"), None);
    }
}
