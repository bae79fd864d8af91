//! The table of addresses as an OpenAPI 3.1 document.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::shapes::{SHAPES, Shape};
use super::{Audit, Operation, operations};
use crate::settings::{Extent, Section, connection_schema, entity_schema, section_schema};

/// A code of an error: its text, the status it usually comes with, its meaning.
pub type KnownCode = (&'static str, u16, &'static str);

/// The whole document; `codes`: of errors that clients get, `own`: those of the management API.
pub fn document(codes: &[KnownCode], own: &[&str]) -> Value {
    let mut paths = Map::new();
    for operation in operations() {
        let path = paths.entry(operation.path).or_insert_with(|| path_item(operation));
        path[operation.method] = shown(operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "switchtower",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Unknown fields of bodies and unknown parameters are refused by name. README.md says what each route means.",
            "license": {"name": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [
            {"name": "clients", "description": "AI clients; errors come in the dialect of the route"},
            {"name": "operators", "description": "the management API; with `admin.listen` it is on that address alone"},
        ],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "clients: a client key; operators: the admin token, or a key with scope `manage`"},
                "session": {"type": "apiKey", "in": "cookie", "name": "switchtower_session", "description": "operators: of `POST /api/auth/login`; what changes something must come from a page of switchtower's own"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "a client key, as Anthropic's clients send it"},
            },
            "schemas": schemas(codes, own),
        },
    })
}

fn path_item(operation: &Operation) -> Value {
    let mut item = json!({});
    if operation.is_of_clients() {
        item["servers"] = json!([{"url": "/"}, {"url": "/api"}]);
    }
    let named = operation.path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let parameters: Vec<Value> = named
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect();
    if !parameters.is_empty() {
        item["parameters"] = parameters.into();
    }
    item
}

fn shown(operation: &Operation) -> Value {
    let mut shown = json!({
        "operationId": id(operation),
        "summary": operation.says,
        "tags": [tag(operation)],
        "security": security(operation),
        "responses": responses(operation),
    });
    if !operation.query.is_empty() {
        let parameter = |(name, kind, doc): &(&str, &str, &str)| json!({"name": name, "in": "query", "description": doc, "schema": schema(kind)});
        shown["parameters"] = operation.query.iter().map(parameter).collect();
    }
    if let Audit::Row(action) = operation.audit {
        shown["x-audit"] = action.into();
    }
    if let Some((body, needed)) = operation.body {
        shown["requestBody"] =
            json!({"required": needed, "content": {"application/json": {"schema": schema(body)}}});
    }
    shown
}

/// `get_actors_kind_id` of `GET /api/actors/{kind}/{id}`.
fn id(operation: &Operation) -> String {
    let path = operation.path.strip_prefix("/api").unwrap_or(operation.path);
    let mut id = operation.method.to_owned();
    for part in path.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|part| !part.is_empty()) {
        id.push('_');
        id.push_str(part);
    }
    id
}

fn is_page(operation: &Operation) -> bool {
    operation.path.starts_with("/dashboard")
}

fn tag(operation: &Operation) -> &'static str {
    let operators = is_page(operation) || operation.path.starts_with("/api/") || operation.path == "/metrics";
    if operators { "operators" } else { "clients" }
}

/// Any of these will do; an empty one: nothing is needed.
fn security(operation: &Operation) -> Value {
    match (operation.path, operation.method) {
        ("/healthz" | "/readyz", _) | (_, "options") => json!([{}]),
        _ if is_page(operation) => json!([{}]),
        ("/v1/session-leases", _) => json!([{"bearer": []}, {"apiKey": []}]),
        _ if operation.is_of_clients() => json!([{"bearer": []}, {"apiKey": []}, {}]),
        ("/api/auth/login", _) => json!([{}]),
        ("/api/monitoring/health", "get" | "head") | ("/metrics", _) => {
            json!([{"bearer": []}, {"session": []}, {}])
        }
        _ => json!([{"bearer": []}, {"session": []}]),
    }
}

fn responses(operation: &Operation) -> Value {
    let (status, good) = operation.good;
    let mut responses = Map::from_iter([(status.to_string(), answer(good))]);
    let error = match tag(operation) {
        "operators" => "ManagementError",
        _ => "ClientError",
    };
    // With the cookie alone, a page of another site asks in vain.
    let foreign =
        (tag(operation) == "operators" && !matches!(operation.method, "get" | "head")).then_some(403);
    let errors: BTreeSet<u16> = operation.errors.iter().copied().chain(foreign).collect();
    for status in &errors {
        let mut refusal = match good {
            _ if operation.method == "head" => json!({"description": reason(*status)}),
            "text/plain" => {
                json!({"description": reason(*status), "content": {"text/plain": {"schema": {"type": "string"}}}})
            }
            _ => {
                json!({"description": reason(*status), "content": {"application/json": {"schema": schema(error)}}})
            }
        };
        if matches!(status, 429 | 503 | 504) && good != "text/plain" {
            refusal["headers"] = json!({"Retry-After": {"description": "seconds, when a wait is known", "schema": {"type": "integer", "minimum": 1}}});
        }
        responses.insert(status.to_string(), refusal);
    }
    responses.into()
}

