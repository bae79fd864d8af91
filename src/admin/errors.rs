//! Errors of the management API (routing 14.1).

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use serde_json::json;

/// Why an operator's request is refused.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// No token, or a wrong one.
    #[error("an admin token is required: `Authorization: Bearer TOKEN`")]
    Unauthorised,
    /// Nothing of that name.
    #[error("there is no {0} `{1}`")]
    NotFound(String, String),
    /// An owner did not answer.
    #[error("the actor is being replaced or overloaded; try again")]
    Unavailable,
    /// The connection is banned, expired or out of credit: no cooldown is written to it.
    #[error("connection `{0}` is {1}; a reset, a passing test or another credential clears it")]
    Terminal(String, &'static str),
    /// A body or field that is not what it must be.
    #[error("{0}: {1}")]
    Invalid(String, String),
}

impl Refusal {
    /// A field and what it must be.
    pub(super) fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self::Invalid(field.into(), message.into())
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Unauthorised => StatusCode::UNAUTHORIZED,
            Self::NotFound(..) => StatusCode::NOT_FOUND,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Terminal(..) => StatusCode::CONFLICT,
            Self::Invalid(..) => StatusCode::BAD_REQUEST,
        }
    }

    fn error_response(&self) -> HttpResponse {
        let code = match self {
            Self::Unauthorised => "unauthorized",
            Self::NotFound(..) => "not_found",
            Self::Unavailable => "service_unavailable",
            Self::Terminal(..) => "terminal_state",
            Self::Invalid(..) => "invalid_request",
        };
        let mut error = json!({"message": self.to_string(), "code": code});
        if let Self::Invalid(field, message) = self {
            error["details"] = json!([{"field": field, "message": message}]);
        }
        HttpResponse::build(self.status_code()).json(json!({"error": error}))
    }
}
