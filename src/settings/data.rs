//! Structured values: error rules, catch-all defaults, percentages by window.
//!
//! Checked in the form of the management API, whole or not at all (rules 3.6.3); the config
//! file's spelling is turned into it first. A fault names the provider, the index, the field.

mod naming;

use std::collections::{BTreeMap, HashMap};

pub(super) use naming::{REQUESTED, naming};
use policy::ids::ProviderId;
use policy::preflight::Cutoffs;
use policy::rules::{LONGEST_MATCH, LONGEST_MS, MOST_RULES, REASONS, SHORTEST_DEFAULT_MS};
use policy::strategy::QuotaWindow;
use policy::time::Millis;
use policy::verdict::Reason;
use serde_json::{Map, Value as Json, json};
use toml::de::DeValue;

use super::finding::Problem;
use super::kind::{Data, Shape};
use super::schedule;

const SCOPES: [&str; 3] = ["model", "provider", "connection"];

/// What an operator says that an error means (rules 3.6.0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorRule {
    /// The status; `None`: any.
    pub status: Option<u16>,
    /// A text of the body, whatever its case; `None`: any.
    pub matches: Option<String>,
    /// What rests.
    pub scope: RuleScope,
    /// Why.
    pub reason: Reason,
    /// For exactly how long; `None`: as without the rule.
    pub cooldown_ms: Option<Millis>,
}

/// What an operator says that any other error of a provider means (rules 3.6.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorDefault {
    /// For how long; a longer stated wait wins.
    pub cooldown_ms: Millis,
    /// What rests.
    pub scope: RuleScope,
    /// Why; `None`: what the status says.
    pub reason: Option<Reason>,
}

/// What a rule lets rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleScope {
    /// The model on this connection.
    Model,
    /// All of the provider.
    Provider,
    /// This connection.
    Connection,
}

/// What is wrong, and where in the value.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    /// `acme[0].cooldownMs`.
    pub path: String,
    /// What it must be.
    pub accepted: String,
}

/// How the reader of a fault spells fields.
#[derive(Clone, Copy)]
pub(super) enum Spelling {
    File,
    Json,
}

impl Fault {
    pub fn new(path: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self { path: path.into(), accepted: accepted.into() }
    }

    /// As a problem of a key.
    pub fn problem(self, spelling: Spelling) -> Problem {
        let path = match spelling {
            Spelling::File => self.path.replace("cooldownMs", "cooldown_ms"),
            Spelling::Json => self.path,
        };
        let problem =
            if path.is_empty() { "is not accepted".to_owned() } else { format!("is wrong at {path}") };
        Problem::new(problem, self.accepted)
    }
}

/// A TOML value in the form of the management API: `cooldown_ms` may be a duration string.
pub(super) fn from_toml(value: &DeValue<'_>) -> Json {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(number) => number.as_str().parse::<i64>().map_or(Json::Null, |number| json!(number)),
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Json::Null, |number| json!(number)),
        DeValue::Boolean(flag) => json!(flag),
        DeValue::Datetime(time) => json!(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| from_toml(item.get_ref())).collect(),
        DeValue::Table(entries) => {
            let entries =
                entries.iter().map(|(name, value)| match (name.get_ref().as_ref(), value.get_ref()) {
                    ("cooldown_ms", DeValue::String(text)) => ("cooldownMs".to_owned(), millis(text)),
                    ("cooldown_ms", value) => ("cooldownMs".to_owned(), from_toml(value)),
                    (name, value) => (name.to_owned(), from_toml(value)),
                });
            Json::Object(entries.collect())
        }
    }
}

fn millis(text: &str) -> Json {
    let span = humantime::parse_duration(text).ok().and_then(|span| u64::try_from(span.as_millis()).ok());
    span.map_or_else(|| json!(text), |ms| json!(ms))
}

/// The value in its canonical form, or everything that is wrong with it.
pub(super) fn check(data: Data, json: &Json) -> Result<Json, Vec<Fault>> {
    let mut faults = Vec::new();
    let checked = match data {
        Data::Scalar if json.is_array() || json.is_object() || json.is_null() => {
            return Err(vec![Fault::new("", "a text, a number, true or false")]);
        }
        Data::Scalar => return Ok(json.clone()),
        Data::Rules => providers(json, &mut faults, rules),
        Data::Defaults => providers(json, &mut faults, default),
        Data::Windows => providers(json, &mut faults, windows),
        Data::Aliases => aliases(json, &mut faults),
        Data::Naming => naming::check(json, &mut faults),
        Data::Schedule => schedule::check(json, &mut faults),
    };
    let lists = checked.values().filter_map(Json::as_array);
    let count: usize = lists.map(Vec::len).sum();
    if data == Data::Rules && count > MOST_RULES {
        faults
            .push(Fault::new("", format!("at most {MOST_RULES} rules over all providers, here are {count}")));
    }
    if faults.is_empty() { Ok(Json::Object(checked)) } else { Err(faults) }
}

