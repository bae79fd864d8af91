//! Connections that the management API made or changed, laid over those of the file.
//!
//! A stored one takes the place of the file's or the demo's connection of the same id. What
//! a body cannot say, and secrets or a proxy that were not given, stay with the file. A stored one that
//! does not fit any more (its provider left the file, its secrets do not open) is a warning
//! and unusable: it never keeps the process from starting.

use std::collections::BTreeMap;
use std::path::Path;

use policy::time::Millis;
use serde_json::{Map, Value as Json};

use super::build::{Context, Known};
use super::connection_fields::{self, Detail, SECRETS};
use super::entities::Connection;
use super::finding::{Findings, Place, Problem};
use super::secret::{Reference, Secret};
use super::sheet::{Cell, Sheet};
use super::value::Value;
use super::{Builtin, Settings};

/// The list that the file fills; a stored connection of the same id stands in its place.
const LISTED: &str = "connections[]";
/// Those that only the store has: nothing in the file may refer to them.
pub(super) const ONLY_STORED: &str = "connections[] of the store";
const PROVIDER: &str = "connections[].provider";
const CREDENTIAL: &str = "connections[].credential";
const EXPIRES: &str = "connections[].expires_at";
const PROXY: &str = "connections[].proxy";
/// What stays with the file: no body can say it, or, of the proxy, none did.
const OF_FILE: [&str; 15] = [
    "connections[].headers",
    PROXY,
    "connections[].timeouts.connect",
    "connections[].timeouts.first_byte",
    "connections[].timeouts.body",
    "connections[].timeouts.first_content",
    "connections[].timeouts.content_stall",
    "connections[].timeouts.idle",
    "connections[].timeouts.total",
    "connections[].timeouts.attempt",
    "connections[].watchdog.enabled",
    "connections[].watchdog.warmup",
    "connections[].watchdog.window",
    "connections[].watchdog.min_bytes_per_second",
    "connections[].watchdog.min_bytes",
];

/// Stored connections by id.
pub type StoredConnections = BTreeMap<String, StoredConnection>;

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredConnection {
    /// The fields as the API spells them, without id, secrets and proxy.
    pub fields: Map<String, Json>,
    /// Its own secrets.
    pub secrets: Kept<OwnSecrets>,
    /// Its own proxy. It may hold a login; it is apart from the secrets, so that neither of them
    /// takes the other from the file.
    pub proxy: Kept<Secret>,
    /// When it was first stored.
    pub created_at: Millis,
    /// When it was last changed.
    pub updated_at: Millis,
}

impl StoredConnection {
    /// It is a connection of this provider: its secrets are for nobody else, whatever the file says of
    /// its id since.
    pub fn is_of(&self, provider: &str) -> bool {
        self.fields.get("provider").and_then(Json::as_str).is_none_or(|own| own.trim() == provider)
    }
}

/// Something of a stored connection that is kept sealed.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Kept<T> {
    /// None of its own: that of the file, if there is any.
    #[default]
    Inherited,
    /// Its own, with the sealed text that lies in the store.
    Open(T, String),
    /// Its own, but the text in the store does not open.
    Sealed(String),
}

impl Kept<OwnSecrets> {
    /// Its own ones, if they are known.
    pub fn own(&self) -> OwnSecrets {
        match self {
            Self::Open(own, _) => own.clone(),
            Self::Inherited | Self::Sealed(_) => OwnSecrets::default(),
        }
    }
}

impl<T> Kept<T> {
    /// What lies in the store.
    pub fn sealed(&self) -> Option<&str> {
        match self {
            Self::Open(_, sealed) | Self::Sealed(sealed) => Some(sealed),
            Self::Inherited => None,
        }
    }
}

/// Secrets that were given through the API.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnSecrets {
    /// `apiKey`.
    pub api_key: Option<Secret>,
    /// `accessToken`.
    pub access_token: Option<Secret>,
    /// `refreshToken`.
    pub refresh_token: Option<Secret>,
}

impl OwnSecrets {
    /// None was given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// By field, in the order of [`SECRETS`].
    pub fn by_field_mut(&mut self) -> [&mut Option<Secret>; 3] {
        [&mut self.api_key, &mut self.access_token, &mut self.refresh_token]
    }

    fn by_field(&self) -> [&Option<Secret>; 3] {
        [&self.api_key, &self.access_token, &self.refresh_token]
    }

