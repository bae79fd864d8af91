//! How fast and how well a connection answered lately: the last 20 attempts of 15 minutes, for
//! each connection and for each of its models (core 4.5–4.7).
//!
//! A weak signal for choosing between accounts, never a reason to leave one out. It is
//! routing memory: learnt anew after a restart, and bounded whatever names clients send.

use std::collections::{HashMap, VecDeque};

use crate::ids::{ConnectionId, ModelId};
use crate::time::{MINUTE, Millis};
use crate::verdict::{BreakerMark, Verdict};

/// Attempts that count.
const NEWEST: usize = 20;
/// How long one counts, ms.
const REMEMBERED_MS: Millis = 15 * MINUTE;
/// Models of one connection that are told apart.
const MOST_MODELS: usize = 64;

/// One attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it was reported, epoch ms.
    pub at: Millis,
    /// Time to the first byte of a good answer, ms.
    pub first_byte_ms: Option<u32>,
    /// It failed in a way that speaks against the connection.
    pub failed: bool,
}

/// Whether an attempt failed in a way that counts here: a trip status, 429, 401, 403 or a limit
/// of ours (core 4.7); `None`: nobody's affair, it is not recorded.
pub fn is_failed(verdict: &Verdict) -> Option<bool> {
    match verdict {
        Verdict::Success => Some(false),
        Verdict::Neutral => None,
        Verdict::Failure(failure) => {
            let trips = matches!(failure.breaker, BreakerMark::Counts(_));
            Some(trips || matches!(failure.status, 401 | 403 | 429 | 504))
        }
    }
}

/// What the samples of a series say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// How many there are.
    pub samples: u32,
    /// How many failed.
    pub failures: u32,
    /// Mean first-byte time of those that have one, ms.
    pub mean_ms: Option<f64>,
}

/// What is known of one model on one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latency {
    /// All attempts on the connection.
    pub connection: Summary,
    /// Those for the model.
    pub model: Summary,
}

/// The newest samples of one series.
#[derive(Clone, Debug, Default)]
pub struct LatencyWindow {
    samples: VecDeque<Sample>,
}

impl LatencyWindow {
    /// Adds an attempt.
    pub fn record(&mut self, sample: Sample) {
        if self.samples.len() == NEWEST {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// What the samples say that still count at `now`.
    pub fn summary(&self, now: Millis) -> Summary {
        let mut summary = Summary::default();
        let (mut timed, mut sum) = (0_u32, 0.0);
        for sample in self.samples.iter().filter(|sample| is_recent(sample.at, now)) {
            summary.samples += 1;
            summary.failures += u32::from(sample.failed);
            if let Some(ms) = sample.first_byte_ms {
                timed += 1;
                sum += f64::from(ms);
            }
        }
        summary.mean_ms = (timed > 0).then(|| sum / f64::from(timed));
        summary
    }

    fn newest_at(&self) -> Millis {
        self.samples.back().map_or(0, |sample| sample.at)
    }
}

fn is_recent(at: Millis, now: Millis) -> bool {
    now.saturating_sub(at) <= REMEMBERED_MS
}

#[derive(Clone, Debug, Default)]
struct Series {
    all: LatencyWindow,
    models: HashMap<ModelId, LatencyWindow>,
}

/// The series of every connection.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    series: HashMap<ConnectionId, Series>,
}

impl Latencies {
    /// Adds an attempt to the two series it belongs to.
    pub fn record(&mut self, connection: &ConnectionId, model: &ModelId, sample: Sample) {
        let series = self.series.entry(connection.clone()).or_default();
        series.all.record(sample);
        if series.models.len() >= MOST_MODELS && !series.models.contains_key(model) {
            make_room(&mut series.models, sample.at);
        }
        series.models.entry(model.clone()).or_default().record(sample);
    }

    /// What is known at `now`.
    pub fn latency(&self, connection: &ConnectionId, model: &ModelId, now: Millis) -> Latency {
        let Some(series) = self.series.get(connection) else { return Latency::default() };
        let of_model = series.models.get(model).map(|window| window.summary(now));
        Latency { connection: series.all.summary(now), model: of_model.unwrap_or_default() }
    }

