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

use actix_web::{guard, web};

pub use inference::not_found;
pub use state::Http;

use crate::api::methods;
use crate::upstream::Route;

/// Adds the client's routes, below `/v1` and below `/api/v1`.
pub fn routes(config: &mut web::ServiceConfig) {
    for prefix in ["/v1", "/api/v1"] {
        for route in Route::ALL {
            let path = format!("{}{}", prefix.trim_end_matches("/v1"), route.path());
            let handler = move |request, payload| inference::handle(route, request, payload);
            config.service(only(&path, web::post().to(handler)));
        }
        let leases = at(&format!("{prefix}/session-leases"))
            .route(web::post().to(leases::handle))
            .route(web::method(actix_web::http::Method::OPTIONS).to(leases::options))
            .default_service(web::to(|| std::future::ready(inference::wrong_method("POST"))));
        config.service(leases);
        config.service(only(&format!("{prefix}/models"), get().to(models::list)));
        config.service(only(&format!("{prefix}/models/{{id:.+}}"), get().to(models::one)));
    }
    probes(config);
}

/// GET, and HEAD, which load balancers ask: the server keeps the body back (RFC 9110, 9.3.2).
pub(crate) fn get() -> actix_web::Route {
    actix_web::Route::new().guard(guard::Any(guard::Get()).or(guard::Head()))
}

/// Adds what orchestrators ask: is it up, is it ready.
pub fn probes(config: &mut web::ServiceConfig) {
    config
        .service(only("/healthz", get().to(state::healthz)))
        .service(only("/readyz", get().to(state::readyz)));
}

/// An address with the methods that the table has of it; others are told which. One that is not in
/// the table is in no document either, and does not start.
pub(crate) fn only(path: &str, route: actix_web::Route) -> actix_web::Resource {
    let methods = methods(path).unwrap_or_default();
    let told = web::to(move || std::future::ready(inference::wrong_method(methods)));
    at(path).route(route).default_service(told)
}

/// An address, if it is in the table.
pub(crate) fn at(path: &str) -> actix_web::Resource {
    assert!(methods(path).is_some(), "{path} is not in the table of addresses");
    web::resource(path)
}
