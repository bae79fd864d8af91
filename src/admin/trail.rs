//! What an operator's change leaves behind: one row of the audit, made here for every route alike.
//!
//! An address of management is registered by [`only`] or [`at`] and by nothing else; the table of addresses
//! says which of its methods change something and what that is called. When such a request was done
//! there is a row, whatever its handler says of it. What the handler does say is to whom it was done,
//! and what that was like before and after.

use std::cell::RefCell;
use std::rc::Rc;

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::middleware::{Next, from_fn};
use actix_web::{Error, HttpMessage, HttpRequest, Resource, Route, web};
use policy::time::Millis;
use serde_json::{Map, Value};

use super::Admin;
use super::access::Who;
use crate::api::actions;
use crate::http;
use crate::telemetry::AuditRow;

/// Longest `before` or `after` that is kept, bytes of JSON; beyond that fields are only counted.
const LONGEST: usize = 4 * 1024;
/// Longest target, characters: clients may choose the names of models.
const LONGEST_TARGET: usize = 256;
/// Stands for what was left out.
const REST: &str = "…";

/// What serves an address.
pub(super) trait Served:
    ServiceFactory<ServiceRequest, Config = (), Response = ServiceResponse, Error = Error, InitError = ()>
    + 'static
{
}

impl<T> Served for T where
    T: ServiceFactory<ServiceRequest, Config = (), Response = ServiceResponse, Error = Error, InitError = ()>
        + 'static
{
}

/// The data plane's `only`; changes leave their rows.
pub(super) fn only(path: &str, route: Route) -> Resource<impl Served + use<>> {
    recording(path, http::only(path, route))
}

/// The data plane's `at`; changes leave their rows.
pub(super) fn at(path: &str) -> Resource<impl Served + use<>> {
    recording(path, http::at(path))
}

fn recording(path: &str, resource: Resource) -> Resource<impl Served + use<>> {
    let actions = actions(path);
    resource.wrap(from_fn(move |request: ServiceRequest, next: Next<BoxBody>| {
        let method = request.method().as_str();
        let known = actions.iter().find(|(known, _)| known.eq_ignore_ascii_case(method));
        let action = known.map(|(_, action)| *action);
        async move {
            match action {
                Some(action) => recorded(action, request, next).await,
                None => next.call(request).await,
            }
        }
    }))
}

/// Serves a change. Whoever asked for it may leave meanwhile: it is done to its end, and its row made.
async fn recorded(
    action: &'static str,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse, Error> {
    let trail = Trail::default();
    request.extensions_mut().insert(trail.clone());
    let admin = request.app_data::<web::Data<Admin>>().cloned();
    let whole = actix_rt::spawn(async move {
        let response = next.call(request).await?;
        if let Some(admin) = admin.filter(|_| response.status().is_success()) {
            admin.audit.add(trail.row(action, admin.owners.clock.now()));
        }
        Ok(response)
    });
    match whole.await {
        Ok(response) => response,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(super::errors::Refusal::Unavailable.into()),
        },
    }
}

/// What is known of a change while it is served.
#[derive(Clone, Default)]
pub(super) struct Trail(Rc<RefCell<AuditRow>>);

impl Trail {
    /// That of a request; of one that only looks, one that nobody reads.
    pub(super) fn of(request: &HttpRequest) -> Self {
        request.extensions().get().cloned().unwrap_or_default()
    }

    /// Who did it.
    pub(super) fn by(&self, who: &Who) {
        self.0.borrow_mut().who = who.to_string();
    }

    /// To whom, and what that was like and is like now. Secrets are masked.
    pub(super) fn tell(&self, target: Option<&str>, (before, after): (Value, Value)) {
        let mut row = self.0.borrow_mut();
        row.target = target.map(|target| target.chars().take(LONGEST_TARGET).collect());
        (row.before, row.after) = (short(before), short(after));
    }

    fn row(&self, action: &str, at: Millis) -> AuditRow {
        let row = self.0.take();
        debug_assert!(!row.who.is_empty(), "somebody did it");
        AuditRow { at, action: action.to_owned(), ..row }
    }
}

