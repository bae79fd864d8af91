//! Bodies and queries of operators, read strictly: what is not known is refused by name.

use std::ops::Deref;

use actix_web::{FromRequest, HttpRequest, dev, web};
use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};

use super::errors::Refusal;
use crate::http::body::{Unread, read};
use crate::settings::is_id;

/// The fields of a JSON object; anything but `accepted` is refused. An empty body has none.
pub(super) fn fields(body: &[u8], accepted: &[&str]) -> Result<Map<String, Value>, Refusal> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    let fields: Map<String, Value> = serde_json::from_slice(body)
        .map_err(|error| Refusal::invalid("body", format!("must be a JSON object: {error}")))?;
    match fields.keys().find(|field| !accepted.contains(&field.as_str())) {
        Some(unknown) => {
            Err(Refusal::invalid(unknown, format!("unknown field; accepted: {}", accepted.join(", "))))
        }
        None => Ok(fields),
    }
}

/// A text that may be left out.
pub(super) fn text(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, Refusal> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.trim().to_owned())),
        Some(_) => Err(Refusal::invalid(name, "must be a text that is not empty")),
    }
}

/// A switch that may be left out.
pub(super) fn flag(fields: &Map<String, Value>, name: &str) -> Result<bool, Refusal> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(on)) => Ok(*on),
        Some(_) => Err(Refusal::invalid(name, "must be true or false")),
    }
}

/// The id of an entity that is made, if it is given one.
pub(super) fn id(body: &mut Map<String, Value>) -> Result<Option<String>, Refusal> {
    match body.remove("id") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) if is_id(&id) => Ok(Some(id)),
        Some(_) => Err(Refusal::invalid("id", "is no id, accepted: 1 to 64 characters of A-Z a-z 0-9 . _ -")),
    }
}

/// Longest body of an operator, bytes.
const LONGEST: usize = 256 * 1024;

/// A body that did not come, of which at most `limit` bytes are taken.
pub(super) fn of_unread(unread: &Unread, limit: usize) -> Refusal {
    match unread {
        Unread::TooLarge => Refusal::TooLarge(limit),
        Unread::Stalled | Unread::Broken => Refusal::invalid("body", "ended before it was complete"),
    }
}

/// A body, as it came.
pub(super) struct Body(Bytes);

impl FromRequest for Body {
    type Error = Refusal;
    type Future = LocalBoxFuture<'static, Result<Self, Refusal>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let body = body(request, payload, LONGEST);
        Box::pin(async move { body.await.map(Self) })
    }
}

fn body(
    request: &HttpRequest,
    payload: &mut dev::Payload,
    most: usize,
) -> impl Future<Output = Result<Bytes, Refusal>> + 'static {
    let (request, payload) = (request.clone(), web::Payload::from_request(request, payload));
    async move {
        let payload = payload.await.expect("a payload is there");
        match read(payload, request.headers(), most).await {
            Ok(body) => Ok(body),
            Err(unread) => Err(of_unread(&unread, most)),
        }
    }
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// A body that is an object with at least one field.
/// `MOST`: its longest body, bytes.
pub(super) struct Object<const MOST: usize = LONGEST>(pub(super) Map<String, Value>);

impl<const MOST: usize> FromRequest for Object<MOST> {
    type Error = Refusal;
    type Future = LocalBoxFuture<'static, Result<Self, Refusal>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let body = body(request, payload, MOST);
        Box::pin(async move { object(&body.await?).map(Self) })
    }
}

fn object(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) if !fields.is_empty() => Ok(fields),
        Ok(_) => Err(Refusal::invalid("body", "must be a JSON object with at least one field")),
        // The parser's own words may quote what it read.
        Err(error) => {
            let place = format!("is not JSON (line {}, column {})", error.line(), error.column());
            Err(Refusal::invalid("body", place))
        }
    }
}
