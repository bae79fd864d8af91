//! `/api/resilience` and `/api/settings`: what is in force, and changing it (core 6).
//!
//! A PATCH stores just what it names; it is refused whole or applied whole, on disk and known
//! to every owner before the answer.

use actix_web::HttpResponse;
use serde_json::{Map, Value, json};

use super::access::Operator;
use super::errors::Refusal;
use super::input::Body;
use super::trail::difference;
use crate::app::{ChangeError, Live, State, Turn};
use crate::settings::{Finding, Origin, Patch, PatchFault, Section, Stored, legacy, tree};

/// `GET /api/resilience`.
pub(super) async fn resilience(admin: Operator) -> Result<HttpResponse, Refusal> {
    Ok(HttpResponse::Ok().json(shown(&admin.live, Section::Resilience)))
}

/// `GET /api/settings`.
pub(super) async fn settings(admin: Operator) -> Result<HttpResponse, Refusal> {
    Ok(HttpResponse::Ok().json(shown(&admin.live, Section::Settings)))
}

/// `GET /api/settings/effective`: every key, its value and who gave it.
pub(super) async fn effective(admin: Operator) -> Result<HttpResponse, Refusal> {
    let current = admin.live.current();
    let entries = current.effective.iter().map(|entry| {
        json!({
            "key": entry.key, "value": entry.json, "text": entry.value,
            "origin": entry.origin.to_string(), "acts": entry.acts,
        })
    });
    Ok(HttpResponse::Ok().json(json!({"settings": entries.collect::<Vec<_>>()})))
}

/// `PATCH /api/resilience`.
pub(super) async fn patch_resilience(admin: Operator, body: Body) -> Result<HttpResponse, Refusal> {
    change(&admin, Section::Resilience, &body).await
}

/// `PATCH /api/settings`.
pub(super) async fn patch_settings(admin: Operator, body: Body) -> Result<HttpResponse, Refusal> {
    change(&admin, Section::Settings, &body).await
}

/// A section as it is in force.
fn shown(live: &Live, section: Section) -> Value {
    let current = live.current();
    let mut sections = tree(&current.effective, section.name());
    match section {
        Section::Resilience => {
            sections["legacy"] = legacy(&sections);
            // A table of names that has none is there all the same.
            if sections["providerQuotaOverrides"].is_null() {
                sections["providerQuotaOverrides"] = json!({});
            }
        }
        // Lockouts can be read and set from both sides (core 5.2.2).
        Section::Settings => {
            sections["modelLockout"] =
                tree(&current.effective, Section::Resilience.name())["modelLockout"].take();
        }
    }
    sections
}

async fn change(admin: &Operator, section: Section, body: &[u8]) -> Result<HttpResponse, Refusal> {
    let live = &admin.live;
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| Refusal::invalid("body", format!("must be a JSON object: {error}")))?;
    let reader = live.clone();
    let turn = live.change(move |stored| edit(&reader, section, &body, stored)).await?;
    admin.tell(None, differs(&turn));
    let patch = turn.answer;
    let keys: Vec<&str> = patch.changes.keys().chain(&patch.emptied).map(String::as_str).collect();
    tracing::info!(?keys, "an operator changed settings");
    let mut answer = shown(live, section);
    answer["ok"] = true.into();
    let warnings = warnings(live, &patch);
    if !warnings.is_empty() {
        answer["warnings"] = warnings.into();
    }
    Ok(HttpResponse::Ok().json(answer))
}

/// The values that have changed by their keys, and those that something stronger keeps as they were.
fn differs<T>(Turn { before, after, .. }: &Turn<T>) -> (Value, Value) {
    let values = |state: &State| {
        let mut values = Map::new();
        for entry in &state.loaded.effective {
            // What connections have of their own comes later, under the same key.
            values.entry(entry.key.as_str()).or_insert_with(|| entry.json.clone());
        }
        Some(Value::Object(values))
    };
    let (was, is) = (&before.stored.settings, &after.stored.settings);
    let set = was.keys().chain(is.keys()).filter(|key| was.get(*key) != is.get(*key));
    let set: Vec<&str> = set.map(String::as_str).collect();
    difference(values(before), values(after), &set)
}

/// Reads the body against what is in force now: no other change comes between.
fn edit(live: &Live, section: Section, body: &Value, stored: &mut Stored) -> Result<Patch, Refusal> {
    let current = live.current();
    let providers: Vec<&str> =
        current.settings.providers.iter().map(|provider| provider.id.as_str()).collect();
    let number = |key: &str| current.effective.iter().find(|entry| entry.key == key)?.json.as_u64();
    let patch = Patch::read(section, body, &providers, &number)?;
    patch.apply(&mut stored.settings);
    Ok(patch)
}

/// What was stored but does not act: its mechanism is not built, or a variable is stronger.
fn warnings(live: &Live, patch: &Patch) -> Vec<Value> {
    let idle =
        patch.idle.iter().map(|field| json!({"field": field, "message": "is kept, but not acted on yet"}));
    let current = live.current();
    let set = patch.changes.iter().filter(|(_, value)| value.is_some());
    let beaten = set.filter_map(|(key, _)| {
        let entry = current.effective.iter().find(|entry| entry.key == *key)?;
        let Origin::Env(name) = &entry.origin else { return None };
        Some(json!({"field": key, "message": format!("is kept, but the variable {name} is stronger")}))
    });
    idle.chain(beaten).collect()
}

impl From<Vec<PatchFault>> for Refusal {
    fn from(faults: Vec<PatchFault>) -> Self {
        Self::Fields(faults.into_iter().map(|fault| (fault.field, fault.message)).collect())
    }
}

impl From<ChangeError> for Refusal {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Refused(findings) => Self::Fields(findings.iter().filter_map(told).collect()),
            ChangeError::Unkept(_) | ChangeError::System(_) => {
                tracing::error!(%error, "a change of the configuration was not made");
                Self::Unkept
            }
        }
    }
}

fn told(finding: &Finding) -> Option<(String, String)> {
    let message = match finding.accepted.as_str() {
        "" => finding.problem.clone(),
        accepted => format!("{}, accepted: {accepted}", finding.problem),
    };
    (!finding.warning).then(|| (finding.key.clone(), message))
}