/// Each provider's part; their ids are read in lower case (rules 3.6.6).
fn providers(
    json: &Json,
    faults: &mut Vec<Fault>,
    read: impl Fn(&str, &Json, &mut Vec<Fault>) -> Json,
) -> Map<String, Json> {
    let mut checked = Map::new();
    let Some(entries) = json.as_object() else {
        faults.push(Fault::new("", "a table by provider"));
        return checked;
    };
    for (provider, value) in entries {
        if !Shape::Id.fits(provider) {
            faults.push(Fault::new("", format!("named by provider: {}", Shape::Id.accepted())));
            continue;
        }
        let read = read(provider, value, faults);
        if checked.insert(provider.to_ascii_lowercase(), read).is_some() {
            faults.push(Fault::new(provider, "given once, whatever its case"));
        }
    }
    checked
}

fn rules(provider: &str, json: &Json, faults: &mut Vec<Fault>) -> Json {
    let Some(list) = json.as_array() else {
        faults.push(Fault::new(provider, "a list of rules"));
        return Json::Null;
    };
    list.iter()
        .enumerate()
        .map(|(index, rule)| fields(&format!("{provider}[{index}]"), rule, faults, true))
        .collect()
}

fn default(provider: &str, json: &Json, faults: &mut Vec<Fault>) -> Json {
    let checked = fields(provider, json, faults, false);
    if checked.is_object() && json.get("cooldownMs").is_none_or(Json::is_null) {
        faults.push(Fault::new(format!("{provider}.cooldownMs"), cooldown_bounds(false)));
    }
    checked
}

fn cooldown_bounds(is_rule: bool) -> String {
    let low = if is_rule { 1 } else { SHORTEST_DEFAULT_MS };
    format!("a whole number of milliseconds from {low} to {LONGEST_MS}")
}

/// One rule or default: every field is checked, null reads as absent.
fn fields(path: &str, json: &Json, faults: &mut Vec<Fault>, is_rule: bool) -> Json {
    let names =
        if is_rule { "status, match, scope, reason, cooldownMs" } else { "cooldownMs, scope, reason" };
    let Some(entries) = json.as_object() else {
        faults.push(Fault::new(path, format!("a table of {names}")));
        return Json::Null;
    };
    let mut checked = Map::new();
    for (name, value) in entries.iter().filter(|(_, value)| !value.is_null()) {
        match field(name, value, is_rule) {
            Ok(value) => drop(checked.insert(name.clone(), value)),
            Err(accepted) if accepted.is_empty() => {
                faults.push(Fault::new(path, format!("a table of {names}")))
            }
            Err(accepted) => faults.push(Fault::new(format!("{path}.{name}"), accepted)),
        }
    }
    let absent = |name: &str| entries.get(name).is_none_or(Json::is_null);
    if is_rule && absent("status") && absent("match") {
        faults.push(Fault::new(path, "a rule with a status, a match, or both"));
    }
    Json::Object(checked)
}

/// One field, or what it must be; empty: there is no such field.
fn field(name: &str, value: &Json, is_rule: bool) -> Result<Json, String> {
    let whole = |low: u64, high: u64| value.as_u64().filter(|number| (low..=high).contains(number));
    match name {
        "status" if is_rule => {
            whole(100, 599).map(Json::from).ok_or_else(|| "a status code from 100 to 599".into())
        }
        "match" if is_rule => {
            let text = value
                .as_str()
                .map(str::trim)
                .filter(|text| (1..=LONGEST_MATCH).contains(&text.chars().count()));
            text.map(Json::from).ok_or_else(|| format!("a text of 1 to {LONGEST_MATCH} characters"))
        }
        "scope" => one_of(value, &SCOPES),
        "reason" => one_of(value, &REASONS.map(|reason| reason.as_str())),
        "cooldownMs" => {
            let low = if is_rule { 1 } else { SHORTEST_DEFAULT_MS };
            whole(low, LONGEST_MS).map(Json::from).ok_or_else(|| cooldown_bounds(is_rule))
        }
        _ => Err(String::new()),
    }
}

