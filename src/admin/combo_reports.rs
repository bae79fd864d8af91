//! `GET /api/combos/metrics` and `GET /api/combos/auto` (routing 14): how combos fare, and what the
//! combos that nobody has to write would choose from now. Both only look.

use std::collections::HashMap;
use std::rc::Rc;

use actix_web::{HttpRequest, HttpResponse};
use actors::router::pick::{Look, Pick};
use policy::catalogue::{Catalogue, Combo, Dialect, Step};
use policy::ids::{ConnectionId, ModelId, ProviderId};
use policy::strategy::auto::{self, AutoRouter};
use serde_json::{Map, Value, json};

use super::Admin;
use super::access::Operator;
use super::errors::Refusal;
use crate::http::errors::rfc3339;
use crate::relay::Worker;
use crate::telemetry::{ComboFared, Fared};

/// How each combo that was asked since the start has fared.
pub(super) async fn metrics(_: Operator, request: HttpRequest) -> Result<HttpResponse, Refusal> {
    let worker = request.app_data::<Rc<Worker>>().ok_or(Refusal::Unavailable)?;
    let all = worker.tower.combos.all();
    let metrics: Map<String, Value> =
        all.iter().map(|(name, fared)| (name.to_string(), of_combo(fared))).collect();
    Ok(HttpResponse::Ok().json(json!({"metrics": metrics})))
}

fn of_combo(fared: &ComboFared) -> Value {
    let mut shown = numbers(&fared.whole);
    shown["strategy"] = fared.strategy.into();
    shown["successRate"] = percent(fared.whole.successes, fared.whole.requests);
    shown["fallbackRate"] = percent(fared.whole.fallbacks, fared.whole.requests);
    let target = |(provider, model, fared): &(ProviderId, ModelId, Fared)| {
        let mut shown = numbers(fared);
        shown["provider"] = provider.as_str().into();
        shown["model"] = model.as_str().into();
        // An attempt that was dropped speaks neither for it nor against it.
        shown["successRate"] = percent(fared.successes, fared.successes + fared.failures);
        (format!("{provider}/{model}"), shown)
    };
    shown["byTarget"] = Value::Object(fared.targets.iter().map(target).collect());
    shown
}

fn numbers(fared: &Fared) -> Value {
    json!({
        "totalRequests": fared.requests,
        "totalSuccesses": fared.successes,
        "totalFailures": fared.failures,
        "totalAttempts": fared.attempts,
        "totalFallbacks": fared.fallbacks,
        "avgLatencyMs": fared.average_ms(),
        "p95LatencyMs": fared.p95_ms(),
        "lastUsedAt": rfc3339(fared.last_at),
    })
}

/// Whole percent; null of nothing.
fn percent(part: u64, whole: u64) -> Value {
    match whole {
        0 => Value::Null,
        whole => ((part * 100 + whole / 2) / whole).into(),
    }
}

/// Dialects whose requests can go to a candidate; whoever speaks several is scored in the first.
const DIALECTS: [Dialect; 4] = [Dialect::Openai, Dialect::Anthropic, Dialect::Responses, Dialect::Gemini];

/// Each name of `auto` with its candidates, the best first.
pub(super) async fn auto(admin: Operator) -> Result<HttpResponse, Refusal> {
    let blueprint = admin.blueprint.load_full();
    let catalogue = &blueprint.catalogue;
    let mut combos = Vec::new();
    for name in auto::names() {
        let Some(combo) = auto::combo(&name, catalogue) else { continue };
        // A combo that somebody wrote takes the name (routing 2.1).
        let shadowed = catalogue.combos.contains_key(name.as_str());
        let scores = if shadowed { HashMap::new() } else { scores(&admin, &combo, catalogue).await? };
        combos.push(shown(&combo, catalogue, &scores, shadowed));
    }
    Ok(HttpResponse::Ok().json(json!({"combos": combos})))
}

type Scores = HashMap<ConnectionId, Option<f64>>;

/// What an explanation would say now of each account that could be asked.
async fn scores(admin: &Admin, combo: &Combo, catalogue: &Catalogue) -> Result<Scores, Refusal> {
    let speaks = |dialect: &Dialect| {
        let provider = |step: &Step| catalogue.providers.get(&step.provider);
        combo.steps.iter().filter_map(provider).any(|provider| provider.dialects.contains(dialect))
    };
    let mut scores = Scores::new();
    for dialect in DIALECTS.into_iter().filter(speaks) {
        let look = Look(Pick::new(&*combo.name, dialect));
        // What cannot be planned scores nothing.
        let Ok(plan) = admin.owners.router.mailbox.ask(look).await.map_err(|_| Refusal::Unavailable)? else {
            continue;
        };
        for target in plan.targets {
            let score = target.place.as_ref().and_then(|place| place.score);
            scores.entry(target.connection).or_insert(score);
        }
    }
    Ok(scores)
}

/// One provider's model, with its accounts.
struct Candidate<'a> {
    step: &'a Step,
    connections: usize,
    /// Of its accounts those that could be asked now.
    available: usize,
    score: Option<f64>,
}

fn shown(combo: &Combo, catalogue: &Catalogue, scores: &Scores, shadowed: bool) -> Value {
    let mut pool: Vec<Candidate<'_>> = Vec::new();
    for step in &combo.steps {
        let told = step.connection.as_ref().and_then(|connection| scores.get(connection));
        let same = |known: &&mut Candidate<'_>| {
            known.step.provider == step.provider && known.step.model == step.model
        };
        let (available, score) = (usize::from(told.is_some()), told.copied().flatten());
        match pool.iter_mut().find(same) {
            Some(known) => {
                known.connections += 1;
                known.available += available;
                known.score = [known.score, score].into_iter().flatten().reduce(f64::max);
            }
            None => pool.push(Candidate { step, connections: 1, available, score }),
        }
    }
    let rank = |candidate: &Candidate<'_>| candidate.score.unwrap_or(f64::NEG_INFINITY);
    pool.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    let window = |candidate: &Candidate<'_>| {
        let step = candidate.step;
        catalogue.providers.get(&step.provider)?.facts(step.model.as_str())?.context_window
    };
    let own = &combo.settings.auto;
    let base = catalogue.base.as_ref().map(|base| own.over(&base.settings.auto));
    let settings = base.as_ref().unwrap_or(own);
    let router = AutoRouter::NAMES.iter().find(|(_, router)| *router == settings.router);
    let candidates = pool.iter().map(|candidate| {
        json!({
            "provider": candidate.step.provider,
            "model": candidate.step.model,
            "connections": candidate.connections,
            "available": candidate.available,
            "score": candidate.score,
        })
    });
    json!({
        "id": *combo.name,
        "name": *combo.name,
        "variant": combo.name.strip_prefix("auto/"),
        "type": "auto",
        "shadowed": shadowed,
        "config": {
            "modePack": settings.mode_pack.map(|pack| pack.name),
            "routerStrategy": router.map(|(name, _)| *name),
        },
        "context_length": pool.iter().filter_map(window).min(),
        "candidateCount": pool.len(),
        "candidatePool": candidates.collect::<Vec<_>>(),
    })
}
