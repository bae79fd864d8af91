//! A PATCH of the management API, read against the table: what it names is set, null takes
//! it back, anything that is not known or not in bounds refuses it whole (core 6.2, decision 12d).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::cascade;
use super::effective::camel_case;
use super::finding::quoted;
use super::kind::{Items, Kind, Shape};
use super::legacy;
use super::table::{self, Row};
use super::value::Value;
use super::wire;

/// A section as the management API has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// `/api/resilience`.
    Resilience,
    /// `/api/settings`.
    Settings,
}

/// One field that is wrong, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its path, for example `providerBreaker.apikey.failureThreshold`; `body`: all of it.
    pub field: String,
    /// What is wrong.
    pub message: String,
}

/// What a PATCH changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// New values by the key of their row; `None`: the stored one goes.
    pub changes: BTreeMap<String, Option<Json>>,
    /// Beginnings of keys: all that is stored under them goes, whatever names follow.
    pub emptied: BTreeSet<String>,
    /// Fields that are kept but not acted on yet.
    pub idle: Vec<String>,
}

impl Patch {
    /// Reads a body; `providers` are the ids that exist, `current` is a number that is in force.
    pub fn read(
        section: Section,
        body: &Json,
        providers: &[&str],
        current: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Self, Vec<Fault>> {
        let mut reader = Reader { providers, patch: Self::default(), faults: Vec::new() };
        let Some(fields) = body.as_object() else {
            return Err(vec![fault("body", "must be a JSON object")]);
        };
        if fields.is_empty() {
            return Err(vec![fault("body", format!("must name one of {}", names(section)))]);
        }
        for (name, value) in fields {
            reader.top(section, name, value);
        }
        if reader.faults.is_empty() {
            reader.together(current);
        }
        if reader.faults.is_empty() { Ok(reader.patch) } else { Err(reader.faults) }
    }

    /// Puts the changes into what is stored.
    pub fn apply(&self, settings: &mut BTreeMap<String, Json>) {
        let goes = |key: &str| self.emptied.iter().any(|start| key.starts_with(start.as_str()));
        settings.retain(|key, _| !goes(key));
        for (key, value) in &self.changes {
            match value {
                Some(value) => drop(settings.insert(key.clone(), value.clone())),
                None => drop(settings.remove(key)),
            }
        }
    }
}

fn fault(field: impl Into<String>, message: impl Into<String>) -> Fault {
    Fault { field: field.into(), message: message.into() }
}

/// The first names that a section knows, in words.
fn names(section: Section) -> String {
    children(section.prefix()).into_iter().map(camel_case).collect::<Vec<_>>().join(", ")
}

impl Section {
    /// Where its rows begin.
    fn prefix(self) -> &'static str {
        match self {
            Self::Resilience => "resilience",
            Self::Settings => "settings",
        }
    }

    /// Its name in the tree of effective values.
    pub fn name(self) -> &'static str {
        self.prefix()
    }
}

/// The segments that stand directly below a path, in the table's order.
pub(super) fn children(path: &str) -> Vec<&'static str> {
    let below = |row: &'static Row| row.key.strip_prefix(path)?.strip_prefix('.')?.split('.').next();
    let mut names = Vec::new();
    for name in table::table().iter().filter_map(below) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Where the reader stands: the row's path, the key with the operator's names, the field's path.
struct Place {
    path: String,
    key: String,
    field: String,
}

impl Place {
    fn below(&self, segment: &str, name: &str) -> Self {
        let join = |left: &str, right: &str| match left {
            "" => right.to_owned(),
            left => format!("{left}.{right}"),
        };
        let own = if segment == "*" { name } else { segment };
        Self { path: join(&self.path, segment), key: join(&self.key, own), field: join(&self.field, name) }
    }
}

