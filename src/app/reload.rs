//! SIGHUP: the config is read again. An invalid one is refused whole and the old one
//! stays; of a valid one everything applies at once except what is bound at start
//! (contract 1). Owners keep their state; a removed entity drains.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actors::permit::Owners;
use actors::router::family::Apply;
use arc_swap::ArcSwap;
use policy::strategy;

use super::plans::{blueprint, endpoints, http_settings, judging};
use super::serve::client_settings;
use super::{builtin, scripted};
use crate::http::auth::hash;
use crate::http::state::HttpSettings;
use crate::relay::Tower;
use crate::settings::{Effective, Settings, load_with, table};
use crate::upstream::ClientSettings;

/// What a reload needs.
pub(super) struct Reloader {
    pub(super) config: PathBuf,
    /// The values of the start: what is bound then is compared with these, however often it was read since.
    pub(super) effective: Vec<Effective>,
    /// Where clients are served, as configured at start.
    pub(super) listen: SocketAddr,
    pub(super) owners: Owners,
    /// Shared with the workers; shutdown uses it too.
    pub(super) tower: Arc<Tower>,
    pub(super) http_settings: Arc<ArcSwap<HttpSettings>>,
    pub(super) client: Arc<ArcSwap<ClientSettings>>,
    pub(super) admin_token: Arc<ArcSwap<[u8; 32]>>,
    pub(super) metrics_public: Arc<AtomicBool>,
    pub(super) grace: Arc<ArcSwap<std::time::Duration>>,
    pub(super) demo_base: Option<String>,
    pub(super) made_key: Option<[u8; 32]>,
    pub(super) salt: String,
}

impl Reloader {
    /// Reads the config again and applies what changed.
    pub(super) fn reload(&self) {
        // A file that is being written may be empty for a moment; nobody wants to remove everything.
        if std::fs::read_to_string(&self.config).is_ok_and(|text| text.trim().is_empty()) {
            tracing::error!(config = %self.config.display(), "it is empty: the new config is refused; the old one stays");
            return;
        }
        let env = |name: &str| std::env::var(name).ok();
        let loaded = match load_with(&self.config, &env, &strategy::names(), &builtin()) {
            Ok(loaded) => loaded,
            Err(findings) => {
                for finding in findings {
                    tracing::error!("{finding}");
                }
                tracing::error!(config = %self.config.display(), "the new config is refused; the old one stays");
                return;
            }
        };
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }
        if let Err(error) = self.apply(loaded.settings) {
            tracing::error!(%error, "the new config is refused; the old one stays");
            return;
        }
        warn_of_restarts(&self.effective, &loaded.effective);
        tracing::info!(config = %self.config.display(), "the config was read again");
    }

    fn apply(&self, mut settings: Settings) -> Result<(), super::ServeError> {
        let client = client_settings(&settings)?;
        // Whether keys are required hangs on the address that is listened on, not on one that waits.
        settings.server.listen = self.listen;
        if let Some(base) = &self.demo_base {
            scripted::add(&mut settings, base);
        }
        // Owners first: a request that is planned with a new entity must find it.
        self.owners.router.mailbox.post(Apply(Arc::new(blueprint(&settings, &self.salt))));
        self.tower.endpoints.store(Arc::new(endpoints(&settings)));
        self.tower.judging.store(Arc::new(judging(&settings)));
        self.client.store(Arc::new(client));
        self.http_settings.store(Arc::new(http_settings(&settings, self.made_key)));
        self.grace.store(Arc::new(settings.server.shutdown_grace));
        self.metrics_public.store(settings.metrics.public, Ordering::Relaxed);
        if let Some(token) = &settings.admin.token {
            self.admin_token.store(Arc::new(hash(token.expose())));
        }
        Ok(())
    }
}

/// What is bound at start keeps its old value, and says so.
fn warn_of_restarts(before: &[Effective], after: &[Effective]) {
    for row in table().iter().filter(|row| row.restart) {
        let value = |list: &[Effective]| {
            list.iter().find(|entry| entry.key == row.key).map(|entry| entry.value.clone())
        };
        if value(before) != value(after) {
            tracing::warn!(key = row.key, "the new value needs a restart; the old one stays");
        }
    }
}
