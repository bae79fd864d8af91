//! The table against itself: nothing twice, nothing that leads nowhere.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Audit, actions, document, methods, operations};

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

/// What operators change, they change by one of these methods. Clients' requests are in the usage
/// history and the decisions.
#[test]
fn whatever_an_operator_can_change_leaves_a_row_or_says_why_not() {
    let mut untold = Vec::new();
    for operation in operations() {
        let looks = matches!(operation.method, "get" | "head" | "options") || operation.is_of_clients();
        match operation.audit {
            Audit::Nothing => assert!(looks, "{} {}", operation.method, operation.path),
            Audit::Row(action) => {
                let (noun, verb) = action.split_once('.').unwrap();
                let is_word =
                    |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
                assert!(!looks && is_word(noun) && is_word(verb), "{} {action}", operation.path);
            }
            Audit::Untold(reason) => untold.push((operation.path, reason)),
        }
    }
    assert_eq!(untold, [("/api/route/explain", "it answers what would be, and changes nothing")]);
}

#[test]
fn the_changes_of_an_address_are_found_as_it_is_registered() {
    assert_eq!(
        actions("/api/combos/{id:.+}"),
        [("put", "combo.update"), ("patch", "combo.update"), ("delete", "combo.delete")]
    );
    assert!(actions("/api/decisions").is_empty() && actions("/api/v1/messages").is_empty());
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