    /// The text that is sealed.
    pub fn to_text(&self) -> String {
        let given = SECRETS.iter().zip(self.by_field());
        let given = given.filter_map(|((field, _), secret)| {
            Some(((*field).to_owned(), Json::from(secret.as_ref()?.expose())))
        });
        Json::Object(given.collect()).to_string()
    }

    /// Reads it back; `None`: it is none.
    pub fn from_text(text: &str) -> Option<Self> {
        let fields: BTreeMap<String, String> = serde_json::from_str(text).ok()?;
        let mut own = Self::default();
        for ((field, _), place) in SECRETS.iter().zip(own.by_field_mut()) {
            *place = fields.get(*field).map(|text| Secret::from(text.as_str()));
        }
        Some(own)
    }

    fn cells(&self, place: &Place) -> impl Iterator<Item = (&'static str, Cell)> {
        let given = SECRETS.iter().zip(self.by_field());
        given.filter_map(|((_, key), secret)| {
            let value = Value::Secret(Reference::Literal(secret.clone()?));
            Some((*key, Cell { value: Some(value), place: place.clone() }))
        })
    }
}

/// Lays the stored connections over those of the file.
pub(super) fn lay(root: &mut Sheet, stored: &StoredConnections, builtin: &Builtin, findings: &mut Findings) {
    for (id, connection) in stored {
        let mut sheet = fields_sheet(id, connection, findings);
        let listed = root.lists.entry(LISTED.to_owned()).or_default();
        let place = listed.iter().position(|other| other.text("connections[].id").as_deref() == Some(id));
        let file = place.map(|at| &listed[at]);
        if let Some(provider) = file.and_then(|file| file.text(PROVIDER)).filter(|it| !connection.is_of(it)) {
            warn_of_provider(id, &provider, findings);
            continue;
        }
        sheet.cells.extend(proxy_cell(&connection.proxy));
        if let Some(file) = file {
            copy(file, &mut sheet, &OF_FILE);
            // What the file's combos may say of it must stay true.
            sheet.cells.remove(PROVIDER);
            copy(file, &mut sheet, &[PROVIDER]);
        }
        for (key, cell) in secret_cells(id, &connection.secrets, file, builtin) {
            sheet.cells.entry(key).or_insert(cell);
        }
        warn_of_seals(id, connection, findings);
        match place {
            Some(at) => listed[at] = sheet,
            None => root.lists.entry(ONLY_STORED.to_owned()).or_default().push(sheet),
        }
    }
}

fn fields_sheet(id: &str, connection: &StoredConnection, findings: &mut Findings) -> Sheet {
    let (values, wrong) = connection_fields::read(&connection.fields);
    for detail in wrong {
        let problem =
            format!("`{}` of the stored connection `{id}` is not usable: {}", detail.field, detail.message);
        findings.warn(&Place::Stored, LISTED, Problem::new(problem, ""));
    }
    let mut sheet = Sheet::new(Place::Stored);
    let cell = |value| Cell { value: Some(value), place: Place::Stored };
    sheet.cells.insert("connections[].id", cell(Value::Text(id.to_owned())));
    sheet.cells.extend(values.into_iter().map(|(row, value)| (row.key, cell(value))));
    sheet
}

fn copy(from: &Sheet, to: &mut Sheet, keys: &[&str]) {
    for (key, cell) in from.cells.iter().filter(|(key, _)| keys.contains(key)) {
        to.cells.entry(key).or_insert_with(|| cell.clone());
    }
}

/// The tokens and keys that a stored connection is used with.
fn secret_cells(
    id: &str,
    secrets: &Kept<OwnSecrets>,
    file: Option<&Sheet>,
    builtin: &Builtin,
) -> Vec<(&'static str, Cell)> {
    match (secrets, file) {
        (Kept::Open(own, _), _) => own.cells(&Place::Stored).collect(),
        // Given, but without a value: so nothing else stands in for it.
        (Kept::Sealed(_), _) => vec![(CREDENTIAL, Cell { value: None, place: Place::Stored })],
        (Kept::Inherited, Some(file)) => {
            let secret = |key: &str| key == EXPIRES || SECRETS.iter().any(|(_, known)| *known == key);
            let cells = file.cells.iter().filter(|(key, _)| secret(key));
            cells.map(|(key, cell)| (*key, cell.clone())).collect()
        }
        (Kept::Inherited, None) if builtin.has_connection(id) => {
            let own = OwnSecrets { api_key: Some(demo_credential(id)), ..OwnSecrets::default() };
            own.cells(&Place::Stored).collect()
        }
        (Kept::Inherited, None) => Vec::new(),
    }
}

