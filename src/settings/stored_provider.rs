//! Providers that the management API made or changed, laid over those of the file.
//!
//! A stored one takes the place of the file's provider of the same id, but for what the file's own
//! connections hang on: `auth` and, unless it has one of its own, `oauth` stay with the file, and so
//! do headers and a client secret that were not given. Only what is stored may name a provider that
//! only the store has: the file must be right alone.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use policy::time::Millis;
use serde_json::{Map, Value as Json};

use super::build::{Context, Known};
use super::connection_fields::Detail;
use super::entities::Provider;
use super::finding::{Findings, Place, Problem};
use super::json_sheet::{self, Body};
use super::kind::Kind;
use super::secret::{Reference, Secret};
use super::sheet::{Cell, Sheet};
use super::stored_connection::Kept;
use super::value::Value;
use super::{Builtin, Settings, bodies, headers, json};

const LISTED: &str = "providers[]";
/// Those that only the store has.
pub(super) const ONLY_STORED: &str = "providers[] of the store";
const ID: &str = "providers[].id";
const AUTH: &str = "providers[].auth";
const HEADERS: &str = "providers[].headers";
const CLIENT_SECRET: &str = "providers[].oauth.client_secret";
/// Where tokens are renewed, as a whole.
const OAUTH: [&str; 4] =
    ["providers[].oauth.token_url", "providers[].oauth.client_id", "providers[].oauth.scopes", CLIENT_SECRET];

/// Stored providers by id.
pub type StoredProviders = BTreeMap<String, StoredProvider>;

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredProvider {
    /// The fields as the API spells them, without id, headers and client secret.
    pub fields: Map<String, Json>,
    /// Its own headers and client secret.
    pub secrets: Kept<ProviderSecrets>,
    /// When it was first stored.
    pub created_at: Millis,
    /// When it was last changed.
    pub updated_at: Millis,
}

/// What a provider is called with besides a connection's credential.
#[derive(Clone, Default, PartialEq)]
pub struct ProviderSecrets {
    /// `headers`; `None`: those of the file.
    pub headers: Option<Vec<(String, String)>>,
    /// `oauth.clientSecret`; `None`: that of the file.
    pub client_secret: Option<Secret>,
}

impl fmt::Debug for ProviderSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl ProviderSecrets {
    /// None was given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The text that is sealed.
    pub fn to_text(&self) -> String {
        let secret = self.client_secret.as_ref().map(Secret::expose);
        serde_json::json!({"headers": self.headers, "clientSecret": secret}).to_string()
    }

    /// Reads it back; `None`: it is none.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut fields: Map<String, Json> = serde_json::from_str(text).ok()?;
        let mut take = |name: &str| fields.remove(name).unwrap_or_default();
        let headers = serde_json::from_value(take("headers")).ok()?;
        let secret: Option<String> = serde_json::from_value(take("clientSecret")).ok()?;
        Some(Self { headers, client_secret: secret.map(Secret::from) })
    }

    fn cells(&self, place: &Place) -> Vec<(&'static str, Cell)> {
        let headers = self.headers.clone().map(Value::Headers);
        let secret = self.client_secret.clone().map(|secret| Value::Secret(Reference::Literal(secret)));
        let cell = |value| Cell { value: Some(value), place: place.clone() };
        let cells = [(HEADERS, headers), (CLIENT_SECRET, secret)];
        cells.into_iter().filter_map(|(key, value)| Some((key, cell(value?)))).collect()
    }
}

/// Lays the stored providers over those of the file.
pub(super) fn lay(root: &mut Sheet, stored: &StoredProviders, builtin: &Builtin, findings: &mut Findings) {
    for (id, provider) in stored {
        if builtin.providers.iter().any(|(known, _)| known == id) {
            let problem = format!("the stored provider `{id}` has the id of one of [demo], and rests");
            findings.warn(&Place::Stored, LISTED, Problem::new(problem, "demo.enabled = false"));
            continue;
        }
        let mut sheet = sheet_of(id, provider, findings);
        let listed = root.lists.entry(LISTED.to_owned()).or_default();
        match listed.iter_mut().find(|other| other.text(ID).as_deref() == Some(id)) {
            Some(file) => {
                inherit(file, &mut sheet);
                *file = sheet;
            }
            None => root.lists.entry(ONLY_STORED.to_owned()).or_default().push(sheet),
        }
    }
}