    /// Forgets a connection that is gone.
    pub fn forget(&mut self, connection: &ConnectionId) {
        self.series.remove(connection);
    }
}

/// Drops what counts for nothing any more, or else the model that was silent longest.
fn make_room(models: &mut HashMap<ModelId, LatencyWindow>, now: Millis) {
    models.retain(|_, window| is_recent(window.newest_at(), now));
    if models.len() >= MOST_MODELS {
        let silent = models.iter().min_by_key(|(model, window)| (window.newest_at(), (*model).clone()));
        let silent = silent.map(|(model, _)| model.clone());
        silent.and_then(|model| models.remove(&model));
    }
}

#[cfg(test)]
mod tests {
    use super::{Latencies, LatencyWindow, MOST_MODELS, Sample, Summary, is_failed};
    use crate::ids::{Class, ModelId};
    use crate::verdict::{Case, End, Signal, Transport, judge};

    const T0: u64 = 1_768_478_400_000;

    fn good(at: u64, ms: u32) -> Sample {
        Sample { at, first_byte_ms: Some(ms), failed: false }
    }

    fn bad(at: u64) -> Sample {
        Sample { at, first_byte_ms: None, failed: true }
    }

    #[test]
    fn the_last_twenty_count() {
        let mut window = LatencyWindow::default();
        (0..5).for_each(|_| window.record(bad(T0)));
        (1..=17).for_each(|ms| window.record(good(T0, ms * 10)));
        let summary = window.summary(T0);
        assert_eq!(summary, Summary { samples: 20, failures: 3, mean_ms: Some(90.0) });
    }

    /// Core 4.7: dropped when older than 900000 ms.
    #[test]
    fn a_sample_counts_for_fifteen_minutes() {
        let mut window = LatencyWindow::default();
        window.record(good(T0, 100));
        window.record(bad(T0 + 1));
        assert_eq!(window.summary(T0 + 900_000).samples, 2);
        let rest = Summary { samples: 1, failures: 1, mean_ms: None };
        assert_eq!(window.summary(T0 + 900_001), rest);
        assert_eq!(window.summary(T0 + 900_002), Summary::default());
    }

    #[test]
    fn each_model_has_its_own_series_beside_the_connections() {
        let mut latencies = Latencies::default();
        let (id, fast, slow) = ("c1".into(), "fast".into(), "slow".into());
        latencies.record(&id, &fast, good(T0, 100));
        latencies.record(&id, &slow, good(T0, 900));
        latencies.record(&id, &slow, bad(T0));
        let known = latencies.latency(&id, &slow, T0);
        assert_eq!(known.connection, Summary { samples: 3, failures: 1, mean_ms: Some(500.0) });
        assert_eq!(known.model, Summary { samples: 2, failures: 1, mean_ms: Some(900.0) });
        assert_eq!(latencies.latency(&"c2".into(), &slow, T0).connection.samples, 0);
        latencies.forget(&id);
        assert_eq!(latencies.latency(&id, &slow, T0).connection.samples, 0);
    }

    #[test]
    fn names_that_clients_make_up_do_not_fill_the_memory() {
        let mut latencies = Latencies::default();
        let id = "c1".into();
        let name = |n: usize| ModelId::from(format!("m{n}"));
        for n in 0..MOST_MODELS + 5 {
            latencies.record(&id, &name(n), good(T0 + n as u64, 100));
        }
        let known = |n: usize| latencies.latency(&id, &name(n), T0 + 100).model.samples;
        assert_eq!((known(4), known(5), known(MOST_MODELS + 4)), (0, 1, 1));
        let later = T0 + 2_000_000;
        latencies.record(&id, &name(5), good(later, 100));
        latencies.record(&id, &name(1_000), good(later, 100));
        assert_eq!(latencies.series[&id].models.len(), 2, "what is too old went first");
    }

    #[test]
    fn rows_of_what_counts_as_failed() {
        let rows = [
            (End::Status(200), Some(false)),
            (End::Status(503), Some(true)),
            (End::Status(429), Some(true)),
            (End::Status(401), Some(true)),
            (End::Status(403), Some(true)),
            (End::NoFirstByte, Some(true)),
            (End::StallBeforeCommit, Some(true)),
            (End::Transport(Transport::Refused), Some(true)),
            (End::Status(400), Some(false)),
            (End::Status(404), Some(false)),
            (End::Empty, Some(false)),
            (End::SendInterrupted, Some(false)),
            (End::ClientGone, None),
            (End::Local, None),
        ];
        for (end, expected) in rows {
            let verdict = judge(&Signal::new(end, None), &Case::of(Class::Apikey));
            assert_eq!(is_failed(&verdict), expected, "{end:?}");
        }
    }
}
