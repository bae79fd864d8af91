//! Errors of the management API (routing 14.1).

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use serde_json::{Value, json};

use crate::http::errors::Code;
use crate::settings::Detail;

/// Why an operator's request is refused.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// No token, or a wrong one.
    #[error("an admin token is required: `Authorization: Bearer TOKEN`")]
    Unauthorised,
    /// The cookie alone, from a page of another site.
    #[error("a page of another site may not do this; a program sends `Authorization: Bearer TOKEN`")]
    Foreign,
    /// As many wrong tokens wait for their answers as may.
    #[error("too many logins with a wrong token; a right one goes through")]
    Guessing,
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
    /// Fields that are not what they must be: all that are wrong, each with what it must be.
    #[error("{}", first(.0))]
    Fields(Vec<(String, String)>),
    /// The change is right but could not be made; nothing was changed.
    #[error("the change could not be stored or applied and was not made; try again")]
    Unkept,
    /// The id is another one's.
    #[error("there is a {0} `{1}` already")]
    Exists(String, String),
    /// Only the file has it.
    #[error("`{0}` comes from the config; change it there, or deactivate it with `isActive`: false")]
    FromFile(String),
    /// Only the config or the demo has it.
    #[error("`{0}` comes from the config; change it there")]
    Fixed(String),
    /// Others hang on it.
    #[error("`{0}` is named by connections: {1}; delete them first, or give them another provider")]
    InUse(String, String),
    /// The body is longer than so many bytes.
    #[error("the body is larger than the {0} bytes that are accepted")]
    TooLarge(usize),
    /// As many listen to events as may.
    #[error("{0} listen to events already; close one of them")]
    TooManyListeners(usize),
    /// The process ends.
    #[error("switchtower is shutting down")]
    Draining,
    /// Nothing can be sealed.
    #[error("there is no key to seal secrets with; the log of the start says why")]
    NoKey,
}

fn first(fields: &[(String, String)]) -> String {
    let (field, message) =
        fields.first().map(|(field, message)| (field.as_str(), message.as_str())).unwrap_or_default();
    match fields.len() {
        0 | 1 => format!("{field}: {message}"),
        count => format!("{field}: {message} (and {} more)", count - 1),
    }
}

impl Refusal {
    /// Every detail of a body.
    pub(super) fn of(details: Vec<Detail>) -> Self {
        Self::Fields(details.into_iter().map(|detail| (detail.field, detail.message)).collect())
    }

    /// A field and what it must be.
    pub(super) fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self::Invalid(field.into(), message.into())
    }
}

/// Every code of the management API's own errors.
pub(super) const CODES: [&str; 13] = [
    "unauthorized",
    "cross_origin",
    "too_many_logins",
    "not_found",
    "service_unavailable",
    "terminal_state",
    "invalid_request",
    "request_too_large",
    "already_exists",
    "ENTITY_FROM_FILE",
    "provider_in_use",
    "too_many_listeners",
    "draining",
];

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Unauthorised => StatusCode::UNAUTHORIZED,
            Self::Foreign => StatusCode::FORBIDDEN,
            Self::Guessing => StatusCode::TOO_MANY_REQUESTS,
            Self::NotFound(..) => StatusCode::NOT_FOUND,
            Self::Unavailable | Self::Unkept | Self::NoKey | Self::TooManyListeners(_) | Self::Draining => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Invalid(..) | Self::Fields(..) => StatusCode::BAD_REQUEST,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Exists(..) | Self::FromFile(_) | Self::Fixed(_) | Self::InUse(..) | Self::Terminal(..) => {
                StatusCode::CONFLICT
            }
        }
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        if let Self::Guessing = self {
            response.insert_header(("retry-after", "1"));
        }
        response.json(json!({"error": self.told()}))
    }
}

impl Refusal {
    /// What is said of it.
    pub(super) fn told(&self) -> Value {
        let code = match self {
            Self::Unauthorised => "unauthorized",
            Self::Foreign => "cross_origin",
            Self::Guessing => "too_many_logins",
            Self::NotFound(..) => "not_found",
            Self::Unavailable | Self::Unkept | Self::NoKey => "service_unavailable",
            Self::TooManyListeners(_) => "too_many_listeners",
            Self::Draining => Code::Draining.as_str(),
            Self::Terminal(..) => "terminal_state",
            Self::Invalid(..) | Self::Fields(..) => "invalid_request",
            Self::TooLarge(_) => Code::RequestTooLarge.as_str(),
            Self::Exists(..) => "already_exists",
            Self::FromFile(_) | Self::Fixed(_) => "ENTITY_FROM_FILE",
            Self::InUse(..) => "provider_in_use",
        };
        debug_assert!(CODES.contains(&code), "{code} is in no document");
        let mut error = json!({"message": self.to_string(), "code": code});
        let detail = |field: &str, message: &str| json!({"field": field, "message": message});
        match self {
            Self::Invalid(field, message) => error["details"] = json!([detail(field, message)]),
            Self::Fields(fields) => {
                error["details"] = fields.iter().map(|(field, message)| detail(field, message)).collect();
            }
            _ => {}
        }
        error
    }
}
