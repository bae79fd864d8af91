//! A small world for tests of the owners: all of them on given arbiters, a router that is
//! replaced when it dies, a store that only records, dice with a seed.
//!
//! On one arbiter with paused time nothing runs beside the test, so every count is exact.

mod recorder;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use actix::{Actor, Arbiter, ArbiterHandle, System};
use policy::breaker::BreakerSettings;
use policy::catalogue::{Catalogue, Combo, ConnectionEntry, Dialect, ProviderEntry, Step};
use policy::change::{Change, Refusal};
use policy::cooldown::CooldownSettings;
use policy::gate::GateSettings;
use policy::ids::{Class, ConnectionId, ProviderId};
use policy::lockout::{LockKey, LockoutSettings};
use policy::plan::{NoPlan, Plan, Planned};
use policy::strategy;
use policy::verdict::{Case, End, Failure, Signal, Verdict, judge};
use policy::window::RetryCooldown;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::blueprint::{Blueprint, ConnectionNumbers, MailboxBounds, Placement};
use crate::clock::Clock;
use crate::connection::ConnectionShared;
use crate::directory::{Directory, Links, RouterShared};
use crate::lockout::LockoutShared;
use crate::messages::{Barrier, Owner, Snapshot, StoreLink};
use crate::permit::{Owners, Permit};
use crate::provider::ProviderShared;
use crate::router::family::Restored;
use crate::router::pick::{Pick, Picked};
use crate::router::{Router, Seed};
use crate::watch::{DeathWatch, Living};
use recorder::{Recorder, Told, told};

/// What the clock of a world says at its start, epoch ms.
pub const START: u64 = 1_700_000_000_000;

/// Runs a test on one thread whose time only moves when everybody waits.
///
/// # Panics
/// When the runtime cannot be made.
pub fn paused<T>(test: impl Future<Output = T>) -> T {
    let system = System::with_tokio_rt(|| {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().expect("a runtime can be made")
    });
    system.block_on(test)
}

/// A blueprint from lines like `a: a1 a2*3` (a provider and its connections, `*` their slots)
/// and `ab priority: a/m b/m` (a combo, its strategy and its targets). All are API-key
/// providers with the built-in numbers that serve any model.
///
/// # Panics
/// On a line that is neither.
pub fn blueprint(lines: &str) -> Blueprint {
    let mut catalogue = Catalogue::default();
    let mut blueprint = Blueprint::default();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (head, rest) = line.split_once(':').expect("a line is `name: parts`");
        let parts: Vec<&str> = rest.split_whitespace().collect();
        match head.split_once(' ') {
            Some((name, rule)) => {
                let combo = combo(&catalogue, name, rule, &parts);
                catalogue.combos.insert(name.into(), combo);
            }
            None => add_provider(&mut catalogue, &mut blueprint, head, &parts),
        }
    }
    blueprint.catalogue = Arc::new(catalogue);
    blueprint
}

fn combo(catalogue: &Catalogue, name: &str, rule: &str, targets: &[&str]) -> Combo {
    let step = |target: &&str| {
        let (provider, model) = target.split_once('/').expect("a target is `provider/model`");
        let known = catalogue.providers.get(provider).map(|provider| provider.id.clone());
        Step::new(known.unwrap_or_else(|| provider.into()), model.into())
    };
    let strategy = strategy::find(rule).expect("a strategy that exists").name();
    Combo::new(name, strategy, targets.iter().map(step).collect())
}

fn add_provider(catalogue: &mut Catalogue, blueprint: &mut Blueprint, id: &str, connections: &[&str]) {
    // One text for all that name it, as configurations have it.
    let id = ProviderId::from(id);
    let mut entries = Vec::new();
    for (index, text) in connections.iter().enumerate() {
        let (connection, cap) = text.split_once('*').unwrap_or((text, "0"));
        let connection = ConnectionId::from(connection);
        let numbers = ConnectionNumbers {
            provider: id.clone(),
            cooldown: CooldownSettings::for_class(Class::Apikey),
            lockout: LockoutSettings::for_class(Class::Apikey),
            retry: RetryCooldown::default(),
            shares_egress: false,
            usable: true,
            gate: GateSettings {
                account_cap: cap.parse().expect("slots are a number"),
                ..GateSettings::default()
            },
            fingerprint: String::new(),
        };
        blueprint.connections.insert(connection.clone(), numbers);
        entries.push(Arc::new(ConnectionEntry {
            id: connection,
            provider: id.clone(),
            priority: index as u32,
            usable: true,
            models: vec!["*".into()],
        }));
    }
    blueprint.providers.insert(id.clone(), BreakerSettings::for_class(Class::Apikey));
    let entry = ProviderEntry {
        id: id.clone(),
        class: Class::Apikey,
        dialects: vec![Dialect::Openai],
        models: None,
        passthrough_models: true,
        connections: entries,
    };
    catalogue.providers.insert(id, entry);
}

