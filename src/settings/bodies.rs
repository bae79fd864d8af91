//! Entities in the words of the management API: the keys of the file, in camel case.
//!
//! A body is read against the same rows as the file, so both are refused for the same reasons;
//! everything that is wrong is told at once, each by its place. Secrets, headers and what names the
//! entity come from elsewhere: a caller takes them out first.

use serde_json::{Map, Value as Json};

use super::connection_fields::Detail;
use super::effective::camel_case;
use super::finding::{Finding, Place, Problem};
use super::json;
use super::kind::Kind;
use super::patch::children;
use super::sheet::{Cell, Sheet};
use super::table::{self, REQUIRED, Row, SHORTHANDS};
use super::value::Value;

/// Reads a body of a list's entity. `outside`: rows that come from elsewhere.
pub(super) fn read(
    list: &str,
    body: &Map<String, Json>,
    place: &Place,
    outside: &[&str],
) -> (Sheet, Vec<Detail>) {
    let mut reader = Reader { place, outside, details: Vec::new() };
    let mut sheet = Sheet::new(place.clone());
    reader.object(list, "", body, &mut sheet);
    reader.missing(list, "", &sheet);
    (sheet, reader.details)
}

struct Reader<'a> {
    place: &'a Place,
    outside: &'a [&'a str],
    details: Vec<Detail>,
}

impl Reader<'_> {
    /// `path`: of the rows; `at`: of the field, with a dot at its end unless it is empty.
    fn object(&mut self, path: &str, at: &str, entries: &Map<String, Json>, sheet: &mut Sheet) {
        for (name, json) in entries {
            let segment = children(path).into_iter().find(|segment| field(segment) == *name);
            let row = segment.map(|segment| format!("{path}.{segment}"));
            let Some(key) = row.filter(|key| !self.outside.contains(&key.as_str())) else {
                self.unknown(path, at, name);
                continue;
            };
            if !json.is_null() {
                self.value(&key, &format!("{at}{name}"), json, sheet);
            }
        }
    }

    fn value(&mut self, key: &str, at: &str, json: &Json, sheet: &mut Sheet) {
        match (table::find(key), json) {
            (Some(row), json) => self.cell(row, at, json, sheet),
            (None, Json::Array(entries)) if key.ends_with("[]") => {
                let read = |(index, entry)| self.entry(key, &format!("{at}[{index}]"), entry);
                let sheets = entries.iter().enumerate().map(read).collect();
                sheet.lists.insert(key.to_owned(), sheets);
            }
            (None, Json::Object(entries)) if !key.ends_with("[]") => {
                self.object(key, &format!("{at}."), entries, sheet);
            }
            (None, other) => {
                let accepted = if key.ends_with("[]") { "a list of objects" } else { "an object" };
                let problem = Problem::new(format!("is {}", json::type_name(other)), accepted);
                self.details.push(Detail::of(at, problem));
            }
        }
    }

    fn cell(&mut self, row: &'static Row, at: &str, json: &Json, sheet: &mut Sheet) {
        match json::read(&row.kind, json) {
            Ok(value) => {
                let cell = Cell { value: Some(value), place: self.place.clone() };
                sheet.cells.insert(row.key, cell);
            }
            Err(problem) => self.details.push(Detail::of(at, problem)),
        }
    }

    fn entry(&mut self, list: &str, at: &str, json: &Json) -> Sheet {
        let mut sheet = Sheet::new(self.place.clone());
        let short = SHORTHANDS.iter().find(|(of, _)| *of == list).and_then(|(_, key)| table::find(key));
        match (json, short) {
            (Json::Object(entries), _) => {
                let before = self.details.len();
                self.object(list, &format!("{at}."), entries, &mut sheet);
                if self.details.len() == before {
                    self.missing(list, &format!("{at}."), &sheet);
                }
            }
            (Json::String(_), Some(row)) => self.cell(row, at, json, &mut sheet),
            (other, _) => {
                let problem = Problem::new(format!("is {}", json::type_name(other)), "an object");
                self.details.push(Detail::of(at, problem));
            }
        }
        sheet
    }

    fn missing(&mut self, path: &str, at: &str, sheet: &Sheet) {
        for segment in children(path) {
            let key = format!("{path}.{segment}");
            let Some(row) = table::find(&key).filter(|row| row.default == REQUIRED) else { continue };
            let place = format!("{at}{}", field(segment));
            let told = self.details.iter().any(|detail| detail.field == place);
            if !told && !self.outside.contains(&row.key) && !sheet.is_given(row.key) {
                self.details.push(Detail::of(&place, Problem::new("is missing", row.kind.accepted())));
            }
        }
    }

    /// What stands where a field should be may be a secret in the wrong place.
    fn unknown(&mut self, path: &str, at: &str, name: &str) {
        let secret = |segment: &&str| {
            table::find(&format!("{path}.{segment}")).is_some_and(|row| row.kind == Kind::Secret)
        };
        let known: Vec<String> = children(path).into_iter().filter(|it| !secret(it)).map(field).collect();
        let plain = name.len() <= 32 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let shown = if plain { name } else { "(a name that is none)" };
        let message = format!("unknown field, accepted: {}", known.join(", "));
        self.details.push(Detail::new(&format!("{at}{shown}"), message));
    }
}

