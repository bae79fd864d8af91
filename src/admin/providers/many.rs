//! Many connections at once (routing 14.1): `PATCH /api/providers` switches them on or off, `bulk`
//! makes many of one provider, `import` of any. Each row stands for itself: one that is wrong is told
//! by its place and loses no other. What is right of all rows is stored and applied as one change.

use std::collections::BTreeSet;

use actix_web::HttpResponse;
use serde_json::{Map, Value, json};

use super::{edit, find, view};
use crate::admin::access::Operator;
use crate::admin::entities::{Edit, Mode, Seen, change};
use crate::admin::errors::Refusal;
use crate::admin::input::Object;
use crate::admin::trail::difference;
use crate::app::{State, Turn};
use crate::settings::{Stored, idle_fields};

/// Most that are switched at once.
const MOST_SWITCHED: usize = 100;
/// Most that are made at once.
const MOST_MADE: usize = 200;
/// Longest body with rows, bytes: tokens of OAuth accounts are some kilobytes each.
const LONGEST: usize = 2 * 1024 * 1024;

type Fields = Map<String, Value>;
type Answer = Result<HttpResponse, Refusal>;

/// Switches connections on or off; which of the ids nobody has is told.
pub(in crate::admin) async fn switch(admin: Operator, Object(body): Object) -> Answer {
    accept(&body, &["ids", "isActive"])?;
    let active = body.get("isActive").and_then(Value::as_bool);
    let active = active.ok_or_else(|| Refusal::invalid("isActive", "must be true or false"))?;
    let wrong = || Refusal::invalid("ids", format!("must be 1 to {MOST_SWITCHED} ids of connections"));
    let listed = body.get("ids").and_then(Value::as_array).ok_or_else(wrong)?;
    let ids: Option<BTreeSet<String>> = listed.iter().map(|id| id.as_str().map(str::to_owned)).collect();
    let ids = ids.filter(|_| (1..=MOST_SWITCHED).contains(&listed.len())).ok_or_else(wrong)?;
    let edit = Edit::new(&admin);
    let only = ids.first().filter(|_| ids.len() == 1).cloned();
    let turn = change(&admin, move |stored| switch_each(&edit, stored, ids, active)).await?;
    admin.tell(only.as_deref(), difference(Some(flags(&turn.before)), Some(flags(&turn.after)), &[]));
    let (updated, not_found) = turn.answer;
    tracing::info!(updated, active, "an operator switched connections");
    Ok(HttpResponse::Ok().json(json!({"updated": updated, "notFound": not_found})))
}

/// Which connections are on.
fn flags(state: &State) -> Value {
    let connections = state.loaded.settings.connections.iter();
    connections.map(|one| (one.id.to_string(), json!({"isActive": one.active}))).collect()
}

fn switch_each(
    edit: &Edit,
    stored: &mut Stored,
    ids: BTreeSet<String>,
    active: bool,
) -> Result<(usize, Vec<String>), Refusal> {
    let loaded = edit.live.current();
    let (mut updated, mut not_found) = (0, Vec::new());
    for id in ids {
        let Ok(current) = find(&loaded.settings, &id) else {
            not_found.push(id);
            continue;
        };
        // One that is so already needs no record of its own.
        if current.active != active {
            let body = Map::from_iter([("isActive".to_owned(), active.into())]);
            edit::update(edit, stored, &id, body, Mode::Patch)?;
        }
        updated += 1;
    }
    Ok((updated, not_found))
}

