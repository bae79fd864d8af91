//! What operators have set through the management API, over file and environment.
//!
//! Values stand by the key of their row, as JSON. They were in bounds when they came in,
//! but the bounds may have moved since: on read a number is clamped into its bounds, and
//! what cannot be read at all is a warning, never a refusal (core 6.2).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::finding::{Findings, Place, Problem};
use super::overlay::BEATS_STORED;
use super::pool::QuotaPools;
use super::sheet::{Cell, Sheet};
use super::stored_connection::StoredConnections;
use super::stored_entities::StoredEntities;
use super::stored_key::StoredKeys;
use super::stored_provider::StoredProviders;
use super::table::{self, Row};
use super::value::Value;
use super::wire;

/// Everything that the management API has set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stored {
    /// Settings by the key of their row; in a `*` stands the name that was chosen.
    pub settings: BTreeMap<String, Json>,
    /// Connections by id.
    pub connections: StoredConnections,
    /// Providers by id.
    pub providers: StoredProviders,
    /// Client keys by name.
    pub keys: StoredKeys,
    /// Combos by name.
    pub combos: StoredEntities,
    /// Patterns of models that are a combo's, by id.
    pub mappings: StoredEntities,
    /// What other names of models stand for.
    pub aliases: BTreeMap<String, String>,
    /// Pools of accounts by id.
    pub pools: QuotaPools,
    /// Connections whose `rateLimitProtection` is set, whoever made them (flow 5.5).
    pub protected: BTreeSet<String>,
}

impl Stored {
    /// Nothing was set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Lays the stored settings over the sheet.
pub(super) fn lay(sheet: &mut Sheet, stored: &Stored, findings: &mut Findings) {
    for (key, value) in &stored.settings {
        let Some((row, name)) = locate(key).filter(|(row, _)| row.is_storable()) else {
            findings.warn(&Place::Stored, key, Problem::new("is stored, but there is no such key", ""));
            continue;
        };
        if beats_stored(sheet, row) {
            continue;
        }
        let Some(value) = read(row, value) else {
            findings.warn(
                &Place::Stored,
                key,
                Problem::new("is stored, but not usable", row.kind.accepted()),
            );
            continue;
        };
        let cell = Cell { value: Some(value), place: Place::Stored };
        match name {
            None => drop(sheet.cells.insert(row.key, cell)),
            Some(name) => drop(sheet.named_mut(table::above(row.key), name).cells.insert(row.key, cell)),
        }
    }
}

/// Whether the one variable gave it that is stronger than what is stored (flow 4.1).
fn beats_stored(sheet: &Sheet, row: &Row) -> bool {
    let place = sheet.cells.get(row.key).map(|cell| &cell.place);
    matches!(place, Some(Place::Env(name)) if name == BEATS_STORED)
}

/// The value of a row; one flag has always been read generously (core 5.2).
fn read(row: &Row, stored: &Json) -> Option<Value> {
    let flag = match stored {
        Json::String(text) => matches!(text.as_str(), "true" | "1"),
        Json::Number(number) => number.as_f64() != Some(0.0),
        _ => return wire::from_stored(&row.kind, stored),
    };
    match row.key {
        "resilience.model_lockout.enabled" => Some(Value::Flag(flag)),
        _ => wire::from_stored(&row.kind, stored),
    }
}

/// The row of a key and, if it is one of a named table, the name.
pub(super) fn locate(key: &str) -> Option<(&'static Row, Option<&str>)> {
    if let Some(row) = table::find(key).filter(|row| row.is_scalar()) {
        return Some((row, None));
    }
    table::table().iter().find_map(|row| {
        let (before, after) = row.key.split_once('*')?;
        let name = key.strip_prefix(before)?.strip_suffix(after)?;
        (!name.is_empty() && !before.contains('[')).then_some((row, Some(name)))
    })
}