/// A segment of a row as a field: `rate_limits[]` is `rateLimits`.
fn field(segment: &str) -> String {
    camel_case(segment.trim_end_matches("[]"))
}

/// What was given, as a body would say it; what hides itself is left out.
pub(super) fn given(path: &str, sheet: &Sheet) -> Map<String, Json> {
    let mut fields = Map::new();
    for segment in children(path) {
        let key = format!("{path}.{segment}");
        let json = match table::find(&key) {
            Some(row) => sheet.cells.get(row.key).and_then(|cell| Some(json::write(cell.value.as_ref()?))),
            None if key.ends_with("[]") => {
                let entries = sheet.lists.get(&key);
                entries.map(|entries| entries.iter().map(|entry| Json::from(given(&key, entry))).collect())
            }
            None => Some(Json::from(given(&key, sheet))).filter(|inner| *inner != Json::from(Map::new())),
        };
        if let Some(json) = json.filter(|json| !json.is_null()) {
            fields.insert(field(segment), json);
        }
    }
    fields
}

/// All of it: what was not given is its default, else an empty list, else null.
pub(super) fn whole(path: &str, sheet: &Sheet) -> Map<String, Json> {
    let mut fields = Map::new();
    for segment in children(path) {
        let key = format!("{path}.{segment}");
        let json = match table::find(&key) {
            Some(row) => match (sheet.value(row.key), row.kind) {
                (Some(value), _) => json::write(&value),
                (None, Kind::List(_)) => Json::Array(Vec::new()),
                (None, _) => Json::Null,
            },
            None if key.ends_with("[]") => sheet.lists.get(&key).map_or(Json::Null, |entries| {
                entries.iter().map(|entry| Json::from(given(&key, entry))).collect()
            }),
            None => Some(whole(&key, sheet))
                .filter(|inner| {
                    inner.values().any(|json| !json.is_null() && *json != Json::Array(Vec::new()))
                })
                .map_or(Json::Null, Json::from),
        };
        fields.insert(field(segment), json);
    }
    fields
}

/// A text that stands for the whole of a cell.
pub(super) fn text_cell(text: &str, place: &Place) -> Cell {
    Cell { value: Some(Value::Text(text.to_owned())), place: place.clone() }
}

/// Findings about an entity that came as a body.
pub(super) fn details(list: &str, findings: Vec<Finding>) -> Vec<Detail> {
    let refused = findings.into_iter().filter(|finding| !finding.warning);
    let detail = |finding: Finding| {
        let below = finding.key.strip_prefix(list).map_or(&*finding.key, |rest| rest.trim_start_matches('.'));
        let problem = Problem::new(words(list, &finding.problem), words(list, &finding.accepted));
        Detail::of(&camel_case(below), problem)
    };
    refused.map(detail).collect()
}

/// The file's words for fields, as the API spells them.
fn words(list: &str, text: &str) -> String {
    let rows = table::table().iter().filter_map(|row| row.key.strip_prefix(list));
    let mut names: Vec<&str> = rows.flat_map(|below| below.split(['.', '['])).collect();
    names.retain(|name| name.contains('_'));
    names.iter().fold(text.to_owned(), |text, name| text.replace(name, &camel_case(name)))
}
