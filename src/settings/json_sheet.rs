//! A body of the management API as a sheet: the one reader of entities in JSON.
//!
//! The table says what exists, as for the file; only names differ (camel case, and the guide's
//! own words). Each value remembers the field it came from, so that what is wrong with it later is
//! told by that name; everything that is wrong is told at once.

use serde_json::{Map, Value as Json};

use super::cascade;
use super::connection_fields::Detail;
use super::effective::camel_case;
use super::finding::{Finding, Place, Problem};
use super::json;
use super::kind::Kind;
use super::sheet::{Cell, Sheet};
use super::table;

/// Names that do not follow from the key: the table's path, the name, and the key's own segment.
/// The first of a segment is how it is shown.
pub(super) const NAMES: [(&str, &str, &str); 11] = [
    ("combos[]", "system_message", "system_message"),
    ("combos[]", "tool_filter_regex", "tool_filter_regex"),
    ("combos[]", "context_cache_protection", "context_cache_protection"),
    ("combos[]", "context_length", "context_length"),
    ("combos[]", "targets", "targets"),
    ("combos[]", "models", "targets"),
    ("combos[].targets[]", "comboName", "combo"),
    ("combos[].targets[]", "providerId", "provider"),
    ("combos[].targets[]", "connectionId", "connection"),
    ("combos[].targets[]", "allowedConnectionIds", "allowed_connections"),
    ("model_combo_mappings[]", "comboId", "combo"),
];

/// What comes from elsewhere: what names an entity and what is kept sealed. Whoever has one of them
/// takes it out of the body first.
const OUTSIDE: [&str; 5] =
    ["keys[].name", "keys[].key", "providers[].id", "providers[].headers", "providers[].oauth.client_secret"];

/// A body that was read.
#[derive(Debug)]
pub(super) struct Body {
    /// What could be read.
    pub sheet: Sheet,
    /// What could not.
    pub details: Vec<Detail>,
    /// Fields by the number of their place.
    fields: Vec<String>,
}

/// Reads an entry of the list at `path`; `stored` says that it was right when it came in.
pub(super) fn read(path: &str, entries: &Map<String, Json>, stored: bool) -> Body {
    let mut reader = Reader { stored, fields: vec![String::new()], details: Vec::new() };
    let mut sheet = Sheet::new(reader.place(""));
    reader.object(path, "", entries, &mut sheet);
    let Reader { fields, details, .. } = reader;
    Body { sheet, details, fields }
}

impl Body {
    /// What must be given is.
    pub fn require(&mut self, path: &str) {
        let mut details = missing(path, "", &self.sheet);
        self.details.append(&mut details);
    }

    /// Fields that are kept, but not acted on yet.
    pub fn idle(&self) -> Vec<String> {
        let mut idle = Vec::new();
        idle_fields(&self.sheet, &self.fields, &mut idle);
        idle
    }

    /// Findings about it, by field.
    pub fn told(&self, findings: Vec<Finding>) -> Vec<Detail> {
        let refused = findings.into_iter().filter(|finding| !finding.warning);
        let detail = |finding: Finding| {
            let field = self.fields.get(finding.line).map_or("", String::as_str);
            let own = camel_case(within(&finding.key));
            let last = own.rsplit('.').next().unwrap_or(&own);
            let is_own = field.rsplit('.').next().is_some_and(|field| names(field, last));
            let field = if is_own { field.to_owned() } else { join(field, &own) };
            Detail::of(&field, Problem::new(finding.problem, finding.accepted))
        };
        refused.map(detail).collect()
    }
}

fn missing(path: &str, field: &str, sheet: &Sheet) -> Vec<Detail> {
    let detail = |segment: &str| {
        let row = table::find(&format!("{path}.{segment}")).filter(|row| row.default == table::REQUIRED)?;
        let absent = !sheet.is_given(row.key) && !OUTSIDE.contains(&row.key);
        let problem = || Problem::new("is missing", row.kind.accepted());
        absent.then(|| Detail::of(&join(field, &shown(path, segment)), problem()))
    };
    segments(path).into_iter().filter_map(detail).collect()
}

