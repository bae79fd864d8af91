//! Prints how long one pick takes: the pure plan that the router's handler makes, for combos
//! of 1 and 1000 targets. The budget is 50 µs with 1000 (design "Budgets").
//!
//! Run: `cargo bench -p actors --features test-hooks --bench pick`.

use std::hint::black_box;
use std::time::Instant;

use actors::testing::{START, blueprint};
use policy::board::Board;
use policy::catalogue::Dialect;
use policy::dice::Scripted;
use policy::ids::{ConnectionId, ModelId, ProviderId};
use policy::plan::{Ask, Memory, World, plan};
use policy::strategy::Metrics;

const ROUNDS: u32 = 20_000;

struct Idle;

impl Memory for Idle {
    fn in_flight(&self, _: &ConnectionId) -> u32 {
        0
    }

    fn metrics(&self, _: &str, _: &ProviderId, _: &ModelId) -> Option<Metrics> {
        Some(Metrics { success_rate: 1.0, mean_ms: Some(500.0) })
    }
}

fn main() {
    for rule in ["priority", "p2c"] {
        for count in [1, 1000] {
            let providers: Vec<String> = (0..count).map(|n| format!("p{n}: c{n}\n")).collect();
            let targets: Vec<String> = (0..count).map(|n| format!("p{n}/m")).collect();
            let lines = format!("{}all {rule}: {}", providers.concat(), targets.join(" "));
            println!("{rule:8} {count:4} targets: {:7.2} µs", micros(&lines));
        }
    }
}

fn micros(lines: &str) -> f64 {
    let blueprint = blueprint(lines);
    let board = Board::default();
    let world = World { catalogue: &blueprint.catalogue, board: &board, memory: &Idle, now: START };
    let ask = Ask { model: "all", dialect: Dialect::Openai, allowed: None };
    let started = Instant::now();
    for _ in 0..ROUNDS {
        let _ = black_box(plan(black_box(&ask), world, &mut Scripted::default()));
    }
    started.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS)
}
