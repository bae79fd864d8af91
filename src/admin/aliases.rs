//! `/api/models/alias`: other names of models and combos (routing 12.3, 14.1). Stored ones win over
//! the file's and apply at once.

use std::collections::BTreeMap;

use actix_web::{HttpResponse, web};
use serde_json::{Map, Value, json};

use super::Admin;
use super::access::Operator;
use super::entities::{change, source_name};
use super::errors::Refusal;
use super::input::{self, Body, Object};
use super::trail::difference;
use crate::app::{State, Turn};
use crate::settings::{Stored, check_aliases, lost_aliases};

/// Every alias, and who made each.
pub(super) async fn all(admin: Operator) -> Result<HttpResponse, Refusal> {
    Ok(HttpResponse::Ok().json(all_aliases(&admin)))
}

fn all_aliases(admin: &Admin) -> Value {
    let loaded = admin.live.current();
    let aliases = loaded.settings.aliases.iter();
    let to: BTreeMap<&str, &str> = aliases.clone().map(|(name, alias)| (&**name, &*alias.to)).collect();
    let source: BTreeMap<&str, &str> =
        aliases.map(|(name, alias)| (&**name, source_name(alias.source))).collect();
    json!({"aliases": to, "sources": source})
}

/// Sets one (`from`, `to`), or all that `aliases` names.
pub(super) async fn set(admin: Operator, Object(body): Object) -> Result<HttpResponse, Refusal> {
    let wanted = wanted(body)?;
    let live = admin.live.clone();
    let names: Vec<String> = wanted.keys().cloned().collect();
    let turn = change(&admin, move |stored: &mut Stored| {
        let checked = check_aliases(&live.current().settings, &wanted).map_err(Refusal::of)?;
        stored.aliases.extend(checked);
        Ok::<_, Refusal>(())
    })
    .await?;
    tracing::info!(aliases = ?names, "an operator set aliases");
    let only = names.first().filter(|_| names.len() == 1);
    admin.tell(only.map(String::as_str), told(&turn));
    let mut shown = all_aliases(&admin);
    if let Some(warning) = warning(&admin, &names) {
        shown["warning"] = warning;
    }
    Ok(HttpResponse::Ok().json(shown))
}

/// The aliases that have changed, and what they stand for.
fn told<T>(turn: &Turn<T>) -> (Value, Value) {
    let all = |state: &State| {
        let aliases = state.loaded.settings.aliases.iter();
        Some(aliases.map(|(name, alias)| (name.to_string(), Value::from(&*alias.to))).collect())
    };
    difference(all(&turn.before), all(&turn.after), &[])
}

/// What an operator is told of aliases that nobody answers to: catalogues may change, so they are kept.
fn warning(admin: &Admin, names: &[String]) -> Option<Value> {
    let loaded = admin.live.current();
    let lost = lost_aliases(&loaded.settings, names.iter().map(|name| name.trim()));
    let told: Vec<String> = lost.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    let names: Vec<&str> = lost.iter().map(|(name, _)| *name).collect();
    (!names.is_empty())
        .then(|| json!({"code": "ALIAS_LEADS_NOWHERE", "aliases": names, "message": told.join("; ")}))
}

fn wanted(mut body: Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
    const ACCEPTED: &str = "unknown field; accepted: from and to, or aliases";
    if let Some(field) = body.keys().find(|field| !["from", "to", "aliases"].contains(&field.as_str())) {
        return Err(Refusal::invalid(field, ACCEPTED));
    }
    match (body.remove("from"), body.remove("to"), body.remove("aliases")) {
        (Some(Value::String(from)), Some(to), None) => Ok(Map::from_iter([(from, to)])),
        (None, None, Some(Value::Object(aliases))) if !aliases.is_empty() => Ok(aliases),
        (None, None, Some(_)) => Err(Refusal::invalid("aliases", "must be an object of names and models")),
        (_, None, None) => Err(Refusal::invalid("to", "is missing")),
        _ => Err(Refusal::invalid("from", "must be a text; from and to, or aliases")),
    }
}

/// `?from=`: the alias that goes.
#[derive(serde::Deserialize)]
pub(super) struct Gone {
    from: Option<String>,
}

/// Takes a stored one away (`from`, in the body or the query); the file's is in force again.
pub(super) async fn delete(
    admin: Operator,
    query: Result<web::Query<Gone>, actix_web::Error>,
    body: Body,
) -> Result<HttpResponse, Refusal> {
    let query = query.map_err(|_| Refusal::invalid("query", "accepted: from"))?;
    let named = input::text(&input::fields(&body, &["from"])?, "from")?;
    let from = named.or(query.into_inner().from);
    let from = from.ok_or_else(|| Refusal::invalid("from", "is missing, accepted: the alias that goes"))?;
    let (live, of) = (admin.live.clone(), from.clone());
    let turn = change(&admin, move |stored: &mut Stored| match stored.aliases.remove(&of) {
        Some(_) => Ok(()),
        None => Err(match live.current().settings.aliases.contains_key(&of) {
            true => Refusal::Fixed(of),
            false => Refusal::NotFound("alias".into(), of),
        }),
    })
    .await?;
    tracing::info!(alias = %from, "an operator deleted an alias");
    admin.tell(Some(&from), told(&turn));
    Ok(HttpResponse::Ok().json(all_aliases(&admin)))
}
