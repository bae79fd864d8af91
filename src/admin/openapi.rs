//! `GET /api/openapi.json`: every route as an OpenAPI 3.1 document, made of the table that routes are
//! registered by.

use std::sync::LazyLock;

use actix_web::HttpResponse;

use super::access::Operator;
use super::errors::CODES;
use crate::api::{KnownCode, document};
use crate::http::errors::Code;

static TEXT: LazyLock<String> = LazyLock::new(|| {
    let codes: Vec<KnownCode> =
        Code::ALL.iter().map(|code| (code.as_str(), code.status(), code.meaning())).collect();
    document(&codes, &CODES).to_string()
});

/// The document.
pub(super) async fn show(_: Operator) -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(TEXT.as_str())
}
