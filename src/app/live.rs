//! The configuration of a running process: file, environment and what operators have stored.
//!
//! Whatever changes it goes the same way, one change after the other: everything is resolved
//! anew, refused whole if anything is wrong, stored on disk, and then applied as SIGHUP
//! applies a file. The answer comes last: what was answered survives a kill -9.

use std::path::PathBuf;
use std::sync::Arc;

use actors::mailbox::Unanswered;
use actors::messages::Barrier;
use actors::permit::Owners;
use arc_swap::{ArcSwap, ArcSwapOption};
use futures_util::future::join_all;
use policy::strategy;
use tokio::sync::Mutex;

use super::reload::{Prepared, Reloader, warn_of_restarts};
use super::{ServeError, builtin, spending};
use crate::settings::{Effective, FileText, Finding, Loaded, Stored, load_again, load_with};
use crate::storage::{Keep, Store};

/// Why a change is not made. Nothing is stored then, and nothing applied.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// With it the config would be wrong.
    #[error("with it the config would be wrong")]
    Refused(Vec<Finding>),
    /// It is right, but cannot be stored.
    #[error("the change could not be stored: {0}")]
    Unkept(String),
    /// The process cannot do what the config says, or is going down.
    #[error("{0}")]
    System(String),
}

/// What is in force, and what of it operators have stored.
#[derive(Clone, Debug)]
pub struct State {
    /// With the demo's entities.
    pub loaded: Arc<Loaded>,
    /// The part that the management API has set.
    pub stored: Stored,
}

/// A change that was made; both states are the same if it changed nothing.
#[derive(Debug)]
pub struct Turn<T> {
    /// What the edit answered.
    pub answer: T,
    /// What it began with. No other change came between.
    pub before: State,
    /// What it has made.
    pub after: State,
}

/// What a change starts from.
struct Ground {
    stored: Stored,
    text: FileText,
}

/// The one way to change the configuration of a running process.
pub struct Live {
    config: PathBuf,
    /// The values of the start: what is bound then is compared with these, however often it was read since.
    started: Vec<Effective>,
    ground: Mutex<Ground>,
    current: ArcSwap<Loaded>,
    store: Arc<ArcSwapOption<actix::Addr<Store>>>,
    pub(super) reloader: Reloader,
}

/// Every owner has read what was posted to it so far, and the board says so: an owner lives on another
/// thread than the router that told it.
pub(super) async fn all_heard(owners: &Owners) {
    let router = || async {
        // Of one that is being replaced nothing is waited for.
        let _: Result<(), Unanswered> = owners.router.mailbox.ask(Barrier).await;
    };
    router().await;
    let (providers, connections) = (owners.directory.providers(), owners.directory.connections());
    join_all(providers.iter().map(|provider| provider.mailbox.ask(Barrier))).await;
    join_all(connections.iter().map(|connection| connection.mailbox.ask(Barrier))).await;
    // The first hears what they have said, the second the fold that it caused.
    router().await;
    router().await;
}

