//! `GET /dashboard`: the operators' page, plain files that are part of the binary (contract 4).
//!
//! The files are open to everybody and say nothing: what the page shows it asks of the management API,
//! which needs a session. Nothing comes from elsewhere, and nothing but these files may run in it: the
//! names it shows are strangers' text.

use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, ETAG, IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse, web};
use sha2::{Digest, Sha256};

use super::trail::only;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// One file.
struct File {
    path: &'static str,
    media: &'static str,
    text: &'static str,
}

const fn file(path: &'static str, media: &'static str, text: &'static str) -> File {
    File { path, media, text }
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

static FILES: [File; 10] = [
    file("/dashboard", HTML, include_str!("dashboard/index.html")),
    file("/dashboard/style.css", CSS, include_str!("dashboard/style.css")),
    file("/dashboard/api.js", JS, include_str!("dashboard/api.js")),
    file("/dashboard/app.js", JS, include_str!("dashboard/app.js")),
    file("/dashboard/audit.js", JS, include_str!("dashboard/audit.js")),
    file("/dashboard/dom.js", JS, include_str!("dashboard/dom.js")),
    file("/dashboard/events.js", JS, include_str!("dashboard/events.js")),
    file("/dashboard/explain.js", JS, include_str!("dashboard/explain.js")),
    file("/dashboard/requests.js", JS, include_str!("dashboard/requests.js")),
    file("/dashboard/standing.js", JS, include_str!("dashboard/standing.js")),
];

/// Adds the page and its parts.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    for file in &FILES {
        let tag = tag(file.text);
        let show = move |request: HttpRequest| std::future::ready(show(file, &tag, &request));
        config.service(only(file.path, web::get().to(show)));
    }
}

/// Another text has another tag, whatever version it is of.
fn tag(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let half: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{half}\"")
}

fn show(file: &File, tag: &str, request: &HttpRequest) -> HttpResponse {
    let known = request.headers().get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let is_known = known.is_some_and(|known| {
        known.split(',').map(|one| one.trim().trim_start_matches("W/")).any(|one| one == tag || one == "*")
    });
    let mut answer = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    answer
        .insert_header((ETAG, tag))
        // Asked for anew each time, so that a new binary's page never meets an old one's script.
        .insert_header((CACHE_CONTROL, "no-cache"))
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((REFERRER_POLICY, "same-origin"));
    match is_known {
        true => answer.finish(),
        false => answer.content_type(file.media).body(file.text),
    }
}