fn one_of(value: &Json, names: &[&str]) -> Result<Json, String> {
    let known = value.as_str().filter(|text| names.contains(text));
    known.map(Json::from).ok_or_else(|| names.join(" | "))
}

fn windows(provider: &str, json: &Json, faults: &mut Vec<Fault>) -> Json {
    let Some(entries) = json.as_object() else {
        faults.push(Fault::new(provider, "a table of windows"));
        return Json::Null;
    };
    for (window, value) in entries {
        if !value.as_f64().is_some_and(|percent| (0.0..=100.0).contains(&percent)) {
            faults.push(Fault::new(format!("{provider}.{window}"), "a number from 0 to 100"));
        }
    }
    json.clone()
}

/// Percent left by provider and window of a checked value.
pub(super) fn windows_of(json: &Json) -> HashMap<ProviderId, Cutoffs> {
    let entries = json.as_object().into_iter().flatten();
    let list = |windows: &Json| -> Cutoffs {
        let windows = windows.as_object().into_iter().flatten();
        windows.filter_map(|(name, left)| Some((QuotaWindow::find(name)?, left.as_f64()?))).collect()
    };
    entries.map(|(provider, windows)| (provider.as_str().into(), list(windows))).collect()
}

/// Names by the models they stand for, which may also be told as `{ provider, model }` (routing 12.3).
fn aliases(json: &Json, faults: &mut Vec<Fault>) -> Map<String, Json> {
    let mut checked = Map::new();
    let Some(entries) = json.as_object() else {
        faults.push(Fault::new("", "a table of names and the models they stand for"));
        return checked;
    };
    for (name, value) in entries {
        let fits = |text: &String| Shape::Model.fits(text) && text.trim() != name.trim();
        let to = alias_target(value).map(|to| to.trim().to_owned()).filter(fits);
        match to {
            _ if !Shape::Model.fits(name) => {
                faults.push(Fault::new("", format!("names of {}", Shape::Model.accepted())));
            }
            Some(to) => drop(checked.insert(name.trim().to_owned(), to.into())),
            None => faults.push(Fault::new(name, "\"provider/model\" or another model's name")),
        }
    }
    checked
}

fn alias_target(value: &Json) -> Option<String> {
    let text = |field: &str| value.get(field).and_then(Json::as_str).map(str::trim);
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Object(fields) if fields.len() == 2 => {
            let (provider, model) = (text("provider")?, text("model")?);
            (Shape::Id.fits(provider) && !model.is_empty()).then(|| format!("{provider}/{model}"))
        }
        _ => None,
    }
}

/// The aliases of a checked value, by name.
pub(super) fn alias_map(json: &Json) -> BTreeMap<String, String> {
    let entries = json.as_object().into_iter().flatten();
    entries.filter_map(|(name, to)| Some((name.clone(), to.as_str()?.to_owned()))).collect()
}

/// The rules of a checked value, each list in its order.
pub(super) fn error_rules(json: &Json) -> BTreeMap<String, Vec<ErrorRule>> {
    let entries = json.as_object().into_iter().flatten();
    let rule = |rule: &Json| ErrorRule {
        status: rule["status"].as_u64().and_then(|status| u16::try_from(status).ok()),
        matches: rule["match"].as_str().map(str::to_owned),
        scope: scope(rule),
        reason: reason(rule).unwrap_or(Reason::QuotaExhausted),
        cooldown_ms: rule["cooldownMs"].as_u64(),
    };
    let list = |rules: &Json| rules.as_array().into_iter().flatten().map(rule).collect();
    entries.map(|(provider, rules)| (provider.clone(), list(rules))).collect()
}

/// The defaults of a checked value.
pub(super) fn error_defaults(json: &Json) -> BTreeMap<String, ErrorDefault> {
    let entries = json.as_object().into_iter().flatten();
    let default = |default: &Json| ErrorDefault {
        cooldown_ms: default["cooldownMs"].as_u64().unwrap_or(SHORTEST_DEFAULT_MS),
        scope: scope(default),
        reason: reason(default),
    };
    entries.map(|(provider, value)| (provider.clone(), default(value))).collect()
}

fn scope(json: &Json) -> RuleScope {
    match json["scope"].as_str() {
        Some("model") => RuleScope::Model,
        Some("provider") => RuleScope::Provider,
        _ => RuleScope::Connection,
    }
}

fn reason(json: &Json) -> Option<Reason> {
    let name = json["reason"].as_str()?;
    REASONS.into_iter().find(|reason| reason.as_str() == name)
}
