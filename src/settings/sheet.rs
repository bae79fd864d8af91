//! What was typed: checked values by key, before they are put into [`super::Settings`].
//!
//! A [`Sheet`] is the whole file or one entry of a list in it. A key without a value
//! reads as its default of the table, so defaults are written down in one place only.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::finding::Place;
use super::table;
use super::value::{self, Value};

/// Who gave a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody: it is the default.
    BuiltIn,
    /// The config file.
    Config,
    /// This environment variable.
    Env(String),
    /// The management API.
    Stored,
    /// This connection has a value of its own.
    Connection(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::Config => f.write_str("config"),
            Self::Env(name) => write!(f, "env {name}"),
            Self::Stored => f.write_str("stored"),
            Self::Connection(id) => write!(f, "connection {id}"),
        }
    }
}

/// A value and where it was written; no value: it was refused.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub value: Option<Value>,
    pub place: Place,
}

/// Checked values by key.
#[derive(Clone, Debug)]
pub(super) struct Sheet {
    /// Where the table begins.
    pub place: Place,
    /// Single values by the key of their row.
    pub cells: BTreeMap<&'static str, Cell>,
    /// Entries of lists of tables by the list's key (`providers[]`).
    pub lists: BTreeMap<String, Vec<Sheet>>,
    /// Tables under names that the operator chose, by the key above (`...overrides.*`).
    pub named: BTreeMap<String, Vec<(String, Sheet)>>,
}

impl Sheet {
    /// A sheet without values.
    pub fn new(place: Place) -> Self {
        let (cells, lists, named) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { place, cells, lists, named }
    }

    /// Whether something was written, right or wrong.
    pub fn is_given(&self, key: &str) -> bool {
        self.cells.contains_key(key)
    }

    /// Where a key was written, else where its table begins.
    pub fn place_of(&self, key: &str) -> &Place {
        self.cells.get(key).map_or(&self.place, |cell| &cell.place)
    }

    /// Who gave the value of a key.
    pub fn origin_of(&self, key: &str) -> Origin {
        match self.cells.get(key).map(|cell| &cell.place) {
            None => Origin::BuiltIn,
            Some(Place::Line(_)) => Origin::Config,
            Some(Place::Env(name)) => Origin::Env(name.clone()),
            Some(Place::Stored) => Origin::Stored,
        }
    }

    /// The value of a key: what was typed, else its default, else none.
    pub fn value(&self, key: &str) -> Option<Value> {
        match self.cells.get(key).and_then(|cell| cell.value.clone()) {
            Some(value) => Some(value),
            None => default_of(key),
        }
    }

    /// Gives a key the value of another one, if only that one is given.
    pub fn follow(&mut self, key: &str, other: &str) {
        let given = self.cells.get(other).cloned();
        if let (Some(cell), Some(row), false) = (given, table::find(key), self.is_given(key)) {
            self.cells.insert(row.key, cell);
        }
    }

    /// Gives a key a value that follows from another key.
    pub fn replace(&mut self, key: &str, cause: &str, value: Value) {
        let place = self.place_of(cause).clone();
        if let Some(row) = table::find(key) {
            self.cells.insert(row.key, Cell { value: Some(value), place });
        }
    }

    /// The table of a name; an empty one is made.
    pub fn named_mut(&mut self, path: &str, name: &str) -> &mut Sheet {
        let tables = self.named.entry(path.to_owned()).or_default();
        let at = tables.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            tables.push((name.to_owned(), Sheet::new(Place::Stored)));
            tables.len() - 1
        });
        &mut tables[at].1
    }

    /// The entries of a list of tables; none when it is absent.
    pub fn list(&self, key: &str) -> &[Sheet] {
        self.lists.get(key).map_or(&[], Vec::as_slice)
    }

    // === typed reading; a required key without a value reads as empty, because its
    // finding refuses the config anyway ===

    pub fn flag(&self, key: &str) -> bool {
        matches!(self.value(key), Some(Value::Flag(true)))
    }

    /// A flag that may be absent.
    pub fn choice(&self, key: &str) -> Option<bool> {
        match self.value(key) {
            Some(Value::Flag(flag)) => Some(flag),
            _ => None,
        }
    }

    pub fn data(&self, key: &str) -> Option<serde_json::Value> {
        match self.value(key) {
            Some(Value::Data(json)) => Some(json),
            _ => None,
        }
    }

    pub fn whole(&self, key: &str) -> Option<u64> {
        match self.value(key) {
            Some(Value::Whole(number) | Value::Size(number)) => Some(number),
            _ => None,
        }
    }

    pub fn number(&self, key: &str) -> Option<f64> {
        match self.value(key) {
            Some(Value::Number(number)) => Some(number),
            _ => None,
        }
    }

    pub fn count(&self, key: &str) -> u32 {
        self.whole(key).and_then(|number| u32::try_from(number).ok()).unwrap_or_default()
    }

    pub fn amount(&self, key: &str) -> usize {
        self.whole(key).and_then(|number| usize::try_from(number).ok()).unwrap_or_default()
    }

    pub fn millis(&self, key: &str) -> u64 {
        self.whole(key).unwrap_or_default()
    }

    pub fn span(&self, key: &str) -> Option<Duration> {
        match self.value(key) {
            Some(Value::Span(span)) => Some(span),
            _ => None,
        }
    }

    pub fn text(&self, key: &str) -> Option<String> {
        match self.value(key) {
            Some(Value::Text(text)) => Some(text).filter(|text| !text.is_empty()),
            _ => None,
        }
    }

    pub fn texts(&self, key: &str) -> Vec<String> {
        match self.value(key) {
            Some(Value::Texts(texts)) => texts,
            _ => Vec::new(),
        }
    }

    /// Whole numbers by name.
    pub fn counts(&self, key: &str) -> Vec<(String, u32)> {
        let Some(Value::Counts(counts)) = self.value(key) else { return Vec::new() };
        counts.into_iter().map(|(name, count)| (name, u32::try_from(count).unwrap_or(u32::MAX))).collect()
    }

    /// Status codes; an empty list reads as the default.
    pub fn codes(&self, key: &str) -> Vec<u16> {
        let given = self.value(key);
        let given = given.filter(|value| *value != Value::Codes(Vec::new()));
        match given.or_else(|| default_of(key)) {
            Some(Value::Codes(codes)) => codes,
            _ => Vec::new(),
        }
    }

    pub fn headers(&self, key: &str) -> Vec<(String, String)> {
        match self.value(key) {
            Some(Value::Headers(headers)) => headers,
            _ => Vec::new(),
        }
    }
}

fn default_of(key: &str) -> Option<Value> {
    let row = table::find(key)?;
    if row.default.is_empty() || row.default == table::REQUIRED {
        return None;
    }
    let value = value::from_text(&row.kind, row.default);
    Some(value.expect("every default of the table fits its kind"))
}
