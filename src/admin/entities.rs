//! What operators make, change and take away under an address of its own: combos, mappings, keys,
//! providers, connections, quota pools (routing 14.1). The way is one: read, edit a copy of what is
//! stored, check, flush, apply, answer with what is in force. Each kind says what is its own.

use std::sync::Arc;

use actix_web::{HttpResponse, Resource, web};
use policy::time::Millis;
use serde_json::{Map, Value, json};

use super::Admin;
use super::access::Operator;
use super::errors::Refusal;
use super::input::Object;
use super::trail::{Served, difference, only};
use crate::app::{Live, State, Turn};
use crate::http::errors::rfc3339;
use crate::settings::{Loaded, Secret, Source, Stored, StoredEntities, StoredEntity};
use crate::storage::Vault;

/// Whether a body is the whole entity or a change of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Replace,
    Patch,
}

/// What an edit works with: it runs later, when no other change runs, on a copy of what is stored.
/// What is refused there has changed nothing.
pub(super) struct Edit {
    pub(super) live: Arc<Live>,
    pub(super) vault: Arc<Vault>,
    pub(super) now: Millis,
}

impl Edit {
    pub(super) fn new(admin: &Admin) -> Self {
        Self { live: admin.live.clone(), vault: admin.vault.clone(), now: admin.owners.clock.now() }
    }
}

/// What is in force, and what of it is stored.
pub(super) struct Seen<'a> {
    pub(super) admin: &'a Admin,
    pub(super) loaded: Arc<Loaded>,
    pub(super) stored: Stored,
}

impl<'a> Seen<'a> {
    pub(super) async fn by(admin: &'a Admin) -> Self {
        let stored = admin.live.stored().await;
        Self { admin, loaded: admin.live.current(), stored }
    }

    pub(super) fn of(admin: &'a Admin, State { loaded, stored }: State) -> Self {
        Self { admin, loaded, stored }
    }

    /// What a change is answered with: how it is now, and what is to be said of it.
    fn answer<E: Entity>(&self, id: &str, idle: &[String]) -> Result<Value, Refusal> {
        let mut shown = E::show(self, id)?;
        warn_of_idle(&mut shown, idle);
        if let Some(warning) = E::warning(self, id) {
            shown["warning"] = warning;
        }
        Ok(shown)
    }
}

/// What was made.
pub(super) struct Made {
    pub(super) id: String,
    /// Fields that do nothing yet.
    pub(super) idle: Vec<String>,
    /// What opens it, shown this once.
    pub(super) secret: Option<Secret>,
}

impl Made {
    pub(super) fn plain(id: String) -> Self {
        Self { id, idle: Vec::new(), secret: None }
    }
}

/// One kind of them. `create`, `update` and `remove` edit what is stored; `update` answers with the
/// fields that do nothing yet.
pub(super) trait Entity: 'static {
    /// In logs, after `a`.
    const KIND: &'static str;
    /// What the list of them is called.
    const LIST: &'static str;
    /// The last segment of an address.
    const SEGMENT: &'static str = "{id}";
    /// What a read shows and no change can name; what a GET showed can be sent back.
    const READ_ONLY: &'static [&'static str];

    /// All of them, in order.
    fn rows(seen: &Seen<'_>) -> Vec<Value>;
    /// One of them.
    fn show(seen: &Seen<'_>, id: &str) -> Result<Value, Refusal>;
    /// The same for the audit: what a change can name, and what only a read shows.
    fn fields(seen: &Seen<'_>, id: &str) -> Option<Value> {
        Self::show(seen, id).ok()
    }
    /// Fields of one of them whose secrets differ, however they are masked.
    fn veiled(_before: &Stored, _after: &Stored, _id: &str) -> Vec<&'static str> {
        Vec::new()
    }
    /// What an operator who changed it is told.
    fn warning(_: &Seen<'_>, _: &str) -> Option<Value> {
        None
    }
    fn create(edit: &Edit, stored: &mut Stored, body: Map<String, Value>) -> Result<Made, Refusal>;
    fn update(
        edit: &Edit,
        stored: &mut Stored,
        id: &str,
        change: (Map<String, Value>, Mode),
    ) -> Result<Vec<String>, Refusal>;
    /// Takes a stored one away; what the file has under that name is in force again.
    fn remove(edit: &Edit, stored: &mut Stored, id: String) -> Result<(), Refusal>;
}

type Answer = Result<HttpResponse, Refusal>;

