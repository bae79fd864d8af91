//! Start: store, owners, servers, in this order of dependence.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::{Arbiter, ArbiterHandle};
use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer, web};
use actors::messages::Barrier;
use actors::permit::Owners;
use actors::watch::Living;
use arc_swap::ArcSwapOption;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinHandle;

use super::banned;
use super::base::{Base, Origins, Shared};
use super::live::{self, Live};
use super::scripted;
use super::secrets;
use super::tokens::TokenRoom;
use crate::admin;
use crate::demo;
use crate::http::{self, Http, state::Gate};
use crate::settings::{Finding, Loaded, Settings, Stored};
use crate::storage::{Database, KEY_VARIABLE, OpenError, Store, Vault, VaultError, unlock, unlock_providers};
use crate::upstream::{ClientSettings, Dialler, Proxies, extra_roots};

/// Longer than the pools of the official clients keep an idle connection.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// How long the owners may take to come up.
const OWNERS_LIMIT: Duration = Duration::from_secs(30);

/// Why the process cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The store.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The store was opened but not read or written.
    #[error("the store cannot be read: {0}")]
    Read(#[from] sled::Error),
    /// An address.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// Extra root certificates.
    #[error("`upstream.ca_file`: {0}")]
    Roots(String),
    /// What the management API has set does not fit the file any more.
    #[error("with what is stored the config is wrong")]
    Refused(Vec<Finding>),
    /// The key of the store.
    #[error(transparent)]
    Key(#[from] VaultError),
    /// Something else of the system.
    #[error("{0}")]
    System(String),
}

/// A running switchtower.
pub struct Running {
    /// Where clients are served.
    pub address: SocketAddr,
    /// Where the management API is served, if elsewhere.
    pub admin_address: Option<SocketAddr>,
    /// Where the scripted upstream listens.
    pub demo_address: Option<SocketAddr>,
    /// Its inner parts, for shutdown and reload.
    pub(super) parts: Parts,
}

/// What shutdown needs.
pub(super) struct Parts {
    pub(super) gate: Arc<Gate>,
    pub(super) owners: Owners,
    pub(super) living: Living,
    pub(super) store: Arc<ArcSwapOption<actix::Addr<Store>>>,
    pub(super) servers: Vec<ServerHandle>,
    pub(super) store_arbiter: Arbiter,
    pub(super) live: Arc<Live>,
    pub(super) tokens: Arc<TokenRoom>,
    pub(super) sweep: JoinHandle<()>,
}

/// Starts everything; what was `loaded` comes from `config`.
pub async fn start(loaded: Loaded, config: &Path) -> Result<Running, ServeError> {
    let database = Database::open(&loaded.settings.store.path)?;
    let restored = database.load()?;
    let key = std::env::var(KEY_VARIABLE).ok();
    let vault = Arc::new(Vault::of_store(&loaded.settings.store.path, key.as_deref())?);
    let (mut loaded, stored) = with_stored(loaded, &database, &vault)?;
    let mut servers = Vec::new();
    let secrets = secrets::prepare(&loaded.settings, &database).map_err(ServeError::System)?;
    let demo_address = match loaded.settings.demo.enabled {
        true => Some(start_demo(&mut loaded.settings, &mut servers).await?),
        false => None,
    };
    let settings = loaded.settings.clone();
    let proxies = Proxies::read(&|name| std::env::var(name).ok()).map_err(ServeError::System)?;
    let base = Base::new(&settings, &secrets.salt, proxies);
    base.restore_books(&settings, &database)?;
    let tokens = base.tokens(&database, Vault::clone(&vault), &secrets.salt)?;
    let origins = Origins { config, stored, vault, demo_address, tokens: tokens.clone() };
    let shared = base.share(loaded, origins, &secrets)?;
    let (arbiters, address) = start_http(&settings, &shared, &mut servers).await?;
    let admin_address = start_admin(&settings, &shared, &mut servers)?;
    let store_arbiter = Arbiter::new();
    base.nursery(&settings, database, arbiters, &store_arbiter).start(restored);
    owners_up(&base.owners).await?;
    base.gate.open();
    tracing::info!(config = %config.display(), %address, "serving");
    let Base { gate, owners, store, links, banned, .. } = base;
    actix_rt::spawn(banned::watch(shared.admin.clone(), banned));
    let live = shared.admin.live.clone();
    let sweep = actix_rt::spawn(tokens.clone().sweep(Dialler::new(shared.client)));
    let living = links.living;
    let parts = Parts { gate, owners, living, store, servers, store_arbiter, live, tokens, sweep };
    Ok(Running { address, admin_address, demo_address, parts })
}

/// What the management API has set, laid over the file.
fn with_stored(loaded: Loaded, database: &Database, vault: &Vault) -> Result<(Loaded, Stored), ServeError> {
    let mut stored = database.stored()?;
    unlock(&mut stored.connections, vault);
    unlock_providers(&mut stored.providers, vault);
    if stored.is_empty() {
        return Ok((loaded, stored));
    }
    let loaded = live::resolve(&loaded.text, &stored).map_err(ServeError::Refused)?;
    // The file's own were told before.
    for warning in loaded.warnings.iter().filter(|warning| warning.file == "stored") {
        tracing::warn!("{warning}");
    }
    Ok((loaded, stored))
}

/// The owners have published themselves and the board is shared.
async fn owners_up(owners: &Owners) -> Result<(), ServeError> {
    let up = async {
        while owners.router.mailbox.ask(Barrier).await.is_err() {
            tokio::task::yield_now().await;
        }
        live::all_heard(owners).await;
    };
    let late = |_| ServeError::System("the owners did not come up in time".into());
    tokio::time::timeout(OWNERS_LIMIT, up).await.map_err(late)
}

pub(super) fn client_settings(settings: &Settings) -> Result<ClientSettings, ServeError> {
    let roots = match &settings.upstream.ca_file {
        Some(path) => {
            extra_roots(path).map_err(|error| ServeError::Roots(format!("{}: {error}", path.display())))?
        }
        None => Vec::new(),
    };
    Ok(ClientSettings {
        connect_timeout: settings.upstream.connect_timeout,
        pool_idle: settings.upstream.pool_idle,
        pool_lifetime: settings.upstream.pool_lifetime,
        roots: Arc::new(roots),
    })
}

async fn start_demo(
    settings: &mut Settings,
    servers: &mut Vec<ServerHandle>,
) -> Result<SocketAddr, ServeError> {
    let listen = settings.demo.listen;
    let wanted = demo::DemoSettings { listen, log: settings.demo.log, workers: 1 };
    let demo = demo::bind(wanted).await.map_err(|error| ServeError::Listen(listen, error))?;
    let address = demo.address();
    let server = demo.server();
    servers.push(server.handle());
    actix_rt::spawn(server);
    scripted::add(settings, &format!("http://{address}"));
    Ok(address)
}

fn workers(settings: &Settings) -> usize {
    match settings.server.workers {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        set => set,
    }
}

/// Starts the client's server and collects the arbiters of its workers: the owners live there.
async fn start_http(
    settings: &Settings,
    shared: &Shared,
    servers: &mut Vec<ServerHandle>,
) -> Result<(Vec<ArbiterHandle>, SocketAddr), ServeError> {
    let (born, mut births) = unbounded_channel();
    let with_admin = settings.admin.listen.is_none();
    let (shared, count, listen) = (shared.clone(), workers(settings), settings.server.listen);
    let server = HttpServer::new(move || {
        // The start waits for this news; if it has failed meanwhile, nobody listens.
        let _ = born.send(Arbiter::current());
        let worker = shared.worker();
        let http = Http {
            worker: worker.clone(),
            settings: shared.http_settings.clone(),
            gate: shared.gate.clone(),
        };
        let app =
            App::new().app_data(http).app_data(web::Data::from(shared.gate.clone())).configure(http::routes);
        let admin = shared.admin.clone();
        let settings = shared.http_settings.clone();
        app.configure(move |config| {
            if with_admin {
                admin::routes(config, admin, settings, worker);
            }
        })
        .default_service(web::to(admin::elsewhere))
    });
    let stall = settings.server.write_stall_timeout;
    let server = server
        .workers(count)
        .tcp_nodelay(true)
        .h1_allow_half_closed(false)
        .keep_alive(KEEP_ALIVE)
        .client_request_timeout(settings.server.header_timeout)
        .shutdown_timeout(1)
        .disable_signals()
        .on_connect(move |io, _| limit_write_stall(io, stall))
        .backlog(4096)
        .bind(listen)
        .map_err(|error| ServeError::Listen(listen, error))?;
    let address = server.addrs().first().copied().unwrap_or(listen);
    let server = server.run();
    servers.push(server.handle());
    actix_rt::spawn(server);
    let mut arbiters = Vec::with_capacity(count);
    while arbiters.len() < count {
        match births.recv().await {
            Some(arbiter) => arbiters.push(arbiter),
            None => return Err(ServeError::System("the HTTP workers did not start".into())),
        }
    }
    Ok((arbiters, address))
}

fn start_admin(
    settings: &Settings,
    shared: &Shared,
    servers: &mut Vec<ServerHandle>,
) -> Result<Option<SocketAddr>, ServeError> {
    let Some(listen) = settings.admin.listen else { return Ok(None) };
    let shared = shared.clone();
    let server = HttpServer::new(move || {
        let (admin, settings, worker) = (shared.admin.clone(), shared.http_settings.clone(), shared.worker());
        App::new()
            .app_data(web::Data::from(shared.gate.clone()))
            .configure(move |config| admin::routes(config, admin, settings, worker))
            .configure(http::probes)
            .default_service(web::to(admin::elsewhere))
    });
    let stall = settings.server.write_stall_timeout;
    let server = server
        .workers(1)
        .tcp_nodelay(true)
        .h1_allow_half_closed(false)
        .shutdown_timeout(1)
        .disable_signals()
        .on_connect(move |io, _| limit_write_stall(io, stall))
        .bind(listen)
        .map_err(|error| ServeError::Listen(listen, error))?;
    let address = server.addrs().first().copied();
    let server = server.run();
    servers.push(server.handle());
    actix_rt::spawn(server);
    Ok(address)
}

/// The server has no write timeout: the kernel ends a client that takes no bytes for so long.
fn limit_write_stall(io: &dyn std::any::Any, stall: Duration) {
    let Some(socket) = io.downcast_ref::<actix_web::rt::net::TcpStream>() else { return };
    if let Err(error) = socket2::SockRef::from(socket).set_tcp_user_timeout(Some(stall)) {
        tracing::debug!(%error, "the write stall limit could not be set");
    }
}
