//! Entities in the words of the management API: the keys of the file, in camel case. What a sheet
//! says, as a body of the list at a path, and what is wrong with it.

use serde_json::{Map, Value as Json};

use super::connection_fields::Detail;
use super::effective::camel_case;
use super::finding::{Finding, Place, Problem};
use super::json;
use super::json_sheet::{has_below, segments, shown};
use super::kind::Kind;
use super::sheet::{Cell, Sheet};
use super::table;
use super::value::Value;

/// What a sheet says, as a body of the list at `path`.
pub(super) fn write(sheet: &Sheet, path: &str) -> Map<String, Json> {
    let mut body = Map::new();
    for (key, cell) in &sheet.cells {
        if let (Some(rest), Some(value)) = (below(key, path), &cell.value) {
            // What hides itself is left out.
            let json = Some(json::write(value)).filter(|json| !json.is_null());
            json.into_iter().for_each(|json| put(&mut body, path, rest, json));
        }
    }
    for (key, sheets) in &sheet.lists {
        let Some(rest) = below(key, path).and_then(|rest| rest.strip_suffix("[]")) else { continue };
        let entries = sheets.iter().map(|sheet| Json::Object(write(sheet, key)));
        put(&mut body, path, rest, entries.collect());
    }
    for (key, tables) in &sheet.named {
        let Some(rest) = below(key, path).and_then(|rest| rest.strip_suffix(".*")) else { continue };
        let tables = tables.iter().map(|(name, sheet)| (name.clone(), Json::Object(write(sheet, key))));
        put(&mut body, path, rest, Json::Object(tables.collect()));
    }
    body
}

fn below<'k>(key: &'k str, path: &str) -> Option<&'k str> {
    key.strip_prefix(path)?.strip_prefix('.')
}

fn put(object: &mut Map<String, Json>, path: &str, rest: &str, value: Json) {
    match rest.split_once('.') {
        None => drop(object.insert(shown(path, rest), value)),
        Some((segment, rest)) => {
            let inner = object.entry(camel_case(segment)).or_insert_with(|| Json::Object(Map::new()));
            let path = format!("{path}.{segment}");
            put(inner.as_object_mut().expect("a field above others is an object"), &path, rest, value);
        }
    }
}

/// All of it: what was not given is its default, else an empty list, else null.
pub(super) fn whole(sheet: &Sheet, path: &str) -> Map<String, Json> {
    let mut body = Map::new();
    for segment in segments(path) {
        let key = format!("{path}.{segment}");
        let list = format!("{key}[]");
        let json = match table::find(&key) {
            Some(row) => match (sheet.value(row.key), row.kind) {
                (Some(value), _) => json::write(&value),
                (None, Kind::List(_)) => Json::Array(Vec::new()),
                (None, _) => Json::Null,
            },
            None if has_below(&format!("{list}.")) => sheet.lists.get(&list).map_or(Json::Null, |entries| {
                entries.iter().map(|entry| Json::from(write(entry, &list))).collect()
            }),
            None => Some(whole(sheet, &key))
                .filter(|inner| {
                    inner.values().any(|json| !json.is_null() && *json != Json::Array(Vec::new()))
                })
                .map_or(Json::Null, Json::from),
        };
        body.insert(shown(path, segment), json);
    }
    body
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
