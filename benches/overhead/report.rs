//! The tables, and the budgets of the design beside the figures.

use super::measure::{Figures, Setup, median};
use super::stage::Stage;

/// A budget of the design and what was measured for it.
struct Budget {
    what: &'static str,
    limit: f64,
    /// Whether more is better.
    floor: bool,
    unit: &'static str,
    measured: Option<f64>,
}

/// What the reader must know before the tables.
pub fn introduction(stage: &Stage) {
    println!("# Overhead, against the scripted upstream's `steady` and `chunks-100x10`");
    println!("Upstream and generator on core 0, the proxy on core 1; median of the rounds.");
    for note in &stage.notes {
        println!("NOTE: {note}");
    }
}

/// One table and its budgets.
pub fn table(setup: &Setup, all: &[Figures]) {
    println!("\n## {} ({} streams)\n", setup.title, setup.streams);
    println!(
        "| target | p50 µs | p99 µs | added p50 | added p99 | requests/s | CPU ms/1000 | core used | \
         MiB idle | loaded | streamed | chunk p99 ms: jitter | since request |"
    );
    println!("|{}", "---|".repeat(13));
    for figures in all {
        row(figures);
    }
    println!();
    budgets(all).iter().for_each(Budget::print);
}

fn row(figures: &Figures) {
    if let Some(error) = &figures.error {
        println!("| {} | FAILED: {error} |", figures.name);
        return;
    }
    println!(
        "| {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} | {:.0} % | {:.1} | {:.1} | {:.1} | {:.2} | {:.2} |",
        figures.name,
        figures.p50,
        figures.p99,
        figures.added_p50,
        figures.added_p99,
        figures.median(|round| round.per_second),
        figures.median(|round| round.cpu),
        figures.median(|round| round.share * 100.0),
        figures.idle_mib,
        figures.loaded_mib,
        figures.streamed_mib,
        median(&figures.jitter_p99_ms),
        median(&figures.late_p99_ms),
    );
}

fn budgets(all: &[Figures]) -> Vec<Budget> {
    let named = |name: &str| all.iter().find(|figures| figures.name == name && figures.error.is_none());
    let (direct, nginx, ours) = (named("direct"), named("nginx"), named("switchtower"));
    // A difference that is not positive is the machine's noise, and no ratio of it means anything.
    let ratio = |ours: f64, nginx: f64| (nginx > 0.0).then(|| ours / nginx);
    let beside = |figure: fn(&Figures) -> f64| ratio(figure(ours?), figure(nginx?));
    let per_round = || {
        let pairs = ours?.rounds.iter().zip(&nginx?.rounds);
        Some(median(&pairs.map(|(ours, nginx)| ours.per_second / nginx.per_second).collect::<Vec<_>>()))
    };
    let delay = || {
        let base = median(&direct?.late_p99_ms);
        let added = |figures: &Figures| median(&figures.late_p99_ms) - base;
        ratio(added(ours?), added(nginx?))
    };
    let at_most = |what, limit, unit, measured| Budget { what, limit, floor: false, unit, measured };
    vec![
        at_most("added latency, p50", 1.2, "x nginx", beside(|figures| figures.added_p50)),
        at_most("added latency, p99", 2.0, "x nginx", beside(|figures| figures.added_p99)),
        Budget {
            what: "requests per second",
            limit: 0.55,
            floor: true,
            unit: "x nginx",
            measured: per_round(),
        },
        at_most("CPU per request", 22.0, "µs", ours.map(|ours| ours.median(|round| round.cpu))),
        at_most("added delay of a chunk, p99", 1.1, "x nginx", delay()),
        at_most("memory idle", 20.0, "MiB", ours.map(|ours| ours.idle_mib)),
        at_most("memory under the clients", 30.0, "MiB", ours.map(|ours| ours.loaded_mib)),
        at_most("memory with the streams (budget: of 1000)", 80.0, "MiB", ours.map(|ours| ours.streamed_mib)),
    ]
}

impl Budget {
    fn print(&self) {
        let Self { what, limit, unit, .. } = self;
        let sign = if self.floor { "at least" } else { "at most" };
        match self.measured {
            Some(measured) => {
                let met = if self.floor { measured >= *limit } else { measured <= *limit };
                let word = if met { "ok" } else { "MISSED" };
                println!("{word:>6}  {what}: {measured:.2} {unit} (budget: {sign} {limit} {unit})");
            }
            None => {
                println!("     -  {what}: not measured, or lost in noise (budget: {sign} {limit} {unit})")
            }
        }
    }
}
