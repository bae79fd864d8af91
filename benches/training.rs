//! What a build with a profile is trained on: requests and streams as clients send them, to a bare
//! set-up and to one with client keys, several accounts and combos that have to fail over.
//!
//! `benches/tuned` runs it; alone: `cargo bench --profile dev --bench training [-- --quick]`. The
//! binary is `SWITCHTOWER_BIN`, else the one of the same build. Exits 1 as soon as an answer is not
//! a whole 200: a profile of refusals would make refusals fast.

#[path = "overhead/folder.rs"]
mod folder;
#[allow(dead_code, reason = "each program uses its part")]
#[path = "overhead/load.rs"]
mod load;
#[allow(dead_code, reason = "each program uses its part")]
#[path = "overhead/process.rs"]
mod process;
#[path = "training/stage.rs"]
mod stage;
#[path = "overhead/wire.rs"]
mod wire;

use std::io::Result;
use std::time::{Duration, Instant};

use stage::{Ask, CHAT, MESSAGES, RESPONSES, Stage, Tower};

/// Clients of the closed loops, and of the streams.
const CLIENTS: usize = 64;
const STREAMS: usize = 200;
/// What a stream consists of: this model of the scripted upstream, and its pace.
const CHUNKS: &str = "chunks-100x10";
const EVERY: Duration = Duration::from_millis(10);
/// Body sizes in bytes: a question, a prompt, a conversation with files.
const BODIES: [usize; 3] = [0, 1126, 96 * 1024];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // cargo itself adds `--bench`
    if let Some(unknown) = arguments.iter().find(|text| !matches!(text.as_str(), "--quick" | "--bench")) {
        eprintln!("unknown argument {unknown}; accepted: --quick");
        std::process::exit(2);
    }
    let quick = arguments.iter().any(|text| text == "--quick");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime of one thread needs nothing special");
    if let Err(error) = runtime.block_on(train(quick)) {
        eprintln!("training: {error}");
        std::process::exit(1);
    }
}

/// All of it; `quick` shows that it works and trains nothing.
async fn train(quick: bool) -> Result<()> {
    let unit = Duration::from_millis(if quick { 50 } else { 1000 });
    let streams = if quick { 10 } else { STREAMS };
    let stage = Stage::set()?;
    let began = Instant::now();
    for tower in [stage.bare()?, stage.furnished()?] {
        let answers = requests(&tower, unit).await?;
        println!("{}: {answers} requests, {:.0} s", tower.name, began.elapsed().as_secs_f64());
        for ask in [CHAT, MESSAGES, RESPONSES] {
            let shot = tower.shot(&ask, &tower.model(&ask, CHUNKS), true, 0);
            load::streams(&shot, streams, EVERY).await?;
        }
        println!("{}: {} streams, {:.0} s", tower.name, 3 * streams, began.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Answers that are not streamed: most of them small, in each dialect, and through each combo.
async fn requests(tower: &Tower, unit: Duration) -> Result<u64> {
    let mut answers = 0;
    let mut models: Vec<(&Ask, String)> = Vec::new();
    for ask in [&CHAT, &MESSAGES, &RESPONSES] {
        models.push((ask, tower.model(ask, "steady")));
    }
    models.extend(tower.combos.iter().map(|combo| (&CHAT, (*combo).to_owned())));
    for (ask, model) in &models {
        for bytes in BODIES {
            let shot = tower.shot(ask, model, false, bytes);
            answers += load::closed(&shot, CLIENTS, unit).await?.answers;
        }
        answers += load::closed(&tower.shot(ask, model, false, 0), 1, unit).await?.answers;
    }
    Ok(answers)
}
