//! The scripted token endpoint: refresh tokens that rotate, and every way in which renewing fails.
//!
//! Names are the interface here too: a refresh token is `rt-SCRIPT`, or `rt-SCRIPT_anything` where
//! several accounts shall behave alike. Each use answers the next pair of its family,
//! `rt-SCRIPT.1` with `at-SCRIPT.1` and so on; a second use of an old one revokes the family.
//! Only credentials that look like an access token of here (`at-...`) are checked on inference.

mod office;
mod script;

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use serde::{Deserialize, Serialize};

use super::behaviour::{Behaviour, Manner, Refusal};
use super::credential::fingerprint;
use super::exchange;
use super::server::Shared;

pub(super) use office::Office;
use office::{Answer, Asked};
use script::Script;

/// What a client sends.
#[derive(Deserialize)]
pub(super) struct Form {
    grant_type: Option<String>,
    refresh_token: Option<String>,
    client_id: Option<String>,
}

#[derive(Serialize)]
struct Granted {
    access_token: String,
    token_type: &'static str,
    expires_in: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
}

/// `POST /demo/oauth/token`.
pub(super) async fn token(
    request: HttpRequest,
    form: Option<web::Form<Form>>,
    shared: web::Data<Shared>,
) -> HttpResponse {
    let Some(web::Form(form)) = form else {
        return refused(400, "invalid_request");
    };
    let token = form.refresh_token.unwrap_or_default();
    let asked = Asked {
        refresh_token: fingerprint(token.as_bytes()),
        client: form.client_id.clone().unwrap_or_default(),
        token: &token,
    };
    let (entry, script) = shared.office.arrives(&asked);
    let script = match (form.grant_type.as_deref(), form.client_id.as_deref()) {
        (Some("refresh_token"), Some(client)) if client.starts_with("invalid-client") => {
            Script::Refuses { status: 401, code: "invalid_client" }
        }
        (Some("refresh_token"), _) => script,
        _ => Script::Refuses { status: 400, code: "unsupported_grant_type" },
    };
    act(&request, &shared, script, (entry, &token)).await
}

/// Does what the script says with request `entry`, which came with `token`.
async fn act(
    request: &HttpRequest,
    shared: &Shared,
    script: Script,
    (entry, token): (usize, &str),
) -> HttpResponse {
    let told = |status: u16, error: Option<&'static str>| shared.office.answered(entry, status, error);
    match script {
        Script::Refuses { status, code } => {
            told(status, Some(code));
            return refused(status, code);
        }
        Script::Behaves(Behaviour::Headless(how)) => return exchange::headless(request, how).await,
        Script::Behaves(Behaviour::Refuse(refusal)) => {
            told(refusal.status, None);
            return plain(refusal);
        }
        Script::Behaves(Behaviour::Down { seconds })
            if shared.started.elapsed() < Duration::from_secs(seconds) =>
        {
            told(503, None);
            return plain(Refusal::plain(503));
        }
        Script::Behaves(_) | Script::Grants { .. } => {}
    }
    // The pair is made before any wait: whoever does not wait has lost it.
    let answer = shared.office.renews(token, script);
    if let Script::Behaves(Behaviour::Slow { delay_ms }) = script {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
    }
    match answer {
        Answer::Pair { access_token, refresh_token, expires_in } => {
            told(200, None);
            let granted = Granted { access_token, token_type: "Bearer", expires_in, refresh_token };
            HttpResponse::Ok().json(granted)
        }
        Answer::Dead => {
            told(400, Some("invalid_grant"));
            refused(400, "invalid_grant")
        }
    }
}

fn refused(status: u16, code: &str) -> HttpResponse {
    let status = StatusCode::from_u16(status).expect("scripts allow valid statuses only");
    HttpResponse::build(status)
        .json(serde_json::json!({"error": code, "error_description": format!("scripted {code}")}))
}

/// A status without a word about tokens.
fn plain(refusal: Refusal) -> HttpResponse {
    let status = StatusCode::from_u16(refusal.status).expect("names allow valid statuses only");
    let mut head = HttpResponse::build(status);
    if let Manner::Plain { retry_after: Some(seconds) } = refusal.manner {
        head.insert_header(("retry-after", seconds.to_string()));
    }
    head.content_type("text/plain").body("scripted")
}

/// `GET /demo/oauth/log`.
pub(super) async fn show_log(shared: web::Data<Shared>) -> HttpResponse {
    HttpResponse::Ok().json(shared.office.show())
}

/// `DELETE /demo/oauth/log`: entries only, families stay.
pub(super) async fn clear_log(shared: web::Data<Shared>) -> HttpResponse {
    shared.office.clear();
    HttpResponse::NoContent().finish()
}
