//! Connections as the management API spells them (contract 8).
//!
//! Every field is a row of the table under its other name, so that a body and the file are
//! refused for the same reasons. What a body cannot say (`headers`, `timeouts`,
//! `watchdog`) stays with the file.

use serde_json::{Map, Value as Json};

use super::entities::Connection;
use super::finding::{Finding, Problem};
use super::json;
use super::kind::Kind;
use super::proxy::{ACCEPTED_PROXY, Proxy};
use super::secret::{Reference, Secret};
use super::sheet::Sheet;
use super::table::{self, Row};
use super::value::Value;

/// Something wrong in a body: which field, and what would be right. It never quotes a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// As the API spells it; dots between levels.
    pub field: String,
    /// What is wrong and what is accepted.
    pub message: String,
}

impl Detail {
    /// A detail of one field.
    pub fn new(field: &str, message: impl Into<String>) -> Self {
        Self { field: field.to_owned(), message: message.into() }
    }

    pub(super) fn of(field: &str, Problem { problem, accepted }: Problem) -> Self {
        let mut message = problem;
        if !accepted.is_empty() {
            message = format!("{message}, accepted: {accepted}");
        }
        Self { field: field.to_owned(), message }
    }
}

/// Fields that hold secrets: they are kept sealed, apart from the others.
pub const SECRETS: [(&str, &str); 3] = [
    ("apiKey", "connections[].credential"),
    ("accessToken", "connections[].access_token"),
    ("refreshToken", "connections[].refresh_token"),
];

/// Every other field and its row, but for the proxy: it is kept sealed, too ([`read_proxy`]).
const FIELDS: &[(&str, &str)] = &[
    ("provider", "connections[].provider"),
    ("name", "connections[].name"),
    ("expiresAt", "connections[].expires_at"),
    ("priority", "connections[].priority"),
    ("isActive", "connections[].active"),
    ("maxConcurrent", "connections[].max_concurrent"),
    ("models", "connections[].models"),
    ("rateLimitOverrides.rpm", "connections[].rate_limit_overrides.rpm"),
    ("rateLimitOverrides.rpd", "connections[].rate_limit_overrides.rpd"),
    ("rateLimitOverrides.tpm", "connections[].rate_limit_overrides.tpm"),
    ("rateLimitOverrides.tpd", "connections[].rate_limit_overrides.tpd"),
    ("rateLimitOverrides.minTime", "connections[].rate_limit_overrides.min_time_ms"),
    ("rateLimitOverrides.maxConcurrent", "connections[].rate_limit_overrides.max_concurrent"),
    ("rateLimitOverrides.maxWaitMs", "connections[].rate_limit_overrides.max_wait_ms"),
    ("rateLimitOverrides.executionMaxWaitMs", "connections[].rate_limit_overrides.execution_max_wait_ms"),
    ("rateLimitOverrides.modelConcurrency", "connections[].rate_limit_overrides.model_concurrency"),
    ("providerSpecificData.disableCooling", "connections[].provider_specific.disable_cooling"),
    ("providerSpecificData.passthroughModels", "connections[].provider_specific.passthrough_models"),
    ("quotaWindowThresholds", "connections[].quota_window_thresholds"),
    ("providerSpecificData.quotaPreflightEnabled", "connections[].provider_specific.quota_preflight_enabled"),
    ("providerSpecificData.lowPriorityMode", "connections[].provider_specific.low_priority_mode"),
    ("providerSpecificData.autoLimitReset", "connections[].provider_specific.auto_limit_reset"),
    ("providerSpecificData.organizationUUID", "connections[].provider_specific.organization_uuid"),
    (
        "providerSpecificData.rotationOverrides.rateLimitResetSeconds",
        "connections[].provider_specific.rotation_overrides.rate_limit_reset_seconds",
    ),
];

/// The fields of one status class below `providerSpecificData.rotationOverrides`.
const ROTATION: &str = "providerSpecificData.rotationOverrides.";
const ROTATION_ROWS: &str = "connections[].provider_specific.rotation_overrides.";

