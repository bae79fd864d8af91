//! The control plane: what operators see and may order. Reading loads the shared board
//! and sends no message, so a busy dashboard cannot slow routing.

mod access;
mod actors;
mod aliases;
mod audit;
mod combo_reports;
mod combos;
mod connection_test;
mod cooldowns;
mod dashboard;
mod decisions;
mod entities;
mod errors;
mod events;
mod explain;
mod gates;
mod health;
mod input;
mod keys;
mod logins;
mod mappings;
mod metrics;
mod model_cooldowns;
mod openapi;
mod orders;
mod provider_nodes;
mod providers;
mod quota_pools;
mod rate_limits;
mod reset;
mod settings;
mod tokens;
mod trail;
mod usage;
mod views;

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use ::actors::blueprint::Blueprint;
use ::actors::messages::StoreLink;
use ::actors::permit::Owners;
use actix_web::guard::{Get, Post};
use actix_web::web;
use arc_swap::{ArcSwap, ArcSwapOption};
use policy::ids::ConnectionId;
use policy::token::TokenView;

use self::entities::Entity;
use self::trail::{at, only};
use crate::app::Live;
use crate::http::get;
use crate::http::state::{Gate, HttpSettings};
use crate::relay::Worker;
use crate::storage::{Flush, Health, Store, Vault};
use crate::telemetry::{AuditLog, Metrics};

/// What the control plane sees of the tokens of OAuth connections, and may order.
pub trait TokenBook: Send + Sync {
    /// All of them.
    fn views(&self) -> Vec<TokenView>;
    /// A dead refresh token is worth another try.
    fn revive(&self, connection: &ConnectionId);
}

/// What the control plane needs.
pub struct Admin {
    /// Hash of the admin token.
    pub token: Arc<ArcSwap<[u8; 32]>>,
    /// The owners.
    pub owners: Owners,
    /// What is configured.
    pub blueprint: Arc<ArcSwap<Blueprint>>,
    /// Counts of what happens.
    pub metrics: Arc<Metrics>,
    /// The store's actor.
    pub store: Arc<ArcSwapOption<actix::Addr<Store>>>,
    /// The way to it.
    pub store_link: StoreLink,
    /// How it fares.
    pub health: Arc<Health>,
    /// Whether the process takes requests.
    pub gate: Arc<Gate>,
    /// `/metrics` needs no token.
    pub metrics_public: Arc<AtomicBool>,
    /// The tokens of OAuth connections.
    pub tokens: Arc<dyn TokenBook>,
    /// When the process started.
    pub started: Instant,
    /// What is in force, and the way to change it.
    pub live: Arc<Live>,
    /// Seals the secrets of stored connections.
    pub vault: Arc<Vault>,
    /// Who is logged in.
    pub logins: Logins,
    /// What operators have changed.
    pub audit: Arc<AuditLog>,
}

impl Admin {
    /// Waits until what was ordered is on disk; a failing store is logged there and shown in health.
    async fn flush(&self) {
        if let Some(store) = self.store.load_full() {
            let _ = store.send(Flush).await;
        }
    }
}

pub use access::elsewhere;
pub use logins::Logins;
pub use providers::switch_off;

/// Adds the management routes.
pub fn routes(
    config: &mut web::ServiceConfig,
    admin: Arc<Admin>,
    http: Arc<ArcSwap<HttpSettings>>,
    worker: Rc<Worker>,
) {
    config
        .app_data(web::Data::from(admin))
        .app_data(web::Data::from(http))
        .app_data(worker)
        .service(
            only("/api/monitoring/health", get().to(health::show)).route(web::delete().to(reset::forget)),
        )
        .service(only("/api/auth/login", web::post().to(logins::login)))
        .service(only("/api/auth/logout", web::post().to(logins::logout)))
        .service(only("/api/resilience/reset", web::post().to(reset::reset)))
        .service(
            only("/api/resilience", web::get().to(settings::resilience))
                .route(web::patch().to(settings::patch_resilience)),
        )
        .service(
            only("/api/settings", web::get().to(settings::settings))
                .route(web::patch().to(settings::patch_settings))
                .route(web::put().to(settings::patch_settings)),
        )
        .service(only("/api/settings/effective", web::get().to(settings::effective)))
        .service(only("/api/providers/{id}/test", web::post().to(connection_test::test)))
        .service(
            only("/api/resilience/cooldowns", web::get().to(cooldowns::list))
                .route(web::post().to(cooldowns::clear)),
        )
        .service(
            only("/api/resilience/model-cooldowns", web::get().to(model_cooldowns::list))
                .route(web::delete().to(model_cooldowns::remove)),
        )
        .service(only("/api/actors", web::get().to(actors::list)))
        .service(only("/api/actors/{kind}/{id}", web::get().to(actors::one)))
        .service(only("/api/actors/{kind}/{id}/messages", web::post().to(orders::order)))
        .service(only("/api/events", web::get().to(events::listen)))
        .service(only("/api/audit", web::get().to(audit::list)))
        .service(only("/api/decisions", web::get().to(decisions::list)))
        .service(only("/api/route/explain", web::post().to(explain::explain)))
        .service(only("/api/usage/history", web::get().to(usage::history)))
        .service(only("/api/openapi.json", web::get().to(openapi::show)))
        .service(only("/metrics", web::get().to(metrics::show)));
    config
        // With another method these are names of combos.
        .service(at("/api/combos/metrics").guard(Get()).to(combo_reports::metrics))
        .service(at("/api/combos/auto").guard(Get()).to(combo_reports::auto));
    entity_routes(config);
    dashboard::routes(config);
    config
        .service(
            only("/api/models/alias", web::get().to(aliases::all))
                .route(web::post().to(aliases::set))
                .route(web::delete().to(aliases::delete)),
        )
        .service(
            only("/api/rate-limits", web::get().to(rate_limits::list))
                .route(web::post().to(rate_limits::protect)),
        );
}

/// What can be made, changed and taken away.
fn entity_routes(config: &mut web::ServiceConfig) {
    fn plain<E: Entity>(config: &mut web::ServiceConfig, path: &str) {
        entities::routes::<E>(config, path, only(path, web::get().to(entities::list::<E>)));
    }
    plain::<combos::Combos>(config, "/api/combos");
    plain::<mappings::Mappings>(config, "/api/model-combo-mappings");
    plain::<keys::Keys>(config, "/api/keys");
    plain::<provider_nodes::Nodes>(config, "/api/provider-nodes");
    plain::<quota_pools::Pools>(config, "/api/quota-pools");
    // With another method these are ids of connections.
    config
        .service(at("/api/providers/bulk").guard(Post()).to(providers::many::bulk))
        .service(at("/api/providers/import").guard(Post()).to(providers::many::import));
    let all = only("/api/providers", web::get().to(providers::list))
        .route(web::patch().to(providers::many::switch));
    entities::routes::<providers::Connections>(config, "/api/providers", all);
}
