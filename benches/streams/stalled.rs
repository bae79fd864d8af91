//! Clients that stop reading an upstream that never stops: what is kept for them, and for how long.

use std::io::{ErrorKind, Result};
use std::time::{Duration, Instant};

use tokio::task::{JoinHandle, spawn_local};

use super::clients::Open;
use super::stage::{Stage, verdict};

const CLIENTS: usize = 50;
/// As fast as it goes, for longer than the act.
const POURS: &str = "chunks-1000000x0";
/// `write_stall_timeout` of the stage, 2 s, and what a busy core may add.
const LIMIT: Duration = Duration::from_secs(4);
/// All have begun long before.
const LONGEST: Duration = Duration::from_secs(60);
/// What one of them may take, KiB: the answer's buffers, a chunk of the upstream, and no more.
const MOST_EACH: f64 = 512.0;
const LOOK: Duration = Duration::from_millis(50);

/// Runs and prints it.
pub async fn run(stage: &Stage) {
    println!("\n# Stalled: {CLIENTS} clients stop reading a stream that pours\n");
    if let Err(error) = shown(stage).await {
        println!("FAILED: {error}");
    }
}

async fn shown(stage: &Stage) -> Result<()> {
    let tower = stage.tower().await?;
    let idle = tower.process.resident_mib();
    let address = tower.address;
    let dialled: Vec<_> = (0..CLIENTS).map(|_| spawn_local(Open::begin(address, POURS, true))).collect();
    let began = Instant::now();
    let (mut most, mut at_once, mut stopped) = (0.0_f64, 0, None);
    let (in_flight, took) = loop {
        most = most.max(tower.process.resident_mib());
        let in_flight = tower.held().await?.in_flight;
        at_once = at_once.max(in_flight);
        if dialled.iter().all(JoinHandle::is_finished) {
            let took = stopped.get_or_insert_with(Instant::now).elapsed();
            if in_flight == 0 || took > 2 * LIMIT {
                break (in_flight, took.as_secs_f64());
            }
        } else if began.elapsed() > LONGEST {
            return Err(ErrorKind::TimedOut.into());
        }
        tokio::time::sleep(LOOK).await;
    };
    let each = (most - idle) * 1024.0 / at_once as f64;
    println!("{at_once} of them at once");
    let line = format!(
        "memory: {most:.1} MiB, idle {idle:.1}, {each:.0} KiB each (budget: at most {MOST_EACH:.0} KiB each)"
    );
    verdict(each <= MOST_EACH, &line);
    let line = format!(
        "{in_flight} in flight {took:.2} s after the last one stopped (budget: none after {} s)",
        LIMIT.as_secs()
    );
    verdict(in_flight == 0 && took <= LIMIT.as_secs_f64(), &line);
    // Their ends were open until now: it was the proxy that ended them.
    for open in dialled {
        open.await.expect("a client does not panic")?.drain().await;
    }
    tower.quiet().await?.0.print("left behind");
    Ok(())
}