/// What is wrong with these fields alone.
pub fn check_fields(body: &Map<String, Json>) -> Vec<Detail> {
    read(body).1
}

/// Fields of a body that are kept, but that nothing acts on yet.
pub fn idle_fields(body: &Map<String, Json>) -> Vec<String> {
    let (values, _) = read(body);
    values.into_iter().filter(|(row, _)| !row.acts).map(|(row, _)| field_of(row.key)).collect()
}

/// Reads a secret of a body.
pub fn read_secret(field: &str, json: &Json) -> Result<Secret, Detail> {
    match json::read(&Kind::Secret, json) {
        Ok(Value::Secret(Reference::Literal(secret))) => Ok(secret),
        Ok(_) => Err(Detail::new(field, "is no secret")),
        Err(problem) => Err(Detail::of(field, problem)),
    }
}

/// Reads the proxy of a body. It may hold a login: what is wrong with it never quotes it.
pub fn read_proxy(json: &Json) -> Result<Secret, Detail> {
    let wrong = |problem: &str| Detail::of("proxy", Problem::new(problem, ACCEPTED_PROXY));
    match json::read(&Kind::Secret, json) {
        Ok(Value::Secret(Reference::Literal(text))) => match Proxy::parse(text.expose()) {
            Ok(_) => Ok(text),
            Err(problem) => Err(wrong(problem)),
        },
        Ok(_) => Err(wrong("is no address of a proxy")),
        Err(problem) => Err(wrong(&problem.problem)),
    }
}

/// All fields but the secret ones, with their rows.
pub(super) fn fields() -> impl Iterator<Item = (String, &'static Row)> {
    let listed = FIELDS.iter().map(|(field, key)| ((*field).to_owned(), (*key).to_owned()));
    let rotation = ["400", "429", "500", "502"].into_iter().flat_map(|status| {
        [
            (format!("{ROTATION}rotateOn{status}"), format!("{ROTATION_ROWS}rotate_on_{status}")),
            (format!("{ROTATION}error{status}Threshold"), format!("{ROTATION_ROWS}error_{status}_threshold")),
            (
                format!("{ROTATION}error{status}WindowSeconds"),
                format!("{ROTATION_ROWS}error_{status}_window_seconds"),
            ),
        ]
    });
    let row = |key: String| table::find(&key).expect("every field names a row");
    listed.chain(rotation).map(move |(field, key)| (field, row(key)))
}

/// The field of a row, for findings.
fn field_of(key: &str) -> String {
    let secret = SECRETS.iter().find(|(_, row)| *row == key).map(|(field, _)| (*field).to_owned());
    let other = || fields().find(|(_, row)| row.key == key).map(|(field, _)| field);
    secret.or_else(other).unwrap_or_else(|| key.to_owned())
}

/// Reads the fields of a body; a null is as good as nothing.
pub(super) fn read(body: &Map<String, Json>) -> (Vec<(&'static Row, Value)>, Vec<Detail>) {
    let known: Vec<(String, &'static Row)> = fields().collect();
    let mut reader = Reader { known: &known, values: Vec::new(), details: Vec::new() };
    reader.object("", body);
    (reader.values, reader.details)
}

struct Reader<'a> {
    known: &'a [(String, &'static Row)],
    values: Vec<(&'static Row, Value)>,
    details: Vec<Detail>,
}