fn idle_fields(sheet: &Sheet, fields: &[String], idle: &mut Vec<String>) {
    for (key, cell) in &sheet.cells {
        if let (Some(false), Place::Line(line)) = (table::find(key).map(|row| row.acts), &cell.place) {
            idle.push(fields.get(*line).cloned().unwrap_or_default());
        }
    }
    let named = sheet.named.values().flatten().map(|(_, inner)| inner);
    sheet.lists.values().flatten().chain(named).for_each(|inner| idle_fields(inner, fields, idle));
}

/// The part of a key that stands within its entry of a list or named table.
fn within(key: &str) -> &str {
    let key = key.trim_end_matches("[]");
    let begins = ["[].", "*."].iter().filter_map(|end| key.rfind(end).map(|at| at + end.len()));
    &key[begins.max().unwrap_or(0)..]
}

/// Whether a field's last name is a key's, in whatever spelling.
fn names(field: &str, own: &str) -> bool {
    let field = field.split('[').next().unwrap_or(field);
    let other = NAMES.iter().find(|(_, name, _)| *name == field).map(|(_, _, segment)| camel_case(segment));
    field == own || other.as_deref() == Some(own)
}

fn join(field: &str, name: &str) -> String {
    if field.is_empty() { name.to_owned() } else { format!("{field}.{name}") }
}

struct Reader {
    stored: bool,
    fields: Vec<String>,
    details: Vec<Detail>,
}

impl Reader {
    /// A number for the field, in the place of a line.
    fn place(&mut self, field: &str) -> Place {
        if self.stored {
            return Place::Stored;
        }
        self.fields.push(field.to_owned());
        Place::Line(self.fields.len() - 1)
    }

    fn object(&mut self, path: &str, field: &str, entries: &Map<String, Json>, sheet: &mut Sheet) {
        for (name, value) in entries {
            if cascade::is_dropped(path, name) {
                continue;
            }
            let here = join(field, name);
            let Some(key) = key(path, name).filter(|key| !OUTSIDE.contains(&key.as_str())) else {
                self.unknown(path, field, name);
                continue;
            };
            if value.is_null() {
                continue;
            }
            if let Some(row) = table::find(&key) {
                self.leaf(row, &here, value, sheet);
            } else if has_below(&format!("{key}[].")) {
                self.list(&format!("{key}[]"), &here, value, sheet);
            } else if has_below(&format!("{key}.*.")) {
                self.named(&format!("{key}.*"), &here, value, sheet);
            } else if let Some(entries) = self.entries(&here, value) {
                self.object(&key, &here, entries, sheet);
            }
        }
    }

    fn leaf(&mut self, row: &'static table::Row, field: &str, value: &Json, sheet: &mut Sheet) {
        if sheet.is_given(row.key) {
            return self.wrong(field, "is given twice, in two spellings", "one of them");
        }
        let place = self.place(field);
        let value =
            json::read(&row.kind, value).map_err(|problem| self.details.push(Detail::of(field, problem)));
        sheet.cells.insert(row.key, Cell { value: value.ok(), place });
    }