struct Reader<'a> {
    providers: &'a [&'a str],
    patch: Patch,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn refuse(&mut self, field: &str, message: impl Into<String>) {
        self.faults.push(fault(field, message));
    }

    /// A field of the body. Lockouts can be set from both sides (core 5.2.2).
    fn top(&mut self, section: Section, name: &str, value: &Json) {
        let place = |prefix: &str| Place { path: prefix.into(), key: prefix.into(), field: String::new() };
        if section == Section::Resilience && matches!(name, "profiles" | "defaults") {
            return self.legacy(name, value);
        }
        let prefix = match name {
            "modelLockout" => Section::Resilience.prefix(),
            _ => section.prefix(),
        };
        self.field(&place(prefix), name, value);
    }

    fn field(&mut self, at: &Place, name: &str, value: &Json) {
        if cascade::is_dropped(&at.path, name) {
            return;
        }
        let known = children(&at.path);
        let place = match known.iter().find(|segment| camel_case(segment) == name || **segment == "*") {
            Some(segment) => at.below(segment, name),
            None => {
                let field = at.below("", &quoted_field(name)).field;
                let accepted = known.into_iter().map(camel_case).collect::<Vec<_>>().join(", ");
                let problem = cascade::is_of_all_targets(&at.path, name).unwrap_or("unknown field");
                return self.refuse(&field, format!("{problem}; accepted: {accepted}"));
            }
        };
        if let Some(row) = table::find(&place.path) {
            return self.leaf(row, &place, value);
        }
        if place.path.ends_with('*') && !self.names_provider(&place, name, value) {
            return;
        }
        match value {
            Json::Object(fields) => {
                fields.iter().for_each(|(name, value)| self.field(&place, name, value));
            }
            Json::Null => self.forget(&place),
            _ => {
                let accepted = match &children(&place.path)[..] {
                    ["*"] => "providers".to_owned(),
                    known => known.iter().map(|name| camel_case(name)).collect::<Vec<_>>().join(", "),
                };
                self.refuse(&place.field, format!("must be an object of {accepted}, or null"));
            }
        }
    }

    /// Whether a name is one of a provider; what was stored for one that is gone can be taken back.
    fn names_provider(&mut self, place: &Place, name: &str, value: &Json) -> bool {
        let takes_back = match value {
            Json::Object(fields) => fields.values().all(Json::is_null),
            other => other.is_null(),
        };
        if !Shape::Id.fits(name) {
            self.refuse(&place.field, format!("must be named by a provider: {}", Shape::Id.accepted()));
            return false;
        }
        if self.providers.contains(&name) || takes_back {
            return true;
        }
        let message =
            format!("there is no provider {}; there are {}", quoted(name), self.providers.join(", "));
        self.refuse(&place.field, message);
        false
    }

    fn knows(&self, ids: &[String]) -> bool {
        ids.iter().all(|id| self.providers.contains(&id.as_str()))
    }

    /// Null for a section or a whole name: every key below it, whatever names it has.
    fn forget(&mut self, place: &Place) {
        let start = format!("{}.", place.path);
        for below in table::table().iter().filter_map(|row| row.key.strip_prefix(&start)) {
            match below.split_once('*') {
                Some((before, _)) => {
                    self.patch.emptied.insert(format!("{}.{before}", place.key));
                }
                None => drop(self.patch.changes.insert(format!("{}.{below}", place.key), None)),
            }
        }
    }

    fn leaf(&mut self, row: &'static Row, place: &Place, value: &Json) {
        if row.fixed {
            return self.refuse(&place.field, "can only be set in config.toml and by its variable");
        }
        if value.is_null() {
            self.patch.changes.insert(place.key.clone(), None);
            return;
        }
        let kind: &Kind = row.patch.as_ref().unwrap_or(&row.kind);
        match wire::from_patch(kind, value) {
            // Of combos' settings only lists of providers are lists of ids.
            Ok(Value::Texts(ids))
                if row.is_repeated() && *kind == Kind::List(Items::Ids) && !self.knows(&ids) =>
            {
                let message =
                    format!("names a provider that does not exist; there are {}", self.providers.join(", "));
                self.refuse(&place.field, message);
            }
            Ok(value) => {
                self.patch.changes.insert(place.key.clone(), Some(wire::show(&value)));
                if !row.acts {
                    self.patch.idle.push(place.field.clone());
                }
            }
            Err(faults) => {
                for (path, message) in faults {
                    let dot = if path.is_empty() { "" } else { "." };
                    self.refuse(&format!("{}{dot}{path}", place.field), message);
                }
            }
        }
    }

    /// The older form of the body (core 6.6).
    fn legacy(&mut self, name: &str, value: &Json) {
        match legacy::read(name, value) {
            Ok(fields) => {
                for (place, value) in fields {
                    let mut object = value;
                    for segment in place.iter().skip(1).rev() {
                        object = Json::Object(Map::from_iter([((*segment).to_owned(), object)]));
                    }
                    self.top(Section::Resilience, place[0], &object);
                }
            }
            Err((field, message)) => self.refuse(&field, message),
        }
    }

    /// What two values of one body must be to each other.
    fn together(&mut self, current: &dyn Fn(&str) -> Option<u64>) {
        let number = |patch: &Patch, key: &str| patch.changes.get(key)?.as_ref()?.as_u64();
        for class in ["oauth", "apikey", "local"] {
            let key = |name: &str| format!("resilience.provider_breaker.{class}.{name}");
            let opens = number(&self.patch, &key("failure_threshold"));
            let degrades = number(&self.patch, &key("degradation_threshold"));
            if let (Some(opens), Some(degrades)) = (opens, degrades) {
                let most = if class == "local" { opens } else { opens.saturating_sub(1).max(1) };
                if degrades > most {
                    let field = format!("providerBreaker.{class}.degradationThreshold");
                    self.refuse(&field, format!("must be at most {most} with failureThreshold {opens}"));
                }
            }
        }
        let key = |name: &str| format!("resilience.provider_cooldown.{name}");
        let least = number(&self.patch, &key("min_retry_cooldown_ms"));
        let least = least.or_else(|| current(&key("min_retry_cooldown_ms")));
        let longest = number(&self.patch, &key("max_retry_cooldown_ms"));
        if let (Some(least), Some(longest)) = (least, longest)
            && longest < least
        {
            self.refuse(
                "providerCooldown.maxRetryCooldownMs",
                format!("must be at least minRetryCooldownMs ({least})"),
            );
        }
    }
}

/// An unknown name as it is shown again: short, it may be a secret in the wrong place.
fn quoted_field(name: &str) -> String {
    match name.chars().count() {
        0..=64 => name.to_owned(),
        count => format!("({count} characters)"),
    }
}