/// Its own proxy. One that does not open is given, but without a value: neither the file's nor none
/// at all stands in for it.
fn proxy_cell(proxy: &Kept<Secret>) -> Option<(&'static str, Cell)> {
    let value = match proxy {
        Kept::Inherited => return None,
        Kept::Open(text, _) => Some(Value::Secret(Reference::Literal(text.clone()))),
        Kept::Sealed(_) => None,
    };
    Some((PROXY, Cell { value, place: Place::Stored }))
}

fn warn_of_provider(id: &str, provider: &str, findings: &mut Findings) {
    let problem = format!(
        "the stored connection `{id}` is another provider's than the file's of that id, and not used"
    );
    let accepted = format!("an id of its own in the file, or `{provider}` without what is stored");
    findings.warn(&Place::Stored, PROVIDER, Problem::new(problem, accepted));
}

fn warn_of_seals(id: &str, connection: &StoredConnection, findings: &mut Findings) {
    let mut warn = |key: &str, what: &str, were: &str| {
        let problem = format!(
            "the {what} of the stored connection `{id}` {were} sealed with another key; it is inactive"
        );
        let accepted = format!("the key it was stored with, or its {what} once more");
        findings.warn(&Place::Stored, key, Problem::new(problem, accepted));
    };
    if matches!(connection.secrets, Kept::Sealed(_)) {
        warn(CREDENTIAL, "secrets", "were");
    }
    if matches!(connection.proxy, Kept::Sealed(_)) {
        warn(PROXY, "proxy", "was");
    }
}

/// What a connection of the scripted upstream sends (contract 6).
pub fn demo_credential(id: &str) -> Secret {
    Secret::from(format!("demo-{id}"))
}

/// Checks a connection that came as a body as the file's are checked. `inherits` is the one whose
/// secrets it keeps.
pub fn check_connection(
    settings: &Settings,
    id: &str,
    fields: &Map<String, Json>,
    own: &OwnSecrets,
    inherits: Option<&Connection>,
) -> Vec<Detail> {
    let (values, mut details) = connection_fields::read(fields);
    let place = Place::Line(0);
    let mut sheet = Sheet::new(place.clone());
    let cell = |value| Cell { value: Some(value), place: Place::Line(0) };
    sheet.cells.insert("connections[].id", cell(Value::Text(id.to_owned())));
    sheet.cells.extend(values.into_iter().map(|(row, value)| (row.key, cell(value))));
    match inherits {
        Some(inherited) => {
            let tokens = inherited.tokens.is_some() || fields.contains_key("expiresAt");
            sheet.cells.extend(stand_in(tokens).cells(&place));
        }
        None => sheet.cells.extend(own.cells(&place)),
    }
    let known = Known::of(&settings.providers);
    match fields.get("provider").and_then(Json::as_str) {
        Some(provider) if !known.providers.contains_key(provider) => {
            let message = format!("does not exist, accepted: {}", known.provider_list());
            details.push(Detail::new("provider", message));
        }
        None if details.is_empty() => {
            details.push(Detail::new("provider", "is missing, accepted: the id of a provider"));
        }
        _ => {}
    }
    // Without its provider everything else would only look wrong.
    if details.is_empty() { in_context(known, &sheet) } else { details }
}

/// Secrets of the same kind: they stay where they are and are only counted here.
fn stand_in(tokens: bool) -> OwnSecrets {
    let secret = Some(Secret::from("inherited"));
    match tokens {
        true => OwnSecrets { access_token: secret, ..OwnSecrets::default() },
        false => OwnSecrets { api_key: secret, ..OwnSecrets::default() },
    }
}

fn in_context(known: Known, sheet: &Sheet) -> Vec<Detail> {
    let mut findings = Findings::new(String::new());
    let root = Sheet::new(Place::Line(0));
    let mut context = Context {
        root: &root,
        env: &|_| None,
        folder: Path::new(""),
        strategies: &[],
        builtin: &Builtin::default(),
        findings: &mut findings,
        known,
    };
    context.check_connection(sheet);
    connection_fields::details(findings.finish().err().unwrap_or_default())
}