/// The verdict on an attempt that ended so, without a stated wait.
pub fn verdict(end: End) -> Verdict {
    judge(&Signal::new(end, None), &Case::of(Class::Apikey))
}

/// What a bad verdict says.
///
/// # Panics
/// When it is not one.
pub fn failure(verdict: &Verdict) -> Failure {
    match verdict {
        Verdict::Failure(failure) => failure.clone(),
        other => panic!("no failure: {other:?}"),
    }
}

/// Owners that live, and everything they told.
pub struct World {
    /// The way to the owners.
    pub owners: Owners,
    /// What the router is made from.
    pub seed: Seed,
    changes: Told<(Owner, Change)>,
    saves: Told<(Owner, Option<Snapshot>)>,
}

// === impl World: start and supervision ===

impl World {
    /// All owners on this thread.
    pub async fn start(blueprint: Blueprint) -> Self {
        Self::restored(blueprint, Restored::default(), vec![Arbiter::current()]).await
    }

    /// The same with dice of this seed.
    pub async fn thrown(blueprint: Blueprint, dice: u64) -> Self {
        let when = (Clock::at(START), dice);
        Self::made(when, blueprint, Restored::default(), vec![Arbiter::current()]).await
    }

    /// Owners that start from what a store gave back, on these arbiters.
    pub async fn restored(blueprint: Blueprint, restored: Restored, arbiters: Vec<ArbiterHandle>) -> Self {
        Self::at(Clock::at(START), blueprint, restored, arbiters).await
    }

    /// The same when it is that late.
    pub async fn at(
        clock: Clock,
        blueprint: Blueprint,
        restored: Restored,
        arbiters: Vec<ArbiterHandle>,
    ) -> Self {
        Self::made((clock, 7), blueprint, restored, arbiters).await
    }

    async fn made(
        (clock, dice): (Clock, u64),
        blueprint: Blueprint,
        restored: Restored,
        arbiters: Vec<ArbiterHandle>,
    ) -> Self {
        let (changes, saves): (Told<_>, Told<_>) = Default::default();
        let (heard, kept) = (changes.clone(), saves.clone());
        let links = Links {
            clock,
            router: Arc::new(RouterShared::new(blueprint.mailbox.router)),
            store: StoreLink::new(blueprint.mailbox.store),
            observer: Arc::new(move |owner, change| {
                heard.lock().unwrap_or_else(PoisonError::into_inner).push((owner.clone(), change.clone()));
            }),
            living: Living::new(),
        };
        let recorder = Recorder(kept).start();
        links.store.install(recorder.clone().recipient());
        links.store.install_flusher(recorder.recipient());
        let directory = Arc::new(Directory::default());
        let owners = Owners {
            directory,
            router: links.router.clone(),
            clock: links.clock,
            store: links.store.clone(),
        };
        let seed = Seed {
            blueprint: Arc::new(arc_swap::ArcSwap::from_pointee(blueprint)),
            directory: owners.directory.clone(),
            links,
            placement: Placement::new(arbiters),
            dice: Some(dice),
        };
        let world = Self { owners, seed, changes, saves };
        supervise(&world.seed, restored);
        world.quiet().await;
        world
    }

    /// Everything that was said is heard, and everything that followed from it.
    pub async fn quiet(&self) {
        for _ in 0..3 {
            let _ = self.owners.router.mailbox.ask(Barrier).await;
            for shared in self.owners.directory.connections() {
                let _ = shared.mailbox.ask(Barrier).await;
            }
            for shared in self.owners.directory.providers() {
                let _ = shared.mailbox.ask(Barrier).await;
            }
            for shared in self.owners.directory.lockouts() {
                let _ = shared.mailbox.ask(Barrier).await;
            }
            let _ = self.owners.router.mailbox.ask(Barrier).await;
        }
    }
}

/// A dead router's place stays empty for so long, so that a test can look into the gap.
const ROUTER_GAP: Duration = Duration::from_millis(1);

/// Spawns the router, and again when it dies.
fn supervise(seed: &Seed, restored: Restored) {
    let (deaths, mut heard) = unbounded_channel();
    spawn_router(seed, restored, &deaths);
    let seed = seed.clone();
    actix::spawn(async move {
        while heard.recv().await.is_some() {
            tokio::time::sleep(ROUTER_GAP).await;
            seed.links.router.restarts.fetch_add(1, Ordering::Relaxed);
            spawn_router(&seed, Restored::default(), &deaths);
        }
    });
}