/// The routes of one kind. `all`: what is asked of all of them.
pub(super) fn routes<E: Entity>(config: &mut web::ServiceConfig, path: &str, all: Resource<impl Served>) {
    let one = format!("{path}/{}", E::SEGMENT);
    config.service(all.route(web::post().to(create::<E>))).service(
        only(&one, web::get().to(show::<E>))
            .route(web::put().to(replace::<E>))
            .route(web::patch().to(patch::<E>))
            .route(web::delete().to(delete::<E>)),
    );
}

pub(super) async fn list<E: Entity>(admin: Operator) -> HttpResponse {
    HttpResponse::Ok().json(json!({ E::LIST: E::rows(&Seen::by(&admin).await) }))
}

async fn show<E: Entity>(admin: Operator, id: web::Path<String>) -> Answer {
    Ok(HttpResponse::Ok().json(E::show(&Seen::by(&admin).await, &id)?))
}

async fn create<E: Entity>(admin: Operator, Object(body): Object) -> Answer {
    let edit = Edit::new(&admin);
    let Turn { answer, before, after } = change(&admin, move |stored| E::create(&edit, stored, body)).await?;
    let Made { id, idle, secret } = answer;
    tracing::info!(%id, "an operator made a {}", E::KIND);
    let mut answer = told::<E>(&admin, &id, before, after).answer::<E>(&id, &idle)?;
    let mut response = HttpResponse::Created();
    if let Some(secret) = secret {
        answer["key"] = secret.expose().into();
        response.insert_header(("cache-control", "no-store"));
    }
    Ok(response.json(answer))
}

/// Puts a whole one in its place.
async fn replace<E: Entity>(admin: Operator, id: web::Path<String>, Object(body): Object) -> Answer {
    update::<E>(&admin, id.into_inner(), body, Mode::Replace).await
}

/// Changes the fields that are named; null clears one.
async fn patch<E: Entity>(admin: Operator, id: web::Path<String>, Object(body): Object) -> Answer {
    update::<E>(&admin, id.into_inner(), body, Mode::Patch).await
}

async fn update<E: Entity>(admin: &Operator, id: String, mut body: Map<String, Value>, mode: Mode) -> Answer {
    body.retain(|field, _| !E::READ_ONLY.contains(&field.as_str()));
    // Of what was read and is sent back as a change, nothing is left.
    let is_change = !body.is_empty() || mode == Mode::Replace;
    let (edit, of) = (Edit::new(admin), id.clone());
    let Turn { answer: idle, before, after } = change(admin, move |stored| match is_change {
        true => E::update(&edit, stored, &of, (body, mode)),
        false => Ok(Vec::new()),
    })
    .await?;
    if is_change {
        tracing::info!(%id, "an operator changed a {}", E::KIND);
    }
    Ok(HttpResponse::Ok().json(told::<E>(admin, &id, before, after).answer::<E>(&id, &idle)?))
}

async fn delete<E: Entity>(admin: Operator, id: web::Path<String>) -> Answer {
    let id = id.into_inner();
    let (edit, of) = (Edit::new(&admin), id.clone());
    let Turn { before, after, .. } = change(&admin, move |stored| E::remove(&edit, stored, of)).await?;
    tracing::info!(%id, "an operator deleted a {}", E::KIND);
    told::<E>(&admin, &id, before, after);
    Ok(HttpResponse::Ok().json(json!({"success": true})))
}

/// Tells the audit what has become of one of them; what is in force afterwards.
fn told<'a, E: Entity>(admin: &'a Operator, id: &str, before: State, after: State) -> Seen<'a> {
    let (before, after) = (Seen::of(admin, before), Seen::of(admin, after));
    let fields = |seen: &Seen<'_>| {
        let mut shown = E::fields(seen, id)?;
        if let Some(fields) = shown.as_object_mut() {
            fields.retain(|field, _| !E::READ_ONLY.contains(&field.as_str()));
        }
        Some(shown)
    };
    let veiled = E::veiled(&before.stored, &after.stored, id);
    admin.tell(Some(id), difference(fields(&before), fields(&after), &veiled));
    after
}

/// Changes what is stored, and waits until everybody sees it.
pub(super) async fn change<T: 'static>(
    admin: &Admin,
    edit: impl FnOnce(&mut Stored) -> Result<T, Refusal> + 'static,
) -> Result<Turn<T>, Refusal> {
    let turn = admin.live.change(edit).await?;
    admin.settle_board().await;
    Ok(turn)
}

