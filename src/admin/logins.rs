//! `POST /api/auth/login` and `/logout`: the dashboard's cookie (contract 8).
//!
//! Sessions live in the memory of the process, as digests of ids that only browsers have: a restart
//! logs everybody out. A wrong token is answered late, and everybody who guesses waits together; a
//! right one never waits, so nobody can keep the operator out.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_web::http::header::HeaderMap;
use actix_web::{HttpRequest, HttpResponse, web};
use policy::login::{Digest, Guesses, LIFE_MS, PAUSE_MS, Sessions, Wrong};
use policy::time::{Millis, SECOND};
use serde_json::Value;

use super::Admin;
use super::access::{Door, Operator, own_page, sessions};
use super::errors::Refusal;
use super::input::of_unread;
use super::trail::Trail;
use crate::http::auth::hash;
use crate::http::body::read;

/// The cookie.
pub(super) const SESSION: &str = "switchtower_session";
/// Longest body of a login, bytes: anybody may send one.
const LONGEST: usize = 4 * 1024;

/// Who is logged in, and who has tried.
#[derive(Debug, Default)]
pub struct Logins {
    sessions: Mutex<Sessions>,
    guesses: Mutex<Guesses>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Logins {
    /// The credential that an open session stands for.
    pub(super) fn credential(&self, id: &Digest, now: Millis) -> Option<Digest> {
        lock(&self.sessions).credential(id, now)
    }

    /// Ends all sessions of a credential.
    pub(super) fn forget(&self, credential: &Digest) {
        lock(&self.sessions).forget(credential);
    }
}

/// A wrong token whose answer is held back.
struct Held<'a>(&'a Mutex<Guesses>);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        lock(self.0).answered();
    }
}

/// Opens a session for whoever has the admin token, or a key that manages.
pub(super) async fn login(
    admin: web::Data<Admin>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Refusal> {
    own_page(&request)?;
    let body = read(payload, request.headers(), LONGEST).await;
    let credential = hash(&token(&body.map_err(|unread| of_unread(&unread, LONGEST))?)?);
    let opened = Door::of(&request).and_then(|door| door.opens_to(&credential));
    let Some(who) = opened else { return Err(refuse(&admin, &request).await) };
    let id = id()?;
    lock(&admin.logins.sessions).open(hash(&id), credential, admin.owners.clock.now());
    Trail::of(&request).by(&who);
    tracing::info!(%who, "logged in");
    Ok(HttpResponse::NoContent().insert_header(("set-cookie", cookie(&request, &id, LIFE_MS))).finish())
}

/// Ends the session that the cookie names.
pub(super) async fn logout(admin: Operator, request: HttpRequest) -> HttpResponse {
    for id in sessions(request.headers()) {
        lock(&admin.logins.sessions).close(&hash(id));
    }
    HttpResponse::NoContent().insert_header(("set-cookie", cookie(&request, "", 0))).finish()
}

/// Reads `{"token": TEXT}`. What is wrong with it never quotes it.
fn token(body: &[u8]) -> Result<String, Refusal> {
    let fields = match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => fields,
        _ => return Err(Refusal::invalid("body", "must be a JSON object with `token`")),
    };
    if fields.keys().any(|field| field != "token") {
        return Err(Refusal::invalid("body", "has an unknown field; accepted: token"));
    }
    let token = fields.get("token").and_then(Value::as_str);
    token.map(|token| token.trim().to_owned()).ok_or_else(|| Refusal::invalid("token", "must be a text"))
}

/// The same answer after the same while, whatever is wrong with the token.
async fn refuse(admin: &Admin, request: &HttpRequest) -> Refusal {
    let Wrong { held, told } = lock(&admin.logins.guesses).wrong(admin.owners.clock.now());
    if let Some(count) = told {
        let latest_from = request.peer_addr().map(|peer| tracing::field::display(peer.ip()));
        tracing::warn!(count, latest_from, "logins with a wrong token");
    }
    if !held {
        return Refusal::Guessing;
    }
    let _held = Held(&admin.logins.guesses);
    tokio::time::sleep(Duration::from_millis(PAUSE_MS)).await;
    Refusal::Unauthorised
}

/// 256 random bits.
fn id() -> Result<String, Refusal> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "no random numbers from the system");
        Refusal::Unavailable
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Scripts do not read it, other sites do not send it, and behind TLS it never leaves TLS.
fn cookie(request: &HttpRequest, id: &str, life_ms: Millis) -> String {
    let secure = if came_by_tls(request.headers()) { "; Secure" } else { "" };
    format!("{SESSION}={id}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{secure}", life_ms / SECOND)
}

/// We speak no TLS ourselves. Whoever lies here spoils a cookie of their own.
fn came_by_tls(headers: &HeaderMap) -> bool {
    let schemes = headers.get("x-forwarded-proto").and_then(|value| value.to_str().ok()).unwrap_or("");
    schemes.split(',').next().is_some_and(|scheme| scheme.trim().eq_ignore_ascii_case("https"))
}

#[cfg(test)]
mod tests {
    use actix_web::ResponseError;
    use actix_web::test::TestRequest;

    use super::{cookie, token};

    #[test]
    fn a_token_is_a_text_in_an_object_and_never_quoted() {
        assert_eq!(token(br#"{"token":" t "}"#).unwrap(), "t");
        for body in [r#"{"token":7}"#, r#"{"canary":"canary"}"#, r#""canary""#, r#"{"token":"canary"#, ""] {
            let refusal = token(body.as_bytes()).unwrap_err();
            assert_eq!(refusal.status_code(), 400, "{body}");
            assert!(!refusal.to_string().contains("canary"), "{body}: {refusal}");
        }
    }

    #[test]
    fn a_cookie_that_came_by_tls_stays_there() {
        let of = |proto: &str| {
            let request = TestRequest::default().insert_header(("x-forwarded-proto", proto));
            cookie(&request.to_http_request(), "id", 43_200_000)
        };
        let plain = "switchtower_session=id; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict";
        for proto in ["", "http", "http, https", "httpsx"] {
            assert_eq!(of(proto), plain, "{proto}");
        }
        for proto in ["https", "HTTPS", "https, http"] {
            assert_eq!(of(proto), format!("{plain}; Secure"), "{proto}");
        }
    }
}
