//! What streams leave behind: memory after many of them however they end, with a thousand open at
//! once, and under clients that stop reading.
//!
//! `cargo bench --bench streams [-- --quick]`. A program, not a timed test: it prints, and exits 0
//! whatever it finds. The upstream is `switchtower demo-upstream --no-log` of the same build;
//! `SWITCHTOWER_BIN` names another binary to measure. The proxy has core 1 to itself, upstream and
//! clients share core 0.

#[path = "streams/clients.rs"]
mod clients;
#[path = "streams/crowd.rs"]
mod crowd;
#[path = "overhead/folder.rs"]
mod folder;
#[path = "streams/growth.rs"]
mod growth;
#[allow(dead_code, reason = "each program uses its part")]
#[path = "overhead/process.rs"]
mod process;
#[path = "streams/stage.rs"]
mod stage;
#[path = "streams/stalled.rs"]
mod stalled;
#[allow(dead_code, reason = "each program uses its part")]
#[path = "overhead/wire.rs"]
mod wire;

use stage::Stage;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // cargo itself adds `--bench`
    if let Some(unknown) = arguments.iter().find(|text| !matches!(text.as_str(), "--quick" | "--bench")) {
        eprintln!("unknown argument {unknown}; accepted: --quick");
        std::process::exit(2);
    }
    let quick = arguments.iter().any(|text| text == "--quick");
    process::pin_this_process();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime of one thread needs nothing special");
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let stage = match Stage::set() {
            Ok(stage) => stage,
            Err(error) => return println!("streams: not measured: {error}"),
        };
        if !process::can_pin() {
            println!("NOTE: not pinned (two cores and `taskset` are needed): all share the proxy's core");
        }
        growth::run(&stage, quick).await;
        crowd::run(&stage, quick).await;
        stalled::run(&stage).await;
    });
}