/// Refuses a new name; what is not named, or is named as it is, goes on.
pub(super) fn keep_name(body: &mut Map<String, Value>, names: &[&str], of: &str) -> Result<(), Refusal> {
    for name in names {
        match body.remove(*name) {
            None | Some(Value::Null) => {}
            Some(Value::String(given)) if given == of => {}
            Some(_) => {
                return Err(Refusal::invalid(name, "cannot change; delete this one and make another one"));
            }
        }
    }
    Ok(())
}

/// RFC 7386: objects merge, null clears, everything else takes the place of what was there.
pub(super) fn merge(base: &mut Map<String, Value>, change: Map<String, Value>) {
    fold(base, change, false);
}

/// The same, but a null that clears nothing stays: whether there is such a field is checked later.
/// What is checked is stored [`without_nulls`].
pub(super) fn merge_unchecked(base: &mut Map<String, Value>, change: Map<String, Value>) {
    fold(base, change, true);
}

pub(super) fn without_nulls(fields: Map<String, Value>) -> Map<String, Value> {
    let mut kept = Map::new();
    merge(&mut kept, fields);
    kept
}

fn fold(base: &mut Map<String, Value>, change: Map<String, Value>, keep_nulls: bool) {
    for (field, value) in change {
        match (base.get_mut(&field), value) {
            (None, Value::Null) if keep_nulls => drop(base.insert(field, Value::Null)),
            (_, Value::Null) => drop(base.remove(&field)),
            (Some(Value::Object(inner)), Value::Object(change)) => fold(inner, change, keep_nulls),
            (_, Value::Object(change)) => {
                let mut inner = Map::new();
                fold(&mut inner, change, keep_nulls);
                base.insert(field, inner.into());
            }
            (_, value) => drop(base.insert(field, value)),
        }
    }
}

/// Stores it; the day it was first stored stays.
pub(super) fn put(entities: &mut StoredEntities, name: &str, fields: Map<String, Value>, now: Millis) {
    let created_at = entities.get(name).map_or(now, |known| known.created_at);
    entities.insert(name.to_owned(), StoredEntity { fields, created_at, updated_at: now });
}

/// Who made an entity, what is below it, and when it was changed.
pub(super) fn describe(
    shown: &mut Value,
    (source, replaces): (Source, Option<Source>),
    stored: Option<&StoredEntity>,
) {
    shown["source"] = source_name(source).into();
    if let Some(below) = replaces {
        shown["overrides"] = source_name(below).into();
    }
    if let Some(stored) = stored {
        shown["createdAt"] = rfc3339(stored.created_at).into();
        shown["updatedAt"] = rfc3339(stored.updated_at).into();
    }
}

/// The same, where what is not known is null. `dates`: when it was first and last stored.
pub(super) fn describe_whole(
    shown: &mut Map<String, Value>,
    (source, replaces): (Source, Option<Source>),
    dates: Option<(Millis, Millis)>,
) {
    shown.insert("source".into(), source_name(source).into());
    shown.insert("overrides".into(), replaces.map(source_name).into());
    shown.insert("createdAt".into(), dates.map(|dates| rfc3339(dates.0)).into());
    shown.insert("updatedAt".into(), dates.map(|dates| rfc3339(dates.1)).into());
}

/// The word for who made something.
pub(super) fn source_name(source: Source) -> &'static str {
    match source {
        Source::File => "file",
        Source::Stored => "stored",
        Source::Demo => "demo",
    }
}

/// Fields that do nothing yet: nothing is ignored silently.
fn warn_of_idle(shown: &mut Value, idle: &[String]) {
    if !idle.is_empty() {
        let warning = |field: &String| json!({"field": field, "message": "is kept, but not acted on yet"});
        shown["warnings"] = idle.iter().map(warning).collect();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::merge;

    #[test]
    fn a_patch_merges_objects_and_null_clears() {
        let mut base = json!({"a": 1, "o": {"x": 1, "y": 2}, "l": [1]});
        let change =
            json!({"a": null, "o": {"x": null, "z": {"n": null, "m": 3}}, "l": [2], "new": {"n": null}});
        let (Value::Object(base_map), Value::Object(change)) = (&mut base, change) else { panic!("objects") };
        merge(base_map, change);
        assert_eq!(base, json!({"o": {"y": 2, "z": {"m": 3}}, "l": [2], "new": {}}));
    }
}
