//! The root of supervision: it replaces the two actors that have no parent, the router
//! and the store.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor, AsyncContext};
use actix_rt::ArbiterHandle;
use actors::router::family::Restored;
use actors::router::{Router, Seed};
use actors::watch::{DeathWatch, End};
use arc_swap::ArcSwapOption;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::storage::{Database, Dirty, Flush, Health, Store};

/// Crashes in a row are spread out up to this far.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The first pause; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// A crash after so long is a first one again.
const CALM: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    Router,
    Store,
}

/// What the two are made from.
#[derive(Clone)]
pub(super) struct Nursery {
    pub(super) seed: Seed,
    pub(super) database: Database,
    pub(super) dirty: Dirty,
    pub(super) flush_interval: Duration,
    pub(super) health: Arc<Health>,
    pub(super) store_home: ArbiterHandle,
    pub(super) store: Arc<ArcSwapOption<actix::Addr<Store>>>,
}

impl Nursery {
    fn watch(&self, root: Root, deaths: &UnboundedSender<Root>) -> DeathWatch {
        let deaths = deaths.clone();
        DeathWatch::new(self.seed.links.living.clone(), move |end| {
            if end != End::Retired {
                // A closed channel means that the process ends.
                let _ = deaths.send(root);
            }
        })
    }

    fn spawn_store(&self, deaths: &UnboundedSender<Root>) {
        let watch = self.watch(Root::Store, deaths);
        let (database, dirty, health) = (self.database.clone(), self.dirty.clone(), self.health.clone());
        let interval = self.flush_interval;
        let store = Store::start_in_arbiter(&self.store_home, move |_| {
            Store::new(database, dirty, interval, health, watch)
        });
        self.seed.links.store.install(store.clone().recipient());
        self.store.store(Some(Arc::new(store)));
    }

    fn spawn_router(&self, restored: Restored, deaths: &UnboundedSender<Root>) {
        let watch = self.watch(Root::Router, deaths);
        let seed = self.seed.clone();
        Router::start_in_arbiter(self.seed.placement.first(), move |ctx| {
            // Reachable before it spawns anybody: owners on other threads speak to it at once, and
            // what is posted to nobody is lost.
            seed.links.router.mailbox.install(ctx.address());
            Router::new(seed, restored, watch)
        });
    }

    /// Starts both, and replaces them for as long as the process runs.
    pub(super) fn start(self, restored: Restored) {
        let (deaths, heard) = unbounded_channel();
        self.spawn_store(&deaths);
        self.spawn_router(restored, &deaths);
        actix_rt::spawn(self.replace(deaths, heard));
    }

    /// For owners that died while there was no router to hear of it; the others live on.
    async fn last_known(&self) -> Restored {
        if let Some(store) = self.store.load_full() {
            // A store that fails is logged there; what it wrote before is still better than nothing.
            let _ = store.send(Flush).await;
        }
        self.database.load().unwrap_or_else(|error| {
            tracing::error!(%error, "the store cannot be read for the new router");
            Restored::default()
        })
    }

    async fn replace(self, deaths: UnboundedSender<Root>, mut heard: UnboundedReceiver<Root>) {
        let mut crashes: [(Option<tokio::time::Instant>, u32); 2] = [(None, 0); 2];
        while let Some(root) = heard.recv().await {
            let (last, in_a_row) = &mut crashes[root as usize];
            *in_a_row = if last.is_some_and(|last| last.elapsed() < CALM) { *in_a_row + 1 } else { 0 };
            *last = Some(tokio::time::Instant::now());
            let pause = match *in_a_row {
                0 => Duration::ZERO,
                n => (FIRST_PAUSE * 2_u32.saturating_pow(n - 1)).min(LONGEST_PAUSE),
            };
            tokio::time::sleep(pause).await;
            match root {
                Root::Router => {
                    tracing::error!("the router panicked and is replaced");
                    self.seed.links.router.restarts.fetch_add(1, Ordering::Relaxed);
                    let restored = self.last_known().await;
                    self.spawn_router(restored, &deaths);
                }
                Root::Store => {
                    tracing::error!("the store's actor panicked and is replaced");
                    self.health.restarted();
                    self.spawn_store(&deaths);
                }
            }
        }
    }
}
