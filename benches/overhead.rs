//! What switchtower costs, beside nginx as a plain reverse proxy and no proxy at all, in one run.
//!
//! `cargo bench --bench overhead [-- --quick]`. A program, not a timed test: it prints, and exits 0
//! whether a budget of the design is met or missed. The upstream is `switchtower demo-upstream
//! --no-log` of the same build; `SWITCHTOWER_BIN` names another binary to measure. The proxy under
//! test has core 1 to itself, upstream and generator share core 0, so figures of a machine with
//! fewer cores mean little and the output says so. Ratios are taken round by round, because a
//! shared machine drifts, and the median of the rounds is shown.

#[path = "overhead/folder.rs"]
mod folder;
#[path = "overhead/load.rs"]
mod load;
#[path = "overhead/measure.rs"]
mod measure;
#[path = "overhead/process.rs"]
mod process;
#[path = "overhead/report.rs"]
mod report;
#[path = "overhead/stage.rs"]
mod stage;
#[path = "overhead/wire.rs"]
mod wire;

use measure::{Effort, Setup};
use stage::Stage;

/// The two set-ups: many clients with short prompts, and the one another gateway publishes.
const SETUPS: [Setup; 2] = [
    Setup { title: "64 clients, short body", clients: 64, body_bytes: 0, streams: 200 },
    Setup { title: "32 connections, 1.1 KB body", clients: 32, body_bytes: 1126, streams: 32 },
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // cargo itself adds `--bench`
    if let Some(unknown) = arguments.iter().find(|text| !matches!(text.as_str(), "--quick" | "--bench")) {
        eprintln!("unknown argument {unknown}; accepted: --quick");
        std::process::exit(2);
    }
    let effort = Effort::new(arguments.iter().any(|text| text == "--quick"));
    process::pin_this_process();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime of one thread needs nothing special");
    runtime.block_on(async {
        let stage = match Stage::set().await {
            Ok(stage) => stage,
            Err(error) => {
                println!("overhead: not measured: {error}");
                return;
            }
        };
        report::introduction(&stage);
        for setup in &SETUPS {
            let figures = measure::measure(&stage, setup, &effort).await;
            report::table(setup, &figures);
        }
    });
}
