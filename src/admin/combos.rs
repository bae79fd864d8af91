//! `GET /api/combos`: the combos as they are configured.

use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};

use super::errors::Refusal;
use super::{Admin, access};

/// All of them, by name.
pub(super) async fn list(request: HttpRequest, admin: web::Data<Admin>) -> Result<HttpResponse, Refusal> {
    access::require(&request)?;
    let blueprint = admin.blueprint.load();
    let mut combos: Vec<_> = blueprint.catalogue.combos.values().collect();
    combos.sort_by(|a, b| a.name.cmp(&b.name));
    let combos: Vec<Value> = combos
        .into_iter()
        .map(|combo| {
            let targets: Vec<Value> = combo
                .steps
                .iter()
                .map(|step| json!({"model": format!("{}/{}", step.provider, step.model), "connection": step.connection}))
                .collect();
            json!({"name": &*combo.name, "strategy": combo.strategy, "targets": targets})
        })
        .collect();
    Ok(HttpResponse::Ok().json(json!({"combos": combos})))
}
