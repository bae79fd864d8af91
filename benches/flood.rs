//! What a flood of requests does to an account that takes two at once, with a gate before it and
//! without, and what the refusals cost that a flood beyond all queues gets.
//!
//! `cargo bench --bench flood [-- --quick]`. A program, not a timed test: it prints, and exits 0
//! whatever it finds. The account is the scripted upstream's `capacity-2`, which answers 429 to a
//! third request, and whose log tells who came when; `SWITCHTOWER_BIN` names another binary to
//! measure. The proxy has core 1 to itself, upstream and clients share core 0.

#[path = "flood/clients.rs"]
mod clients;
#[path = "overhead/folder.rs"]
mod folder;
#[path = "flood/overload.rs"]
mod overload;
#[allow(dead_code, reason = "each program uses its part")]
#[path = "overhead/process.rs"]
mod process;
#[path = "flood/rush.rs"]
mod rush;
#[path = "flood/stage.rs"]
mod stage;
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
            Err(error) => return println!("flood: not measured: {error}"),
        };
        if !process::can_pin() {
            println!("NOTE: not pinned (two cores and `taskset` are needed): all share the proxy's core");
        }
        rush::run(&stage, quick).await;
        overload::run(&stage, quick).await;
    });
}
