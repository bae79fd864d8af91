//! Memory after many streams: a third complete, a third cut by the upstream, a third left by their
//! clients.

use std::io::Result;
use std::net::SocketAddr;

use tokio::task::spawn_local;

use super::clients::{Ended, stream};
use super::stage::{Stage, verdict};

/// Streams at once.
const AT_ONCE: usize = 50;
/// Chunks of a whole one, those before a cut, and what a client reads that leaves.
const WHOLE: &str = "chunks-20x0";
const CUT: &str = "cut-after-10";
const LEFT: (&str, usize) = ("stall-after-10", 5);
/// Largest growth, percent.
const MOST: f64 = 10.0;

/// How many streams ended in which way.
#[derive(Default)]
struct Counts {
    complete: usize,
    cut: usize,
    left: usize,
    failed: usize,
}

/// Runs and prints it.
pub async fn run(stage: &Stage, quick: bool) {
    let (few, many) = if quick { (300, 1_500) } else { (500, 5_000) };
    println!("# Growth: {many} streams, {AT_ONCE} at once; whole, cut and left in turn\n");
    if let Err(error) = shown(stage, few, many).await {
        println!("FAILED: {error}");
    }
}

async fn shown(stage: &Stage, few: usize, many: usize) -> Result<()> {
    let tower = stage.tower().await?;
    let idle = tower.process.resident_mib();
    let mut marks = Vec::new();
    let mut done = 0;
    for until in [few, (few + many) / 2, many] {
        let before = tower.process.cpu_seconds();
        let counts = streams(tower.address, until - done).await;
        let cpu = (tower.process.cpu_seconds() - before) * 1e6 / (until - done) as f64;
        done = until;
        let (held, _) = tower.quiet().await?;
        let mib = tower.process.resident_mib();
        let Counts { complete, cut, left, failed } = counts;
        println!(
            "{done:>6} streams: {mib:.1} MiB (idle {idle:.1}); {complete} complete, {cut} cut, {left} left, \
             {failed} failed; {cpu:.0} µs of processor time each"
        );
        marks.push((mib, held));
    }
    let (first, _) = marks[0];
    let (last, held) = marks[marks.len() - 1];
    let growth = (last / first - 1.0) * 100.0;
    println!();
    verdict(growth <= MOST, &format!("growth: {growth:.1} % (budget: at most {MOST} %)"));
    held.print("left behind");
    Ok(())
}

/// So many streams; `failed` are those that went otherwise than they should.
async fn streams(address: SocketAddr, count: usize) -> Counts {
    let client = |number: usize| async move {
        let mut counts = Counts::default();
        for index in (number..count).step_by(AT_ONCE) {
            match index % 3 {
                0 => counts.add(Ended::Complete, stream(address, WHOLE, None).await),
                1 => counts.add(Ended::Cut, stream(address, CUT, None).await),
                _ => counts.add(Ended::Left, stream(address, LEFT.0, Some(LEFT.1)).await),
            }
        }
        counts
    };
    let clients: Vec<_> = (0..AT_ONCE).map(|number| spawn_local(client(number))).collect();
    let mut all = Counts::default();
    for client in clients {
        let counts = client.await.expect("a client does not panic");
        all.complete += counts.complete;
        all.cut += counts.cut;
        all.left += counts.left;
        all.failed += counts.failed;
    }
    all
}

impl Counts {
    fn add(&mut self, expected: Ended, ended: Result<Ended>) {
        match ended {
            Ok(ended) if ended == expected => match ended {
                Ended::Complete => self.complete += 1,
                Ended::Cut => self.cut += 1,
                Ended::Left => self.left += 1,
            },
            Ok(_) | Err(_) => self.failed += 1,
        }
    }
}
