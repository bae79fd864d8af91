//! What is asked: combos of some shape, owners that are all well, and a memory that knows nothing,
//! or everything.

use std::collections::HashMap;
use std::sync::Arc;

use actors::blueprint::Blueprint;
use actors::router::seeded;
use actors::testing::{START, blueprint};
use policy::account::{self, AccountSettings, Usage};
use policy::board::{Board, ConnectionView};
use policy::breaker::Breaker;
use policy::catalogue::{Abilities, Catalogue, Dialect, ModelEntry, Models};
use policy::cooldown::Cooldown;
use policy::ids::{ById, ConnectionId, ModelId, ProviderId};
use policy::latency::{Latency, Summary};
use policy::plan::{Ask, Memory, Plan, World, plan};
use policy::reading::{AccountReading, Readings, WindowReading};
use policy::request::Traits;
use policy::strategy::{ComboState, Metrics, Spread};
use policy::time::{HOUR, Millis};
use policy::window::WindowView;

/// How many of what.
#[derive(Clone, Copy)]
pub struct Shape {
    combos: usize,
    targets: usize,
    /// Of each target's provider.
    accounts: usize,
}

impl Shape {
    /// So many combos of so many targets, each a provider of its own with one account.
    pub fn combos(combos: usize, targets: usize) -> Self {
        Self { combos, targets, accounts: 1 }
    }

    /// One target whose provider has so many accounts.
    pub fn accounts(accounts: usize) -> Self {
        Self { combos: 1, targets: 1, accounts }
    }

    fn lines(self) -> String {
        let all = 0..self.combos * self.targets;
        let account = |n: usize, m: usize| format!(" c{n}-{m}");
        let accounts = |n: usize| (0..self.accounts).map(|m| account(n, m)).collect::<String>();
        let mut lines: Vec<String> = all.clone().map(|n| format!("p{n}:{}", accounts(n))).collect();
        for combo in 0..self.combos {
            let own = all.clone().skip(combo * self.targets).take(self.targets);
            let targets: String = own.map(|n| format!(" p{n}/m")).collect();
            lines.push(format!("{} priority:{targets}", name(combo)));
        }
        lines.join("\n")
    }
}

fn name(combo: usize) -> String {
    format!("all-{combo}")
}

/// What is known of models, accounts and the request.
#[derive(Clone, Copy, PartialEq)]
pub enum Known {
    Nothing,
    Everything,
}

/// Everything that a pick is made from.
pub struct Stage {
    names: Vec<String>,
    catalogue: Catalogue,
    board: Board,
    memory: Remembered,
    traits: Traits,
}

impl Stage {
    pub fn new(shape: Shape, rule: &str, accounts: &str, known: Known) -> Self {
        let blueprint = blueprint(&shape.lines());
        let board = board(&blueprint);
        let mut catalogue = Catalogue::clone(&blueprint.catalogue);
        let strategy = policy::strategy::find(rule).expect("a strategy that exists").name();
        catalogue.combos.values_mut().for_each(|combo| combo.strategy = strategy);
        let strategy = account::find(accounts).expect("a strategy that exists");
        catalogue.accounts = AccountSettings { strategy, latency_weight: 10.0, ..AccountSettings::default() };
        let (mut memory, mut traits) = (Remembered::default(), Traits::default());
        if known == Known::Everything {
            let providers = catalogue.providers.values_mut();
            providers.enumerate().for_each(|(n, provider)| provider.models = Some(models(n)));
            memory = Remembered::all(&catalogue);
            traits = Traits {
                input_tokens: Some(4_000),
                max_output: Some(1_000),
                tools: true,
                cache_key: Some("k1".into()),
                ..Traits::default()
            };
        }
        let names = (0..shape.combos).map(name).collect();
        Self { names, catalogue: catalogue.ready(), board, memory, traits }
    }

    /// One plan, of each combo in turn.
    pub fn pick(&self, turn: usize, dice: &mut fastrand::Rng) -> Plan {
        let ask = Ask {
            model: &self.names[turn % self.names.len()],
            dialect: Dialect::Openai,
            allowed: None,
            traits: &self.traits,
            lease: None,
        };
        let world =
            World { catalogue: &self.catalogue, board: &self.board, memory: &self.memory, now: START };
        plan(&ask, world, &mut seeded(dice)).expect("somebody can be asked")
    }
}

