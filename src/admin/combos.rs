//! `/api/combos`: combos as they are in force (routing 1, 14). What is made or changed here is
//! stored, wins over the file's combo of the same name, and applies at once; requests that
//! run keep what they began with.

use actix_web::{HttpRequest, HttpResponse, web};
use policy::combo::TargetSpec;
use policy::strategy;
use serde_json::{Map, Value, json};

use super::entities::{self, Mode};
use super::errors::Refusal;
use super::input::object;
use super::providers::change;
use super::{Admin, access};
use crate::settings::{Checked, Combo, Settings, Stored, check_combo, fits_combo_name};

/// All of them, by name.
pub(super) async fn list(request: HttpRequest, admin: web::Data<Admin>) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let stored = admin.live.stored().await;
    let loaded = admin.live.current();
    let mut combos: Vec<&Combo> = loaded.settings.combos.iter().collect();
    combos.sort_by(|a, b| a.name.cmp(&b.name));
    let combos: Vec<Value> = combos.into_iter().map(|combo| show(combo, &stored)).collect();
    Ok(HttpResponse::Ok().json(json!({"combos": combos})))
}

/// One of them.
pub(super) async fn one(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    Ok(HttpResponse::Ok().json(shown(&admin, &id).await?))
}

/// Makes one.
pub(super) async fn create(
    request: HttpRequest,
    admin: web::Data<Admin>,
    body: web::Bytes,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let body = object(&body)?;
    let name = match body.get("name") {
        Some(Value::String(name)) if fits_combo_name(name) => name.clone(),
        given => return Err(Refusal::invalid("name", bad_name(given))),
    };
    let body = entities::fields(body, &["name", "id"], &name)?;
    let (live, of, now) = (admin.live.clone(), name.clone(), admin.owners.clock.now());
    let idle = change(&admin, move |stored: &mut Stored| {
        let loaded = live.current();
        if loaded.settings.combos.iter().any(|combo| combo.name == of) {
            return Err(Refusal::invalid(
                "name",
                "is another combo's name already, accepted: a name of its own",
            ));
        }
        let fields: Map<String, Value> = body.into_iter().filter(|(_, value)| !value.is_null()).collect();
        keep(stored, &loaded.settings, &of, fields, now)
    });
    let idle = idle.await?;
    tracing::info!(combo = %name, "an operator made a combo");
    Ok(HttpResponse::Created().json(answer(&admin, &name, &idle).await?))
}

fn bad_name(given: Option<&Value>) -> String {
    let problem = match given {
        None | Some(Value::Null) => "is missing",
        Some(_) => "is not accepted",
    };
    format!("{problem}, accepted: 1 to 100 characters of A-Z a-z 0-9 _ / . - [ ] and blank")
}

/// Puts a whole one in its place.
pub(super) async fn replace(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
    body: web::Bytes,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    update(&admin, id.into_inner(), object(&body)?, Mode::Replace).await
}

/// Changes the fields that are named; null clears one.
pub(super) async fn patch(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
    body: web::Bytes,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    update(&admin, id.into_inner(), object(&body)?, Mode::Patch).await
}

async fn update(
    admin: &Admin,
    name: String,
    body: Map<String, Value>,
    mode: Mode,
) -> Result<HttpResponse, Refusal> {
    let (live, of, now) = (admin.live.clone(), name.clone(), admin.owners.clock.now());
    let idle = change(admin, move |stored: &mut Stored| {
        let loaded = live.current();
        let current = loaded.settings.combos.iter().find(|combo| combo.name == of);
        let current = current.ok_or_else(|| unknown(&of))?;
        let mut change = entities::fields(body, &["name", "id"], &of)?;
        let mut fields = Map::new();
        if mode == Mode::Patch {
            fields = current.given.clone();
            if let Some(models) = change.remove("models") {
                change.entry("targets").or_insert(models);
            }
        }
        entities::merge(&mut fields, change);
        keep(stored, &loaded.settings, &of, fields, now)
    });
    let idle = idle.await?;
    tracing::info!(combo = %name, "an operator changed a combo");
    Ok(HttpResponse::Ok().json(answer(admin, &name, &idle).await?))
}

