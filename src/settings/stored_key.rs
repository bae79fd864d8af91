//! Client keys that the management API made or changed, laid over those of the file.
//!
//! Of a key that was made here only its hash is kept: the key itself was shown once. One that
//! changes a key of the file has no hash of its own and goes with the file's secret; if that has
//! left the file it opens nothing, and never keeps the process from starting.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use policy::time::Millis;
use serde_json::{Map, Value as Json};

use super::bodies;
use super::build::{Context, Known};
use super::connection_fields::Detail;
use super::entities::{Key, KeySecret, Source};
use super::finding::{Findings, Place, Problem};
use super::json_sheet::{self, Body};
use super::sheet::Sheet;
use super::{Builtin, Settings};

const LISTED: &str = "keys[]";
/// Those that only the store has.
pub(super) const ONLY_STORED: &str = "keys[] of the store";
const NAME: &str = "keys[].name";
const KEY: &str = "keys[].key";
/// Lists of a key that are never null.
const LISTS: [&str; 2] = ["rateLimits", "budgets"];

/// Stored keys by name.
pub type StoredKeys = BTreeMap<String, StoredKey>;

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredKey {
    /// The fields as the API spells them, without the name.
    pub fields: Map<String, Json>,
    /// `None`: that of the file.
    pub hash: Option<KeyHash>,
    /// When it was first stored.
    pub created_at: Millis,
    /// When it was last changed.
    pub updated_at: Millis,
}

/// What is kept of a key that was made here.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyHash {
    /// Its SHA-256.
    pub hash: [u8; 32],
    /// How it is shown: `sk-…last4`.
    pub mask: String,
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Lays the stored keys over those of the file.
pub(super) fn lay(root: &mut Sheet, stored: &StoredKeys, findings: &mut Findings) {
    for (name, key) in stored {
        let Body { mut sheet, details, .. } = json_sheet::read(LISTED, &key.fields, true);
        for Detail { field, message } in details {
            let problem = format!("`{field}` of the stored key `{name}` is not usable: {message}");
            findings.warn(&Place::Stored, LISTED, Problem::new(problem, ""));
        }
        let row = super::table::find(NAME).expect("a key has a name");
        sheet.cells.insert(row.key, bodies::text_cell(name, &Place::Stored));
        let listed = root.lists.entry(LISTED.to_owned()).or_default();
        match listed.iter_mut().find(|other| other.text(NAME).as_deref() == Some(name)) {
            Some(file) => {
                let secret = file.cells.remove_entry(KEY).filter(|_| key.hash.is_none());
                sheet.cells.extend(secret);
                *file = sheet;
            }
            None => root.lists.entry(ONLY_STORED.to_owned()).or_default().push(sheet),
        }
    }
}

/// Gives the keys that were made here what they are known by.
pub(super) fn open(keys: &mut [Key], stored: &StoredKeys) {
    for key in keys.iter_mut().filter(|key| key.source == Source::Stored) {
        if let Some(hash) = stored.get(&key.name).and_then(|stored| stored.hash.clone()) {
            key.key = KeySecret::Hashed(hash);
        }
    }
}

/// Checks a key that came as a body as the file's are checked.
pub fn check_key(settings: &Settings, name: &str, fields: &Map<String, Json>) -> Vec<Detail> {
    let place = Place::Line(0);
    let Body { mut sheet, details, .. } = json_sheet::read(LISTED, fields, false);
    if !details.is_empty() {
        return details;
    }
    let row = super::table::find(NAME).expect("a key has a name");
    sheet.cells.insert(row.key, bodies::text_cell(name, &place));
    let mut known = Known::of(&settings.providers);
    let pairs = settings.connections.iter().map(|it| (it.id.to_string(), it.provider.to_string()));
    known.connections.extend(pairs);
    let mut findings = Findings::new(String::new());
    let mut context = Context {
        root: &Sheet::new(place),
        env: &|_| None,
        folder: Path::new(""),
        strategies: &[],
        builtin: &Builtin::default(),
        findings: &mut findings,
        known,
    };
    context.check_key(&sheet);
    bodies::details(LISTED, findings.finish().err().unwrap_or_default())
}

/// A key as it is shown, without its name and what opens it.
pub fn show_key(key: &Key) -> Map<String, Json> {
    let mut shown = bodies::whole(&json_sheet::read(LISTED, &key.given, true).sheet, LISTED);
    shown.retain(|field, _| field != "name" && field != "key");
    for list in LISTS {
        if shown.get(list).is_some_and(Json::is_null) {
            shown.insert(list.to_owned(), Json::Array(Vec::new()));
        }
    }
    let mode = if key.rules.reach.restricted { "restricted" } else { "all" };
    shown.insert("modelAccessMode".to_owned(), mode.into());
    shown
}
