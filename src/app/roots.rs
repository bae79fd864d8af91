//! The root of supervision: it replaces the two actors that have no parent, the router
//! and the store.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor, AsyncContext};
use actix_rt::ArbiterHandle;
use actors::messages::Owner;
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

/// One of the two has ended.
struct Death {
    root: Root,
    end: End,
}

/// Crashes in a row of one of the two.
#[derive(Clone, Copy, Default)]
struct Crashes {
    last: Option<tokio::time::Instant>,
    in_a_row: u32,
}

impl Crashes {
    /// The pause before the next life. An operator's restart is no crash and waits for nothing.
    fn pause(&mut self, end: End) -> Duration {
        if end == End::Restarted {
            return Duration::ZERO;
        }
        let again = self.last.is_some_and(|last| last.elapsed() < CALM);
        self.in_a_row = if again { self.in_a_row + 1 } else { 0 };
        self.last = Some(tokio::time::Instant::now());
        match self.in_a_row {
            0 => Duration::ZERO,
            n => FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(n - 1)).min(LONGEST_PAUSE),
        }
    }
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
    fn watch(&self, root: Root, deaths: &UnboundedSender<Death>) -> DeathWatch {
        let deaths = deaths.clone();
        DeathWatch::new(self.seed.links.living.clone(), move |end| {
            if end != End::Retired {
                // A closed channel means that the process ends.
                let _ = deaths.send(Death { root, end });
            }
        })
    }

    fn spawn_store(&self, deaths: &UnboundedSender<Death>) {
        let watch = self.watch(Root::Store, deaths);
        let (database, dirty, health) = (self.database.clone(), self.dirty.clone(), self.health.clone());
        let interval = self.flush_interval;
        let store = Store::start_in_arbiter(&self.store_home, move |_| {
            Store::new(database, dirty, interval, health, watch)
        });
        self.seed.links.store.install(store.clone().recipient());
        self.seed.links.store.install_flusher(store.clone().recipient());
        self.store.store(Some(Arc::new(store)));
    }

    fn spawn_router(&self, restored: Restored, deaths: &UnboundedSender<Death>) {
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

    fn tell(&self, root: Root, end: End, pause: Duration) {
        let owner = match root {
            Root::Router => Owner::Router,
            Root::Store => Owner::Store,
        };
        let links = &self.seed.links;
        links.router.events.restarted(&owner, end, (links.clock.now(), pause.as_millis() as u64));
    }

    async fn replace(self, deaths: UnboundedSender<Death>, mut heard: UnboundedReceiver<Death>) {
        let mut crashes = [Crashes::default(); 2];
        while let Some(Death { root, end }) = heard.recv().await {
            let pause = crashes[root as usize].pause(end);
            self.tell(root, end, pause);
            tokio::time::sleep(pause).await;
            match root {
                Root::Router => {
                    match end {
                        End::Restarted => tracing::info!("the router is replaced by order"),
                        _ => tracing::error!("the router panicked and is replaced"),
                    }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use actors::watch::End;

    use super::Crashes;

    #[tokio::test(start_paused = true)]
    async fn a_crash_loop_backs_off_and_an_order_does_not() {
        let ms = Duration::from_millis;
        let mut crashes = Crashes::default();
        let pauses = [0; 4].map(|_| crashes.pause(End::Restarted));
        assert_eq!(pauses, [Duration::ZERO; 4]);
        let pauses = [0; 4].map(|_| crashes.pause(End::Panicked));
        assert_eq!(pauses, [ms(0), ms(100), ms(200), ms(400)]);
        assert_eq!(crashes.pause(End::Restarted), ms(0));
        let pauses = [0; 20].map(|_| crashes.pause(End::Panicked));
        assert_eq!(pauses[19], ms(30_000), "and no number overflows");
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(crashes.pause(End::Panicked), ms(0));
    }
}
