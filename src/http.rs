//! The data plane: our own addresses, statuses and headers.

pub mod auth;
mod body;
pub mod errors;
mod inference;
mod models;
pub mod state;

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
            config.service(
                web::resource(path)
                    .route(web::post().to(handler))
                    .default_service(web::to(inference::wrong_method)),
            );
        }
        config.route(&format!("{prefix}/models"), web::get().to(models::list));
        config.route(&format!("{prefix}/models/{{id:.+}}"), web::get().to(models::one));
    }
    config.route("/healthz", web::get().to(state::healthz));
    config.route("/readyz", web::get().to(state::readyz));
}
