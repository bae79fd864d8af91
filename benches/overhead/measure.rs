//! What is measured of each target, and how long it may take.

use std::time::Duration;

use super::load::{self, Shot};
use super::stage::{Stage, Target};

/// Chunks of a stream, and their distance.
const CHUNKS: usize = 100;
const EVERY: Duration = Duration::from_millis(10);

/// What distinguishes one table from the other.
pub struct Setup {
    /// Its heading.
    pub title: &'static str,
    /// Clients of the closed loop.
    pub clients: usize,
    /// The least size of a request body.
    pub body_bytes: usize,
    /// Streams at once.
    pub streams: usize,
}

/// How much is measured.
pub struct Effort {
    turns: usize,
    warm_up: usize,
    rounds: usize,
    length: Duration,
}

/// What was measured of one target. Times in µs unless said otherwise.
#[derive(Default)]
pub struct Figures {
    /// The target.
    pub name: &'static str,
    /// Latency at one client.
    pub p50: f64,
    pub p99: f64,
    /// The same, less direct's.
    pub added_p50: f64,
    pub added_p99: f64,
    /// Rounds of the closed loop.
    pub rounds: Vec<Round>,
    /// p99 of a chunk's delay against the stream's own fastest chunk, and since the request, ms.
    pub jitter_p99_ms: Vec<f64>,
    pub late_p99_ms: Vec<f64>,
    /// Resident memory after the start, after the closed loops, after the streams, MiB.
    pub idle_mib: f64,
    pub loaded_mib: f64,
    pub streamed_mib: f64,
    /// What went wrong; its figures then mean nothing.
    pub error: Option<String>,
}

/// One round of the closed loop.
#[derive(Clone, Copy)]
pub struct Round {
    /// Requests per second.
    pub per_second: f64,
    /// Processor time of the proxy per request.
    pub cpu: f64,
    /// Share of its core that the proxy used.
    pub share: f64,
}

impl Effort {
    /// Under three minutes in all; `quick`: under 30 seconds.
    pub fn new(quick: bool) -> Self {
        match quick {
            true => Self { turns: 300, warm_up: 50, rounds: 1, length: Duration::from_millis(1000) },
            false => Self { turns: 3000, warm_up: 300, rounds: 3, length: Duration::from_millis(3000) },
        }
    }
}

/// Measures all targets of the stage, `direct` first.
pub async fn measure(stage: &Stage, setup: &Setup, effort: &Effort) -> Vec<Figures> {
    let mut all: Vec<Figures> = stage.targets.iter().map(Figures::of).collect();
    if let Err(error) = latency(stage, setup, effort, &mut all).await {
        all.iter_mut().for_each(|figures| figures.error = Some(format!("latency: {error}")));
        return all;
    }
    for _ in 0..effort.rounds {
        for (target, figures) in stage.targets.iter().zip(&mut all) {
            if figures.error.is_none()
                && let Err(error) = round(target, setup, effort, figures).await
            {
                figures.error = Some(error.to_string());
            }
        }
    }
    all
}

async fn latency(stage: &Stage, setup: &Setup, effort: &Effort, all: &mut [Figures]) -> std::io::Result<()> {
    let shot = |target: &Target| target.shot("steady", false, setup.body_bytes);
    let shots: Vec<Shot> = stage.targets.iter().map(shot).collect();
    let times = load::in_turn(&shots, effort.turns, effort.warm_up).await?;
    for (figures, mut times) in all.iter_mut().zip(times) {
        (figures.p50, figures.p99) = (quantile(&mut times, 0.5), quantile(&mut times, 0.99));
    }
    let (p50, p99) = (all[0].p50, all[0].p99);
    for figures in all {
        (figures.added_p50, figures.added_p99) = (figures.p50 - p50, figures.p99 - p99);
    }
    Ok(())
}

async fn round(
    target: &Target,
    setup: &Setup,
    effort: &Effort,
    figures: &mut Figures,
) -> std::io::Result<()> {
    let shot = target.shot("steady", false, setup.body_bytes);
    // connections and pools stand before the clock runs
    load::closed(&shot, setup.clients, effort.length / 10).await?;
    let before = target.cpu_seconds();
    let closed = load::closed(&shot, setup.clients, effort.length).await?;
    let cpu = target.cpu_seconds() - before;
    let seconds = closed.took.as_secs_f64();
    let answers = closed.answers as f64;
    figures.rounds.push(Round {
        per_second: answers / seconds,
        cpu: cpu * 1e6 / answers,
        share: cpu / seconds,
    });
    figures.loaded_mib = target.resident_mib();
    let model = format!("chunks-{CHUNKS}x{}", EVERY.as_millis());
    let stream = target.shot(&model, true, setup.body_bytes);
    let streams = load::streams(&stream, setup.streams, EVERY).await?;
    if let Some(short) = streams.iter().find(|late| late.len() != CHUNKS) {
        return Err(std::io::Error::other(format!("a stream of {} chunks, not {CHUNKS}", short.len())));
    }
    figures.streamed_mib = target.resident_mib();
    figures
        .jitter_p99_ms
        .push(quantile(&mut streams.iter().flat_map(|late| jitter(late)).collect::<Vec<_>>(), 0.99));
    figures.late_p99_ms.push(quantile(&mut streams.concat(), 0.99));
    Ok(())
}

/// Each chunk against the fastest of its stream: the timer's phase and the way there fall out.
fn jitter(late: &[f64]) -> impl Iterator<Item = f64> {
    let fastest = late.iter().copied().fold(f64::INFINITY, f64::min);
    late.iter().map(move |late| late - fastest)
}

impl Figures {
    fn of(target: &Target) -> Self {
        Self { name: target.name, idle_mib: target.idle_mib, ..Self::default() }
    }

    /// The median round.
    pub fn median(&self, figure: impl Fn(&Round) -> f64) -> f64 {
        median(&self.rounds.iter().map(figure).collect::<Vec<_>>())
    }
}

impl Target {
    fn cpu_seconds(&self) -> f64 {
        self.process.as_ref().map_or(0.0, |process| process.cpu_seconds())
    }

    fn resident_mib(&self) -> f64 {
        self.process.as_ref().map_or(0.0, |process| process.resident_mib())
    }
}

/// The value below which a share of the values lies; NaN of none.
pub fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((last as f64 * share).round() as usize).copied().unwrap_or(f64::NAN)
}

/// The middle value.
pub fn median(values: &[f64]) -> f64 {
    quantile(&mut values.to_vec(), 0.5)
}