/// As many fields as there is room for, and how many there were besides.
fn short(value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    let (mut kept, mut room, mut rest) = (Map::new(), LONGEST, 0_u64);
    for (field, value) in fields {
        let length = field.len() + value.to_string().len();
        match room.checked_sub(length) {
            Some(left) => {
                room = left;
                kept.insert(field, value);
            }
            None => rest += 1,
        }
    }
    if rest > 0 {
        kept.insert(REST.into(), rest.into());
    }
    kept.into()
}

/// What differs, inside of objects too; null on the side where there is nothing at all. `also`: fields
/// that have changed although they look the same, as masked secrets do.
pub(super) fn difference(before: Option<Value>, after: Option<Value>, also: &[&str]) -> (Value, Value) {
    match (before, after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let mut differs = (Map::new(), Map::new());
            differing(&before, &after, &mut differs);
            for field in also {
                for (from, to) in [(&before, &mut differs.0), (&after, &mut differs.1)] {
                    let value = from.get(*field).cloned().unwrap_or_default();
                    to.entry(*field).or_insert(value);
                }
            }
            (differs.0.into(), differs.1.into())
        }
        (before, after) => (alone(before), alone(after)),
    }
}

/// What there is; null says nothing more than absence.
fn alone(value: Option<Value>) -> Value {
    match value.unwrap_or_default() {
        Value::Object(fields) => {
            fields.into_iter().filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>().into()
        }
        value => value,
    }
}

fn differing(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    (was, is): &mut (Map<String, Value>, Map<String, Value>),
) {
    let added = after.keys().filter(|field| !before.contains_key(*field));
    for field in before.keys().chain(added) {
        match (before.get(field), after.get(field)) {
            (before, after) if before == after => {}
            (Some(Value::Object(before)), Some(Value::Object(after))) => {
                let mut inner = (Map::new(), Map::new());
                differing(before, after, &mut inner);
                was.insert(field.clone(), inner.0.into());
                is.insert(field.clone(), inner.1.into());
            }
            (before, after) => {
                was.extend(before.map(|value| (field.clone(), value.clone())));
                is.extend(after.map(|value| (field.clone(), value.clone())));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{LONGEST, difference, short};

    #[test]
    fn only_what_differs_is_told_inside_of_objects_too() {
        let before = json!({"a": 1, "same": [1], "gone": 2, "o": {"x": 1, "y": 2}, "key": "…", "l": [1]});
        let after =
            json!({"a": null, "same": [1], "o": {"x": 1, "y": 3, "z": 4}, "key": "…", "new": 5, "l": [2]});
        let (was, is) = difference(Some(before.clone()), Some(after.clone()), &[]);
        assert_eq!(was, json!({"a": 1, "gone": 2, "o": {"y": 2}, "l": [1]}));
        assert_eq!(is, json!({"a": null, "o": {"y": 3, "z": 4}, "new": 5, "l": [2]}));
        let (was, is) = difference(Some(before.clone()), Some(after), &["key", "a"]);
        assert_eq!([&was["key"], &is["key"], &was["a"]], [&json!("…"), &json!("…"), &json!(1)]);
        assert_eq!(
            difference(None, Some(json!({"a": 1, "n": null})), &["a"]),
            (Value::Null, json!({"a": 1}))
        );
        assert_eq!(difference(Some(json!({"a": 1})), None, &["a"]), (json!({"a": 1}), Value::Null));
        assert_eq!(difference(Some(before.clone()), Some(before), &[]), (json!({}), json!({})));
    }

    #[test]
    fn a_long_change_is_cut_at_a_field_and_says_how_much_is_missing() {
        let many: Map<String, Value> =
            (0..1_000).map(|n| (format!("field-{n:04}"), json!("x".repeat(86)))).collect();
        let kept = short(many.into());
        let fields = kept.as_object().unwrap();
        // 10 of the name, 88 of the text.
        assert_eq!(fields.len(), LONGEST / 98 + 1);
        assert_eq!(kept["…"], json!(1_000 - LONGEST / 98));
        let mixed = short(json!({"big": "x".repeat(LONGEST), "small": 1}));
        assert_eq!(mixed, json!({"small": 1, "…": 1}));
        assert_eq!(short(Value::Null), Value::Null);
    }
}