/// A model with a window, prices and abilities of its own.
fn models(n: usize) -> Models {
    let entry = ModelEntry {
        context_window: Some(100_000 + n as u64),
        max_output: Some(8_000),
        input_price: Some(1.0 + (n * 37 % 100) as f64),
        output_price: Some(5.0),
        abilities: Some(Abilities { tools: true, vision: true, structured: true }),
    };
    [(ModelId::from("m"), entry)].into_iter().collect()
}

/// Everybody has spoken and is well.
fn board(blueprint: &Blueprint) -> Board {
    let mut board = Board::default();
    for (id, numbers) in &blueprint.providers {
        board.providers.insert(id.clone(), Arc::new(Breaker::new(*numbers).view()));
    }
    for (id, numbers) in &blueprint.connections {
        let view = ConnectionView {
            cooldown: Cooldown::new(numbers.cooldown).view(),
            retry: WindowView::default(),
            draining: false,
            usable: true,
            egress: None,
            lease: None,
        };
        board.connections.insert(id.clone(), Arc::new(view));
    }
    board
}

/// The router's memory, without locks and without a live process; its tables are those of the router.
#[derive(Default)]
struct Remembered {
    readings: Readings,
    records: ById<ProviderId, Vec<(ModelId, Metrics)>>,
    combos: HashMap<Arc<str>, ComboState>,
}

impl Remembered {
    /// Different numbers for each.
    fn all(catalogue: &Catalogue) -> Self {
        let mut memory = Self::default();
        for (n, entry) in catalogue.providers.values().flat_map(|provider| &provider.connections).enumerate()
        {
            let used = |part: usize| (n * part % 90) as f64 / 100.0;
            let window = |used| Some(WindowReading { used, resets_at: Some(START + (1 + n as u64) * HOUR) });
            let (session, weekly) = (window(used(7)), window(used(13)));
            let reading = AccountReading { session, weekly, seen_at: START, ..Default::default() };
            memory.readings.read(&entry.id, reading);
            let metrics = Metrics { success_rate: 1.0 - used(3) / 10.0, mean_ms: Some(500.0 + n as f64) };
            memory.records.insert(entry.provider.clone(), vec![("m".into(), metrics)]);
        }
        for combo in catalogue.combos.values() {
            let uses =
                combo.steps.iter().enumerate().map(|(n, step)| (step.key.clone(), (n * 31 % 50) as u64));
            let state = ComboState { uses: uses.collect(), ..ComboState::default() };
            memory.combos.insert(combo.name.clone(), state);
        }
        memory
    }
}

impl Memory for Remembered {
    fn in_flight(&self, _: &ConnectionId) -> u32 {
        0
    }

    fn metrics(&self, _: &str, provider: &ProviderId, model: &ModelId) -> Option<Metrics> {
        let models = self.records.get(provider)?;
        models.iter().find(|(known, _)| known == model).map(|(_, metrics)| *metrics)
    }

    fn has_records(&self, _: &str) -> bool {
        !self.records.is_empty()
    }

    fn spread(&self, combo: &str, provider: &ProviderId, model: &ModelId) -> Option<Spread> {
        let p95_ms = self.metrics(combo, provider, model)?.mean_ms?;
        Some(Spread { p95_ms, deviation_ms: Some(p95_ms / 10.0), samples: 20 })
    }

    fn combo(&self, combo: &str) -> Option<&ComboState> {
        self.combos.get(combo)
    }

    fn reading(&self, connection: &ConnectionId) -> Option<&AccountReading> {
        self.readings.get(connection)
    }

    fn usage(&self, _: &ConnectionId) -> Usage {
        Usage { consecutive: 1, last_at: Some(START), turn: 0 }
    }

    fn latency(&self, _: &ConnectionId, _: &ModelId, _: Millis) -> Latency {
        let series = Summary { samples: 20, failures: 1, mean_ms: Some(500.0) };
        Latency { connection: series, model: series }
    }
}
