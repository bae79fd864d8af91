//! What start makes first: the parts that several rooms share, and the way to change them.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use actix_rt::{Arbiter, ArbiterHandle};
use actors::blueprint::{Blueprint, Placement};
use actors::clock::Clock;
use actors::directory::{Directory, Links, RouterShared};
use actors::messages::{Observer, Owner, StoreLink};
use actors::permit::Owners;
use actors::router::Seed;
use actors::watch::Living;
use arc_swap::{ArcSwap, ArcSwapOption};
use policy::cooldown::TerminalState;
use policy::ids::ConnectionId;
use policy::keys::Spent;
use policy::usage::Day;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::ServeError;
use super::live::Live;
use super::plans::{blueprint, endpoints, http_settings, judging, reshapes};
use super::reload::Reloader;
use super::roots::Nursery;
use super::sealing::Sealed;
use super::secrets::Secrets;
use super::serve::client_settings;
use super::spending;
use super::tokens::TokenRoom;
use crate::admin::{Admin, Logins};
use crate::http::state::{Gate, HttpSettings};
use crate::relay::{Closing, Gates, ToolCaps, Tower, Worker};
use crate::settings::{Loaded, Settings, Stored};
use crate::storage::{Database, Health, Store, Vault, Waiting};
use crate::telemetry::{AuditLog, Book, ComboBook, Decisions, KeyBook, Metrics};
use crate::upstream::{ClientSettings, Dialler, Endpoints, Proxies};

/// What every worker of both servers shares.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) tower: Arc<Tower>,
    pub(super) http_settings: Arc<ArcSwap<HttpSettings>>,
    pub(super) gate: Arc<Gate>,
    pub(super) client: Arc<ArcSwap<ClientSettings>>,
    pub(super) admin: Arc<Admin>,
}

impl Shared {
    /// What one worker needs to serve requests.
    pub(super) fn worker(&self) -> Rc<Worker> {
        Rc::new(Worker {
            tower: self.tower.clone(),
            dialler: Dialler::new(self.client.clone()),
            dice: RefCell::new(fastrand::Rng::new()),
        })
    }
}

/// What start makes first and several rooms share.
pub(super) struct Base {
    pub(super) links: Links,
    pub(super) metrics: Arc<Metrics>,
    pub(super) owners: Owners,
    pub(super) plan: Arc<ArcSwap<Blueprint>>,
    pub(super) health: Arc<Health>,
    pub(super) store: Arc<ArcSwapOption<actix::Addr<Store>>>,
    pub(super) usage: Arc<Book>,
    /// What operators have changed.
    pub(super) audit: Arc<AuditLog>,
    pub(super) keys: Arc<KeyBook>,
    pub(super) gate: Arc<Gate>,
    /// What the environment says of outbound proxies.
    pub(super) proxies: Arc<Proxies>,
    /// Connections that have just been banned.
    pub(super) banned: UnboundedReceiver<ConnectionId>,
}

/// Where the configuration comes from, besides the file's text.
pub(super) struct Origins<'a> {
    pub(super) config: &'a Path,
    pub(super) stored: Stored,
    pub(super) vault: Arc<Vault>,
    pub(super) demo_address: Option<SocketAddr>,
    pub(super) tokens: Arc<TokenRoom>,
}

impl Base {
    pub(super) fn new(settings: &Settings, salt: &str, proxies: Proxies) -> Self {
        let (links, metrics, banned) = links(settings);
        let owners = Owners {
            directory: Arc::new(Directory::default()),
            router: links.router.clone(),
            clock: links.clock,
            store: links.store.clone(),
        };
        Self {
            links,
            metrics,
            owners,
            plan: Arc::new(ArcSwap::from_pointee(blueprint(settings, salt))),
            health: Arc::new(Health::default()),
            store: Arc::new(ArcSwapOption::empty()),
            usage: Arc::new(Book::default()),
            audit: Arc::new(AuditLog::default()),
            keys: Arc::new(KeyBook::default()),
            gate: Arc::new(Gate::default()),
            proxies: Arc::new(proxies),
            banned,
        }
    }

