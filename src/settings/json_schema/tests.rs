//! The schemas say what the readers accept.

use serde_json::{Value, json};

use super::{Extent, connection_schema, entity_schema, section_schema};
use crate::settings::Section;

#[test]
fn a_combo_has_the_fields_that_a_body_is_read_for() {
    let schema = entity_schema("combos[]", Extent::Whole);
    let properties = &schema["properties"];
    assert_eq!(schema["required"], json!(["name"]), "targets can be called models");
    assert_eq!(properties["context_length"]["minimum"], 1_000);
    assert_eq!(properties["config"]["properties"]["maxRetries"]["maximum"], 10);
    for list in ["targets", "models"] {
        let entry = &properties[list]["items"]["anyOf"];
        assert_eq!(entry[0], json!({"type": "string"}), "{list}");
        assert!(entry[1]["properties"]["comboName"].is_object(), "{list}: {entry}");
    }
    let change = entity_schema("combos[]", Extent::Change);
    assert_eq!(change["required"], Value::Null);
    assert_eq!(change["properties"]["strategy"]["type"], json!(["string", "null"]), "null clears");
}

#[test]
fn a_connection_needs_its_provider_and_a_change_cannot_name_an_id() {
    let (whole, change) = (connection_schema(Extent::Whole), connection_schema(Extent::Change));
    assert_eq!((&whole["required"], &change["required"]), (&json!(["provider"]), &Value::Null));
    assert!(whole["properties"]["id"].is_object() && change["properties"]["id"].is_null());
    let data = &whole["properties"]["providerSpecificData"]["properties"];
    assert_eq!(data["rotationOverrides"]["properties"]["rotateOn429"]["type"], json!(["boolean", "null"]));
}

#[test]
fn the_key_itself_is_in_no_body_of_a_key() {
    let schema = entity_schema("keys[]", Extent::Whole);
    assert!(schema["properties"]["name"].is_object() && schema["properties"]["key"].is_null());
}

#[test]
fn a_section_has_names_of_providers_and_what_is_fixed_is_not_in_it() {
    let schema = section_schema(Section::Resilience);
    let breaker = &schema["properties"]["providerBreaker"]["properties"]["apikey"]["properties"];
    assert_eq!(breaker["failureThreshold"]["type"], json!(["integer", "null"]));
    assert!(section_schema(Section::Settings)["properties"]["modelLockout"].is_object());
    let named = &section_schema(Section::Settings)["properties"]["providerOverrides"]["additionalProperties"];
    assert!(named["properties"].is_object(), "{named}");
}
