//! `POST /api/route/explain`: who would be asked now, in which order, and why each other one would
//! not. It makes the plan that a request would get, from the same values, and throws it away:
//! nothing is sent, nothing counts as used. What the key of a request is refused for is told as the
//! request would be.

use std::rc::Rc;
use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use actors::router::pick::{Look, Pick};
use policy::catalogue::Dialect;
use policy::lease::{Fence, OwnerHash};
use policy::plan::{NoPlan, Place, Plan, Planned};
use policy::request::Traits;
use serde_json::{Map, Value, json};

use super::access::Operator;
use super::decisions::exclusion;
use super::errors::Refusal;
use super::input::{self, Body};
use crate::http::errors::of_no_plan;
use crate::http::key_rules::{Would, may_speak, would_admit};
use crate::http::state::HttpSettings;
use crate::http::traits::named;
use crate::relay::Worker;

const ACCEPTED: [&str; 5] = ["model", "session", "key", "estimated_tokens", "format"];
const DIALECTS: [Dialect; 3] = [Dialect::Openai, Dialect::Anthropic, Dialect::Responses];

/// The plan for a model.
pub(super) async fn explain(
    admin: Operator,
    settings: web::Data<arc_swap::ArcSwap<HttpSettings>>,
    request: HttpRequest,
    body: Body,
) -> Result<HttpResponse, Refusal> {
    let fields = input::fields(&body, &ACCEPTED)?;
    let model = input::text(&fields, "model")?
        .ok_or_else(|| Refusal::invalid("model", "must be given: what a client would write as `model`"))?;
    let mut pick = Pick { traits: Arc::new(traits(&fields)?), ..Pick::new(model.as_str(), Dialect::Openai) };
    let mut dialects = dialects(&fields)?;
    if let Some(name) = input::text(&fields, "key")? {
        let settings = settings.load();
        let policy = settings.keys.named(&name).ok_or_else(|| Refusal::NotFound("key".into(), name))?;
        let tower = &request.app_data::<Rc<Worker>>().ok_or(Refusal::Unavailable)?.tower;
        let would = Would { model: &model, dialects: &dialects, session: pick.traits.session.as_deref() };
        if let Err(problem) = would_admit(policy, tower, &would) {
            return Ok(problem.respond(Dialect::Openai, settings.max_retry_after_ms));
        }
        // Only what the key may call is looked at.
        dialects.retain(|dialect| may_speak(policy, *dialect));
        (pick.allowed, pick.limited) = (policy.allowed.clone(), policy.models.is_some());
        pick.preferred = policy.preferred.clone();
        pick.key = Some(policy.name.clone());
        pick.lease = policy.lease.then(|| lease(&admin, &policy.name));
    }
    let mut told = Err(NoPlan::UnknownModel);
    for dialect in dialects {
        let look = Look(Pick { dialect, ..pick.clone() });
        told = admin.owners.router.mailbox.ask(look).await.map_err(|_| Refusal::Unavailable)?;
        // Nobody said which dialect: the first that the model speaks.
        if !matches!(told, Err(NoPlan::FormatNotSupported(_))) {
            break;
        }
    }
    Ok(match told {
        Ok(plan) => HttpResponse::Ok().json(shown(&plan)),
        Err(no_plan) => of_no_plan(no_plan, &model).respond(Dialect::Openai, 0),
    })
}

/// The dialects in which it could be asked; absent: all, in the order in which they are tried.
fn dialects(fields: &Map<String, Value>) -> Result<Vec<Dialect>, Refusal> {
    let Some(name) = input::text(fields, "format")? else { return Ok(DIALECTS.to_vec()) };
    let named: Vec<Dialect> = DIALECTS.into_iter().filter(|dialect| dialect.as_str() == name).collect();
    match named.is_empty() {
        true => Err(Refusal::invalid("format", "must be openai, anthropic or responses")),
        false => Ok(named),
    }
}

/// A managed key asks under its lease: the one that was taken with it last, else one that is still to
/// be taken, by an owner whom nobody knows (rules 7.4.1).
fn lease(admin: &Operator, key: &str) -> Fence {
    let now = admin.owners.clock.now();
    let latest = admin.owners.tenancies().with(|book| {
        let row = book.latest_of(key, now)?;
        Some((row.owner.clone(), row.generation))
    });
    let nobody = || (OwnerHash::from_hex(&"0".repeat(64)).expect("64 digits"), 0);
    let (owner, generation) = latest.unwrap_or_else(nobody);
    Fence { owner, generation, key: key.to_owned() }
}

fn traits(fields: &Map<String, Value>) -> Result<Traits, Refusal> {
    let tokens = match fields.get("estimated_tokens") {
        None | Some(Value::Null) => None,
        Some(value) => Some(value.as_u64().ok_or_else(|| {
            Refusal::invalid("estimated_tokens", "must be a whole number that is not negative")
        })?),
    };
    // What a client would send in `X-Session-Id`.
    let session = input::text(fields, "session")?.and_then(|session| named(&session));
    Ok(Traits { input_tokens: tokens, session, ..Traits::default() })
}

fn shown(plan: &Plan) -> Value {
    let mut before: Option<&Planned> = None;
    let order: Vec<Value> = plan
        .targets
        .iter()
        .enumerate()
        .map(|(place, target)| {
            let why = why(plan, place, target, before.replace(target));
            json!({
                "provider": target.provider,
                "model": target.model,
                "connection": target.connection,
                "why": why,
                "score": target.place.as_ref().and_then(|place| place.score),
            })
        })
        .collect();
    let excluded: Vec<Value> = plan.excluded.iter().chain(&plan.unfit).map(exclusion).collect();
    json!({"strategy": plan.strategy, "order": order, "excluded": excluded})
}

fn why(plan: &Plan, place: usize, target: &Planned, before: Option<&Planned>) -> String {
    let account = before.is_some_and(|before| before.step == target.step && before.place == target.place);
    match (&target.place, account) {
        (_, true) => "the next account of the same target".into(),
        (None, false) => "the account that is asked first".into(),
        (Some(at), false) if at.slow => {
            format!("behind all quicker ones (predictive_ttft_ms){}", inside(at))
        }
        (Some(at), false) if place == 0 => format!("first by {}{}", plan.strategy, inside(at)),
        (Some(at), false) => format!("number {} by {}{}", place + 1, plan.strategy, inside(at)),
    }
}

fn inside(place: &Place) -> String {
    place.within.as_ref().map_or_else(String::new, |_| format!(", inside combo `{}`", place.combo))
}
