//! Applying a config to what runs. Everything applies at once except what is bound at start
//! (contract 1). Owners keep their state; a removed entity drains.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actors::blueprint::Blueprint;
use actors::permit::Owners;
use actors::router::family::Apply;
use arc_swap::ArcSwap;

use super::plans::{blueprint, endpoints, http_settings, judging, reshapes};
use super::scripted;
use super::serve::client_settings;
use super::tokens::TokenRoom;
use crate::http::auth::hash;
use crate::http::state::HttpSettings;
use crate::relay::Tower;
use crate::settings::{Effective, Loaded, Settings, table};
use crate::upstream::{ClientSettings, Proxies};

/// What a config is applied to.
pub(super) struct Reloader {
    /// Where clients are served, as configured at start.
    pub(super) listen: SocketAddr,
    pub(super) owners: Owners,
    /// Shared with the workers; shutdown uses it too.
    pub(super) tower: Arc<Tower>,
    pub(super) http_settings: Arc<ArcSwap<HttpSettings>>,
    pub(super) client: Arc<ArcSwap<ClientSettings>>,
    pub(super) tokens: Arc<TokenRoom>,
    pub(super) proxies: Arc<Proxies>,
    pub(super) admin_token: Arc<ArcSwap<[u8; 32]>>,
    pub(super) metrics_public: Arc<AtomicBool>,
    pub(super) grace: Arc<ArcSwap<std::time::Duration>>,
    pub(super) demo_base: Option<String>,
    pub(super) made_key: Option<[u8; 32]>,
    pub(super) salt: String,
}

/// A config that can be applied: nothing can fail any more.
pub(super) struct Prepared {
    loaded: Loaded,
    client: ClientSettings,
}

impl Prepared {
    /// What it means.
    pub(super) fn settings(&self) -> &Settings {
        &self.loaded.settings
    }
}

impl Reloader {
    /// What the owners would be built from.
    pub(super) fn blueprint(&self, prepared: &Prepared) -> Blueprint {
        blueprint(prepared.settings(), &self.salt)
    }

    /// Does what may fail.
    pub(super) fn prepare(&self, mut loaded: Loaded) -> Result<Prepared, super::ServeError> {
        let settings = &mut loaded.settings;
        let client = client_settings(settings)?;
        // Whether keys are required hangs on the address that is listened on, not on one that waits.
        settings.server.listen = self.listen;
        if let Some(base) = &self.demo_base {
            scripted::add(settings, base);
        }
        Ok(Prepared { loaded, client })
    }

    /// Applies it; what is in force is returned.
    pub(super) fn apply(&self, prepared: Prepared) -> Arc<Loaded> {
        let Prepared { loaded, client } = prepared;
        let settings = &loaded.settings;
        // Owners first: a request that is planned with a new entity must find it.
        self.owners.router.mailbox.post(Apply(Arc::new(blueprint(settings, &self.salt))));
        let sessions = self.tokens.apply(settings, &self.proxies);
        self.tower.endpoints.store(Arc::new(endpoints(
            settings,
            &sessions,
            &self.proxies,
            &self.tower.endpoints.load(),
        )));
        self.tower.judging.store(Arc::new(judging(settings)));
        self.tower.streaming.store(Arc::new(settings.streaming()));
        self.tower.reshapes.store(Arc::new(reshapes(settings)));
        self.client.store(Arc::new(client));
        self.http_settings.store(Arc::new(http_settings(settings, self.made_key)));
        self.grace.store(Arc::new(settings.server.shutdown_grace));
        self.metrics_public.store(settings.metrics.public, Ordering::Relaxed);
        if let Some(token) = &settings.admin.token {
            self.admin_token.store(Arc::new(hash(token.expose())));
        }
        Arc::new(loaded)
    }
}

/// What is bound at start keeps its old value, and says so.
pub(super) fn warn_of_restarts(before: &[Effective], after: &[Effective]) {
    for row in table().iter().filter(|row| row.restart) {
        let value = |list: &[Effective]| {
            list.iter().find(|entry| entry.key == row.key).map(|entry| entry.value.clone())
        };
        if value(before) != value(after) {
            tracing::warn!(key = row.key, "the new value needs a restart; the old one stays");
        }
    }
}