fn sheet_of(id: &str, provider: &StoredProvider, findings: &mut Findings) -> Sheet {
    let mut body = json_sheet::read(LISTED, &provider.fields, true);
    body.require(LISTED);
    let Body { mut sheet, details, .. } = body;
    for Detail { field, message } in details {
        let problem = format!("`{field}` of the stored provider `{id}` is not usable: {message}");
        findings.warn(&Place::Stored, LISTED, Problem::new(problem, ""));
    }
    sheet.cells.insert(ID, bodies::text_cell(id, &Place::Stored));
    match &provider.secrets {
        Kept::Inherited => {}
        Kept::Open(own, _) => sheet.cells.extend(own.cells(&Place::Stored)),
        Kept::Sealed(_) => {
            // Given, but without a value: nothing else stands in for it, and nobody is called without it.
            sheet.cells.insert(HEADERS, Cell { value: None, place: Place::Stored });
            let problem = format!(
                "the headers of the stored provider `{id}` were sealed with another key; it is unusable"
            );
            let accepted = "the key they were stored with, or the headers once more";
            findings.warn(&Place::Stored, HEADERS, Problem::new(problem, accepted));
        }
    }
    sheet
}

fn inherit(file: &Sheet, sheet: &mut Sheet) {
    sheet.cells.remove(AUTH);
    let own_oauth = OAUTH.iter().take(3).any(|key| sheet.is_given(key));
    for (key, cell) in &file.cells {
        let oauth = OAUTH.contains(key) && (!own_oauth || *key == CLIENT_SECRET);
        if *key == AUTH || *key == HEADERS || oauth {
            sheet.cells.entry(key).or_insert_with(|| cell.clone());
        }
    }
}

/// Whether its headers are known: a provider whose headers do not open is called by nobody.
pub(super) fn is_lost(sheet: &Sheet) -> bool {
    sheet.place == Place::Stored && sheet.cells.get(HEADERS).is_some_and(|cell| cell.value.is_none())
}

/// Checks a provider that came as a body as the file's are checked.
pub fn check_provider(id: &str, fields: &Map<String, Json>, secrets: &ProviderSecrets) -> Vec<Detail> {
    let place = Place::Line(0);
    let mut body = json_sheet::read(LISTED, fields, false);
    body.require(LISTED);
    let Body { mut sheet, details, .. } = body;
    if !details.is_empty() {
        return details;
    }
    sheet.cells.insert(ID, bodies::text_cell(id, &place));
    sheet.cells.extend(secrets.cells(&place));
    let mut findings = Findings::new(String::new());
    let mut context = Context {
        root: &Sheet::new(place),
        env: &|_| None,
        folder: Path::new(""),
        strategies: &[],
        builtin: &Builtin::default(),
        findings: &mut findings,
        known: Known::default(),
    };
    context.check_provider(&sheet);
    bodies::details(LISTED, findings.finish().err().unwrap_or_default())
}

/// Reads one header of a body; what is wrong never quotes its value.
pub fn read_header(name: &str, value: &Json) -> Result<String, Detail> {
    match value {
        Json::String(text) => match headers::problem_of(name, text) {
            None => Ok(text.clone()),
            Some(problem) => Err(Detail::of("headers", problem)),
        },
        other => {
            let problem = format!("holds {}", json::type_name(other));
            Err(Detail::of("headers", Problem::new(problem, "an object of texts")))
        }
    }
}

/// Reads a client secret of a body.
pub fn read_client_secret(value: &Json) -> Result<Secret, Detail> {
    match json::read(&Kind::Secret, value) {
        Ok(Value::Secret(Reference::Literal(secret))) => Ok(secret),
        Ok(_) => Err(Detail::new("oauth.clientSecret", "is no secret")),
        Err(problem) => Err(Detail::of("oauth.clientSecret", problem)),
    }
}

/// A provider as it is shown, without what is kept sealed.
pub fn show_provider(provider: &Provider) -> Map<String, Json> {
    let mut shown = bodies::whole(&json_sheet::read(LISTED, &provider.given, true).sheet, LISTED);
    shown.remove("id");
    shown.remove("headers");
    if let Some(Json::Object(oauth)) = shown.get_mut("oauth") {
        oauth.remove("clientSecret");
    }
    shown
}

/// The connections of these settings that name it.
pub fn connections_of(settings: &Settings, id: &str) -> Vec<String> {
    let named = settings.connections.iter().filter(|connection| connection.provider.as_str() == id);
    named.map(|connection| connection.id.to_string()).collect()
}
