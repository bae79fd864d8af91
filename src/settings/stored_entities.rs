//! Combos and mappings that the management API made or changed, laid over those of the file.
//!
//! A stored one takes the place of the file's or the demo's of the same name as a whole. One that
//! does not fit any more (its provider left the file) is a warning and leads nowhere there: it
//! never keeps the process from starting.

use std::collections::{BTreeMap, BTreeSet};

use policy::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::bodies::text_cell;
use super::build::{self, COMBOS, COMBOS_ONLY_STORED, Context, Known, MAPPINGS, MAPPINGS_ONLY_STORED};
use super::combos::{Alias, Combo, Mapping};
use super::connection_fields::Detail;
use super::finding::{Finding, Findings, Place, Problem};
use super::json_sheet::{self, Body};
use super::kind::Data;
use super::sheet::Sheet;
use super::stored::Stored;
use super::{Settings, Source, data};

const COMBO_NAME: &str = "combos[].name";
const MAPPING_ID: &str = "model_combo_mappings[].id";
const MAPPING_COMBO: &str = "model_combo_mappings[].combo";
const PATTERN: &str = "model_combo_mappings[].pattern";

/// Stored ones by name or id.
pub type StoredEntities = BTreeMap<String, StoredEntity>;

/// One of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredEntity {
    /// Its fields as the API spells them, without its name or id.
    pub fields: Map<String, Json>,
    /// When it was first stored.
    pub created_at: Millis,
    /// When it was last changed.
    pub updated_at: Millis,
}

/// Lays the stored ones over those of the file.
pub(super) fn lay(root: &mut Sheet, stored: &Stored, findings: &mut Findings) {
    name_mappings(root);
    for (list, only_stored, key, entities) in [
        (COMBOS, COMBOS_ONLY_STORED, COMBO_NAME, &stored.combos),
        (MAPPINGS, MAPPINGS_ONLY_STORED, MAPPING_ID, &stored.mappings),
    ] {
        for (name, entity) in entities {
            let sheet = sheet(list, key, name, entity, findings);
            let listed = root.lists.entry(list.to_owned()).or_default();
            match listed.iter_mut().find(|other| other.text(key).as_deref() == Some(name)) {
                Some(file) => *file = sheet,
                None => root.lists.entry(only_stored.to_owned()).or_default().push(sheet),
            }
        }
    }
}

fn sheet(list: &str, key: &'static str, name: &str, entity: &StoredEntity, findings: &mut Findings) -> Sheet {
    let Body { mut sheet, details, .. } = json_sheet::read(list, &entity.fields, true);
    for Detail { field, message } in details {
        let problem = format!("`{field}` of the stored `{name}` is not usable: {message}");
        findings.warn(&Place::Stored, list, Problem::new(problem, ""));
    }
    sheet.cells.insert(key, text_cell(name, &Place::Stored));
    sheet
}

/// Mappings of the file that have no id get one of their patterns, so that they can be named.
fn name_mappings(root: &mut Sheet) {
    let Some(mappings) = root.lists.get_mut(MAPPINGS) else { return };
    let mut taken: BTreeSet<String> = mappings.iter().filter_map(|sheet| sheet.text(MAPPING_ID)).collect();
    for sheet in mappings {
        let Some(pattern) = sheet.text(PATTERN).filter(|_| !sheet.is_given(MAPPING_ID)) else { continue };
        let id = free_mapping_id(&pattern, &|id| taken.contains(id));
        let place = sheet.place.clone();
        sheet.cells.insert(MAPPING_ID, text_cell(&id, &place));
        taken.insert(id);
    }
}

/// An id made of the pattern, that nobody has.
pub fn free_mapping_id(pattern: &str, taken: &dyn Fn(&str) -> bool) -> String {
    let mut base = build::slug(pattern);
    base.truncate(56);
    if base.is_empty() {
        base = "mapping".to_owned();
    }
    let numbered = (2..).map(|number: u32| format!("{base}-{number}"));
    let mut ids = std::iter::once(base.clone()).chain(numbered);
    ids.find(|id| !taken(id)).expect("numbers do not end")
}

/// An entity of a body that was found right, and which of its fields do nothing yet.
#[derive(Clone, Debug)]
pub struct Checked<T> {
    /// What it means.
    pub entity: T,
    /// Fields that are kept, but not acted on yet.
    pub idle: Vec<String>,
}

/// The fields of a combo under the names that a GET shows them by.
pub fn combo_fields(fields: Map<String, Json>) -> Map<String, Json> {
    json_sheet::as_shown(COMBOS, fields)
}