fn answer(good: &str) -> Value {
    let text = json!({"schema": {"type": "string"}});
    let content = match good {
        "" => return json!({"description": "nothing"}),
        "relayed" => json!({"application/json": {"schema": {}}, "text/event-stream": text}),
        media if media.contains('/') => Value::Object(Map::from_iter([(media.to_owned(), text)])),
        name => json!({"application/json": {"schema": schema(name)}}),
    };
    let description = if good == "relayed" { "the upstream's answer" } else { "done" };
    json!({"description": description, "content": content})
}

fn reason(status: u16) -> &'static str {
    match status {
        400 => "the request is not what it must be",
        401 => "a token or key is needed",
        402 => "it would cost more than it may",
        403 => "the key may not do this, or a page of another site asks",
        404 => "there is nothing of that name",
        408 => "the body came too slowly",
        409 => "it does not go with how things stand",
        413 => "the body is too large",
        415 => "the body is no JSON by its type",
        429 => "too many at once, or everybody rests",
        500 => "a fault of switchtower",
        502 => "no upstream gave a good answer",
        503 => "not now",
        504 => "nobody answered in time",
        _ => "refused",
    }
}

fn schemas(codes: &[KnownCode], own: &[&str]) -> Value {
    let mut schemas: Map<String, Value> =
        SHAPES.iter().map(|shape| (shape.0.to_owned(), of_shape(shape))).collect();
    let sections = [("ResiliencePatch", Section::Resilience), ("SettingsPatch", Section::Settings)];
    schemas.extend(sections.map(|(name, section)| (name.to_owned(), section_schema(section))));
    for (name, list) in [
        ("Provider", "providers[]"),
        ("Key", "keys[]"),
        ("Combo", "combos[]"),
        ("Mapping", "model_combo_mappings[]"),
    ] {
        schemas.insert(format!("{name}Body"), entity_schema(list, Extent::Whole));
        schemas.insert(format!("{name}Patch"), entity_schema(list, Extent::Change));
    }
    schemas.insert("ConnectionBody".into(), connection_schema(Extent::Whole));
    schemas.insert("ConnectionPatch".into(), connection_schema(Extent::Change));
    let texts: Vec<&str> = codes.iter().map(|(code, ..)| *code).collect();
    let lines: Vec<String> =
        codes.iter().map(|(code, status, doc)| format!("- `{code}` ({status}): {doc}")).collect();
    schemas.insert("ErrorCode".into(), json!({"enum": texts, "description": lines.join("\n")}));
    schemas.insert("ClientError".into(), client_error());
    schemas.insert("ManagementError".into(), management_error(own));
    schemas.into()
}

/// Errors of upstreams are passed on in their own words, so nothing of them is certain but this.
fn client_error() -> Value {
    json!({
        "type": "object",
        "description": "of switchtower with a `code` of `ErrorCode`, or the upstream's; Anthropic's routes say `\"type\": \"error\"` beside it",
        "required": ["error"],
        "properties": {"type": {"type": "string"}, "error": {
            "type": "object",
            "properties": {
                "message": {"type": "string"}, "type": {"type": ["string", "null"]},
                "code": {"anyOf": [schema("ErrorCode"), {"type": ["string", "integer", "null"]}]},
                "param": {"type": ["string", "null"]},
                "retry_after": {"type": ["number", "null"]}, "reset_at": {"type": ["string", "null"]},
            },
        }},
    })
}

fn management_error(own: &[&str]) -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "required": ["message", "code"],
            "properties": {
                "message": {"type": "string"},
                "code": {"anyOf": [{"enum": own}, schema("ErrorCode")]},
                "details": {"type": "array", "items": schema("Detail"), "description": "each field that is wrong"},
            },
        }},
    })
}

fn of_shape((_, doc, fields): &Shape) -> Value {
    let mut shape = match fields {
        // It is a type of its own, without fields.
        [("", kind)] => schema(kind),
        fields => {
            let named =
                fields.iter().map(|(name, kind)| (name.trim_end_matches('?').to_owned(), schema(kind)));
            let needed: Vec<&str> =
                fields.iter().map(|(name, _)| *name).filter(|name| !name.ends_with('?')).collect();
            let mut shape = json!({"type": "object", "properties": named.collect::<Map<_, _>>()});
            if !needed.is_empty() {
                shape["required"] = needed.into();
            }
            shape
        }
    };
    shape["description"] = (*doc).into();
    shape
}

/// The schema of a type as `shapes.rs` writes it.
fn schema(kind: &str) -> Value {
    if let Some(kind) = kind.strip_suffix('?') {
        return json!({"anyOf": [schema(kind), {"type": "null"}]});
    }
    let inside = |open: char, close: char| kind.strip_prefix(open)?.strip_suffix(close);
    if let Some(item) = inside('[', ']') {
        return json!({"type": "array", "items": schema(item)});
    }
    if let Some(value) = inside('{', '}') {
        return json!({"type": "object", "additionalProperties": schema(value)});
    }
    match kind {
        "text" => json!({"type": "string"}),
        "time" => json!({"type": "string", "format": "date-time"}),
        "int" => json!({"type": "integer"}),
        "number" => json!({"type": "number"}),
        "flag" => json!({"type": "boolean"}),
        "object" => json!({"type": "object"}),
        "any" => json!({}),
        texts if texts.starts_with('\'') => {
            json!({"enum": texts.split('|').map(|text| text.trim_matches('\'')).collect::<Vec<_>>()})
        }
        name => json!({"$ref": format!("#/components/schemas/{name}")}),
    }
}
