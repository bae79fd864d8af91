//! `GET /v1/models`: what a client may write as `model`.

use actix_web::{HttpRequest, HttpResponse, web};
use policy::catalogue::Dialect;
use serde_json::{Value, json};

use super::auth::Caller;
use super::errors::{Code, Problem};
use super::inference;
use super::state::{Http, HttpSettings, ListedModel};

fn object(model: &ListedModel) -> Value {
    // OpenAI's list and Anthropic's have different required fields; together they satisfy both.
    json!({
        "id": model.id, "object": "model", "created": 0, "owned_by": model.owner,
        "type": "model", "display_name": model.id, "created_at": "1970-01-01T00:00:00Z",
    })
}

/// An Anthropic client says which version it speaks.
fn dialect(request: &HttpRequest) -> Dialect {
    if request.headers().contains_key("anthropic-version") { Dialect::Anthropic } else { Dialect::Openai }
}

fn refusal(request: &HttpRequest, caller: &Caller) -> Option<HttpResponse> {
    match caller {
        Caller::Refused | Caller::Fallen(_) => Some(inference::refusal(caller).respond(dialect(request), 0)),
        // Whoever manages may look at the list, too.
        Caller::Known(_) | Caller::Anonymous | Caller::Forbidden => None,
    }
}

/// What a caller sees: all, or what its key is limited to (flow 2.6).
fn seen<'a>(caller: &'a Caller, settings: &'a HttpSettings) -> &'a [ListedModel] {
    match caller {
        Caller::Known(policy) => policy.models.as_deref().unwrap_or(&settings.models),
        Caller::Anonymous | Caller::Refused | Caller::Forbidden | Caller::Fallen(_) => &settings.models,
    }
}

/// All of them.
pub async fn list(request: HttpRequest) -> HttpResponse {
    let http = request.app_data::<Http>().expect("every worker is given its state");
    let settings = http.settings.load();
    let caller = settings.keys.caller(request.headers(), http.worker.tower.owners.clock.now());
    if let Some(refusal) = refusal(&request, &caller) {
        return refusal;
    }
    let listed = seen(&caller, &settings);
    let models: Vec<Value> = listed.iter().map(object).collect();
    let ends = (listed.first().map(|model| &model.id), listed.last().map(|model| &model.id));
    HttpResponse::Ok().json(json!({
        "object": "list", "data": models, "has_more": false, "first_id": ends.0, "last_id": ends.1,
    }))
}

/// One of them.
pub async fn one(request: HttpRequest, id: web::Path<String>) -> HttpResponse {
    let http = request.app_data::<Http>().expect("every worker is given its state");
    let settings = http.settings.load();
    let caller = settings.keys.caller(request.headers(), http.worker.tower.owners.clock.now());
    if let Some(refusal) = refusal(&request, &caller) {
        return refusal;
    }
    match seen(&caller, &settings).iter().find(|model| model.id == *id) {
        Some(model) => HttpResponse::Ok().json(object(model)),
        None => Problem::new(Code::ModelNotFound, format!("no model or combo is called `{id}`"))
            .respond(dialect(&request), 0),
    }
}