    fn list(&mut self, path: &str, field: &str, value: &Json, sheet: &mut Sheet) {
        let Json::Array(entries) = value else {
            return self.wrong(field, &format!("is {}", json::type_name(value)), "a list of objects");
        };
        if sheet.lists.contains_key(path) {
            return self.wrong(field, "is given twice, in two spellings", "one of them");
        }
        let shorthand = table::SHORTHANDS.iter().find(|(list, _)| *list == path);
        let mut sheets = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let here = format!("{field}[{index}]");
            let mut inner = Sheet::new(self.place(&here));
            match (entry, shorthand) {
                (Json::String(_), Some((_, key))) => {
                    let row = table::find(key).expect("a shorthand names a row");
                    self.leaf(row, &here, entry, &mut inner);
                }
                _ => match self.entries(&here, entry) {
                    Some(entries) => {
                        self.object(path, &here, entries, &mut inner);
                        self.details.extend(missing(path, &here, &inner));
                    }
                    None => continue,
                },
            }
            sheets.push(inner);
        }
        sheet.lists.insert(path.to_owned(), sheets);
    }

    fn named(&mut self, path: &str, field: &str, value: &Json, sheet: &mut Sheet) {
        let Some(entries) = self.entries(field, value) else { return };
        let mut named = Vec::new();
        for (name, value) in entries {
            let here = join(field, name);
            let mut inner = Sheet::new(self.place(&here));
            if let Some(entries) = self.entries(&here, value) {
                self.object(path, &here, entries, &mut inner);
                named.push((name.clone(), inner));
            }
        }
        sheet.named.insert(path.to_owned(), named);
    }

    fn entries<'v>(&mut self, field: &str, value: &'v Json) -> Option<&'v Map<String, Json>> {
        if value.as_object().is_none() {
            self.wrong(field, &format!("is {}", json::type_name(value)), "an object");
        }
        value.as_object()
    }

    fn wrong(&mut self, field: &str, problem: &str, accepted: &str) {
        self.details.push(Detail::of(field, Problem::new(problem, accepted)));
    }

    /// What stands where a field should be may be a secret in the wrong place.
    fn unknown(&mut self, path: &str, field: &str, name: &str) {
        let plain = name.len() <= 32 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let shown = if plain { name } else { "(a name that is none)" };
        let secret = |segment: &str| {
            table::find(&format!("{path}.{segment}")).is_some_and(|row| row.kind == Kind::Secret)
        };
        let known = segments(path).into_iter().filter(|segment| !secret(segment));
        let known: Vec<String> = known.map(|segment| self::shown(path, segment)).collect();
        self.wrong(&join(field, shown), "unknown field", &known.join(", "));
    }
}

/// The key of a field; `None`: there is none.
fn key(path: &str, name: &str) -> Option<String> {
    let other = NAMES.iter().find(|(of, other, _)| *of == path && *other == name);
    let own = || segments(path).into_iter().find(|segment| camel_case(segment) == name);
    let segment = other.map(|(_, _, segment)| *segment).or_else(own)?;
    Some(format!("{path}.{segment}"))
}

/// The fields of an entry of the list at `path` under the names that they are shown by. One that is
/// there in two spellings stays so, and is refused for it.
pub(super) fn as_shown(path: &str, fields: Map<String, Json>) -> Map<String, Json> {
    let own = |name: &str| {
        let key = key(path, name)?;
        Some(shown(path, key.rsplit_once('.')?.1))
    };
    let (mut named, others): (Map<String, Json>, Map<String, Json>) =
        fields.into_iter().partition(|(name, _)| own(name).is_none_or(|own| own == *name));
    for (name, value) in others {
        let free = own(&name).filter(|own| !named.contains_key(own));
        named.insert(free.unwrap_or(name), value);
    }
    named
}

pub(super) fn has_below(start: &str) -> bool {
    table::table().iter().any(|row| row.key.starts_with(start))
}

/// The segments below a path, in the table's order.
pub(super) fn segments(path: &str) -> Vec<&'static str> {
    let below = |row: &'static table::Row| row.key.strip_prefix(path)?.strip_prefix('.');
    let mut segments = Vec::new();
    for segment in table::table().iter().filter_map(below) {
        let segment = segment.split(['.', '[']).next().unwrap_or(segment);
        if !segments.contains(&segment) {
            segments.push(segment);
        }
    }
    segments
}

pub(super) fn shown(path: &str, segment: &str) -> String {
    const AS_GIVEN: [&str; 3] = ["provider", "connection", "allowed_connections"];
    let other = NAMES.iter().find(|(of, _, own)| *of == path && *own == segment && !AS_GIVEN.contains(own));
    other.map_or_else(|| camel_case(segment), |(_, name, _)| (*name).to_owned())
}