/// Checks a combo and stores it; its fields that do nothing yet.
fn keep(
    stored: &mut Stored,
    settings: &Settings,
    name: &str,
    fields: Map<String, Value>,
    now: policy::time::Millis,
) -> Result<Vec<String>, Refusal> {
    let checked = check_combo(settings, &strategy::names(), name, &fields).map_err(Refusal::of)?;
    let Checked { entity, idle } = checked;
    entities::put(&mut stored.combos, name, entity.given, now);
    Ok(idle)
}

/// Takes a stored one away; what the file has of that name is in force again. Combos that name it
/// lose what it stood for (routing 14.4).
pub(super) async fn delete(
    request: HttpRequest,
    admin: web::Data<Admin>,
    id: web::Path<String>,
) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let name = id.into_inner();
    let (live, of) = (admin.live.clone(), name.clone());
    change(&admin, move |stored: &mut Stored| match stored.combos.remove(&of) {
        Some(_) => Ok(()),
        None => Err(match live.current().settings.combos.iter().any(|combo| combo.name == of) {
            true => Refusal::Fixed(of),
            false => unknown(&of),
        }),
    })
    .await?;
    tracing::info!(combo = %name, "an operator deleted a combo");
    Ok(HttpResponse::Ok().json(json!({"success": true})))
}

async fn answer(admin: &Admin, name: &str, idle: &[String]) -> Result<Value, Refusal> {
    let mut shown = shown(admin, name).await?;
    entities::warn_of_idle(&mut shown, idle);
    if let Some((provider, model)) = shadowed(&admin.live.current().settings, name) {
        shown["warning"] = json!({
            "code": "COMBO_NAME_SHADOWS_MODEL",
            "modelId": model,
            "providerId": provider,
            "message": "a model has this name, too; who asks for it gets the combo",
        });
    }
    Ok(shown)
}

/// The model that cannot be asked for under this name any more (routing 14.4).
fn shadowed(settings: &Settings, name: &str) -> Option<(String, String)> {
    let halves = name.split_once('/').map(|(provider, model)| (provider.trim(), model.trim()));
    settings.providers.iter().find_map(|provider| {
        let lists = |model: &str| provider.models.iter().flatten().any(|known| known.id.as_str() == model);
        let passes = provider.models.is_none() || provider.passthrough_models;
        let of = halves.filter(|(of, model)| *of == provider.id.as_str() && !model.is_empty());
        let model = match of {
            Some((_, model)) if passes || lists(model) => model,
            _ if lists(name) => name,
            _ => return None,
        };
        Some((provider.id.to_string(), model.to_owned()))
    })
}

async fn shown(admin: &Admin, name: &str) -> Result<Value, Refusal> {
    let stored = admin.live.stored().await;
    let loaded = admin.live.current();
    let combo = loaded.settings.combos.iter().find(|combo| combo.name == name);
    Ok(show(combo.ok_or_else(|| unknown(name))?, &stored))
}

/// A combo as it was given, with what was left out that everybody asks for.
fn show(combo: &Combo, stored: &Stored) -> Value {
    let mut shown = Value::Object(combo.given.clone());
    shown["id"] = combo.name.as_str().into();
    shown["name"] = combo.name.as_str().into();
    shown["strategy"] = combo.strategy.as_str().into();
    for target in shown["targets"].as_array_mut().into_iter().flatten() {
        complete(target, combo);
    }
    entities::describe(&mut shown, (combo.source, combo.replaces), stored.combos.get(&combo.name));
    shown
}

fn complete(target: &mut Value, combo: &Combo) {
    let Some(step) = combo.targets.iter().find(|step| target["id"] == *step.id) else { return };
    let Some(fields) = target.as_object_mut() else { return };
    fields.insert("weight".into(), step.weight.into());
    match &step.target {
        TargetSpec::Model(model) => {
            fields.remove("provider");
            fields.insert("kind".into(), "model".into());
            fields.insert("model".into(), format!("{}/{}", model.provider, model.model).into());
            fields.entry("connection").or_insert(Value::Null);
        }
        TargetSpec::Combo(name) => {
            fields.remove("model");
            fields.insert("kind".into(), "combo-ref".into());
            fields.insert("comboName".into(), (**name).into());
        }
    }
}

fn unknown(name: &str) -> Refusal {
    Refusal::NotFound("combo".into(), name.into())
}