/// Resolves the file's text with the process's environment and what is stored.
pub(super) fn resolve(text: &FileText, stored: &Stored) -> Result<Loaded, Vec<Finding>> {
    load_again(text, &variable, &strategy::names(), &builtin(), stored)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Live {
    /// What runs was made from `loaded`, with `stored` in it; `loaded` has the demo's entities.
    pub(super) fn new(
        config: PathBuf,
        loaded: Loaded,
        stored: Stored,
        store: Arc<ArcSwapOption<actix::Addr<Store>>>,
        reloader: Reloader,
    ) -> Self {
        Self {
            config,
            started: loaded.effective.clone(),
            ground: Mutex::new(Ground { stored, text: loaded.text.clone() }),
            current: ArcSwap::from_pointee(loaded),
            store,
            reloader,
        }
    }

    /// What is in force, with the demo's entities.
    pub fn current(&self) -> Arc<Loaded> {
        self.current.load_full()
    }

    /// What operators have stored.
    pub async fn stored(&self) -> Stored {
        self.ground.lock().await.stored.clone()
    }

    /// Changes what is stored, and applies it. Changes run one after the other; `edit` sees the
    /// latest and may refuse. When this returns the owners have heard of it and it is on disk.
    pub async fn change<T, E>(
        self: &Arc<Self>,
        edit: impl FnOnce(&mut Stored) -> Result<T, E> + 'static,
    ) -> Result<Turn<T>, E>
    where
        T: 'static,
        E: From<ChangeError> + 'static,
    {
        let live = self.clone();
        // A client that leaves in the middle must not leave half a change behind.
        let change = actix_rt::spawn(async move { live.change_now(edit).await });
        change.await.unwrap_or_else(|error| Err(ChangeError::System(error.to_string()).into()))
    }

    async fn change_now<T, E: From<ChangeError>>(
        &self,
        edit: impl FnOnce(&mut Stored) -> Result<T, E>,
    ) -> Result<Turn<T>, E> {
        let mut ground = self.ground.lock().await;
        let mut stored = ground.stored.clone();
        let before = State { loaded: self.current(), stored: stored.clone() };
        let answer = edit(&mut stored)?;
        if stored == before.stored {
            return Ok(Turn { answer, after: before.clone(), before });
        }
        // The text that was accepted last: a file that is being edited waits for its SIGHUP.
        let (text, merged) = (ground.text.clone(), stored.clone());
        let loaded = aside(move || resolve(&text, &merged)).await?.map_err(ChangeError::Refused)?;
        let broken = loaded.broken_by_defaults(&self.current.load());
        if !broken.is_empty() {
            return Err(ChangeError::Refused(broken).into());
        }
        let prepared =
            self.reloader.prepare(loaded).map_err(|error| ChangeError::System(error.to_string()))?;
        self.keep(&stored).await?;
        self.recall(&prepared).await;
        self.current.store(self.reloader.apply(prepared));
        ground.stored = stored.clone();
        all_heard(&self.reloader.owners).await;
        let after = State { loaded: self.current(), stored };
        Ok(Turn { answer, before, after })
    }

    /// The first budget needs what keys have cost so far.
    async fn recall(&self, prepared: &Prepared) {
        let keys = &self.reloader.tower.keys;
        if keys.is_complete() || !spending::is_limited(prepared.settings()) {
            return;
        }
        let now = self.reloader.owners.clock.now();
        match spending::read(self.store.load_full(), now).await {
            Ok(rows) => keys.recall(spending::costs(rows, &self.reloader.blueprint(prepared))),
            Err(error) => {
                tracing::error!(%error, "what keys have cost so far cannot be read; it counts from now on")
            }
        }
    }

    /// Stores it; on disk when this returns.
    async fn keep(&self, stored: &Stored) -> Result<(), ChangeError> {
        let store = self.store.load_full();
        let store = store.ok_or_else(|| ChangeError::Unkept("the store is being replaced".into()))?;
        let kept = store.send(Keep(stored.clone())).await;
        kept.unwrap_or_else(|error| Err(error.to_string())).map_err(ChangeError::Unkept)
    }

    /// SIGHUP: reads the file again; an invalid one is refused whole and the old one stays.
    pub(super) async fn reload(&self) {
        let mut ground = self.ground.lock().await;
        // A file that is being written may be empty for a moment; nobody wants to remove everything.
        if std::fs::read_to_string(&self.config).is_ok_and(|text| text.trim().is_empty()) {
            tracing::error!(config = %self.config.display(), "it is empty: the new config is refused; the old one stays");
            return;
        }
        let (config, stored) = (self.config.clone(), ground.stored.clone());
        let read = move || load_with(&config, &variable, &strategy::names(), &builtin(), &stored);
        let read = match aside(read).await {
            Ok(read) => read.map_err(Unread::Findings),
            Err(error) => return tracing::error!(%error, "the config was not read; the old one stays"),
        };
        match read.and_then(|loaded| {
            let (text, warnings) = (loaded.text.clone(), loaded.warnings.clone());
            let prepared = self.reloader.prepare(loaded).map_err(Unread::Failed)?;
            Ok((text, warnings, prepared))
        }) {
            Ok((text, warnings, prepared)) => {
                warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
                self.recall(&prepared).await;
                let loaded = self.reloader.apply(prepared);
                warn_of_restarts(&self.started, &loaded.effective);
                self.current.store(loaded);
                ground.text = text;
                tracing::info!(config = %self.config.display(), "the config was read again");
            }
            Err(unread) => {
                unread.log();
                tracing::error!(config = %self.config.display(), "the new config is refused; the old one stays");
            }
        }
    }
}

/// Reads a config on a thread of its own: a long one takes a while, and the requests of this worker
/// are not to wait for it.
async fn aside<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> Result<T, ChangeError> {
    tokio::task::spawn_blocking(read).await.map_err(|error| ChangeError::System(error.to_string()))
}

/// Why a file is not taken over.
enum Unread {
    Findings(Vec<Finding>),
    Failed(ServeError),
}

impl Unread {
    fn log(&self) {
        match self {
            Self::Findings(findings) => findings.iter().for_each(|finding| tracing::error!("{finding}")),
            Self::Failed(error) => tracing::error!(%error),
        }
    }
}
