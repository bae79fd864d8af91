//! Errors of the management API (routing 14.1).

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use serde_json::json;

fn plain(status: StatusCode, code: &str, message: &str) -> HttpResponse {
    HttpResponse::build(status).json(json!({"error": {"message": message, "code": code}}))
}

/// No token, or a wrong one.
pub(super) fn unauthorised() -> HttpResponse {
    plain(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "an admin token is required: `Authorization: Bearer TOKEN`",
    )
}

/// Nothing of that name.
pub(super) fn not_found(what: &str, id: &str) -> HttpResponse {
    plain(StatusCode::NOT_FOUND, "not_found", &format!("there is no {what} `{id}`"))
}

/// An owner did not answer.
pub(super) fn unavailable(owner: &str) -> HttpResponse {
    plain(
        StatusCode::SERVICE_UNAVAILABLE,
        "service_unavailable",
        &format!("{owner} is being replaced or overloaded"),
    )
}

/// A body or field that is not what it must be.
pub(super) fn invalid(field: &str, message: &str) -> HttpResponse {
    let details = [json!({"field": field, "message": message})];
    HttpResponse::BadRequest().json(json!({"error": {
        "message": format!("{field}: {message}"), "code": "invalid_request", "details": details,
    }}))
}
