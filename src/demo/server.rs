//! Binding, routes and what all workers share.
//!
//! The server takes no signals and stops when its owner says so, because it also runs inside a
//! process that has its own idea of shutting down. Nagle is off and half-closed connections are
//! not kept: chunks must arrive when they are sent, and a client that leaves must be noticed.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Server;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, Route, web};
use serde::Deserialize;
use tokio::time::Instant;

use super::behaviour::FlakyCounters;
use super::capacity::Places;
use super::dialect::{self, Dialect};
use super::exchange;
use super::journal::Journal;
use super::oauth::{self, Office};
use super::wall::{self, Walls};
use super::wire::Wire;

/// Longest request body that is read.
pub(super) const MAX_BODY: usize = 64 * 1024 * 1024;
/// Longer than the pools of the official clients keep an idle connection.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// Scripted silence would never end by itself, so a graceful stop does not wait for it.
const SHUTDOWN_SECONDS: u64 = 1;

/// What the scripted upstream needs to know before it starts.
#[derive(Clone, Debug)]
pub struct DemoSettings {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Whether requests are recorded for `GET /demo/log`; off for benchmarks.
    pub log: bool,
    /// Worker threads; 0 means one per core.
    pub workers: usize,
}

/// A scripted upstream that is bound and ready to run.
pub struct Demo {
    address: SocketAddr,
    server: Server,
}

impl Demo {
    /// The address it listens on, with the port that was really taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server itself, to be awaited or spawned; it accepts connections once it is polled.
    pub fn server(self) -> Server {
        self.server
    }
}

/// What every worker of one server shares.
pub(super) struct Shared {
    pub(super) journal: Journal,
    pub(super) flaky: FlakyCounters,
    pub(super) places: Places,
    pub(super) office: Office,
    pub(super) walls: Walls,
    pub(super) started: Instant,
}

/// Binds the scripted upstream inside the running actix system.
pub async fn bind(settings: DemoSettings) -> io::Result<Demo> {
    let shared = web::Data::from(Arc::new(Shared {
        journal: Journal::new(settings.log),
        flaky: FlakyCounters::default(),
        places: Places::default(),
        office: Office::default(),
        walls: Walls::default(),
        started: Instant::now(),
    }));
    let mut server = HttpServer::new(move || {
        App::new().app_data(shared.clone()).app_data(web::PayloadConfig::new(MAX_BODY)).configure(routes)
    })
    .on_connect(Wire::remember)
    .tcp_nodelay(true)
    .h1_allow_half_closed(false)
    .keep_alive(KEEP_ALIVE)
    .shutdown_timeout(SHUTDOWN_SECONDS)
    .disable_signals();
    if settings.workers > 0 {
        server = server.workers(settings.workers);
    }
    let server = server.bind(settings.listen)?;
    let address = *server.addrs().first().expect("a bound server has an address");
    Ok(Demo { address, server: server.run() })
}

fn routes(config: &mut web::ServiceConfig) {
    config
        .route("/v1/chat/completions", speaks(web::post(), &dialect::Chat))
        .route("/v1/embeddings", speaks(web::post(), &dialect::Embeddings))
        .route("/v1/messages", speaks(web::post(), &dialect::Messages))
        .route("/v1/messages/count_tokens", speaks(web::post(), &dialect::CountTokens))
        .route("/v1/responses", speaks(web::post(), &dialect::Responses))
        .route("/v1beta/models/{call:.+}", web::post().to(exchange::gemini))
        .route("/v1/models", speaks(web::get(), &dialect::Models))
        .route("/demo/log", web::get().to(show_log))
        .route("/demo/log", web::delete().to(clear_log))
        .route("/demo/oauth/token", web::post().to(oauth::token))
        .route("/demo/oauth/log", web::get().to(oauth::show_log))
        .route("/demo/oauth/log", web::delete().to(oauth::clear_log))
        .route("/api/oauth/usage", web::get().to(wall::usage))
        .route("/api/organizations/{id}/reset_rate_limits", web::post().to(wall::reset))
        .route("/demo/health", web::get().to(health))
        .default_service(web::to(exchange::unknown));
}

fn speaks(route: Route, dialect: &'static dyn Dialect) -> Route {
    route.to(move |request: HttpRequest, payload: web::Payload, shared: web::Data<Shared>| {
        exchange::converse(dialect, request, payload, shared)
    })
}

#[derive(Deserialize)]
struct LogQuery {
    since: Option<u64>,
}

async fn show_log(shared: web::Data<Shared>, query: web::Query<LogQuery>) -> HttpResponse {
    let body = shared.journal.show(query.since.unwrap_or(0));
    HttpResponse::Ok().content_type("application/json").body(body)
}

async fn clear_log(shared: web::Data<Shared>) -> HttpResponse {
    shared.journal.clear();
    HttpResponse::NoContent().finish()
}

async fn health() -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(r#"{"status":"ok"}"#)
}