    pub(super) fn share(
        &self,
        loaded: Loaded,
        origins: Origins<'_>,
        secrets: &Secrets,
    ) -> Result<Shared, ServeError> {
        let settings = &loaded.settings;
        let sessions = origins.tokens.apply(settings, &self.proxies);
        let tower = Arc::new(Tower {
            owners: self.owners.clone(),
            endpoints: ArcSwap::from_pointee(endpoints(
                settings,
                &sessions,
                &self.proxies,
                &Endpoints::default(),
            )),
            judging: ArcSwap::from_pointee(judging(settings)),
            streaming: ArcSwap::from_pointee(settings.streaming()),
            reshapes: ArcSwap::from_pointee(reshapes(settings)),
            gates: Gates::default(),
            tool_caps: ToolCaps::default(),
            metrics: self.metrics.clone(),
            decisions: Decisions::default(),
            combos: ComboBook::default(),
            usage: self.usage.clone(),
            keys: self.keys.clone(),
            plan: self.plan.clone(),
            closing: Closing::default(),
            sealing: Arc::new(Sealed(origins.vault.clone())),
            cutoff: Arc::new(tokio::sync::Notify::new()),
        });
        let reloader = Reloader {
            listen: settings.server.listen,
            owners: self.owners.clone(),
            tower: tower.clone(),
            http_settings: Arc::new(ArcSwap::from_pointee(http_settings(settings, secrets.client_key))),
            client: Arc::new(ArcSwap::from_pointee(client_settings(settings)?)),
            tokens: origins.tokens.clone(),
            proxies: self.proxies.clone(),
            admin_token: Arc::new(ArcSwap::from_pointee(secrets.admin)),
            metrics_public: Arc::new(settings.metrics.public.into()),
            grace: Arc::new(ArcSwap::from_pointee(settings.server.shutdown_grace)),
            demo_base: origins.demo_address.map(|address| format!("http://{address}")),
            made_key: secrets.client_key,
            salt: secrets.salt.clone(),
        };
        Ok(Shared {
            tower,
            http_settings: reloader.http_settings.clone(),
            gate: self.gate.clone(),
            client: reloader.client.clone(),
            admin: Arc::new(self.admin(loaded, origins, reloader)),
        })
    }

    fn admin(&self, loaded: Loaded, origins: Origins<'_>, reloader: Reloader) -> Admin {
        Admin {
            token: reloader.admin_token.clone(),
            owners: self.owners.clone(),
            blueprint: self.plan.clone(),
            metrics: self.metrics.clone(),
            store: self.store.clone(),
            store_link: self.links.store.clone(),
            health: self.health.clone(),
            gate: self.gate.clone(),
            metrics_public: reloader.metrics_public.clone(),
            started: std::time::Instant::now(),
            tokens: origins.tokens.clone(),
            vault: origins.vault,
            logins: Logins::default(),
            audit: self.audit.clone(),
            live: Arc::new(Live::new(
                origins.config.to_owned(),
                loaded,
                origins.stored,
                self.store.clone(),
                reloader,
            )),
        }
    }

    /// What requests took today, as the store has it; what keys with budgets have cost; and where the
    /// audit goes on.
    pub(super) fn restore_books(&self, settings: &Settings, database: &Database) -> Result<(), sled::Error> {
        self.audit.go_on(database.newest_audit()?);
        let now = self.owners.clock.now();
        self.usage.restore(database.usage_of(Day::of(now))?, now);
        if !spending::is_limited(settings) {
            return Ok(());
        }
        let mut rows = Vec::new();
        let mut day = Spent::horizon(now);
        while day <= Day::of(now) {
            rows.extend(database.usage_of(day)?.into_iter().map(|(who, tally)| (day, who, tally)));
            day = day.next();
        }
        self.keys.recall(spending::costs(rows, &self.plan.load()));
        Ok(())
    }

    /// The sessions of OAuth connections, with what the store has of them.
    pub(super) fn tokens(
        &self,
        database: &Database,
        vault: Vault,
        salt: &str,
    ) -> Result<Arc<TokenRoom>, sled::Error> {
        let stored = database.tokens()?;
        let keys = (vault, salt.to_owned());
        Ok(TokenRoom::new(&self.owners, self.store.clone(), keys, stored, self.metrics.clone()))
    }

    pub(super) fn nursery(
        &self,
        settings: &Settings,
        database: Database,
        arbiters: Vec<ArbiterHandle>,
        store: &Arbiter,
    ) -> Nursery {
        let seed = Seed {
            blueprint: self.plan.clone(),
            directory: self.owners.directory.clone(),
            links: self.links.clone(),
            placement: Placement::new(arbiters),
            dice: None,
        };
        Nursery {
            seed,
            database,
            dirty: Arc::new(Waiting::of(self.usage.clone(), self.audit.clone())),
            flush_interval: settings.store.flush_interval,
            health: self.health.clone(),
            store_home: store.handle(),
            store: self.store.clone(),
        }
    }
}

fn links(settings: &Settings) -> (Links, Arc<Metrics>, UnboundedReceiver<ConnectionId>) {
    let (tell, banned) = unbounded_channel();
    let metrics = Metrics::new();
    let counted = metrics.clone();
    let observer: Observer = Arc::new(move |owner, change| {
        if change.from != change.to {
            if let Owner::Connection(connection) = owner
                && change.to == TerminalState::Banned.as_str()
            {
                // Nobody listens any more when the process ends.
                let _ = tell.send(connection.clone());
            }
            // Clients choose the names of models: a label with one would grow without end.
            let id = match owner {
                Owner::Lockout(connection, _) => connection.to_string(),
                owner => owner.id(),
            };
            counted.change(owner.kind(), id, &change.to);
        }
    });
    let links = Links {
        clock: Clock::start(),
        router: Arc::new(RouterShared::new(settings.mailbox.router)),
        store: StoreLink::new(settings.mailbox.store),
        observer,
        living: Living::new(),
    };
    (links, metrics, banned)
}
