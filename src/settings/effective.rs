//! What is in force and who gave it: for `switchtower settings` and the management API.

use serde_json::{Map, Value as Json};

use super::finding::{Findings, Place, Problem};
use super::kind::Kind;
use super::sheet::{Origin, Sheet};
use super::stored_connection;
use super::table::{self, Row};
use super::value::Value;
use super::wire;

/// One key of a section as it is in force. A connection with a value of its own is listed once
/// more, under the key whose place its value takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// The key, for example `server.listen`.
    pub key: String,
    /// Its value in canonical units; empty: none; a literal secret is redacted.
    pub value: String,
    /// The same for programs; null: none.
    pub json: Json,
    /// Who gave it.
    pub origin: Origin,
    /// Whether something is done with it yet.
    pub acts: bool,
    /// Where it stands in the management API's JSON.
    path: Vec<String>,
}

/// Keys of a connection that take the place of a section's.
const OVERRIDES: [(&str, &str); 19] = [
    ("connections[].timeouts.connect", "upstream.connect_timeout"),
    ("connections[].timeouts.first_byte", "upstream.first_byte_timeout"),
    ("connections[].timeouts.body", "upstream.body_timeout"),
    ("connections[].timeouts.first_content", "stream.first_content_timeout"),
    ("connections[].timeouts.content_stall", "stream.content_stall_timeout"),
    ("connections[].timeouts.idle", "stream.idle_timeout"),
    ("connections[].timeouts.total", "stream.total_timeout"),
    ("connections[].timeouts.attempt", "stream.attempt_deadline"),
    ("connections[].watchdog.enabled", "resilience.stream_recovery.throughput_watchdog.enabled"),
    ("connections[].watchdog.warmup", "resilience.stream_recovery.throughput_watchdog.warmup_ms"),
    ("connections[].watchdog.window", "resilience.stream_recovery.throughput_watchdog.window_ms"),
    (
        "connections[].watchdog.min_bytes_per_second",
        "resilience.stream_recovery.throughput_watchdog.min_useful_bytes_per_second",
    ),
    ("connections[].watchdog.min_bytes", "resilience.stream_recovery.throughput_watchdog.min_useful_bytes"),
    (
        "connections[].provider_specific.rotation_overrides.rate_limit_reset_seconds",
        "resilience.rotation.rate_limit_reset_seconds",
    ),
    ("connections[].rate_limit_overrides.rpm", "resilience.request_queue.requests_per_minute"),
    (
        "connections[].rate_limit_overrides.min_time_ms",
        "resilience.request_queue.min_time_between_requests_ms",
    ),
    ("connections[].rate_limit_overrides.max_concurrent", "resilience.request_queue.concurrent_requests"),
    ("connections[].rate_limit_overrides.max_wait_ms", "resilience.request_queue.max_wait_ms"),
    (
        "connections[].rate_limit_overrides.execution_max_wait_ms",
        "resilience.request_queue.execution_max_wait_ms",
    ),
];

/// Every key, in the table's order.
pub(super) fn list(root: &Sheet) -> Vec<Effective> {
    let mut list = Vec::new();
    for row in table::table().iter().filter(|row| !row.key.contains('[')) {
        match row.is_scalar() {
            // What all combos begin with is nothing, until something is said.
            true if row.is_repeated() && !root.is_given(row.key) => {}
            true => list.push(entry(row, None, root)),
            false => list.extend(named(row, root)),
        }
        list.extend(own(row, root));
    }
    list
}

fn entry(row: &'static Row, name: Option<&str>, sheet: &Sheet) -> Effective {
    let segment = |segment: &str| match (segment, name) {
        ("*", Some(name)) => name.to_owned(),
        (segment, _) => camel_case(segment),
    };
    let given = sheet.value(row.key);
    let key = match name {
        Some(name) => row.key.replacen('*', name, 1),
        None => row.key.to_owned(),
    };
    Effective {
        key,
        value: given.as_ref().map(Value::to_string).unwrap_or_default(),
        json: given.as_ref().map_or_else(|| nothing(row), wire::show),
        origin: sheet.origin_of(row.key),
        acts: row.acts,
        path: row.key.split('.').map(segment).collect(),
    }
}

/// A list or a table without a value is an empty one.
fn nothing(row: &Row) -> Json {
    match row.kind {
        Kind::Data(_) => Json::Object(Map::new()),
        Kind::List(_) => Json::Array(Vec::new()),
        _ => Json::Null,
    }
}

/// What stands under names that the operator chose, as far as it is given.
fn named(row: &'static Row, root: &Sheet) -> Vec<Effective> {
    let tables = root.named.get(table::above(row.key)).into_iter().flatten();
    let given = tables.filter(|(_, sheet)| sheet.is_given(row.key));
    given.map(|(name, sheet)| entry(row, Some(name), sheet)).collect()
}

/// Connections with a value of their own.
fn own(row: &'static Row, root: &Sheet) -> Vec<Effective> {
    let Some((key, _)) = OVERRIDES.iter().find(|(_, overridden)| *overridden == row.key) else {
        return Vec::new();
    };
    let connections = root.list("connections[]").iter().chain(root.list(stored_connection::ONLY_STORED));
    let connections = connections.filter(|sheet| sheet.is_given(key));
    let entry = |sheet: &Sheet| {
        // 0 is no override (flow 4.1.3).
        let value = sheet.value(key).filter(|value| *value != Value::Whole(0))?;
        Some(Effective {
            key: row.key.to_owned(),
            value: value.to_string(),
            json: wire::show(&value),
            origin: Origin::Connection(sheet.text("connections[].id")?),
            acts: row.acts,
            path: Vec::new(),
        })
    };
    connections.filter_map(entry).collect()
}

/// `reset_timeout_ms` as the guide writes it: `resetTimeoutMs`.
pub(super) fn camel_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut upper = false;
    for letter in name.chars() {
        match letter {
            '_' => upper = true,
            letter if upper => {
                out.push(letter.to_ascii_uppercase());
                upper = false;
            }
            letter => out.push(letter),
        }
    }
    out
}

/// A section in the shape of the management API: camel case, nested, without what has no value.
pub fn tree(list: &[Effective], section: &str) -> Json {
    let mut root = Json::Object(Map::new());
    for entry in list.iter().filter(|entry| !entry.json.is_null()) {
        let Some((first, rest)) = entry.path.split_first() else { continue };
        if first == section {
            let mut place = &mut root;
            for segment in rest {
                place = &mut place[segment.as_str()];
            }
            *place = entry.json.clone();
        }
    }
    root
}

/// What was set and does nothing yet says so: nothing is ignored silently.
pub(super) fn warn_of_idle(sheet: &Sheet, findings: &mut Findings) {
    for (key, cell) in &sheet.cells {
        let idle = table::find(key).is_some_and(|row| !row.acts);
        if idle && cell.place != Place::Stored {
            findings.warn(&cell.place, key, Problem::new("is kept, but not acted on yet", ""));
        }
    }
    let named = sheet.named.values().flatten().map(|(_, inner)| inner);
    for inner in sheet.lists.values().flatten().chain(named) {
        warn_of_idle(inner, findings);
    }
}
