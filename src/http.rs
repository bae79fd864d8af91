//! The data plane: our own addresses, statuses and headers.

pub mod auth;
pub mod body;
mod early;
mod enter;
pub mod errors;
mod inference;
mod intake;
pub(crate) mod key_rules;
mod leases;
mod models;
pub mod state;
pub mod traits;

use actix_web::web;

pub use inference::not_found;
pub use state::Http;

use crate::upstream::Route;

/// Adds the client's routes, below `/v1` and below `/api/v1`.
pub fn routes(config: &mut web::ServiceConfig) {
    for prefix in ["/v1", "/api/v1"] {
        for route in Route::ALL {
            let path = format!("{}{}", prefix.trim_end_matches("/v1"), route.path());
            let handler = move |request, payload| inference::handle(route, request, payload);
            config.service(only("POST", &path, web::post().to(handler)));
        }
        let leases = web::resource(format!("{prefix}/session-leases"))
            .route(web::post().to(leases::handle))
            .route(web::method(actix_web::http::Method::OPTIONS).to(leases::options))
            .default_service(web::to(|| std::future::ready(inference::wrong_method("POST"))));
        config.service(leases);
        config.service(only("GET", &format!("{prefix}/models"), web::get().to(models::list)));
        config.service(only("GET", &format!("{prefix}/models/{{id:.+}}"), web::get().to(models::one)));
    }
    probes(config);
}

/// Adds what orchestrators ask: is it up, is it ready.
pub fn probes(config: &mut web::ServiceConfig) {
    config.service(only("GET", "/healthz", web::get().to(state::healthz))).service(only(
        "GET",
        "/readyz",
        web::get().to(state::readyz),
    ));
}

/// An address with one method; others are told which.
pub(crate) fn only(method: &'static str, path: &str, route: actix_web::Route) -> actix_web::Resource {
    let told = web::to(move || std::future::ready(inference::wrong_method(method)));
    web::resource(path).route(route).default_service(told)
}
