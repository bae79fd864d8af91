//! The table against itself: nothing twice, nothing that leads nowhere.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{document, methods, operations};

fn whole() -> Value {
    document(&[("invalid_json", 400, "no JSON")], &["unauthorized"])
}

#[test]
fn no_operation_is_there_twice_and_each_has_a_name_of_its_own() {
    let document = whole();
    let paths = document["paths"].as_object().unwrap();
    let ids: BTreeSet<&str> = paths
        .values()
        .flat_map(|item| item.as_object().unwrap().values())
        .filter_map(|operation| operation["operationId"].as_str())
        .collect();
    assert_eq!(ids.len(), operations().count());
    assert!(ids.contains("post_actors_kind_id_messages"), "{ids:?}");
}

fn walk<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|value| walk(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| walk(value, found)),
        _ => {}
    }
}

#[test]
fn every_schema_that_is_named_is_there_and_every_one_that_is_there_is_named() {
    let document = whole();
    let mut named = Vec::new();
    walk(&document, &mut named);
    let named: BTreeSet<&str> =
        named.into_iter().map(|name| name.strip_prefix("#/components/schemas/").unwrap()).collect();
    let there = document["components"]["schemas"].as_object().unwrap();
    let there: BTreeSet<&str> = there.keys().map(String::as_str).collect();
    assert_eq!(named, there);
}

#[test]
fn a_path_is_found_as_it_is_registered() {
    for (path, allowed) in [
        ("/api/settings", Some("GET, PATCH, PUT")),
        ("/api/combos/{id:.+}", Some("GET, PUT, PATCH, DELETE")),
        ("/api/v1/messages", Some("POST")),
        ("/v1/models/{id:.+}", Some("GET, HEAD")),
        ("/api/nothing", None),
    ] {
        assert_eq!(methods(path), allowed, "{path}");
    }
}
