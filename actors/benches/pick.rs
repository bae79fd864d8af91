//! Prints how long one pick takes: the pure plan that the router's handler makes, for every strategy.
//!
//! `cargo bench -p actors --features test-hooks --bench pick [-- [--best] [FILTER]]`; FILTER is a part
//! of a strategy's name. Prints, never judges: medians, µs; with `--best`, for a machine that others
//! use too, what the best twentieth of the picks took at most. The budget is 50 µs with 1000 targets
//! (design "Budgets"). Each strategy is asked in four forms:
//!
//! - `1`: a combo of one target.
//! - `50 x 20`: 1000 targets in 50 combos, asked in turn.
//! - `1000`: all in one combo, and nothing is known of anybody.
//! - `1000 known`: the same, and everything is: prices, windows and abilities of each model, uses,
//!   records and quota of each account; the request brings tools, a size and a prompt key.
//!
//! `--turns N` takes no time: it makes N picks in each form. Instructions do not depend on who else
//! is busy, and callgrind writes those of each form into a file of its own:
//! `valgrind --tool=callgrind --toggle-collect=pick::turns --dump-after=pick::turns PICK --turns 20`.

#[path = "pick/stage.rs"]
mod stage;

use std::hint::black_box;
use std::time::{Duration, Instant};

use policy::account;
use policy::strategy;

use stage::{Known, Shape, Stage};

/// How long one form of one strategy is measured for, after a tenth of that to get warm.
const SPAN: Duration = Duration::from_millis(300);
/// A sample is at least so long: the clock itself costs a share of a µs.
const SAMPLE: Duration = Duration::from_micros(20);

fn main() {
    let filter = std::env::args().skip(1).find(|argument| is_filter(argument)).unwrap_or_default();
    println!("| strategy | 1 | 50 x 20 | 1000 | 1000 known |");
    println!("|---|---|---|---|---|");
    for rule in strategy::names().into_iter().filter(|rule| rule.contains(&filter)) {
        let forms = [
            (Shape::combos(1, 1), Known::Nothing),
            (Shape::combos(50, 20), Known::Nothing),
            (Shape::combos(1, 1000), Known::Nothing),
            (Shape::combos(1, 1000), Known::Everything),
        ];
        let cells = forms.map(|(shape, known)| cell(&Stage::new(shape, rule, "fill-first", known)));
        println!("| {rule} | {} |", cells.join(" | "));
    }
    println!("\n| accounts by | 1 | 2 | 1000 |\n|---|---|---|---|");
    for rule in account::names().into_iter().filter(|rule| rule.contains(&filter)) {
        let stage = |count| Stage::new(Shape::accounts(count), "priority", rule, Known::Nothing);
        let cells = [1, 2, 1000].map(|count| cell(&stage(count)));
        println!("| {rule} | {} |", cells.join(" | "));
    }
}

fn is_filter(argument: &str) -> bool {
    !argument.starts_with('-') && argument.parse::<usize>().is_err()
}

fn cell(stage: &Stage) -> String {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--turns").skip(1);
    match arguments.next().and_then(|count| count.parse().ok()) {
        Some(count) => {
            turns(stage, count);
            format!("{count} turns")
        }
        None => format!("{:.2}", micros(stage)),
    }
}

#[inline(never)]
fn turns(stage: &Stage, count: usize) {
    let mut dice = fastrand::Rng::with_seed(1);
    for turn in 0..count {
        black_box(stage.pick(turn, &mut dice));
    }
}

fn micros(stage: &Stage) -> f64 {
    let (mut dice, mut turn) = (fastrand::Rng::with_seed(1), 0);
    let mut batch = |count: u32| {
        let started = Instant::now();
        for _ in 0..count {
            turn += 1;
            black_box(stage.pick(turn, &mut dice));
        }
        started.elapsed()
    };
    let mut count = 1;
    let warm = Instant::now();
    while warm.elapsed() < SPAN / 10 {
        if batch(count) < SAMPLE {
            count += 1;
        }
    }
    let mut samples = Vec::new();
    let began = Instant::now();
    while began.elapsed() < SPAN {
        samples.push(batch(count));
    }
    samples.sort_unstable();
    let part = if std::env::args().any(|argument| argument == "--best") { 20 } else { 2 };
    samples[samples.len() / part].as_secs_f64() * 1e6 / f64::from(count)
}
