//! `GET /v1/models`: what a client may write as `model`.

use actix_web::{HttpRequest, HttpResponse, web};
use policy::catalogue::Dialect;
use policy::time::Millis;
use serde_json::{Value, json};

use super::auth::Caller;
use super::errors::{Code, Problem};
use super::state::{Http, HttpSettings, ListedModel};
use super::{inference, key_rules};

fn object(model: &ListedModel) -> Value {
    // OpenAI's list and Anthropic's have different required fields; together they satisfy both.
    let mut object = json!({
        "id": model.id, "object": "model", "created": 0, "owned_by": model.owner,
        "type": "model", "display_name": model.id, "created_at": "1970-01-01T00:00:00Z",
    });
    if let Some(tokens) = model.context_length {
        object["context_length"] = tokens.into();
    }
    object
}

/// An Anthropic client says which version it speaks.
fn dialect(request: &HttpRequest) -> Dialect {
    if request.headers().contains_key("anthropic-version") { Dialect::Anthropic } else { Dialect::Openai }
}

fn refusal(request: &HttpRequest, caller: &Caller, now: Millis) -> Option<HttpResponse> {
    match caller {
        Caller::Refused | Caller::Fallen(_) => Some(inference::refusal(caller).respond(dialect(request), 0)),
        // Whoever manages may look at the list, too.
        Caller::Known(policy) => {
            let open = key_rules::is_open(policy, now);
            let refused = open.and_then(|()| key_rules::may_call(policy, "/v1/models")).err()?;
            Some(refused.respond(dialect(request), 0))
        }
        Caller::Anonymous | Caller::Forbidden => None,
    }
}

/// What a caller sees: all, or what its key is limited to (flow 2.6) or reaches (routing 10.5).
fn seen<'a>(caller: &'a Caller, http: &'a Http, settings: &'a HttpSettings) -> Vec<&'a ListedModel> {
    let Caller::Known(policy) = caller else { return settings.models.iter().collect() };
    let listed = policy.models.as_deref().unwrap_or(&settings.models);
    let plan = &http.worker.tower.plan;
    listed.iter().filter(|model| key_rules::may_ask(policy, plan, &model.id).is_ok()).collect()
}

/// All of them.
pub async fn list(request: HttpRequest) -> HttpResponse {
    let http = request.app_data::<Http>().expect("every worker is given its state");
    let settings = http.settings.load();
    let now = http.worker.tower.owners.clock.now();
    let caller = settings.keys.caller(request.headers(), now);
    if let Some(refusal) = refusal(&request, &caller, now) {
        return refusal;
    }
    let listed = seen(&caller, http, &settings);
    let models: Vec<Value> = listed.iter().map(|model| object(model)).collect();
    let ends = (listed.first().map(|model| &model.id), listed.last().map(|model| &model.id));
    HttpResponse::Ok().json(json!({
        "object": "list", "data": models, "has_more": false, "first_id": ends.0, "last_id": ends.1,
    }))
}

/// One of them.
pub async fn one(request: HttpRequest, id: web::Path<String>) -> HttpResponse {
    let http = request.app_data::<Http>().expect("every worker is given its state");
    let settings = http.settings.load();
    let now = http.worker.tower.owners.clock.now();
    let caller = settings.keys.caller(request.headers(), now);
    if let Some(refusal) = refusal(&request, &caller, now) {
        return refusal;
    }
    match seen(&caller, http, &settings).iter().find(|model| model.id == *id) {
        Some(model) => HttpResponse::Ok().json(object(model)),
        None => Problem::new(Code::ModelNotFound, format!("no model or combo is called `{id}`"))
            .respond(dialect(&request), 0),
    }
}