impl Reader<'_> {
    fn object(&mut self, prefix: &str, entries: &Map<String, Json>) {
        for (name, json) in entries {
            let path = format!("{prefix}{name}");
            let below = format!("{path}.");
            let row = self.known.iter().find(|(field, _)| *field == path).map(|(_, row)| *row);
            match (row, json) {
                (Some(_), Json::Null) => {}
                (Some(row), json) => match json::read(&row.kind, json) {
                    Ok(value) => self.values.push((row, value)),
                    Err(problem) => self.details.push(Detail::of(&path, problem)),
                },
                (None, json) if self.known.iter().any(|(field, _)| field.starts_with(&below)) => match json {
                    Json::Null => {}
                    Json::Object(entries) => self.object(&below, entries),
                    other => {
                        let message = format!("is {}, accepted: an object", json::type_name(other));
                        self.details.push(Detail::new(&path, message));
                    }
                },
                (None, _) => self.unknown(prefix, name),
            }
        }
    }

    /// What stands where a field should be may be a secret in the wrong place.
    fn unknown(&mut self, prefix: &str, name: &str) {
        let mut names: Vec<&str> = Vec::new();
        for field in self.known.iter().filter_map(|(field, _)| field.strip_prefix(prefix)) {
            let first = field.split('.').next().unwrap_or(field);
            if !names.contains(&first) {
                names.push(first);
            }
        }
        if prefix.is_empty() {
            names.extend(["id", "authType", "proxy"].into_iter().chain(SECRETS.map(|(field, _)| field)));
        }
        let plain = name.len() <= 32 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let shown = if plain { name } else { "(a name that is none)" };
        let message = format!("unknown field, accepted: {}", names.join(", "));
        self.details.push(Detail::new(&format!("{prefix}{shown}"), message));
    }
}

/// Findings about a connection that came as a body.
pub(super) fn details(findings: Vec<Finding>) -> Vec<Detail> {
    let refused = findings.into_iter().filter(|finding| !finding.warning);
    let detail = |finding: Finding| {
        let problem = Problem::new(field_words(&finding.problem), field_words(&finding.accepted));
        Detail::of(&field_of(&finding.key), problem)
    };
    refused.map(detail).collect()
}

/// The file's words for fields, as the API spells them.
fn field_words(text: &str) -> String {
    const WORDS: [(&str, &str); 6] = [
        ("\"env:NAME\", \"file:PATH\" or the credential itself", "the credential itself"),
        ("[[providers]].oauth", "an `oauth` of its provider"),
        ("access_token", "accessToken"),
        ("refresh_token", "refreshToken"),
        ("a credential", "apiKey"),
        ("`credential`", "`apiKey`"),
    ];
    WORDS.iter().fold(text.to_owned(), |text, (file, api)| text.replace(file, api))
}

/// What the typed connection does not hold: kept as it was given, under the API's names.
pub(super) fn kept(sheet: &Sheet) -> Map<String, Json> {
    let mut kept = Map::new();
    for (field, row) in fields().filter(|(field, _)| field.contains('.')) {
        let Some(value) = sheet.cells.get(row.key).and_then(|cell| cell.value.as_ref()) else { continue };
        put(&mut kept, &field, json::write(value));
    }
    kept
}

fn put(object: &mut Map<String, Json>, path: &str, value: Json) {
    match path.split_once('.') {
        None => drop(object.insert(path.to_owned(), value)),
        Some((name, rest)) => {
            let inner = object.entry(name).or_insert_with(|| Json::Object(Map::new()));
            put(inner.as_object_mut().expect("a field above others is an object"), rest, value);
        }
    }
}

/// The fields of a connection as it is in force, without secrets and without its id.
pub fn fields_of(connection: &Connection) -> Map<String, Json> {
    let mut fields = connection.kept.clone();
    let expires_at = connection.tokens.as_ref().and_then(|tokens| tokens.expires_at);
    let expires_at =
        expires_at.and_then(|at| jiff::Timestamp::from_millisecond(i64::try_from(at).ok()?).ok());
    for (name, value) in [
        ("provider", Json::from(connection.provider.as_str())),
        ("name", connection.name.as_str().into()),
        ("priority", connection.priority.into()),
        ("isActive", connection.active.into()),
        ("maxConcurrent", connection.max_concurrent.into()),
        ("models", connection.models.clone().into()),
    ] {
        fields.insert(name.to_owned(), value);
    }
    if let Some(at) = expires_at {
        fields.insert("expiresAt".to_owned(), at.to_string().into());
    }
    fields
}