/// Checks a combo that came as a body as the file's are checked, among those that are in force.
pub fn check_combo(
    settings: &Settings,
    strategies: &[&str],
    name: &str,
    fields: &Map<String, Json>,
) -> Result<Checked<Combo>, Vec<Detail>> {
    let mut known = known(settings);
    known.combos.insert(name.to_owned());
    checked(COMBOS, (COMBO_NAME, name), fields, |body| {
        Context::alone(known, strategies, |context| {
            let combo = build::combo(context, &body.sheet)?;
            build::check_combo_among(context, &body.sheet, &combo, settings);
            Some(combo)
        })
    })
}

/// Checks a mapping that came as a body as the file's are checked.
pub fn check_mapping(
    settings: &Settings,
    id: &str,
    fields: &Map<String, Json>,
) -> Result<Checked<Mapping>, Vec<Detail>> {
    checked(MAPPINGS, (MAPPING_ID, id), fields, |body| {
        Context::alone(known(settings), &[], |context| {
            let mapping = build::mapping(context, &body.sheet)?;
            let put = |(_, mappings, _): &mut build::Named| {
                mappings.retain(|other| other.id != mapping.id);
                mappings.push(mapping.clone());
            };
            if let Some(Problem { problem, accepted }) = settings.closes(put) {
                context.refuse(&body.sheet, MAPPING_COMBO, &problem, &accepted);
            }
            Some(mapping)
        })
    })
}

/// Checks where aliases lead, each and all together; what they stand for then.
pub fn check_aliases(
    settings: &Settings,
    wanted: &Map<String, Json>,
) -> Result<BTreeMap<String, String>, Vec<Detail>> {
    let (mut checked, mut details) = (BTreeMap::new(), Vec::new());
    for (name, to) in wanted {
        match check_alias(settings, name, to) {
            Ok(to) => drop(checked.insert(name.trim().to_owned(), to)),
            Err(mut wrong) => details.append(&mut wrong),
        }
    }
    let put = |(.., aliases): &mut build::Named| {
        let alias = |to: &String| Alias { to: to.clone(), source: Source::Stored, replaces: None };
        aliases.extend(checked.iter().map(|(name, to)| (name.clone(), alias(to))));
    };
    details.extend(settings.closes(put).map(|problem| Detail::of("to", problem)));
    if details.is_empty() { Ok(checked) } else { Err(details) }
}

/// Checks where an alias leads.
fn check_alias(settings: &Settings, name: &str, to: &Json) -> Result<String, Vec<Detail>> {
    let json = Json::Object(Map::from_iter([(name.to_owned(), to.clone())]));
    let checked = data::check(Data::Aliases, &json).map_err(|faults| {
        let detail = |fault: data::Fault| Detail::of("to", fault.problem(data::Spelling::Json));
        faults.into_iter().map(detail).collect::<Vec<_>>()
    })?;
    let to = data::alias_map(&checked).into_values().next().unwrap_or_default();
    match known(settings).leads_somewhere(&to) {
        true => Ok(to),
        false => Err(vec![Detail::of("to", build::nowhere())]),
    }
}

/// Of these aliases those that nobody answers to for now, and why.
pub fn lost_aliases<'a>(settings: &Settings, names: impl Iterator<Item = &'a str>) -> Vec<(&'a str, String)> {
    let known = known(settings);
    let why = |name: &'a str| {
        let to = &settings.aliases.get(name)?.to;
        let lost = build::lost(&known, settings.aliases.keys(), to)?;
        Some((name, format!("{}, accepted: {}", lost.problem, lost.accepted)))
    };
    names.filter_map(why).collect()
}

fn checked<T>(
    list: &str,
    (key, name): (&'static str, &str),
    fields: &Map<String, Json>,
    read: impl FnOnce(&Body) -> (Option<T>, Vec<Finding>),
) -> Result<Checked<T>, Vec<Detail>> {
    let mut body = json_sheet::read(list, fields, false);
    body.sheet.cells.insert(key, text_cell(name, &Place::Line(0)));
    body.require(list);
    let (entity, findings) = read(&body);
    let mut details = body.told(findings);
    details.splice(0..0, std::mem::take(&mut body.details));
    match entity.filter(|_| details.is_empty()) {
        Some(entity) => Ok(Checked { entity, idle: body.idle() }),
        None => Err(details),
    }
}

fn known(settings: &Settings) -> Known {
    let mut known = Known::of(&settings.providers);
    let connections = settings.connections.iter();
    known.connections = connections.map(|it| (it.id.to_string(), it.provider.to_string())).collect();
    known.combos = settings.combos.iter().map(|combo| combo.name.clone()).collect();
    known
}