fn spawn_router(seed: &Seed, restored: Restored, deaths: &UnboundedSender<()>) {
    let deaths = deaths.clone();
    let watch = DeathWatch::new(seed.links.living.clone(), move |_| {
        // Nobody listens once the test has ended.
        let _ = deaths.send(());
    });
    let own = seed.clone();
    let router = Router::start_in_arbiter(seed.placement.first(), move |_| Router::new(own, restored, watch));
    seed.links.router.mailbox.install(router);
}

// === impl World: what a request does ===

impl World {
    /// Asks the router for targets.
    ///
    /// # Panics
    /// When it has none to tell of.
    pub async fn pick(&self, model: &str) -> Plan {
        self.pick_as(model, None).await.expect("a plan").plan
    }

    /// Asks the router for targets as a client with this key.
    ///
    /// # Panics
    /// When the router does not answer.
    pub async fn pick_as(&self, model: &str, key: Option<&str>) -> Result<Picked, NoPlan> {
        self.owners.router.mailbox.ask(Self::pick_of(model, key)).await.expect("the router answers")
    }

    /// A pick of a client with this key.
    pub fn pick_of(model: &str, key: Option<&str>) -> Pick {
        Pick { key: key.map(Into::into), ..Pick::new(model, Dialect::Openai) }
    }

    /// Picks `model` and asks the owners of its first target.
    ///
    /// # Panics
    /// When no target is left.
    pub async fn acquire(&self, model: &str) -> Result<Permit, Refusal> {
        let plan = self.pick(model).await;
        let target: &Planned = plan.targets.first().expect("a target is left");
        self.owners.acquire(target, plan.targets.len() > 1).await
    }

    /// One request to the first target of `model` that ends so.
    ///
    /// # Panics
    /// When it is not let through.
    pub async fn serve(&self, model: &str, end: End) {
        let permit = self.acquire(model).await.expect("it is let through");
        self.settle(permit, model, end).await;
    }

    /// Ends a request for `model` as relay does: settled, given back, bad news awaited.
    pub async fn settle(&self, permit: Permit, model: &str, end: End) {
        self.conclude(permit, model, verdict(end)).await;
    }

    /// The same with a verdict that is at hand.
    pub async fn conclude(&self, mut permit: Permit, model: &str, verdict: Verdict) {
        permit.settle(verdict.clone(), true, model.contains('/'));
        match verdict {
            Verdict::Failure(failure) => permit.close(&self.owners, &failure).await,
            Verdict::Success | Verdict::Neutral => drop(permit),
        }
        self.quiet().await;
    }

    /// `count` requests whose first byte never came: they count on the breaker and cool nobody.
    ///
    /// # Panics
    /// When one is not let through.
    pub async fn fail(&self, model: &str, count: usize) {
        for _ in 0..count {
            self.serve(model, End::NoFirstByte).await;
        }
    }
}

// === impl World: what people see ===

impl World {
    /// A provider's handle.
    ///
    /// # Panics
    /// When there is none.
    pub fn provider(&self, id: &str) -> Arc<ProviderShared> {
        self.owners.directory.provider(&ProviderId::from(id)).expect("the provider is there")
    }

    /// A connection's handle.
    ///
    /// # Panics
    /// When there is none.
    pub fn connection(&self, id: &str) -> Arc<ConnectionShared> {
        self.owners.directory.connection(&ConnectionId::from(id)).expect("the connection is there")
    }

    /// The handle of the lock that a 404 of `model` makes.
    pub fn lockout(&self, connection: &str, model: &str) -> Option<Arc<LockoutShared>> {
        self.owners.directory.lockout(&connection.into(), &LockKey::base(&model.into()))
    }

    /// The handle of the lock of exactly this model.
    ///
    /// # Panics
    /// When there is none.
    pub fn lockout_of(&self, connection: &str, model: &str) -> Arc<LockoutShared> {
        let key = LockKey::exact(&model.into());
        self.owners.directory.lockout(&connection.into(), &key).expect("the lock is there")
    }

    /// Every change so far of the owners of a kind.
    pub fn changes(&self, kind: &str) -> Vec<Change> {
        let all = told(&self.changes).into_iter();
        all.filter(|(owner, _)| owner.kind() == kind).map(|(_, change)| change).collect()
    }

    /// What the store was told last of each owner.
    pub fn saved(&self) -> HashMap<Owner, Option<Snapshot>> {
        told(&self.saves).into_iter().collect()
    }

    /// Now, epoch ms.
    pub fn now(&self) -> u64 {
        self.owners.clock.now()
    }
}

/// Mailbox bounds that are the same for all.
pub fn bounds(capacity: usize) -> MailboxBounds {
    MailboxBounds {
        router: capacity,
        provider: capacity,
        connection: capacity,
        lockout: capacity,
        store: capacity,
    }
}
