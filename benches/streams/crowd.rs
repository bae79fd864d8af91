//! A thousand streams open at once: what they take while they flow.

use std::io::Result;
use std::time::{Duration, Instant};

use tokio::task::spawn_local;

use super::clients::Open;
use super::stage::{Stage, Tower, verdict};

/// The budget of the design, MiB.
const MOST_MIB: f64 = 80.0;
/// Two chunks a second each, for longer than the act.
const FLOWS: &str = "chunks-600x500";
/// How many dial at once: the door is not what is measured.
const AT_ONCE: usize = 20;
const LOOK: Duration = Duration::from_millis(100);

/// Runs and prints it.
pub async fn run(stage: &Stage, quick: bool) {
    let (streams, length) = if quick { (300, 2) } else { (1_000, 10) };
    println!("\n# Crowd: {streams} streams open at once, two chunks a second each\n");
    if let Err(error) = shown(stage, streams, Duration::from_secs(length)).await {
        println!("FAILED: {error}");
    }
}

async fn shown(stage: &Stage, streams: usize, length: Duration) -> Result<()> {
    let tower = stage.tower().await?;
    let idle = tower.process.resident_mib();
    let open = begin(&tower, streams).await?;
    let readers: Vec<_> = open.into_iter().map(|open| spawn_local(open.drain())).collect();
    let (mut most, began, before) = (0.0_f64, Instant::now(), tower.process.cpu_seconds());
    while began.elapsed() < length {
        most = most.max(tower.process.resident_mib());
        tokio::time::sleep(LOOK).await;
    }
    let held = tower.held().await?;
    let cpu =
        (tower.process.cpu_seconds() - before) * 1e6 / (began.elapsed().as_secs_f64() * 2.0 * streams as f64);
    println!("{} in flight; {cpu:.1} µs of processor time for each chunk", held.in_flight);
    let each = (most - idle) * 1024.0 / streams as f64;
    verdict(
        held.in_flight == streams as u64 && most <= MOST_MIB,
        &format!(
            "memory: {most:.1} MiB, idle {idle:.1}, {each:.1} KiB each (budget: at most {MOST_MIB} MiB for 1000)"
        ),
    );
    readers.iter().for_each(tokio::task::JoinHandle::abort);
    let (held, took) = tower.quiet().await?;
    held.print("left behind by clients that all leave at once");
    verdict(
        took <= Duration::from_secs(2),
        &format!("seen within {:.2} s (budget: 2 s)", took.as_secs_f64()),
    );
    Ok(())
}

async fn begin(tower: &Tower, streams: usize) -> Result<Vec<Open>> {
    let mut open = Vec::with_capacity(streams);
    while open.len() < streams {
        let dialled: Vec<_> = (0..AT_ONCE.min(streams - open.len()))
            .map(|_| spawn_local(Open::begin(tower.address, FLOWS, false)))
            .collect();
        for stream in dialled {
            open.push(stream.await.expect("a client does not panic")?);
        }
    }
    Ok(open)
}