/// Makes connections of one provider; what stands beside `entries` is each row's that says nothing else.
pub(in crate::admin) async fn bulk(admin: Operator, Object(mut body): Object<LONGEST>) -> Answer {
    let rows = rows(body.remove("entries"))?;
    if !body.get("provider").is_some_and(Value::is_string) {
        return Err(Refusal::invalid("provider", "must be the id of a provider"));
    }
    if ["id", "apiKey", "accessToken", "refreshToken"].iter().any(|field| body.contains_key(*field)) {
        return Err(Refusal::invalid("entries", "each row has its own id and secrets"));
    }
    let whole = |row: Value| {
        let mut fields = body.clone();
        match row {
            Value::Object(own) if !own.contains_key("provider") => fields.extend(own),
            Value::Object(_) => return Err(Refusal::invalid("provider", "stands beside `entries` here")),
            _ => return Err(no_object()),
        }
        Ok(fields)
    };
    made(&admin, rows.into_iter().map(whole).collect()).await
}

/// Makes connections; each row is a body of `POST /api/providers`.
pub(in crate::admin) async fn import(admin: Operator, Object(mut body): Object<LONGEST>) -> Answer {
    let rows = rows(body.remove("entries"))?;
    accept(&body, &["entries"])?;
    let whole = |row: Value| match row {
        Value::Object(fields) => Ok(fields),
        _ => Err(no_object()),
    };
    made(&admin, rows.into_iter().map(whole).collect()).await
}

fn no_object() -> Refusal {
    Refusal::invalid("body", "must be a JSON object")
}

fn rows(entries: Option<Value>) -> Result<Vec<Value>, Refusal> {
    match entries {
        Some(Value::Array(rows)) if (1..=MOST_MADE).contains(&rows.len()) => Ok(rows),
        _ => Err(Refusal::invalid("entries", format!("must be a list of 1 to {MOST_MADE} rows"))),
    }
}

fn accept(body: &Fields, accepted: &[&str]) -> Result<(), Refusal> {
    match body.keys().find(|field| !accepted.contains(&field.as_str())) {
        Some(unknown) => {
            Err(Refusal::invalid(unknown, format!("unknown field; accepted: {}", accepted.join(", "))))
        }
        None => Ok(()),
    }
}

/// What became of a row: the id of what was made, and its fields that do nothing yet.
type Row = Result<(String, Vec<String>), Refusal>;

async fn made(admin: &Operator, rows: Vec<Result<Fields, Refusal>>) -> Answer {
    let edit = Edit::new(admin);
    let Turn { answer: rows, after, .. } =
        change(admin, move |stored| Ok::<_, Refusal>(make_each(&edit, stored, rows))).await?;
    let seen = Seen::of(admin, after);
    let (mut created, mut errors, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for (index, row) in rows.iter().enumerate() {
        match row {
            Ok((id, idle)) => {
                let settings = &seen.loaded.settings;
                created.push(view::show(admin, settings, &seen.stored, find(settings, id)?));
                let idle = idle.iter().map(
                    |field| json!({"index": index, "field": field, "message": "is kept, but not acted on yet"}),
                );
                warnings.extend(idle);
            }
            Err(refusal) => {
                let mut error = refusal.told();
                error["index"] = index.into();
                errors.push(error);
            }
        }
    }
    let ids =
        created.iter().filter_map(|one| Some((one["id"].as_str()?.to_owned(), one["provider"].clone())));
    admin.tell(None, (Value::Null, ids.collect()));
    tracing::info!(created = created.len(), failed = errors.len(), "an operator made connections");
    let mut answer = json!({
        "total": rows.len(), "success": created.len(), "failed": errors.len(), "created": created, "errors": errors,
    });
    if !warnings.is_empty() {
        answer["warnings"] = warnings.into();
    }
    Ok(HttpResponse::Ok().json(answer))
}

fn make_each(edit: &Edit, stored: &mut Stored, rows: Vec<Result<Fields, Refusal>>) -> Vec<Row> {
    let mut before = BTreeSet::new();
    let mut make = |row: Result<Fields, Refusal>| {
        let fields = row?;
        let idle = idle_fields(&fields);
        let id = edit::create(edit, stored, fields, &before)?;
        before.insert(id.clone());
        Ok((id, idle))
    };
    rows.into_iter().map(&mut make).collect()
}
