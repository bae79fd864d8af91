//! What the `model` of an answer says, by the name that was asked for (FC-123).

use serde_json::{Map, Value as Json};

use super::Fault;
use crate::settings::kind::Shape;

/// It says what the client wrote.
pub(in crate::settings) const REQUESTED: &str = "requested";
const UPSTREAM: &str = "upstream";

/// Each name with its word.
pub(super) fn check(json: &Json, faults: &mut Vec<Fault>) -> Map<String, Json> {
    let mut checked = Map::new();
    let Some(entries) = json.as_object() else {
        faults.push(Fault::new("", "a table of names and what their answers say"));
        return checked;
    };
    for (name, word) in entries {
        if !Shape::Model.fits(name) {
            faults.push(Fault::new("", format!("names of {}", Shape::Model.accepted())));
        } else if word != UPSTREAM && word != REQUESTED {
            faults.push(Fault::new(name, format!("{UPSTREAM} | {REQUESTED}")));
        } else {
            checked.insert(name.trim().to_owned(), word.clone());
        }
    }
    checked
}

/// Whether each name of a checked value is to be said, the ones first that go before others: names
/// before patterns, longer ones before shorter ones.
pub(in crate::settings) fn naming(json: &Json) -> Vec<(String, bool)> {
    let entries = json.as_object().into_iter().flatten();
    let mut named: Vec<(String, bool)> =
        entries.map(|(name, word)| (name.clone(), word == REQUESTED)).collect();
    named.sort_by_key(|(name, _)| (name.contains('*'), std::cmp::Reverse(name.len())));
    named
}
