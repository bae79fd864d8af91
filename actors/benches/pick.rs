//! Prints how long one pick takes: the pure plan that the router's handler makes, for combos
//! of 1 and 1000 targets and for providers of up to 1000 accounts. The budget is 50 µs with
//! 1000 (design "Budgets").
//!
//! Run: `cargo bench -p actors --features test-hooks --bench pick`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use actors::blueprint::Blueprint;
use actors::testing::{START, blueprint};
use policy::account::{self, AccountSettings, Usage};
use policy::board::{Board, ConnectionView};
use policy::breaker::Breaker;
use policy::catalogue::Dialect;
use policy::cooldown::Cooldown;
use policy::dice::Scripted;
use policy::ids::{ConnectionId, ModelId, ProviderId};
use policy::latency::{Latency, Summary};
use policy::plan::{Ask, Memory, World, plan};
use policy::request::Traits;
use policy::strategy::{self, Metrics};
use policy::window::WindowView;

const ROUNDS: u32 = 20_000;

struct Idle;

impl Memory for Idle {
    fn in_flight(&self, _: &ConnectionId) -> u32 {
        0
    }

    fn metrics(&self, _: &str, _: &ProviderId, _: &ModelId) -> Option<Metrics> {
        Some(Metrics { success_rate: 1.0, mean_ms: Some(500.0) })
    }

    fn usage(&self, _: &ConnectionId) -> Usage {
        Usage { consecutive: 1, last_at: Some(START), turn: 0 }
    }

    fn latency(&self, _: &ConnectionId, _: &ModelId, _: u64) -> Latency {
        let series = Summary { samples: 20, failures: 1, mean_ms: Some(500.0) };
        Latency { connection: series, model: series }
    }
}

fn main() {
    for rule in strategy::names() {
        for count in [1, 1000] {
            let providers: Vec<String> = (0..count).map(|n| format!("p{n}: c{n}\n")).collect();
            let targets: Vec<String> = (0..count).map(|n| format!("p{n}/m")).collect();
            let lines = format!("{}all {rule}: {}", providers.concat(), targets.join(" "));
            println!("{rule:17} {count:4} targets:  {:7.2} µs", micros(&lines, "fill-first"));
        }
    }
    for rule in account::names() {
        for count in [1, 2, 1000] {
            let accounts: Vec<String> = (0..count).map(|n| format!("c{n}")).collect();
            let lines = format!("p: {}\nall priority: p/m", accounts.join(" "));
            println!("{rule:10} {count:4} accounts: {:7.2} µs", micros(&lines, rule));
        }
    }
}

/// Everybody has spoken and is well.
fn board(blueprint: &Blueprint) -> Board {
    let mut board = Board::default();
    for (id, numbers) in &blueprint.providers {
        board.providers.insert(id.clone(), Arc::new(Breaker::new(*numbers).view()));
    }
    for (id, numbers) in &blueprint.connections {
        let cooldown = Cooldown::new(numbers.cooldown).view();
        let view = ConnectionView {
            cooldown,
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

fn micros(lines: &str, accounts: &str) -> f64 {
    let mut blueprint = blueprint(lines);
    let strategy = account::find(accounts).expect("a strategy that exists");
    Arc::make_mut(&mut blueprint.catalogue).accounts =
        AccountSettings { strategy, latency_weight: 10.0, ..AccountSettings::default() };
    let board = board(&blueprint);
    let world = World { catalogue: &blueprint.catalogue, board: &board, memory: &Idle, now: START };
    let traits = Traits::default();
    let ask = Ask { model: "all", dialect: Dialect::Openai, allowed: None, traits: &traits, lease: None };
    let started = Instant::now();
    for _ in 0..ROUNDS {
        let _ = black_box(plan(black_box(&ask), world, &mut Scripted::default()));
    }
    started.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS)
}
