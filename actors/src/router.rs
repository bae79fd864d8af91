//! The router: the one that picks, and the parent of all other owners.
//!
//! It holds the board that owners publish to, its own memory of what it picked and how
//! that went, and the family it spawns, watches and replaces. It never waits: a pick is
//! one pure call on what it already knows.

pub mod answers;
pub mod family;
pub mod handoffs;
mod memory;
pub mod offer;
pub mod pick;
mod publish;
mod sessions;
pub mod share;
pub mod siblings;

use std::sync::Arc;

use actix::{Actor, AsyncContext, Context, Handler};
use policy::board::Board;

use crate::blueprint::{Blueprint, Placement};
use crate::directory::{Directory, Links};
use crate::lease::Tenancies;
use crate::mailbox::opens_letters;
use crate::messages::{Barrier, Publish};
use crate::provider::Leave;
use crate::watch::{DeathWatch, stop_when_heard};

use family::Family;
use handoffs::Handoffs;
use memory::RoutingMemory;
pub use memory::seeded;
use sessions::Sessions;

/// What a router is made from; it stays when the router is replaced.
#[derive(Clone)]
pub struct Seed {
    /// What is configured now.
    pub blueprint: Arc<arc_swap::ArcSwap<Blueprint>>,
    /// Handles by id.
    pub directory: Arc<Directory>,
    /// How owners speak with each other.
    pub links: Links,
    /// Where owners live.
    pub placement: Placement,
    /// Seed of the dice; `None`: from the system.
    pub dice: Option<u64>,
}

/// The actor.
pub struct Router {
    seed: Seed,
    board: Board,
    fold_due: bool,
    memory: RoutingMemory,
    sharing: share::Sharing,
    sessions: Sessions,
    handoffs: Handoffs,
    family: Family,
    dice: fastrand::Rng,
    watch: DeathWatch,
}

opens_letters! { Router:
    Barrier,
    Publish,
    Leave,
    pick::Pick,
    pick::Look,
    pick::Served,
    share::Gauged,
    answers::Made,
    share::Used,
    family::Lock,
    family::Decay,
    family::Died,
    family::Apply,
    family::Restart,
    siblings::CoolSiblings,
    offer::Offer,
    offer::Tenancy,
    handoffs::BeginHandoff,
    handoffs::EndHandoff,
    #[cfg(feature = "test-hooks")]
    crate::messages::Poison,
}

impl Router {
    /// A router that will find its owners in the seed's directory.
    pub fn new(seed: Seed, mut restored: family::Restored, watch: DeathWatch) -> Self {
        let dice = seed.dice.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        let usage = std::mem::take(&mut restored.usage);
        let last_good = std::mem::take(&mut restored.last_good);
        let blueprint = seed.blueprint.load_full();
        let pools = &blueprint.catalogue.pools;
        let (store, now) = (&seed.links.store, seed.links.clock.now());
        let sharing = share::Sharing::restored(usage, pools, store, now);
        let sessions = Sessions::restored(std::mem::take(&mut restored.pins), store, now);
        let handoffs = Handoffs::restored(std::mem::take(&mut restored.handoffs), store, now);
        let leases = std::mem::take(&mut restored.leases);
        Tenancies::new(&seed.links.router, &seed.links.store).with(|book| {
            book.restore(leases, now);
            // Connections and keys may have gone while nobody was there.
            let lives =
                |id: &_| blueprint.connections.contains_key(id) || seed.directory.connection(id).is_some();
            book.authorise(&blueprint.catalogue.managed, lives, now);
        });
        Self {
            board: Board::default(),
            fold_due: false,
            memory: RoutingMemory::restored(last_good),
            sharing,
            sessions,
            handoffs,
            family: Family::new(restored, &seed.directory),
            dice,
            seed,
            watch,
        }
    }
}

impl Actor for Router {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        let blueprint = self.seed.blueprint.load_full();
        self.set_ceilings(&blueprint);
        self.spawn_missing();
        self.ask_all_to_publish();
        // At once: a message to itself would come after questions that are already waiting.
        self.share();
    }
}

impl Router {
    fn tenancies(&self) -> Tenancies {
        Tenancies::new(&self.seed.links.router, &self.seed.links.store)
    }

    /// Shares the board, at most once per drained mailbox: the message goes behind all that wait.
    fn fold(&mut self, ctx: &mut Context<Self>) {
        if !std::mem::replace(&mut self.fold_due, true) {
            ctx.notify(publish::Fold);
        }
    }
}

impl Handler<Barrier> for Router {
    type Result = ();

    fn handle(&mut self, _: Barrier, _: &mut Self::Context) {}
}

impl Handler<Leave> for Router {
    type Result = ();

    fn handle(&mut self, Leave(end): Leave, ctx: &mut Self::Context) {
        stop_when_heard(ctx, move |router: &mut Self| router.watch.expect(end));
    }
}

#[cfg(feature = "test-hooks")]
impl Handler<crate::messages::Poison> for Router {
    type Result = ();

    fn handle(&mut self, _: crate::messages::Poison, _: &mut Self::Context) {
        panic!("poisoned router");
    }
}
