//! The one list of keys: what exists, its default, its bounds and its meaning.
//!
//! Validation, defaults, environment names, `switchtower settings` and the table in
//! README all come from here; a key that is not listed does not exist. In a key,
//! `[]` stands for one entry of a list and `*` for a name that the operator chooses.
//! One file for each part of it; where they are put together is here.

mod behaviour;
mod cascade;
mod combos;
mod entities;
mod flow;
mod later;
mod process;
mod resilience;
mod stream;

use std::collections::HashMap;
use std::sync::LazyLock;

use policy::time::{DAY, HOUR};

use super::kind::Kind;
pub(super) use cascade::{CONFIG, DEFAULTS, OVERRIDES};

/// One key of the config file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Its path, for example `server.listen` or `providers[].base_url`.
    pub key: &'static str,
    /// What it may hold.
    pub kind: Kind,
    /// Its value when absent; empty: none; [`REQUIRED`]: it must be given.
    pub default: &'static str,
    /// The unit of the value; empty when it says so itself.
    pub unit: &'static str,
    /// One line of meaning.
    pub doc: &'static str,
    /// The guide's environment variable, weaker than `SWITCHTOWER__...`, stronger than the file.
    pub env: Option<&'static str>,
    /// Whether a new value needs a restart.
    pub restart: bool,
    /// What PATCH takes, if that is less than what may stand in the file or the store.
    pub patch: Option<Kind>,
    /// Whether something is done with it yet.
    pub acts: bool,
    /// Whether PATCH refuses it.
    pub fixed: bool,
}

/// The default of a key that must be given.
pub const REQUIRED: &str = "(required)";

/// Sections that the management API may set.
const STORABLE: &[&str] = &["resilience.", "settings."];

/// Lists of tables whose entry may be the bare text of one key.
pub(super) const SHORTHANDS: &[(&str, &str)] = &[
    ("providers[].models[]", "providers[].models[].id"),
    ("combos[].targets[]", "combos[].targets[].model"),
];

impl Row {
    const fn restart(mut self) -> Self {
        self.restart = true;
        self
    }

    /// Its mechanism is not built yet.
    const fn idle(mut self) -> Self {
        self.acts = false;
        self
    }

    /// PATCH refuses it.
    const fn fixed(mut self) -> Self {
        self.fixed = true;
        self
    }

    /// PATCH takes less.
    const fn patch(mut self, kind: Kind) -> Self {
        self.patch = Some(kind);
        self
    }

    const fn env(mut self, name: &'static str) -> Self {
        self.env = Some(name);
        self
    }

    /// Whether the key is one of a section, not of a list or a named table.
    pub fn is_scalar(&self) -> bool {
        !self.key.contains(['[', '*'])
    }

    /// Whether it only repeats a key of `[combos.config]`, for all combos (routing 1.4).
    pub fn is_repeated(&self) -> bool {
        self.key.starts_with(DEFAULTS)
    }

    /// Whether the management API may set it.
    pub fn is_storable(&self) -> bool {
        !self.key.contains('[') && STORABLE.iter().any(|section| self.key.starts_with(section))
    }

    /// `SWITCHTOWER__SECTION__KEY`, for keys of sections.
    pub fn variable(&self) -> Option<String> {
        self.is_scalar().then(|| format!("SWITCHTOWER__{}", self.key.to_ascii_uppercase().replace('.', "__")))
    }
}

const fn row(
    key: &'static str,
    kind: Kind,
    default: &'static str,
    unit: &'static str,
    doc: &'static str,
) -> Row {
    Row { key, kind, default, unit, doc, env: None, restart: false, patch: None, acts: true, fixed: false }
}

/// Every key of the config file, in the order of the reference file.
pub fn table() -> &'static [Row] {
    &TABLE
}

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let process = [process::ROWS, stream::ROWS];
    let resilience = [resilience::ROWS, flow::ROWS, stream::RECOVERY, later::ROWS];
    let entities = [entities::ROWS, combos::ROWS, entities::KEYS];
    let behaviour = [behaviour::ROWS.to_vec(), cascade::rows()];
    let parts = [process.concat(), resilience.concat(), behaviour.concat(), entities.concat()];
    parts.concat()
});

/// The named table that a key stands in: `a.b.*` of `a.b.*.c`.
pub(super) fn above(key: &'static str) -> &'static str {
    key.find('*').map_or("", |at| &key[..=at])
}

/// The row of a key.
pub(super) fn find(key: &str) -> Option<&'static Row> {
    static INDEX: LazyLock<HashMap<&str, &Row>> =
        LazyLock::new(|| table().iter().map(|row| (row.key, row)).collect());
    INDEX.get(key).copied()
}

const FLAG: Kind = Kind::Flag;
const DIAL_LIMIT: Kind = Kind::Span(1, HOUR);
const ANSWER_LIMIT: Kind = Kind::Span(1, DAY);
/// A clock of a stream; 0: it never fires.
const STREAM_LIMIT: Kind = Kind::Span(0, DAY);
